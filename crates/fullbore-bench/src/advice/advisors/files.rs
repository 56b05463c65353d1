//! Advice on jobs and whole files: common defaults, the profile, named strategies, other programs, new files, alignment.

use fullbore::strategy::NAMED;

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{
    AdviceInput, EligibleCell, End, Growth, TaskKey, end, fastest, grouped, growth, is_single, only,
};
use super::super::jobs::{best, cells, counts_requests, describe, is_of, place, typed};
use super::super::sweep::{REQUEST, groups_ignoring};
use super::super::words::{Ratio, speed, subject, task, way};
use crate::document::{AccessMethod, Choice, Confidence, FileState, JobKind, Labels, Operation};
use crate::units;

/// Programs with a default, as the beginning of a sentence; their job; true for the cells with its settings.
type CommonDefault = (&'static str, JobKind, fn(&Labels) -> bool);

const COMMON: &[CommonDefault] = &[
    ("Large reads, as by `cat`, `cp` and Python's `read()`", JobKind::BulkRead, |labels| {
        buffered(labels, 128 << 10..=256 << 10)
    }),
    ("Reads of 8 KiB, as by PostgreSQL and Java's streams", JobKind::BulkRead, |labels| {
        buffered(labels, 8 << 10..=8 << 10)
    }),
    ("`dd` without `bs`", JobKind::BulkRead, |labels| buffered(labels, 512..=512)),
    ("Writes of 4 KiB, as by C's `stdio`", JobKind::BulkWrite, |labels| buffered(labels, 4 << 10..=4 << 10)),
    ("`dd bs=1M conv=fdatasync`", JobKind::BulkWrite, |labels| {
        buffered(labels, 1 << 20..=1 << 20) && labels.flush == Some(true)
    }),
    ("`cp`", JobKind::Copy, |labels| labels.peer.is_some()),
    ("A database that reads its pages one at a time", JobKind::RandomReads, |labels| {
        labels.method == AccessMethod::Buffered && is_single(labels)
    }),
    ("`cat`, `tar` and `cp -r`, which open one small file after another", JobKind::SmallFiles, |labels| {
        labels.workers == Some(1)
    }),
    ("A log that grows, with `fdatasync` after each record", JobKind::Append, |labels| {
        labels.file_state == Some(FileState::Extended) && labels.variant.is_none()
    }),
];

fn buffered(labels: &Labels, request: std::ops::RangeInclusive<u64>) -> bool {
    labels.method == AccessMethod::Buffered
        && is_single(labels)
        && labels.operation != Operation::CountLines
        && labels.request_bytes.is_some_and(|bytes| request.contains(&bytes))
}

/// True for a cell with the settings of a usual program.
pub(crate) fn is_common_default(labels: &Labels) -> bool {
    COMMON.iter().any(|(_, job, is)| is_of(*job, labels) && is(labels))
}

/// The settings of usual programs, compared with the best for the same job.
pub(super) fn defaults(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let ends = [End::Device, End::Cache];
    COMMON.iter().flat_map(|common| ends.iter().filter_map(|&end| of_default(common, end, input))).collect()
}

fn of_default(&(who, job, is): &CommonDefault, end: End, input: &AdviceInput<'_>) -> Option<Candidate> {
    let cells = cells(job, end, input);
    let usual = *cells.iter().find(|w| is(w.labels))?;
    let beside = beside(&usual, &cells);
    let (best, _) = best(if beside.len() > 1 { &beside } else { &cells })?;
    let (new, old) = (describe(job, best.labels), describe(job, usual.labels));
    let ratio = NamedRatio::faster((new.as_str(), best), (old.as_str(), usual))?;
    let per_second = |w: EligibleCell<'_>| match w.summary.requests_per_s {
        Some(requests) if counts_requests(job) => units::requests_rate(requests),
        _ => units::rate(w.rate()),
    };
    let text = format!(
        "{who}, {}: use {new}, {} instead of {}, {} as fast{}.",
        place(job, end),
        per_second(best),
        per_second(usual),
        ratio.times(),
        ratio.at_cost()
    );
    let mut candidate = ratio.candidate([], format!("default|{who}|{end:?}"), text);
    candidate.advice.setting = typed(job, best.labels);
    Some(less_confident_across(best, usual, candidate))
}

