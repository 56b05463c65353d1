//! Distribution of a file's requests to workers, in stripes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::strategy::Model;

/// `count` requests, numbered from 0, in stripes.
#[derive(Debug)]
pub(super) struct Stripes {
    count: u64,
    stripe: u64,
    model: Model,
    next: AtomicU64,
}

impl Stripes {
    /// Cuts `count` requests into stripes of `stripe` requests.
    pub(super) fn new(count: u64, stripe: u64, model: Model) -> Self {
        let stripe = if model == Model::Serial { count.max(1) } else { stripe.max(1) };
        Self { count, stripe, model, next: AtomicU64::new(0) }
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

#[derive(Debug)]
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
}
