//! The ten rules of 1997, each a question to the cells.

mod growth;
mod parallel;
mod rule_tally;
mod sizes;

use rule_tally::RuleResult;

use super::input::AdviceInput;
use crate::document::Rule;

/// A rule: what it says, in words of our own, and how it is tested.
type Test = fn(&AdviceInput<'_>) -> RuleResult;

/// In the order of the paper's section 6: its nine bullets, and of its pitfalls in writing the one that is no bullet.
const RULES: [(&str, Test); 10] = [
    (
        "Larger requests are faster: ask for 8 KiB at the least, for 64 KiB if possible.",
        sizes::larger_is_faster,
    ),
    ("Small requests cost the processor far more a byte than large ones.", sizes::small_costs_more_cpu),
    (
        "Where requests must be small, two in flight are not enough: eight bring noticeably more.",
        parallel::eight_deep,
    ),
    (
        "A write cache in the drive helps small writes much; three writes in flight come close to it for larger ones.",
        parallel::write_cache,
    ),
    ("Three disks saturate what they share; more of them on it bring nothing.", parallel::three_disks),
    (
        "The file system's buffering coalesces requests below 64 KiB and makes them faster.",
        sizes::buffering_helps,
    ),
    ("From 64 KiB on buffering is slower than passing it by.", sizes::buffering_hurts),
    ("Preallocate a file to the size it will have.", growth::preallocation),
    ("Extending a file while writing puts its requests in line and slows them much.", growth::extending),
    (
        "Requests that straddle the boundaries of stripes or blocks are split, and slower for it.",
        growth::straddling,
    ),
];

/// Tests them all.
pub(super) fn tested(input: &AdviceInput<'_>) -> Vec<Rule> {
    let mut tested = Vec::with_capacity(RULES.len());
    for (number, (rule, test)) in (1u8..).zip(RULES) {
        let RuleResult { verdict, evidence, experiment, cells } = test(input);
        tested.push(Rule { number, rule: rule.into(), verdict, evidence, experiment, cells });
    }
    tested
}
