//! Visitors of a comparison: the first difference, the lines before it, or every difference in order.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::result::Difference;
use super::walk::Visit;
use crate::pattern::order::Frontier;
use crate::pattern::progress::Progress;
use crate::pattern::threads::holding;
use fullbore_io::error::Result;
use fullbore_io::lock::Mutex;

/// Bytes compared at once before differences in them are located.
const STEP: usize = 4096;

/// Offset of the first difference of two runs, up to the end of the shorter.
pub(super) fn first_difference(left: &[u8], right: &[u8]) -> Option<usize> {
    let len = left.len().min(right.len());
    let (left, right) = (&left[..len], &right[..len]);
    // Slices are compared with vector instructions; only a run that differs is searched byte by byte.
    if left == right {
        return None;
    }
    let run = left.chunks(STEP).zip(right.chunks(STEP)).position(|(left, right)| left != right)? * STEP;
    let byte = left[run..].iter().zip(&right[run..]).position(|(left, right)| left != right)?;
    Some(run + byte)
}

pub(super) fn newlines(data: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', data).count() as u64
}

/// The search for the least offset at which the sides differ.
pub(super) struct FirstDifference<'a> {
    least: AtomicU64,
    found: Mutex<Option<Difference>>,
    /// Counts lines during the comparison, if requested.
    lines: Option<&'a Frontier>,
}

impl<'a> FirstDifference<'a> {
    pub(super) fn new(lines: Option<&'a Frontier>) -> Self {
        Self { least: AtomicU64::new(u64::MAX), found: Mutex::new(None), lines }
    }

    pub(super) fn found(self) -> Option<Difference> {
        self.found.into_inner()
    }
}

impl Visit for FirstDifference<'_> {
    fn block(&self, offset: u64, left: &[u8], right: &[u8]) -> Result<()> {
        let place = first_difference(left, right);
        if let Some(place) = place {
            let at = offset + place as u64;
            let mut found = self.found.lock();
            if found.as_ref().is_none_or(|found| at < found.offset) {
                *found = Some(Difference { offset: at, left: left[place], right: right[place] });
                self.least.store(at, Ordering::Relaxed);
            }
        }
        if let Some(lines) = self.lines {
            let same = &left[..place.unwrap_or(left.len())];
            lines.done(offset..offset + same.len() as u64, newlines(same));
        }
        Ok(())
    }

    fn hole(&self, range: Range<u64>) {
        if let Some(lines) = self.lines {
            lines.done(range, 0);
        }
    }

    fn wanted(&self, offset: u64) -> bool {
        offset < self.least.load(Ordering::Relaxed)
    }
}

/// A counter of the line ends of one side, until the run is cancelled.
pub(super) struct Lines<'a> {
    pub(super) count: AtomicU64,
    pub(super) progress: &'a Progress,
}

impl Visit for Lines<'_> {
    fn block(&self, _offset: u64, left: &[u8], _right: &[u8]) -> Result<()> {
        self.progress.check()?;
        self.count.fetch_add(newlines(left), Ordering::Relaxed);
        Ok(())
    }
}

/// A visitor that passes the runs that differ to `find` on any worker, and the results to `emit` in order.
pub(super) struct AllDifferences<F, E> {
    find: F,
    emit: Mutex<E>,
    /// True if a byte differed.
    pub(super) differ: AtomicBool,
    /// True if `emit` returned `Break`.
    pub(super) enough: AtomicBool,
    frontier: Frontier,
    /// The offset from which no more bytes are needed.
    wanted: AtomicU64,
}

impl<F, E> AllDifferences<F, E> {
    pub(super) fn new(find: F, emit: E) -> Self {
        let (differ, enough, wanted) = (false.into(), false.into(), u64::MAX.into());
        Self { find, emit: Mutex::new(emit), differ, enough, frontier: Frontier::default(), wanted }
    }
}

impl<R: Send, F: Fn(u64, &[u8], &[u8]) -> R + Sync, E: FnMut(R) -> Result<ControlFlow<()>> + Send> Visit
    for AllDifferences<F, E>
{
    fn block(&self, offset: u64, left: &[u8], right: &[u8]) -> Result<()> {
        let end = offset + left.len() as u64;
        let Some(first) = first_difference(left, right) else {
            self.frontier.done(offset..end, 0);
            return Ok(());
        };
        // The bytes may be mapped, and change meanwhile.
        let (left, right) = (left[first..].to_vec(), right[first..].to_vec());
        let made = (self.find)(offset + first as u64, &left, &right);
        holding(|| {
            if !self.frontier.wait(offset) {
                return Ok(());
            }
            let mut emit = self.emit.lock();
            self.differ.store(true, Ordering::Relaxed);
            if emit(made)?.is_break() {
                self.enough.store(true, Ordering::Relaxed);
                // The bytes of this block may still prove to be unreadable.
                self.wanted.store(offset + 1, Ordering::Relaxed);
                self.frontier.cancel();
            }
            drop(emit);
            self.frontier.done(offset..end, 0);
            Ok(())
        })
    }

    fn hole(&self, range: Range<u64>) {
        self.frontier.done(range, 0);
    }

    fn wanted(&self, offset: u64) -> bool {
        offset < self.wanted.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        self.frontier.cancel();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_difference_is_that_of_a_plain_loop(
            left in proptest::collection::vec(0u8..3, 0..9000), cut in 0usize..9000, places in proptest::collection::vec(0usize..9000, 0..3),
        ) {
            let mut right = left.clone();
            right.truncate(cut);
            for place in places {
                if let Some(byte) = right.get_mut(place) {
                    *byte ^= 0x80;
                }
            }
            let plain = left.iter().zip(&right).position(|(left, right)| left != right);
            prop_assert_eq!(first_difference(&left, &right), plain);
        }
    }
}
