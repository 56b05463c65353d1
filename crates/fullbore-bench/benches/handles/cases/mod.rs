//! The cases, after dotnet/performance's Perf.FileStream, Perf.RandomAccess and File benchmarks.

mod asynchronous;
mod handles;
mod passes;
mod positional;
mod ring;
mod streams;

use std::fs;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use compio::BufResult;
use compio::io::AsyncReadAt;
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::file::{Access, File, Mode, OpenOptions};
use fullbore::stream::FileStream;
use rustix::fs::OFlags;

use crate::case::{Case, Contender, Demand, closed, exactly};
use crate::files::{BenchFiles, LARGE, MIDDLE, SMALL};
use crate::harness::Attempt;

pub(crate) fn all() -> Vec<Case> {
    [
        handles::cases(),
        positional::cases(),
        streams::cases(),
        passes::cases(),
        asynchronous::cases(),
        ring::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A size in bytes in the form of case names: `4KiB`.
fn short(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{}MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{}KiB", bytes >> 10),
        bytes => format!("{bytes}B"),
    }
}
