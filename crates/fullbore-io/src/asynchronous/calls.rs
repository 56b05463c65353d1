//! Calls on threads of the driver: opening, length, copies, syncs, closing, committing.

use std::fmt;
use std::future::Future;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::driver::Driver;
use super::file::AsyncFile;
use super::slots::Key;
use super::state::Operation;
use crate::error::{Error, Result};
use crate::file::inner::Unwritten;
use crate::file::spans::bounded;
use crate::file::{
    Access, CommitReport, CopyReport, Durability, File, FileKind, Mode, OpenOptions, Output, Placement,
};
use crate::lock::Mutex;
use crate::sys::{self, Code, OpenFlags};

/// The bytes of a copy, which an output must not be committed without, unless the caller receives the error.
struct LostUnlessTaken(Option<Unwritten>);

impl Drop for LostUnlessTaken {
    fn drop(&mut self) {
        if let Some(unwritten) = self.0.take() {
            unwritten.lose();
        }
    }
}

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
        self.on_thread("set its length", move |file| file.set_len(len))
    }

    /// Copies a range of this file to `offset` of `target` (all in bytes) by the methods of [`File::copy_range`], on one thread of
    /// this file's driver. The copy ends where the source does, so `..` copies everything.
    ///
    /// The copy starts at the first poll. If the future is dropped later, the copy continues to its end. To be able to stop
    /// a copy, copy ranges of a few megabytes at a time.
    ///
    /// ```
    /// use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    /// # std::fs::write(&from, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let (source, target) = (AsyncFile::open(&from).await?, AsyncFile::create(&to).await?);
    /// let report = source.copy_range(1.., &target, 0).await?;
    /// assert_eq!((report.bytes(), target.len().await?), (4, 4));
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # assert_eq!(std::fs::read(&to)?, b"ello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_range(
        &self,
        range: impl RangeBounds<u64>,
        target: &Self,
        offset: u64,
    ) -> BlockingCall<CopyReport> {
        let range = bounded(&range);
        let (target, dispatch) = (target.file().clone(), self.driver().dispatch().clone());
        let unwritten = Arc::new(Mutex::new(LostUnlessTaken(target.mark_unwritten())));
        let of_thread = unwritten.clone();
        let mut call = self.on_thread("copy", move |file| {
            let waits = waits_for_others(file.kind()) || waits_for_others(target.kind());
            let _beside = waits.then(|| dispatch.wait_beside(1));
            let copied = file.copy_range(range, &target, offset)?;
            drop(of_thread.lock().0.take());
            Ok(copied)
        });
        call.unwritten = Some(unwritten);
        call
    }

    /// Waits until the bytes, or with [`Durability::Full`] the metadata too, are on the device. As with [`File::sync`], a
    /// failure poisons every handle of the file.
    pub fn sync(&self, durability: Durability) -> BlockingCall<()> {
        self.on_thread("sync", move |file| file.sync(durability))
    }

    /// Syncs with [`Durability::Data`], as [`File::sync_data`].
    pub fn sync_data(&self) -> BlockingCall<()> {
        self.sync(Durability::Data)
    }

    /// Syncs with [`Durability::Full`], as [`File::sync_all`].
    pub fn sync_all(&self) -> BlockingCall<()> {
        self.sync(Durability::Full)
    }

    /// Closes the file and returns an error that a network file system may report only on close. While a clone or a transfer
    /// in flight keeps the file open, there is no error to return yet.
    pub fn close(self) -> BlockingCall<()> {
        let driver = self.driver().clone();
        let Some((file, reads_only)) = self.into_file() else {
            return BlockingCall::ready(driver, "close", Ok(()));
        };
        // Without anything to write back or to remove, closing does not wait; dropping would have the same effect.
        if reads_only && file.kind() == FileKind::Regular && !file.acts_on_close() {
            return BlockingCall::ready(driver, "close", file.close());
        }
        BlockingCall::new(driver, "close", move || file.close())
    }

    /// Calls `call` with the file on a thread of the driver: for every function of [`File`] that this type does not have. A call
    /// that waits for another process, such as [`File::lock`], holds its thread and its place among the operations in flight.
    ///
    /// ```
    /// use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// assert_eq!(file.call(|file| file.metadata()).await?.len(), 5);
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&File) -> Result<T> + Send + 'static,
    ) -> BlockingCall<T> {
        self.on_thread("call", call)
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

/// Copies the file `from` to the path `to` on one thread of the shared driver, by the methods of [`File::copy_range`].
/// Afterwards `to` has all of the bytes, or is unchanged. As with `std::fs::copy`, a new file gets the permission bits of `from`,
/// whatever the umask; an existing one keeps its own. Pipes and devices are written directly.
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
/// [`ErrorKind::SameFile`](crate::error::ErrorKind::SameFile) if both paths are one file, and
/// [`ErrorKind::Changed`](crate::error::ErrorKind::Changed) if a regular file `from` changes meanwhile.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<CopyReport> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    let driver = Driver::shared()?;
    let dispatch = driver.dispatch().clone();
    let copy = move || {
        let waits = |path| sys::stat(path).is_ok_and(|stat| waits_for_others(stat.kind()));
        let _beside = (waits(&from) || waits(&to)).then(|| dispatch.wait_beside(1));
        copy_file(&from, &to)
    };
    BlockingCall::new(driver, "copy", copy).await
}

