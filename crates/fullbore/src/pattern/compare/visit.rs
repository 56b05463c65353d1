//! Visitors of a comparison: the first difference, the lines before it, or every difference in order.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::result::Difference;
use super::walk::Visit;
use fullbore_io::error::Result;
use fullbore_io::lock::{Condvar, Mutex};

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

/// Finds the least offset at which the sides differ.
pub(super) struct Least<'a> {
    least: AtomicU64,
    found: Mutex<Option<Difference>>,
    /// Counts lines during the comparison, if requested.
    lines: Option<&'a Frontier>,
}

impl<'a> Least<'a> {
    pub(super) fn new(lines: Option<&'a Frontier>) -> Self {
        Self { least: AtomicU64::new(u64::MAX), found: Mutex::new(None), lines }
    }

    pub(super) fn found(self) -> Option<Difference> {
        self.found.into_inner()
    }
}

impl Visit for Least<'_> {
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

/// Counts the line ends of one side.
#[derive(Default)]
pub(super) struct Lines(pub(super) AtomicU64);

impl Visit for Lines {
    fn block(&self, _offset: u64, left: &[u8], _right: &[u8]) -> Result<()> {
        self.0.fetch_add(newlines(left), Ordering::Relaxed);
        Ok(())
    }
}

/// Passes the runs that differ to `find` on any worker, and the results to `emit` in order.
pub(super) struct Every<F, E> {
    find: F,
    emit: Mutex<E>,
    /// A byte differed.
    pub(super) differ: AtomicBool,
    /// `emit` returned `Break`.
    pub(super) enough: AtomicBool,
    frontier: Frontier,
    /// Nothing at or after this offset is needed.
    wanted: AtomicU64,
}

impl<F, E> Every<F, E> {
    pub(super) fn new(find: F, emit: E) -> Self {
        let (differ, enough, wanted) = (false.into(), false.into(), u64::MAX.into());
        Self { find, emit: Mutex::new(emit), differ, enough, frontier: Frontier::default(), wanted }
    }
}

impl<R: Send, F: Fn(u64, &[u8], &[u8]) -> R + Sync, E: FnMut(R) -> Result<ControlFlow<()>> + Send> Visit
    for Every<F, E>
{
    fn block(&self, offset: u64, left: &[u8], right: &[u8]) -> Result<()> {
        let end = offset + left.len() as u64;
        let Some(first) = first_difference(left, right) else {
            self.frontier.done(offset..end, 0);
            return Ok(());
        };
        let made = (self.find)(offset + first as u64, &left[first..], &right[first..]);
        if !self.frontier.wait(offset) {
            return Ok(());
        }
        let mut emit = self.emit.lock();
        self.differ.store(true, Ordering::Relaxed);
        if emit(made)?.is_break() {
            self.enough.store(true, Ordering::Relaxed);
            self.wanted.store(0, Ordering::Relaxed);
            self.frontier.cancel();
        }
        drop(emit);
        self.frontier.done(offset..end, 0);
        Ok(())
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

/// The end of the contiguous range that is done, and the count in that range.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    state: Mutex<FrontierState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct FrontierState {
    next: u64,
    count: u64,
    /// Ranges done beyond it, by start: the end, and the count.
    ahead: BTreeMap<u64, (u64, u64)>,
    over: bool,
}

impl Frontier {
    pub(super) fn done(&self, range: Range<u64>, count: u64) {
        let mut state = self.state.lock();
        if range.start != state.next {
            state.ahead.insert(range.start, (range.end, count));
            return;
        }
        state.next = range.end;
        state.count += count;
        while let Some((&start, &(end, count))) = state.ahead.first_key_value()
            && start == state.next
        {
            state.ahead.pop_first();
            state.next = end;
            state.count += count;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until everything before `offset` is done; false if the wait was cancelled.
    pub(super) fn wait(&self, offset: u64) -> bool {
        let mut state = self.state.lock();
        while state.next < offset && !state.over {
            state = self.changed.wait(state);
        }
        !state.over
    }

    /// Cancels all waits: a worker failed, or the visitor has seen enough.
    pub(super) fn cancel(&self) {
        self.state.lock().over = true;
        self.changed.notify_all();
    }

    pub(super) fn reached(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.next, state.count)
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

    proptest! {
        #[test]
        fn it_advances_when_gaps_close(lens in proptest::collection::vec(1u64..5, 1..40), seed: u64) {
            let mut starts: Vec<(u64, u64)> = lens
                .iter()
                .scan(0, |next, len| { *next += len; Some((*next - len, *len)) })
                .collect();
            let total: u64 = lens.iter().sum();
            // In any order: sorted by a hash of the offset.
            starts.sort_by_key(|(start, _)| (start ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let frontier = Frontier::default();
            let mut done = vec![false; total as usize];
            for (start, len) in starts {
                frontier.done(start..start + len, len);
                done[start as usize..(start + len) as usize].fill(true);
                let reached = done.iter().take_while(|done| **done).count() as u64;
                prop_assert_eq!(frontier.reached(), (reached, reached));
            }
            prop_assert!(frontier.wait(total));
        }
    }

    #[test]
    fn cancelling_ends_a_wait() {
        let frontier = Frontier::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| frontier.wait(5));
            frontier.done(0..4, 0);
            frontier.cancel();
            assert!(!waits.join().unwrap());
        });
    }
}
