//! Distributes items to workers: one at a time while items take long, and several at a time while they are quick, because
//! a lock and a wake-up then cost more than the work. No worker is idle while another's batch has items that are not started.

use std::collections::VecDeque;
use std::iter::{Fuse, Zip};
use std::ops::RangeFrom;
use std::time::{Duration, Instant};

use fullbore_io::lock::{Mutex, Padded};

/// The most items in one batch.
pub(super) const MOST: usize = 16;

/// A batch that took no longer than this is followed by a larger one.
const QUICK: Duration = Duration::from_millis(1);

type Item<T> = (u64, T);
type Batch<T> = Mutex<VecDeque<Item<T>>>;

/// A queue that numbers items and distributes them in order.
pub(super) struct WorkQueue<I: Iterator> {
    source: Mutex<Fuse<Zip<RangeFrom<u64>, I>>>,
    /// The batch of each worker: consecutive items that are not started.
    batches: Vec<Padded<Batch<I::Item>>>,
    most: usize,
}

/// A worker's state: its batch size, and the start of the current batch.
pub(super) struct WorkerSlot {
    worker: usize,
    size: usize,
    since: Instant,
}

impl WorkerSlot {
    pub(super) fn new(worker: usize) -> Self {
        Self { worker, size: 0, since: Instant::now() }
    }
}

impl<I: Iterator> WorkQueue<I> {
    /// Distributes at most `most` items at once.
    pub(super) fn new(items: I, workers: usize, most: usize) -> Self {
        let batches = std::iter::repeat_with(Padded::default).take(workers).collect();
        Self { source: Mutex::new((0..).zip(items).fuse()), batches, most }
    }

    /// Returns the item after this worker's last one, if its batch has one.
    pub(super) fn next(&self, slot: &WorkerSlot) -> Option<Item<I::Item>> {
        self.batches[slot.worker].lock().pop_front()
    }

    /// Returns the first item of a new batch; `None` when all items are started.
    pub(super) fn next_batch(&self, slot: &mut WorkerSlot) -> Option<Item<I::Item>> {
        let quick = slot.since.elapsed() < QUICK;
        slot.size = if quick { (slot.size * 2).clamp(1, self.most) } else { 1 };
        let first = {
            let mut source = self.source.lock();
            let first = source.next();
            if slot.size > 1 && first.is_some() {
                self.batches[slot.worker].lock().extend(source.by_ref().take(slot.size - 1));
            }
            first
        };
        slot.since = Instant::now();
        // Taken from the end, so that the owner's remaining items stay consecutive.
        first.or_else(|| self.batches.iter().find_map(|batch| batch.lock().pop_back()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A start time with which a batch counts as quick, even if the thread waits long for a processor.
    fn not_slow() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn every_item_is_distributed_once_and_batches_are_consecutive() {
        let queue = WorkQueue::new(0u64..10_000, 4, MOST);
        let batches: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let work = |worker| {
                let (queue, mut batches) = (&queue, Vec::new());
                move || {
                    let mut slot = WorkerSlot::new(worker);
                    while let Some((place, item)) = queue.next_batch(&mut slot) {
                        assert_eq!(place, item);
                        let mut batch = vec![place];
                        while let Some((place, _)) = queue.next(&slot) {
                            assert_eq!(place, batch[batch.len() - 1] + 1);
                            batch.push(place);
                        }
                        batches.push(batch);
                    }
                    batches
                }
            };
            let threads: Vec<_> = (0..4).map(|worker| scope.spawn(work(worker))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let mut all: Vec<u64> = batches.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn quick_items_come_in_batches_and_slow_ones_alone() {
        let queue = WorkQueue::new(0.., 1, MOST);
        let mut slot = WorkerSlot::new(0);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            slot.since = not_slow();
            let _ = queue.next_batch(&mut slot);
            sizes.push(1 + std::iter::from_fn(|| queue.next(&slot)).count());
        }
        assert_eq!(sizes, [1, 2, 4, 8, 16, 16]);
        slot.since = Instant::now() - 2 * QUICK;
        let _ = queue.next_batch(&mut slot);
        assert!(queue.next(&slot).is_none());
    }

    #[test]
    fn idle_workers_take_items_that_are_not_started() {
        let queue = WorkQueue::new(0..6, 2, MOST);
        let (mut busy, mut idle) = (WorkerSlot::new(0), WorkerSlot::new(1));
        busy.size = 3;
        busy.since = not_slow();
        assert_eq!(queue.next_batch(&mut busy), Some((0, 0)));
        let stolen: Vec<_> =
            std::iter::from_fn(|| queue.next_batch(&mut idle)).map(|(place, _)| place).collect();
        assert_eq!(stolen, [5, 4, 3, 2, 1]);
        assert_eq!(queue.next(&busy), None);
    }
}
