//! What may be asked of a file when it is opened: values only; `open` carries them out.

use std::path::Path;

use rustix::fs::OFlags;

use super::Durability;
use super::cache_mode::CachePolicy;
use crate::error::{Error, Kind, Result};

/// What is to be there before, and what becomes of it.
///
/// ```
/// use fullbore::file::{Mode, OpenOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "old")?;
/// OpenOptions::new().mode(Mode::Append).open(&path)?.write_all_at(b", new", 0)?;
/// assert_eq!(std::fs::read(&path)?, b"old, new");
/// OpenOptions::new().mode(Mode::Truncate).open(&path)?;
/// assert_eq!(std::fs::read(&path)?, b"");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A file that exists.
    #[default]
    Open,
    /// A new file, or an existing one made empty.
    CreateOrTruncate,
    /// A file that does not exist yet.
    CreateNew,
    /// A file that exists, made empty.
    Truncate,
    /// A file that exists, or a new one.
    OpenOrCreate,
    /// A file that exists, or a new one, every write to which goes to its end whatever its offset (`O_APPEND`).
    Append,
}

/// What is to be done with the bytes.
///
/// ```
/// use fullbore::file::{Access, OpenOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// # std::fs::write(&path, "bytes")?;
/// let file = OpenOptions::new().access(Access::Write).open(&path)?;
/// assert!(file.read_at(&mut [0], 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Both.
    ReadWrite,
}

/// What others who ask for a share may do meanwhile: an advisory lock (`flock`), which knows two cases only, nobody
/// or everybody who shares too.
///
/// ```
/// use fullbore::file::Share;
/// assert_eq!((Share::READ | Share::DELETE) | Share::WRITE, Share::READ | Share::WRITE | Share::DELETE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u8);

impl Share {
    /// Nothing: the lock is exclusive.
    pub const NONE: Self = Self(0);
    /// Read.
    pub const READ: Self = Self(1);
    /// Write.
    pub const WRITE: Self = Self(2);
    /// Delete and rename.
    pub const DELETE: Self = Self(4);

    /// How it was asked for.
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

/// How the file will be read.
///
/// ```
/// use fullbore::file::{Hint, OpenOptions};
/// let file = OpenOptions::new().hint(Hint::Random).open("Cargo.toml")?;
/// assert_eq!(file.option_report()[0].option, "hint=random");
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// From front to back.
    Sequential,
    /// Here and there; wins over [`Sequential`](Self::Sequential).
    Random,
    /// Soon.
    WillNeed,
    /// Once.
    NoReuse,
}

