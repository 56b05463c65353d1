//! Request size: the smallest that reaches the peak, and the cost of small ones.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell, is_sequential};
use super::super::ratio::{AT_PEAK, CHEAPER, cost, speed};
use super::super::sweep::{REQUEST, Sweep, sweeps};
use super::super::words::{subject, task, times, way};
use crate::units;

/// Common request size of programs that do not choose one, in bytes.
const USUAL: u64 = 4 << 10;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let sequential: Vec<EligibleCell<'_>> =
        input.own().into_iter().filter(|w| is_sequential(w.labels)).collect();
    let all = sweeps(&sequential, &REQUEST);
    let task_of = |sweep: &Sweep<'_>| sweep.points.first().map(|(_, w)| task(w.labels));
    let top = |sweep: &Sweep<'_>| sweep.peak().map_or(0.0, |(_, w)| w.rate());
    all.iter()
        .filter(|sweep| {
            // Of the many methods: the common one, the direct one, and the fastest.
            let rivals = all.iter().filter(|other| task_of(other) == task_of(sweep));
            matches!(sweep.labels.method.as_str(), "buffered" | "direct")
                || rivals.into_iter().all(|other| top(other) <= top(sweep))
        })
        .filter_map(|sweep| of_sweep(sweep, input))
        .collect()
}

fn of_sweep<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let (size, chosen) = sweep.reaching(AT_PEAK)?;
    let (peak_size, peak) = sweep.peak()?;
    let (largest, last) = sweep.last()?;
    let smaller = || sweep.points.iter().copied().filter(|(at, _)| *at < size);
    let small = smaller().find(|(at, _)| *at >= USUAL).or_else(|| smaller().next());
    let topic = format!("request|{}|{}", subject(chosen.labels), sweep.labels.method);
    // Beyond the peak, rates drop again if a request exceeds the processor's cache.
    let too_large = (largest > size).then(|| speed(chosen, last, input.bootstrap)).flatten();
    let too_large = too_large.filter(|found| found.is_clear() && found.is_greater());
    let reached = match size == peak_size {
        true => "the peak".into(),
        false => format!(
            "{} of the peak (at {})",
            units::percent(chosen.rate() / peak.rate()),
            units::size(peak_size)
        ),
    };
    let recommended = format!(
        "Use requests of {} for {} with {}: {}, {reached}",
        units::size(size),
        task(chosen.labels),
        way(&sweep.labels),
        units::rate(chosen.rate())
    );
    let Some((small_size, small)) = small else {
        too_large?;
        let (size, largest) = (units::size(size), units::size(largest));
        let ratio = NamedRatio::of((size, chosen), (largest.as_str(), last), input)?;
        let text = format!(
            "{recommended}; larger ones are no faster, and {largest} takes {} the time.",
            ratio.times()
        );
        return Some(ratio.candidate([], topic, text));
    };
    let small_name = units::size(small_size);
    // Sizes whose intervals overlap may do as well; the smallest of them is named.
    let alike = sweep
        .points
        .iter()
        .rev()
        .filter(|(at, _)| *at < size)
        .take_while(|(_, w)| speed(chosen, *w, input.bootstrap).is_some_and(|found| !found.is_greater()));
    let recommended = match alike.last() {
        Some((at, _)) => {
            format!("{recommended} (sizes from {} up are not significantly slower)", units::size(*at))
        }
        None => recommended,
    };
    let beyond = too_large.map_or_else(String::new, |found| {
        format!(", and {} takes {} the time", units::size(largest), times(found.estimate.value))
    });
    let ratio = NamedRatio::of((units::size(size), chosen), (small_name.as_str(), small), input)?;
    if ratio.found.is_greater() {
        let (times, cpu_cost) = (ratio.times(), ratio.and_cost());
        let text = format!("{recommended}; {small_name} takes {times} the time{cpu_cost}{beyond}.");
        return Some(ratio.candidate([peak], topic, text));
    }
    let cpu_cost = cost(small, chosen, input.bootstrap);
    let cpu_cost = cpu_cost.filter(|found| found.is_clear() && found.estimate.value * CHEAPER >= 1.0)?;
    let worth = cpu_cost.estimate.value;
    let text = format!(
        "{recommended}; {small_name} is not significantly slower, but takes {} the CPU time{beyond}.",
        times(worth)
    );
    Some(Candidate::new(topic, &cpu_cost, &[chosen, small], worth, text, ratio.evidence()))
}
