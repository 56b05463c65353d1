//! Advice on cells along an axis: request size, depth, workers, streams, disks, load, length of the file.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, fastest, grouped, only};
use super::super::sweep::{FILE, REQUEST, Sweep, TARGETS, sweeps};
use super::super::words::{AT_PEAK, Ratio, speed, task, times, way};
use crate::document::{AccessMethod, Confidence, Disks, Labels, StopReason};
use crate::report::{SUSTAINED_SHARE, spanned};
use crate::stats::{Bootstrap, Estimate, median};
use crate::units;

/// Common request size of programs that do not choose one, in bytes.
const USUAL: u64 = 4 << 10;
/// Limit for the 99th percentile, as a multiple of the idle median.
const PATIENCE: f64 = 10.0;
/// A method is much slower if its rate drops below this share.
const CLIFF: f64 = 0.7;
/// Streams are fair if the slowest gets at least this share of the fastest's rate.
const FAIR: f64 = 0.8;

pub(super) fn sequential<'a>(input: &AdviceInput<'a>) -> Vec<EligibleCell<'a>> {
    only(input.own(), Labels::is_sequential)
}

/// Sweeps over the request size: of the many methods the common one, the direct one, and the fastest.
pub(super) fn request_sweeps<'a>(input: &AdviceInput<'a>) -> Vec<Sweep<'a>> {
    let all = sweeps(&sequential(input), &REQUEST);
    let task_of = |sweep: &Sweep<'_>| sweep.points.first().map(|(_, w)| task(w.labels));
    let top = |sweep: &Sweep<'_>| sweep.peak().map_or(0.0, |(_, w)| w.rate());
    let chosen: Vec<bool> = all
        .iter()
        .map(|sweep| {
            let mut rivals = all.iter().filter(|other| task_of(other) == task_of(sweep));
            matches!(sweep.labels.method, AccessMethod::Buffered | AccessMethod::Direct)
                || rivals.all(|other| top(other) <= top(sweep))
        })
        .collect();
    all.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(sweep, _)| sweep).collect()
}

/// The smallest request size that reaches the peak, and the cost of small ones.
pub(super) fn request(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (size, chosen) = sweep.reaching(AT_PEAK)?;
    let (peak_size, peak) = sweep.peak()?;
    let (largest, last) = sweep.last()?;
    let smaller = || sweep.points.iter().copied().filter(|(at, _)| *at < size);
    let small = smaller().find(|(at, _)| *at >= USUAL).or_else(|| smaller().next());
    let topic = sweep.topic("request", chosen);
    // Beyond the peak, rates drop again if a request exceeds the processor's cache.
    let too_large = (largest > size).then(|| speed(chosen, last)).flatten();
    let too_large = too_large.filter(|found| found.is_clear() && found.is_greater());
    let reached = match size == peak_size {
        true => "the peak".into(),
        false => {
            let share = units::percent(chosen.rate() / peak.rate());
            format!("{share} of the peak (at {})", units::size(peak_size))
        }
    };
    let name = units::size(size);
    let recommended = format!(
        "Use requests of {name} for {}: {}, {reached}",
        sweep.described(chosen),
        units::rate(chosen.rate())
    );
    let Some((small_size, small)) = small else {
        too_large?;
        let largest = units::size(largest);
        let ratio = NamedRatio::of((name, chosen), (largest.as_str(), last))?;
        let times = ratio.times();
        let text = format!("{recommended}; larger ones are no faster, and {largest} takes {times} the time.");
        return Some(ratio.candidate([], topic, text));
    };
    let small_name = units::size(small_size);
    // Sizes whose intervals overlap may do as well; the smallest of them is named.
    let alike = sweep.points.iter().rev().filter(|(at, _)| *at < size);
    let alike = alike.take_while(|(_, w)| speed(chosen, *w).is_some_and(|found| !found.is_greater()));
    let recommended = match alike.last() {
        Some((at, _)) => {
            format!("{recommended} (sizes from {} up are not significantly slower)", units::size(*at))
        }
        None => recommended,
    };
    let beyond = too_large.map_or_else(String::new, |found| {
        format!(", and {} takes {} the time", units::size(largest), times(found.estimate.value))
    });
    let ratio = NamedRatio::of((name, chosen), (small_name.as_str(), small))?;
    if ratio.found.is_greater() {
        let (times, cpu_cost) = (ratio.times(), ratio.and_cost());
        let text = format!("{recommended}; {small_name} takes {times} the time{cpu_cost}{beyond}.");
        return Some(ratio.candidate([peak], topic, text));
    }
    ratio.cpu_higher((small, chosen), topic, |times| {
        format!(
            "{recommended}; {small_name} is not significantly slower, but takes {times} the CPU time{beyond}."
        )
    })
}

