//! Rules 1, 2, 6 and 7: the size of requests, and the effect of buffering.

use super::super::advisors::direct_pairs;
use super::super::input::{AdviceInput, EligibleCell, fastest, is_sequential};
use super::super::ratio::{cost, speed};
use super::super::sweep::{REQUEST, Sweep, sweeps};
use super::super::words::{task, way};
use super::rule_tally::{RuleResult, RuleTally};
use crate::stats::{DEFAULT_MARGIN, median};
use crate::units;

/// The request size that the paper calls large, in bytes.
const LARGE: u64 = 64 << 10;
/// The largest request size that the paper calls small, in bytes.
const SMALL: u64 = 8 << 10;
/// “Significantly more” CPU time.
const SIGNIFICANTLY_MORE: f64 = 1.5;

/// Paths with one request at a time by one worker; mappings make no requests.
fn paths<'a>(input: &AdviceInput<'a>) -> Vec<Sweep<'a>> {
    let plain = input.plain();
    let asking = plain.into_iter().filter(|w| {
        is_sequential(w.labels)
            && !w.labels.is_mapped()
            && w.labels.depth.is_none_or(|d| d == 1)
            && w.labels.workers.is_none_or(|n| n == 1)
    });
    sweeps(&asking.collect::<Vec<EligibleCell<'a>>>(), &REQUEST)
}

/// The small request of a path: 4 KiB, or the next larger up to 8 KiB.
fn small<'a>(sweep: &Sweep<'a>) -> Option<(u64, EligibleCell<'a>)> {
    let near = sweep.points.iter().copied().filter(|(size, _)| *size <= SMALL);
    near.min_by_key(|(size, _)| size.abs_diff(4 << 10))
}

fn named(sweep: &Sweep<'_>, eligible: &EligibleCell<'_>) -> String {
    format!("{} with {}", task(eligible.labels), way(&sweep.labels))
}

pub(super) fn larger_is_faster(input: &AdviceInput<'_>) -> RuleResult {
    let mut tally = RuleTally::new(1.0 + DEFAULT_MARGIN);
    for sweep in paths(input) {
        let large: Vec<EligibleCell<'_>> =
            sweep.points.iter().filter(|p| p.0 >= LARGE).map(|p| p.1).collect();
        let (Some((size, small)), Some(large)) = (small(&sweep), fastest(&large)) else { continue };
        let Some(found) = speed(large, small, input.bootstrap) else { continue };
        let best = units::size(large.labels.request_bytes.unwrap_or(0));
        let what = format!("{}, {best} ÷ {}", named(&sweep, &small), units::size(size));
        tally.add(&found, what, &[large, small]);
    }
    tally.result(
        "the best request of 64 KiB or more is over 3% faster than one of 4 KiB (or the nearest up to 8 KiB), per path",
        "No path was measured both with requests of 8 KiB or less and with some of 64 KiB or more.",
    )
}

pub(super) fn small_costs_more_cpu(input: &AdviceInput<'_>) -> RuleResult {
    let mut tally = RuleTally::new(SIGNIFICANTLY_MORE);
    for sweep in paths(input) {
        let large = sweep.points.iter().copied().find(|(size, _)| *size >= LARGE);
        let (Some((size, small)), Some((big, large))) = (small(&sweep), large) else { continue };
        let Some(found) = cost(small, large, input.bootstrap) else { continue };
        let what = format!("{}, {} ÷ {}", named(&sweep, &small), units::size(size), units::size(big));
        tally.add(&found, what, &[small, large]);
    }
    tally.result(
        "requests of 4 KiB take at least 1.5 times the CPU time per byte of those of 64 KiB",
        "No path was measured both with requests of 8 KiB or less and with some of 64 KiB or more.",
    )
}

/// Tests for each request size measured both buffered and direct that the one named by `direct` is faster.
fn either_way(input: &AdviceInput<'_>, direct: bool, question: &str, suits: fn(u64) -> bool) -> RuleResult {
    let mut tally = RuleTally::new(1.0 + DEFAULT_MARGIN);
    let mut writes = false;
    let mut coalesced = Vec::new();
    for pair in direct_pairs(input).iter().flatten().filter(|pair| suits(pair.size)) {
        let (first, second) =
            if direct { (pair.direct, pair.buffered) } else { (pair.buffered, pair.direct) };
        let Some(found) = speed(first, second, input.bootstrap) else { continue };
        let what = format!("{}, {}", task(pair.buffered.labels), units::size(pair.size));
        tally.add(&found, what, &[first, second]);
        writes |= pair.buffered.labels.operation == "write";
        let phases = pair.buffered.cell.samples.iter().filter(|s| s.usable()).filter_map(|s| s.phases);
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

pub(super) fn buffering_helps(input: &AdviceInput<'_>) -> RuleResult {
    let question = "below 64 KiB buffered requests are over 3% faster than direct ones, per size";
    either_way(input, false, question, |size| size < LARGE)
}

pub(super) fn buffering_hurts(input: &AdviceInput<'_>) -> RuleResult {
    let question = "from 64 KiB on direct requests are over 3% faster than buffered ones, per size";
    either_way(input, true, question, |size| size >= LARGE)
}
