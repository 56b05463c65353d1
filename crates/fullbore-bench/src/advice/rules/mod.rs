//! The ten rules of 1997, each tested on the cells.

mod comparisons;
mod rule_tally;

use super::input::AdviceInput;
use crate::document::Rule;

type Test = fn(&AdviceInput<'_>) -> Rule;

/// In the order of the paper's section 6: its nine bullets, and the one pitfall in writing that is not a bullet.
const RULES: [(&str, Test); 10] = [
    ("Larger requests are faster: use at least 8 KiB, 64 KiB if possible.", comparisons::larger_is_faster),
    ("Small requests take far more CPU time per byte than large ones.", comparisons::small_costs_more_cpu),
    (
        "Where requests must be small, two in flight are not enough: eight are noticeably faster.",
        comparisons::eight_deep,
    ),
    (
        "A write cache in the drive speeds up small writes considerably; for larger ones three in flight come close.",
        comparisons::write_cache,
    ),
    ("Three disks saturate what they share; further disks do not help.", comparisons::three_disks),
    (
        "The file system's buffering coalesces requests below 64 KiB and makes them faster.",
        comparisons::buffering_helps,
    ),
    ("From 64 KiB up, buffering is slower than bypassing the page cache.", comparisons::buffering_hurts),
    ("Preallocate a file to its final size.", comparisons::preallocation),
    (
        "Extending a file while writing serialises requests and slows them considerably.",
        comparisons::extending,
    ),
    ("Requests that straddle stripe or block boundaries are split, and slower.", comparisons::straddling),
];

pub(super) fn tested(input: &AdviceInput<'_>) -> Vec<Rule> {
    let numbered = (1u8..).zip(RULES);
    numbered.map(|(number, (rule, test))| Rule { number, rule: rule.into(), ..test(input) }).collect()
}