/// The smallest depth at the peak, and the depth that reaches half of it.
pub(super) fn depth(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (depth, chosen) = sweep.reaching(AT_PEAK)?;
    let (shallowest, base) = sweep.first()?;
    let (deepest, last) = sweep.last()?;
    let name = |depth| format!("depth {depth}");
    let ratio = NamedRatio::faster((name(depth), chosen), (name(shallowest), base))?;
    let (half, _) = sweep.reaching(0.5)?;
    let half = match half == shallowest {
        true => format!("depth {shallowest} already reaches half of that"),
        false => format!("half of that needs depth {half}"),
    };
    let slower = speed(last, chosen).filter(|found| found.is_clear() && found.is_less());
    let more = match slower {
        _ if depth == deepest => "greater depths were not measured".into(),
        Some(found) => format!("depth {deepest} reaches {} of that", units::percent(found.estimate.value)),
        None => format!("no gain up to depth {deepest}"),
    };
    let text = format!(
        "Keep {depth} requests in flight in {}: {}, {} the rate of depth {shallowest}; {half}, {more}.",
        sweep.described(chosen),
        ratio.rate(),
        ratio.times()
    );
    Some(ratio.candidate([last], sweep.topic("depth", chosen), text))
}

/// The largest possible gain of more workers for them not to pay: the end of the interval.
const MOST_GAIN: f64 = 0.1;

/// The number of workers that pays, or the cost of further ones.
pub(super) fn workers(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (count, chosen) = sweep.reaching(AT_PEAK)?;
    let (fewest, base) = sweep.first()?;
    let (most, highest_count) = sweep.last()?;
    let name = |n: u64| units::count(n as usize, "worker");
    let (topic, what) = (sweep.topic("workers", chosen), sweep.described(chosen));
    if count > fewest
        && let Some(ratio) = NamedRatio::faster((name(count), chosen), (name(fewest), base))
    {
        let more = if most > count { format!("; {most} are no faster") } else { String::new() };
        let text = format!("Use {} for {what}: {}{}{more}.", ratio.first.0, ratio.gain(), ratio.at_cost());
        return Some(ratio.candidate([], topic, text));
    }
    // One worker is enough if more are slower, or take more CPU time without a gain.
    let ratio = NamedRatio::of((name(fewest), base), (name(most), highest_count))?;
    let enough = format!("{} for {what}: {}", ratio.first.0, ratio.rate());
    if ratio.found.is_greater() {
        let (times, cpu_cost) = (ratio.times(), ratio.and_cost());
        let text = format!("Use no more than {enough}; {most} take {times} the time{cpu_cost}.");
        return Some(ratio.candidate([], topic, text));
    }
    // Wide intervals do not show that more workers gain nothing.
    let gain = 1.0 / ratio.found.estimate.low - 1.0;
    if gain > MOST_GAIN {
        return None;
    }
    ratio.cpu_higher((highest_count, base), topic, |times| {
        format!(
            "Use no more than {enough}; {most} are at most {} faster and take {times} the CPU time.",
            units::percent(gain.max(0.01))
        )
    })
}

/// The number of concurrent streams at the peak, and their fairness.
pub(super) fn streams(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (count, best) = sweep.peak()?;
    let (fewest, first) = sweep.first()?;
    let (most, highest_count) = sweep.last()?;
    let streams = |n: u64| units::count(n as usize, "stream");
    let what = sweep.described(best);
    let topic = format!("streams|{what}");
    let fair = match fairness(&highest_count) {
        Some(share) if share < FAIR => {
            format!(" The slowest of {most} gets {} of the fastest.", units::percent(share))
        }
        Some(_) => format!(" All {most} get about the same rate."),
        None => String::new(),
    };
    let falls = NamedRatio::faster((streams(count), best), (streams(most), highest_count));
    if let Some(ratio) = falls {
        let text = format!(
            "Run no more than {} of {what} at once: {} in total; {} reach {}, {} less.{fair}",
            ratio.first.0,
            ratio.rate(),
            ratio.second.0,
            units::rate(highest_count.rate()),
            units::percent(1.0 - 1.0 / ratio.found.estimate.value)
        );
        return Some(ratio.candidate([], topic, text));
    }
    let (enough, at) = sweep.reaching(AT_PEAK)?;
    let ratio = NamedRatio::faster((streams(enough), at), (streams(fewest), first))?;
    let (NamedRatio { first, second, .. }, rate, times) = (&ratio, ratio.rate(), ratio.times());
    let text = format!(
        "Run {} of {what} at once: {rate} in total, {times} the rate of {}.{fair}",
        first.0, second.0
    );
    Some(ratio.candidate([highest_count], topic, text))
}

