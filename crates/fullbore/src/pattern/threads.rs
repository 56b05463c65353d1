//! Workers are threads: this one and as many more as are asked for, or as the system lets start.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The number of workers of a run, known once all threads are started.
#[derive(Debug, Default)]
pub(super) struct Started(OnceLock<usize>);

impl Started {
    /// How many workers there are; waits until that is certain.
    pub(super) fn count(&self) -> usize {
        *self.0.wait()
    }
}

/// Calls `one` for each of the workers `0..workers` and returns the results in their order. Where the system lets fewer
/// threads start, there are fewer workers, with the first numbers. `lost` is called if a worker panics, so that it can
/// release those that wait for its results.
pub(super) fn on_threads<T: Send>(
    workers: usize,
    one: &(impl Fn(usize, &Started) -> T + Sync),
    lost: &(impl Fn() + Sync),
) -> Vec<T> {
    let started = &Started::default();
    let watched = move |worker| {
        let on_panic = OnPanic(lost);
        let result = one(worker, started);
        std::mem::forget(on_panic);
        result
    };
    std::thread::scope(|scope| {
        let start = |worker| std::thread::Builder::new().spawn_scoped(scope, move || watched(worker)).ok();
        let threads: Vec<_> = (1..workers).map_while(start).collect();
        let _ = started.0.set(1 + threads.len());
        let mine = watched(0);
        let others = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(mine).chain(others).collect()
    })
}

/// Calls what it holds when it is dropped.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// The first error that any of several threads met.
#[derive(Debug, Default)]
pub(super) struct FirstError(std::sync::Mutex<Option<Error>>);

impl FirstError {
    /// Keeps `error` if it is the first: it has the reason, later ones follow from it.
    pub(super) fn put(&self, error: Error) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
    }

    /// The error, if there was one.
    pub(super) fn result(self) -> Result<()> {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_has_a_number_and_knows_how_many_there_are() {
        for workers in [0, 1, 2, 5] {
            let results = on_threads(workers, &|worker, started| (worker, started.count()), &|| {});
            let count = workers.max(1);
            assert_eq!(results, (0..count).map(|worker| (worker, count)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_releases_those_that_wait() {
        let lost = (std::sync::Mutex::new(false), std::sync::Condvar::new());
        let waits = |worker: usize, _: &Started| {
            assert_ne!(worker, 1, "on purpose");
            let lock = lost.0.lock().unwrap();
            drop(lost.1.wait_while(lock, |lost| !*lost).unwrap());
        };
        let release = || {
            *lost.0.lock().unwrap() = true;
            lost.1.notify_all();
        };
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| on_threads(3, &waits, &release)));
        assert!(result.is_err());
    }
}
