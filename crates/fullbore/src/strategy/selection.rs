//! The strategy of a run or the contenders that it tries, and the record of its trials.

use std::fmt;
use std::sync::atomic::AtomicBool;

use fullbore_io::lock::Mutex;
use fullbore_io::size;
use serde::Serialize;

use super::contender::{Contenders, Tried};
use super::fields::Strategy;
use super::figure::Circumstances;
use super::learned::Learned;
use super::spec::StrategySpec;

/// The strategy of a run, or the contenders that it tries.
#[derive(Debug, Clone, Copy)]
pub struct RunStrategy<'a> {
    /// The strategy of a run that is too short to try others.
    pub(crate) first: &'a Strategy,
    /// The contenders and the record of their trials.
    pub(crate) adaptive: Option<Adaptive<'a>>,
    /// The memory that limits a record, in bytes.
    pub(crate) budget: u64,
    /// Set once the result of the run is not needed: the run ends as if it was cancelled.
    pub(crate) unneeded: &'a AtomicBool,
}

/// The flag of runs whose result is always needed.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// The contenders of an adaptive run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adaptive<'a> {
    pub(crate) contenders: &'a Contenders,
    pub(crate) spec: &'a StrategySpec,
    pub(crate) selections: &'a Selections,
    /// Assigns parts to contenders at random, with this seed.
    #[cfg(test)]
    pub(crate) shuffle: Option<u64>,
}

impl<'a> From<&'a Strategy> for RunStrategy<'a> {
    fn from(first: &'a Strategy) -> Self {
        Self { first, adaptive: None, budget: first.budget, unneeded: &NEVER }
    }
}

/// The selections of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Selections {
    list: Mutex<Vec<Selection>>,
    /// The figures that learn from them, and the circumstances.
    learned: Option<(Learned, Circumstances)>,
}

impl Selections {
    pub(super) fn learning(learned: Learned, circumstances: Circumstances) -> Self {
        Self { list: Mutex::default(), learned: Some((learned, circumstances)) }
    }

    /// True if figures learn from them.
    pub(super) fn are_learned(&self) -> bool {
        self.learned.is_some()
    }

    /// Adds a selection; `learn`: its figures hold for other runs.
    pub(crate) fn add(&self, selection: Selection, learn: bool) {
        if let Some((learned, circumstances)) = self.learned.as_ref().filter(|_| learn) {
            let cached = circumstances.cached.map(|_| selection.cached);
            learned.add(&Circumstances { cached, ..circumstances.clone() }, &selection.tried);
        }
        self.list.lock().push(selection);
    }

    pub(crate) fn list(&self) -> Vec<Selection> {
        self.list.lock().clone()
    }
}

/// The contenders tried on one part of a file, and the one that the run continued with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// The bytes of these parts that were read until the choice.
    pub(crate) after: u64,
    /// True for parts in the page cache.
    pub(crate) cached: bool,
    /// The contenders in the order of the trial.
    pub(crate) tried: Vec<Tried>,
    /// The chosen strategy, as `--strategy` takes it.
    pub(crate) chosen: String,
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.cached { "" } else { "not cached: " };
        write!(f, "{state}tried ")?;
        for (index, tried) in self.tried.iter().enumerate() {
            let separator = if index > 0 { " · " } else { "" };
            let (rate, cpu) = (size::rate(tried.rate), tried.cpu * 1e9);
            write!(f, "{separator}{}: {rate}, {cpu:.2} CPU ms/MB", tried.name)?;
        }
        let chosen = self.tried.iter().find(|tried| tried.strategy == self.chosen);
        let chosen = chosen.map_or(self.chosen.as_str(), |tried| tried.name.as_str());
        write!(f, " · continued after {} with {chosen}", size::human(self.after))
    }
}
