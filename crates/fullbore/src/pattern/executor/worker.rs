//! The state that a worker keeps between small files.

use std::io::IoSliceMut;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fullbore_io::error::Result;
use fullbore_io::file::{DirOpener, File, UnchangedReader, open_regular};
use fullbore_io::sys::{self, AsHandle, Handle, OpenFlags};

/// Files up to this length are read in one request, in bytes.
pub(super) const ONE_REQUEST: usize = 1 << 20;

/// The call that distributes an item, from 1, and the item's place among its items. Calls may be nested.
pub(super) type Place = (u64, u64);

/// A worker's own state for small files: a buffer, and the directory of the last file.
#[derive(Debug, Default)]
pub struct Worker {
    bytes: Vec<u8>,
    /// The place of its file among those of [`map_ordered`](super::Executor::map_ordered); `None` for a worker of the caller's own.
    pub(super) place: Option<Place>,
    /// Set once the results of the call that distributes the items are not needed.
    pub(super) unneeded: Arc<AtomicBool>,
    dir_opener: DirOpener,
    reader: UnchangedReader,
}

impl Worker {
    /// Opens a file for reading; by its name alone if it is in the directory of the previous file.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<File> {
        self.dir_opener.open(path)
    }

    /// Opens a file for reading. If it is `listed`, a listing of its directory reported it as regular: the handle has the flag
    /// `NONBLOCK`, and the caller checks its kind, because a pipe may have the name by now.
    #[doc(hidden)]
    pub fn open_fd(&mut self, path: impl AsRef<Path>, listed: bool) -> sys::Result<Handle> {
        let (path, flags) = (path.as_ref(), OpenFlags::READ | OpenFlags::NOCTTY);
        let more = if listed { OpenFlags::NONBLOCK } else { OpenFlags::empty() };
        match self.dir_opener.beside(path, more) {
            Some(fd) => Ok(fd),
            None if listed => open_regular(sys::CURRENT_DIRECTORY, path, flags),
            None => sys::open(path, flags, 0),
        }
    }

    /// Reads a cached regular file of up to 1 MiB with two system calls, above 64 KiB with four. `None` for all other files, for
    /// files changed a moment ago, and for files on a file system whose clock is not this machine's: those need a `stat` before
    /// the read, too.
    #[doc(hidden)]
    pub fn read_unchanged(&mut self, file: impl AsHandle) -> Option<&[u8]> {
        let bytes = buffer(&mut self.bytes);
        let count = self.reader.read(&file, bytes, |offset, bytes, flags| {
            Ok(sys::read_vectored_flagged(&file, &mut [IoSliceMut::new(bytes)], offset, flags)?)
        })?;
        Some(&self.buffer()[..count])
    }

    /// As [`read_unchanged`](Self::read_unchanged), through the handle's calls.
    pub(super) fn read_unchanged_file(&mut self, file: &File) -> Option<usize> {
        file.read_unchanged(&mut self.reader, buffer(&mut self.bytes))
    }

    /// Returns a buffer for a small file. It has one byte more than such a file, to show that a file is longer.
    pub fn buffer(&mut self) -> &mut [u8] {
        buffer(&mut self.bytes)
    }
}

/// Distance of the buffer above a page boundary, in bytes. On some processors, copies from the start of a file's page to addresses
/// less than 32 bytes above a boundary are slow (`memory-offset`).
const DISTANCE: usize = 64;

const PAGE: usize = 4096;

fn buffer(bytes: &mut Vec<u8>) -> &mut [u8] {
    if bytes.is_empty() {
        // The kernel provides zeroed pages as they are used; no loop clears them all.
        *bytes = vec![0; PAGE + DISTANCE + ONE_REQUEST + 1];
    }
    let start = bytes.as_ptr().align_offset(PAGE) + DISTANCE;
    &mut bytes[start..][..ONE_REQUEST + 1]
}
