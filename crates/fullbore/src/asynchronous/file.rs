//! A file whose transfers are futures.
#![allow(unsafe_code)]

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::OFlags;
use rustix::io::ReadWriteFlags;

use super::blocking_call::BlockingCall;
use super::driver::Driver;
use super::slots::IoResult;
use super::transfer::Transfer;
use crate::buf::{Buffer, Direction};
use crate::error::Result;
use crate::file::{Durability, File, FileKind};
use crate::sys::transfer;

/// A [`File`] and the [`Driver`] that moves its bytes. A clone is the same open file.
///
/// Transfers are positional and may run side by side. Pipes and terminals have no offsets: there it is ignored. A
/// `Vec` of buffers is read scattered and written gathered. The cache policy of the file ([`File::with_cache`]) counts here too.
///
/// ```
/// use fullbore::asynchronous::{AsyncFile, Driver};
/// use fullbore::file::{CachePolicy, File};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("f");
/// # std::fs::write(&path, "hello")?;
/// let (direct, _honoured) = File::open(&path)?.with_cache(CachePolicy::Direct);
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
    /// Open for reading only: closing it has nothing to write back.
    reads_only: bool,
    /// Whether reads are made at once: [`NEVER`], [`NO_WAIT`] or [`ALWAYS`]. Not with direct I/O, which would wait all
    /// the same.
    reads: AtomicU8,
    /// Whether writes are: not with those that are synced each.
    writes: AtomicU8,
}

/// It would wait, and cannot be told not to.
const NEVER: u8 = 0;
/// Tried with `RWF_NOWAIT`.
const NO_WAIT: u8 = 1;
/// It never waits: the file system is memory.
const ALWAYS: u8 = 2;

