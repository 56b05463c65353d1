//! Checks before calls that are neither plain transfers nor whole syncs: the poisoned state of the file, and a test's
//! fault plan.

use std::io;
use std::ops::Range;

use super::File;
use crate::buf::Direction;
#[cfg(feature = "fault")]
use crate::fault::Call;

/// The change to the blocks of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// Freed.
    Punched,
    /// Set to read as zeros.
    Zeroed,
    /// Allocated; the length stays.
    Reserved,
    /// Allocated, and the file extended to the end of the range.
    Extended,
}

impl File {
    /// Called before the blocks of a range are changed.
    pub(super) fn before_blocks(&self, what: Blocks, range: &Range<u64>) -> io::Result<()> {
        self.sound()?;
        #[cfg(feature = "fault")]
        {
            let (offset, len) = (range.start, range.end - range.start);
            self.judge(match what {
                Blocks::Punched => Call::Punch { offset, len },
                Blocks::Zeroed => Call::Zero { offset, len },
                Blocks::Reserved => Call::Allocate { offset, len, extends: false },
                Blocks::Extended => Call::Allocate { offset, len, extends: true },
            })?;
        }
        let _ = (what, range);
        Ok(())
    }

    /// Called before bytes are read or changed as a whole or not at all.
    #[inline]
    pub(super) fn before_whole(&self, direction: Direction, offset: u64, len: usize) -> io::Result<()> {
        if direction == Direction::Write {
            self.sound()?;
        }
        #[cfg(feature = "fault")]
        self.judge(match direction {
            Direction::Read => Call::View { offset, len },
            Direction::Write => Call::Change { offset, len },
        })?;
        let _ = (offset, len);
        Ok(())
    }

    /// Called before a range is synced.
    pub(super) fn before_sync_range(&self, range: &Range<u64>) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(Call::SyncRange { offset: range.start, len: range.end - range.start })?;
        let _ = range;
        Ok(())
    }
}
