//! Faults and the results that they require.

use fullbore_io::buf::{ALIGNMENT, Direction};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::fault::{Counts, Fault, Plan};
use fullbore_testkit::numbers;

/// Bytes per request.
pub(crate) const REQUEST: usize = 3 * ALIGNMENT;
/// Length of the files: many requests, not a multiple of the block.
pub(crate) const LENGTH: usize = 40 * REQUEST + 777;
/// Offset of the faults: inside a block and a request in the middle of the file.
pub(crate) const PLACE: u64 = (17 * REQUEST + 100) as u64;

/// The required result of a fault.
pub(crate) enum Expected {
    /// All bytes are right.
    Right,
    /// `NoSpace`.
    NoSpace,
    /// The device's error.
    Failed,
    /// `Changed`: the file was truncated.
    Changed,
}

/// A fault, its required result, and the evidence that it occurred.
pub(crate) type Case = (Fault, Expected, fn(&Counts) -> bool);

/// The faults of reads or of writes.
pub(crate) fn faults_of(direction: Direction) -> Vec<Case> {
    let mut cases: Vec<Case> = vec![
        (Fault::Short { one_in: 3 }, Expected::Right, |counts| counts.short > 0),
        (Fault::Interrupted { one_in: 3 }, Expected::Right, |counts| counts.interrupted > 0),
        (Fault::WouldBlock { one_in: 3 }, Expected::Right, |counts| counts.would_block > 0),
        (Fault::IoErrorAt { offset: PLACE }, Expected::Failed, |counts| counts.io_errors == 1),
        (Fault::IoErrorOn { call: 11 }, Expected::Failed, |counts| counts.io_errors == 1),
        // Not counted: `a_limit_of_buffers_ends_a_batch_sooner` shows that it occurs.
        (Fault::Buffers { most: 2 }, Expected::Right, |_| true),
    ];
    cases.push(match direction {
        Direction::Read => {
            (Fault::Truncated { call: 9, len: PLACE }, Expected::Changed, |counts| counts.truncated == 1)
        }
        Direction::Write => (Fault::NoSpace { at: PLACE }, Expected::NoSpace, |counts| counts.no_space > 0),
    });
    cases
}

pub(crate) fn is_io_error(error: &Error) -> bool {
    error.raw_os_error() == Some(numbers::IO)
}

impl Expected {
    /// Asserts that the fault occurred and `result` is the required one; `Ok` holds true if all bytes are right.
    pub(crate) fn judge(&self, name: &str, plan: &Plan, struck: fn(&Counts) -> bool, result: Result<bool>) {
        let counts = plan.counts();
        assert!(struck(&counts), "{name}: the fault did not occur: {counts:?}");
        match (self, &result) {
            (Self::Right, Ok(true)) => {}
            (Self::NoSpace, Err(error)) if error.kind() == ErrorKind::NoSpace => {}
            (Self::Failed, Err(error)) if error.kind() == ErrorKind::Io && is_io_error(error) => {}
            (Self::Changed, Err(error)) if error.kind() == ErrorKind::Changed => {}
            (_, Ok(whole)) => panic!("{name}: no error; bytes right: {whole}"),
            (_, Err(error)) => panic!("{name}: {error} ({:?})", error.kind()),
        }
    }
}
