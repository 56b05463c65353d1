//! The comparisons that decide on each rule.

use super::super::advisors::{
    alignment_pairs, allocation_groups, describe_disks, direct_pairs, disk_sweeps, offset_words, with_growth,
};
use super::super::input::{AdviceInput, EligibleCell, End, Growth, end, fastest, growth, is_single, only};
use super::super::sweep::{DEPTH, REQUEST, Sweep, groups_ignoring, sweeps};
use super::super::words::{cost, speed, task, times, way};
use super::rule_tally::{RuleTally, not_testable};
use crate::document::{Labels, Operation, Rule, RuleVerdict};
use crate::stats::{DEFAULT_MARGIN, median};
use crate::units;

const FASTER: f64 = 1.0 + DEFAULT_MARGIN;
/// The ratio of CPU times that counts as “significantly more”.
const SIGNIFICANTLY_MORE: f64 = 1.5;
/// The ratio of rates that counts as “noticeable gains”.
const NOTICEABLE: f64 = 1.1;
/// The ratio of rates that counts as “significant benefits”.
const SIGNIFICANT: f64 = 1.5;
/// The ratio of rates from which one “comes close to” the other.
const CLOSE: f64 = 0.8;
/// The ratio of rates that counts as “significantly degrades”: a fifth, the paper's mildest case.
const DEGRADED: f64 = 1.2;

/// The request size that the paper calls large, in bytes.
const LARGE: u64 = 64 << 10;
/// The largest request size that the paper calls small, in bytes.
const SMALL: u64 = 8 << 10;
/// Small requests in flight, in bytes: the paper's limit, then that of its figure 6 if none was measured.
const SMALL_IN_FLIGHT: [u64; 2] = [16 << 10, 64 << 10];

/// Paths with one request at a time by one worker; mappings make no requests.
fn paths<'a>(input: &AdviceInput<'a>) -> Vec<Sweep<'a>> {
    let asking = |l: &Labels| l.is_sequential() && !l.method.is_mapped() && is_single(l);
    sweeps(&only(input.plain(), asking), &REQUEST)
}

/// The small request of a path: 4 KiB, or the next larger up to 8 KiB.
fn small<'a>(sweep: &Sweep<'a>) -> Option<(u64, EligibleCell<'a>)> {
    let near = sweep.points.iter().copied().filter(|(size, _)| *size <= SMALL);
    near.min_by_key(|(size, _)| size.abs_diff(4 << 10))
}

const NO_SMALL_AND_LARGE: &str =
    "No path was measured both with requests of 8 KiB or less and with some of 64 KiB or more.";

pub(super) fn larger_is_faster(input: &AdviceInput<'_>) -> Rule {
    let mut tally = RuleTally::new(FASTER);
    for sweep in paths(input) {
        let large = fastest(sweep.points.iter().filter(|p| p.0 >= LARGE).map(|p| p.1));
        let (Some((size, small)), Some(large)) = (small(&sweep), large) else { continue };
        let best = units::size(large.labels.request_bytes.unwrap_or(0));
        let what = format!("{}, {best} ÷ {}", sweep.described(small), units::size(size));
        tally.compare(large, small, what);
    }
    tally.result(
        "the best request of 64 KiB or more is over 3% faster than one of 4 KiB (or the nearest up to 8 KiB), per path",
        NO_SMALL_AND_LARGE,
    )
}

pub(super) fn small_costs_more_cpu(input: &AdviceInput<'_>) -> Rule {
    let mut tally = RuleTally::new(SIGNIFICANTLY_MORE);
    for sweep in paths(input) {
        let large = sweep.points.iter().copied().find(|(size, _)| *size >= LARGE);
        let (Some((size, small)), Some((big, large))) = (small(&sweep), large) else { continue };
        let Some(found) = cost(small, large) else { continue };
        let what = format!("{}, {} ÷ {}", sweep.described(small), units::size(size), units::size(big));
        tally.add(&found, what, &[small, large]);
    }
    tally.result(
        "requests of 4 KiB take at least 1.5 times the CPU time per byte of those of 64 KiB",
        NO_SMALL_AND_LARGE,
    )
}

