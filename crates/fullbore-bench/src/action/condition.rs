//! What a run of a file in one direction wants of the page cache before the clock starts, and what the device must do for
//! it to be what it is labelled.

use std::ops::Range;

use fullbore::Result;
use fullbore::file::File;

use super::side::Side;
use super::{Claim, Device};
use crate::bed::Bed;
use crate::document::CacheState;

/// The condition of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) writes: bool,
    /// Whether it passes the page cache by.
    pub(super) direct: bool,
    /// Whether what is written is brought to the device within the time.
    pub(super) flush: bool,
    /// How much of the range the page cache is to hold; `None`: whatever suits the way.
    pub(super) cache: Option<CacheState>,
}

impl Condition {
    /// That of a side's runs.
    pub(super) fn of(side: &Side, flush: Option<bool>, cache: Option<CacheState>) -> Self {
        Self { writes: side.writes(), direct: side.direct(), flush: flush == Some(true), cache }
    }

    /// The file of a bed that is kept for it.
    pub(super) fn file(self, bed: &Bed) -> &File {
        match self.cache {
            _ if self.writes && !self.direct => &bed.written,
            Some(CacheState::Warm) => &bed.warm,
            _ => &bed.cold,
        }
    }

    /// Brings a range of a file into it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn bring(self, file: &File, range: &Range<u64>) -> Result<()> {
        match self.cache {
            Some(CacheState::Warm) => Bed::warm_up(file, range),
            Some(CacheState::Cold) => Bed::cool_down(file),
            Some(CacheState::Mixed) => {
                Bed::cool_down(file)?;
                // What is read ahead of a short range would be the rest of it.
                Bed::warm_up_exactly(file, &(range.start..range.start.midpoint(range.end)))
            }
            // Past the cache the bytes must come from the device, so they may not be in the cache.
            None if self.direct => Bed::cool_down(file),
            None if self.writes => Bed::warm_up(file, range),
            None => Ok(()),
        }
    }

    /// What the device must do.
    pub(super) fn device(self) -> Device {
        match (self.writes, self.direct) {
            (true, true) => Device::Writes,
            (true, false) if self.flush => Device::Writes,
            (false, true) => Device::Reads,
            (false, false) if self.cache == Some(CacheState::Cold) => Device::Reads,
            _ => Device::Any,
        }
    }

    /// What is claimed of a run over a range of a file that was brought into it.
    pub(super) fn claim(self, file: File, range: Range<u64>) -> Claim {
        let looked_at = self.cache.is_some() || self.direct;
        let about = if looked_at { vec![(file, range)] } else { Vec::new() };
        Claim { about, cache: self.cache, device: self.device() }
    }
}
