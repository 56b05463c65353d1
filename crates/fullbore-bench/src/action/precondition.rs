//! State of the page cache that a run requires before the clock starts, and the device's transfers that its labels
//! imply.

use std::ops::Range;

use fullbore::Result;
use fullbore::file::File;

use super::one_way::OneWayIo;
use super::workload::{DeviceIo, ExpectedState};
use crate::document::CacheState;
use crate::test_files::TestFiles;

#[derive(Debug, Clone, Copy)]
pub(super) struct Precondition {
    pub(super) writes: bool,
    pub(super) direct: bool,
    /// True if the time includes flushing writes to the device.
    pub(super) flush: bool,
    /// Page-cache state of the range; `None`: the default of the cache policy.
    pub(super) cache: Option<CacheState>,
}

impl Precondition {
    pub(super) fn of(io: &OneWayIo, flush: Option<bool>, cache: Option<CacheState>) -> Self {
        Self { writes: io.writes(), direct: io.direct(), flush: flush == Some(true), cache }
    }

    /// Returns the test file kept for this precondition.
    pub(super) fn file(self, test_files: &TestFiles) -> &File {
        match self.cache {
            _ if self.writes && !self.direct => &test_files.written,
            Some(CacheState::Warm) => &test_files.warm,
            _ => &test_files.cold,
        }
    }

    /// Establishes the state for a range of a file.
    pub(super) fn establish(self, file: &File, range: &Range<u64>) -> Result<()> {
        if self.flush {
            // The flush of this run must not write what earlier ones left.
            file.sync_data()?;
        }
        match self.cache {
            Some(CacheState::Warm) => TestFiles::load_into_cache(file, range),
            Some(CacheState::Cold) => TestFiles::evict_from_cache(file),
            Some(CacheState::Mixed) => {
                TestFiles::evict_from_cache(file)?;
                // Read-ahead of a short range would cache the rest of it.
                TestFiles::load_exactly_into_cache(file, &(range.start..range.start.midpoint(range.end)))
            }
            // Direct I/O must read from the device, so the range must not be cached.
            None if self.direct => TestFiles::evict_from_cache(file),
            None if self.writes => TestFiles::load_into_cache(file, range),
            None => Ok(()),
        }
    }

    /// Returns the expected transfers of the device.
    pub(super) fn device(self) -> DeviceIo {
        match (self.writes, self.direct) {
            (true, true) => DeviceIo::Writes,
            (true, false) if self.flush => DeviceIo::Writes,
            (false, true) => DeviceIo::Reads,
            (false, false) if self.cache == Some(CacheState::Cold) => DeviceIo::Reads,
            _ => DeviceIo::Any,
        }
    }

    pub(super) fn expected_state(self, file: File, range: Range<u64>) -> ExpectedState {
        let looked_at = self.cache.is_some() || self.direct;
        let ranges = if looked_at { vec![(file, range)] } else { Vec::new() };
        ExpectedState { ranges, cache: self.cache, device: self.device() }
    }
}
