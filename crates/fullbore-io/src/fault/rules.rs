//! Rules of devices and of Windows that neither Linux nor Wine enforces. A plan enforces them, so that the code above is tested
//! against them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::call::{Fault, Subject};
use crate::lock::Mutex;
use crate::sys::{self, Code};

/// The rule that a transfer breaks, with the error. `unit` is 1 for a transfer through the page cache.
pub(super) fn of_transfer(
    faults: &[Fault],
    unit: usize,
    memory: usize,
    offset: u64,
    len: usize,
) -> Option<(Fault, Code)> {
    let end = offset.saturating_add(len as u64);
    faults.iter().find_map(|&fault| match fault {
        Fault::Sectors { size } if unit > 1 => {
            let aligned = (offset | len as u64 | memory as u64).is_multiple_of(size);
            (!aligned).then_some((fault, Code::INVALID))
        }
        Fault::Locked { offset: start, len: locked } => {
            let shared = offset.max(start) < end.min(start.saturating_add(locked));
            shared.then_some((fault, Code::LOCKED))
        }
        _ => None,
    })
}

pub(super) fn sectors(faults: &[Fault]) -> Option<u64> {
    let size = |fault: &Fault| if let Fault::Sectors { size } = fault { Some(*size) } else { None };
    faults.iter().filter_map(size).max()
}

/// The number of mappings of each file, by device and inode.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mappings(Arc<Mutex<BTreeMap<(u64, u64), usize>>>);

impl Mappings {
    /// Counts a mapping of `file` until the result is dropped.
    pub(crate) fn add(&self, file: &dyn Subject) -> Option<MappedUnder> {
        let identity = sys::status(file).ok()?.identity();
        *self.0.lock().entry(identity).or_default() += 1;
        Some(MappedUnder { mappings: self.clone(), identity })
    }

    /// True if `file` is mapped and longer than `len` bytes.
    pub(super) fn hold(&self, file: &dyn Subject, len: u64) -> sys::Result<bool> {
        let found = sys::status(file)?;
        Ok(found.size > len && self.0.lock().get(&found.identity()).is_some_and(|&count| count > 0))
    }
}

#[derive(Debug)]
pub(crate) struct MappedUnder {
    mappings: Mappings,
    identity: (u64, u64),
}

impl Drop for MappedUnder {
    fn drop(&mut self) {
        if let Some(count) = self.mappings.0.lock().get_mut(&self.identity) {
            *count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_transfers_are_whole_sectors_in_aligned_memory() {
        let rule = Fault::Sectors { size: 4096 };
        let breaks = |unit, memory, offset, len| of_transfer(&[rule], unit, memory, offset, len);
        assert_eq!(breaks(512, 0x1000, 8192, 4096), None);
        for (memory, offset, len) in [(0x1200, 0, 4096), (0x1000, 512, 4096), (0x1000, 0, 5000)] {
            assert_eq!(breaks(512, memory, offset, len), Some((rule, Code::INVALID)));
            assert_eq!(breaks(1, memory, offset, len), None, "through the cache");
        }
        assert_eq!(sectors(&[Fault::Held, Fault::Sectors { size: 512 }, rule]), Some(4096));
    }

    #[test]
    fn a_lock_binds_the_transfers_that_touch_it() {
        let rule = Fault::Locked { offset: 100, len: 10 };
        let breaks = |offset, len| of_transfer(&[rule], 1, 0, offset, len).is_some();
        assert!(breaks(99, 2) && breaks(109, 1) && breaks(0, 1000) && breaks(105, 1));
        assert!(!breaks(0, 100) && !breaks(110, 5) && !breaks(105, 0));
    }
}
