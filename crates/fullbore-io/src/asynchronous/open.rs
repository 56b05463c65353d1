//! Opening files as futures.

use std::path::Path;

use super::blocking_call::BlockingCall;
use super::driver::Driver;
use super::file::AsyncFile;
use crate::error::Result;
use crate::file::{File, Mode, OpenOptions};
use crate::sys::OpenFlags;

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
    pub fn open_with(
        driver: &Driver,
        how: impl FnOnce() -> Result<File> + Send + 'static,
    ) -> BlockingCall<Self> {
        let clone = driver.clone();
        BlockingCall::new(driver.clone(), "open", move || Ok(Self::new(how()?, &clone)))
    }

    /// Opens a file for reading and writing with the shared driver, as `tokio::fs::File::create` does: a new one, or an existing
    /// one that is truncated.
    ///
    /// # Errors
    /// As [`OpenOptions::open`] with [`Mode::CreateOrTruncate`], and [`Driver::shared`].
    pub async fn create(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().mode(Mode::CreateOrTruncate).open_async(path).await
    }
}

impl OpenOptions {
    /// As [`open`](Self::open), on a thread of the shared driver. If the future is dropped, no descriptor stays open; a file that
    /// the call created or truncated by then stays so. [`AsyncFile::open_with`] opens on a thread of another driver.
    ///
    /// ```
    /// use fullbore_io::file::{Mode, OpenOptions, Share};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("log");
    /// # futures_lite::future::block_on(async {
    /// let log = OpenOptions::new().mode(Mode::Append).share(Share::NONE).open_async(&path).await?;
    /// log.write_all_at(b"a line\n".to_vec(), 0).await.0?;
    /// assert_eq!(log.len().await?, 7);
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Driver::shared`].
    pub async fn open_async(&self, path: impl AsRef<Path>) -> Result<AsyncFile> {
        let (options, path) = (self.clone(), path.as_ref().to_owned());
        AsyncFile::open_with(&Driver::shared()?, move || options.open(path)).await
    }
}
