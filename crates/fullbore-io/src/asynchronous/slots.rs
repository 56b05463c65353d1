//! The states of operations: vacant → waiting → in flight → done or detached. The module makes no system calls and takes
//! no locks, so that every interleaving can be tested:
//!
//! ```text
//! RUSTFLAGS="--cfg fullbore_loom" cargo test --release -p fullbore-io --lib asynchronous::slots
//! ```
use std::collections::VecDeque;
use std::io;
use std::task::{Poll, Waker};

/// The result of an operation: bytes moved, or the system's error.
pub(super) type IoResult = io::Result<usize>;

/// A slot and the generation of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) index: u32,
    generation: u32,
}

impl Key {
    /// Encodes the key as the 64 bits that the kernel returns with a completion.
    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

#[derive(Debug)]
enum SlotState<T> {
    Vacant,
    Waiting(T, Option<Waker>),
    Flight(T, Option<Waker>),
    /// In flight, without a future.
    Detached(T),
    Done(T, IoResult),
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    /// True if the operation counts towards the limit while it is in flight.
    limited: bool,
    state: SlotState<T>,
}

#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    vacant: Vec<u32>,
    /// Keys of operations in order of arrival, including those that no longer wait.
    queue: VecDeque<Key>,
    /// Number of operations that wait.
    waiting: usize,
    /// Number of operations in flight that count towards the limit.
    flying: usize,
    /// Number of operations in flight that do not count towards the limit.
    unlimited: usize,
    /// Maximum of `flying`.
    pub(super) limit: usize,
}

impl<T> Slots<T> {
    pub(super) fn new(limit: usize) -> Self {
        let slot = |_| Slot { generation: 0, limited: true, state: SlotState::Vacant };
        Self {
            slots: (0..limit).map(slot).collect(),
            vacant: (0..limit as u32).rev().collect(),
            queue: VecDeque::with_capacity(limit),
            waiting: 0,
            flying: 0,
            unlimited: 0,
            limit,
        }
    }

    pub(super) fn flying(&self) -> usize {
        self.flying + self.unlimited
    }

    /// Returns the number of operations that wait or are in flight.
    pub(super) fn open(&self) -> usize {
        self.flying() + self.waiting
    }

    /// Inserts an operation, which waits to start.
    pub(super) fn insert(&mut self, operation: T, waker: Option<Waker>) -> Key {
        let key = self.place(SlotState::Waiting(operation, waker), true);
        self.queue.push_back(key);
        self.waiting += 1;
        key
    }

    /// Inserts an operation that starts at once and does not count towards the limit.
    pub(super) fn insert_unlimited(&mut self, operation: T, waker: Option<Waker>) -> Key {
        self.unlimited += 1;
        self.place(SlotState::Flight(operation, waker), false)
    }

