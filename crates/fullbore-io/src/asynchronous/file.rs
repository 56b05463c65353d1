//! A file whose transfers are futures.
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use super::driver::Driver;
use super::slots::IoResult;
use crate::buf::Direction;
use crate::file::{File, FileKind};
use crate::sys::{self, AsHandle, Code, OpenFlags, TransferFlags};

/// A [`File`] with the [`Driver`] that executes its transfers. A clone refers to the same open file.
///
/// Transfers are positional and may run concurrently. Pipes and terminals have no offsets, so the offset is ignored. A
/// transfer of a `Vec` of buffers is a scattered read or a gathered write, of at most 8 segments per call. The cache policy of
/// the file ([`File::with_cache`]) applies. Every operation may fail with an error of the system, with path and offset.
///
/// ```
/// use fullbore_io::asynchronous::{AsyncFile, Driver};
/// use fullbore_io::file::{CachePolicy, File};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("f");
/// # std::fs::write(&path, "hello")?;
/// let (direct, _support) = File::open(&path)?.with_cache(CachePolicy::Direct);
/// let file = AsyncFile::new(direct, &Driver::shared()?);
/// let (result, parts) = futures_lite::future::block_on(file.read_exact_at(vec![vec![0; 2], vec![0; 3]], 0));
/// assert_eq!((result?, parts), (5, vec![b"he".to_vec(), b"llo".to_vec()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct AsyncFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    driver: Driver,
    /// Handles for the ring of the file and of the one that bypasses the page cache, since the first transfer that needs them.
    on_ring: OnceLock<RingHandle>,
    direct_on_ring: OnceLock<RingHandle>,
    direct: bool,
    /// True if the file is open for reading only, so that closing it writes nothing back.
    reads_only: bool,
    /// Condition for reads in the first poll: [`NEVER`] (also for direct I/O, which waits for the device), [`NO_WAIT`] or
    /// [`ALWAYS`].
    reads: AtomicU8,
    /// Condition for writes in the first poll; never [`NO_WAIT`] if each write is synced, or appends.
    writes: AtomicU8,
}

/// The handle of a file that the ring takes.
#[derive(Debug)]
enum RingHandle {
    /// The handle of the file itself.
    Same,
    /// Another handle of the file: a completion port requires one whose calls do not wait.
    Other(File),
    /// No handle: threads execute the transfers.
    None,
}

impl RingHandle {
    fn new(file: &File, driver: &Driver) -> Self {
        match driver.dispatch().waiter().map(|waiter| waiter.attach(file, file.inherited())) {
            None | Some(Err(_)) => Self::None,
            Some(Ok(None)) => Self::Same,
            Some(Ok(Some(handle))) => Self::Other(file.with_handle(handle)),
        }
    }
}

/// The first poll makes no call: it would wait, and no flag prevents that.
const NEVER: u8 = 0;
/// The first poll makes the call with `RWF_NOWAIT`.
const NO_WAIT: u8 = 1;
/// The first poll makes the call, which never waits: the file system is in memory.
const ALWAYS: u8 = 2;

impl AsyncFile {
    /// Makes an open file asynchronous.
    pub fn new(file: File, driver: &Driver) -> Self {
        let flags = sys::status_flags(file.as_handle()).unwrap_or(OpenFlags::empty());
        Self::with_flags(file, driver, flags)
    }

    pub(super) fn with_flags(file: File, driver: &Driver, flags: OpenFlags) -> Self {
        let direct = flags.contains(OpenFlags::DIRECT);
        let reads_only = flags & OpenFlags::ACCESS == OpenFlags::READ;
        let synced = flags.intersects(OpenFlags::DATA_SYNC | OpenFlags::SYNC);
        let reads = match (file.kind() == FileKind::Regular, direct) {
            (true, false) => NO_WAIT,
            // In memory there is no cache to bypass.
            (true, true) if crate::probe::in_memory(&file) => ALWAYS,
            _ => NEVER,
        };
        let writes = match reads {
            NO_WAIT if synced => NEVER,
            // Such a write may be short, and another process may append before the rest.
            NO_WAIT if flags.contains(OpenFlags::APPEND) => match crate::probe::in_memory(&file) {
                true => ALWAYS,
                false => NEVER,
            },
            reads => reads,
        };
        let (reads, writes) = (AtomicU8::new(reads), AtomicU8::new(writes));
        let (driver, on_ring, direct_on_ring) = (driver.clone(), OnceLock::new(), OnceLock::new());
        Self {
            inner: Arc::new(Inner {
                file,
                driver,
                on_ring,
                direct_on_ring,
                direct,
                reads_only,
                reads,
                writes,
            }),
        }
    }

