//! Workers: the number that pays, or the cost of further ones.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::AdviceInput;
use super::super::ratio::{AT_PEAK, CHEAPER, cost};
use super::super::sweep::{Sweep, WORKERS, sweeps};
use super::super::words::{subject, task, times, way};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    sweeps(&input.own(), &WORKERS).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

fn of_sweep<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let (count, chosen) = sweep.reaching(AT_PEAK)?;
    let (fewest, base) = sweep.points.first().copied()?;
    let name = |n: u64| units::count(n as usize, "worker");
    let topic = format!("workers|{}|{}", subject(chosen.labels), sweep.labels.method);
    let what = format!("{} with {}", task(chosen.labels), way(&sweep.labels));
    let (most, highest_count) = sweep.last()?;
    if count > fewest
        && let Some(ratio) = NamedRatio::faster((name(count), chosen), (name(fewest), base), input)
    {
        let more = if most > count { format!("; {most} are no faster") } else { String::new() };
        let text = format!(
            "Use {} for {what}: {}, {} as fast as {}{}{more}.",
            ratio.first.0,
            ratio.rate(),
            ratio.times(),
            ratio.second.0,
            ratio.at_cost()
        );
        return Some(ratio.candidate([], topic, text));
    }
    // One worker is enough if more are slower, or take more CPU time without a gain.
    let ratio = NamedRatio::of((name(fewest), base), (name(most), highest_count), input)?;
    let enough = format!("{} for {what}: {}", ratio.first.0, ratio.rate());
    if ratio.found.is_greater() {
        let (times, cpu_cost) = (ratio.times(), ratio.and_cost());
        let text = format!("Use no more than {enough}; {most} take {times} the time{cpu_cost}.");
        return Some(ratio.candidate([], topic, text));
    }
    let cpu_cost = cost(highest_count, base, input.bootstrap);
    let cpu_cost = cpu_cost.filter(|found| found.is_clear() && found.estimate.value * CHEAPER >= 1.0)?;
    let worth = cpu_cost.estimate.value;
    let text = format!(
        "Use no more than {enough}; {most} are not significantly faster and take {} the CPU time.",
        times(worth)
    );
    Some(Candidate::new(topic, &cpu_cost, &[base, highest_count], worth, text, ratio.evidence()))
}
