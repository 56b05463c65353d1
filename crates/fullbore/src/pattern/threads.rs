//! Workers are threads: this one and as many more as are asked for.

use crate::error::{Error, Result};

/// What `one` returns for each of the workers `0..workers`, in their order. `fail` is told of a thread that cannot be had:
/// what it would have done is missing then.
pub(super) fn on_threads<T: Send>(
    workers: usize,
    one: &(impl Fn(usize) -> T + Sync),
    fail: &impl Fn(Error),
) -> Vec<T> {
    if workers <= 1 {
        return vec![one(0)];
    }
    std::thread::scope(|scope| {
        let start = |worker| std::thread::Builder::new().spawn_scoped(scope, move || one(worker));
        let mut threads = Vec::with_capacity(workers - 1);
        for worker in 1..workers {
            match start(worker) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    let error = Error::io("start a thread for", format!("worker {worker}"), error)
                        .advise("ask for fewer with --strategy workers=1");
                    fail(error);
                    break;
                }
            }
        }
        let mine = one(0);
        let others = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(mine).chain(others).collect()
    })
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
