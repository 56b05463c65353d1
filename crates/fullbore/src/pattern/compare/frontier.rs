//! The frontier: the offset up to which every byte is compared, by any worker, and the order of emitted results.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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
    fn lock(&self) -> MutexGuard<'_, FrontierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a range as done, with its `count`.
    pub(super) fn done(&self, range: Range<u64>, count: u64) {
        let mut state = self.lock();
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
        let mut state = self.lock();
        while state.next < offset && !state.over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.over
    }

    /// Cancels all waits: a worker failed, or the visitor has seen enough.
    pub(super) fn cancel(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// The end of the contiguous range that is done, and the count in it.
    pub(super) fn reached(&self) -> (u64, u64) {
        let state = self.lock();
        (state.next, state.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
