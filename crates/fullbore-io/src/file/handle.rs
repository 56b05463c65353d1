//! Opening and closing of files, and further handles of them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::inner::{CacheMode, Descriptor, File, Inner};
use super::options::{Mode, OpenOptions};
use super::types::CachePolicy;
use crate::buf::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{
    self, Advice, AsHandle, AtFlags, BorrowedHandle, Code, FileKind, Handle, OpenFlags, Status,
};

impl File {
    /// Opens a file for reading, by one system call that may block (on a named pipe until it has a writer). A directory is rejected
    /// by the first [`stamp`](Self::stamp) or read. Sockets cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OpenFlags::READ)
    }

    /// Opens a file for reading without waiting for names on a device or for a pipe's writer; it may still wait for the server
    /// of a file system. If that cannot be guaranteed, returns a named pipe, whose writers have seen this reader, for
    /// [`wait_for_writer`](Self::wait_for_writer), and `None` for other files.
    pub(crate) fn open_at_once(path: &Path) -> std::result::Result<Result<Self>, Option<Self>> {
        let flags = OpenFlags::READ | OpenFlags::NOCTTY;
        // `CACHED` follows names in the directory cache only; without `NONBLOCK` a pipe would wait for its writer.
        let found = sys::open_cached(path, flags | OpenFlags::NONBLOCK);
        let fd = match found {
            Ok(fd) => fd,
            Err(Code::NOT_FOUND) => {
                return Ok(Err(Error::io("open", path, Code::NOT_FOUND.into())));
            }
            Err(_) => return Err(None),
        };
        let kind = sys::status(&fd).map_or(FileKind::Other, |stat| stat.kind());
        let inner = Inner { kind: OnceLock::from(kind), ..Inner::plain(fd, path.to_owned(), flags) };
        let file = Self::of(inner);
        match kind {
            FileKind::Regular if sys::set_status_flags(&file, OpenFlags::empty()).is_ok() => Ok(Ok(file)),
            FileKind::Fifo => Err(Some(file)),
            // For other kinds the flag affects later calls too.
            _ => Err(None),
        }
    }

    /// Waits until a named pipe that was opened without waiting has a writer, or has had one since.
    pub(crate) fn wait_for_writer(self) -> Result<Self> {
        /// The interval of checks: no event reports a writer that has written no bytes.
        const PATIENCE: Duration = Duration::from_millis(10);
        let wait = || {
            let (_reader, copy) = sys::pipe()?;
            loop {
                let pipe = [(self.as_handle(), Direction::Read)];
                let ready = sys::uninterrupted(|| sys::wait_any(&pipe, Some(PATIENCE)))?;
                // With a writer, the copy of a byte would wait for it; the pipe keeps its bytes.
                if ready == [true] || sys::tee(&self, &copy, 1) == Err(Code::WOULD_BLOCK) {
                    return sys::set_status_flags(&self, OpenFlags::empty());
                }
            }
        };
        wait().map_err(|code| refused(self.path(), code))?;
        Ok(self)
    }

    /// Opens an existing file for reading and writing, as [`open`](Self::open); its content stays.
    pub fn open_write(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OpenFlags::READ_WRITE)
    }

    pub(super) fn open_with(path: &Path, flags: OpenFlags) -> Result<Self> {
        Self::open_at(sys::CURRENT_DIRECTORY, path.as_os_str(), path, flags)
    }

    /// Opens a name in a directory; messages use `path`.
    pub(super) fn open_at(
        directory: impl AsHandle,
        name: &OsStr,
        path: &Path,
        flags: OpenFlags,
    ) -> Result<Self> {
        let flags = flags | OpenFlags::NOCTTY;
        let fd = sys::open_at(directory, name, flags, 0).map_err(|error| refused(path, error))?;
        Ok(Self::opened(fd, path, flags))
    }

    /// Creates a file, open for reading and writing; the name must not exist.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        let fd = sys::open(path, flags, 0o666).map_err(|error| Error::io("create", path, error.into()))?;
        Ok(Self::of(Inner::plain(fd, path.to_owned(), flags)))
    }

    /// Opens a file for reading and writing: a new one, or an existing one that is truncated at once. An
    /// [`Output`](super::Output) keeps the old content until the new one is complete.
    ///
    /// # Errors
    /// As [`OpenOptions::open`] with [`Mode::CreateOrTruncate`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().mode(Mode::CreateOrTruncate).open(path)
    }

    /// Adopts an open descriptor, an `OwnedFd` of std (on Windows an `OwnedHandle`); messages use `path`.
    ///
    /// ```
    /// use fullbore_io::file::File;
    /// let handed_over = std::fs::File::open("Cargo.toml")?;
    /// let file = File::from_fd(handed_over.into(), "the manifest")?;
    /// assert_eq!(file.path().to_str(), Some("the manifest"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_fd(fd: Handle, path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let stat = sys::status(&fd).map_err(|error| Error::io("inspect", &path, error.into()))?;
        Self::adopted(fd, path, &stat)
    }

    /// As [`from_fd`](Self::from_fd), for a file whose status is known; the file is [stamped](Self::stamped)
    /// with it.
    #[doc(hidden)]
    pub fn with_status(fd: Handle, path: PathBuf, stat: &Status) -> Result<Self> {
        Self::adopted(fd, path, stat)?.stamped_as(stat)
    }

    fn adopted(fd: Handle, path: PathBuf, stat: &Status) -> Result<Self> {
        let kind = stat.kind();
        if kind == FileKind::Directory {
            return Err(directory(&path));
        }
        let status = sys::status_flags(&fd).unwrap_or(OpenFlags::empty());
        let start = Some(sys::position(&fd).unwrap_or(0));
        let inner = Inner {
            kind: OnceLock::from(kind),
            start,
            report: OnceLock::from(Vec::new()),
            ..Inner::plain(fd, path, status)
        };
        let mut file = Self::of(inner);
        if status.contains(OpenFlags::DIRECT) {
            let unit = file.direct_alignment();
            file.inner = Arc::new(Inner { unit, ..file.inner.derived() });
        }
        Ok(file)
    }

    /// Opens the process's standard input.
    pub fn stdin() -> Result<Self> {
        Self::standard(sys::stdin(), "standard input")
    }

    /// Opens the process's standard output.
    pub fn stdout() -> Result<Self> {
        Self::standard(sys::stdout(), "standard output")
    }

    fn standard(fd: BorrowedHandle<'_>, name: &str) -> Result<Self> {
        let fd = sys::try_clone(fd).map_err(|error| Error::io("use", name, error.into()))?;
        Self::from_fd(fd, name)
    }

    /// Returns the offset at which a stream over the file starts: 0, unless an adopted descriptor had a position.
    pub fn start(&self) -> u64 {
        self.inner.start.unwrap_or(0)
    }

    /// Returns the current length in bytes.
    #[allow(
        clippy::len_without_is_empty,
        reason = "a file of /proc has length 0; only reading shows if it is empty"
    )]
    pub fn len(&self) -> Result<u64> {
        Ok(self.stamp()?.len)
    }

    /// Closes the file and returns the errors that a drop ignores: of a write that failed late (NFS, FUSE, quotas), of the
    /// [deletion](super::OpenOptions::delete_on_close) or of the release of [reserved](super::OpenOptions::reserve) blocks. While
    /// clones keep the file open, there is no error to return.
    pub fn close(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.inner) else { return Ok(()) };
        let Inner { fd, path, on_close, cache_mode, .. } = inner;
        drop(cache_mode);
        let finished = on_close.and_then(Arc::into_inner).map_or(Ok(()), |on_close| on_close.finish(&path));
        let closed = match fd {
            Descriptor::Own(fd) => sys::close(fd),
            Descriptor::Further(mut further) => further.close(),
            Descriptor::Shared(fd) => Arc::into_inner(fd).map_or(Ok(()), sys::close),
            // The inner file also holds the actions on close.
            Descriptor::Of(inner) => return Self { inner, before: None, shared: false }.close(),
        };
        // The more serious error first: possible loss of bytes, then what remains.
        closed.map_err(|error| Error::io("close", &path, error))?;
        finished
    }

    /// True if every write goes to the end of the file, at any offset; on a block device, writes go to their offsets.
    pub(crate) fn appends(&self) -> bool {
        self.inner.status.contains(OpenFlags::APPEND) && self.kind() != FileKind::BlockDevice
    }

    /// Hints that the file will be read sequentially (`man 2 posix_fadvise`), which doubles the read-ahead of this open file.
    pub fn expect_sequential(&self) {
        // Only a hint: the error of a pipe does not matter.
        let _ = sys::advise(&self.inner.fd, 0, None, Advice::Sequential);
    }

    /// Hints that the file will be read at random offsets.
    pub fn expect_random(&self) {
        let _ = sys::advise(&self.inner.fd, 0, None, Advice::Random);
    }

    /// Drops the file's clean pages from the page cache. Pages that cannot be dropped (dirty, mapped, in use) are not an
    /// error. On Windows it fails unless this handle bypasses the cache, and has no effect while another handle uses the cache.
    pub fn drop_cache(&self) -> Result<()> {
        sys::advise(&self.inner.fd, 0, None, Advice::DontNeed)
            .map_err(|error| Error::io("drop its pages from the cache", &self.inner.path, error.into()))
    }

    /// True if the file has a movable position. Determined by a system call, not derived from the kind.
    pub fn seekable(&self) -> bool {
        sys::position(&self.inner.fd).is_ok()
    }

    /// Creates a further descriptor of the same open file (`dup`), with the same cache policy where the system permits it:
    /// position, flags and locks are shared, and the actions on close run when both are closed.
    pub fn try_clone(&self) -> Result<Self> {
        let fd = sys::try_clone(&self.inner.fd)
            .map_err(|error| Error::io("duplicate", &self.inner.path, error.into()))?;
        let file = self.same(fd, self.inner.unit);
        Ok(match self.cache_policy().0 {
            CachePolicy::Keep => file,
            policy => file.with_cache(policy).0,
        })
    }

    /// On systems that drop the pages of a file only if all its handles bypass the cache, replaces this handle by one that bypasses
    /// the cache. [Reopened](Self::reopen) handles use the cache.
    #[doc(hidden)]
    pub fn evictable(self) -> Self {
        let write = sys::status_flags(&self.inner.fd)
            .is_ok_and(|flags| flags & OpenFlags::ACCESS == OpenFlags::READ_WRITE);
        match sys::DROPS_BY_REOPENING.then(|| self.direct_handle(write)) {
            Some(Ok(file)) => file,
            _ => self,
        }
    }

    /// Opens the inode again, with its own read-ahead, for reading and, if `write` is true, for writing; returns the
    /// same open file if the system cannot reopen it.
    #[doc(hidden)]
    pub fn reopen(&self, write: bool) -> Self {
        match self.reopen_fd(write) {
            Ok(fd) => self.same(fd, 1),
            Err(_) => self.clone(),
        }
    }

    /// Returns a handle for one worker of a run, and `true` if it is [reopened](Self::reopen). It is reopened to have
    /// its own read-ahead, unless the file is cached or written, and always where calls through one handle wait for
    /// each other.
    #[doc(hidden)]
    pub fn for_worker(&self, write: bool) -> (Self, bool) {
        let plain = matches!(self.inner.cache_mode, CacheMode::Plain) && self.inner.unit == 1;
        if plain && (write || self.shared) && !sys::HANDLES_SERIALIZE {
            (self.clone(), false)
        } else {
            (self.reopen(write), true)
        }
    }

    /// Returns the handle for runs over a cached file.
    #[must_use]
    #[doc(hidden)]
    pub fn sharing(&self, shared: bool) -> Self {
        Self { shared, ..self.clone() }
    }

    /// Gives a name to a file opened as [temporary](super::OpenOptions::temporary); the name must not exist. Afterwards
    /// the file behaves like any other.
    ///
    /// ```
    /// use fullbore_io::file::OpenOptions;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let directory = directory.path();
    /// let file = OpenOptions::new().temporary(true).open(directory)?;
    /// file.write_all_at(b"whole", 0)?;
    /// file.link_to(directory.join("name"))?;
    /// assert_eq!(std::fs::read(directory.join("name")).unwrap(), b"whole");
    /// assert!(file.link_to(directory.join("name")).is_err());
    /// # Ok::<(), fullbore_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the name exists or is on another file system, or if the file has lost its last name.
    pub fn link_to(&self, name: impl AsRef<Path>) -> Result<()> {
        let name = name.as_ref();
        let link = sys::handle_path(&self);
        sys::hard_link(sys::CURRENT_DIRECTORY, link, sys::CURRENT_DIRECTORY, name, AtFlags::FOLLOW)
            .map_err(|error| Error::io("create", name, error.into()))
    }

    /// Opens the file again: on Linux through `/proc`, because its path may refer to another file by now, or to none; elsewhere by
    /// the path.
    #[doc(hidden)]
    pub fn reopen_fd(&self, write: bool) -> io::Result<Handle> {
        self.reopen_fd_with(if write { OpenFlags::READ_WRITE } else { OpenFlags::READ })
    }

    /// True if closing the last handle removes the name, frees blocks or releases a lock.
    pub(crate) fn acts_on_close(&self) -> bool {
        self.inner.on_close.is_some()
    }

    /// True if the share mode of the file may deny it further handles.
    pub(crate) fn denies_handles(&self) -> bool {
        sys::SHARE_MODES && self.inner.on_close.as_ref().is_some_and(|on_close| on_close.locked)
    }

    pub(crate) fn direct_handle(&self, write: bool) -> io::Result<Self> {
        self.handle_with(write, OpenFlags::DIRECT)
    }

    pub(crate) fn handle_with(&self, write: bool, flags: OpenFlags) -> io::Result<Self> {
        let access = if write { OpenFlags::READ_WRITE } else { OpenFlags::READ };
        let unit = if flags.contains(OpenFlags::DIRECT) { self.direct_alignment() } else { 1 };
        Ok(self.same(self.reopen_fd_with(access | flags)?, unit))
    }

    pub(crate) fn with_handle(&self, fd: Handle) -> Self {
        self.same(fd, self.inner.unit)
    }

    /// The options that a reopened file inherits.
    pub(crate) fn inherited(&self) -> OpenFlags {
        self.inner.status
    }

    pub(crate) fn reopen_fd_with(&self, flags: OpenFlags) -> io::Result<Handle> {
        Ok(sys::reopen(self, flags | self.inner.status | OpenFlags::NOCTTY)?)
    }
}

/// Returns the error of an `open` that failed.
pub(super) fn refused(path: &Path, code: Code) -> Error {
    match code {
        Code::NO_SUCH_ADDRESS => absent(path),
        code => Error::io("open", path, code.into()),
    }
}

pub(super) fn directory(path: &Path) -> Error {
    Error::io("open", path, Code::IS_DIRECTORY.into())
}

pub(super) fn absent(path: &Path) -> Error {
    Error::new(ErrorKind::Unsupported, "open", path, "it is a socket, or its device does not exist")
        .advise("name a file, a pipe or a device")
}
