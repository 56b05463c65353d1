//! Advice on cells that differ in the access method or in another setting of the strategy.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{
    AdviceInput, EligibleCell, End, TaskKey, by_task, end, fastest, grouped, is_single, only, slowest,
};
use super::super::sweep::{REQUEST, Sweep, groups_ignoring, setting, sweeps};
use super::super::words::{
    AT_PEAK, CHEAPER, Ratio, cost, method, speed, subject, task, times, way, with_interval,
};
use crate::document::{AccessMethod, Labels, Operation};
use crate::report::capital;
use crate::units;

/// Largest size of a small random request in bytes; its time hardly depends on its size.
const SMALL: u64 = 16 << 10;

fn is_small(labels: &Labels) -> bool {
    labels.is_random() && labels.request_bytes.is_some_and(|size| size <= SMALL) && end(labels) == End::Device
}

/// Cells that the advisors on jobs and on small random requests do not handle, by task.
pub(super) fn free<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let suits = |l: &Labels| l.job.is_empty() && l.method != AccessMethod::Command && !is_small(l);
    by_task(&only(input.plain(), suits))
}

/// The fastest method for a task, compared with `buffered`.
pub(super) fn fastest_method(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let best = fastest(group.iter().copied())?;
    let usual =
        |w: &EligibleCell<'_>| w.labels.method == AccessMethod::Buffered && !w.labels.bypasses_cache();
    let of = |wanted: bool| fastest(group.iter().copied().filter(|w| usual(w) == wanted));
    let named = method(best.labels);
    let others = || fastest(group.iter().copied().filter(|w| method(w.labels) != named));
    let other = if usual(&best) { of(false)? } else { of(true).or_else(others)? };
    let ratio = NamedRatio::faster((way(best.labels), best), (way(other.labels), other))?;
    let (what, gain, cpu_cost) = (task(best.labels), ratio.gain(), ratio.at_cost());
    let text = format!("Use {} for {what}: {gain}{cpu_cost}.", ratio.first.0);
    let mut candidate = ratio.candidate([], format!("method|{}", subject(best.labels)), text);
    if best.labels.method.is_mapped() && best.labels.operation == Operation::Read {
        candidate.advice.evidence += " A mapped read touches every cache line and copies nothing.";
    }
    Some(candidate)
}

/// One request size, buffered and direct, with the ratio of direct's rate to buffered's.
pub(in super::super) struct DirectPair<'a> {
    pub(in super::super) size: u64,
    pub(in super::super) buffered: EligibleCell<'a>,
    pub(in super::super) direct: EligibleCell<'a>,
    pub(in super::super) found: Ratio,
}

/// The request sizes that were measured buffered and direct, at the device, in the same experiment.
pub(in super::super) fn direct_pairs<'a>(input: &AdviceInput<'a>) -> Vec<Vec<DirectPair<'a>>> {
    let suits =
        |l: &Labels| l.is_sequential() && end(l) == End::Device && l.operation.is_transfer() && is_single(l);
    let all = sweeps(&only(input.plain(), suits), &REQUEST);
    let of = |method| all.iter().filter(|sweep| sweep.labels.method == method).collect::<Vec<_>>();
    let same = |a: &Sweep<'a>, b: &Sweep<'a>, near: bool| match (a.first(), b.first()) {
        (Some((_, a)), Some((_, b))) => {
            let [a, b] = [a, b].map(|w| TaskKey::of(w.cell));
            if near { a == b } else { a == TaskKey { experiment: a.experiment, ..b } }
        }
        _ => false,
    };
    // Cells of one experiment are interleaved; if none has both, two experiments of one run are compared.
    let both = |near: bool| -> Vec<(&Sweep<'a>, &Sweep<'a>)> {
        let direct = of(AccessMethod::Direct);
        let counterparts = |b| direct.iter().copied().filter(move |d| same(b, d, near)).map(move |d| (b, d));
        of(AccessMethod::Buffered).into_iter().flat_map(counterparts).collect()
    };
    let near = both(true);
    let found_near =
        |b: &Sweep<'_>| near.iter().any(|(other, _)| other.labels.operation == b.labels.operation);
    let far: Vec<_> = both(false).into_iter().filter(|(b, _)| !found_near(b)).collect();
    let pairs = |(buffered, direct): &(&Sweep<'a>, &Sweep<'a>)| -> Vec<DirectPair<'a>> {
        let both = buffered.points.iter().filter_map(|&(size, b)| Some((size, b, direct.at(size)?)));
        both.filter_map(|(size, buffered, direct)| {
            let found = speed(direct, buffered)?;
            Some(DirectPair { size, buffered, direct, found })
        })
        .collect()
    };
    near.iter().chain(&far).map(pairs).filter(|pairs| !pairs.is_empty()).collect()
}

