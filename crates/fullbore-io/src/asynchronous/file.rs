//! A file whose transfers are futures.
#![allow(unsafe_code)]

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::blocking_call::BlockingCall;
use super::driver::Driver;
use super::slots::IoResult;
use super::transfer::Transfer;
use crate::buf::{Buffer, Direction};
use crate::error::Result;
use crate::file::{Durability, File, FileKind};
use crate::sys::{self, Code, OpenFlags, TransferFlags};
use crate::sys::{IoVec, transfer};

/// A [`File`] with the [`Driver`] that executes its transfers. A clone is the same open file.
///
/// Transfers are positional and may run concurrently. Pipes and terminals have no offsets, so the offset is ignored. A `Vec`
/// of buffers is one scattered read or gathered write. The cache policy of the file ([`File::with_cache`]) applies.
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
    direct: bool,
    /// True if the file is open for reading only, so that closing it writes nothing back.
    reads_only: bool,
    /// Condition for reads in the first poll: [`NEVER`], [`NO_WAIT`] or [`ALWAYS`]. Direct I/O waits for the device in any
    /// case.
    reads: AtomicU8,
    /// The same for writes; [`NEVER`] if each write is synced.
    writes: AtomicU8,
}

/// The call would wait, and no flag prevents that.
const NEVER: u8 = 0;
/// The call is tried with `RWF_NOWAIT`.
const NO_WAIT: u8 = 1;
/// The call never waits: the file system is in memory.
const ALWAYS: u8 = 2;

