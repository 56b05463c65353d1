//! Direct or buffered: from which request size on passing the page cache by pays.

use super::super::contrast::{Contrast, cost, speed};
use super::super::line::{Line, REQUEST, lines};
use super::super::tip::Tip;
use super::super::witness::{End, Ground, Task, Witness, end, is_sequential};
use super::super::words::{against, task, times};
use super::CHEAPER;
use crate::units;

/// One request size, buffered and direct, and direct's rate to buffered's.
pub(in super::super) struct Pair<'a> {
    pub(in super::super) size: u64,
    pub(in super::super) buffered: Witness<'a>,
    pub(in super::super) direct: Witness<'a>,
    pub(in super::super) found: Contrast,
}

/// The request sizes that were measured both ways, to or from the device, in the same experiment.
pub(in super::super) fn pairs<'a>(ground: &Ground<'a>) -> Vec<Vec<Pair<'a>>> {
    let plain = ground.plain();
    let suits = |w: &Witness<'_>| {
        is_sequential(w.labels)
            && end(w.labels) == End::Device
            && matches!(w.labels.operation.as_str(), "read" | "write")
            && w.labels.depth.is_none_or(|d| d == 1)
            && w.labels.workers.is_none_or(|n| n == 1)
    };
    let suited: Vec<Witness<'a>> = plain.into_iter().filter(suits).collect();
    let all = lines(&suited, &REQUEST);
    let of = |name: &str| all.iter().filter(|line| line.labels.method == name).collect::<Vec<_>>();
    let same = |a: &Line<'a>, b: &Line<'a>, near: bool| match (a.points.first(), b.points.first()) {
        (Some((_, a)), Some((_, b))) if near => Task::of(a.cell) == Task::of(b.cell),
        (Some((_, a)), Some((_, b))) => {
            Task::of(a.cell).of_any_experiment() == Task::of(b.cell).of_any_experiment()
        }
        _ => false,
    };
    // Within an experiment cells are interleaved; where none has both ways, two experiments of one run still may.
    let both = |near: bool| -> Vec<(&Line<'a>, &Line<'a>)> {
        let direct = of("direct");
        let fellows = |b| direct.iter().copied().filter(move |d| same(b, d, near)).map(move |d| (b, d));
        of("buffered").into_iter().flat_map(fellows).collect()
    };
    let near = both(true);
    let writes = |pairs: &[(&Line<'a>, &Line<'a>)], operation| {
        pairs.iter().any(|(b, _): &(&Line<'a>, _)| b.labels.operation == operation)
    };
    let far: Vec<_> =
        both(false).into_iter().filter(|(b, _)| !writes(&near, b.labels.operation.as_str())).collect();
    near.into_iter()
        .chain(far)
        .map(|(buffered, direct)| {
            let both = buffered.points.iter().filter_map(|&(size, b)| Some((size, b, direct.at(size)?)));
            both.filter_map(|(size, buffered, direct)| {
                let found = speed(direct, buffered, ground.bootstrap)?;
                Some(Pair { size, buffered, direct, found })
            })
            .collect()
        })
        .filter(|pairs: &Vec<Pair<'a>>| !pairs.is_empty())
        .collect()
}

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    pairs(ground).iter().filter_map(|pairs| of_pairs(pairs, ground)).collect()
}

fn of_pairs(pairs: &[Pair<'_>], ground: &Ground<'_>) -> Option<Tip> {
    // From here on no size is slower direct, and this one is faster.
    let turn = pairs.iter().rposition(|p| p.found.less()).map_or(0, |i| i + 1);
    let pays = pairs.get(turn..)?.iter().find(|p| p.found.more());
    let loses = pairs.get(..turn)?.iter().min_by(|a, b| a.found.ratio.value.total_cmp(&b.found.ratio.value));
    let gain = |p: &Pair<'_>| p.found.ratio.value.max(1.0 / p.found.ratio.value);
    let tell = |p: &Pair<'_>| format!("{} as fast at {}", times(gain(p)), units::size(p.size));
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
    let cheaper = match cost(largest.direct, largest.buffered, ground.bootstrap) {
        Some(found) if found.clear() && found.ratio.value <= CHEAPER => format!(
            ", and takes {} of the processor time at {}",
            units::percent(found.ratio.value),
            units::size(largest.size)
        ),
        _ => String::new(),
    };
    let coalesced = "to the page cache, which coalesces them: buffered is";
    let text = match (pays, loses) {
        (Some(p), Some(l)) => format!(
            "In {what} pass the page cache by (direct) from requests of {} on: direct is {}{cheaper}. Leave smaller ones {coalesced} {}.",
            units::size(p.size),
            tell(p),
            tell(l)
        ),
        (Some(p), None) => format!(
            "In {what} pass the page cache by (direct) from requests of {} on: direct is {}{cheaper}.",
            units::size(p.size),
            tell(p)
        ),
        (None, _) => format!("In {what} leave small requests {coalesced} {}.", tell(shown)),
    };
    let size = units::size(shown.size);
    let (direct, buffered) = (format!("direct, {size}"), format!("buffered, {size}"));
    let sides = [(direct.as_str(), &shown.direct), (buffered.as_str(), &shown.buffered)];
    let (first, second) = if shown.found.more() { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
    let found = speed(*first.1, *second.1, ground.bootstrap)?;
    let evidence = against(first, second, &found);
    let mut witnesses = vec![shown.direct, shown.buffered];
    witnesses.extend([pays, loses].into_iter().flatten().flat_map(|p| [p.direct, p.buffered]));
    Some(Tip::new(format!("direct|{what}"), &found, &witnesses, found.ratio.value, text, evidence))
}