    fn place(&mut self, state: SlotState<T>, limited: bool) -> Key {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, limited, state: SlotState::Vacant });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        (slot.state, slot.limited) = (state, limited);
        Key { index, generation: slot.generation }
    }

    /// Starts the next waiting operation if the limit permits.
    pub(super) fn start(&mut self) -> Option<Key> {
        while self.flying < self.limit {
            let key = self.queue.pop_front()?;
            let Some(slot) = self.slot(key) else { continue };
            match std::mem::replace(&mut slot.state, SlotState::Vacant) {
                SlotState::Waiting(operation, waker) => {
                    slot.state = SlotState::Flight(operation, waker);
                    self.flying += 1;
                    self.waiting -= 1;
                    return Some(key);
                }
                other => slot.state = other,
            }
        }
        None
    }

    /// Counts an operation that no longer waits. Its key stays in the queue until most keys there are such keys: then all of them
    /// are removed, so that a removal takes constant time on average.
    fn withdrawn(&mut self) {
        self.waiting -= 1;
        if self.queue.len() > 2 * self.waiting {
            let Self { queue, slots, .. } = self;
            let waits = |slot: &Slot<T>, key: &Key| {
                slot.generation == key.generation && matches!(slot.state, SlotState::Waiting(..))
            };
            queue.retain(|key| slots.get(key.index as usize).is_some_and(|slot| waits(slot, key)));
        }
    }

    pub(super) fn flight(&mut self, key: Key) -> Option<&mut T> {
        match &mut self.slot(key)?.state {
            SlotState::Flight(operation, _) | SlotState::Detached(operation) => Some(operation),
            _ => None,
        }
    }

    /// Completes an operation in flight. Returns the waker to call, and the operation if it was detached.
    pub(super) fn complete(&mut self, key: Key, result: IoResult) -> (Option<Waker>, Option<T>) {
        let Some(slot) = self.slot(key) else { return (None, None) };
        let limited = slot.limited;
        match std::mem::replace(&mut slot.state, SlotState::Vacant) {
            SlotState::Flight(operation, waker) => {
                slot.state = SlotState::Done(operation, result);
                self.landed(limited);
                (waker, None)
            }
            SlotState::Detached(operation) => {
                self.landed(limited);
                self.vacate(key);
                (None, Some(operation))
            }
            other => {
                slot.state = other;
                (None, None)
            }
        }
    }

    fn landed(&mut self, limited: bool) {
        *if limited { &mut self.flying } else { &mut self.unlimited } -= 1;
    }

    /// Takes the result; `Pending` if there is none yet, `None` if there is no such operation.
    pub(super) fn poll(&mut self, key: Key) -> Option<Poll<(T, IoResult)>> {
        let slot = self.slot(key)?;
        match slot.state {
            SlotState::Waiting(..) | SlotState::Flight(..) => Some(Poll::Pending),
            SlotState::Done(..) => match std::mem::replace(&mut slot.state, SlotState::Vacant) {
                SlotState::Done(operation, result) => {
                    self.vacate(key);
                    Some(Poll::Ready((operation, result)))
                }
                _ => None,
            },
            SlotState::Vacant | SlotState::Detached(_) => None,
        }
    }

    /// Makes the completion of a pending operation return `waker`. Its clone comes from `clone`, which then has the one that it
    /// replaced. False if a clone is needed and missing. The caller clones and drops wakers, because that runs foreign code.
    pub(super) fn store(&mut self, key: Key, waker: &Waker, clone: &mut Option<Waker>) -> bool {
        match self.slot(key).map(|slot| &mut slot.state) {
            Some(SlotState::Waiting(_, kept) | SlotState::Flight(_, kept))
                if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) =>
            {
                let given = clone.is_some();
                if given {
                    std::mem::swap(kept, clone);
                }
                given
            }
            _ => true,
        }
    }

    #[cfg(any(feature = "tokio", feature = "futures", test))]
    pub(super) fn is_done(&mut self, key: Key) -> bool {
        self.slot(key).is_some_and(|slot| matches!(slot.state, SlotState::Done(..)))
    }

    /// Ends a waiting operation with this result for its future; its waker joins `wakes`. False if it does not wait.
    pub(super) fn recall(&mut self, key: Key, result: IoResult, wakes: &mut Vec<Waker>) -> bool {
        let Some(slot) = self.slot(key) else { return false };
        match std::mem::replace(&mut slot.state, SlotState::Vacant) {
            SlotState::Waiting(operation, waker) => {
                slot.state = SlotState::Done(operation, result);
                wakes.extend(waker);
                self.withdrawn();
                true
            }
            other => {
                slot.state = other;
                false
            }
        }
    }

    /// Detaches an operation whose future is dropped. Returns its waker, now unneeded, and the operation if it does not run;
    /// otherwise its completion does.
    pub(super) fn detach(&mut self, key: Key) -> (Option<Waker>, Option<T>) {
        let Some(slot) = self.slot(key) else { return (None, None) };
        match std::mem::replace(&mut slot.state, SlotState::Vacant) {
            SlotState::Waiting(operation, waker) => {
                self.withdrawn();
                self.vacate(key);
                (waker, Some(operation))
            }
            SlotState::Done(operation, _) => {
                self.vacate(key);
                (None, Some(operation))
            }
            SlotState::Flight(operation, waker) => {
                slot.state = SlotState::Detached(operation);
                (waker, None)
            }
            other => {
                slot.state = other;
                (None, None)
            }
        }
    }

    fn slot(&mut self, key: Key) -> Option<&mut Slot<T>> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)
    }

    fn vacate(&mut self, key: Key) {
        let slot = &mut self.slots[key.index as usize];
        slot.generation = slot.generation.wrapping_add(1) & (u32::MAX >> 1);
        self.vacant.push(key.index);
    }
}

#[cfg(all(test, not(fullbore_loom)))]
mod tests {
    use super::*;

    #[test]
    fn unlimited_operations_take_no_place_of_others() {
        let mut slots = Slots::new(1);
        let unlimited = [1, 2, 3].map(|number| slots.insert_unlimited(number, None));
        let limited = slots.insert(4, None);
        assert_eq!((slots.open(), slots.flying()), (4, 3));
        assert_eq!(slots.start(), Some(limited));
        slots.complete(unlimited[0], Ok(0));
        slots.insert(5, None);
        assert_eq!(slots.start(), None, "one of them is in flight");
        assert_eq!(slots.detach(unlimited[1]).1, None);
        assert_eq!(slots.complete(unlimited[1], Ok(0)).1, Some(2));
        assert_eq!((slots.open(), slots.flying()), (3, 2));
    }