/// The request size from which bypassing the page cache pays.
pub(super) fn direct(input: &AdviceInput<'_>) -> Vec<Candidate> {
    direct_pairs(input).iter().filter_map(|pairs| direct_or_buffered(pairs)).collect()
}

fn direct_or_buffered(pairs: &[DirectPair<'_>]) -> Option<Candidate> {
    // From this index on no size is slower direct.
    let turn = pairs.iter().rposition(|p| p.found.is_less()).map_or(0, |i| i + 1);
    let pays = pairs.get(turn..)?.iter().find(|p| p.found.is_greater());
    let loses =
        pairs.get(..turn)?.iter().min_by(|a, b| a.found.estimate.value.total_cmp(&b.found.estimate.value));
    let gain = |p: &DirectPair<'_>| p.found.estimate.value.max(1.0 / p.found.estimate.value);
    let describe = |p: &DirectPair<'_>| format!("{} as fast at {}", times(gain(p)), units::size(p.size));
    let shown = match (pays, loses) {
        (Some(p), Some(l)) if gain(p) < gain(l) => l,
        (Some(p), _) | (None, Some(p)) => p,
        (None, None) => return None,
    };
    let what = task(shown.buffered.labels);
    let largest = pairs.last()?;
    let cheaper = match cost(largest.direct, largest.buffered) {
        Some(found) if found.is_clear() && found.estimate.value <= CHEAPER => {
            let (share, size) = (units::percent(found.estimate.value), units::size(largest.size));
            format!(" and takes {share} of the CPU time at {size}")
        }
        _ => String::new(),
    };
    let coalesced = "the page cache coalesces them, so buffered is";
    let text = match pays {
        Some(p) => {
            let smaller = loses.map(|l| format!(" Buffer smaller requests: {coalesced} {}.", describe(l)));
            format!(
                "Bypass the page cache (direct) in {what} for requests of {} or more: direct is \
                 {}{cheaper}.{}",
                units::size(p.size),
                describe(p),
                smaller.unwrap_or_default()
            )
        }
        None => format!("Buffer small requests in {what}: {coalesced} {}.", describe(shown)),
    };
    let size = units::size(shown.size);
    let direct = (format!("direct, {size}"), shown.direct);
    let buffered = (format!("buffered, {size}"), shown.buffered);
    let (first, second) = if shown.found.is_greater() { (direct, buffered) } else { (buffered, direct) };
    let ratio = NamedRatio::of(first, second)?;
    let mut eligible_cells = vec![shown.direct, shown.buffered];
    eligible_cells.extend([pays, loses].into_iter().flatten().flat_map(|p| [p.direct, p.buffered]));
    let (topic, worth) = (format!("direct|{what}"), ratio.found.estimate.value);
    Some(Candidate::new(topic, &ratio.found, &eligible_cells, worth, text, ratio.evidence()))
}

pub(super) fn small_random<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    by_task(&only(input.plain(), is_small))
}

/// Requests in flight over all workers.
fn in_flight(eligible: &EligibleCell<'_>) -> u32 {
    eligible.labels.depth.unwrap_or(1).max(1).saturating_mul(eligible.labels.workers.unwrap_or(1).max(1))
}