pub(super) fn eight_deep(input: &AdviceInput<'_>) -> Rule {
    let all = sweeps(&only(input.own(), |labels| end(labels) == End::Device), &DEPTH);
    let mut tally = RuleTally::new(NOTICEABLE);
    for limit in SMALL_IN_FLIGHT {
        for sweep in all.iter().filter(|sweep| sweep.labels.request_bytes.is_some_and(|size| size <= limit)) {
            let double = sweep.points.iter().copied().find(|(depth, _)| matches!(depth, 2 | 3));
            let eight = sweep.points.iter().copied().find(|(depth, _)| *depth >= 8);
            let (Some((few, double)), Some((many, eight))) = (double, eight) else { continue };
            let what = format!("{}, depth {many} ÷ depth {few}", sweep.described(eight));
            tally.compare(eight, double, what);
        }
        if !tally.is_empty() {
            break;
        }
    }
    tally.result(
        "eight requests in flight are at least 10% faster than two or three",
        "No small request (64 KiB or less) was measured at the device both at depth 2 or 3 and at depth 8.",
    )
}

pub(super) fn write_cache(input: &AdviceInput<'_>) -> Rule {
    let suits = |labels: &Labels| labels.write_cache().is_some() && labels.operation == Operation::Write;
    let cells = only(input.eligible_cells.clone(), suits);
    let clear = |l: &mut Labels| (l.variant, l.depth) = (None, None);
    let (mut small, mut deep) = (RuleTally::new(SIGNIFICANT), RuleTally::new(CLOSE));
    for group in groups_ignoring(&cells, clear, &["depth"]) {
        let find = |on, deep: fn(u32) -> bool| {
            group
                .iter()
                .copied()
                .find(|w| w.labels.write_cache() == Some(on) && deep(w.labels.depth.unwrap_or(1).max(1)))
        };
        let Some(with) = find(true, |d| d == 1) else { continue };
        let size = with.labels.request_bytes.unwrap_or(0);
        let requests = format!("{} requests", units::size(size));
        if let Some(without) = find(false, |d| d == 1).filter(|_| size <= SMALL_IN_FLIGHT[0]) {
            small.compare(with, without, format!("{requests}, with ÷ without write cache"));
        }
        if let Some(three) = find(false, |d| matches!(d, 3 | 4)).filter(|_| size >= SMALL_IN_FLIGHT[0])
            && let Some(found) = speed(three, with)
        {
            let what = format!("{requests}, depth 3 without ÷ depth 1 with write cache");
            deep.add_reaching(&found, what, &[three, with]);
        }
    }
    if small.is_empty() {
        return not_testable(
            "No cells with the drive's write cache on and off (variants “write cache on” and “write cache off”): \
             switching it takes root and a drive that supports it.",
        );
    }
    let (fails, question) = (deep.fails(), "depth 3 without write cache reaches 80% of the rate with it");
    let second = (!deep.is_empty()).then(|| deep.result(question, ""));
    let mut outcome =
        small.result("the write cache makes writes of up to 16 KiB at least 1.5 times as fast", "");
    if let Some(second) = second {
        outcome.evidence += &format!(" {}", second.evidence);
        outcome.cells.extend(second.cells);
        if fails && outcome.verdict == RuleVerdict::StillTrue {
            outcome.verdict = second.verdict;
        }
    }
    outcome
}

pub(super) fn three_disks(input: &AdviceInput<'_>) -> Rule {
    let all = disk_sweeps(input);
    let mut tally = RuleTally::new(FASTER);
    let most = all.iter().filter_map(Sweep::last).map(|(n, _)| n).max().unwrap_or(1);
    for sweep in &all {
        // The cells beyond three disks; if there are none, the third disk's effect.
        let after = fastest(sweep.points.iter().filter(|p| p.0 > 3).map(|p| p.1));
        let (more, fewer) = match (after, sweep.at(3), sweep.at(2)) {
            (Some(more), Some(three), _) => (more, three),
            (None, Some(three), Some(two)) => {
                // A third disk that still helps does not decide about a fourth.
                let found = speed(three, two);
                if found.is_none_or(|found| found.is_greater()) {
                    continue;
                }
                (three, two)
            }
            _ => continue,
        };
        let Some(found) = speed(more, fewer) else { continue };
        let disks = |w: &EligibleCell<'_>| units::count(w.labels.targets.unwrap_or(1) as usize, "disk");
        let what = format!("{}, {} ÷ {}", describe_disks(sweep), disks(&more), disks(&fewer));
        tally.add_upper_bound(&found, what, &[more, fewer]);
    }
    let none = match most {
        0 | 1 => "One disk was measured: name more with --dir.".to_owned(),
        n => format!(
            "{n} disks were measured; the rule needs cells with three disks and with more, or a third disk \
             that does not help: name more with --dir."
        ),
    };
    tally.result("more than three disks are no faster than three, within 3%", &none)
}

