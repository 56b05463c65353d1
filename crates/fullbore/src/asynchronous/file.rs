//! A file whose transfers are futures.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::OFlags;

use super::driver::Driver;
use super::task::Task;
use super::transfer::Transfer;
use crate::buf::{Buffer, Direction};
use crate::error::{Error, Result};
use crate::file::{File, FileKind};

/// A [`File`] and the [`Driver`] that moves its bytes. A clone is the same open file.
///
/// Transfers are positional and may run side by side. Pipes and terminals have no offsets: there it is ignored. A
/// `Vec` of buffers is read scattered and written gathered.
#[derive(Debug, Clone)]
pub struct AsyncFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    driver: Driver,
    direct: bool,
    /// Whether a read without waiting is worth the call: not with direct I/O, which would wait all the same.
    cached: AtomicBool,
}

impl AsyncFile {
    /// Opens a file for reading, with the shared driver.
    ///
    /// # Errors
    /// As [`File::open`] and [`Driver::shared`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        Self::open_with(&Driver::shared()?, move || File::open(path)).await
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
    pub fn open_with(driver: &Driver, how: impl FnOnce() -> Result<File> + Send + 'static) -> Task<Self> {
        let clone = driver.clone();
        Task::new(driver.clone(), "open", move || Ok(Self::new(how()?, &clone)))
    }

    /// Makes an open file asynchronous.
    pub fn new(file: File, driver: &Driver) -> Self {
        let flags = rustix::fs::fcntl_getfl(file.as_fd()).unwrap_or(OFlags::empty());
        let direct = flags.contains(OFlags::DIRECT);
        let cached = AtomicBool::new(!direct && file.kind() == FileKind::Regular);
        Self { inner: Arc::new(Inner { file, driver: driver.clone(), direct, cached }) }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.inner.file
    }

    /// What moves its bytes.
    pub fn driver(&self) -> &Driver {
        &self.inner.driver
    }

    /// Reads once, from `offset` on, as much as the buffer has room for: a `Vec<u8>` is filled up to its
    /// capacity. Fewer bytes may come, 0 only at the end of the file. What the page cache holds is read in the
    /// first poll.
    pub fn read_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, false)
    }

    /// As [`read_at`](Self::read_at) until the buffer is full; that the file ends before is an error.
    pub fn read_exact_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, true)
    }

    /// Writes once what the buffer holds, to `offset`. Fewer bytes may be written.
    pub fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, false)
    }

    /// As [`write_at`](Self::write_at) until all is written.
    pub fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, true)
    }

    /// Waits until the bytes are on the device (`fdatasync`).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync_data(&self) -> Task<()> {
        let file = self.inner.file.clone();
        Task::new(self.inner.driver.clone(), "sync", move || file.sync(crate::file::Sync::Data))
    }

    /// Waits until the bytes and all that is known of the file are on the device (`fsync`).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync_all(&self) -> Task<()> {
        let file = self.inner.file.clone();
        Task::new(self.inner.driver.clone(), "sync", move || {
            rustix::fs::fsync(file.as_fd()).map_err(|error| Error::io("sync", file.path(), error.into()))
        })
    }

    /// Closes the file and tells the error that a network file system may keep until then. Other clones stay open.
    ///
    /// # Errors
    /// What `close(2)` says.
    pub fn close(self) -> Task<()> {
        let file = self.inner.file.clone();
        let driver = self.inner.driver.clone();
        drop(self);
        Task::new(driver, "close", move || {
            crate::sys::transfer::flush_by_close(file.as_fd())
                .map_err(|error| Error::io("close", file.path(), error))
        })
    }

    pub(super) fn seekable(&self) -> bool {
        matches!(self.inner.file.kind(), FileKind::Regular | FileKind::BlockDevice)
    }

    pub(super) fn may_be_cached(&self) -> bool {
        self.inner.cached.load(Ordering::Relaxed)
    }

    /// A read without waiting failed. Where the file system has no such reads, none is tried again.
    pub(super) fn not_cached(&self, error: &io::Error) {
        if error.raw_os_error() == Some(libc::EOPNOTSUPP) {
            self.inner.cached.store(false, Ordering::Relaxed);
        }
    }

    /// Whether a transfer is the ring's: reads, and writes past the page cache. Buffered writes would go to the kernel's
    /// own threads, one after the other on ext4.
    pub(super) fn by_ring(&self, direction: Direction) -> bool {
        direction == Direction::Read || self.inner.direct || !self.seekable()
    }
}
