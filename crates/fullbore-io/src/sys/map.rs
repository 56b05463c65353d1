//! Mappings of files that report a fault instead of ending the process.
//!
//! A page of a mapped file can disappear (the file was truncated), fail to be read, or find no space on the device when it is
//! written. The system then interrupts the access: with SIGBUS on Unix, with an exception on Windows. The platform's handler
//! searches a table for the address. If the address is in one of this crate's mappings, the handler maps zeros there and lets the
//! access continue. The user of the bytes calls [`Map::check`] before using a result.

use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::code::Result;
use super::memory::RANGES;
#[cfg(unix)]
use super::unix::{BorrowedHandle, view::View};
#[cfg(windows)]
use super::windows::{BorrowedHandle, view::View};

#[derive(Debug)]
pub(crate) struct Map {
    view: View,
    len: usize,
    index: usize,
    writable: bool,
}

// SAFETY: a map is memory; shared access goes through `&self`, which only reads.
unsafe impl Send for Map {}
// SAFETY: `&self` only reads; changes of the bytes need `&mut self`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `file` from `offset`, a multiple of the page size.
    pub(crate) fn new(file: BorrowedHandle<'_>, offset: u64, len: usize, writable: bool) -> io::Result<Self> {
        let view = View::new(file, offset, len, writable)?;
        let Range { start, end } = view.addresses();
        for (index, range) in RANGES.iter().enumerate() {
            if range.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                range.end.store(end, Ordering::Relaxed);
                range.writable.store(writable, Ordering::Relaxed);
                range.faulted.store(false, Ordering::Relaxed);
                range.start.store(start, Ordering::Release);
                return Ok(Self { view, len, index, writable });
            }
        }
        view.unmap(false);
        Err(io::Error::other("too many mappings at a time"))
    }

    /// The bytes. They are valid only if [`check`](Self::check) returns `true` afterwards.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and readable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts(self.view.start(), self.len) }
    }

    /// The bytes, mutable.
    ///
    /// # Panics
    /// If the mapping is read-only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.writable, "the mapping is read-only");
        // SAFETY: mapped and writable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts_mut(self.view.start(), self.len) }
    }

    /// Copies bytes out of the mapping, from `place` on; valid only if [`check`](Self::check) returns `true` afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping.
    pub(crate) fn copy_out(&self, place: usize, data: &mut [u8]) {
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: the range is within the mapping, which remains readable while `self` lives (the handler catches
        // faults); `data` is the caller's own memory. No reference to the mapped bytes exists, so concurrent changes
        // are harmless.
        unsafe { std::ptr::copy_nonoverlapping(self.view.start().add(place), data.as_mut_ptr(), data.len()) }
    }

    /// Copies `data` to `place` in the mapping; valid only if [`check`](Self::check) returns `true` afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping, or the mapping is read-only.
    pub(crate) fn copy_in(&mut self, place: usize, data: &[u8]) {
        assert!(self.writable, "the mapping is read-only");
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: as in `copy_out`, and the mapping is writable.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.view.start().add(place), data.len()) }
    }

    pub(crate) fn flush(&self) -> Result<()> {
        self.view.flush(self.len)
    }

    /// True if no page was missing in any access so far.
    pub(crate) fn check(&self) -> bool {
        !RANGES[self.index].faulted.load(Ordering::Acquire)
    }

    /// Passes a hint on the order of the accesses, the first of which is at `place`.
    pub(crate) fn advise(&self, place: usize, random: bool) -> io::Result<()> {
        Ok(self.view.advise(place.min(self.len)..self.len, random)?)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let replaced = !self.check();
        RANGES[self.index].start.store(0, Ordering::Release);
        // No reference into it outlives `self`.
        self.view.unmap(replaced);
    }
}