/// How to open a file.
///
/// ```
/// use fullbore::file::{Mode, OpenOptions, Share};
/// # fn main() -> fullbore::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let path = directory.path().join("data");
/// let file = OpenOptions::new().mode(Mode::CreateOrTruncate).share(Share::NONE).reserve(1 << 20).open(&path)?;
/// file.write_all_at(b"bytes", 0)?;
/// for line in file.option_report() {
///     println!("{line}");
/// }
/// assert_eq!(file.option_report().len(), 2, "one for the share, one for the room");
/// # Ok(()) }
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
    pub(super) room: u64,
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
    /// An existing file, for reading, with no lock.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{OpenOptions};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// assert_eq!(OpenOptions::new().open(&path)?.len()?, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
            room: 0,
            follow: true,
            strict: false,
            cache: CachePolicy::Keep,
            temporary: false,
        }
    }

    /// What is to be there before; [`Mode::Open`] unless told.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Mode, OpenOptions};
    /// # let path = directory.path().join("file");
    /// OpenOptions::new().mode(Mode::CreateNew).open(&path)?;
    /// assert!(OpenOptions::new().mode(Mode::CreateNew).open(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mode(&mut self, mode: Mode) -> &mut Self {
        self.mode = mode;
        self
    }

    /// What is to be done with the bytes. Unless told: [`Mode::Open`] reads, [`Mode::Append`] writes, the others do both.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Access, OpenOptions};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// let file = OpenOptions::new().access(Access::ReadWrite).open(&path)?;
    /// file.write_all_at(b"B", 0)?;
    /// assert_eq!(std::fs::read(&path)?, b"Bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access(&mut self, access: Access) -> &mut Self {
        self.access = Some(access);
        self
    }

    /// The mode bits of a new file, less the process's mask; `0o666` unless told.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Mode, OpenOptions};
    /// # let path = directory.path().join("file");
    /// use std::os::unix::fs::PermissionsExt;
    /// OpenOptions::new().mode(Mode::CreateNew).permissions(0o600).open(&path)?;
    /// assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn permissions(&mut self, permissions: u32) -> &mut Self {
        self.permissions = permissions;
        self
    }

    /// Asks for a lock, without waiting for it: opening fails only if somebody else holds one against it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Share, OpenOptions};
    /// # let path = directory.path().join("file");
    /// use fullbore::error::Kind;
    /// # std::fs::write(&path, "bytes")?;
    /// let alone = OpenOptions::new().share(Share::NONE).open(&path)?;
    /// if alone.option_report()[0].support == fullbore::file::Support::Native {
    ///     let second = OpenOptions::new().share(Share::READ).open(&path);
    ///     assert_eq!(second.unwrap_err().kind(), Kind::Locked);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share(&mut self, share: Share) -> &mut Self {
        self.share = Some(share);
        self
    }

    /// Whether [`share`](Self::share) takes its lock. The environment variable `FULLBORE_NO_LOCKS`, set to anything but
    /// nothing or 0, switches it off for the whole process.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Support, Share, OpenOptions};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// let file = OpenOptions::new().share(Share::NONE).locking(false).open(&path)?;
    /// assert!(matches!(file.option_report()[0].support, Support::Unsupported(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn locking(&mut self, locking: bool) -> &mut Self {
        self.locking = locking;
        self
    }

    /// Says how the file will be read (`man 2 posix_fadvise`); several may be given.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Hint, OpenOptions};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// let file = OpenOptions::new().hint(Hint::Random).open(&path)?;
    /// println!("{}", file.option_report()[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hint(&mut self, hint: Hint) -> &mut Self {
        self.hints.push(hint);
        self
    }

    /// When a write counts as done.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Mode, Durability, OpenOptions};
    /// # let path = directory.path().join("file");
    /// let file = OpenOptions::new().mode(Mode::CreateOrTruncate).write_through(Durability::Data).open(&path)?;
    /// file.write_all_at(b"on the device when this returns", 0)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_through(&mut self, through: Durability) -> &mut Self {
        self.through = through;
        self
    }

    /// Whether the name is removed when the last handle is dropped, if it leads to this file then. A symbolic
    /// link goes, what it leads to stays.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Mode, OpenOptions};
    /// # let path = directory.path().join("file");
    /// let file = OpenOptions::new().mode(Mode::CreateOrTruncate).delete_on_close(true).open(&path)?;
    /// assert!(path.exists());
    /// drop(file);
    /// assert!(!path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_on_close(&mut self, delete: bool) -> &mut Self {
        self.delete = delete;
        self
    }

    /// What becomes of the page cache; kept unless told. As [`File::with_cache`](super::File::with_cache).
    ///
    /// ```
    /// use fullbore::file::{CachePolicy, OpenOptions};
    /// # fn main() -> fullbore::Result<()> {
    /// let file = OpenOptions::new().cache(CachePolicy::DontCache).open("Cargo.toml")?;
    /// assert_eq!(file.option_report()[0].option, "cache=drop");
    /// # Ok(()) }
    /// ```
    pub fn cache(&mut self, cache: CachePolicy) -> &mut Self {
        self.cache = cache;
        self
    }

    /// Whether it is a new file without a name, in the directory that is opened, for reading and writing, which is gone
    /// when its last handle is, unless [`File::link_to`](super::File::link_to) gives it a name.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{OpenOptions};
    /// # let path = directory.path().join("file");
    /// let file = OpenOptions::new().temporary(true).open(directory.path())?;
    /// file.write_all_at(b"seen by nobody else", 0)?;
    /// assert_eq!(std::fs::read_dir(directory.path())?.count(), 0);
    /// # let _ = path;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary(&mut self, temporary: bool) -> &mut Self {
        self.temporary = temporary;
        self
    }

    /// Has `len` bytes set aside; the end of the file stays where it is (`FALLOC_FL_KEEP_SIZE`). Only for files that
    /// are new: [`Mode::CreateOrTruncate`], [`Mode::CreateNew`] and [temporary](Self::temporary) ones. A file that [`Mode::CreateOrTruncate`] finds is
    /// emptied only once the room is there, beside what it has: if there is none, it keeps its bytes, and opening fails. A file
    /// that opening made is removed then.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::file::{Mode, OpenOptions};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// std::fs::write(&path, "old")?;
    /// let opened = OpenOptions::new().mode(Mode::CreateOrTruncate).reserve(i64::MAX as u64).open(&path);
    /// assert_eq!(opened.unwrap_err().kind(), Kind::NoSpace);
    /// assert_eq!(std::fs::read(&path)?, b"old");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&mut self, len: u64) -> &mut Self {
        self.room = len;
        self
    }

    /// Whether a symbolic link at the end of the path is followed; it is unless told.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{OpenOptions};
    /// # let path = directory.path().join("file");
    /// std::os::unix::fs::symlink("Cargo.toml", &path)?;
    /// assert!(OpenOptions::new().follow_symlinks(false).open(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn follow_symlinks(&mut self, follow: bool) -> &mut Self {
        self.follow = follow;
        self
    }

    /// Whether an option that is refused is an error instead of a line of the [report](super::File::option_report).
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Share, OpenOptions};
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// let refused = OpenOptions::new().strict(true).locking(false).share(Share::NONE).open(&path);
    /// assert!(refused.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strict(&mut self, strict: bool) -> &mut Self {
        self.strict = strict;
        self
    }

    /// What is to be done with the bytes, settled.
    pub(super) fn settled(&self) -> Access {
        self.access.unwrap_or(match self.mode {
            Mode::Open if !self.temporary => Access::Read,
            Mode::Append => Access::Write,
            _ => Access::ReadWrite,
        })
    }

    /// The flags of `open(2)`, without those of the mode.
    pub(super) fn flags(&self) -> OFlags {
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags |= match self.settled() {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        flags |= match self.through {
            Durability::None => OFlags::empty(),
            Durability::Data => OFlags::DSYNC,
            Durability::Full => OFlags::SYNC,
        };
        if self.mode == Mode::Append {
            flags |= OFlags::APPEND;
        }
        if !self.follow {
            flags |= OFlags::NOFOLLOW;
        }
        flags
    }

    /// Refuses what contradicts itself.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let invalid = |what: &str| Err(Error::new(Kind::Invalid, "open", path, what));
        let writes =
            matches!(self.mode, Mode::CreateOrTruncate | Mode::CreateNew | Mode::Truncate | Mode::Append);
        if writes && self.settled() == Access::Read {
            return invalid("the mode needs access to write, and only reading was asked for");
        }
        if self.temporary && (self.mode != Mode::Open || self.delete || self.access.is_some()) {
            return invalid(
                "a temporary file is new, open for both, and gone by itself: mode, access and delete-on-close say otherwise",
            );
        }
        if self.room > 0 && !self.temporary && !matches!(self.mode, Mode::CreateOrTruncate | Mode::CreateNew)
        {
            let what = format!("preallocation is for new files, and the mode is {:?}", self.mode);
            return Err(Error::new(Kind::Invalid, "open", path, what).advise(
                "open with the mode CreateOrTruncate or CreateNew, or call File::reserve after opening",
            ));
        }
        if i64::try_from(self.room).is_err() {
            return invalid("no file is as large as the preallocation");
        }
        Ok(())
    }
}
