//! The descriptor of an open, and whether the file was made by it: only what an open made may it remove when the rest
//! fails.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode as Bits, OFlags};
use rustix::io::Errno;

use super::FileKind;
use super::abandon::{self, Entered};
use super::closing::{Doomed, Name};
use super::open::ATTEMPTS;
use super::options::{Mode, OpenOptions};

/// What was opened.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) fd: Arc<OwnedFd>,
    /// The path of the file if this open is known to have made it.
    pub(super) made: Option<PathBuf>,
    /// What stands for the removal of its name, if that is asked for.
    pub(super) doomed: Option<Entered>,
}

impl Found {
    /// Removes the file again if this open made it.
    pub(super) fn unmake(&self) {
        if let Some(made) = &self.made
            && let Ok(name) = Name::of(made)
        {
            // What went wrong before is what is told.
            let _ = name.remove(&self.fd);
        }
    }
}

impl OpenOptions {
    /// Opens what `path` leads to, as the mode says.
    pub(super) fn find(&self, path: &Path) -> Result<Found, Errno> {
        let more = self.mode_flags();
        match self.mode {
            Mode::CreateNew => self.new_file(path, path),
            Mode::Create | Mode::OpenOrCreate | Mode::Append if self.knows() => {
                self.new_or_there(path, more - OFlags::CREATE)
            }
            _ => self.there(path, more),
        }
    }

    /// Opens what `path` leads to in one call.
    pub(super) fn plainly(&self, path: &Path) -> Result<OwnedFd, Errno> {
        self.call(path, self.mode_flags())
    }

    /// The flags of the mode.
    fn mode_flags(&self) -> OFlags {
        let truncate = if self.empties_late() { OFlags::empty() } else { OFlags::TRUNC };
        match self.mode {
            Mode::Open => OFlags::empty(),
            Mode::Truncate => truncate,
            Mode::CreateNew => OFlags::CREATE | OFlags::EXCL,
            Mode::Create => OFlags::CREATE | truncate,
            Mode::OpenOrCreate | Mode::Append => OFlags::CREATE,
        }
    }

    /// Whether it must be known if the file is new.
    fn knows(&self) -> bool {
        self.strict || self.delete || self.room > 0
    }

    /// As the system does it: what was there cannot be told from what is new.
    fn there(&self, path: &Path, more: OFlags) -> Result<Found, Errno> {
        let fd = Arc::new(self.call(path, more)?);
        let doomed = if self.delete {
            let doomed = || Ok(Doomed { name: Name::of(path)?, fd: fd.clone() });
            Some(abandon::enter::<Errno>(doomed)?)
        } else {
            None
        };
        Ok(Found { fd, made: None, doomed })
    }

    /// A file that does not exist yet, at `place`; `path` is the name that goes if it is to be deleted.
    fn new_file(&self, path: &Path, place: &Path) -> Result<Found, Errno> {
        let open = || Ok(Arc::new(self.call(place, OFlags::CREATE | OFlags::EXCL)?));
        let made = Some(place.to_owned());
        if !self.delete {
            return Ok(Found { fd: open()?, made, doomed: None });
        }
        // A new file never makes its opener wait, so the list may be locked meanwhile.
        let entered = abandon::enter::<Errno>(|| Ok(Doomed { name: Name::of(path)?, fd: open()? }))?;
        Ok(Found { fd: entered.doomed().fd.clone(), made, doomed: Some(entered) })
    }

    /// A new file, or the one that is there, opened with `more`: both are tried by calls that can succeed in one way only,
    /// until one does. Links that lead nowhere are followed here, since `O_EXCL` does not follow them.
    fn new_or_there(&self, path: &Path, more: OFlags) -> Result<Found, Errno> {
        let mut place = path.to_owned();
        for _ in 0..ATTEMPTS {
            match self.new_file(path, &place) {
                Err(Errno::EXIST) => {}
                found => return found,
            }
            match self.there(path, more) {
                Err(Errno::NOENT) => {}
                // Whoever may make a file is refused a directory (`O_CREAT`), also one that could be opened for reading.
                Ok(found) if is_directory(&found.fd) => return Err(Errno::ISDIR),
                found => return found,
            }
            // It was removed between the two, or is a link to what is not there.
            place = match std::fs::read_link(&place) {
                Ok(link) => place.parent().unwrap_or(Path::new("")).join(link),
                Err(_) => path.to_owned(),
            };
        }
        Err(Errno::NOENT)
    }

    fn call(&self, path: &Path, more: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::open(path, self.flags() | more, Bits::from_raw_mode(self.permissions))
    }
}

fn is_directory(fd: &OwnedFd) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|found| FileKind::of(found.st_mode) == FileKind::Directory)
}
