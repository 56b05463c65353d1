//! The cases: the bounds of each tool, one file per tool, and those of all.

mod cmp;
mod cold;
mod copy;
mod dedupe;
mod grep;
mod memory;
mod sum;
mod wc;

use super::{Attempt, Bench};

/// The subcommands under test.
pub(crate) const TOOLS: &[&str] = &["wc", "grep", "cmp", "copy", "sum", "dedupe"];

/// A case.
pub(crate) struct Case {
    /// Name for `--only`.
    pub(crate) name: &'static str,
    /// Title.
    pub(crate) title: &'static str,
    /// Runs the case.
    pub(crate) run: fn(&mut Bench) -> Attempt<()>,
}

/// All cases in their order.
pub(crate) fn all() -> Vec<Case> {
    let groups = [
        wc::CASES,
        grep::CASES,
        cmp::CASES,
        copy::CASES,
        sum::CASES,
        dedupe::CASES,
        cold::CASES,
        memory::CASES,
    ];
    let one = |(name, title, run): &(&'static str, &'static str, _)| Case { name, title, run: *run };
    groups.iter().flat_map(|group| group.iter().map(one)).collect()
}

/// A row of such a file.
type Row = (&'static str, &'static str, fn(&mut Bench) -> Attempt<()>);
