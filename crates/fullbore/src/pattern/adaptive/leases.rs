//! The leases of a run, and their distribution to its workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use fullbore_io::lock::{Condvar, Mutex};

use super::lease::{Lease, Parts, Settings, Spent};
use super::region::Region;

#[derive(Debug)]
pub(in crate::pattern) struct Leases<'a> {
    settings: Settings<'a>,
    /// The number of workers.
    workers: AtomicUsize,
    state: Mutex<LeaseState>,
    changed: Condvar,
}

#[derive(Debug)]
struct LeaseState {
    regions: Vec<Region>,
    waiters: usize,
    stopped: bool,
}

impl LeaseState {
    /// A number that changes when other workers may get leases: with another slice, another trial, or the end of a region.
    fn turn(&self) -> u64 {
        self.regions.iter().map(Region::turn).sum()
    }

    /// After the last lease of a region the others have more workers.
    fn after_take(&mut self, region: usize) {
        if self.regions[region].left == 0 {
            self.regions.iter_mut().for_each(Region::forget);
        }
    }
}

impl<'a> Leases<'a> {
    pub(super) fn new(parts: Vec<Parts>, settings: Settings<'a>) -> Self {
        let regions = parts.into_iter().filter(|parts| !parts.ranges.is_empty());
        let regions = regions.map(|parts| Region::new(parts, &settings)).collect();
        Self {
            settings,
            workers: AtomicUsize::new(1),
            state: Mutex::new(LeaseState { regions, waiters: 0, stopped: false }),
            changed: Condvar::new(),
        }
    }

    /// Sets the number of workers, which is known once all have started.
    pub(in crate::pattern) fn started(&self, workers: usize) {
        self.workers.store(workers, Ordering::Relaxed);
    }

    fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }

    /// A worker's next lease; waits while all contenders in turn have their number of workers. `None`: all parts
    /// are leased, or the run is stopped.
    pub(in crate::pattern) fn next(&self) -> Option<Lease> {
        let mut state = self.state.lock();
        loop {
            if state.stopped || state.regions.iter().all(|region| region.left == 0) {
                return None;
            }
            let turn = state.turn();
            if let Some(lease) = self.take(&mut state) {
                self.wake_after(turn, &state);
                return Some(lease);
            }
            state.waiters += 1;
            state = self.changed.wait(state);
            state.waiters -= 1;
        }
    }

    /// As [`next`](Self::next), but `None` instead of waiting.
    #[cfg(test)]
    pub(super) fn try_next(&self) -> Option<Lease> {
        self.take(&mut self.state.lock())
    }

    /// The lease after `lease` if it is for the same contender: then its requests follow without a pause.
    pub(super) fn more(&self, lease: &Lease) -> Option<Lease> {
        let mut state = self.state.lock();
        let front = |region: &Region| region.ranges.front().map_or(u64::MAX, |range| range.start);
        let first = state.regions.iter().map(front).min();
        let later = self.in_order() && first != Some(front(&state.regions[lease.region]));
        let (limit, turn) = (self.limit(&state, lease.region), state.turn());
        if state.stopped || later || lease.epoch != state.regions[lease.region].epoch {
            return None;
        }
        let region = &mut state.regions[lease.region];
        region.active -= 1;
        let next = region.take(lease.region, limit, &self.settings, Some(lease.contender));
        match next {
            None => region.active += 1,
            Some(_) => state.after_take(lease.region),
        }
        self.wake_after(turn, &state);
        next
    }

    /// Wakes the workers that wait if there may be leases for them since `turn`.
    fn wake_after(&self, turn: u64, state: &LeaseState) {
        if state.waiters > 0 && state.turn() != turn {
            self.changed.notify_all();
        }
    }

    /// Records the cost of a lease, unless it has none that counts. `done`: the worker has no further lease of the region.
    pub(super) fn record(&self, lease: &Lease, spent: Option<Spent>, done: bool) {
        let mut state = self.state.lock();
        let region = &mut state.regions[lease.region];
        if let Some(spent) = spent {
            region.record(lease, spent);
        }
        if done {
            region.active -= 1;
        }
        let waits = done && state.waiters > 0;
        drop(state);
        if waits {
            self.changed.notify_all();
        }
    }

    /// The lease of the same part under another contender, in place of one whose contender cannot be opened; `None` if there is no
    /// other.
    pub(super) fn replace(&self, lease: &Lease) -> Option<Lease> {
        let replaced = self.state.lock().regions[lease.region].replace(lease);
        self.changed.notify_all();
        replaced
    }

    pub(super) fn is_cached(&self, lease: &Lease) -> bool {
        self.state.lock().regions[lease.region].cached
    }

    /// Ends the run: workers that wait get no lease.
    pub(in crate::pattern) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// True if leases are handed out in file order: a single worker has no use for another.
    fn in_order(&self) -> bool {
        self.workers() == 1
    }

    /// The largest number of workers for a region, and true if it shares them: one is left to the other region, so that the
    /// device works while cached parts are processed.
    fn limit(&self, state: &LeaseState, region: usize) -> (usize, bool) {
        let others = state.regions.iter().enumerate().any(|(index, other)| index != region && other.left > 0);
        match others {
            true => (self.workers().saturating_sub(1).max(1), true),
            false => (self.workers(), false),
        }
    }

    fn take(&self, state: &mut LeaseState) -> Option<Lease> {
        let mut order: Vec<usize> =
            (0..state.regions.len()).filter(|&index| state.regions[index].left > 0).collect();
        let front =
            |index: &usize| state.regions[*index].ranges.front().map_or(u64::MAX, |range| range.start);
        match self.in_order() {
            true => {
                order.sort_by_key(front);
                order.truncate(1);
            }
            // The region without a worker first: a lease of each is always in progress. Then the uncached one.
            false => {
                order.sort_by_key(|&index| (state.regions[index].active > 0, state.regions[index].cached))
            }
        }
        order.into_iter().find_map(|index| {
            let limit = self.limit(state, index);
            let lease = state.regions[index].take(index, limit, &self.settings, None)?;
            state.after_take(index);
            Some(lease)
        })
    }
}