/// The cells of the same experiment, which are interleaved with `one`.
fn beside<'a>(one: &EligibleCell<'_>, cells: &[EligibleCell<'a>]) -> Vec<EligibleCell<'a>> {
    cells.iter().copied().filter(|w| w.cell.experiment == one.cell.experiment).collect()
}

/// The candidate, with low confidence if its cells are of two experiments, between which the machine may have changed.
fn less_confident_across(
    one: EligibleCell<'_>,
    other: EligibleCell<'_>,
    mut candidate: Candidate,
) -> Candidate {
    if one.cell.experiment != other.cell.experiment {
        candidate.advice.confidence = Confidence::Low;
    }
    candidate
}

/// The profile's entries: the strategy chosen for each job, compared with the simplest one.
pub(super) fn profile(input: &AdviceInput<'_>) -> Vec<Candidate> {
    input.findings.choices.iter().filter_map(|choice| of_choice(choice, input)).collect()
}

/// The simplest method measured for the same job: one worker that reads and writes, `cci` if measured.
fn plain<'a>(chosen: &EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<EligibleCell<'a>> {
    let task = |l: &Labels| (l.job.clone(), l.operation.clone(), end(l), l.is_random());
    let simple =
        |l: &Labels| task(l) == task(chosen.labels) && l.method == AccessMethod::Buffered && is_single(l);
    let all = only(input.own(), simple);
    let beside = beside(chosen, &all);
    let all = if beside.is_empty() { all } else { beside };
    let cci = all.iter().copied().find(|w| called(w, "cci"));
    cci.or_else(|| fastest(all))
}

fn of_choice(choice: &Choice, input: &AdviceInput<'_>) -> Option<Candidate> {
    let chosen = input.find(&choice.cell)?;
    let runner_up = || input.find(&choice.runner_up.as_ref()?.cell);
    let other = plain(&chosen, input).filter(|w| !w.is_same_cell(&chosen)).or_else(runner_up)?;
    let (how, rival) = (way(chosen.labels), way(other.labels));
    let ratio = NamedRatio::of((how.as_str(), chosen), (rival.as_str(), other))?;
    // The short form omits some settings (stripe, window): the full text is added if it differs.
    let text = if choice.strategy == how { String::new() } else { format!(" (`{}`)", choice.strategy) };
    let stands = if ratio.found.is_greater() {
        format!("{} as fast as {rival}{}", ratio.times(), ratio.at_cost())
    } else if let Some(why) = ratio.found.unclear_because() {
        format!("{} as fast as {rival} (unclear: {why})", ratio.times())
    } else if ratio.found.is_undecided() {
        format!("no significant difference from {rival}")
    } else {
        format!("no slower than {rival}{}", ratio.at_cost())
    };
    let text = format!("For “{}” use {how}{text}: {}, {stands}.", choice.job, ratio.rate());
    let mut candidate = ratio.candidate([], format!("job|{}", choice.job), text);
    if !ratio.found.is_greater() {
        candidate.advice.worth = 1.0;
    }
    Some(less_confident_across(chosen, other, candidate))
}

/// The fastest strategy of 2010: threads over memory maps.
const WINNER: &str = "cci-mtmm";

pub(super) fn whole_files<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    // `auto` competes for no job.
    grouped(&input.plain(), |w| TaskKey { job: "", ..TaskKey::of(w.cell) })
}

fn called(eligible: &EligibleCell<'_>, name: &str) -> bool {
    eligible.labels.strategy.as_deref() == Some(name)
}

/// Strategies faster than `auto`, which decides by the facts alone without a profile.
pub(super) fn auto(input: &AdviceInput<'_>) -> Vec<Candidate> {
    whole_files(input).iter().filter_map(|group| over_auto(group, input)).collect()
}

