//! A case: one thing done to a file by several contenders, and what must hold between them.

use std::time::Duration;

use super::files::BenchFiles;
use super::judging::Attempt;

/// What a contender does: that many operations, with the buffer that all contenders of the case share.
pub(crate) type Operation = Box<dyn FnMut(u64, &mut [u8]) -> Attempt<()>>;

/// One that takes part, ready.
pub(crate) struct Contender {
    /// Its operations.
    pub(crate) work: Operation,
    /// Makes the state that a turn must find; not measured.
    pub(crate) prepare: Box<dyn FnMut() -> Attempt<()>>,
}

/// A contender of operations that need no preparation.
pub(crate) fn work(work: impl FnMut(u64, &mut [u8]) -> Attempt<()> + 'static) -> Attempt<Contender> {
    Ok(Contender { work: Box::new(work), prepare: Box::new(|| Ok(())) })
}

/// A contender whose operation is `once`, again and again. The loop is compiled around it.
pub(crate) fn each(mut once: impl FnMut(&mut [u8]) -> Attempt<()> + 'static) -> Attempt<Contender> {
    work(move |count, buffer| {
        for _ in 0..count {
            once(buffer)?;
        }
        Ok(())
    })
}

/// Trouble, unless what was found is what was wanted.
pub(crate) fn exactly<T: PartialEq + std::fmt::Display>(found: T, wanted: T) -> Attempt<()> {
    if found == wanted { Ok(()) } else { Err(format!("{found} where {wanted} was expected").into()) }
}

/// Closes it.
pub(crate) fn closed<T>(file: T) -> Attempt<()> {
    drop(file);
    Ok(())
}

/// What must hold between contenders, by their labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Demand {
    /// The first takes at most so many times the time of the second.
    AtMost(&'static str, &'static str, f64),
    /// The first is at least so many times as fast as the second.
    Faster(&'static str, &'static str, f64),
    /// Its operations allocate nothing after the first.
    AllocatesNothing(&'static str),
    /// Its operations call the system at most so often.
    Calls(&'static str, f64),
}

/// Who takes part, and how it is made ready.
type Setup = (&'static str, Box<dyn Fn(&BenchFiles) -> Attempt<Contender>>);

/// How long a turn lasts, unless one operation lasts longer or the case says more: long beside the clock's own cost, and
/// shorter than the slices in which a system gives a processor to those who want it, so that most turns have it for
/// themselves.
const TURN: Duration = Duration::from_millis(1);

/// One thing done to a file.
pub(crate) struct Case {
    /// What `--only` looks for.
    pub(crate) name: String,
    /// What one operation is.
    pub(crate) operation: String,
    /// The bytes that one operation moves; 0 where it moves none.
    pub(crate) bytes: u64,
    /// The size of the buffer that the contenders share.
    pub(crate) buffer: usize,
    /// How long a turn lasts.
    pub(crate) turn: Duration,
    /// Who takes part.
    pub(crate) makers: Vec<Setup>,
    /// What must hold.
    pub(crate) demands: Vec<Demand>,
}

impl Case {
    /// A case without contenders yet.
    pub(crate) fn new(name: impl Into<String>, operation: impl Into<String>) -> Self {
        let (name, operation) = (name.into(), operation.into());
        Self { name, operation, bytes: 0, buffer: 0, turn: TURN, makers: Vec::new(), demands: Vec::new() }
    }

    /// With the bytes that one operation moves and the size of the buffer that the contenders share.
    pub(crate) fn moving(mut self, bytes: u64, buffer: usize) -> Self {
        (self.bytes, self.buffer) = (bytes, buffer);
        self
    }

    /// With longer turns, where it takes a while to get going.
    pub(crate) fn turns_of(mut self, turn: Duration) -> Self {
        self.turn = turn;
        self
    }

    /// With one more contender.
    pub(crate) fn with(
        mut self,
        label: &'static str,
        make: impl Fn(&BenchFiles) -> Attempt<Contender> + 'static,
    ) -> Self {
        self.makers.push((label, Box::new(make)));
        self
    }

    /// With one more demand.
    pub(crate) fn demand(mut self, demand: Demand) -> Self {
        self.demands.push(demand);
        self
    }

    /// With the demand that `ours` is never slower than std by more than 5%.
    pub(crate) fn like_std(self, ours: &'static str) -> Self {
        self.demand(Demand::AtMost(ours, "std", 1.05))
    }

    /// With the demand that `ours` equals the raw system call within 3%.
    pub(crate) fn like_raw(self, ours: &'static str) -> Self {
        self.demand(Demand::AtMost(ours, "raw", 1.03))
    }
}
