//! Dealing items to workers: one at a time while items take long, several while they are quick, for what a lock and a wake
//! cost is then more than the work. Nobody is idle while another has items in hand that are not begun.

use std::collections::VecDeque;
use std::iter::{Fuse, Zip};
use std::ops::RangeFrom;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most items in one hand.
pub(super) const MOST: usize = 16;

/// A hand that took no longer than this is followed by a larger one.
const QUICK: Duration = Duration::from_millis(1);

type Item<T> = (u64, T);

/// Items with their places, dealt in that order.
pub(super) struct Dealer<I: Iterator> {
    source: Mutex<Fuse<Zip<RangeFrom<u64>, I>>>,
    /// By worker: consecutive items that are not begun.
    hands: Vec<Mutex<VecDeque<Item<I::Item>>>>,
    most: usize,
}

/// What a worker knows of its hands.
pub(super) struct Player {
    worker: usize,
    size: usize,
    since: Instant,
}

impl Player {
    /// Worker number `worker`, which has had nothing yet.
    pub(super) fn new(worker: usize) -> Self {
        Self { worker, size: 0, since: Instant::now() }
    }
}

impl<I: Iterator> Dealer<I> {
    /// Deals `most` items at once or fewer.
    pub(super) fn new(items: I, workers: usize, most: usize) -> Self {
        let hands = std::iter::repeat_with(Mutex::default).take(workers).collect();
        Self { source: Mutex::new((0..).zip(items).fuse()), hands, most }
    }

    /// The item after the one that this worker had last, if it has that in hand.
    pub(super) fn next(&self, player: &Player) -> Option<Item<I::Item>> {
        lock(&self.hands[player.worker]).pop_front()
    }

    /// The first item of a new hand; `None` when all items are begun.
    pub(super) fn deal(&self, player: &mut Player) -> Option<Item<I::Item>> {
        let quick = player.since.elapsed() < QUICK;
        player.size = if quick { (player.size * 2).clamp(1, self.most) } else { 1 };
        let first = {
            let mut source = lock(&self.source);
            let first = source.next();
            if player.size > 1 && first.is_some() {
                lock(&self.hands[player.worker]).extend(source.by_ref().take(player.size - 1));
            }
            first
        };
        player.since = Instant::now();
        // From the end, so that what its owner works through stays consecutive.
        first.or_else(|| self.hands.iter().find_map(|hand| lock(hand).pop_back()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a hand that is quick, however long the thread has to wait for a processor.
    fn not_slow() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn every_item_is_dealt_once_and_hands_are_consecutive() {
        let dealer = Dealer::new(0u64..10_000, 4, MOST);
        let hands: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let work = |worker| {
                let (dealer, mut hands) = (&dealer, Vec::new());
                move || {
                    let mut player = Player::new(worker);
                    while let Some((place, item)) = dealer.deal(&mut player) {
                        assert_eq!(place, item);
                        let mut hand = vec![place];
                        while let Some((place, _)) = dealer.next(&player) {
                            assert_eq!(place, hand[hand.len() - 1] + 1);
                            hand.push(place);
                        }
                        hands.push(hand);
                    }
                    hands
                }
            };
            let threads: Vec<_> = (0..4).map(|worker| scope.spawn(work(worker))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let mut all: Vec<u64> = hands.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn quick_items_come_by_the_hand_and_slow_ones_alone() {
        let dealer = Dealer::new(0.., 1, MOST);
        let mut player = Player::new(0);
        let mut sizes = Vec::new();
        for _ in 0..6 {
            player.since = not_slow();
            let _ = dealer.deal(&mut player);
            sizes.push(1 + std::iter::from_fn(|| dealer.next(&player)).count());
        }
        assert_eq!(sizes, [1, 2, 4, 8, 16, 16]);
        std::thread::sleep(2 * QUICK);
        let _ = dealer.deal(&mut player);
        assert!(dealer.next(&player).is_none());
    }

    #[test]
    fn what_is_not_begun_goes_to_whoever_is_idle() {
        let dealer = Dealer::new(0..6, 2, MOST);
        let (mut busy, mut idle) = (Player::new(0), Player::new(1));
        busy.size = 3;
        busy.since = not_slow();
        assert_eq!(dealer.deal(&mut busy), Some((0, 0)));
        let stolen: Vec<_> = std::iter::from_fn(|| dealer.deal(&mut idle)).map(|(place, _)| place).collect();
        assert_eq!(stolen, [5, 4, 3, 2, 1]);
        assert_eq!(dealer.next(&busy), None);
    }
}
