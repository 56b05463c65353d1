//! What may be asked of a file and not be had: hints, room, appending, writing through. Each is tried or looked for, and
//! its answer is true of the file that was opened.

use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Advice, FallocateFlags};
use rustix::io::Errno;

use super::FileKind;
use super::explain::{Answer, Explanation};
use super::options::{Hint, Mode, OpenOptions, WriteThrough};
use crate::error::{Error, Kind, Result};
use crate::probe::off_device;

impl OpenOptions {
    /// What the system did by opening. That it took a flag does not tell whether the flag means anything for such a file.
    pub(super) fn note(&self, path: &Path, fd: &OwnedFd, answers: &mut Vec<Explanation>) -> Result<()> {
        if self.mode == Mode::Append || self.through != WriteThrough::None {
            let stat = rustix::fs::fstat(fd).map_err(|error| Error::io("inspect", path, error.into()))?;
            let kind = FileKind::of(stat.st_mode);
            if self.mode == Mode::Append {
                answers.push(appending(kind));
            }
            let option = match self.through {
                WriteThrough::None => None,
                WriteThrough::Data => Some("write-through=data"),
                WriteThrough::Full => Some("write-through=full"),
            };
            let through = || writing_through(kind, off_device(fd));
            answers.extend(option.map(|option| Explanation { option, answer: through() }));
        }
        if !self.follow {
            answers.push(Explanation { option: "follow-symlinks=no", answer: Answer::Honoured });
        }
        if self.delete {
            let how = "the name is removed when the last handle goes or the run is abandoned; a killed process \
                       leaves it";
            answers.push(Explanation { option: "delete-on-close", answer: Answer::Emulated(how.to_owned()) });
        }
        Ok(())
    }

    /// Sets aside what was asked for, leaving bytes and length as they are.
    pub(super) fn set_room_aside(&self, path: &Path, fd: &OwnedFd) -> Result<Answer> {
        loop {
            return match rustix::fs::fallocate(fd, FallocateFlags::KEEP_SIZE, 0, self.room) {
                Ok(()) => Ok(Answer::Honoured),
                Err(Errno::INTR) => continue,
                Err(error @ (Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) => {
                    let what = format!("{}: {} bytes", crate::error::message(&error.into()), self.room);
                    Err(Error::new(Kind::NoSpace, "preallocate", path, what)
                        .advise("free some space or write somewhere else"))
                }
                Err(Errno::OPNOTSUPP | Errno::NODEV | Errno::SPIPE | Errno::NOSYS) => {
                    let kind =
                        rustix::fs::fstat(fd).map_or(FileKind::Other, |stat| FileKind::of(stat.st_mode));
                    Ok(Answer::Refused(match kind {
                        FileKind::Regular => "the file system has no such call".to_owned(),
                        FileKind::BlockDevice => "a block device has all its blocks already".to_owned(),
                        kind => format!("a {kind} has no blocks to set aside"),
                    }))
                }
                Err(error) => Err(Error::io("preallocate", path, error.into())),
            };
        }
    }

    pub(super) fn advise(&self, fd: &OwnedFd, answers: &mut Vec<Explanation>) {
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
}

/// What `O_APPEND` means for a file of that kind.
pub(super) fn appending(kind: FileKind) -> Explanation {
    let answer = match kind {
        FileKind::Regular => Answer::Honoured,
        // Linux writes where it is told, whatever the flag says: `blkdev_write_iter` does not look at it.
        FileKind::BlockDevice => {
            Answer::Refused("a block device has a fixed end: writes go to their offsets".to_owned())
        }
        kind => Answer::Emulated(format!("a {kind} has no end: writes follow one another")),
    };
    Explanation { option: "mode=append", answer }
}

/// What `O_DSYNC` and `O_SYNC` mean for a file of that kind.
fn writing_through(kind: FileKind, in_memory: bool) -> Answer {
    match kind {
        FileKind::Regular if in_memory => {
            Answer::Refused("the file system is memory: there is no device under it".to_owned())
        }
        FileKind::Regular | FileKind::BlockDevice => Answer::Honoured,
        kind => Answer::Refused(format!("a {kind} has nothing on a device")),
    }
}

/// Gives the system a hint, and what becomes of it.
pub(super) fn hinted(fd: impl AsFd, range: Range<u64>, hint: Hint) -> Answer {
    let advice = match hint {
        Hint::Sequential => Advice::Sequential,
        Hint::Random => Advice::Random,
        Hint::WillNeed => Advice::WillNeed,
        Hint::NoReuse => Advice::NoReuse,
    };
    // Such file systems take advice and have nothing to read ahead.
    if off_device(&fd) {
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