    /// Returns the file, for calls that do not wait: its path, length, option report. [`call`](Self::call) is for the others.
    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// Returns the driver.
    pub fn driver(&self) -> &Driver {
        &self.inner.driver
    }

    /// Returns the file of the last handle, and true if it is open for reading only; `None` if there are other handles.
    pub(super) fn into_file(self) -> Option<(File, bool)> {
        Arc::into_inner(self.inner).map(|inner| (inner.file, inner.reads_only))
    }

    /// True if the file has offsets, as some character devices have.
    pub(super) fn seekable(&self) -> bool {
        match self.inner.file.kind() {
            FileKind::Regular | FileKind::BlockDevice => true,
            FileKind::CharacterDevice => self.inner.file.seekable(),
            _ => false,
        }
    }

    /// Makes a call at once, with further flags, if it does not wait for a device: on cached bytes, on ones for which the cache has
    /// room (`RWF_NOWAIT` writes, not on ext4), or in memory.
    pub(super) fn at_once(
        &self,
        direction: Direction,
        mut call: impl FnMut(TransferFlags) -> IoResult,
    ) -> Option<IoResult> {
        let known = match direction {
            Direction::Read => &self.inner.reads,
            Direction::Write => &self.inner.writes,
        };
        if known.load(Ordering::Relaxed) == NO_WAIT {
            match call(TransferFlags::NO_WAIT) {
                Err(error) if Code::of(&error) == Some(Code::UNSUPPORTED) => {
                    let memory = crate::probe::in_memory(&self.inner.file);
                    known.store(if memory { ALWAYS } else { NEVER }, Ordering::Relaxed);
                }
                // Other errors are reported by the call that may wait.
                Err(_) => return None,
                done => return Some(done),
            }
        }
        (known.load(Ordering::Relaxed) == ALWAYS).then(|| call(TransferFlags::empty()))
    }

    /// Reads into borrowed memory; `None` if the call would wait or fails.
    #[cfg(any(feature = "tokio", feature = "futures", test))]
    pub(super) fn read_cached(&self, out: &mut [u8], offset: u64) -> Option<usize> {
        let flags = self.file().one_call()?;
        self.at_once(Direction::Read, |more| self.file().read_once(offset, out, flags | more))?.ok()
    }

    /// Writes borrowed bytes; `None` if the call would wait or fails.
    #[cfg(any(feature = "tokio", feature = "futures", test))]
    pub(super) fn write_cached(&self, data: &[u8], offset: u64) -> Option<usize> {
        let flags = self.file().one_call()?;
        self.at_once(Direction::Write, |more| self.file().write_once(offset, data, flags | more))?.ok()
    }

    /// True if threads execute the transfer in turn: a buffered write, which a ring would pass to kernel threads that ext4
    /// serialises.
    pub(super) fn writes_in_turn(&self, direction: Direction) -> bool {
        direction == Direction::Write && !self.inner.direct && self.seekable()
    }

    /// The handle with which the ring executes transfers of the file, or of `straight`, the one that bypasses the page cache.
    pub(super) fn on_ring<'a>(&'a self, straight: Option<&'a File>) -> Option<&'a File> {
        let handle = if straight.is_some() { &self.inner.direct_on_ring } else { &self.inner.on_ring };
        let file = straight.unwrap_or(self.file());
        match handle.get_or_init(|| RingHandle::new(file, &self.inner.driver)) {
            RingHandle::Same => Some(file),
            RingHandle::Other(file) => Some(file),
            RingHandle::None => None,
        }
    }

    /// True if the ring has a handle of its own, which locks of the file bind as they bind any other.
    pub(super) fn has_two_handles(&self) -> bool {
        let handles = [&self.inner.on_ring, &self.inner.direct_on_ring];
        handles.into_iter().any(|handle| matches!(handle.get(), Some(RingHandle::Other(_))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Mode, OpenOptions};

    /// A write that does not wait may be short, and another process may append before the rest.
    #[test]
    fn appended_bytes_are_written_by_calls_that_may_wait() {
        let driver = Driver::shared().unwrap();
        for directory in fullbore_testkit::ground::directories() {
            let log = OpenOptions::new().mode(Mode::Append).open(directory.path().join("log")).unwrap();
            let mut calls = Vec::new();
            AsyncFile::new(log, &driver).at_once(Direction::Write, |flags| {
                calls.push(flags);
                Ok(1)
            });
            assert!(calls.iter().all(|flags| flags.is_empty()), "{}: {calls:?}", directory.path().display());
        }
    }
}
