//! An open file.

use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags};

use super::cache_mode::CacheMode;
use super::descriptor::Descriptor;
use super::kind::{FileKind, FileStamp};
use super::on_close::OnClose;
use super::option_report::{OptionSupport, Support};
use super::options::Hint;
use super::preflight::Blocks;
use super::settled::SettledReader;
use super::sync::Health;
use crate::buf::ALIGNMENT;
use crate::error::{Error, Kind, Result};

/// An open file and the path it was opened by. A clone is the same open file, and the last one closes it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::File;
/// let file = File::create_new(directory.path().join("file"))?;
/// let other = file.clone();
/// other.write_all_at(b"bytes", 0)?;
/// assert_eq!(file.len()?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct File {
    pub(super) inner: Arc<Inner>,
}

/// What the clones of a [`File`] share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) fd: Descriptor,
    /// The path it was opened by: what messages call it.
    pub(super) path: PathBuf,
    /// What it is, once somebody asked.
    pub(super) kind: OnceLock<FileKind>,
    /// What transfers are cut to, in bytes: 1, or what direct I/O is aligned to.
    pub(super) unit: usize,
    /// How its transfers treat the page cache.
    pub(super) cache_mode: CacheMode,
    /// Whether a sync failed, and the faults that a test asked for: shared by every handle made of this one.
    pub(super) health: Health,
    /// The flags that a further open file on the same inode keeps: append and write-through.
    pub(super) status: OFlags,
    /// Where the position of a descriptor stood that was handed over, which others may use too; `None` for what was
    /// opened here, where nobody moves it.
    pub(super) start: Option<u64>,
    /// What is done when the last handle of the open goes.
    pub(super) on_close: Option<Arc<OnClose>>,
    /// What became of the options it was opened with.
    pub(super) report: OnceLock<Vec<OptionSupport>>,
}

impl Inner {
    /// What was opened just now, with these flags, and nobody has asked about yet.
    pub(super) fn plain(fd: OwnedFd, path: PathBuf, flags: OFlags) -> Self {
        Self::on(Descriptor::Own(fd), path, flags)
    }

    /// As [`plain`](Self::plain) on a descriptor that something else may hold too.
    pub(super) fn shared(fd: Arc<OwnedFd>, path: PathBuf, flags: OFlags) -> Self {
        Self::on(Descriptor::Shared(fd), path, flags)
    }

    fn on(fd: Descriptor, path: PathBuf, flags: OFlags) -> Self {
        Self {
            fd,
            path,
            kind: OnceLock::new(),
            unit: 1,
            cache_mode: CacheMode::Plain,
            health: Health::default(),
            status: flags & (OFlags::APPEND | OFlags::SYNC | OFlags::DSYNC),
            start: None,
            on_close: None,
            report: OnceLock::new(),
        }
    }

    /// The same again, under the plain mode, for a handle that differs in a field.
    pub(super) fn kin(self: &Arc<Self>) -> Self {
        let fd = match &self.fd {
            Descriptor::Own(_) => Descriptor::Of(self.clone()),
            Descriptor::Shared(fd) => Descriptor::Shared(fd.clone()),
            Descriptor::Of(inner) => Descriptor::Of(inner.clone()),
        };
        Self {
            fd,
            path: self.path.clone(),
            kind: self.kind.clone(),
            unit: self.unit,
            cache_mode: CacheMode::Plain,
            health: self.health.shared(),
            status: self.status,
            start: self.start,
            on_close: self.on_close.clone(),
            report: self.report.clone(),
        }
    }
}