/// True if opening, reading or writing a file of this kind may wait for another process, which must not keep a thread from the
/// driver's other calls.
fn waits_for_others(kind: FileKind) -> bool {
    !matches!(kind, FileKind::Regular | FileKind::BlockDevice | FileKind::Directory)
}

fn copy_file(from: &Path, to: &Path) -> Result<CopyReport> {
    let source = File::open(from)?;
    let before = source.stamp()?;
    let output = Output::create_with(to, Placement::Replace, Some(&source))?;
    let report = source.copy_range(.., output.file(), 0)?;
    source.check_unchanged(&before)?;
    let is_new = output.seekable() && !output.inherits();
    if is_new && source.kind() == FileKind::Regular {
        // Not the set-user-ID bits, since the owner may be another.
        let failed = |doing, file: &File, error: Code| Error::io(doing, file.path(), error.into());
        let status = sys::status(&source).map_err(|error| failed("inspect", &source, error))?;
        sys::change_mode(output.file(), status.mode & 0o777)
            .map_err(|error| failed("set its permissions", output.file(), error))?;
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

    /// As [`commit_len`](Self::commit_len), on a thread of the shared driver, with the rules of
    /// [`commit_async`](Self::commit_async).
    ///
    /// # Errors
    /// As [`commit_len`](Self::commit_len) and [`Driver::shared`].
    pub async fn commit_len_async(self, len: u64, durability: Durability) -> Result<CommitReport> {
        BlockingCall::new(Driver::shared()?, "commit", move || self.commit_len(len, durability)).await
    }
}

impl AsyncFile {
    /// Opens a file for reading with the shared driver: at once if the kernel has the path in its cache, otherwise on a
    /// thread. If the future is dropped, no descriptor stays open. On a network file system or FUSE, an open at once may
    /// wait for the server; [`open_with`](Self::open_with) always opens on a thread.
    ///
    /// # Errors
    /// As [`File::open`] and [`Driver::shared`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let driver = Driver::shared()?;
        let pipe = match File::open_at_once(path.as_ref()) {
            Ok(file) => return Ok(Self::with_flags(file?, &driver, OpenFlags::READ)),
            Err(pipe) => pipe,
        };
        let open = |path: &Path| match pipe {
            Some(pipe) => pipe.wait_for_writer(),
            None => File::open(path),
        };
        Self::open_with(&driver, waiting_beside(&driver, path.as_ref().to_owned(), open)).await
    }

    /// Opens a file by calling `how` on a thread of `driver`. If the future is dropped, no descriptor stays open. A call that waits
    /// for another process, as opening a named pipe does, holds its thread and its place among the operations in flight.
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

    /// Opens a file with the shared driver: a new one, or an existing one that is truncated. Unlike `tokio::fs::File::create`,
    /// it opens the file for reading too.
    ///
    /// # Errors
    /// As [`OpenOptions::open`] with [`Mode::CreateOrTruncate`], and [`Driver::shared`].
    pub async fn create(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().mode(Mode::CreateOrTruncate).open_async(path).await
    }

    /// Creates a file with the shared driver, as [`File::create_new`].
    ///
    /// # Errors
    /// As [`File::create_new`] and [`Driver::shared`].
    pub async fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().mode(Mode::CreateNew).open_async(path).await
    }

    /// Opens an existing file for reading and writing with the shared driver, as [`File::open_write`].
    ///
    /// # Errors
    /// As [`File::open_write`] and [`Driver::shared`].
    pub async fn open_write(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().access(Access::ReadWrite).open_async(path).await
    }
}

