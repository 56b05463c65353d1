//! How engines drop the pages they bring in: by a flag with each transfer, or from behind.

use std::io;

use rustix::io::ReadWriteFlags;

use crate::buf::{Completion, Direction};
use crate::file::{DONTCACHE, DropBehind, File, drops_by_flag};

/// What `cache=drop` means for one open file.
#[derive(Debug)]
pub(super) struct Dropping {
    /// Drops from behind, where the flag is not known.
    drop_behind: Option<DropBehind>,
}

impl Dropping {
    /// Found out by asking the file.
    ///
    /// # Errors
    /// `EOPNOTSUPP` where the pages are the file itself: in memory.
    pub(super) fn find(file: &File) -> io::Result<Self> {
        if drops_by_flag(file) {
            return Ok(Self { drop_behind: None });
        }
        if crate::probe::in_memory(file) {
            return Err(rustix::io::Errno::OPNOTSUPP.into());
        }
        Ok(Self { drop_behind: Some(DropBehind::of(file)) })
    }

    /// Whether the flag goes with each transfer.
    pub(super) fn by_flag(&self) -> bool {
        self.drop_behind.is_none()
    }

    /// The flags of each transfer.
    pub(super) fn flags(&self) -> ReadWriteFlags {
        if self.by_flag() { DONTCACHE } else { ReadWriteFlags::empty() }
    }

    /// `count` bytes at `offset` were moved.
    pub(super) fn moved(&self, direction: Direction, offset: u64, count: usize) {
        match (&self.drop_behind, direction) {
            (None, _) => {}
            (Some(drop_behind), Direction::Read) => drop_behind.read(offset, count),
            (Some(drop_behind), Direction::Write) => drop_behind.wrote(offset, count),
        }
    }

    /// These requests came back.
    pub(super) fn completed(&self, done: &[Completion]) {
        for Completion { request, result } in done {
            if let Ok(count) = result {
                self.moved(request.direction, request.offset, *count);
            }
        }
    }
}

/// How `cache=drop` is emulated on `file`; `None` if the system does it, or nobody.
pub(crate) fn drop_emulated(file: &File) -> Option<&'static str> {
    Dropping::find(file).ok().filter(|dropping| !dropping.by_flag()).map(|_| crate::file::EMULATED)
}