    #[test]
    fn operations_start_in_order_within_the_limit() {
        let mut slots = Slots::new(1);
        let [a, b, c] = [1, 2, 3].map(|number| slots.insert(number, None));
        assert_eq!(slots.start(), Some(a));
        assert_eq!(slots.start(), None);
        assert_eq!(slots.detach(b).1, Some(2));
        slots.complete(a, Ok(1));
        assert_eq!(slots.start(), Some(c));
        assert_eq!(slots.open(), 1);
    }

    #[test]
    fn withdrawn_operations_leave_the_queue_and_do_not_start() {
        let mut slots = Slots::new(1);
        let first = slots.insert(0, None);
        slots.start();
        let keys: Vec<Key> = (1..100).map(|number| slots.insert(number, None)).collect();
        for (number, key) in (1..100).zip(&keys).filter(|(number, _)| number % 10 > 0) {
            assert!(number % 2 == 0 || slots.detach(*key).1 == Some(number));
            assert!(number % 2 == 1 || slots.recall(*key, Ok(0), &mut Vec::new()));
        }
        assert_eq!(slots.open(), 10);
        assert!(slots.queue.len() <= 18, "{}", slots.queue.len());
        // A vacant slot is used again: the key of its former operation starts nothing.
        let last = slots.insert(100, None);
        slots.complete(first, Ok(0));
        for key in (10..100).step_by(10).map(|number| keys[number - 1]).chain([last]) {
            assert_eq!(slots.start(), Some(key));
            slots.complete(key, Ok(0));
        }
        assert_eq!((slots.start(), slots.open()), (None, 0));
    }

    #[test]
    fn a_detached_operation_owns_its_buffer_until_it_completes() {
        let mut slots = Slots::new(1);
        let key = slots.insert("buffer", None);
        slots.start();
        assert_eq!(slots.detach(key).1, None);
        assert!(matches!(slots.complete(key, Ok(0)), (None, Some("buffer"))));
        // A second completion, or a key of an earlier generation, has no effect.
        let next = slots.insert("next", None);
        assert_ne!(key, next);
        assert!(matches!(slots.complete(key, Ok(0)), (None, None)));
        assert_eq!(slots.flight(key), None);
    }
}

#[cfg(all(test, fullbore_loom))]
mod interleavings {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    fn flying() -> (Arc<Mutex<Slots<()>>>, Key) {
        let mut slots = Slots::new(1);
        let key = slots.insert((), None);
        slots.start();
        (Arc::new(Mutex::new(slots)), key)
    }

    /// The kernel completes while the future is dropped: exactly one of them returns the buffer.
    #[test]
    fn dropped_and_completed_at_once() {
        loom::model(|| {
            let (slots, key) = flying();
            let kernel = {
                let slots = slots.clone();
                thread::spawn(move || slots.lock().unwrap().complete(key, Ok(1)).1.is_some())
            };
            let by_future = slots.lock().unwrap().detach(key).1.is_some();
            let by_kernel = kernel.join().unwrap();
            assert!(by_future ^ by_kernel);
            assert_eq!(slots.lock().unwrap().open(), 0);
        });
    }

    /// A future that polls an operation in flight stores its waker, and the completion returns it.
    #[test]
    fn no_wakeup_is_lost() {
        loom::model(|| {
            let (slots, key) = flying();
            let kernel = {
                let slots = slots.clone();
                thread::spawn(move || slots.lock().unwrap().complete(key, Ok(1)).0.is_some())
            };
            let ready = {
                let mut slots = slots.lock().unwrap();
                let ready = slots.poll(key).unwrap().is_ready();
                assert!(slots.store(key, Waker::noop(), &mut Some(Waker::noop().clone())));
                ready
            };
            assert!(kernel.join().unwrap() ^ ready);
        });
    }

    /// A waiting operation is withdrawn while the one before it completes and starts the next.
    #[test]
    fn withdrawn_and_started_at_once() {
        loom::model(|| {
            let slots = Arc::new(Mutex::new(Slots::new(1)));
            let first = slots.lock().unwrap().insert(1, None);
            slots.lock().unwrap().start();
            let second = slots.lock().unwrap().insert(2, None);
            let kernel = {
                let slots = slots.clone();
                thread::spawn(move || {
                    let mut slots = slots.lock().unwrap();
                    slots.complete(first, Ok(1));
                    slots.start().is_some()
                })
            };
            let interrupted = Err(io::ErrorKind::Interrupted.into());
            let never_ran = slots.lock().unwrap().recall(second, interrupted, &mut Vec::new());
            assert!(kernel.join().unwrap() ^ never_ran);
            assert_eq!(slots.lock().unwrap().open(), usize::from(!never_ran));
        });
    }
}
