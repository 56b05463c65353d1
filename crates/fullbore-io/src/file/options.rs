//! The options of an open, as values only; `open` carries them out.

use std::path::Path;

use super::types::{CachePolicy, Durability};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::OpenFlags;

/// The required state of the file before it is opened, and the treatment of its content. Only
/// [`Truncate`](Self::Truncate) and [`CreateOrTruncate`](Self::CreateOrTruncate) empty a file.
///
/// ```
/// use fullbore_io::file::{Mode, OpenOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "old")?;
/// OpenOptions::new().mode(Mode::Append).open(&path)?.write_all_at(b", new", 0)?;
/// assert_eq!(std::fs::read(&path)?, b"old, new");
/// OpenOptions::new().mode(Mode::Truncate).open(&path)?;
/// assert_eq!(std::fs::read(&path)?, b"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mode {
    /// An existing file.
    #[default]
    Open,
    /// A new file, or an existing one that is truncated.
    CreateOrTruncate,
    /// A new file; the name must not exist.
    CreateNew,
    /// An existing file that is truncated.
    Truncate,
    /// An existing file with its content, or a new one.
    OpenOrCreate,
    /// An existing file or a new one; every write goes to the end of the file, at any offset (`O_APPEND`).
    Append,
}

/// The transfers that the file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading only.
    Read,
    /// Writing only.
    Write,
    /// Reading and writing.
    ReadWrite,
}

/// The access that others may have at the same time. On Unix it binds only programs that open the file with a share
/// lock: the lock is advisory (`flock`) and has two levels, exclusive, or shared with all who also take a shared lock.
/// On Windows it is the share mode of the system, which binds every program, including this process: the system
/// refuses any further handle of the file whose access the mode does not permit, even for direct or overlapped
/// transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share(u8);

impl Share {
    /// No access: the lock is exclusive.
    pub const NONE: Self = Self(0);
    /// Other handles may read.
    pub const READ: Self = Self(1);
    /// Other handles may write.
    pub const WRITE: Self = Self(2);
    /// Other handles may delete and rename.
    pub const DELETE: Self = Self(4);

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn option_name(self) -> &'static str {
        [
            "share=none",
            "share=read",
            "share=write",
            "share=read|write",
            "share=delete",
            "share=read|delete",
            "share=write|delete",
            "share=read|write|delete",
        ][usize::from(self.0 & 7)]
    }
}

impl std::ops::BitOr for Share {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Share {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// The expected pattern of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// Reads from start to end.
    Sequential,
    /// Reads at random offsets; takes precedence over [`Sequential`](Self::Sequential).
    Random,
    /// Reads that follow soon; the system may begin to read at once.
    WillNeed,
    /// Reads of each byte once; the pages need not stay cached.
    NoReuse,
}

/// A builder of the options with which a file is opened.
///
/// ```
/// use fullbore_io::file::{Mode, OpenOptions, Share};
/// # let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("data");
/// let file = OpenOptions::new().mode(Mode::CreateOrTruncate).share(Share::NONE).reserve(1 << 20).open(&path)?;
/// file.write_all_at(b"bytes", 0)?;
/// for line in file.option_report() {
///     println!("{line}");
/// }
/// assert_eq!(file.option_report().len(), 2, "the share and the reservation");
/// # Ok::<(), fullbore_io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOptions {
    pub(super) mode: Mode,
    access: Option<Access>,
    pub(super) permissions: u32,
    pub(super) share: Option<Share>,
    pub(super) locking: bool,
    pub(super) hints: Vec<Hint>,
    pub(super) through: Durability,
    pub(super) delete: bool,
    pub(super) reserve: u64,
    pub(super) follow: bool,
    pub(super) strict: bool,
    pub(super) cache: CachePolicy,
    pub(super) temporary: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Creates options for opening an existing file, for reading, without a lock.
    pub fn new() -> Self {
        Self {
            mode: Mode::Open,
            access: None,
            permissions: 0o666,
            share: None,
            locking: true,
            hints: Vec::new(),
            through: Durability::None,
            delete: false,
            reserve: 0,
            follow: true,
            strict: false,
            cache: CachePolicy::Keep,
            temporary: false,
        }
    }

    /// Sets the required state of the file; default: [`Mode::Open`].
    pub fn mode(&mut self, mode: Mode) -> &mut Self {
        self.mode = mode;
        self
    }

    /// Sets the access. Default: reading for [`Mode::Open`], writing for [`Mode::Append`], both for the other modes.
    pub fn access(&mut self, access: Access) -> &mut Self {
        self.access = Some(access);
        self
    }

    /// Sets the mode bits of a new file, before the process's umask; default: `0o666`.
    pub fn permissions(&mut self, permissions: u32) -> &mut Self {
        self.permissions = permissions;
        self
    }

