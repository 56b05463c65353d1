//! Workers: the number that pays, or the cost of further ones.

use super::super::candidate::Candidate;
use super::super::input::AdviceInput;
use super::super::ratio::{AT_PEAK, CHEAPER, cost, speed};
use super::super::sweep::{Sweep, WORKERS, sweeps};
use super::super::words::{against, and_cost, at_cost, subject, task, times, way};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    sweeps(&input.own(), &WORKERS).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

fn of_sweep(sweep: &Sweep<'_>, input: &AdviceInput<'_>) -> Option<Candidate> {
    let (count, chosen) = sweep.reaching(AT_PEAK)?;
    let (fewest, base) = sweep.points.first().copied()?;
    let name = |n: u64| units::count(n as usize, "worker");
    let topic = format!("workers|{}|{}", subject(chosen.labels), sweep.labels.method);
    let what = format!("{} with {}", task(chosen.labels), way(&sweep.labels));
    if count > fewest
        && let Some(found) = speed(chosen, base, input.bootstrap).filter(|found| found.is_greater())
    {
        let cpu_cost = at_cost(cost(chosen, base, input.bootstrap).as_ref());
        let (most, _) = sweep.last()?;
        let more = if most > count { format!("; {most} are no faster") } else { String::new() };
        let text = format!(
            "Use {} for {what}: {}, {} as fast as {}{cpu_cost}{more}.",
            name(count),
            units::rate(chosen.rate()),
            times(found.estimate.value),
            name(fewest)
        );
        let evidence = against((&name(count), &chosen), (&name(fewest), &base), &found);
        return Some(Candidate::new(topic, &found, &[chosen, base], found.estimate.value, text, evidence));
    }
    // One worker is enough if more are slower, or take more CPU time without a gain.
    let (most, highest_count) = sweep.last()?;
    let slower = speed(base, highest_count, input.bootstrap)?;
    let cpu_cost = cost(highest_count, base, input.bootstrap);
    let evidence = against((&name(fewest), &base), (&name(most), &highest_count), &slower);
    let enough = format!("{} for {what}: {}", name(fewest), units::rate(base.rate()));
    if slower.is_greater() {
        let cpu_cost = and_cost(cpu_cost.as_ref());
        let worth = slower.estimate.value;
        let text = format!("Use no more than {enough}; {most} take {} the time{cpu_cost}.", times(worth));
        return Some(Candidate::new(topic, &slower, &[base, highest_count], worth, text, evidence));
    }
    let cpu_cost = cpu_cost.filter(|found| found.is_clear() && found.estimate.value * CHEAPER >= 1.0)?;
    let worth = cpu_cost.estimate.value;
    let text = format!(
        "Use no more than {enough}; {most} are not significantly faster and take {} the CPU time.",
        times(worth)
    );
    Some(Candidate::new(topic, &cpu_cost, &[base, highest_count], worth, text, evidence))
}