impl AsyncFile {
    /// Opens a file for reading with the shared driver: at once if the kernel has the path in its cache, otherwise on a
    /// thread. If the future is dropped, no descriptor stays open.
    ///
    /// # Errors
    /// As [`File::open`] and [`Driver::shared`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let driver = Driver::shared()?;
        let kept = match File::open_at_once(path.as_ref()) {
            Ok(file) => return Ok(Self::with_flags(file?, &driver, OpenFlags::READ)),
            Err(kept) => kept,
        };
        let path = path.as_ref().to_owned();
        let open = move || {
            let file = File::open(path);
            drop(kept);
            file
        };
        Self::open_with(&driver, open).await
    }

    /// Opens a file by calling `how` on a thread of `driver`. If the future is dropped, no descriptor stays open.
    ///
    /// ```
    /// use fullbore_io::asynchronous::{AsyncFile, Driver};
    /// use fullbore_io::file::File;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new");
    /// # futures_lite::future::block_on(async {
    /// let driver = Driver::shared()?;
    /// let file = AsyncFile::open_with(&driver, move || File::create_new(path)).await?;
    /// let (result, _buffer) = file.write_all_at(b"hello".to_vec(), 0).await;
    /// result?;
    /// file.sync_all().await?;
    /// file.close().await?;
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `how`.
    pub fn open_with(
        driver: &Driver,
        how: impl FnOnce() -> Result<File> + Send + 'static,
    ) -> BlockingCall<Self> {
        let clone = driver.clone();
        BlockingCall::new(driver.clone(), "open", move || Ok(Self::new(how()?, &clone)))
    }

    /// Makes an open file asynchronous.
    pub fn new(file: File, driver: &Driver) -> Self {
        let flags = sys::status_flags(file.as_fd()).unwrap_or(OpenFlags::empty());
        Self::with_flags(file, driver, flags)
    }

    fn with_flags(file: File, driver: &Driver, flags: OpenFlags) -> Self {
        let direct = flags.contains(OpenFlags::DIRECT);
        let reads_only = flags & OpenFlags::ACCESS == OpenFlags::READ;
        let synced = flags.intersects(OpenFlags::DATA_SYNC | OpenFlags::SYNC);
        let reads = match (file.kind() == FileKind::Regular, direct) {
            (true, false) => NO_WAIT,
            // In memory there is no cache to bypass.
            (true, true) if crate::probe::in_memory(&file) => ALWAYS,
            _ => NEVER,
        };
        let writes = if synced && reads == NO_WAIT { NEVER } else { reads };
        let (reads, writes) = (AtomicU8::new(reads), AtomicU8::new(writes));
        Self { inner: Arc::new(Inner { file, driver: driver.clone(), direct, reads_only, reads, writes }) }
    }

    /// Returns the file, for calls that do not wait: its path, length, option report.
    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// Returns the driver.
    pub fn driver(&self) -> &Driver {
        &self.inner.driver
    }

    /// Reads once at `offset`, up to the capacity of the buffer: a `Vec<u8>` is filled up to its capacity. The read may be
    /// short; it returns 0 only at the end of the file. Bytes in the page cache are read in the first poll.
    pub fn read_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, false)
    }

    /// Reads at `offset` until the buffer is full. An earlier end of the file is an error.
    ///
    /// ```
    /// use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let (count, bytes) = file.read_exact_at(vec![0; 4], 1).await;
    /// assert_eq!((count?, &bytes[..]), (4, &b"ello"[..]));
    /// assert!(file.read_exact_at(vec![0; 4], 2).await.0.is_err());
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_exact_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, true)
    }

    /// Writes the buffer's bytes to `offset` once. The write may be short.
    pub fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, false)
    }

    /// Writes all of the buffer's bytes to `offset`.
    pub fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, true)
    }

    /// Waits until the bytes, or with [`Durability::Full`] the metadata too, are on the device. As with [`File::sync`], a
    /// failure poisons every handle of the file.
    ///
    /// # Errors
    /// If the sync fails.
    pub fn sync(&self, durability: Durability) -> BlockingCall<()> {
        let file = self.inner.file.clone();
        BlockingCall::new(self.inner.driver.clone(), "sync", move || file.sync(durability))
    }

    /// Syncs with [`Durability::Data`], as [`File::sync_data`].
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_data(&self) -> BlockingCall<()> {
        self.sync(Durability::Data)
    }

    /// Syncs with [`Durability::Full`], as [`File::sync_all`].
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_all(&self) -> BlockingCall<()> {
        self.sync(Durability::Full)
    }

    /// Closes the file and returns the error that a network file system may report only then. While a clone or a transfer
    /// in flight keeps the file open, there is no error to return yet.
    ///
    /// # Errors
    /// Those of `close(2)`.
    pub fn close(self) -> BlockingCall<()> {
        let driver = self.inner.driver.clone();
        let Some(Inner { file, reads_only, .. }) = Arc::into_inner(self.inner) else {
            return BlockingCall::ready(driver, "close", Ok(()));
        };
        // Without anything to write back, closing does not wait; dropping would have the same effect.
        if reads_only && file.kind() == FileKind::Regular {
            return BlockingCall::ready(driver, "close", file.close());
        }
        BlockingCall::new(driver, "close", move || file.close())
    }

    pub(super) fn seekable(&self) -> bool {
        matches!(self.inner.file.kind(), FileKind::Regular | FileKind::BlockDevice)
    }

    /// Executes a transfer at once if it does not wait for a device: a read that the page cache holds, a write that it has
    /// room for where the file system supports `RWF_NOWAIT` writes (not ext4), and any transfer in memory.
    ///
    /// # Safety
    /// As [`transfer::once`].
    pub(super) unsafe fn at_once(
        &self,
        direction: Direction,
        pieces: &[IoVec],
        offset: u64,
        flags: TransferFlags,
    ) -> Option<IoResult> {
        let fd = self.inner.file.as_fd();
        // SAFETY: promised by the caller.
        let call = |flags| unsafe { transfer::once(direction, fd, pieces, Some(offset), flags) };
        let known = match direction {
            Direction::Read => &self.inner.reads,
            Direction::Write => &self.inner.writes,
        };
        if known.load(Ordering::Relaxed) == NO_WAIT {
            match call(flags | TransferFlags::NO_WAIT) {
                Err(error) if Code::of(&error) == Some(Code::UNSUPPORTED) => {
                    let memory = crate::probe::in_memory(fd);
                    known.store(if memory { ALWAYS } else { NEVER }, Ordering::Relaxed);
                }
                // Other errors are reported by the call that may wait.
                Err(_) => return None,
                done => return Some(done),
            }
        }
        (known.load(Ordering::Relaxed) == ALWAYS).then(|| call(flags))
    }

    /// True if the ring executes the transfer: reads and direct writes. Buffered writes would go to kernel threads, which
    /// ext4 serialises.
    pub(super) fn by_ring(&self, direction: Direction) -> bool {
        direction == Direction::Read || self.inner.direct || !self.seekable()
    }
}
