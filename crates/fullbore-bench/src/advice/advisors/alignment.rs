//! Alignment: the cost of requests that cross block or stripe boundaries.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell};
use super::super::ratio::{Ratio, speed};
use super::super::sweep::groups_ignoring;
use super::super::words::{subject, task, way};
use crate::document::Labels;
use crate::units;

/// An aligned cell, a misaligned one, and the ratio of the first's rate to the second's.
pub(in super::super) type Pair<'a> = (EligibleCell<'a>, EligibleCell<'a>, Ratio);

/// Every misaligned cell with its aligned counterpart.
pub(in super::super) fn pairs<'a>(input: &AdviceInput<'a>) -> Vec<Pair<'a>> {
    let placed: Vec<EligibleCell<'a>> =
        input.ours().into_iter().filter(|w| w.labels.offset_bytes.is_some()).collect();
    let mut pairs = Vec::new();
    for group in groups_ignoring(&placed, |l: &mut Labels| l.offset_bytes = None, &[]) {
        let Some(aligned) = group.iter().copied().find(|w| w.labels.offset_bytes == Some(0)) else {
            continue;
        };
        // An offset by whole requests is aligned.
        for off in
            group.into_iter().filter(|w| !w.labels.offset_bytes.is_none_or(|o| is_aligned(o, w.labels)))
        {
            pairs.extend(speed(aligned, off, input.bootstrap).map(|found| (aligned, off, found)));
        }
    }
    pairs
}

/// True if an offset is a multiple of the request size.
fn is_aligned(offset: i64, labels: &Labels) -> bool {
    labels.request_bytes.is_some_and(|size| size > 0 && offset.unsigned_abs().is_multiple_of(size))
        || offset == 0
}

/// Distance of a cell's requests from a multiple of their size.
pub(in super::super) fn off(labels: &Labels) -> String {
    let offset = labels.offset_bytes.unwrap_or(0);
    format!("{} {}", units::size(offset.unsigned_abs()), if offset < 0 { "short of" } else { "past" })
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    pairs(input)
        .into_iter()
        .filter_map(|(aligned, misplaced, _)| of_pair(aligned, misplaced, input))
        .collect()
}

fn of_pair<'a>(
    aligned: EligibleCell<'a>,
    misplaced: EligibleCell<'a>,
    input: &AdviceInput<'a>,
) -> Option<Candidate> {
    let place = format!("{} a multiple", off(misplaced.labels));
    let ratio = NamedRatio::faster(("aligned", aligned), (place.as_str(), misplaced), input)?;
    let text = format!(
        "Align requests to multiples of their size in {} with {}: {place} they take {} the time.",
        task(aligned.labels),
        way(&Labels { offset_bytes: None, ..aligned.labels.clone() }),
        ratio.times()
    );
    let topic = format!("align|{}|{}", subject(aligned.labels), aligned.labels.method);
    Some(ratio.candidate([], topic, text))
}
