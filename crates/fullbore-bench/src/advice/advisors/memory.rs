//! Limited memory: the file size from which a method gets much slower, and the fastest alternative.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, fastest, grouped};
use super::super::ratio::speed;
use super::super::sweep::{FILE, Sweep, sweeps};
use super::super::words::way;
use crate::document::Labels;
use crate::units;

/// A method is much slower if its rate drops below this share.
const CLIFF: f64 = 0.7;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let limited: Vec<EligibleCell<'_>> =
        input.ours().into_iter().filter(|w| w.labels.memory_limit_bytes.is_some()).collect();
    sweeps(&limited, &FILE).iter().filter_map(|sweep| of_sweep(sweep, &limited, input)).collect()
}

fn of_sweep<'a>(
    sweep: &Sweep<'a>,
    limited: &[EligibleCell<'a>],
    input: &AdviceInput<'a>,
) -> Option<Candidate> {
    // The first size that is clearly slower than the best of the smaller ones.
    let (size, fallen, high) =
        sweep.points.iter().enumerate().skip(1).find_map(|(place, &(size, here))| {
            let before: Vec<EligibleCell<'_>> = sweep.points[..place].iter().map(|(_, w)| *w).collect();
            let high = fastest(&before)?;
            let found = speed(high, here, input.bootstrap)?;
            (found.is_greater() && found.estimate.value * CLIFF >= 1.0).then_some((size, here, high))
        })?;
    let limit = units::size(sweep.labels.memory_limit_bytes?);
    // Cells of the same task with files of that size under the same limit.
    let task = |l: &Labels| (l.operation.clone(), l.order.clone(), l.file_bytes, l.memory_limit_bytes);
    let same = grouped(limited, |w| task(w.labels));
    let rivals = same.into_iter().find(|group| group.iter().any(|w| w.is_same_cell(&fallen)))?;
    let best = fastest(&rivals).filter(|best| !best.is_same_cell(&fallen));
    let how = |w: &EligibleCell<'_>| way(&Labels { file_bytes: None, ..w.labels.clone() });
    let small = units::size(high.labels.file_bytes.unwrap_or(0));
    let fall = format!(
        "{} drops from {} (files of {small}) to {}",
        how(&fallen),
        units::rate(high.rate()),
        units::rate(fallen.rate())
    );
    let operation = &fallen.labels.operation;
    let head = format!("With {limit} of memory and files of {} or more,", units::size(size));
    let topic = format!("memory|{operation}|{}", how(&fallen));
    let better = best.and_then(|best| NamedRatio::faster((how(&best), best), (how(&fallen), fallen), input));
    if let Some(ratio) = better {
        let text = format!(
            "{head} use {} for {operation}: {}, {} as fast; {fall}.",
            ratio.first.0,
            ratio.rate(),
            ratio.times()
        );
        return Some(ratio.candidate([high], topic, text));
    }
    let files = |size: &str| format!("files of {size}");
    let ratio = NamedRatio::of((files(&small), high), (files(&units::size(size)), fallen), input)?;
    let text =
        format!("{head} expect lower rates of {operation}: {fall}, and no measured alternative is faster.");
    Some(ratio.candidate([], topic, text))
}
