//! A plan as `--explain` prints it.

use std::fmt;

use super::contender::{Contender, Contenders, name};
use super::plan::Plan;

/// The names of contenders.
fn names(list: &[Contender]) -> String {
    list.iter().map(|contender| name(&contender.strategy)).collect::<Vec<_>>().join(" · ")
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contenders { cached, uncached } = &self.contenders;
        if !self.is_by_parts() {
            writeln!(f, "strategy: {}", self.strategy)?;
        }
        if let Some(spec_text) = &self.spec_text {
            writeln!(f, "specified: {spec_text}")?;
            writeln!(f, "auto would choose: {}", self.decision.strategy)?;
        }
        if self.is_by_parts() {
            for (parts, list) in [("cached", cached), ("other", uncached)] {
                match &list[..] {
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
