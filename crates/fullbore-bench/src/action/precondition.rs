//! What a run of a file in one direction wants of the page cache before the clock starts, and what the device must do for
//! it to be what it is labelled.

use std::ops::Range;

use fullbore::Result;
use fullbore::file::File;

use super::one_way::OneWayIo;
use super::{DeviceIo, ExpectedState};
use crate::document::CacheState;
use crate::test_files::TestFiles;

/// The condition of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precondition {
    pub(super) writes: bool,
    /// Whether it passes the page cache by.
    pub(super) direct: bool,
    /// Whether what is written is brought to the device within the time.
    pub(super) flush: bool,
    /// How much of the range the page cache is to hold; `None`: whatever suits the way.
    pub(super) cache: Option<CacheState>,
}

impl Precondition {
    /// That of a side's runs.
    pub(super) fn of(io: &OneWayIo, flush: Option<bool>, cache: Option<CacheState>) -> Self {
        Self { writes: io.writes(), direct: io.direct(), flush: flush == Some(true), cache }
    }

    /// The file of test files that is kept for it.
    pub(super) fn file(self, test_files: &TestFiles) -> &File {
        match self.cache {
            _ if self.writes && !self.direct => &test_files.written,
            Some(CacheState::Warm) => &test_files.warm,
            _ => &test_files.cold,
        }
    }

    /// Brings a range of a file into it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn establish(self, file: &File, range: &Range<u64>) -> Result<()> {
        match self.cache {
            Some(CacheState::Warm) => TestFiles::load_into_cache(file, range),
            Some(CacheState::Cold) => TestFiles::evict_from_cache(file),
            Some(CacheState::Mixed) => {
                TestFiles::evict_from_cache(file)?;
                // What is read ahead of a short range would be the rest of it.
                TestFiles::load_exactly_into_cache(file, &(range.start..range.start.midpoint(range.end)))
            }
            // Past the cache the bytes must come from the device, so they may not be in the cache.
            None if self.direct => TestFiles::evict_from_cache(file),
            None if self.writes => TestFiles::load_into_cache(file, range),
            None => Ok(()),
        }
    }

    /// What the device must do.
    pub(super) fn device(self) -> DeviceIo {
        match (self.writes, self.direct) {
            (true, true) => DeviceIo::Writes,
            (true, false) if self.flush => DeviceIo::Writes,
            (false, true) => DeviceIo::Reads,
            (false, false) if self.cache == Some(CacheState::Cold) => DeviceIo::Reads,
            _ => DeviceIo::Any,
        }
    }

    /// What is claimed of a run over a range of a file that was brought into it.
    pub(super) fn expected_state(self, file: File, range: Range<u64>) -> ExpectedState {
        let looked_at = self.cache.is_some() || self.direct;
        let ranges = if looked_at { vec![(file, range)] } else { Vec::new() };
        ExpectedState { ranges, cache: self.cache, device: self.device() }
    }
}
