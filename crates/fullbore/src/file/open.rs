//! Carries out what [`OpenOptions`] ask for, in the order that keeps it safe: open, lock, look again, truncate,
//! preallocate, hints.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::fs::{Advice, AtFlags, FallocateFlags, Mode as Bits, OFlags};
use rustix::io::Errno;

use super::File;
use super::explain::{Answer, Explanation};
use super::handle::Inner;
use super::lock::{self, Closing, Name};
use super::options::{Access, Hint, Mode, OpenOptions, Share, WriteThrough};
use super::sync::Health;
use super::way::Way;
use crate::error::{Error, Kind, Result};

/// How often a file that is replaced between its opening and its locking is opened again.
const ATTEMPTS: usize = 16;

impl OpenOptions {
    /// Opens `path`. What it leads to is not asked: a directory opened for reading says so at the first read.
    ///
    /// # Errors
    /// [`Kind::Invalid`] if the options contradict each other; [`Kind::NoSpace`] if there is no room to preallocate;
    /// [`Kind::Unsupported`] for a lock that somebody else holds, a symbolic link that may not be followed, and with
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
            let (fd, made) = self.descriptor(path)?;
            let locked = self.lock(path, &fd, &mut answers)?;
            if locked && !leads_to(path, &fd) {
                continue;
            }
            let fd = Arc::new(fd);
            self.empty(path, &fd)?;
            if let Err(error) = self.allocate(path, &fd, &mut answers) {
                if made && let Ok(name) = Name::of(path) {
                    name.remove(&fd);
                }
                return Err(error);
            }
            self.advise(&fd, &mut answers);
            self.note(&mut answers);
            if let (true, Some(refused)) =
                (self.strict, answers.iter().find(|found| matches!(found.answer, Answer::Refused(_))))
            {
                if made && let Ok(name) = Name::of(path) {
                    name.remove(&fd);
                }
                return Err(Error::new(Kind::Unsupported, "open", path, refused.to_string()));
            }
            let closing =
                (locked || name.is_some()).then(|| Arc::new(Closing { fd: fd.clone(), name, locked }));
            let status = self.flags() & (OFlags::APPEND | OFlags::SYNC | OFlags::DSYNC);
            let (path, kind) = (path.to_owned(), OnceLock::new());
            let (way, health) = (Way::Plain, Health::default());
            let inner = Inner { fd, path, kind, unit: 1, way, health, status, closing, answers };
            return Ok(File { inner: Arc::new(inner) });
        }
        Err(Error::new(Kind::Changed, "open", path, "it is replaced each time it is locked"))
    }

    /// The descriptor, and whether the file is known to be new.
    fn descriptor(&self, path: &Path) -> Result<(OwnedFd, bool)> {
        let flags = self.flags();
        let bits = Bits::from_raw_mode(self.permissions);
        let open = |more: OFlags| rustix::fs::open(path, flags | more, bits);
        // A lock comes before the truncation.
        let truncate = if self.share.is_none() { OFlags::TRUNC } else { OFlags::empty() };
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
        let option = if share == Share::NONE { "share=none" } else { "share=some" };
        let answer = if !self.locking || switched_off() {
            Answer::Refused("locks are switched off".to_owned())
        } else {
            lock::take(fd, share, self.settled() != Access::Read).map_err(|error| {
                Error::io("lock", path, error.into())
                    .advise("somebody else has it open and does not share it")
            })?
        };
        let locked = !matches!(answer, Answer::Refused(_));
        answers.push(Explanation { option, answer });
        Ok(locked)
    }

    /// Truncates under the lock; without one it was done when it was opened.
    fn empty(&self, path: &Path, fd: &OwnedFd) -> Result<()> {
        if self.share.is_none() || !matches!(self.mode, Mode::Create | Mode::Truncate) {
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
            let (option, advice) = match hint {
                Hint::Sequential => ("hint=sequential", Advice::Sequential),
                Hint::Random => ("hint=random", Advice::Random),
                Hint::WillNeed => ("hint=will-need", Advice::WillNeed),
                Hint::NoReuse => ("hint=no-reuse", Advice::NoReuse),
            };
            let answer = if hint == Hint::Sequential && self.hints.contains(&Hint::Random) {
                Answer::Refused("hint=random was given too, and wins".to_owned())
            } else {
                match rustix::fs::fadvise(fd, 0, None, advice) {
                    Ok(()) => Answer::Honoured,
                    Err(error) => Answer::Refused(crate::error::message(&error.into())),
                }
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
