//! Rules 8, 9 and 10: allocation of a file's blocks, and alignment of requests to them.

use super::super::advisors::offset_words;
use super::super::advisors::{alignment_pairs, allocation_groups, allocation_with};
use super::super::input::{AdviceInput, EligibleCell, End, Growth, end, growth};
use super::super::ratio::speed;
use super::super::sweep::{DEPTH, sweeps};
use super::super::words::{task, times, way};
use super::rule_tally::{RuleResult, RuleTally};
use crate::document::Labels;
use crate::stats::DEFAULT_MARGIN;

/// “Significantly degrades”: a fifth, the paper's mildest case.
const DEGRADED: f64 = 1.2;

fn named(eligible: &EligibleCell<'_>) -> String {
    let bare = Labels { allocation: None, file_state: None, ..eligible.labels.clone() };
    format!("{} with {}", task(&bare), way(&bare))
}

pub(super) fn preallocation(input: &AdviceInput<'_>) -> RuleResult {
    let mut tally = RuleTally::new(1.0 + DEFAULT_MARGIN);
    for group in allocation_groups(input) {
        let with = |wanted| allocation_with(&group, wanted);
        let (Some(preallocated), Some(grown)) = (with(Growth::Preallocated), with(Growth::Extended)) else {
            continue;
        };
        if let Some(found) = speed(preallocated, grown, input.bootstrap) {
            tally.add(&found, named(&grown), &[preallocated, grown]);
        }
    }
    tally.result(
        "writing to a preallocated new file is over 3% faster than to a growing one",
        "No new file was written both preallocated and extended in the same way.",
    )
}

pub(super) fn extending(input: &AdviceInput<'_>) -> RuleResult {
    let mut tally = RuleTally::new(DEGRADED);
    for group in allocation_groups(input) {
        let with = |wanted| allocation_with(&group, wanted);
        let Some(grown) = with(Growth::Extended) else { continue };
        let Some(fixed) = with(Growth::Over).or_else(|| with(Growth::Preallocated)) else { continue };
        if let Some(found) = speed(fixed, grown, input.bootstrap) {
            tally.add(&found, named(&grown), &[fixed, grown]);
        }
    }
    let mut outcome = tally.result(
        "writing to existing blocks is at least 1.2 times as fast as extending",
        "No file was written both over existing blocks and by extending it, in the same way.",
    );
    // If extending serialised requests, greater depth would not help.
    let grown: Vec<EligibleCell<'_>> =
        input.own().into_iter().filter(|w| growth(w.labels) == Some(Growth::Extended)).collect();
    let deep = sweeps(&grown, &DEPTH).into_iter().find_map(|sweep| {
        let (one, (depth, deep)) = (sweep.at(1)?, sweep.last()?);
        Some((depth, speed(deep, one, input.bootstrap)?))
    });
    if let Some((depth, found)) = deep {
        outcome.evidence += &format!(
            " With {depth} in flight extending is {} as fast as with one.",
            times(found.estimate.value)
        );
    }
    outcome
}

pub(super) fn straddling(input: &AdviceInput<'_>) -> RuleResult {
    let mut tally = RuleTally::new(1.0 + DEFAULT_MARGIN);
    // Stripes and blocks matter only at the device.
    for (aligned, off, found) in alignment_pairs(input) {
        if end(aligned.labels) != End::Device {
            continue;
        }
        let bare = Labels { offset_bytes: None, ..aligned.labels.clone() };
        let what =
            format!("{} with {}, {} a multiple", task(aligned.labels), way(&bare), offset_words(off.labels));
        tally.add(&found, what, &[aligned, off]);
    }
    tally.result(
        "aligned requests are over 3% faster than misaligned ones",
        "Every request measured began at a multiple of its size.",
    )
}
