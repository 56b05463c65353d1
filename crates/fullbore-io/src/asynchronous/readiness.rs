//! Transfers of pipes, sockets and terminals without a ring: they wait for the file, all on one thread, and are made once it can
//! be read or written.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::dispatch::Dispatch;
use super::slots::{IoResult, Key};
use super::state::{Core, Operation};
use crate::buf::{Direction, Loan};
use crate::file::File;
use crate::sys::{self, AsHandle, Code, Interest, TransferFlags, Wake};

/// Makes a transfer that does not wait; `None` if it would.
pub(super) fn without_waiting(file: &File, loan: &mut Loan, flags: TransferFlags) -> Option<IoResult> {
    let outcome = match sys::transfer_loan(loan, file.as_handle(), None, flags | TransferFlags::NO_WAIT) {
        // A terminal, or a pipe before Linux 6.4. Another reader may still take the bytes first.
        Err(error) if Code::of(&error) == Some(Code::UNSUPPORTED) => {
            match sys::wait_ready([file.as_handle()], interest(loan.direction()), Some(Duration::ZERO)) {
                Ok([false]) => return None,
                _ => sys::transfer_loan(loan, file.as_handle(), None, flags),
            }
        }
        outcome => outcome,
    };
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        outcome => Some(outcome),
    }
}

fn interest(direction: Direction) -> Interest {
    if direction == Direction::Read { Interest::Read } else { Interest::Write }
}

impl Dispatch {
    /// Lets an operation wait for its file.
    pub(super) fn park(self: &Arc<Self>, core: &mut Core, key: Key) {
        match core.slots.flight(key) {
            Some(Operation::Transfer(movement)) if movement.cancelled => {
                return core.finish(key, Err(Code::CANCELLED.into()));
            }
            _ => core.parked.push(key),
        }
        if let Err(error) = self.ensure_watch(core) {
            core.parked.retain(|parked| *parked != key);
            core.finish(key, Err(error));
        }
        self.wake_watch();
    }

    fn ensure_watch(self: &Arc<Self>, core: &mut Core) -> io::Result<()> {
        if core.watches {
            return Ok(());
        }
        if self.wake.get().is_none() {
            // Only set under the lock.
            let _ = self.wake.set(Wake::new()?);
        }
        let this = self.clone();
        std::thread::Builder::new().name("fullbore-poll".into()).spawn(move || this.watch_files())?;
        core.watches = true;
        Ok(())
    }

    /// Makes the thread that waits for files look at the parked operations again.
    pub(super) fn wake_watch(&self) {
        if let Some(wake) = self.wake.get() {
            wake.wake();
        }
    }

    fn watch_files(self: Arc<Self>) {
        let Some(wake) = self.wake.get() else { return };
        let mut waiting = Vec::new();
        loop {
            let mut core = self.lock();
            if core.closing && core.parked.is_empty() {
                core.watches = false;
                return;
            }
            let Core { parked, slots, .. } = &mut *core;
            waiting.extend(parked.iter().filter_map(|key| match slots.flight(*key) {
                Some(Operation::Transfer(movement)) => {
                    let (file, _) = movement.owned.as_ref()?;
                    Some((*key, file.clone(), interest(movement.direction)))
                }
                _ => None,
            }));
            drop(core);
            let ready = ready(wake, &waiting);
            // The clones keep descriptors open: they go before the operations continue.
            waiting.clear();
            let mut core = self.lock();
            for key in ready {
                if core.unpark(key) {
                    core.ready.push_back(key);
                    self.hire(&mut core);
                }
            }
            self.unlock(core);
        }
    }
}

/// Waits until a file is ready, or for `wake`, and returns the operations whose files are.
fn ready(wake: &Wake, waiting: &[(Key, File, Interest)]) -> Vec<Key> {
    let files: Vec<_> = std::iter::once((wake.file(), Interest::Read))
        .chain(waiting.iter().map(|(_, file, interest)| (file.as_handle(), *interest)))
        .collect();
    // Interrupted, or out of memory.
    let Ok(ready) = sys::wait_any(&files) else { return Vec::new() };
    wake.clear();
    waiting.iter().zip(&ready[1..]).filter(|(_, is_ready)| **is_ready).map(|((key, ..), _)| *key).collect()
}