fn over_auto(group: &[EligibleCell<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    let auto = fastest(group.iter().copied().filter(|w| called(w, "auto")))?;
    let best = fastest(group.iter().copied().filter(|w| !called(w, "auto")))?;
    let ratio = NamedRatio::faster((way(best.labels), best), ("auto", auto))?;
    let kept = match input.findings.choices.iter().any(|choice| choice.cell == best.cell.id) {
        true => " It is now in the profile.",
        false => "",
    };
    let (strategy, what, gain) = (best.labels.strategy_text(), task(best.labels), ratio.gain());
    let text = format!("Use --strategy {strategy} for {what}: {gain} without a profile.{kept}");
    Some(ratio.candidate([], format!("auto|{}", subject(best.labels)), text))
}

/// Hart's family (2010) compared with the best of the others.
pub(super) fn family<'a>(group: &[EligibleCell<'a>]) -> Option<Candidate> {
    let family = |w: &EligibleCell<'_>| NAMED.iter().any(|known| called(w, known.name));
    let (family, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(family);
    let (first, ours) = (fastest(family.iter().copied())?, fastest(others)?);
    let named = |w: EligibleCell<'a>| (way(w.labels), w);
    let topic = format!("strategies|{}", subject(ours.labels));
    let task = task(ours.labels);
    let ahead = NamedRatio::of(named(first), named(ours))?;
    if ahead.found.is_greater() {
        let text = format!("For {task}, {} of 2010 is still fastest: {}.", ahead.first.0, ahead.gain());
        return Some(ahead.candidate([], topic, text));
    }
    let winner = family.iter().copied().find(|w| called(w, WINNER)).unwrap_or(first);
    let ratio = NamedRatio::faster(named(ours), named(winner))?;
    let then = if called(&winner, WINNER) { ", threads over memory maps, the fastest of 2010" } else { "" };
    let text = format!("For {task}, {} reaches {}{then}.", ratio.first.0, ratio.gain());
    Some(ratio.candidate([], topic, text))
}

/// The tasks in which another program is faster.
pub(super) fn peers(input: &AdviceInput<'_>) -> Vec<Candidate> {
    input.eligible_cells.iter().filter_map(|peer| of_peer(*peer, input)).collect()
}

/// Fullbore's cell for the same task: the one with equal labels, otherwise the fastest.
fn ours<'a>(peer: &EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<EligibleCell<'a>> {
    let circumstances = |l: &Labels| {
        (l.load_per_s, l.memory_limit_bytes, l.streams, l.targets, l.chunk_bytes, l.offset_bytes)
    };
    let mut rivals = input.ours();
    rivals.retain(|w| {
        TaskKey::of(w.cell) == TaskKey::of(peer.cell)
            && circumstances(w.labels) == circumstances(peer.labels)
            && (peer.labels.request_bytes.is_none() || REQUEST.same(w.labels, peer.labels))
    });
    let twin = |w: &&EligibleCell<'_>| {
        let (a, b) = (w.labels, peer.labels);
        (&a.method, a.depth, a.workers) == (&b.method, b.depth, b.workers)
    };
    rivals.iter().find(twin).copied().or_else(|| fastest(rivals))
}

fn of_peer<'a>(peer: EligibleCell<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let name = peer.labels.peer.as_deref()?;
    let ours = ours(&peer, input)?;
    let how = way(ours.labels);
    let ratio = NamedRatio::faster((name, peer), (format!("fullbore, {how}"), ours))?;
    let size = peer.labels.request_bytes.map_or_else(String::new, |at| format!(" at {}", units::size(at)));
    let (what, rate, times) = (task(ours.labels), ratio.rate(), ratio.times());
    let text = format!(
        "In {what}{size}, {name} is faster than fullbore: {rate}, {times} as fast as fullbore ({how})."
    );
    Some(ratio.candidate([], format!("peer|{name}|{}", subject(ours.labels)), text))
}

/// Cells that differ only in the way their output gets its blocks.
pub(in super::super) fn allocation_groups<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let clear = |l: &mut Labels| {
        l.allocation = None;
        l.file_state = None;
        l.job.clear();
    };
    groups_ignoring(&only(input.own(), |labels| growth(labels).is_some()), clear, &["alloc"])
}

pub(in super::super) fn with_growth<'a>(
    group: &[EligibleCell<'a>],
    wanted: Growth,
) -> Option<EligibleCell<'a>> {
    fastest(group.iter().copied().filter(|w| growth(w.labels) == Some(wanted)))
}