/// The number of small random requests in flight, by depth or by workers.
pub(super) fn random(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let cells = || group.iter().copied();
    let peak = fastest(cells())?;
    let best = cells().filter(|w| w.rate() >= AT_PEAK * peak.rate()).min_by_key(in_flight)?;
    let one = fastest(cells().filter(|w| in_flight(w) == 1))?;
    let ratio = NamedRatio::faster((way(best.labels), best), (way(one.labels), one))?;
    let requests = |w: &EligibleCell<'_>| {
        w.summary.requests_per_s.map_or_else(|| units::rate(w.rate()), units::requests_rate)
    };
    // Depth and workers have the same effect on the device; the better one is named.
    let threaded = |w: &EligibleCell<'_>| w.labels.workers.is_some_and(|n| n > 1);
    let others = cells().filter(|w| in_flight(w) > 1 && threaded(w) != threaded(&best));
    let rival = fastest(others).and_then(|other| Some((other, speed(best, other)?)));
    let rival_text = match &rival {
        Some((other, found)) if found.is_greater() => {
            format!("; {} reaches {} of that", way(other.labels), units::percent(1.0 / found.estimate.value))
        }
        Some((other, _)) => format!("; {} is not significantly slower", way(other.labels)),
        None => String::new(),
    };
    let deepest = group.iter().map(in_flight).max().unwrap_or(0);
    let more = if in_flight(&best) == deepest { "; more were not measured" } else { "; more are no faster" };
    let text = format!(
        "Keep {} in flight in {}, {} per request ({}): {}, {} the rate of one at a time ({}, {}){rival_text}{more}.",
        units::count(in_flight(&best) as usize, "request"),
        task(best.labels),
        units::size(best.labels.request_bytes.unwrap_or(0)),
        ratio.first.0,
        requests(&best),
        ratio.times(),
        ratio.second.0,
        requests(&one)
    );
    let topic = format!("random|{}|{:?}", subject(best.labels), best.labels.request_bytes);
    Some(ratio.candidate(rival.map(|(other, _)| other), topic, text))
}

/// The method with the least CPU time among those near the peak.
pub(super) fn economy(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let top = fastest(group.iter().copied())?;
    let near = group.iter().copied().filter(|w| w.rate() >= AT_PEAK * top.rate());
    let cheap = near.min_by(|a, b| a.cost().value.total_cmp(&b.cost().value))?;
    let found = cost(cheap, top).filter(|found| found.is_clear())?;
    if cheap.is_same_cell(&top) || found.estimate.value > CHEAPER {
        return None;
    }
    let [cheap_way, top_way] = [cheap, top].map(|w| way(w.labels));
    let [cheap_cost, top_cost] = [cheap, top].map(|w| format!("{} ms/MB", units::ms_per_mb(w.cost().value)));
    let text = format!(
        "{cheap_way} reaches {} of the peak of {} at {} of the CPU time ({cheap_cost}; the fastest, {top_way}, takes \
         {top_cost}).",
        units::percent(cheap.rate() / top.rate()),
        task(top.labels),
        units::percent(found.estimate.value)
    );
    let evidence = format!(
        "CPU time per megabyte, {cheap_way}: {cheap_cost}; {top_way}: {top_cost}; ratio {}. Rates {} and {}.",
        with_interval(&found),
        units::rate(cheap.rate()),
        units::rate(top.rate())
    );
    let (topic, worth) = (format!("economy|{}", subject(top.labels)), 1.0 / found.estimate.value);
    Some(Candidate::new(topic, &found, &[cheap, top], worth, capital(&text), evidence))
}

