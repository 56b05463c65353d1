//! Direct or buffered: the request size from which bypassing the page cache pays.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, EligibleCell, End, TaskKey, end, is_sequential};
use super::super::ratio::{CHEAPER, Ratio, cost, speed};
use super::super::sweep::{REQUEST, Sweep, sweeps};
use super::super::words::{against, task, times};
use crate::units;

/// One request size, buffered and direct, with the ratio of direct's rate to buffered's.
pub(in super::super) struct Pair<'a> {
    pub(in super::super) size: u64,
    pub(in super::super) buffered: EligibleCell<'a>,
    pub(in super::super) direct: EligibleCell<'a>,
    pub(in super::super) found: Ratio,
}

/// The request sizes that were measured buffered and direct, at the device, in the same experiment.
pub(in super::super) fn pairs<'a>(input: &AdviceInput<'a>) -> Vec<Vec<Pair<'a>>> {
    let plain = input.plain();
    let suits = |w: &EligibleCell<'_>| {
        is_sequential(w.labels)
            && end(w.labels) == End::Device
            && matches!(w.labels.operation.as_str(), "read" | "write")
            && w.labels.depth.is_none_or(|d| d == 1)
            && w.labels.workers.is_none_or(|n| n == 1)
    };
    let suited: Vec<EligibleCell<'a>> = plain.into_iter().filter(suits).collect();
    let all = sweeps(&suited, &REQUEST);
    let of = |name: &str| all.iter().filter(|sweep| sweep.labels.method == name).collect::<Vec<_>>();
    let same = |a: &Sweep<'a>, b: &Sweep<'a>, near: bool| match (a.points.first(), b.points.first()) {
        (Some((_, a)), Some((_, b))) if near => TaskKey::of(a.cell) == TaskKey::of(b.cell),
        (Some((_, a)), Some((_, b))) => {
            TaskKey::of(a.cell).without_experiment() == TaskKey::of(b.cell).without_experiment()
        }
        _ => false,
    };
    // Cells of one experiment are interleaved; if none has both, two experiments of one run are compared.
    let both = |near: bool| -> Vec<(&Sweep<'a>, &Sweep<'a>)> {
        let direct = of("direct");
        let counterparts = |b| direct.iter().copied().filter(move |d| same(b, d, near)).map(move |d| (b, d));
        of("buffered").into_iter().flat_map(counterparts).collect()
    };
    let near = both(true);
    let writes = |pairs: &[(&Sweep<'a>, &Sweep<'a>)], operation| {
        pairs.iter().any(|(b, _): &(&Sweep<'a>, _)| b.labels.operation == operation)
    };
    let far: Vec<_> =
        both(false).into_iter().filter(|(b, _)| !writes(&near, b.labels.operation.as_str())).collect();
    near.into_iter()
        .chain(far)
        .map(|(buffered, direct)| {
            let both = buffered.points.iter().filter_map(|&(size, b)| Some((size, b, direct.at(size)?)));
            both.filter_map(|(size, buffered, direct)| {
                let found = speed(direct, buffered, input.bootstrap)?;
                Some(Pair { size, buffered, direct, found })
            })
            .collect()
        })
        .filter(|pairs: &Vec<Pair<'a>>| !pairs.is_empty())
        .collect()
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    pairs(input).iter().filter_map(|pairs| of_pairs(pairs, input)).collect()
}

fn of_pairs(pairs: &[Pair<'_>], input: &AdviceInput<'_>) -> Option<Candidate> {
    // From this index on no size is slower direct.
    let turn = pairs.iter().rposition(|p| p.found.is_less()).map_or(0, |i| i + 1);
    let pays = pairs.get(turn..)?.iter().find(|p| p.found.is_greater());
    let loses =
        pairs.get(..turn)?.iter().min_by(|a, b| a.found.estimate.value.total_cmp(&b.found.estimate.value));
    let gain = |p: &Pair<'_>| p.found.estimate.value.max(1.0 / p.found.estimate.value);
    let describe = |p: &Pair<'_>| format!("{} as fast at {}", times(gain(p)), units::size(p.size));
    let shown = match (pays, loses) {
        (Some(p), Some(l)) => {
            if gain(p) >= gain(l) {
                p
            } else {
                l
            }
        }
        (Some(p), None) | (None, Some(p)) => p,
        (None, None) => return None,
    };
    let what = task(shown.buffered.labels);
    let largest = pairs.last()?;
    let cheaper = match cost(largest.direct, largest.buffered, input.bootstrap) {
        Some(found) if found.is_clear() && found.estimate.value <= CHEAPER => format!(
            " and takes {} of the CPU time at {}",
            units::percent(found.estimate.value),
            units::size(largest.size)
        ),
        _ => String::new(),
    };
    let coalesced = "the page cache coalesces them, buffered is";
    let text = match (pays, loses) {
        (Some(p), Some(l)) => format!(
            "Bypass the page cache (direct) in {what} from requests of {} up: direct is {}{cheaper}. \
             Buffer smaller requests: {coalesced} {}.",
            units::size(p.size),
            describe(p),
            describe(l)
        ),
        (Some(p), None) => format!(
            "Bypass the page cache (direct) in {what} from requests of {} up: direct is {}{cheaper}.",
            units::size(p.size),
            describe(p)
        ),
        (None, _) => format!("Buffer small requests in {what}: {coalesced} {}.", describe(shown)),
    };
    let size = units::size(shown.size);
    let (direct, buffered) = (format!("direct, {size}"), format!("buffered, {size}"));
    let sides = [(direct.as_str(), &shown.direct), (buffered.as_str(), &shown.buffered)];
    let (first, second) = if shown.found.is_greater() { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
    let found = speed(*first.1, *second.1, input.bootstrap)?;
    let evidence = against(first, second, &found);
    let mut eligible_cells = vec![shown.direct, shown.buffered];
    eligible_cells.extend([pays, loses].into_iter().flatten().flat_map(|p| [p.direct, p.buffered]));
    Some(Candidate::new(
        format!("direct|{what}"),
        &found,
        &eligible_cells,
        found.estimate.value,
        text,
        evidence,
    ))
}
