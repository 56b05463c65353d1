//! Dropping of the pages that engines bring in: by a flag with each transfer, or behind.

use std::io;

use super::method::EngineConfig;
use crate::buf::{Completion, Direction};
use crate::file::{CachePolicy, DONTCACHE, DropBehind, File, drops_by_flag};
use crate::sys::{Code, TransferFlags};

/// The mechanism of `cache=drop` for one open file.
#[derive(Debug)]
pub(super) struct Dropping {
    /// Drops behind, where the flag is unavailable.
    drop_behind: Option<DropBehind>,
}

impl Dropping {
    /// Determines the mechanism by a test on the file. Fails with `EOPNOTSUPP` in memory, where the pages are the file.
    pub(super) fn find(file: &File) -> io::Result<Self> {
        if drops_by_flag(file) {
            return Ok(Self { drop_behind: None });
        }
        if crate::probe::in_memory(file) {
            return Err(Code::UNSUPPORTED.into());
        }
        Ok(Self { drop_behind: Some(DropBehind::of(file)) })
    }

    pub(super) fn of(config: &EngineConfig<'_>) -> io::Result<Option<Self>> {
        match config.cache {
            CachePolicy::DontCache => Self::find(config.file).map(Some),
            CachePolicy::Keep | CachePolicy::Direct => Ok(None),
        }
    }

    /// True if each transfer carries the flag.
    pub(super) fn by_flag(&self) -> bool {
        self.drop_behind.is_none()
    }

    pub(super) fn flags(&self) -> TransferFlags {
        if self.by_flag() { DONTCACHE } else { TransferFlags::empty() }
    }

    pub(super) fn moved(&self, direction: Direction, offset: u64, count: usize) {
        match (&self.drop_behind, direction) {
            (None, _) => {}
            (Some(drop_behind), Direction::Read) => drop_behind.read(offset, count),
            (Some(drop_behind), Direction::Write) => drop_behind.wrote(offset, count),
        }
    }

    pub(super) fn completed(&self, done: &[Completion]) {
        for Completion { request, result } in done {
            if let Ok(count) = result {
                self.moved(request.direction, request.offset, *count);
            }
        }
    }
}

/// Describes the emulation of `cache=drop` on `file`; `None` if the kernel drops the pages or dropping is unsupported.
pub fn drop_emulated(file: &File) -> Option<&'static str> {
    Dropping::find(file).ok().filter(|dropping| !dropping.by_flag()).map(|_| crate::file::EMULATED)
}
