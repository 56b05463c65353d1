//! The threads of a driver: those that make blocking calls, and the one that waits for pipes, sockets and terminals.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::dispatch::{Dispatch, Locked};
use super::slots::{IoResult, Key};
use super::state::{Core, How, Operation};
use crate::buf::{Direction, Loan};
use crate::error::reason;
use crate::file::File;
use crate::sys::{self, AsHandle, Code, TransferFlags, Wake};

impl Dispatch {
    /// Ensures that a thread takes the ready operations.
    pub(super) fn hire(self: &Arc<Self>, core: &mut Core) {
        if core.idle >= core.ready.len() {
            self.work.notify_one();
            return;
        }
        if core.workers < self.threads + core.waiting {
            let this = self.clone();
            let thread = std::thread::Builder::new().name("fullbore-io".into());
            match thread.spawn(move || this.work()) {
                Ok(_) => core.workers += 1,
                // The others, if any, wait for other processes, or for one of these operations: fail instead of waiting.
                Err(error) if core.workers <= core.waiting => {
                    while let Some(key) = core.ready.pop_front() {
                        core.finish(key, Err(not_started(&error)));
                    }
                }
                Err(_) => {}
            }
        }
        self.work.notify_one();
    }

    /// Permits one more thread and `slots` more operations in flight until the result is dropped: the call of this thread may
    /// wait for another process.
    pub(super) fn wait_beside(self: &Arc<Self>, slots: usize) -> WaitingBeside {
        let mut core = self.lock();
        core.waiting += 1;
        core.slots.limit += slots;
        if !core.ready.is_empty() {
            self.hire(&mut core);
        }
        self.start(&mut core);
        self.hand_over(&mut core);
        self.unlock(core);
        WaitingBeside { dispatch: self.clone(), slots }
    }

    /// Notes the result of an operation on a thread, and starts waiting ones.
    fn ended(self: &Arc<Self>, mut core: Locked<'_>, key: Key, outcome: IoResult) {
        core.finish(key, outcome);
        self.start(&mut core);
        self.hand_over(&mut core);
        self.unlock(core);
    }

