//! Dropping pages from behind, where the system cannot be told with the transfer: what `cache=drop` is without
//! `RWF_DONTCACHE`.
//!
//! Dropping takes locks of the whole file, so it is done once an interval, never once a request. Dirty pages are
//! skipped by the system; so the writeback of an interval is started when it is over, awaited when the next one is,
//! and its pages dropped then.

use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use super::File;
use super::descriptor::Descriptor;
use crate::sys::writeback;

/// How many bytes are moved between two droppings.
const INTERVAL: u64 = 8 << 20;

/// The largest piece in which the page cache holds files with 4 KiB pages, in bytes. It is dropped whole or not at
/// all, so each interval takes along the one that its start cut through.
const LARGEST_FOLIO: u64 = 2 << 20;

/// What was moved since pages were dropped last.
#[derive(Debug, Default)]
struct Moved {
    bytes: u64,
    range: Option<Range<u64>>,
}

impl Moved {
    /// Counts a transfer; the range to drop if an interval is over.
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

#[derive(Debug, Default)]
struct PendingDrops {
    read: Moved,
    written: Moved,
    /// Its writeback was started.
    in_writeback: Option<Range<u64>>,
}

/// Drops the pages of one open file behind its transfers.
#[derive(Debug)]
pub(crate) struct DropBehind {
    /// An open file of its own on the same inode. Waiting for writeback takes the news of its failure from the open
    /// file that waits, and the user's must still have it when it is synced (`man 2 sync_file_range`, errors).
    fd: Descriptor,
    /// Whether `fd` is the user's after all, so that nothing is waited for.
    shared: bool,
    /// Whether the file lies on an overlay, where ranges cannot be waited for: `sync_file_range` looks for dirty pages that
    /// another inode has.
    overlaid: bool,
    state: Mutex<PendingDrops>,
}

impl DropBehind {
    /// Nothing is moved yet.
    pub(crate) fn of(file: &File) -> Self {
        let (fd, shared) = match file.reopen_fd(false) {
            Ok(fd) => (Descriptor::Own(fd), false),
            Err(_) => (Descriptor::Of(file.inner.clone()), true),
        };
        Self { fd, shared, overlaid: crate::probe::overlaid(file), state: Mutex::default() }
    }

    /// `len` bytes at `offset` were read.
    pub(crate) fn read(&self, offset: u64, len: usize) {
        let over = self.state.lock().unwrap_or_else(PoisonError::into_inner).read.add(offset, len);
        if let Some(range) = over {
            self.drop_pages(range);
        }
    }

    /// `len` bytes at `offset` were written.
    pub(crate) fn wrote(&self, offset: u64, len: usize) {
        let (over, settled) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.written.add(offset, len) {
                Some(range) => (Some(range.clone()), state.in_writeback.replace(range)),
                None => return,
            }
        };
        if let Some(range) = over {
            // A hint: what is not written back now is later, by the system. Errors of it come with `sync`.
            match self.overlaid {
                // It starts the writeback of what it cannot drop yet.
                true => self.drop_pages(range),
                false => drop(writeback::start(self.fd.as_fd(), range)),
            }
        }
        if let Some(range) = settled {
            self.finish_writeback(range);
        }
    }

    /// Waits for a range to be written back and drops its pages.
    fn finish_writeback(&self, range: Range<u64>) {
        if !self.shared {
            let _ = match self.overlaid {
                true => rustix::fs::fdatasync(&self.fd).map_err(Into::into),
                false => writeback::finish(self.fd.as_fd(), range.clone()),
            };
        }
        self.drop_pages(range);
    }

    fn drop_pages(&self, range: Range<u64>) {
        let start = range.start / LARGEST_FOLIO * LARGEST_FOLIO;
        if let Some(len) = NonZeroU64::new(range.end - start) {
            // Pages that stay cost memory, not correctness.
            let _ = rustix::fs::fadvise(&self.fd, start, Some(len), rustix::fs::Advice::DontNeed);
        }
    }
}

impl Drop for DropBehind {
    fn drop(&mut self) {
        let state = std::mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        for range in [state.in_writeback, state.written.range].into_iter().flatten() {
            self.finish_writeback(range);
        }
        if let Some(range) = state.read.range {
            // What was read ahead of the last request goes too.
            self.drop_pages(range.start..range.end.next_multiple_of(LARGEST_FOLIO));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_over_when_its_bytes_are_moved_and_covers_what_they_touched() {
        let mut moved = Moved::default();
        assert_eq!(moved.add(100, 1 << 20), None);
        assert_eq!(moved.add(0, 10), None);
        assert_eq!(moved.add(50 << 20, INTERVAL as usize), Some(0..(50 << 20) + INTERVAL));
        assert_eq!(moved.add(7, 1), None);
        assert_eq!(moved.range, Some(7..8));
    }
}