/// The slowest stream's share of the fastest's rate: the median over the samples.
fn fairness(eligible: &EligibleCell<'_>) -> Option<f64> {
    let shares = eligible.cell.counted().filter(|s| s.streams.len() > 1).filter_map(|s| {
        let top = s.streams.iter().copied().fold(0.0, f64::max);
        let least = s.streams.iter().copied().fold(f64::INFINITY, f64::min);
        (top > 0.0 && least.is_finite()).then_some(least / top)
    });
    median(&shares.collect::<Vec<_>>())
}

pub(in super::super) fn disk_sweeps<'a>(input: &AdviceInput<'a>) -> Vec<Sweep<'a>> {
    sweeps(&input.ours(), &TARGETS)
}

/// The smallest number of disks after which no larger one is faster, its cell, and the fastest cell with more disks.
type Saturation<'a> = (u64, EligibleCell<'a>, Option<(EligibleCell<'a>, Ratio)>);

fn saturation<'a>(sweep: &Sweep<'a>) -> Option<Saturation<'a>> {
    sweep.points.iter().enumerate().find_map(|(place, &(count, enough))| {
        let more = sweep.points[place + 1..].iter();
        let beyond: Vec<(EligibleCell<'a>, Ratio)> =
            more.filter_map(|&(_, more)| Some((more, speed(more, enough)?))).collect();
        let best = beyond.iter().copied().max_by(|a, b| a.0.rate().total_cmp(&b.0.rate()));
        (!beyond.iter().any(|(_, found)| found.is_greater())).then_some((count, enough, best))
    })
}

/// The task on the disks, without the variant `together`.
pub(in super::super) fn describe_disks(sweep: &Sweep<'_>) -> String {
    let mut labels = sweep.labels.clone();
    labels.variant.take_if(|_| sweep.labels.disks() == Some(Disks::Together));
    format!("{} with {}", task(&labels), way(&sweep.labels))
}

/// The number of disks from which adding one no longer helps.
pub(super) fn disks(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (fewest, first) = sweep.first()?;
    let (most, _) = sweep.last()?;
    let (count, enough, beyond) = saturation(sweep)?;
    let disks = |n: u64| units::count(n as usize, "disk");
    let (topic, what) = (sweep.topic("disks", enough), describe_disks(sweep));
    if count == fewest {
        // No gain at all is reported only if it is certain.
        let (last, found) = beyond.filter(|(_, found)| !found.is_undecided())?;
        let most = last.labels.targets.map_or(most, u64::from);
        let text = format!(
            "More disks do not raise the throughput of {what}: {} {}, {} {}; they share a limit.",
            disks(fewest),
            units::rate(first.rate()),
            disks(most),
            units::rate(last.rate())
        );
        let ratio = NamedRatio::of((disks(most), last), (disks(fewest), first))?;
        let worth = 1.0 / found.estimate.value;
        return Some(Candidate::new(topic, &found, &[first, last], worth, text, ratio.evidence()));
    }
    let ratio = NamedRatio::faster((disks(count), enough), (disks(fewest), first))?;
    let further = match beyond {
        Some(_) => format!("; no gain up to {most}"),
        None => "; the last one still helped, and more were not measured".into(),
    };
    let text = format!("Spread {what} over {}: {}{further}.", disks(count), ratio.gain());
    Some(ratio.candidate(beyond.map(|(more, _)| more), topic, text))
}

/// The median of the samples' 99th percentiles, in seconds.
fn slow(eligible: &EligibleCell<'_>) -> Option<Estimate> {
    let slowest = eligible.cell.counted().filter_map(|s| s.latency.map(|l| l.p99_s));
    Bootstrap::default().median(&slowest.collect::<Vec<_>>())
}