impl AsyncFile {
    /// Opens a file for reading, with the shared driver. At once if the system knows the way by heart, else on a
    /// thread. Dropped before its end, nothing stays open.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// assert_eq!(file.file().len()?, 5);
    /// assert!(AsyncFile::open("/missing").await.is_err());
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`File::open`] and [`Driver::shared`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let driver = Driver::shared()?;
        let kept = match File::open_at_once(path.as_ref()) {
            Ok(file) => return Ok(Self::with_flags(file?, &driver, OFlags::RDONLY)),
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

    /// Opens a file the way `how` says, on a thread of `driver`. Dropped before its end, nothing stays open.
    ///
    /// ```
    /// use fullbore::asynchronous::{AsyncFile, Driver};
    /// use fullbore::file::File;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new");
    /// # futures_lite::future::block_on(async {
    /// let driver = Driver::shared()?;
    /// let file = AsyncFile::open_with(&driver, move || File::create_new(path)).await?;
    /// let (result, _buffer) = file.write_all_at(b"hello".to_vec(), 0).await;
    /// result?;
    /// file.sync_all().await?;
    /// file.close().await?;
    /// # Ok::<(), fullbore::Error>(()) })?;
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
    ///
    /// ```
    /// use fullbore::asynchronous::{AsyncFile, Driver};
    /// let file = AsyncFile::new(fullbore::file::File::open("Cargo.toml")?, &Driver::shared()?);
    /// assert_eq!(file.file().path().to_str(), Some("Cargo.toml"));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn new(file: File, driver: &Driver) -> Self {
        let flags = rustix::fs::fcntl_getfl(file.as_fd()).unwrap_or(OFlags::empty());
        Self::with_flags(file, driver, flags)
    }

    fn with_flags(file: File, driver: &Driver, flags: OFlags) -> Self {
        let direct = flags.contains(OFlags::DIRECT);
        let reads_only = flags & OFlags::RWMODE == OFlags::RDONLY;
        let synced = flags.intersects(OFlags::DSYNC | OFlags::SYNC);
        let reads = match (file.kind() == FileKind::Regular, direct) {
            (true, false) => NO_WAIT,
            // There is nothing that the cache could be passed by for.
            (true, true) if crate::probe::in_memory(&file) => ALWAYS,
            _ => NEVER,
        };
        let writes = if synced && reads == NO_WAIT { NEVER } else { reads };
        let (reads, writes) = (AtomicU8::new(reads), AtomicU8::new(writes));
        Self { inner: Arc::new(Inner { file, driver: driver.clone(), direct, reads_only, reads, writes }) }
    }

    /// The file, for what does not wait: its path, length, explanations.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// assert_eq!(file.file().len()?, 5);
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// What moves its bytes.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// assert_eq!(file.driver().load(), (0, 0));
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn driver(&self) -> &Driver {
        &self.inner.driver
    }

    /// Reads once, from `offset` on, as much as the buffer has room for: a `Vec<u8>` is filled up to its
    /// capacity. Fewer bytes may come, 0 only at the end of the file. What the page cache holds is read in the
    /// first poll.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let (count, bytes) = file.read_at(vec![0; 64], 5).await;
    /// assert_eq!((count?, bytes.len()), (0, 0));
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, false)
    }

    /// As [`read_at`](Self::read_at) until the buffer is full; that the file ends before is an error.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let (count, bytes) = file.read_exact_at(vec![0; 4], 1).await;
    /// assert_eq!((count?, &bytes[..]), (4, &b"ello"[..]));
    /// assert!(file.read_exact_at(vec![0; 4], 2).await.0.is_err());
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_exact_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, true)
    }

    /// Writes once what the buffer holds, to `offset`. Fewer bytes may be written.
    ///
    /// ```
    /// use fullbore::{asynchronous::{AsyncFile, Driver}, file::File};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::new(File::open_write(&path)?, &Driver::shared()?);
    /// let (count, bytes) = file.write_at(b"J".to_vec(), 0).await;
    /// assert_eq!((count?, &bytes[..]), (1, &b"J"[..]));
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, false)
    }

    /// As [`write_at`](Self::write_at) until all is written.
    ///
    /// ```
    /// use fullbore::{asynchronous::{AsyncFile, Driver}, file::File};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::new(File::open_write(&path)?, &Driver::shared()?);
    /// let (count, _bytes) = file.write_all_at(b"JELLO".to_vec(), 0).await;
    /// assert_eq!(count?, 5);
    /// # assert_eq!(std::fs::read(&path).unwrap(), b"JELLO");
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, true)
    }

    /// Waits until the bytes, or with [`Durability::Full`] all that is known of the file, are on the device. As with
    /// [`File::sync`], a failure poisons every handle of the file.
    ///
    /// ```
    /// use fullbore::{asynchronous::{AsyncFile, Driver}, file::File};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::new(File::open_write(&path)?, &Driver::shared()?);
    /// file.write_all_at(b"JELLO".to_vec(), 0).await.0?;
    /// file.sync_data().await?;
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync(&self, durability: Durability) -> BlockingCall<()> {
        let file = self.inner.file.clone();
        BlockingCall::new(self.inner.driver.clone(), "sync", move || file.sync(durability))
    }

    /// [`sync`](Self::sync) with [`Durability::Data`], as [`File::sync_data`].
    ///
    /// ```
    /// use fullbore::{asynchronous::{AsyncFile, Driver}, file::File};
    /// # let dir = tempfile::tempdir()?;
    /// let file = AsyncFile::new(File::create_new(dir.path().join("f"))?, &Driver::shared()?);
    /// futures_lite::future::block_on(file.sync_data())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_data(&self) -> BlockingCall<()> {
        self.sync(Durability::Data)
    }

    /// [`sync`](Self::sync) with [`Durability::Full`], as [`File::sync_all`].
    ///
    /// ```
    /// use fullbore::{asynchronous::{AsyncFile, Driver}, file::File};
    /// # let dir = tempfile::tempdir()?;
    /// let file = AsyncFile::new(File::create_new(dir.path().join("f"))?, &Driver::shared()?);
    /// futures_lite::future::block_on(file.sync_all())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_all(&self) -> BlockingCall<()> {
        self.sync(Durability::Full)
    }

    /// Closes the file and tells the error that a network file system may keep until then. Clones keep it open, and so
    /// does a transfer that is not over: then there is nothing to tell yet.
    ///
    /// ```
    /// use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// file.close().await?;
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What `close(2)` says.
    pub fn close(self) -> BlockingCall<()> {
        let driver = self.inner.driver.clone();
        let Some(Inner { file, reads_only, .. }) = Arc::into_inner(self.inner) else {
            return BlockingCall::ready(driver, "close", Ok(()));
        };
        // Nothing is written back, so nothing is waited for: dropping would do the same.
        if reads_only && file.kind() == FileKind::Regular {
            return BlockingCall::ready(driver, "close", file.close());
        }
        BlockingCall::new(driver, "close", move || file.close())
    }

    pub(super) fn seekable(&self) -> bool {
        matches!(self.inner.file.kind(), FileKind::Regular | FileKind::BlockDevice)
    }

    /// Makes a transfer here and now, if that does not wait for a device: what the page cache holds, or has room for where
    /// the file system can say so (not ext4), and all that is memory.
    ///
    /// # Safety
    /// As [`transfer::once`].
    pub(super) unsafe fn at_once(
        &self,
        direction: Direction,
        pieces: &[libc::iovec],
        offset: u64,
        flags: ReadWriteFlags,
    ) -> Option<IoResult> {
        let fd = self.inner.file.as_fd();
        // SAFETY: promised by the caller.
        let call = |flags| unsafe { transfer::once(direction, fd, pieces, Some(offset), flags) };
        let known = match direction {
            Direction::Read => &self.inner.reads,
            Direction::Write => &self.inner.writes,
        };
        if known.load(Ordering::Relaxed) == NO_WAIT {
            match call(flags | ReadWriteFlags::NOWAIT) {
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    let memory = crate::probe::in_memory(fd);
                    known.store(if memory { ALWAYS } else { NEVER }, Ordering::Relaxed);
                }
                // What is wrong besides is told by the call that may wait.
                Err(_) => return None,
                done => return Some(done),
            }
        }
        (known.load(Ordering::Relaxed) == ALWAYS).then(|| call(flags))
    }

    /// Whether a transfer is the ring's: reads, and writes past the page cache. Buffered writes would go to the kernel's
    /// own threads, one after the other on ext4.
    pub(super) fn by_ring(&self, direction: Direction) -> bool {
        direction == Direction::Read || self.inner.direct || !self.seekable()
    }
}
