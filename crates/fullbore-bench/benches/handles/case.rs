//! A case: one operation on a file by several contenders, and the bounds between them.

use std::time::Duration;

use super::files::BenchFiles;
use super::harness::Attempt;

/// A contender, ready to run: a number of operations, with the buffer shared by all contenders of the case.
pub(crate) type Contender = Box<dyn FnMut(u64, &mut [u8]) -> Attempt<()>>;

/// A contender that repeats `once`. The loop is compiled around it.
fn each(mut once: impl FnMut(&mut [u8]) -> Attempt<()> + 'static) -> Attempt<Contender> {
    Ok(Box::new(move |count, buffer| {
        for _ in 0..count {
            once(buffer)?;
        }
        Ok(())
    }))
}

pub(crate) fn exactly<T: PartialEq + std::fmt::Display>(found: T, wanted: T) -> Attempt<()> {
    if found == wanted { Ok(()) } else { Err(format!("{found} where {wanted} was expected").into()) }
}

pub(crate) fn closed<T>(file: T) -> Attempt<()> {
    drop(file);
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Demand {
    /// The first takes at most this many times the time of the second.
    AtMost(&'static str, &'static str, f64),
    /// The first is at least this many times as fast as the second.
    Faster(&'static str, &'static str, f64),
    /// Its operations allocate nothing after the first.
    AllocatesNothing(&'static str),
    /// Its operations make at most this many system calls.
    Calls(&'static str, f64),
}

/// A contender's label, and the function that sets it up.
type Setup = (&'static str, Box<dyn Fn(&BenchFiles) -> Attempt<Contender>>);

/// Length of a turn, unless one operation takes longer or the case sets another: long compared with reading the clock, and
/// shorter than the scheduler's slices on a busy system, so that most turns have the processor to themselves.
const TURN: Duration = Duration::from_millis(1);

pub(crate) struct Case {
    /// Name for `--only`.
    pub(crate) name: String,
    pub(crate) operation: String,
    /// Bytes that one operation moves; 0 if none.
    pub(crate) bytes: u64,
    pub(crate) buffer: usize,
    pub(crate) turn: Duration,
    /// True if the target is empty at the start of a turn.
    pub(crate) from_empty: bool,
    pub(crate) makers: Vec<Setup>,
    pub(crate) demands: Vec<Demand>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, operation: impl Into<String>) -> Self {
        let (name, operation) = (name.into(), operation.into());
        let (makers, demands) = (Vec::new(), Vec::new());
        Self { name, operation, bytes: 0, buffer: 0, turn: TURN, from_empty: false, makers, demands }
    }

    /// Sets the bytes that one operation moves and the size of the shared buffer.
    pub(crate) fn moving(mut self, bytes: u64, buffer: usize) -> Self {
        (self.bytes, self.buffer) = (bytes, buffer);
        self
    }

    pub(crate) fn with(
        mut self,
        label: &'static str,
        make: impl Fn(&BenchFiles) -> Attempt<Contender> + 'static,
    ) -> Self {
        self.makers.push((label, Box::new(make)));
        self
    }

    /// Adds a contender that repeats `once` on a state.
    pub(crate) fn each<T: 'static>(
        self,
        label: &'static str,
        state: impl Fn(&BenchFiles) -> Attempt<T> + 'static,
        once: impl Fn(&mut T, &mut [u8]) -> Attempt<()> + Copy + 'static,
    ) -> Self {
        self.with(label, move |files| {
            let mut state = state(files)?;
            each(move |buffer| once(&mut state, buffer))
        })
    }

    pub(crate) fn demand(mut self, demand: Demand) -> Self {
        self.demands.push(demand);
        self
    }

    /// Adds the bound that `ours` is never slower than std by more than 5%.
    pub(crate) fn like_std(self, ours: &'static str) -> Self {
        self.demand(Demand::AtMost(ours, "std", 1.05))
    }

    /// Adds the bounds that `ours` equals std within 5% and the raw system call within 3%, and allocates nothing.
    pub(crate) fn like_call(self, ours: &'static str) -> Self {
        let raw = Demand::AtMost(ours, "raw", 1.03);
        self.like_std(ours).demand(raw).demand(Demand::AllocatesNothing(ours))
    }

    /// Adds the bounds of [`like_call`](Self::like_call), and that of one system call.
    pub(crate) fn one_call(self, ours: &'static str) -> Self {
        self.like_call(ours).demand(Demand::Calls(ours, 1.0))
    }
}