/// A setting's name, and the function that clears the labels derived from it.
type DerivedSetting = (&'static str, fn(&mut Labels));

const SETTINGS: [DerivedSetting; 4] =
    [("model", |l| l.model = None), ("stripe", |_| ()), ("window", |_| ()), ("completion", |_| ())];

/// Further settings of a strategy: model, stripe, window, completion order.
pub(super) fn settings(input: &AdviceInput<'_>) -> Vec<Candidate> {
    SETTINGS.iter().flat_map(|&(name, clear)| of_setting(name, clear, input)).collect()
}

fn of_setting(name: &str, clear: fn(&mut Labels), input: &AdviceInput<'_>) -> Vec<Candidate> {
    let set = only(input.own(), |labels| setting(labels, name).is_some());
    let of = |w: &EligibleCell<'_>| format!("{name}={}", setting(w.labels, name).unwrap_or_default());
    let candidate = |group: Vec<EligibleCell<'_>>| {
        let (best, worst) = (fastest(group.iter().copied())?, slowest(group)?);
        let ratio = NamedRatio::faster((of(&best), best), (of(&worst), worst))?;
        let (what, with) = (task(best.labels), way(best.labels));
        let text = format!("Set {} in {what} with {with}: {}.", ratio.first.0, ratio.gain());
        let topic = format!("{name}|{}|{}", subject(best.labels), best.labels.method);
        Some(ratio.candidate([], topic, text))
    };
    groups_ignoring(&set, clear, &[name]).into_iter().filter_map(candidate).collect()
}

/// Cells of interfaces, by task. Engines are chosen by strategy; an interface is chosen when a program is written.
pub(super) fn interfaces<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let one_call = |l: &Labels| {
        l.method.registered().is_none()
            && !l.method.is_pair()
            && !l.method.is_empty()
            && l.method != AccessMethod::Command
            && l.request_bytes.is_some()
            && is_single(l)
    };
    by_task(&only(input.plain(), one_call))
}

/// The interface with the largest loss to the best at the same size of call.
pub(super) fn interface(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let mut worst: Option<NamedRatio<'_>> = None;
    for same_size in grouped(group, |w| w.labels.request_bytes) {
        let best = fastest(same_size.iter().copied())?;
        for other in same_size.into_iter().filter(|w| w.labels.method != best.labels.method) {
            let [first, second] = [best, other].map(|w| (w.labels.method.as_str(), w));
            let ratio = NamedRatio::faster(first, second);
            let larger = |ratio: &NamedRatio<'_>| {
                worst.as_ref().is_none_or(|known| known.found.estimate.value < ratio.found.estimate.value)
            };
            worst = ratio.filter(larger).or(worst);
        }
    }
    let ratio = worst?;
    let ((good, best), (bad, _)) = (&ratio.first, &ratio.second);
    let text = format!(
        "Use {good} instead of {bad} for {}, {} per call: {bad} takes {} the time{}.",
        task(best.labels),
        units::size(best.labels.request_bytes?),
        ratio.times(),
        ratio.and_cost()
    );
    Some(ratio.candidate([], format!("interface|{}", subject(best.labels)), text))
}

/// Cells that differ in their variant only, without those of a stream's buffer.
pub(super) fn variants<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let own = only(input.own(), |labels| labels.buffer_bytes().is_none());
    groups_ignoring(&own, |l: &mut Labels| l.variant = None, &[])
}

/// A variant's name; a cell without one is named by its counterpart.
fn variant_name(eligible: &EligibleCell<'_>, other: &EligibleCell<'_>) -> String {
    match (&eligible.labels.variant, other.labels.variant.as_deref()) {
        (Some(variant), _) if variant.starts_with("as ") => format!("“{variant}”"),
        (Some(variant), _) => variant.clone(),
        (None, Some("scalar")) => "vector instructions".into(),
        (None, Some("oldest first")) => "completion in any order".into(),
        (None, Some(other)) => format!("no “{other}”"),
        (None, None) => "the default".into(),
    }
}