impl OpenOptions {
    /// As [`open`](Self::open), on a thread of the shared driver. If the future is dropped, no descriptor stays open; a file that
    /// the call created or truncated by then remains so. [`AsyncFile::open_with`] opens on a thread of another driver.
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
        let driver = Driver::shared()?;
        AsyncFile::open_with(&driver, waiting_beside(&driver, path, move |path| options.open(path))).await
    }
}

/// Opens `path` by `how`, beside the driver's threads if it may wait: for the other end of a named pipe.
fn waiting_beside(
    driver: &Driver,
    path: PathBuf,
    how: impl FnOnce(&Path) -> Result<File> + Send + 'static,
) -> impl FnOnce() -> Result<File> + Send + 'static {
    let dispatch = driver.dispatch().clone();
    move || {
        let waits = sys::stat(&path).is_ok_and(|stat| waits_for_others(stat.kind()));
        let _beside = waits.then(|| dispatch.wait_beside(1));
        how(&path)
    }
}

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// A call that starts at the first poll of the future. If the future is dropped before a thread has started the call, the
/// call never runs; if it is dropped later, the result (an open file) is closed.
#[must_use = "a future does nothing unless it is awaited or polled"]
pub struct BlockingCall<T> {
    driver: Driver,
    doing: &'static str,
    work: Option<Work<T>>,
    place: Arc<Mutex<Option<Result<T>>>>,
    key: Option<Key>,
    /// Records the loss of a copy's bytes unless the result of the call is taken; `None` for other calls.
    unwritten: Option<Arc<Mutex<LostUnlessTaken>>>,
}

impl<T> fmt::Debug for BlockingCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingCall").field("doing", &self.doing).finish_non_exhaustive()
    }
}

impl<T> Unpin for BlockingCall<T> {}

impl<T: Send + 'static> BlockingCall<T> {
    pub(super) fn new(
        driver: Driver,
        doing: &'static str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Self {
        Self { driver, doing, work: Some(Box::new(work)), place: Arc::default(), key: None, unwritten: None }
    }

    pub(super) fn ready(driver: Driver, doing: &'static str, result: Result<T>) -> Self {
        let place = Arc::new(Mutex::new(Some(result)));
        Self { driver, doing, work: None, place, key: None, unwritten: None }
    }

    fn failed(&self, error: std::io::Error) -> Poll<Result<T>> {
        Poll::Ready(Err(Error::io(self.doing, "", error).without_path()))
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<T>> {
        let dispatch = self.driver.dispatch().clone();
        if let Some(work) = self.work.take() {
            let place = self.place.clone();
            let task = move || {
                let result = work();
                *place.lock() = Some(result);
                Ok(0)
            };
            return match dispatch.submit(Operation::Blocking(Some(Box::new(task))), context.waker()) {
                Ok(key) => {
                    self.key = Some(key);
                    Poll::Pending
                }
                Err((_, error)) => self.failed(error),
            };
        }
        if let Some(key) = self.key {
            let Poll::Ready((_, outcome)) = dispatch.poll(key, context.waker()) else { return Poll::Pending };
            self.key = None;
            if let Err(error) = outcome {
                return self.failed(error);
            }
        }
        let result = self.place.lock().take();
        Poll::Ready(result.expect("polled after completion"))
    }
}

impl<T: Send + 'static> Future for BlockingCall<T> {
    type Output = Result<T>;

    /// # Panics
    /// If it is polled after completion.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = self.advance(context);
        if let (true, Some(unwritten)) = (result.is_ready(), &self.unwritten) {
            drop(unwritten.lock().0.take());
        }
        result
    }
}

impl<T> Drop for BlockingCall<T> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            // A call that still waits for a thread is removed.
            self.driver.dispatch().cancel(key);
            self.driver.dispatch().detach(key);
        }
    }
}