/// The gain of preallocating a new file, or the loss.
pub(super) fn preallocating(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let preallocated = ("preallocated", with_growth(group, Growth::Preallocated)?);
    let extended = ("extended", with_growth(group, Growth::Extended)?);
    let labels = extended.1.labels;
    let bare = Labels { allocation: None, file_state: None, strategy: None, ..preallocated.1.labels.clone() };
    let what = format!("{} ({})", task(labels), way(&bare));
    let topic = format!("preallocate|{}|{}", labels.operation, labels.method);
    if let Some(ratio) = NamedRatio::faster(preallocated, extended) {
        let (rate, times, cost) = (ratio.rate(), ratio.times(), ratio.at_cost());
        let text = format!("Preallocate in {what}: {rate}, {times} as fast as extending{cost}.");
        return Some(ratio.candidate([], topic, text));
    }
    let ratio = NamedRatio::faster(extended, preallocated)?;
    let (rate, times) = (ratio.rate(), ratio.times());
    let text = format!("Do not preallocate in {what}: extending reaches {rate}, {times} as fast.");
    Some(ratio.candidate([], topic, text))
}

/// The gain of overwriting existing blocks.
pub(super) fn overwriting(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let (over, grown) = (with_growth(group, Growth::Over)?, with_growth(group, Growth::Extended)?);
    let ratio = NamedRatio::faster(("over existing blocks", over), ("extending", grown))?;
    let text = format!(
        "Overwrite the existing file if its contents need not survive a failure: {} in {} ({}), \
         {} as fast as extending a new one.",
        ratio.rate(),
        task(over.labels),
        way(&Labels { strategy: None, ..over.labels.clone() }),
        ratio.times()
    );
    Some(ratio.candidate([], format!("over|{}", grown.labels.operation), text))
}

/// An aligned cell, a misaligned one, and the ratio of the first's rate to the second's.
pub(in super::super) type AlignmentPair<'a> = (EligibleCell<'a>, EligibleCell<'a>, Ratio);

/// Every misaligned cell with its aligned counterpart.
pub(in super::super) fn alignment_pairs<'a>(input: &AdviceInput<'a>) -> Vec<AlignmentPair<'a>> {
    let placed = only(input.ours(), |labels| labels.offset_bytes.is_some());
    let mut pairs = Vec::new();
    for group in groups_ignoring(&placed, |l: &mut Labels| l.offset_bytes = None, &[]) {
        let Some(aligned) = group.iter().copied().find(|w| w.labels.offset_bytes == Some(0)) else {
            continue;
        };
        for off in only(group, |labels| !is_aligned(labels)) {
            pairs.extend(speed(aligned, off).map(|found| (aligned, off, found)));
        }
    }
    pairs
}

/// True if the offset is a multiple of the request size.
fn is_aligned(labels: &Labels) -> bool {
    let offset = labels.offset_bytes.unwrap_or(0);
    labels.request_bytes.is_some_and(|size| size > 0 && offset.unsigned_abs().is_multiple_of(size))
        || offset == 0
}

/// Distance of a cell's requests from a multiple of their size.
pub(in super::super) fn offset_words(labels: &Labels) -> String {
    let offset = labels.offset_bytes.unwrap_or(0);
    format!("{} {}", units::size(offset.unsigned_abs()), if offset < 0 { "short of" } else { "past" })
}

/// The cost of requests that cross block or stripe boundaries.
pub(super) fn alignment(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let of_pair = |(aligned, off, _): AlignmentPair<'_>| {
        let place = format!("{} a multiple", offset_words(off.labels));
        let ratio = NamedRatio::faster(("aligned", aligned), (place.as_str(), off))?;
        let text = format!(
            "Align requests to multiples of their size in {} with {}: {place} they take {} the time.",
            task(aligned.labels),
            way(&Labels { offset_bytes: None, ..aligned.labels.clone() }),
            ratio.times()
        );
        let topic = format!("align|{}|{}", subject(aligned.labels), aligned.labels.method);
        Some(ratio.candidate([], topic, text))
    };
    alignment_pairs(input).into_iter().filter_map(of_pair).collect()
}