    /// Requests a lock (on Windows a share mode) without waiting: opening fails if others hold a conflicting
    /// one.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::file::{Share, OpenOptions};
    /// # let path = directory.path().join("file");
    /// use fullbore_io::error::ErrorKind;
    /// # std::fs::write(&path, "bytes")?;
    /// let alone = OpenOptions::new().share(Share::NONE).open(&path)?;
    /// if alone.option_report()[0].support == fullbore_io::file::Support::Native {
    ///     let second = OpenOptions::new().share(Share::READ).open(&path);
    ///     assert_eq!(second.unwrap_err().kind(), ErrorKind::Locked);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share(&mut self, share: Share) -> &mut Self {
        self.share = Some(share);
        self
    }

    /// If `false`, [`share`](Self::share) takes no lock. The environment variable `FULLBORE_NO_LOCKS`, unless empty or
    /// 0, has the same effect for the whole process.
    pub fn locking(&mut self, locking: bool) -> &mut Self {
        self.locking = locking;
        self
    }

    /// Adds a hint on the expected reads (`man 2 posix_fadvise`).
    pub fn hint(&mut self, hint: Hint) -> &mut Self {
        self.hints.push(hint);
        self
    }

    /// Sets the durability that each write has when its call returns (`O_DSYNC`, `O_SYNC`). On macOS the bytes may remain in
    /// the cache of the device; [`sync_data`](super::File::sync_data) flushes it.
    pub fn write_through(&mut self, through: Durability) -> &mut Self {
        self.through = through;
        self
    }

    /// If `true`, removes the name when the last handle is dropped, provided that it still refers to this file. If the
    /// name is a symbolic link, the link is removed and its target stays. On Windows the system removes a file that this
    /// open creates, even if the process is killed; until then, other programs can open it only if they share its
    /// deletion.
    pub fn delete_on_close(&mut self, delete: bool) -> &mut Self {
        self.delete = delete;
        self
    }

    /// Sets the page-cache policy, as [`File::with_cache`](super::File::with_cache) does; default: keep.
    pub fn cache(&mut self, cache: CachePolicy) -> &mut Self {
        self.cache = cache;
        self
    }

    /// If `true`, creates a nameless file in the directory that is opened, for reading and writing. It disappears with
    /// its last handle, unless [`File::link_to`](super::File::link_to) gives it a name.
    pub fn temporary(&mut self, temporary: bool) -> &mut Self {
        self.temporary = temporary;
        self
    }

    /// Reserves `len` bytes of space; the length of the file does not change (`FALLOC_FL_KEEP_SIZE`). Blocks that are
    /// still past the end when the last handle is dropped or [closed](super::File::close) are freed. Only for new
    /// files: [`Mode::CreateOrTruncate`], [`Mode::CreateNew`] and [temporary](Self::temporary) ones. An existing file
    /// under [`Mode::CreateOrTruncate`] is truncated only after the space that its own blocks do not provide has been reserved.
    /// If there is not enough space, opening fails: an existing file keeps its bytes, unless it shares blocks with other files
    /// or holds compressed ones, and a file that the call created is removed.
    ///
    /// The blocks are freed by setting the length that the file has then, in two calls: bytes that another handle appends between
    /// them are lost. Do not reserve space for a file to which others append.
    ///
    /// ```
    /// use fullbore_io::error::ErrorKind;
    /// use fullbore_io::file::{Mode, OpenOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// let opened = OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(i64::MAX as u64).open(&path);
    /// assert_eq!(opened.unwrap_err().kind(), ErrorKind::NoSpace);
    /// assert_eq!(std::fs::read(&path)?, b"old");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&mut self, len: u64) -> &mut Self {
        self.reserve = len;
        self
    }

    /// If `false`, opening fails if the last component of the path is a symbolic link; default: `true`.
    pub fn follow_symlinks(&mut self, follow: bool) -> &mut Self {
        self.follow = follow;
        self
    }

    /// If `true`, opening fails if an option is unsupported; otherwise the option is only listed as unsupported in the
    /// [report](super::File::option_report).
    pub fn strict(&mut self, strict: bool) -> &mut Self {
        self.strict = strict;
        self
    }

    pub(super) fn effective_access(&self) -> Access {
        self.access.unwrap_or(match self.mode {
            Mode::Open if !self.temporary => Access::Read,
            Mode::Append => Access::Write,
            _ => Access::ReadWrite,
        })
    }

    /// The flags of `open(2)`, without those of the mode.
    pub(super) fn flags(&self) -> OpenFlags {
        let mut flags = OpenFlags::NOCTTY;
        flags |= match self.effective_access() {
            Access::Read => OpenFlags::READ,
            Access::Write => OpenFlags::WRITE,
            Access::ReadWrite => OpenFlags::READ_WRITE,
        };
        flags |= match self.through {
            Durability::None => OpenFlags::empty(),
            Durability::Data => OpenFlags::DATA_SYNC,
            Durability::Full => OpenFlags::SYNC,
        };
        if self.mode == Mode::Append {
            flags |= OpenFlags::APPEND;
        }
        if !self.follow {
            flags |= OpenFlags::NOFOLLOW;
        }
        // Systems that take these hints later only have no such flags.
        if self.hints.contains(&Hint::Random) {
            flags |= OpenFlags::RANDOM;
        } else if self.hints.contains(&Hint::Sequential) {
            flags |= OpenFlags::SEQUENTIAL;
        }
        flags
    }

    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let invalid = |what: &str| Err(Error::new(ErrorKind::Invalid, "open", path, what));
        let writes =
            matches!(self.mode, Mode::CreateOrTruncate | Mode::CreateNew | Mode::Truncate | Mode::Append);
        if writes && self.effective_access() == Access::Read {
            return invalid("the mode needs write access, and the access is Read");
        }
        if self.temporary && (self.mode != Mode::Open || self.delete || self.access.is_some() || !self.follow)
        {
            return invalid(
                "a temporary file is new, readable, writable and removed on close: mode, access, \
                 delete_on_close and follow_symlinks do not apply",
            );
        }
        if self.reserve > 0
            && !self.temporary
            && !matches!(self.mode, Mode::CreateOrTruncate | Mode::CreateNew)
        {
            let what = format!("only new files can reserve space, and the mode is {:?}", self.mode);
            return Err(Error::new(ErrorKind::Invalid, "open", path, what).advise(
                "open with the mode CreateOrTruncate or CreateNew, or call File::reserve after opening",
            ));
        }
        if i64::try_from(self.reserve).is_err() {
            return invalid("the length to reserve exceeds the largest file size");
        }
        Ok(())
    }
}
