//! What a worker keeps from one small file to the next.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::error::Result;
use crate::file::{DirOpener, File, SettledReader};

/// Files up to this long are read in one request, in bytes.
pub(super) const ONE_REQUEST: usize = 1 << 20;

/// What a worker has for small files and uses again and again: memory, and the directory that it is in.
///
/// ```
/// use fullbore::pattern::{Executor, Progress, Worker};
/// # use fullbore::operation::Fold;
/// # struct Bytes;
/// # impl Fold for Bytes {
/// #     type State = u64;
/// #     fn identity(&self) -> u64 { 0 }
/// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
/// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
/// # }
/// let (spec, progress) = (Default::default(), Progress::default());
/// let (executor, mut worker) = (Executor::new(&spec, &progress), Worker::default());
/// for path in ["Cargo.toml", "src/lib.rs"] {
///     let file = worker.open(path)?;
///     assert!(executor.fold(&Bytes, &file, &mut worker)?.1 > 0);
/// }
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Worker {
    pub(super) bytes: Vec<u8>,
    pub(super) place: u64,
    dir_opener: DirOpener,
    settled: SettledReader,
}

impl Worker {
    /// Opens a file for reading: by its name, if it stands in the directory of the one before.
    ///
    /// ```
    /// let mut worker = fullbore::pattern::Worker::default();
    /// assert_eq!(worker.open("src/lib.rs")?.path().to_str(), Some("src/lib.rs"));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open(&mut self, path: impl AsRef<Path>) -> Result<File> {
        self.dir_opener.open(path)
    }
    /// Opens a file for reading that stands in the directory of the one before it; `None` if it does not, or cannot be opened.
    ///
    /// ```
    /// let mut worker = fullbore::pattern::Worker::default();
    /// assert!(worker.open_beside("src/lib.rs").is_none());
    /// assert!(worker.open_beside("src/error.rs").is_some());
    /// ```
    pub fn open_beside(&mut self, path: impl AsRef<Path>) -> Option<OwnedFd> {
        self.dir_opener.beside(path)
    }

    /// The bytes of a cached regular file of up to 1 MiB, by two system calls. `None` for all other files, for one that changed within
    /// the last seconds, and for one on a file system whose clock is not this machine's: those need a look before the read, too.
    ///
    /// ```
    /// let mut worker = fullbore::pattern::Worker::default();
    /// let file = std::fs::File::open("Cargo.toml")?;
    /// if let Some(bytes) = worker.read_settled(&file) {
    ///     assert_eq!(bytes, std::fs::read("Cargo.toml")?);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_settled(&mut self, file: impl AsFd) -> Option<&[u8]> {
        let bytes = buffer(&mut self.bytes);
        let count = self.settled.read(&file, bytes, |bytes, flags| {
            Ok(rustix::io::preadv2(&file, &mut [IoSliceMut::new(bytes)], 0, flags)?)
        })?;
        Some(&self.bytes[..count])
    }

    /// As [`read_settled`](Self::read_settled), by the handle's own calls.
    pub(super) fn read_settled_file(&mut self, file: &File) -> Option<usize> {
        file.read_settled(&mut self.settled, buffer(&mut self.bytes))
    }

    /// Room for a small file. One byte more shows that a file is longer.
    pub fn buffer(&mut self) -> &mut [u8] {
        buffer(&mut self.bytes)
    }
}

fn buffer(bytes: &mut Vec<u8>) -> &mut [u8] {
    if bytes.is_empty() {
        // Zeroed by the system as far as it is used, not by a loop over all of it.
        *bytes = vec![0; ONE_REQUEST + 1];
    }
    bytes
}