    fn work(self: Arc<Self>) {
        let mut core = self.lock();
        loop {
            // A call that waited for another process has ended. The wake-up may have been for an operation.
            if core.workers > self.threads + core.waiting {
                core.workers -= 1;
                self.work.notify_one();
                return;
            }
            let Some((key, written)) = core.take() else {
                if core.closing {
                    core.workers -= 1;
                    return;
                }
                core.idle += 1;
                core = self.work.wait(core);
                core.idle -= 1;
                continue;
            };
            match core.slots.flight(key) {
                Some(Operation::Blocking(task)) => {
                    let task = task.take();
                    drop(core);
                    let outcome = contained(|| task.map_or(Ok(0), |task| task()));
                    self.ended(self.lock(), key, outcome.and_then(|outcome| outcome));
                }
                Some(Operation::Transfer(movement)) => {
                    let Some((file, mut loan)) = movement.owned.take() else { continue };
                    let (how, offset, flags) = (movement.how, movement.offset, movement.flags);
                    drop(core);
                    let outcome = contained(|| match (how, offset) {
                        (How::CacheMode, _) => {
                            interrupted(|| Some(by_cache_mode(&file, &mut loan, offset.unwrap_or(0))))
                        }
                        (_, None) => interrupted(|| self.without_waiting(&file, &mut loan, flags)),
                        _ => interrupted(|| {
                            Some(sys::transfer_loan(&mut loan, file.as_handle(), offset, flags))
                        }),
                    })
                    .unwrap_or_else(|panicked| Some(Err(panicked)));
                    core = self.lock();
                    core.give_back(key, file, loan);
                    let Some(outcome) = outcome else {
                        self.park(&mut core, key);
                        self.start(&mut core);
                        self.hand_over(&mut core);
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

/// The error of operations for which no thread could be started.
fn not_started(error: &io::Error) -> io::Error {
    io::Error::other(format!("cannot start a thread: {}", reason(error)))
}

/// Makes a call, a panic of which must neither end the thread nor leave a future that waits forever.
fn contained<T>(call: impl FnOnce() -> T) -> io::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
        .map_err(|_| io::Error::other("the call panicked"))
}

/// A thread that does not count among the driver's, and the slots of an operation that does not count towards its limit.
pub(super) struct WaitingBeside {
    dispatch: Arc<Dispatch>,
    slots: usize,
}

impl Drop for WaitingBeside {
    fn drop(&mut self) {
        let mut core = self.dispatch.lock();
        core.waiting -= 1;
        core.slots.limit -= self.slots;
        self.dispatch.unlock(core);
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

impl Dispatch {
    /// Makes a transfer that does not wait; `None` if it would. Where the system only reports that a file is ready, the transfer may
    /// still wait, on a thread of its own: for room for all bytes, or since another reader takes those that are there.
    fn without_waiting(
        self: &Arc<Self>,
        file: &File,
        loan: &mut Loan,
        flags: TransferFlags,
    ) -> Option<IoResult> {
        let outcome = match sys::transfer_loan(loan, file.as_handle(), None, flags | TransferFlags::NO_WAIT) {
            // A terminal, a named pipe, or any pipe before Linux 6.4.
            Err(error) if Code::of(&error) == Some(Code::UNSUPPORTED) => {
                match sys::wait_any(&[(file.as_handle(), loan.direction())], Some(Duration::ZERO)) {
                    Ok(ready) if ready == [false] => return None,
                    Err(Code::INTERRUPTED) => return None,
                    _ => {
                        let _beside = self.wait_beside(0);
                        sys::transfer_loan(loan, file.as_handle(), None, flags)
                    }
                }
            }
            outcome => outcome,
        };
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            outcome => Some(outcome),
        }
    }

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
        let thread = std::thread::Builder::new().name("fullbore-poll".into());
        thread.spawn(move || this.watch_files()).map_err(|error| not_started(&error))?;
        core.watches = true;
        Ok(())
    }

    /// Makes the thread that waits for files check the parked operations again.
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
            // A thread that polls would go on without an operation to wait for; the next one starts another.
            if core.parked.is_empty() && (core.closing || sys::WAITS_BY_POLLING) {
                core.watches = false;
                return;
            }
            let Core { parked, slots, .. } = &mut *core;
            waiting.extend(parked.iter().filter_map(|key| match slots.flight(*key) {
                Some(Operation::Transfer(movement)) => {
                    let (file, _) = movement.owned.as_ref()?;
                    Some((*key, file.clone(), movement.direction))
                }
                _ => None,
            }));
            drop(core);
            let ready = ready(wake, &waiting);
            // The clones keep descriptors open: they go before the operations continue.
            let keys: Vec<Key> = waiting.drain(..).map(|(key, ..)| key).collect();
            let mut core = self.lock();
            for (at, key) in keys.into_iter().enumerate() {
                match &ready {
                    Ok(ready) if !ready.get(at).is_some_and(|ready| *ready) => {}
                    _ if !core.unpark(key) => {}
                    Ok(_) => {
                        core.ready.push_back(key);
                        self.hire(&mut core);
                    }
                    // Waiting would only fail again.
                    Err(error) => core.finish(key, Err((*error).into())),
                }
            }
            self.start(&mut core);
            self.hand_over(&mut core);
            self.unlock(core);
        }
    }
}

/// Waits until a file is ready, or for `wake`, and returns which are; nothing after a signal.
fn ready(wake: &Wake, waiting: &[(Key, File, Direction)]) -> sys::Result<Vec<bool>> {
    let files: Vec<_> = waiting
        .iter()
        .map(|(_, file, direction)| (file.as_handle(), *direction))
        .chain([(wake.file(), Direction::Read)])
        .collect();
    match sys::wait_any(&files, None) {
        Err(Code::INTERRUPTED) => Ok(Vec::new()),
        ready => {
            wake.clear();
            ready
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use fullbore_testkit::assert_eventually;

    use crate::asynchronous::{AsyncFile, Backend, Driver, DriverConfig};

    use super::*;

    #[test]
    fn a_thread_that_polls_ends_when_no_operation_waits() {
        let config = DriverConfig { backend: Backend::Threads, ..DriverConfig::default() };
        let driver = Driver::new(config).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let file = AsyncFile::new(File::from_fd(reader.into(), "pipe").unwrap(), &driver);
        let watches = || driver.dispatch().lock().watches;
        // The second time by a new thread.
        for _ in 0..2 {
            let mut read = pin!(file.read_at(vec![0; 1], 0));
            let mut context = Context::from_waker(Waker::noop());
            assert!(read.as_mut().poll(&mut context).is_pending());
            assert_eventually("nothing is parked", false, || driver.dispatch().lock().parked.is_empty());
            assert!(watches());
            writer.write_all(b"x").unwrap();
            assert_eventually("ready", true, || read.as_mut().poll(&mut context).is_ready());
            assert_eventually("watches", !sys::WAITS_BY_POLLING, watches);
        }
    }
}