impl File {
    /// Opens a file for reading. Waits where the system waits: a named pipe for its writer. Opening is one system call: a
    /// directory is refused when it is looked at ([`stamp`](Self::stamp)) or read.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// let file = fullbore::file::File::open("Cargo.toml")?;
    /// assert_eq!(file.path().to_str(), Some("Cargo.toml"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the system refuses, and for sockets, which cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OFlags::RDONLY)
    }

    /// Opens a file for reading without waiting for a device or for a pipe's writer. `Err` if that cannot be promised, with
    /// what must stay open until it was opened in another way: who waits for a pipe's reader has seen one.
    pub(crate) fn open_at_once(path: &Path) -> std::result::Result<Result<Self>, Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
        // Only what the cache of names leads to, and without the flag a pipe would wait for its writer.
        let found = rustix::fs::openat2(
            rustix::fs::CWD,
            path,
            flags | OFlags::NONBLOCK,
            Mode::empty(),
            rustix::fs::ResolveFlags::CACHED,
        );
        let fd = match found {
            Ok(fd) => fd,
            Err(rustix::io::Errno::NOENT) => {
                return Ok(Err(Error::io("open", path, rustix::io::Errno::NOENT.into())));
            }
            Err(_) => return Err(None),
        };
        let kind = rustix::fs::fstat(&fd).map_or(FileKind::Other, |stat| FileKind::of(stat.st_mode));
        // Others are opened as they come: they look at the flag, now or later.
        if kind != FileKind::Regular || rustix::fs::fcntl_setfl(&fd, OFlags::empty()).is_err() {
            return Err(Some(fd));
        }
        let inner = Inner { kind: OnceLock::from(kind), ..Inner::plain(fd, path.to_owned(), flags) };
        Ok(Ok(Self { inner: Arc::new(inner) }))
    }

    /// Opens an existing file for reading and writing; its bytes stay.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::File;
    /// # let path = directory.path().join("file");
    /// std::fs::write(&path, "bytes")?;
    /// File::open_write(&path)?.write_all_at(b"B", 0)?;
    /// assert_eq!(std::fs::read(&path)?, b"Bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_write(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), OFlags::RDWR)
    }

    pub(super) fn open_with(path: &Path, flags: OFlags) -> Result<Self> {
        Self::open_at(rustix::fs::CWD, path.as_os_str(), path, flags)
    }

    /// Opens a name in a directory; messages call it `path`.
    pub(super) fn open_at(directory: impl AsFd, name: &OsStr, path: &Path, flags: OFlags) -> Result<Self> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        match rustix::fs::openat(directory, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Self::opened(fd, path, flags)),
            Err(rustix::io::Errno::ISDIR) => Err(self::directory(path)),
            Err(rustix::io::Errno::NXIO) => Err(absent(path)),
            Err(error) => Err(Error::io("open", path, error.into())),
        }
    }

    /// What was just opened at `path` with `flags`.
    pub(super) fn opened(fd: OwnedFd, path: &Path, flags: OFlags) -> Self {
        Self { inner: Arc::new(Inner::plain(fd, path.to_owned(), flags)) }
    }

    /// Creates a file that must not exist yet, open for reading and writing.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::File;
    /// let path = directory.path().join("file");
    /// File::create_new(&path)?.write_all_at(b"bytes", 0)?;
    /// assert!(File::create_new(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it exists or the system refuses.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))
            .map_err(|error| Error::io("create", path, error.into()))?;
        Ok(Self { inner: Arc::new(Inner::plain(fd, path.to_owned(), flags)) })
    }

    /// Takes over an open descriptor; `path` is what messages call it.
    ///
    /// ```
    /// use fullbore::file::File;
    /// let handed_over = std::fs::File::open("Cargo.toml")?;
    /// let file = File::from_fd(handed_over.into(), "the manifest")?;
    /// assert_eq!(file.path().to_str(), Some("the manifest"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system cannot say what it is, and if that is a directory.
    pub fn from_fd(fd: OwnedFd, path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let stat = rustix::fs::fstat(&fd).map_err(|error| Error::io("inspect", &path, error.into()))?;
        let kind = FileKind::of(stat.st_mode);
        if kind == FileKind::Directory {
            return Err(directory(&path));
        }
        let status = rustix::fs::fcntl_getfl(&fd).unwrap_or(OFlags::empty());
        let start = Some(rustix::fs::tell(&fd).unwrap_or(0));
        let inner = Inner {
            kind: OnceLock::from(kind),
            start,
            report: OnceLock::from(Vec::new()),
            ..Inner::plain(fd, path, status)
        };
        let mut file = Self { inner: Arc::new(inner) };
        if status.contains(OFlags::DIRECT) {
            let unit = file.direct_alignment();
            file.inner = Arc::new(Inner { unit, ..file.inner.kin() });
        }
        Ok(file)
    }

    /// The process's standard input.
    ///
    /// ```
    /// if let Ok(input) = fullbore::file::File::stdin() {
    ///     println!("it is a {}", input.kind());
    /// }
    /// ```
    ///
    /// # Errors
    /// If it is closed.
    pub fn stdin() -> Result<Self> {
        Self::standard(rustix::stdio::stdin(), "standard input")
    }

    /// The process's standard output.
    ///
    /// ```
    /// if let Ok(output) = fullbore::file::File::stdout() {
    ///     println!("it is a {}", output.kind());
    /// }
    /// ```
    ///
    /// # Errors
    /// If it is closed.
    pub fn stdout() -> Result<Self> {
        Self::standard(rustix::stdio::stdout(), "standard output")
    }

    fn standard(fd: BorrowedFd<'_>, name: &str) -> Result<Self> {
        let fd =
            rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(|error| Error::io("use", name, error.into()))?;
        Self::from_fd(fd, name)
    }

    /// The path it was opened by.
    ///
    /// ```
    /// use fullbore::file::File;
    /// assert_eq!(File::open("./Cargo.toml")?.path().to_str(), Some("./Cargo.toml"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What it is. The first time the system is asked, unless opening has found it out.
    ///
    /// ```
    /// use fullbore::file::{File, FileKind};
    /// assert_eq!(File::open("/dev/zero")?.kind(), FileKind::CharacterDevice);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kind(&self) -> FileKind {
        *self.inner.kind.get_or_init(|| {
            rustix::fs::fstat(&self.inner.fd).map_or(FileKind::Other, |stat| FileKind::of(stat.st_mode))
        })
    }

    /// What became of each option that it was opened with.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// use fullbore::file::{Hint, OpenOptions};
    /// let file = OpenOptions::new().hint(Hint::Sequential).open("Cargo.toml")?;
    /// assert_eq!(file.option_report()[0].option, "hint=sequential");
    /// # Ok(()) }
    /// ```
    pub fn option_report(&self) -> &[OptionSupport] {
        // Opened in one call, there is nothing to say, or that alone.
        self.inner.report.get_or_init(|| {
            let appends = self.inner.status.contains(OFlags::APPEND);
            appends.then(|| super::apply_options::appending(self.kind())).into_iter().collect()
        })
    }

    /// Where a stream over it begins: its start, unless the descriptor was handed over with a position.
    pub(crate) fn start(&self) -> u64 {
        self.inner.start.unwrap_or(0)
    }

    /// The length in bytes now.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// let file = fullbore::file::File::open("Cargo.toml")?;
    /// assert_eq!(file.len()?, std::fs::metadata("Cargo.toml").unwrap().len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the system cannot say.
    #[allow(
        clippy::len_without_is_empty,
        reason = "of a file of /proc, only reading tells whether it is empty"
    )]
    pub fn len(&self) -> Result<u64> {
        Ok(self.stamp()?.len)
    }

    /// Closes the file and tells what dropping keeps to itself: `close(2)` is where some file systems (NFS, FUSE, quotas)
    /// report a write that failed, and a file that was to be [deleted](super::OpenOptions::delete_on_close) may stay. Clones keep
    /// it open; then there is nothing to tell yet.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// let file = fullbore::file::File::open("Cargo.toml")?;
    /// let clone = file.clone();
    /// file.close()?;
    /// assert!(clone.len()? > 0);
    /// clone.close()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What the system says.
    pub fn close(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.inner) else { return Ok(()) };
        let Inner { fd, path, on_close, cache_mode, .. } = inner;
        drop(cache_mode);
        let finished = on_close.and_then(Arc::into_inner).map_or(Ok(()), OnClose::finish);
        let fd = match fd {
            Descriptor::Own(fd) => Some(fd),
            Descriptor::Shared(fd) => Arc::into_inner(fd),
            // It holds what is done on closing, too.
            Descriptor::Of(inner) => return Self { inner }.close(),
        };
        let closed = fd.map_or(Ok(()), crate::sys::close::close);
        // The worse first: bytes that may be lost, then a name too many.
        closed.map_err(|error| Error::io("close", &path, error))?;
        finished
            .map_err(|error| Error::io("remove", &path, error.into()).advise("the file is closed and stays"))
    }

    /// Tells the system how a range of bytes will be read, and what became of that.
    ///
    /// ```
    /// use fullbore::file::{Support, Hint};
    /// # fn main() -> fullbore::Result<()> {
    /// let file = fullbore::file::File::open("Cargo.toml")?;
    /// println!("{}", file.advise(0..4096, Hint::WillNeed));
    /// assert!(matches!(file.advise(7..7, Hint::WillNeed), Support::Unsupported(_)), "no bytes");
    /// # Ok(()) }
    /// ```
    pub fn advise(&self, range: Range<u64>, hint: Hint) -> Support {
        super::apply_options::hinted(&self.inner.fd, range, hint)
    }

    /// Whether whatever is written goes to the end, wherever it is written.
    pub(crate) fn appends(&self) -> bool {
        self.inner.status.contains(OFlags::APPEND)
    }

    /// Its identity, length and time of modification now.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::File;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// let before = file.stamp()?;
    /// file.write_all_at(b"bytes", 0)?;
    /// assert!(file.stamp()? != before);
    /// assert_eq!(file.stamp()?.identity, before.identity);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is a directory, and if the system cannot say.
    pub fn stamp(&self) -> Result<FileStamp> {
        let stat = rustix::fs::fstat(&self.inner.fd)
            .map_err(|error| Error::io("inspect", &self.inner.path, error.into()))?;
        let len = match *self.inner.kind.get_or_init(|| FileKind::of(stat.st_mode)) {
            FileKind::Directory => return Err(directory(&self.inner.path)),
            FileKind::BlockDevice => {
                // Every transfer names its offset, so the position may go back to the start.
                let len = rustix::fs::seek(&self.inner.fd, rustix::fs::SeekFrom::End(0));
                let _ = rustix::fs::seek(&self.inner.fd, rustix::fs::SeekFrom::Start(0));
                len.map_err(|error| Error::io("measure", &self.inner.path, error.into()))?
            }
            _ => stat.st_size as u64,
        };
        Ok(FileStamp { len, ..FileStamp::of(&stat) })
    }

    /// The length of a file that can be read at any offset; `None` for what is read from front to back: pipes,
    /// devices, a file that was read in part already, and a regular file that says it is empty, which may be
    /// one of `/proc`, whose length nobody knows before the end; and one of `/sys`, which says a page.
    ///
    /// ```
    /// use fullbore::file::File;
    /// assert!(File::open("Cargo.toml")?.seekable_len()?.is_some());
    /// assert!(File::open("/dev/zero")?.seekable_len()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system cannot say.
    pub fn seekable_len(&self) -> Result<Option<u64>> {
        Ok(self.measure()?.1)
    }

    /// Reads all of a small file if that takes one request and one look (see [`SettledReader`]): its length then.
    pub(crate) fn read_settled(&self, reader: &mut SettledReader, bytes: &mut [u8]) -> Option<usize> {
        let plain = self.inner.start.is_none() && matches!(self.inner.cache_mode, CacheMode::Plain);
        plain.then(|| reader.read(&self.inner.fd, bytes, |bytes, flags| self.read_once(0, bytes, flags)))?
    }

    /// A stamp and the [length](Self::seekable_len) of the file, by one call.
    pub(crate) fn measure(&self) -> Result<(FileStamp, Option<u64>)> {
        let stamp = self.stamp()?;
        let len = match self.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                // A shell may have read a part of what it hands over as standard input.
                let read = self.inner.start.map_or(0, |_| rustix::fs::tell(&self.inner.fd).unwrap_or(0));
                let len = stamp.len;
                (len > 0 && read == 0 && !self.len_is_made_up(len)).then_some(len)
            }
            _ => None,
        };
        Ok((stamp, len))
    }

    /// Whether the length is only what the kernel says of files that it writes as they are read: a page, in `/sys`.
    fn len_is_made_up(&self, len: u64) -> bool {
        // From linux/magic.h.
        const SYSFS: u64 = 0x6265_6572;
        const SECURITYFS: u64 = 0x7363_6673;
        const TRACEFS: u64 = 0x7472_6163;
        const DEBUGFS: u64 = 0x6462_6720;
        // Others are not asked: most files have another length.
        len <= 64 << 10
            && len.is_multiple_of(4096)
            && rustix::fs::fstatfs(&self.inner.fd)
                .is_ok_and(|found| [SYSFS, SECURITYFS, TRACEFS, DEBUGFS].contains(&(found.f_type as u64)))
    }

    /// Gives the file blocks for `len` bytes and that length, so that no write has to allocate or extend.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::File;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// if file.allocate_and_extend(1 << 20).is_ok() {
    ///     assert_eq!(file.len()?, 1 << 20);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::NoSpace`] if there is not the room, [`Kind::Unsupported`] if the file system cannot do it.
    pub fn allocate_and_extend(&self, len: u64) -> Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        loop {
            self.before_blocks(Blocks::Extended, &(0..len))
                .map_err(|error| Error::io("preallocate", &self.inner.path, error))?;
            return match fallocate(&self.inner.fd, FallocateFlags::empty(), 0, len) {
                Ok(()) => Ok(()),
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NODEV | rustix::io::Errno::NOSYS) => {
                    Err(Error::new(
                        Kind::Unsupported,
                        "preallocate",
                        &self.inner.path,
                        "the file system cannot",
                    ))
                }
                Err(rustix::io::Errno::NOSPC) => Err(Error::new(
                    Kind::NoSpace,
                    "write",
                    &self.inner.path,
                    format!("No space left on device for {len} bytes"),
                )
                .advise("free some space or write somewhere else")),
                Err(error) => Err(Error::io("preallocate", &self.inner.path, error.into())),
            };
        }
    }

    /// Tells the system that the file will be read from front to back, which doubles the read-ahead of this
    /// open file (`man 2 posix_fadvise`).
    pub(crate) fn expect_sequential(&self) {
        // A hint: pipes refuse it, and nothing is lost.
        let _ = rustix::fs::fadvise(&self.inner.fd, 0, None, rustix::fs::Advice::Sequential);
    }

    /// Tells the system that the file will be read here and there.
    pub(crate) fn expect_random(&self) {
        let _ = rustix::fs::fadvise(&self.inner.fd, 0, None, rustix::fs::Advice::Random);
    }

    /// Drops the file's clean pages from the page cache.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::File;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"bytes", 0)?;
    /// file.sync_data()?;
    /// file.drop_cache()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses. That it kept some (dirty, mapped, in use) is no error: ask for the residency.
    pub fn drop_cache(&self) -> Result<()> {
        rustix::fs::fadvise(&self.inner.fd, 0, None, rustix::fs::Advice::DontNeed)
            .map_err(|error| Error::io("drop the cache of", &self.inner.path, error.into()))
    }

    /// Whether it has a position that can be moved: asked of the system, not told from the kind.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// assert!(fullbore::file::File::open("Cargo.toml")?.seekable());
    /// # Ok(()) }
    /// ```
    pub fn seekable(&self) -> bool {
        rustix::fs::tell(&self.inner.fd).is_ok()
    }

    /// Another descriptor of the same open file (`dup`): position, flags and locks are shared, and what is done on
    /// closing waits for both.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// let file = fullbore::file::File::open("Cargo.toml")?;
    /// assert_eq!(file.try_clone()?.stamp()?, file.stamp()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn try_clone(&self) -> Result<Self> {
        let fd = rustix::io::fcntl_dupfd_cloexec(&self.inner.fd, 3)
            .map_err(|error| Error::io("duplicate", &self.inner.path, error.into()))?;
        Ok(self.same(fd, self.inner.unit))
    }

    /// An open file of its own on the same inode, with its own read-ahead state, for reading and, if asked, for writing;
    /// where the system cannot do that, the same open file.
    ///
    /// ```
    /// use fullbore::file::File;
    /// let file = File::open("Cargo.toml")?;
    /// assert_eq!(file.reopen(false).stamp()?, file.stamp()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reopen(&self, write: bool) -> Self {
        match self.reopen_fd(write) {
            Ok(fd) => self.same(fd, 1),
            Err(_) => self.clone(),
        }
    }

    /// Gives a file opened as [temporary](super::OpenOptions::temporary) a name, which nothing may have yet. From then on it
    /// is a file like any other.
    ///
    /// ```
    /// use fullbore::file::OpenOptions;
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let directory = directory.path();
    /// let file = OpenOptions::new().temporary(true).open(directory)?;
    /// file.write_all_at(b"whole", 0)?;
    /// file.link_to(directory.join("name"))?;
    /// assert_eq!(std::fs::read(directory.join("name")).unwrap(), b"whole");
    /// assert!(file.link_to(directory.join("name")).is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If something has the name, and if the system refuses: another file system, a file that has lost its last name.
    pub fn link_to(&self, name: impl AsRef<Path>) -> Result<()> {
        let name = name.as_ref();
        let link = format!("/proc/self/fd/{}", self.as_fd().as_raw_fd());
        rustix::fs::linkat(rustix::fs::CWD, link, rustix::fs::CWD, name, rustix::fs::AtFlags::SYMLINK_FOLLOW)
            .map_err(|error| Error::io("create", name, error.into()))
    }

    /// A new open file on the same inode. Through `/proc`, because the path may lead elsewhere by now, or
    /// nowhere.
    pub(crate) fn reopen_fd(&self, write: bool) -> io::Result<OwnedFd> {
        self.reopen_fd_with(if write { OFlags::RDWR } else { OFlags::RDONLY })
    }

    /// As [`reopen`](Self::reopen_fd) with `O_DIRECT`.
    pub(crate) fn direct_handle(&self, write: bool) -> io::Result<Self> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        Ok(self.same(self.reopen_fd_with(access | OFlags::DIRECT)?, self.direct_alignment()))
    }

    /// Another open file on the same inode.
    pub(super) fn same(&self, fd: OwnedFd, unit: usize) -> Self {
        Self { inner: Arc::new(Inner { fd: Descriptor::Own(fd), unit, ..self.inner.kin() }) }
    }

    /// The same open file, whose transfers have another cache mode.
    pub(super) fn under(&self, cache_mode: CacheMode) -> Self {
        Self { inner: Arc::new(Inner { cache_mode, ..self.inner.kin() }) }
    }

    pub(super) fn reopen_fd_with(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let link = format!("/proc/self/fd/{}", self.as_fd().as_raw_fd());
        Ok(rustix::fs::open(
            link,
            flags | self.inner.status | OFlags::CLOEXEC | OFlags::NOCTTY,
            Mode::empty(),
        )?)
    }

    /// What direct transfers of this file are aligned to, in bytes. Where the file system serves them through the
    /// page cache all the same, or does not tell, one of its blocks, which is right everywhere: whether that
    /// happens can change from one moment to the next (btrfs moves small files into its tree and out of it), so
    /// it is no reason to fail. [`crate::engine::probe`] tells who wants to know.
    ///
    /// ```
    /// use fullbore::file::File;
    /// assert!(File::open("Cargo.toml")?.direct_alignment() >= 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn direct_alignment(&self) -> usize {
        let offset = match crate::probe::direct_alignment(self) {
            Ok(alignment) => alignment.offset.max(alignment.memory),
            Err(_) => rustix::fs::fstatvfs(&self.inner.fd).map_or(0, |room| room.f_bsize),
        };
        match usize::try_from(offset) {
            Ok(offset) if offset.is_power_of_two() && offset >= 512 => offset,
            _ => ALIGNMENT,
        }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.fd.as_fd()
    }
}

pub(super) fn directory(path: &Path) -> Error {
    Error::new(Kind::Unsupported, "open", path, "it is a directory").advise("name a file")
}

pub(super) fn absent(path: &Path) -> Error {
    Error::new(Kind::Unsupported, "open", path, "it is a socket or a device that is not there")
        .advise("name a file, a pipe or a device")
}
