//! Options that a file may not support: hints, reservation, appending, write-through. The support of each is determined on
//! the file that was opened, by applying the option or from facts of the file.

use std::ops::{Range, RangeBounds};
use std::path::Path;

use super::inner::File;
use super::open::OpenedFile;
use super::options::{Hint, Mode, OpenOptions};
use super::space::allocate;
use super::spans::bounded;
use super::types::{Durability, OptionSupport, Support};
use crate::error::{Error, ErrorKind, Result};
use crate::probe::off_device;
use crate::sys::{self, Advice, Allocate, AsHandle, Code, FileKind, Handle, OpenFlags};

impl OpenOptions {
    pub(super) fn note(
        &self,
        path: &Path,
        found: &OpenedFile,
        report: &mut Vec<OptionSupport>,
    ) -> Result<()> {
        let fd = &found.fd;
        if self.mode == Mode::Append || self.through != Durability::None {
            let stat = sys::status(fd).map_err(|error| Error::io("inspect", path, error.into()))?;
            let kind = stat.kind();
            if self.mode == Mode::Append {
                report.push(appending(kind));
            }
            let option = match self.through {
                Durability::None => None,
                Durability::Data => Some("write-through=data"),
                Durability::Full => Some("write-through=full"),
            };
            let through = || writing_through(kind, off_device(fd));
            report.extend(option.map(|option| OptionSupport { option, support: through() }));
        }
        if !self.follow {
            report.push(OptionSupport { option: "follow-symlinks=no", support: Support::Native });
        }
        if self.delete {
            let how = "the name is removed when the last handle is dropped or the run is interrupted; a killed process \
                       leaves it";
            let support = if found.by_system { Support::Native } else { Support::Emulated(how.to_owned()) };
            report.push(OptionSupport { option: "delete-on-close", support });
        }
        Ok(())
    }

    /// Reserves the requested space; content and length stay.
    pub(super) fn reserve_space(&self, path: &Path, fd: &Handle) -> Result<Support> {
        match allocate(fd, Allocate::KeepLength, 0, self.reserve) {
            Ok(()) => Ok(Support::Native),
            Err(error @ (Code::NO_SPACE | Code::TOO_LARGE | Code::QUOTA)) => {
                let what = format!("{}: {} bytes", crate::error::reason(&error.into()), self.reserve);
                Err(Error::new(ErrorKind::NoSpace, "reserve space", path, what)
                    .advise("free some space or write somewhere else"))
            }
            Err(Code::UNSUPPORTED | Code::NO_DEVICE | Code::NOT_SEEKABLE | Code::NOT_IMPLEMENTED) => {
                let kind = sys::status(fd).map_or(FileKind::Other, |stat| stat.kind());
                Ok(Support::Unsupported(match kind {
                    FileKind::Regular => "the file system cannot reserve space".to_owned(),
                    FileKind::BlockDevice => "a block device is always fully allocated".to_owned(),
                    kind => format!("a {kind} has no blocks to reserve"),
                }))
            }
            Err(error) => Err(Error::io("reserve space", path, error.into())),
        }
    }

    pub(super) fn advise(&self, fd: &Handle, report: &mut Vec<OptionSupport>) {
        for &hint in &self.hints {
            let (option, at_opening) = match hint {
                Hint::Sequential => ("hint=sequential", OpenFlags::SEQUENTIAL),
                Hint::Random => ("hint=random", OpenFlags::RANDOM),
                Hint::WillNeed => ("hint=will-need", OpenFlags::empty()),
                Hint::NoReuse => ("hint=no-reuse", OpenFlags::empty()),
            };
            let support = if hint == Hint::Sequential && self.hints.contains(&Hint::Random) {
                Support::Unsupported("hint=random takes precedence".to_owned())
            } else if !at_opening.is_empty() {
                Support::Native
            } else {
                hinted(fd, 0..u64::MAX, hint)
            };
            report.push(OptionSupport { option, support });
        }
    }
}

impl File {
    /// Returns the support of each option that was given at opening.
    pub fn option_report(&self) -> &[OptionSupport] {
        // A file opened in one call has no options to report, except perhaps append.
        self.inner.report.get_or_init(|| {
            let appends = self.inner.status.contains(OpenFlags::APPEND);
            appends.then(|| appending(self.kind())).into_iter().collect()
        })
    }

    /// Passes a hint on the expected reads of a byte range (`..`: the whole file) to the system, and returns its support.
    pub fn advise(&self, range: impl RangeBounds<u64>, hint: Hint) -> Support {
        hinted(&self.inner.fd, bounded(&range), hint)
    }
}

fn appending(kind: FileKind) -> OptionSupport {
    let support = match kind {
        FileKind::Regular => Support::Native,
        // Linux writes at the given offset in spite of the flag: `blkdev_write_iter` ignores it.
        FileKind::BlockDevice => {
            Support::Unsupported("a block device has a fixed end: writes go to their offsets".to_owned())
        }
        kind => Support::Emulated(format!("a {kind} has no end: writes are sequential")),
    };
    OptionSupport { option: "mode=append", support }
}

fn writing_through(kind: FileKind, in_memory: bool) -> Support {
    match kind {
        FileKind::Regular if in_memory => Support::Unsupported("the file is not on a device".to_owned()),
        FileKind::Regular | FileKind::BlockDevice if sys::WRITE_THROUGH_FLUSHES_DEVICES => Support::Native,
        FileKind::Regular | FileKind::BlockDevice => Support::Emulated(
            "the bytes reach the device, but may remain in its cache: sync_data flushes it".to_owned(),
        ),
        kind => Support::Unsupported(format!("a {kind} stores nothing on a device")),
    }
}

/// Passes a hint to the system and returns its support.
fn hinted(fd: impl AsHandle, range: Range<u64>, hint: Hint) -> Support {
    let advice = match hint {
        Hint::Sequential => Advice::Sequential,
        Hint::Random => Advice::Random,
        Hint::WillNeed => Advice::WillNeed,
        Hint::NoReuse => Advice::NoReuse,
    };
    // File systems without a device accept hints without an effect.
    if off_device(&fd) {
        return Support::Unsupported("the file is not on a device: it has no read-ahead".to_owned());
    }
    // The system takes a length of 0 as "to the end".
    let len = if range.end == u64::MAX { None } else { Some(range.end.saturating_sub(range.start)) };
    if len == Some(0) {
        return Support::Unsupported("the range is empty".to_owned());
    }
    match sys::advise(fd, range.start, len, advice) {
        Ok(()) => Support::Native,
        Err(error) => Support::Unsupported(crate::error::reason(&error.into())),
    }
}
