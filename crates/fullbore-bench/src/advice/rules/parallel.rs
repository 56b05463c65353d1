//! Rules 3, 4 and 5: requests in flight, the drive's write cache, and several disks.

use super::super::advisors::{describe_disks, disk_sweeps};
use super::super::input::{AdviceInput, EligibleCell, End, end, fastest};
use super::super::ratio::speed;
use super::super::sweep::{DEPTH, Sweep, groups_ignoring, sweeps};
use super::super::words::{task, way};
use super::rule_tally::{RuleResult, RuleTally};
use crate::document::Labels;
use crate::stats::DEFAULT_MARGIN;
use crate::units;

/// “Noticeable gains”.
const NOTICEABLE: f64 = 1.1;
/// “Significant benefits”.
const SIGNIFICANT: f64 = 1.5;
/// “Comes close to”.
const CLOSE: f64 = 0.8;
/// Limits of small requests in bytes: the paper's, and the extent of its figure 6 if none was measured.
const SMALL: [u64; 2] = [16 << 10, 64 << 10];

pub(super) fn eight_deep(input: &AdviceInput<'_>) -> RuleResult {
    let of_device: Vec<EligibleCell<'_>> =
        input.own().into_iter().filter(|w| end(w.labels) == End::Device).collect();
    let all = sweeps(&of_device, &DEPTH);
    let mut tally = RuleTally::new(NOTICEABLE);
    for limit in SMALL {
        for sweep in all.iter().filter(|sweep| sweep.labels.request_bytes.is_some_and(|size| size <= limit)) {
            let double = sweep.points.iter().copied().find(|(depth, _)| matches!(depth, 2 | 3));
            let eight = sweep.points.iter().copied().find(|(depth, _)| *depth >= 8);
            let (Some((few, double)), Some((many, eight))) = (double, eight) else { continue };
            let Some(found) = speed(eight, double, input.bootstrap) else { continue };
            let what =
                format!("{} with {}, depth {many} ÷ depth {few}", task(eight.labels), way(&sweep.labels));
            tally.add(&found, what, &[eight, double]);
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

/// True if a cell's variant sets the drive's write cache on, false if off.
fn write_cache_on(labels: &Labels) -> Option<bool> {
    let variant = labels.variant.as_ref()?.to_lowercase().replace('-', " ");
    match variant.strip_prefix("write cache ")?.trim() {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

pub(super) fn write_cache(input: &AdviceInput<'_>) -> RuleResult {
    let text: Vec<EligibleCell<'_>> = input
        .all()
        .iter()
        .copied()
        .filter(|w| write_cache_on(w.labels).is_some() && w.labels.operation == "write")
        .collect();
    let of = |group: &[EligibleCell<'_>], on: bool, deep: fn(u32) -> bool| {
        let suits = |w: &&EligibleCell<'_>| {
            write_cache_on(w.labels) == Some(on) && deep(w.labels.depth.unwrap_or(1).max(1))
        };
        group.iter().find(suits).map(|w| w.cell.id.clone())
    };
    let clear = |l: &mut Labels| (l.variant, l.depth) = (None, None);
    let (mut small, mut deep) = (RuleTally::new(SIGNIFICANT), RuleTally::new(CLOSE));
    for group in groups_ignoring(&text, clear, &["depth"]) {
        let find = |on, depth| of(&group, on, depth).and_then(|id| input.find(&id));
        let Some(with) = find(true, |d| d == 1) else { continue };
        let size = with.labels.request_bytes.unwrap_or(0);
        if let Some(without) = find(false, |d| d == 1).filter(|_| size <= SMALL[0])
            && let Some(found) = speed(with, without, input.bootstrap)
        {
            small.add(
                &found,
                format!("{} requests, with ÷ without write cache", units::size(size)),
                &[with, without],
            );
        }
        if let Some(three) = find(false, |d| matches!(d, 3 | 4)).filter(|_| size >= SMALL[0])
            && let Some(found) = speed(three, with, input.bootstrap)
        {
            deep.add_reaching(
                &found,
                format!("{} requests, depth 3 without ÷ depth 1 with write cache", units::size(size)),
                &[three, with],
            );
        }
    }
    if small.is_empty() {
        return RuleResult::not_testable(
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
        if fails && outcome.verdict == crate::document::RuleVerdict::StillTrue {
            outcome.verdict = second.verdict;
        }
    }
    outcome
}

pub(super) fn three_disks(input: &AdviceInput<'_>) -> RuleResult {
    let all = disk_sweeps(input);
    let mut tally = RuleTally::new(1.0 + DEFAULT_MARGIN);
    let most = all.iter().filter_map(Sweep::last).map(|(n, _)| n).max().unwrap_or(1);
    for sweep in &all {
        // The cells beyond three disks; if there are none, the third disk's effect.
        let after: Vec<EligibleCell<'_>> = sweep.points.iter().filter(|p| p.0 > 3).map(|p| p.1).collect();
        let (more, fewer) = match (fastest(&after), sweep.at(3), sweep.at(2)) {
            (Some(more), Some(three), _) => (more, three),
            (None, Some(three), Some(two)) => {
                // A third disk that still helps does not decide about a fourth.
                let found = speed(three, two, input.bootstrap);
                if found.is_none_or(|found| found.is_greater()) {
                    continue;
                }
                (three, two)
            }
            _ => continue,
        };
        let Some(found) = speed(more, fewer, input.bootstrap) else { continue };
        let disks = |w: &EligibleCell<'_>| units::count(w.labels.targets.unwrap_or(1) as usize, "disk");
        let what = format!("{}, {} ÷ {}", describe_disks(sweep), disks(&more), disks(&fewer));
        tally.add_upper_bound(&found, what, &[more, fewer]);
    }
    let none = match most {
        0 | 1 => "One disk was measured: name more with --dir.".to_owned(),
        n => format!(
            "{n} disks were measured, not three of them or with a third that still helped: measure a fourth."
        ),
    };
    tally.result("more than three disks are no faster than three, within 3%", &none)
}
