//! Drop-behind: the emulation of `cache=drop` on systems without `RWF_DONTCACHE`.
//!
//! Dropping takes locks of the whole file, so it is done once per interval, never per request. The system skips dirty
//! pages; so the writeback of an interval is started when the interval ends, awaited at the end of the next one, and
//! its pages are dropped then.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::inner::{Descriptor, DropBehind, File, Moved};
use crate::sys::{self, Advice, AsHandle};

const INTERVAL: u64 = 8 << 20;

/// The largest unit (folio) in which the page cache holds files with 4 KiB pages, in bytes. It is dropped whole or not at all, so
/// each interval includes the one that its start falls into.
const LARGEST_FOLIO: u64 = 2 << 20;

impl Moved {
    /// Counts a transfer; returns the range to drop at the end of an interval.
    fn add(&mut self, offset: u64, len: usize) -> Option<Range<u64>> {
        let end = offset + len as u64;
        self.range = Some(match self.range.take() {
            Some(range) => range.start.min(offset)..range.end.max(end),
            None => offset..end,
        });
        self.bytes += len as u64;
        if self.bytes < INTERVAL {
            return None;
        }
        self.bytes = 0;
        self.range.take()
    }
}

impl DropBehind {
    pub(crate) fn of(file: &File) -> Self {
        let (fd, shared) = match file.reopen_fd(false) {
            Ok(fd) => (Descriptor::Own(fd), false),
            Err(_) => (Descriptor::Of(file.inner.clone()), true),
        };
        Self { fd, shared, overlaid: crate::probe::overlaid(file), state: Mutex::default() }
    }

    pub(crate) fn read(&self, offset: u64, len: usize) {
        let over = self.state.lock().unwrap_or_else(PoisonError::into_inner).read.add(offset, len);
        if let Some(range) = over {
            self.drop_pages(range);
        }
    }

    pub(crate) fn wrote(&self, offset: u64, len: usize) {
        let (over, settled) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.written.add(offset, len) {
                Some(range) => (Some(range.clone()), state.in_writeback.replace(range)),
                None => return,
            }
        };
        if let Some(range) = over {
            // Only a hint: the system writes the rest back later. `sync` reports errors.
            match self.overlaid {
                // Starts the writeback of pages that it cannot drop yet.
                true => self.drop_pages(range),
                false => drop(sys::start_writeback(self.fd.as_handle(), range)),
            }
        }
        if let Some(range) = settled {
            self.finish_writeback(range);
        }
    }

    /// Waits for the writeback of a range and drops its pages.
    fn finish_writeback(&self, range: Range<u64>) {
        if !self.shared {
            let _ = match self.overlaid {
                true => sys::sync_data(&self.fd).map_err(Into::into),
                false => sys::finish_writeback(self.fd.as_handle(), range.clone()),
            };
        }
        self.drop_pages(range);
    }

    fn drop_pages(&self, range: Range<u64>) {
        let start = range.start / LARGEST_FOLIO * LARGEST_FOLIO;
        // Pages that remain cost memory, not correctness.
        let _ = sys::advise(&self.fd, start, Some(range.end - start), Advice::DontNeed);
    }
}

impl Drop for DropBehind {
    fn drop(&mut self) {
        let state = std::mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        for range in [state.in_writeback, state.written.range].into_iter().flatten() {
            self.finish_writeback(range);
        }
        if let Some(range) = state.read.range {
            // Also drops the read-ahead of the last request.
            self.drop_pages(range.start..range.end.next_multiple_of(LARGEST_FOLIO));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_by_bytes_moved_and_covers_their_range() {
        let mut moved = Moved::default();
        assert_eq!(moved.add(100, 1 << 20), None);
        assert_eq!(moved.add(0, 10), None);
        assert_eq!(moved.add(50 << 20, INTERVAL as usize), Some(0..(50 << 20) + INTERVAL));
        assert_eq!(moved.add(7, 1), None);
        assert_eq!(moved.range, Some(7..8));
    }
}
