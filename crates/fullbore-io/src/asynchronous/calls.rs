//! Calls on threads of the driver: length, copies, syncs, closing, committing.

use std::ops::Range;
use std::path::Path;

use super::blocking_call::BlockingCall;
use super::driver::Driver;
use super::file::AsyncFile;
use crate::error::{Error, Result};
use crate::file::{CommitReport, CopyReport, Durability, File, FileKind, Output, Placement};
use crate::sys::{self, Code};

impl AsyncFile {
    /// Returns the current length in bytes, as [`File::len`].
    #[allow(
        clippy::len_without_is_empty,
        reason = "a file of /proc has length 0; only reading shows if it is empty"
    )]
    pub fn len(&self) -> BlockingCall<u64> {
        self.on_thread("inspect", |file| file.len())
    }

    /// Sets the length in bytes, as [`File::set_len`]. The order relative to transfers in flight is not defined.
    pub fn set_len(&self, len: u64) -> BlockingCall<()> {
        self.on_thread("set the length of", move |file| file.set_len(len))
    }

    /// Copies a range of this file to `offset` of `target` (all in bytes) by the methods of [`File::copy_range`], on one thread of
    /// this file's driver. The copy ends where the source does, so `0..u64::MAX` copies everything.
    ///
    /// The copy starts at the first poll. If the future is dropped later, the copy continues to its end: to be able to stop,
    /// copy ranges of some megabytes.
    ///
    /// ```
    /// use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    /// # std::fs::write(&from, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let (source, target) = (AsyncFile::open(&from).await?, AsyncFile::create(&to).await?);
    /// let report = source.copy_range(1..u64::MAX, &target, 0).await?;
    /// assert_eq!((report.bytes(), target.len().await?), (4, 4));
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # assert_eq!(std::fs::read(&to)?, b"ello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_range(&self, range: Range<u64>, target: &Self, offset: u64) -> BlockingCall<CopyReport> {
        let target = target.file().clone();
        self.on_thread("copy", move |file| file.copy_range(range, &target, offset))
    }

    /// Waits until the bytes, or with [`Durability::Full`] the metadata too, are on the device. As with [`File::sync`], a
    /// failure poisons every handle of the file.
    pub fn sync(&self, durability: Durability) -> BlockingCall<()> {
        self.on_thread("sync", move |file| file.sync(durability))
    }

    /// Syncs with [`Durability::Data`], as [`File::sync_data`].
    /// Errors: as [`sync`](Self::sync).
    pub fn sync_data(&self) -> BlockingCall<()> {
        self.sync(Durability::Data)
    }

    /// Syncs with [`Durability::Full`], as [`File::sync_all`].
    /// Errors: as [`sync`](Self::sync).
    pub fn sync_all(&self) -> BlockingCall<()> {
        self.sync(Durability::Full)
    }

    /// Closes the file and returns the error that a network file system may report only then. While a clone or a transfer
    /// in flight keeps the file open, there is no error to return yet.
    pub fn close(self) -> BlockingCall<()> {
        let driver = self.driver().clone();
        let Some((file, reads_only)) = self.into_file() else {
            return BlockingCall::ready(driver, "close", Ok(()));
        };
        // Without anything to write back, closing does not wait; dropping would have the same effect.
        if reads_only && file.kind() == FileKind::Regular {
            return BlockingCall::ready(driver, "close", file.close());
        }
        BlockingCall::new(driver, "close", move || file.close())
    }

    fn on_thread<T: Send + 'static>(
        &self,
        doing: &'static str,
        call: impl FnOnce(&File) -> Result<T> + Send + 'static,
    ) -> BlockingCall<T> {
        let file = self.file().clone();
        BlockingCall::new(self.driver().clone(), doing, move || call(&file))
    }
}

/// Copies the file `from` to the path `to` on one thread of the shared driver, by the methods of [`File::copy_range`]. `to` has all
/// of the bytes or is as it was before. As with `cp`, a new file gets the permission bits of `from`, and an existing one keeps its
/// own. Pipes and devices are written directly.
///
/// The copy starts at the first poll. If the future is dropped later, the copy continues to its end.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (from, to) = (dir.path().join("from"), dir.path().join("to"));
/// # std::fs::write(&from, "hello")?;
/// let report = futures_lite::future::block_on(fullbore_io::asynchronous::copy(&from, &to))?;
/// assert_eq!((report.bytes(), std::fs::read(&to)?), (5, b"hello".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`File::open`], [`Output::create`], [`File::copy_range`], [`Output::commit`] and [`Driver::shared`];
/// [`ErrorKind::SameFile`](crate::error::ErrorKind::SameFile) if both paths are one file.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<CopyReport> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    BlockingCall::new(Driver::shared()?, "copy", move || copy_file(&from, &to)).await
}

fn copy_file(from: &Path, to: &Path) -> Result<CopyReport> {
    let source = File::open(from)?;
    let output = Output::create(to, Placement::Replace, Some(&source))?;
    let report = source.copy_range(0..u64::MAX, output.file(), 0)?;
    let is_new = output.seekable() && !output.inherits();
    if is_new && source.kind() == FileKind::Regular {
        // Not the set-user-ID bits, since the owner may be another.
        let failed = |doing, file: &File, error: Code| Error::io(doing, file.path(), error.into());
        let status = sys::status(&source).map_err(|error| failed("inspect", &source, error))?;
        sys::change_mode(output.file(), status.mode & 0o777)
            .map_err(|error| failed("set the permissions of", output.file(), error))?;
        output.inherit_metadata(false).commit(Durability::None)?;
    } else {
        output.commit(Durability::None)?;
    }
    Ok(report)
}

impl Output {
    /// As [`commit`](Self::commit), on a thread of the shared driver. If the future is dropped before its first poll, or before a
    /// thread is free, the output is dropped and the old file unchanged; a commit that has started continues to its end.
    ///
    /// ```
    /// use fullbore_io::asynchronous::{AsyncFile, Driver};
    /// use fullbore_io::file::{Durability, Output};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("settings");
    /// # futures_lite::future::block_on(async {
    /// let output = Output::replace(&path)?;
    /// let file = AsyncFile::new(output.file().clone(), &Driver::shared()?);
    /// file.write_all_at(b"colour = blue\n".to_vec(), 0).await.0?;
    /// let report = output.commit_async(Durability::Full).await?;
    /// assert!(report.data() && report.directory());
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # assert_eq!(std::fs::read(&path)?, b"colour = blue\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`commit`](Self::commit) and [`Driver::shared`].
    pub async fn commit_async(self, durability: Durability) -> Result<CommitReport> {
        BlockingCall::new(Driver::shared()?, "commit", move || self.commit(durability)).await
    }
}
