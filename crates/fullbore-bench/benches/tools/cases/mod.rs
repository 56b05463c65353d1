//! The cases: the bounds of each tool, one file per tool, and those of all.

mod cmp;
mod cold;
mod copy;
mod dedupe;
mod grep;
mod memory;
mod sum;
mod wc;

use super::harness::commands::Case;

/// All cases in their order.
pub(crate) fn all() -> Vec<Case> {
    [wc::CASES, grep::CASES, cmp::CASES, copy::CASES, sum::CASES, dedupe::CASES, cold::CASES, memory::CASES]
        .concat()
}
