//! Carries out what [`OpenOptions`] ask for, in the order that keeps it safe: open, lock, look again, truncate,
//! preallocate, hints.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use rustix::fs::{AtFlags, Mode as Bits, OFlags};
use rustix::io::Errno;

use super::cache_mode::CacheMode;
use super::cache_mode::CachePolicy;
use super::calls::in_environment;
use super::cleanup::Temporary;
use super::create::Found;
use super::handle::Inner;
use super::held::HeldDir;
use super::lock;
use super::on_close::OnClose;
use super::option_report::{OptionSupport, Support};
use super::options::{Access, Mode, OpenOptions};
use super::{Durability, File, FileKind};
use crate::error::{Error, Kind, Result};

/// How often a file that is replaced between its opening and its locking is opened again.
pub(super) const ATTEMPTS: usize = 16;

impl OpenOptions {
    /// Opens `path`. What it leads to is not asked: a directory opened for reading says so at the first read.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Access, CachePolicy, Mode, OpenOptions};
    /// let file = OpenOptions::new()
    ///     .mode(Mode::CreateNew)
    ///     .access(Access::ReadWrite)
    ///     .cache(CachePolicy::DontCache)
    ///     .open(directory.path().join("file"))?;
    /// file.write_all_at(b"bytes", 0)?;
    /// println!("{}", file.option_report()[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Invalid`] if the options contradict each other; [`Kind::NoSpace`] if there is no room to preallocate;
    /// [`Kind::Locked`] for a lock that somebody else holds; [`Kind::Unsupported`] for a symbolic link that may not be followed, and with
    /// [`strict`](Self::strict) for every option that is refused; and if the system refuses.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        self.check(path)?;
        if self.asks_nothing_more() {
            let fd = self.plainly(path).map_err(|error| self.refusal(path, error))?;
            return Ok(File::opened(fd, path, self.flags()));
        }
        let mut report = Vec::new();
        for _ in 0..ATTEMPTS {
            report.clear();
            let found = if self.temporary {
                let fd = Arc::new(self.nameless(path, &mut report)?);
                Found { fd, created: None, delete_on_exit: None }
            } else {
                self.find(path).map_err(|error| self.refusal(path, error))?
            };
            let locked = self.lock(path, &found.fd, &mut report)?;
            if locked && !self.temporary && !leads_to(path, &found.fd) {
                continue;
            }
            let mut inner = Inner::shared(found.fd.clone(), path.to_owned(), self.flags());
            if self.cache != CachePolicy::Keep {
                inner = self.cached(inner, &mut report);
            }
            if let Err(error) = self.prepare(path, &found, &mut report) {
                found.undo_create();
                return Err(error);
            }
            let Found { fd, delete_on_exit, .. } = found;
            inner.on_close = (locked || delete_on_exit.is_some())
                .then(|| Arc::new(OnClose { fd, delete_on_exit, locked }));
            inner.report = OnceLock::from(report);
            return Ok(File { inner: Arc::new(inner) });
        }
        Err(Error::new(Kind::Changed, "open", path, "it is replaced each time it is locked"))
    }

    /// Whether a system call that opens is all there is to do.
    fn asks_nothing_more(&self) -> bool {
        self.share.is_none()
            && self.hints.is_empty()
            && self.cache == CachePolicy::Keep
            && self.through == Durability::None
            && self.room == 0
            && self.follow
            && !(self.temporary || self.delete || self.strict)
    }

    /// The same under its cache policy, which is found out by using the file, and changes nothing of it.
    fn cached(&self, inner: Inner, report: &mut Vec<OptionSupport>) -> Inner {
        let file = File { inner: Arc::new(inner) };
        let (cache_mode, support) = CacheMode::find(&file, self.cache);
        let option = if self.cache == CachePolicy::DontCache { "cache=drop" } else { "cache=direct" };
        report.push(OptionSupport { option, support });
        Inner { cache_mode, ..file.inner.kin() }
    }

    /// What is done to the file between the lock and the first use. What can be refused without touching it comes
    /// before the truncation, so that a strict open that fails for it has lost no bytes.
    fn prepare(&self, path: &Path, found: &Found, report: &mut Vec<OptionSupport>) -> Result<()> {
        let fd = &found.fd;
        self.advise(fd, report);
        self.note(path, fd, report)?;
        self.insist(path, report)?;
        if self.room == 0 {
            return self.empty(path, fd);
        }
        let new = found.created.is_some() || self.temporary;
        if new {
            self.empty(path, fd)?;
        }
        let gone = |error: Error| {
            error.advise("it is empty now: there was the room, and somebody took it meanwhile")
        };
        if !new && !self.strict && has_room(fd, self.room) {
            // Emptying gives back all that it needs.
            self.empty(path, fd)?;
            let support = self.set_room_aside(path, fd).map_err(gone)?;
            report.push(OptionSupport { option: "preallocate", support });
            return Ok(());
        }
        // What is there keeps its bytes until the room is known to be there too.
        let support = self.set_room_aside(path, fd).inspect_err(|_| {
            if !new {
                give_back(fd)
            }
        })?;
        let native = support == Support::Native;
        report.push(OptionSupport { option: "preallocate", support });
        self.insist(path, report)?;
        if new {
            return Ok(());
        }
        self.empty(path, fd)?;
        if native {
            // Emptying gave back all that it had, which is at least as much.
            self.set_room_aside(path, fd).map_err(gone)?;
        }
        Ok(())
    }

    /// Fails for an option that was refused, if that is asked for.
    fn insist(&self, path: &Path, report: &[OptionSupport]) -> Result<()> {
        match report.iter().find(|found| matches!(found.support, Support::Unsupported(_))) {
            Some(refused) if self.strict => {
                Err(Error::new(Kind::Unsupported, "open", path, refused.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Whether there is something between opening and truncation that may fail: a lock, an option that is refused, no
    /// room.
    pub(super) fn empties_late(&self) -> bool {
        self.share.is_some() || self.strict || self.room > 0
    }

    /// A file without a name in the directory `path`; where the file system has none (`O_TMPFILE`), one whose name is
    /// removed at once.
    fn nameless(&self, path: &Path, report: &mut Vec<OptionSupport>) -> Result<OwnedFd> {
        let bits = Bits::from_raw_mode(self.permissions);
        let flags = OFlags::CLOEXEC | OFlags::RDWR | self.flags() & (OFlags::SYNC | OFlags::DSYNC);
        let (fd, support) = match rustix::fs::open(path, flags | OFlags::TMPFILE, bits) {
            Ok(fd) => (fd, Support::Native),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let make = |directory: BorrowedFd<'_>, name: &OsStr| {
                    rustix::fs::openat(directory, name, flags | OFlags::CREATE | OFlags::EXCL, bits)
                };
                let (name, fd) = HeldDir::open(path)
                    .and_then(|held| Temporary::create(&held, "temporary".as_ref(), false, make))
                    .map_err(|error| Error::io("create a temporary file in", path, error))?;
                drop(name);
                let how = "it had a name for a moment, and can get none any more";
                (fd, Support::Emulated(how.to_owned()))
            }
            Err(error) => return Err(Error::io("create a temporary file in", path, error.into())),
        };
        report.push(OptionSupport { option: "temporary", support });
        Ok(fd)
    }

    /// What the system's refusal means here.
    fn refusal(&self, path: &Path, error: Errno) -> Error {
        match error {
            Errno::ISDIR => super::handle::directory(path),
            Errno::LOOP if !self.follow => Error::new(
                Kind::Unsupported,
                "open",
                path,
                "it is a symbolic link, which is not to be followed",
            ),
            Errno::NXIO => super::handle::absent(path),
            error => Error::io("open", path, error.into()),
        }
    }

    /// Takes the lock that was asked for; whether there is one.
    fn lock(&self, path: &Path, fd: &OwnedFd, report: &mut Vec<OptionSupport>) -> Result<bool> {
        let Some(share) = self.share else { return Ok(false) };
        let option = share.option_name();
        let support = if !self.locking || switched_off() {
            Support::Unsupported("locks are switched off".to_owned())
        } else {
            lock::take(fd, share, self.settled() != Access::Read).map_err(|error| {
                if error == Errno::WOULDBLOCK {
                    Error::new(Kind::Locked, "lock", path, "somebody else has it open and does not share it")
                        .advise("try again when they have closed it")
                } else {
                    Error::io("lock", path, error.into())
                }
            })?
        };
        let locked = !matches!(support, Support::Unsupported(_));
        report.push(OptionSupport { option, support });
        Ok(locked)
    }

    /// Truncates, unless that was done when it was opened.
    fn empty(&self, path: &Path, fd: &OwnedFd) -> Result<()> {
        if !self.empties_late() || !matches!(self.mode, Mode::CreateOrTruncate | Mode::Truncate) {
            return Ok(());
        }
        match rustix::fs::ftruncate(fd, 0) {
            // Pipes and devices have no length, and `O_TRUNC` leaves them alone too.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(Error::io("truncate", path, error.into())),
        }
    }
}

/// Whether the environment switches share locks off; looked at once.
fn switched_off() -> bool {
    static OFF: LazyLock<bool> = LazyLock::new(|| in_environment("FULLBORE_NO_LOCKS"));
    *OFF
}

/// Whether a file has blocks for so many bytes.
fn has_room(fd: &OwnedFd, room: u64) -> bool {
    const BLOCK: u64 = 512;
    rustix::fs::fstat(fd).is_ok_and(|stat| {
        FileKind::of(stat.st_mode) == FileKind::Regular
            && (stat.st_blocks as u64).saturating_mul(BLOCK) >= room
    })
}

/// Gives back the blocks past the end of a file: what there was no room for in whole may be there in part. Its bytes stay,
/// unless somebody who asks for no lock appends some at this very moment to what is opened to be emptied.
fn give_back(fd: &OwnedFd) {
    if let Ok(stat) = rustix::fs::fstat(fd) {
        let _ = rustix::fs::ftruncate(fd, stat.st_size as u64);
    }
}

/// Whether `path` still leads to what was opened.
fn leads_to(path: &Path, fd: &OwnedFd) -> bool {
    match (rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()), rustix::fs::fstat(fd)) {
        (Ok(there), Ok(ours)) => (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino),
        _ => false,
    }
}
