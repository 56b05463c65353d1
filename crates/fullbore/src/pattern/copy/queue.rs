//! A queue of tasks that create more tasks: idle workers take them, and the work ends when all workers are idle.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pending tasks, and the workers that wait for one.
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
    /// A queue for a number of workers, each of which calls [`next`](Self::next) until it returns `None`.
    pub(super) fn new(workers: usize) -> Self {
        let state = QueueState { tasks: VecDeque::new(), workers, over: false };
        Self { state: Mutex::new(state), more: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, task: T) {
        let mut state = self.state();
        state.tasks.push_back(task);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.more.notify_one();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state().tasks.len()
    }

    /// True if a worker is idle.
    pub(super) fn hungry(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// The newest task, so that trees are copied branch by branch with few open directories; `None`: all work is done.
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

    /// Removes a worker whose thread could not start.
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
    fn every_task_is_done_once_and_all_workers_end() {
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