/// The baseline of a group: the cell without a variant, or one called plain, scalar or none.
fn base<'a>(group: &[EligibleCell<'a>]) -> Option<EligibleCell<'a>> {
    let by = |wanted: &dyn Fn(&str) -> bool| {
        group.iter().copied().find(|w| wanted(&w.labels.variant.as_deref().unwrap_or("").to_lowercase()))
    };
    by(&|v| v.is_empty())
        .or_else(|| by(&|v| ["none", "plain", "default", "scalar"].iter().any(|word| v.contains(word))))
        .or_else(|| by(&|v| v.starts_with("no ")))
}

/// Scalar or SIMD, hints, and other alternatives within an experiment.
pub(super) fn variant(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let best = fastest(group.iter().copied())?;
    let others: Vec<EligibleCell<'_>> = group.iter().copied().filter(|w| !w.is_same_cell(&best)).collect();
    let other = base(&others).or_else(|| slowest(others))?;
    let (first, second) = (variant_name(&best, &other), variant_name(&other, &best));
    let ratio = NamedRatio::faster((first.as_str(), best), (second.as_str(), other))?;
    let bare = Labels { variant: None, ..best.labels.clone() };
    let (what, with) = (task(&bare), way(&bare));
    let text = format!("Use {first} in {what} with {with}: {}{}.", ratio.gain(), ratio.at_cost());
    // One line covers all request sizes and files on which the same variants were measured.
    let topic = format!("variant|{}|{}|{first}|{second}", best.cell.experiment, subject(&bare));
    Some(ratio.candidate([], topic, text))
}

/// Cells that differ in the stream's buffer and in the size of calls only.
pub(super) fn stream_buffers<'a>(input: &AdviceInput<'a>) -> Vec<Vec<EligibleCell<'a>>> {
    let described = only(input.own(), |labels| labels.buffer_bytes().is_some());
    let clear = |l: &mut Labels| (l.variant, l.request_bytes) = (None, None);
    groups_ignoring(&described, clear, &["request"])
}

/// The sizes of calls for which a stream's buffer pays, and its size.
pub(super) fn stream_buffer(group: &[EligibleCell<'_>]) -> Option<Candidate> {
    let of = |w: &EligibleCell<'_>| w.labels.buffer_bytes();
    let (bare, buffered): (Vec<_>, Vec<_>) = group.iter().copied().partition(|w| of(w) == Some(0));
    let call = |w: &EligibleCell<'_>| w.labels.request_bytes.unwrap_or(0);
    let mut calls: Vec<u64> = group.iter().map(call).collect();
    calls.sort_unstable();
    calls.dedup();
    // Size of call, and the ratio of the smallest buffer near the best to the unbuffered cell.
    let compared: Vec<_> = calls
        .into_iter()
        .filter_map(|size| {
            let here = || buffered.iter().copied().filter(|w| call(w) == size);
            let top = fastest(here())?.rate();
            let best = here().filter(|w| w.rate() >= AT_PEAK * top).min_by_key(of)?;
            let none = bare.iter().copied().find(|w| call(w) == size)?;
            let name = format!("a buffer of {}", units::size(of(&best)?));
            Some((size, NamedRatio::of((name, best), ("no buffer", none))?))
        })
        .collect();
    let pays = |c: &&(u64, NamedRatio<'_>)| c.1.found.is_greater();
    let gain = |c: &(u64, NamedRatio<'_>)| c.1.found.estimate.value;
    let (at, ratio) = compared.iter().filter(pays).max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let useless = compared.iter().find(|c| !compared.iter().filter(|d| d.0 >= c.0).any(|d| pays(&d)));
    let until = match useless {
        Some((size, ..)) => format!("; no gain for calls of {} or more", units::size(*size)),
        None => String::new(),
    };
    let bare = Labels { variant: None, request_bytes: None, ..ratio.first.1.labels.clone() };
    let text = format!(
        "Use {} per stream for {} with {} in calls of {}: {}, {} as fast as unbuffered{until}.",
        ratio.first.0,
        task(&bare),
        way(&bare),
        units::size(*at),
        ratio.rate(),
        ratio.times()
    );
    Some(ratio.candidate([], format!("buffer|{}", subject(&bare)), text))
}
