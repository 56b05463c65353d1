//! Carries out what [`OpenOptions`] ask for, in the order that keeps it safe: open, lock, look again, truncate,
//! preallocate, hints.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use rustix::fs::{AtFlags, Mode as Bits, OFlags};
use rustix::io::Errno;

use super::abandon::Temporary;
use super::calls::in_environment;
use super::closing::Closing;
use super::explain::{Answer, Explanation};
use super::handle::Inner;
use super::held::HeldDir;
use super::lock;
use super::made::Found;
use super::options::{Access, Mode, OpenOptions, WriteThrough};
use super::way::Cache;
use super::way::Way;
use super::{File, FileKind};
use crate::error::{Error, Kind, Result};

/// How often a file that is replaced between its opening and its locking is opened again.
pub(super) const ATTEMPTS: usize = 16;

impl OpenOptions {
    /// Opens `path`. What it leads to is not asked: a directory opened for reading says so at the first read.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{Access, Cache, Mode, OpenOptions};
    /// let file = OpenOptions::new()
    ///     .mode(Mode::CreateNew)
    ///     .access(Access::ReadWrite)
    ///     .cache(Cache::Drop)
    ///     .open(directory.path().join("file"))?;
    /// file.write_all_at(b"bytes", 0)?;
    /// println!("{}", file.explain()[0]);
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
        let mut answers = Vec::new();
        for _ in 0..ATTEMPTS {
            answers.clear();
            let found = if self.temporary {
                let fd = Arc::new(self.nameless(path, &mut answers)?);
                Found { fd, made: None, doomed: None }
            } else {
                self.find(path).map_err(|error| self.refusal(path, error))?
            };
            let locked = self.lock(path, &found.fd, &mut answers)?;
            if locked && !self.temporary && !leads_to(path, &found.fd) {
                continue;
            }
            let mut inner = Inner::shared(found.fd.clone(), path.to_owned(), self.flags());
            if self.cache != Cache::Keep {
                inner = self.cached(inner, &mut answers);
            }
            if let Err(error) = self.prepare(path, &found, &mut answers) {
                found.unmake();
                return Err(error);
            }
            let Found { fd, doomed, .. } = found;
            inner.closing = (locked || doomed.is_some()).then(|| Arc::new(Closing { fd, doomed, locked }));
            inner.answers = OnceLock::from(answers);
            return Ok(File { inner: Arc::new(inner) });
        }
        Err(Error::new(Kind::Changed, "open", path, "it is replaced each time it is locked"))
    }

    /// Whether a system call that opens is all there is to do.
    fn asks_nothing_more(&self) -> bool {
        self.share.is_none()
            && self.hints.is_empty()
            && self.cache == Cache::Keep
            && self.through == WriteThrough::None
            && self.room == 0
            && self.follow
            && !(self.temporary || self.delete || self.strict)
    }

    /// The same under its cache policy, which is found out by using the file, and changes nothing of it.
    fn cached(&self, inner: Inner, answers: &mut Vec<Explanation>) -> Inner {
        let file = File { inner: Arc::new(inner) };
        let (way, answer) = Way::find(&file, self.cache);
        let option = if self.cache == Cache::Drop { "cache=drop" } else { "cache=direct" };
        answers.push(Explanation { option, answer });
        Inner { way, ..file.inner.kin() }
    }

    /// What is done to the file between the lock and the first use. What can be refused without touching it comes
    /// before the truncation, so that a strict open that fails for it has lost no bytes.
    fn prepare(&self, path: &Path, found: &Found, answers: &mut Vec<Explanation>) -> Result<()> {
        let fd = &found.fd;
        self.advise(fd, answers);
        self.note(path, fd, answers)?;
        self.insist(path, answers)?;
        if self.room == 0 {
            return self.empty(path, fd);
        }
        let new = found.made.is_some() || self.temporary;
        if new {
            self.empty(path, fd)?;
        }
        let gone = |error: Error| {
            error.advise("it is empty now: there was the room, and somebody took it meanwhile")
        };
        if !new && !self.strict && has_room(fd, self.room) {
            // Emptying gives back all that it needs.
            self.empty(path, fd)?;
            let answer = self.set_room_aside(path, fd).map_err(gone)?;
            answers.push(Explanation { option: "preallocate", answer });
            return Ok(());
        }
        // What is there keeps its bytes until the room is known to be there too.
        let answer = self.set_room_aside(path, fd).inspect_err(|_| {
            if !new {
                give_back(fd)
            }
        })?;
        let honoured = answer == Answer::Honoured;
        answers.push(Explanation { option: "preallocate", answer });
        self.insist(path, answers)?;
        if new {
            return Ok(());
        }
        self.empty(path, fd)?;
        if honoured {
            // Emptying gave back all that it had, which is at least as much.
            self.set_room_aside(path, fd).map_err(gone)?;
        }
        Ok(())
    }

    /// Fails for an option that was refused, if that is asked for.
    fn insist(&self, path: &Path, answers: &[Explanation]) -> Result<()> {
        match answers.iter().find(|found| matches!(found.answer, Answer::Refused(_))) {
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
    fn nameless(&self, path: &Path, answers: &mut Vec<Explanation>) -> Result<OwnedFd> {
        let bits = Bits::from_raw_mode(self.permissions);
        let flags = OFlags::CLOEXEC | OFlags::RDWR | self.flags() & (OFlags::SYNC | OFlags::DSYNC);
        let (fd, answer) = match rustix::fs::open(path, flags | OFlags::TMPFILE, bits) {
            Ok(fd) => (fd, Answer::Honoured),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let make = |directory: BorrowedFd<'_>, name: &OsStr| {
                    rustix::fs::openat(directory, name, flags | OFlags::CREATE | OFlags::EXCL, bits)
                };
                let (name, fd) = HeldDir::open(path)
                    .and_then(|held| Temporary::create(&held, "temporary".as_ref(), false, make))
                    .map_err(|error| Error::io("create a temporary file in", path, error))?;
                drop(name);
                let how = "it had a name for a moment, and can get none any more";
                (fd, Answer::Emulated(how.to_owned()))
            }
            Err(error) => return Err(Error::io("create a temporary file in", path, error.into())),
        };
        answers.push(Explanation { option: "temporary", answer });
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
    fn lock(&self, path: &Path, fd: &OwnedFd, answers: &mut Vec<Explanation>) -> Result<bool> {
        let Some(share) = self.share else { return Ok(false) };
        let option = share.asked();
        let answer = if !self.locking || switched_off() {
            Answer::Refused("locks are switched off".to_owned())
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
        let locked = !matches!(answer, Answer::Refused(_));
        answers.push(Explanation { option, answer });
        Ok(locked)
    }

    /// Truncates, unless that was done when it was opened.
    fn empty(&self, path: &Path, fd: &OwnedFd) -> Result<()> {
        if !self.empties_late() || !matches!(self.mode, Mode::Create | Mode::Truncate) {
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
