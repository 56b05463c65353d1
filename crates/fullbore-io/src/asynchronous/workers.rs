//! The threads that make blocking calls.

use std::io;
use std::sync::{Arc, PoisonError};

use super::dispatch::{Dispatch, Locked};
use super::readiness::without_waiting;
use super::slots::{IoResult, Key};
use super::state::{Core, How, Operation};
use crate::buf::Loan;
use crate::file::File;
use crate::sys::{self, AsHandle};

impl Dispatch {
    /// Ensures that a thread takes the ready operations.
    pub(super) fn hire(self: &Arc<Self>, core: &mut Core) {
        if core.idle >= core.ready.len() {
            self.work.notify_one();
            return;
        }
        if core.workers < self.threads {
            let this = self.clone();
            let thread = std::thread::Builder::new().name("fullbore-io".into());
            if thread.spawn(move || this.work()).is_ok() {
                core.workers += 1;
            } else if core.workers == 0 {
                // No thread will ever take them: fail instead of waiting.
                while let Some(key) = core.ready.pop_front() {
                    core.finish(key, Err(io::ErrorKind::OutOfMemory.into()));
                }
            }
        }
        self.work.notify_one();
    }

    /// Notes the result of an operation on a thread, and starts waiting ones.
    fn ended(self: &Arc<Self>, mut core: Locked<'_>, key: Key, outcome: IoResult) {
        core.finish(key, outcome);
        self.start(&mut core);
        core.hand_over();
        self.unlock(core);
    }

    fn work(self: Arc<Self>) {
        let mut core = self.lock();
        loop {
            let Some((key, written)) = core.take() else {
                if core.closing {
                    core.workers -= 1;
                    return;
                }
                core.idle += 1;
                core = self.work.wait(core).unwrap_or_else(PoisonError::into_inner);
                core.idle -= 1;
                continue;
            };
            match core.slots.flight(key) {
                Some(Operation::Blocking(task)) => {
                    let task = task.take();
                    drop(core);
                    // A panic must neither end the thread nor leave a future that waits forever.
                    let run = std::panic::AssertUnwindSafe(|| task.map_or(Ok(0), |task| task()));
                    let outcome = std::panic::catch_unwind(run)
                        .unwrap_or_else(|_| Err(io::Error::other("the call panicked")));
                    self.ended(self.lock(), key, outcome);
                }
                Some(Operation::Transfer(movement)) => {
                    let Some((file, mut loan)) = movement.owned.take() else { continue };
                    let (how, offset, flags) = (movement.how, movement.offset, movement.flags);
                    drop(core);
                    let outcome = match (how, offset) {
                        (How::CacheMode, _) => {
                            interrupted(|| Some(by_cache_mode(&file, &mut loan, offset.unwrap_or(0))))
                        }
                        (_, None) => interrupted(|| without_waiting(&file, &mut loan, flags)),
                        _ => interrupted(|| {
                            Some(sys::transfer_loan(&mut loan, file.as_handle(), offset, flags))
                        }),
                    };
                    core = self.lock();
                    core.give_back(key, file, loan);
                    let Some(outcome) = outcome else {
                        self.park(&mut core, key);
                        self.unlock(core);
                        core = self.lock();
                        continue;
                    };
                    if let Some(written) = written {
                        core.writing.retain(|file| *file != written);
                    }
                    self.ended(core, key, outcome);
                }
                None => continue,
            }
            core = self.lock();
            // This thread takes the next operation; another one may have waited for the same file.
            if written.is_some() && core.idle > 0 && core.ready.len() > 1 && core.can_take() {
                self.work.notify_one();
            }
        }
    }
}

/// Executes a transfer according to the file's cache policy.
fn by_cache_mode(file: &File, loan: &mut Loan, offset: u64) -> IoResult {
    loan.move_by(
        |data, done| Ok(file.read_at(data, offset + done as u64)?),
        |data, done| Ok(file.write_at(data, offset + done as u64)?),
    )
}

fn interrupted(mut call: impl FnMut() -> Option<IoResult>) -> Option<IoResult> {
    loop {
        match call() {
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
