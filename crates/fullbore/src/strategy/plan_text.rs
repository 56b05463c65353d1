//! A plan as `--explain` prints it.

use std::fmt;

use super::contender::{Contender, Contenders, name};
use super::plan::Plan;
use super::plan_input::ADAPTIVE;

/// The names of contenders.
fn names(list: &[Contender]) -> String {
    list.iter().map(|contender| name(&contender.strategy)).collect::<Vec<_>>().join(" · ")
}

impl Plan {
    /// True if cached and other parts have strategies, or contenders, of their own: then no part has [the plan's](Self::strategy).
    #[doc(hidden)]
    pub fn is_by_parts(&self) -> bool {
        let Contenders { cached, uncached } = &self.contenders;
        !cached.is_empty() && !uncached.is_empty()
    }

    /// The strategies of the cached and of the other parts: several if the run is expected to try them. Parts that together are
    /// shorter than [`ADAPTIVE`] have no trial.
    #[doc(hidden)]
    pub fn of_parts(&self) -> [&[Contender]; 2] {
        let Contenders { cached, uncached } = &self.contenders;
        let len = self.plan_input.len.unwrap_or(0) as f64;
        let share = self.plan_input.cached.unwrap_or_default();
        [(cached, share), (uncached, 1.0 - share)].map(|(list, share)| match &list[..] {
            [one, _, ..] if share * len < ADAPTIVE as f64 => std::slice::from_ref(one),
            list => list,
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_by_parts() {
            writeln!(f, "strategy: {}", self.strategy)?;
        }
        if let Some(spec_text) = &self.spec_text {
            writeln!(f, "specified: {spec_text}")?;
            writeln!(f, "auto would choose: {}", self.decision.strategy)?;
        }
        if self.is_by_parts() {
            for (parts, list) in ["cached", "other"].into_iter().zip(self.of_parts()) {
                match list {
                    [one] => writeln!(f, "{parts} parts: {}", one.strategy)?,
                    list => writeln!(f, "{parts} parts: tries {}", names(list))?,
                }
            }
            let share = self.plan_input.cached.unwrap_or_default() * 100.0;
            writeln!(f, "because: {share:.0}% of the input is in the page cache")?;
            return self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"));
        }
        for line in &self.decision.evidence {
            writeln!(f, "because: {line}")?;
        }
        if self.contenders.differ() {
            writeln!(f, "tries: {}", names(self.contenders.of_one_kind()))?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for other in &self.decision.alternatives {
            writeln!(f, "not {}: {}", other.strategy, other.reason)?;
        }
        Ok(())
    }
}
