//! Rules 1, 2, 6 and 7: the size of requests, and what buffering makes of it.

use super::super::advisors::direct_pairs;
use super::super::contrast::{cost, speed};
use super::super::line::{Line, REQUEST, lines};
use super::super::witness::{Ground, Witness, fastest, is_sequential};
use super::super::words::{task, way};
use super::ballot::{Ballot, Outcome};
use crate::stats::{DEFAULT_MARGIN, median};
use crate::units;

/// The request size that the paper calls large, in bytes.
const LARGE: u64 = 64 << 10;
/// The largest that it calls small, in bytes.
const SMALL: u64 = 8 << 10;
/// “Significantly more” processor time.
const DEAR: f64 = 1.5;

/// Paths that ask the system for each request, one worker and one request at a time; a mapping asks for nothing.
fn paths<'a>(ground: &Ground<'a>) -> Vec<Line<'a>> {
    let plain = ground.plain();
    let asking = plain.into_iter().filter(|w| {
        is_sequential(w.labels)
            && !w.labels.method.contains("mmap")
            && w.labels.depth.is_none_or(|d| d == 1)
            && w.labels.workers.is_none_or(|n| n == 1)
    });
    lines(&asking.collect::<Vec<Witness<'a>>>(), &REQUEST)
}

/// The small request of a path: 4 KiB, or the next there is up to 8 KiB.
fn small<'a>(line: &Line<'a>) -> Option<(u64, Witness<'a>)> {
    let near = line.points.iter().copied().filter(|(size, _)| *size <= SMALL);
    near.min_by_key(|(size, _)| size.abs_diff(4 << 10))
}

fn named(line: &Line<'_>, witness: &Witness<'_>) -> String {
    format!("{} with {}", task(witness.labels), way(&line.labels))
}

pub(super) fn larger_is_faster(ground: &Ground<'_>) -> Outcome {
    let mut ballot = Ballot::new(1.0 + DEFAULT_MARGIN);
    for line in paths(ground) {
        let large: Vec<Witness<'_>> = line.points.iter().filter(|p| p.0 >= LARGE).map(|p| p.1).collect();
        let (Some((size, small)), Some(large)) = (small(&line), fastest(&large)) else { continue };
        let Some(found) = speed(large, small, ground.bootstrap) else { continue };
        let best = units::size(large.labels.request_bytes.unwrap_or(0));
        let what = format!("{}, {best} against {}", named(&line, &small), units::size(size));
        ballot.cast(&found, what, &[large, small]);
    }
    ballot.outcome(
        "the best request of 64 KiB or more is over 3% faster than one of 4 KiB (or the nearest up to 8 KiB), a path at a time",
        "No path was measured both with requests of 8 KiB or less and with some of 64 KiB or more.",
    )
}

pub(super) fn small_is_dear(ground: &Ground<'_>) -> Outcome {
    let mut ballot = Ballot::new(DEAR);
    for line in paths(ground) {
        let large = line.points.iter().copied().find(|(size, _)| *size >= LARGE);
        let (Some((size, small)), Some((big, large))) = (small(&line), large) else { continue };
        let Some(found) = cost(small, large, ground.bootstrap) else { continue };
        let what = format!("{}, {} against {}", named(&line, &small), units::size(size), units::size(big));
        ballot.cast(&found, what, &[small, large]);
    }
    ballot.outcome(
        "a byte costs at least 1.5 times the processor time in requests of 4 KiB as in those of 64 KiB",
        "No path was measured both with requests of 8 KiB or less and with some of 64 KiB or more.",
    )
}

/// Asks each request size that was measured buffered and direct whether the way that `direct` names is the faster.
fn either_way(ground: &Ground<'_>, direct: bool, asked: &str, suits: fn(u64) -> bool) -> Outcome {
    let mut ballot = Ballot::new(1.0 + DEFAULT_MARGIN);
    let mut writes = false;
    let mut coalesced = Vec::new();
    for pair in direct_pairs(ground).iter().flatten().filter(|pair| suits(pair.size)) {
        let (first, second) =
            if direct { (pair.direct, pair.buffered) } else { (pair.buffered, pair.direct) };
        let Some(found) = speed(first, second, ground.bootstrap) else { continue };
        let what = format!("{}, {}", task(pair.buffered.labels), units::size(pair.size));
        ballot.cast(&found, what, &[first, second]);
        writes |= pair.buffered.labels.operation == "write";
        let phases = pair.buffered.cell.samples.iter().filter(|s| s.usable()).filter_map(|s| s.phases);
        coalesced.extend(phases.map(|p| p.device_request_bytes).filter(|bytes| *bytes > 0.0));
    }
    let voted = !ballot.is_empty();
    let mut outcome = ballot.outcome(
        asked,
        "No request size of that range was measured both through the page cache, cold or flushed within the time, and past it.",
    );
    if let Some(bytes) = median(&coalesced).filter(|_| voted) {
        outcome.evidence +=
            &format!(" The device got requests of {} from the buffered ones.", units::about_size(bytes));
    }
    if voted && !writes {
        outcome.evidence += " Reads only: buffered writes that are not flushed within the time end in memory and compare with nothing.";
    }
    outcome
}

pub(super) fn buffering_helps(ground: &Ground<'_>) -> Outcome {
    let asked = "below 64 KiB buffered requests are over 3% faster than direct ones, a size at a time";
    either_way(ground, false, asked, |size| size < LARGE)
}

pub(super) fn buffering_hurts(ground: &Ground<'_>) -> Outcome {
    let asked = "from 64 KiB on direct requests are over 3% faster than buffered ones, a size at a time";
    either_way(ground, true, asked, |size| size >= LARGE)
}