/// The highest load at which the slowest requests stay fast.
pub(super) fn latency(sweep: &Sweep<'_>) -> Option<Candidate> {
    let (lowest, idle) = sweep.first()?;
    let alone = idle.summary.latency?.p50_s;
    if alone.is_nan() || alone <= 0.0 {
        return None;
    }
    let limit = PATIENCE * alone;
    let described: Vec<(u64, EligibleCell<'_>, Estimate)> =
        sweep.points.iter().filter_map(|&(load, w)| Some((load, w, slow(&w)?))).collect();
    let bears = |(load, w, p99): &(u64, EligibleCell<'_>, Estimate)| {
        let sustained = w.summary.requests_per_s.is_none_or(|n| n >= SUSTAINED_SHARE * *load as f64);
        sustained && p99.value <= limit
    };
    let beyond = described.iter().position(|point| !bears(point)).unwrap_or(described.len());
    let (load, held, p99) = described.get(..beyond)?.last()?;
    let broken = described.get(beyond);
    let (at, takes) = (units::requests_rate(*load as f64), units::seconds(p99.value));
    let what = sweep.described(*held);
    let patience = format!("{} the idle median ({})", times(PATIENCE), units::seconds(alone));
    let text = match broken {
        None => {
            format!("Up to {at}, the highest load measured, the p99 of {what} is {takes}, below {patience}.")
        }
        Some((load, w, p99)) => {
            let next = units::requests_rate(*load as f64);
            let served = w.summary.requests_per_s.unwrap_or(0.0);
            let then = match p99.value > limit {
                true => format!("at {next} it is {}", units::seconds(p99.value)),
                false => format!("of {next} only {} are served", units::requests_rate(served)),
            };
            format!("Limit {what} to {at} for a p99 of up to {patience}: it is {takes}; {then}.")
        }
    };
    let evidence = format!(
        "p99 at {at}: {}; median at {}: {}.",
        spanned(*p99, units::seconds),
        units::requests_rate(lowest as f64),
        units::seconds(alone)
    );
    // Certain if the interval at the sustained load is below the limit, and that at the next load above it.
    let apart = p99.high <= limit
        && broken.is_none_or(|(load, w, p)| {
            p.low > limit || w.summary.requests_per_s.is_some_and(|n| n < SUSTAINED_SHARE * *load as f64)
        });
    let settled = |w: &EligibleCell<'_>| w.summary.stop == StopReason::Precise && w.summary.unproved == 0;
    let confidence = match () {
        () if !apart => Confidence::Low,
        () if settled(held) && settled(&idle) => Confidence::High,
        () => Confidence::Medium,
    };
    let worth = broken.map_or(1.0, |(_, _, p)| p.value / p99.value);
    let cells: Vec<_> = [*held, idle].into_iter().chain(broken.map(|(_, w, _)| *w)).collect();
    Some(Candidate::with(sweep.topic("latency", *held), confidence, &cells, worth, text, evidence))
}

/// Limited memory: the file size from which a method gets much slower, and the fastest alternative.
pub(super) fn memory(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let limited = only(input.ours(), |labels| labels.memory_limit_bytes.is_some());
    sweeps(&limited, &FILE).iter().filter_map(|sweep| with_limit(sweep, &limited)).collect()
}

fn with_limit(sweep: &Sweep<'_>, limited: &[EligibleCell<'_>]) -> Option<Candidate> {
    // The first size that is clearly slower than the best of the smaller ones.
    let (size, fallen, high) =
        sweep.points.iter().enumerate().skip(1).find_map(|(place, &(size, here))| {
            let high = fastest(sweep.points[..place].iter().map(|(_, w)| *w))?;
            let found = speed(high, here)?;
            (found.is_greater() && found.estimate.value * CLIFF >= 1.0).then_some((size, here, high))
        })?;
    let limit = units::size(sweep.labels.memory_limit_bytes?);
    // Cells of the same task with files of that size under the same limit.
    let task = |l: &Labels| (l.operation.clone(), l.order.clone(), l.file_bytes, l.memory_limit_bytes);
    let same = grouped(limited, |w| task(w.labels));
    let rivals = same.into_iter().find(|group| group.iter().any(|w| w.is_same_cell(&fallen)))?;
    let best = fastest(rivals).filter(|best| !best.is_same_cell(&fallen));
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
    let better = best.and_then(|best| NamedRatio::faster((how(&best), best), (how(&fallen), fallen)));
    if let Some(ratio) = better {
        let (method, rate, times) = (&ratio.first.0, ratio.rate(), ratio.times());
        let text = format!("{head} use {method} for {operation}: {rate}, {times} as fast; {fall}.");
        return Some(ratio.candidate([high], topic, text));
    }
    let files = |size: &str| format!("files of {size}");
    let ratio = NamedRatio::of((files(&small), high), (files(&units::size(size)), fallen))?;
    let text =
        format!("{head} expect lower rates of {operation}: {fall}, and no measured alternative is faster.");
    Some(ratio.candidate([], topic, text))
}
