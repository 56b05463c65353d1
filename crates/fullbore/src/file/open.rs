//! Carries out what [`OpenOptions`] ask for, in the order that keeps it safe: open, lock, look again, truncate,
//! preallocate, hints.

use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, AtFlags, FallocateFlags, Mode as Bits, OFlags};
use rustix::io::Errno;

use super::File;
use super::abandon::Temporary;
use super::explain::{Answer, Explanation};
use super::handle::Inner;
use super::lock::{self, Closing, Name};
use super::naming::temporary_name;
use super::options::{Access, Hint, Mode, OpenOptions, WriteThrough};
use super::way::Cache;
use super::way::Way;
use crate::error::{Error, Kind, Result};

/// How often a file that is replaced between its opening and its locking is opened again.
const ATTEMPTS: usize = 16;

/// Magic numbers of `statfs(2)`: tmpfs, ramfs, procfs, sysfs.
const IN_MEMORY: [u64; 4] = [0x0102_1994, 0x8584_58f6, 0x9fa0, 0x6265_6572];

impl OpenOptions {
    /// Opens `path`. What it leads to is not asked: a directory opened for reading says so at the first read.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::file::OpenOptions;
    /// assert!(OpenOptions::new().open("Cargo.toml").is_ok());
    /// let error = OpenOptions::new().preallocate(4096).open("Cargo.toml").unwrap_err();
    /// assert_eq!(error.kind(), Kind::Invalid, "there are bytes already");
    /// ```
    ///
    /// # Errors
    /// [`Kind::Invalid`] if the options contradict each other; [`Kind::NoSpace`] if there is no room to preallocate;
    /// [`Kind::Locked`] for a lock that somebody else holds; [`Kind::Unsupported`] for a symbolic link that may not be followed, and with
    /// [`strict`](Self::strict) for every option that is refused; and if the system refuses.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        self.check(path)?;
        let mut answers = Vec::new();
        let name = match self.delete {
            true => Some(Name::of(path).map_err(|error| Error::io("open", path, error.into()))?),
            false => None,
        };
        for _ in 0..ATTEMPTS {
            answers.clear();
            let (fd, made) = if self.temporary {
                (self.nameless(path, &mut answers)?, false)
            } else {
                self.descriptor(path)?
            };
            let locked = self.lock(path, &fd, &mut answers)?;
            if locked && !self.temporary && !leads_to(path, &fd) {
                continue;
            }
            let fd = Arc::new(fd);
            if let Err(error) = self.prepare(path, &fd, &mut answers) {
                if made && let Ok(name) = Name::of(path) {
                    name.remove(&fd);
                }
                return Err(error);
            }
            let closing =
                (locked || name.is_some()).then(|| Arc::new(Closing { fd: fd.clone(), name, locked }));
            let inner = Inner { closing, answers, ..Inner::shared(fd, path.to_owned(), self.flags()) };
            let file = File { inner: Arc::new(inner) };
            return if self.cache == Cache::Keep { Ok(file) } else { self.cached(file) };
        }
        Err(Error::new(Kind::Changed, "open", path, "it is replaced each time it is locked"))
    }

    /// The file under its cache policy, which is found out by using it.
    fn cached(&self, file: File) -> Result<File> {
        let (way, answer) = Way::find(&file, self.cache);
        let option = if self.cache == Cache::Drop { "cache=drop" } else { "cache=direct" };
        let answered = Explanation { option, answer };
        self.insist(file.path(), std::slice::from_ref(&answered))?;
        let mut inner = file.inner.kin();
        inner.way = way;
        inner.answers.push(answered);
        Ok(File { inner: Arc::new(inner) })
    }

    /// What is done to the file between the lock and the first use. What can be refused without touching it comes
    /// before the truncation, so that a strict open that fails for it has lost no bytes.
    fn prepare(&self, path: &Path, fd: &OwnedFd, answers: &mut Vec<Explanation>) -> Result<()> {
        self.advise(fd, answers);
        self.note(answers);
        self.insist(path, answers)?;
        self.empty(path, fd)?;
        self.allocate(path, fd, answers)?;
        self.insist(path, answers)
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

    /// Whether there is something between opening and truncation that may fail: a lock, an option that is refused.
    fn empties_late(&self) -> bool {
        self.share.is_some() || self.strict
    }

    /// A file without a name in the directory `path`; where the file system has none (`O_TMPFILE`), one whose name is
    /// removed at once.
    fn nameless(&self, path: &Path, answers: &mut Vec<Explanation>) -> Result<OwnedFd> {
        let bits = Bits::from_raw_mode(self.permissions);
        let flags = OFlags::CLOEXEC | OFlags::RDWR | self.flags() & (OFlags::SYNC | OFlags::DSYNC);
        let (fd, answer) = match rustix::fs::open(path, flags | OFlags::TMPFILE, bits) {
            Ok(fd) => (fd, Answer::Honoured),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let make = |name: &Path| {
                    rustix::fs::open(name, flags | OFlags::CREATE | OFlags::EXCL, bits)
                        .map_err(|error| Error::io("create", name, error.into()))
                };
                let (name, fd) = Temporary::make(temporary_name(&path.join("temporary")), make)?;
                drop(name);
                let how = "it had a name for a moment, and can get none any more";
                (fd, Answer::Emulated(how.to_owned()))
            }
            Err(error) => return Err(Error::io("create a temporary file in", path, error.into())),
        };
        answers.push(Explanation { option: "temporary", answer });
        Ok(fd)
    }

    /// The descriptor, and whether the file is known to be new.
    fn descriptor(&self, path: &Path) -> Result<(OwnedFd, bool)> {
        let flags = self.flags();
        let bits = Bits::from_raw_mode(self.permissions);
        let open = |more: OFlags| rustix::fs::open(path, flags | more, bits);
        let truncate = if self.empties_late() { OFlags::empty() } else { OFlags::TRUNC };
        let opened = match self.mode {
            Mode::Open => open(OFlags::empty()).map(|fd| (fd, false)),
            Mode::Truncate => open(truncate).map(|fd| (fd, false)),
            Mode::CreateNew => open(OFlags::CREATE | OFlags::EXCL).map(|fd| (fd, true)),
            Mode::OpenOrCreate | Mode::Append => open(OFlags::CREATE).map(|fd| (fd, false)),
            // Only what is made here may be removed when the rest fails.
            Mode::Create if self.room > 0 || self.strict => match open(OFlags::CREATE | OFlags::EXCL) {
                Err(Errno::EXIST) => open(OFlags::CREATE | truncate).map(|fd| (fd, false)),
                made => made.map(|fd| (fd, true)),
            },
            Mode::Create => open(OFlags::CREATE | truncate).map(|fd| (fd, false)),
        };
        opened.map_err(|error| match error {
            Errno::ISDIR => super::handle::directory(path),
            Errno::LOOP if !self.follow => Error::new(
                Kind::Unsupported,
                "open",
                path,
                "it is a symbolic link, which is not to be followed",
            ),
            Errno::NXIO => super::handle::absent(path),
            error => Error::io("open", path, error.into()),
        })
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

    fn allocate(&self, path: &Path, fd: &OwnedFd, answers: &mut Vec<Explanation>) -> Result<()> {
        if self.room == 0 {
            return Ok(());
        }
        let answer = loop {
            break match rustix::fs::fallocate(fd, FallocateFlags::KEEP_SIZE, 0, self.room) {
                Ok(()) => Answer::Honoured,
                Err(Errno::INTR) => continue,
                Err(error @ (Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) => {
                    let what = format!("{}: {} bytes", crate::error::message(&error.into()), self.room);
                    return Err(Error::new(Kind::NoSpace, "preallocate", path, what)
                        .advise("free some space or write somewhere else"));
                }
                Err(Errno::OPNOTSUPP | Errno::NODEV | Errno::SPIPE | Errno::NOSYS) => {
                    Answer::Refused("the file system has no such call".to_owned())
                }
                Err(error) => return Err(Error::io("preallocate", path, error.into())),
            };
        };
        answers.push(Explanation { option: "preallocate", answer });
        Ok(())
    }

    fn advise(&self, fd: &OwnedFd, answers: &mut Vec<Explanation>) {
        for &hint in &self.hints {
            let option = match hint {
                Hint::Sequential => "hint=sequential",
                Hint::Random => "hint=random",
                Hint::WillNeed => "hint=will-need",
                Hint::NoReuse => "hint=no-reuse",
            };
            let answer = if hint == Hint::Sequential && self.hints.contains(&Hint::Random) {
                Answer::Refused("hint=random was given too, and wins".to_owned())
            } else {
                hinted(fd, 0..u64::MAX, hint)
            };
            answers.push(Explanation { option, answer });
        }
    }

    /// What the system did by opening.
    fn note(&self, answers: &mut Vec<Explanation>) {
        let honoured = [
            ("mode=append", self.mode == Mode::Append),
            ("write-through=data", self.through == WriteThrough::Data),
            ("write-through=full", self.through == WriteThrough::Full),
            ("follow-symlinks=no", !self.follow),
        ];
        let honoured = honoured.into_iter().filter(|(_, asked)| *asked);
        answers.extend(honoured.map(|(option, _)| Explanation { option, answer: Answer::Honoured }));
        if self.delete {
            let how = "the name is removed when the last handle goes; a killed process leaves it";
            answers.push(Explanation { option: "delete-on-close", answer: Answer::Emulated(how.to_owned()) });
        }
    }
}

/// Gives the system a hint, and what becomes of it.
pub(super) fn hinted(fd: &OwnedFd, range: Range<u64>, hint: Hint) -> Answer {
    let advice = match hint {
        Hint::Sequential => Advice::Sequential,
        Hint::Random => Advice::Random,
        Hint::WillNeed => Advice::WillNeed,
        Hint::NoReuse => Advice::NoReuse,
    };
    // Such file systems take advice and have nothing to read ahead.
    if rustix::fs::fstatfs(fd).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u64))) {
        return Answer::Refused("the file system is memory: there is nothing to read ahead".to_owned());
    }
    // A length of zero is "to the end".
    let len =
        if range.end == u64::MAX { None } else { NonZeroU64::new(range.end.saturating_sub(range.start)) };
    if len.is_none() && range.end != u64::MAX {
        return Answer::Refused("the range is empty".to_owned());
    }
    match rustix::fs::fadvise(fd, range.start, len, advice) {
        Ok(()) => Answer::Honoured,
        Err(error) => Answer::Refused(crate::error::message(&error.into())),
    }
}

/// Whether the environment switches share locks off.
fn switched_off() -> bool {
    std::env::var_os("FULLBORE_NO_LOCKS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Whether `path` still leads to what was opened.
fn leads_to(path: &Path, fd: &OwnedFd) -> bool {
    match (rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()), rustix::fs::fstat(fd)) {
        (Ok(there), Ok(ours)) => (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino),
        _ => false,
    }
}
