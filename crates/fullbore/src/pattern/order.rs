//! The order of requests, their distribution to workers in stripes, and the writer that puts results of several workers in file order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stream_reader::enlarge_pipe;
use crate::strategy::Model;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::File;
use fullbore_io::lock::{Condvar, Mutex};

/// The order in which the requests of a file are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From front to back.
    #[default]
    Sequential,
    /// Each block at most once, all over the file: the first `count` of a permutation chosen by `seed`.
    Random {
        /// Chooses the permutation.
        seed: u64,
        /// Number of requests.
        count: u64,
    },
}

/// The bytes of a file that a run covers, and their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The bytes.
    pub range: Range<u64>,
    /// The order of the requests.
    pub order: Order,
}

impl Scope {
    /// Creates the scope of the first `len` bytes, from front to back.
    pub fn whole(len: u64) -> Self {
        Self { range: 0..len, order: Order::Sequential }
    }
}

impl Order {
    /// Returns the number of requests for a file of `blocks` blocks.
    pub fn count(self, blocks: u64) -> u64 {
        match self {
            Self::Sequential => blocks,
            Self::Random { count, .. } => count.min(blocks),
        }
    }

    /// Returns the block of request number `index` in a file of `blocks` blocks: a different one for each index below
    /// `blocks`.
    pub fn block(self, index: u64, blocks: u64) -> u64 {
        match self {
            Self::Sequential => index,
            Self::Random { seed, .. } => permuted(index, blocks, seed),
        }
    }
}

/// A pseudo-random permutation of `0..len`: a Feistel network of four rounds over the next power of four, repeated
/// until the value is in range (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
fn permuted(index: u64, len: u64, seed: u64) -> u64 {
    let half = (64 - len.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut value = index;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..4u64 {
            (left, right) =
                (right, left ^ (mixed(right ^ seed.rotate_left(round as u32 * 16) ^ (round << 56)) & mask));
        }
        value = left << half | right;
        if value < len {
            return value;
        }
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
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
            match state.ahead.range_mut(..range.start).next_back() {
                Some((_, (end, before))) if *end == range.start => {
                    *end = range.end;
                    *before += count;
                }
                _ => {
                    state.ahead.insert(range.start, (range.end, count));
                }
            }
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

/// A pipe or device that receives bytes in file order, from any worker.
pub(super) struct OrderedWriter {
    file: File,
    written: Frontier,
}

impl OrderedWriter {
    /// Writes to `file` from its current position.
    pub(super) fn new(file: File) -> Self {
        enlarge_pipe(&file);
        Self { file, written: Frontier::default() }
    }

    /// Waits until the bytes at `offset` are next, and writes them.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        if !self.written.wait(offset) {
            return Err(Error::cancelled());
        }
        // Only this worker is next, so no lock is held during a write that may block.
        self.file.write_all_next(data).map_err(|error| error.at(offset))?;
        self.written.done(offset..offset + data.len() as u64, 0);
        Ok(())
    }

    /// Ends all waits: a worker failed and its bytes will not arrive.
    pub(super) fn cancel(&self) {
        self.written.cancel();
    }
}

/// `count` requests, numbered from 0, in stripes.
pub(super) struct Stripes {
    count: u64,
    stripe: u64,
    model: Model,
    next: AtomicU64,
}

impl Stripes {
    pub(super) fn new(count: u64, stripe: u64, model: Model) -> Self {
        let stripe = if model == Model::Serial { count.max(1) } else { stripe.max(1) };
        Self { count, stripe, model, next: AtomicU64::new(0) }
    }

    /// The number of stripes.
    pub(super) fn count(&self) -> u64 {
        self.count.div_ceil(self.stripe)
    }

    /// The requests of one worker, in order. `workers` is called if their number matters.
    pub(super) fn of(&self, worker: usize, workers: impl FnOnce() -> usize) -> Share<'_> {
        let step = if self.model == Model::Striped { workers().max(1) as u64 } else { 0 };
        Share { stripes: self, next: worker as u64, step, left: 0..0 }
    }

    fn range(&self, index: u64) -> Option<Range<u64>> {
        let start = index.checked_mul(self.stripe).filter(|start| *start < self.count)?;
        Some(start..(start + self.stripe).min(self.count))
    }
}

pub(super) struct Share<'s> {
    stripes: &'s Stripes,
    next: u64,
    step: u64,
    left: Range<u64>,
}

impl Iterator for Share<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if let Some(request) = self.left.next() {
            return Some(request);
        }
        let index = match self.stripes.model {
            Model::Serial | Model::Pool => self.stripes.next.fetch_add(1, Ordering::Relaxed),
            Model::Striped => {
                let index = self.next;
                self.next += self.step;
                index
            }
        };
        self.left = self.stripes.range(index)?;
        self.left.next()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_permutation_hits_every_block_once(len in 1u64..3000, seed: u64) {
            let mut hit: Vec<u64> = (0..len).map(|index| permuted(index, len, seed)).collect();
            hit.sort_unstable();
            prop_assert_eq!(hit, (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ranges_ahead_take_the_memory_of_their_gaps() {
        let frontier = Frontier::default();
        for start in (4..400).step_by(4).filter(|start| *start != 200) {
            frontier.done(start..start + 4, 1);
        }
        let ahead = || frontier.state.lock().ahead.len();
        assert_eq!((ahead(), frontier.reached()), (2, (0, 0)));
        frontier.done(0..4, 1);
        assert_eq!(frontier.reached(), (200, 50));
        frontier.done(200..204, 1);
        assert_eq!((ahead(), frontier.reached()), (0, (400, 100)));
    }

    #[test]
    fn neighbours_are_scattered() {
        let at = |index| permuted(index, 10_000, 7);
        let near = (0..9_999).filter(|&index| at(index).abs_diff(at(index + 1)) < 8);
        assert!(near.count() < 100);
    }

    proptest! {
        #[test]
        fn every_request_is_assigned_once(count in 0u64..2000, stripe in 0u64..50, workers in 1usize..9) {
            for model in [Model::Serial, Model::Striped, Model::Pool] {
                let stripes = Stripes::new(count, stripe, model);
                let mut dealt: Vec<u64> = (0..workers).flat_map(|worker| stripes.of(worker, || workers)).collect();
                dealt.sort_unstable();
                prop_assert_eq!(dealt, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn striped_assigns_round_robin() {
        let stripes = Stripes::new(10, 2, Model::Striped);
        assert_eq!(stripes.of(0, || 2).collect::<Vec<_>>(), [0, 1, 4, 5, 8, 9]);
        assert_eq!(stripes.of(1, || 2).collect::<Vec<_>>(), [2, 3, 6, 7]);
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
