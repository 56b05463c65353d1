//! Work that makes more work: who has nothing to do takes some of it, and it is over when all have nothing to do.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is to be done, and who waits for it.
pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    more: Condvar,
    waiting: AtomicUsize,
}

struct QueueState<T> {
    tasks: VecDeque<T>,
    workers: usize,
    over: bool,
}

impl<T> Queue<T> {
    /// For so many workers, each of which calls [`next`](Self::next) until there is nothing.
    pub(super) fn new(workers: usize) -> Self {
        let state = QueueState { tasks: VecDeque::new(), workers, over: false };
        Self { state: Mutex::new(state), more: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task.
    pub(super) fn push(&self, task: T) {
        let mut state = self.state();
        state.tasks.push_back(task);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.more.notify_one();
        }
    }

    /// How many tasks wait.
    pub(super) fn len(&self) -> usize {
        self.state().tasks.len()
    }

    /// Whether somebody has nothing to do.
    pub(super) fn hungry(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The youngest task, so that trees are done branch by branch and few directories are open; `None`: all is done.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(task) = state.tasks.pop_back() {
                return Some(task);
            }
            if state.over {
                return None;
            }
            let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
            if waiting == state.workers {
                state.over = true;
                self.more.notify_all();
                return None;
            }
            state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner);
            if !state.over {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// One worker less will come: its thread could not be had.
    pub(super) fn without_one(&self) {
        let mut state = self.state();
        state.workers -= 1;
        if self.waiting.load(Ordering::Relaxed) >= state.workers {
            state.over = true;
            self.more.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_is_done_once_and_everybody_comes_to_an_end() {
        for workers in 1..6 {
            let queue = Queue::new(workers);
            queue.push(12u32);
            let done = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        while let Some(depth) = queue.next() {
                            done.fetch_add(1, Ordering::Relaxed);
                            for _ in 0..if depth == 0 { 0 } else { 2 } {
                                queue.push(depth - 1);
                            }
                        }
                    });
                }
            });
            assert_eq!(done.into_inner(), (1 << 13) - 1);
        }
    }
}
