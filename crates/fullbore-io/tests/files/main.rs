//! The behaviour of `File` on every available file system, compared with `std::fs` and models in memory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{IoSlice, IoSliceMut, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fullbore_io::engine;
use fullbore_io::error::{ErrorKind, Result};
use fullbore_io::fault::{CrashState, Event, Fault, Plan};
use fullbore_io::file::{
    Access, CachePolicy, Durability, File, Hint, Mode, OpenOptions, Output, Placement, Share, Support,
};
use fullbore_io::stream::FileStream;
use fullbore_testkit::ground::{
    NULL, bytes, directories, everywhere, names, read_at, supported_or_skip, symlink, write_file,
};
use fullbore_testkit::processes::alone;

mod closing;
mod complaints;
mod copies;
mod direct;
// Windows does not show the pages in its cache.
#[cfg(unix)]
mod drops;
mod durability;
#[cfg(target_os = "linux")]
mod filtered;
mod killed;
mod kinds;
mod mmaps;
mod modes;
mod opening;
mod outputs;
mod planned;
mod ranges;
// By strace, which only Linux has.
#[cfg(target_os = "linux")]
mod rules;
// Elsewhere locks exclude others.
#[cfg(windows)]
mod share_modes;
mod space;
#[cfg(target_os = "linux")]
mod traced;
mod transfers;

const POLICIES: [CachePolicy; 3] = [CachePolicy::Keep, CachePolicy::DontCache, CachePolicy::Direct];

/// Writes a file of [`bytes`] in a directory; returns its path and content.
fn filled(directory: &Path, len: usize, seed: u64) -> (PathBuf, Vec<u8>) {
    let (path, content) = (directory.join("file"), bytes(len, seed));
    fs::write(&path, &content).unwrap();
    (path, content)
}

/// True if a change of blocks was made. Only Windows may refuse one, since Wine has none of these calls.
///
/// # Panics
/// For other errors.
fn made(result: Result<()>) -> bool {
    match result {
        Err(error) if cfg!(windows) && error.kind() == ErrorKind::Unsupported => false,
        result => {
            result.unwrap();
            true
        }
    }
}
