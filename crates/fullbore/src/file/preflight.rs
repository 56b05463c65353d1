//! What is asked before calls that are neither plain transfers nor whole syncs: whether the file is sound, and what a
//! test's plan says.

use std::io;
use std::ops::Range;

use super::File;
use crate::buf::Direction;
#[cfg(feature = "fault")]
use crate::fault::Call;

/// What is done to the blocks of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// They are given back.
    Punched,
    /// They read as zeros.
    Zeroed,
    /// They are there.
    Allocated,
    /// They are there, and the file reaches as far.
    Extended,
}

impl File {
    /// Asked before the blocks of a range are changed.
    pub(super) fn before_blocks(&self, what: Blocks, range: &Range<u64>) -> io::Result<()> {
        self.sound()?;
        #[cfg(feature = "fault")]
        {
            let (offset, len) = (range.start, range.end - range.start);
            self.judge(match what {
                Blocks::Punched => Call::Punch { offset, len },
                Blocks::Zeroed => Call::Zero { offset, len },
                Blocks::Allocated => Call::Allocate { offset, len, extends: false },
                Blocks::Extended => Call::Allocate { offset, len, extends: true },
            })?;
        }
        let _ = (what, range);
        Ok(())
    }

    /// Asked before bytes are read or changed that come whole or not at all.
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

    /// Asked before a range is synced.
    pub(super) fn before_sync_range(&self, range: &Range<u64>) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(Call::SyncRange { offset: range.start, len: range.end - range.start })?;
        let _ = range;
        Ok(())
    }
}
