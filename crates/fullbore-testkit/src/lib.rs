//! Helpers shared by the workspace's test suites.
#![forbid(unsafe_code)]

use std::fmt::{Debug, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

pub mod ground;
pub mod mounts;
pub mod processes;

/// Error numbers of the system that tests expect.
pub mod numbers {
    /// A failed device: `EIO`, `ERROR_IO_DEVICE`.
    pub const IO: i32 = if cfg!(windows) { 1117 } else { 5 };

    /// No space: `ENOSPC`, `ERROR_DISK_FULL`.
    pub const NO_SPACE: i32 = if cfg!(windows) { 112 } else { 28 };

    /// A transfer for which the file was not opened: `EBADF`, `ERROR_ACCESS_DENIED`.
    pub const NOT_OPENED_FOR: i32 = if cfg!(windows) { 5 } else { 9 };
}

/// True if slow tests run too (`FULLBORE_TESTS=all`); otherwise prints that `test` is skipped.
pub fn runs_all(test: &str) -> bool {
    match std::env::var("FULLBORE_TESTS").as_deref() {
        Ok("all") => true,
        Ok("") | Err(std::env::VarError::NotPresent) => {
            println!("skipped: {test}: takes long; FULLBORE_TESTS=all runs it");
            false
        }
        // A typing error must not skip tests silently.
        other => panic!("FULLBORE_TESTS is {other:?}; the only valid value is \"all\""),
    }
}

/// The cases of a long list that `test` checks: all if slow tests run too, else the first and one of every `one_in`, at a place
/// that differs from group to group, so that no column of a table is left out. The same in every run.
pub fn cases<T>(test: &str, one_in: usize, all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let step = if runs_all(&format!("{test}: all cases but one in {one_in}")) { 1 } else { one_in };
    let place = move |group: usize| {
        let mut hasher = DefaultHasher::new();
        (group, one_in).hash(&mut hasher);
        hasher.finish() as usize % step
    };
    all.into_iter()
        .enumerate()
        .filter_map(move |(index, case)| (index == 0 || index % step == place(index / step)).then_some(case))
}

/// Returns what a test needs; `None`, with the reason printed, if it is missing.
pub fn or_skip<T>(what: &str, found: Result<T, impl Display>) -> Option<T> {
    found.inspect_err(|reason| println!("skipped: {what}: {reason}")).ok()
}

/// A time that a test waits at most; a busy machine does not need it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on another thread; fails with `why` if it has not ended after [`PATIENCE`].
#[track_caller]
pub fn in_time<T: Send + 'static>(why: &str, test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    std::thread::spawn(move || done.send(catch_unwind(AssertUnwindSafe(test))));
    ended.recv_timeout(PATIENCE).expect(why).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Waits until `look` returns `wanted`; panics after [`PATIENCE`].
#[track_caller]
pub fn assert_eventually<T: Debug + PartialEq>(what: impl Debug, wanted: T, mut look: impl FnMut() -> T) {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = look();
        if found == wanted {
            return;
        }
        assert!(Instant::now() < end, "{what:?}: {found:?}, not {wanted:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Calls `change` with 0, 1, 2 … on another thread until `work` has ended; returns the result of `work`.
pub fn meanwhile<T>(mut change: impl FnMut(u64) + Send, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| (0u64..).take_while(|_| !over.load(Ordering::Relaxed)).for_each(&mut change));
        let result = catch_unwind(AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn cases_are_of_every_row_and_column() {
        let table = (0..12).flat_map(|row| (0..12).map(move |column| (row, column)));
        let found: Vec<_> = super::cases("rows and columns", 4, table).collect();
        for number in 0..12 {
            assert!(found.iter().any(|(row, _)| *row == number), "{number}: {found:?}");
            assert!(found.iter().any(|(_, column)| *column == number), "{number}: {found:?}");
        }
    }
}

/// Runs the examples of these pages as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/files.md")]
#[doc = include_str!("../../fullbore-io/README.md")]
#[doc = include_str!("../../fullbore/README.md")]
mod pages {}