/// Tests for each request size measured both buffered and direct that the one named by `direct` is faster.
fn either_way(input: &AdviceInput<'_>, direct: bool, question: &str, suits: fn(u64) -> bool) -> Rule {
    let mut tally = RuleTally::new(FASTER);
    let mut writes = false;
    let mut coalesced = Vec::new();
    for pair in direct_pairs(input).iter().flatten().filter(|pair| suits(pair.size)) {
        let (first, second) =
            if direct { (pair.direct, pair.buffered) } else { (pair.buffered, pair.direct) };
        let what = format!("{}, {}", task(pair.buffered.labels), units::size(pair.size));
        if !tally.compare(first, second, what) {
            continue;
        }
        writes |= pair.buffered.labels.operation == Operation::Write;
        let phases = pair.buffered.cell.counted().filter_map(|s| s.phases);
        coalesced.extend(phases.map(|p| p.device_request_bytes).filter(|bytes| *bytes > 0.0));
    }
    let voted = !tally.is_empty();
    let mut outcome = tally.result(
        question,
        "No request size in that range was measured both buffered (cold, or flushed within the measured time) and direct.",
    );
    if let Some(bytes) = median(&coalesced).filter(|_| voted) {
        outcome.evidence +=
            &format!(" Buffered requests reached the device as requests of {}.", units::about_size(bytes));
    }
    if voted && !writes {
        outcome.evidence += " Reads only: buffered writes not flushed within the measured time end in memory and are not \
             comparable.";
    }
    outcome
}

pub(super) fn buffering_helps(input: &AdviceInput<'_>) -> Rule {
    let question = "below 64 KiB, buffered requests are over 3% faster than direct ones, per size";
    either_way(input, false, question, |size| size < LARGE)
}

pub(super) fn buffering_hurts(input: &AdviceInput<'_>) -> Rule {
    let question = "at 64 KiB and above, direct requests are over 3% faster than buffered ones, per size";
    either_way(input, true, question, |size| size >= LARGE)
}

/// Compares in each group of outputs the fastest of the first of these growths that it has with extending.
fn against_extending<'a>(input: &AdviceInput<'a>, threshold: f64, growths: &[Growth]) -> RuleTally<'a> {
    let mut tally = RuleTally::new(threshold);
    for group in allocation_groups(input) {
        let other = growths.iter().find_map(|growth| with_growth(&group, *growth));
        let (Some(other), Some(grown)) = (other, with_growth(&group, Growth::Extended)) else { continue };
        let bare = Labels { allocation: None, file_state: None, ..grown.labels.clone() };
        tally.compare(other, grown, format!("{} with {}", task(&bare), way(&bare)));
    }
    tally
}

pub(super) fn preallocation(input: &AdviceInput<'_>) -> Rule {
    against_extending(input, FASTER, &[Growth::Preallocated]).result(
        "writing to a preallocated new file is over 3% faster than to a growing one",
        "No new file was written both preallocated and extended in the same way.",
    )
}

pub(super) fn extending(input: &AdviceInput<'_>) -> Rule {
    let mut outcome = against_extending(input, DEGRADED, &[Growth::Over, Growth::Preallocated]).result(
        "writing to existing blocks is at least 1.2 times as fast as extending",
        "No file was written both over existing blocks and by extending it, in the same way.",
    );
    // If extending serialised requests, greater depth would not help.
    let grown = only(input.own(), |labels| growth(labels) == Some(Growth::Extended));
    let deep = sweeps(&grown, &DEPTH).into_iter().find_map(|sweep| {
        let (one, (depth, deep)) = (sweep.at(1)?, sweep.last()?);
        Some((depth, speed(deep, one)?))
    });
    if let Some((depth, found)) = deep {
        let times = times(found.estimate.value);
        outcome.evidence += &format!(" With {depth} in flight extending is {times} as fast as with one.");
    }
    outcome
}

pub(super) fn straddling(input: &AdviceInput<'_>) -> Rule {
    let mut tally = RuleTally::new(FASTER);
    // Stripes and blocks matter only at the device.
    let pairs = alignment_pairs(input);
    for (aligned, off, found) in pairs.into_iter().filter(|(w, ..)| end(w.labels) == End::Device) {
        let bare = Labels { offset_bytes: None, ..aligned.labels.clone() };
        let offset = offset_words(off.labels);
        let what = format!("{} with {}, {offset} a multiple", task(aligned.labels), way(&bare));
        tally.add(&found, what, &[aligned, off]);
    }
    tally.result(
        "aligned requests are over 3% faster than misaligned ones",
        "Every request measured began at a multiple of its size.",
    )
}
