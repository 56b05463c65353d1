//! Workers: how many pay, or what they cost where they do not.

use super::super::contrast::{cost, speed};
use super::super::line::{Line, WORKERS, lines};
use super::super::tip::Tip;
use super::super::witness::Ground;
use super::super::words::{against, and_cost, at_cost, subject, task, times, way};
use super::{AT_PEAK, CHEAPER};
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    lines(&ground.own(), &WORKERS).iter().filter_map(|line| of_line(line, ground)).collect()
}

fn of_line(line: &Line<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let (count, chosen) = line.reaching(AT_PEAK)?;
    let (fewest, base) = line.points.first().copied()?;
    let name = |n: u64| units::count(n as usize, "worker");
    let topic = format!("workers|{}|{}", subject(chosen.labels), line.labels.method);
    let what = format!("{} with {}", task(chosen.labels), way(&line.labels));
    if count > fewest
        && let Some(found) = speed(chosen, base, ground.bootstrap).filter(|found| found.more())
    {
        let cpu_cost = at_cost(cost(chosen, base, ground.bootstrap).as_ref());
        let (most, _) = line.last()?;
        let more = if most > count { format!("; {most} bring no more") } else { String::new() };
        let text = format!(
            "Use {} for {what}: {}, {} as fast as {}{cpu_cost}{more}.",
            name(count),
            units::rate(chosen.rate()),
            times(found.ratio.value),
            name(fewest)
        );
        let evidence = against((&name(count), &chosen), (&name(fewest), &base), &found);
        return Some(Tip::new(topic, &found, &[chosen, base], found.ratio.value, text, evidence));
    }
    // One worker does, if the others are slower, or cost more for nothing.
    let (most, crowd) = line.last()?;
    let slower = speed(base, crowd, ground.bootstrap)?;
    let cpu_cost = cost(crowd, base, ground.bootstrap);
    let evidence = against((&name(fewest), &base), (&name(most), &crowd), &slower);
    let enough = format!("{} for {what}: {}", name(fewest), units::rate(base.rate()));
    if slower.more() {
        let cpu_cost = and_cost(cpu_cost.as_ref());
        let worth = slower.ratio.value;
        let text = format!("Use no more than {enough}; {most} take {} the time{cpu_cost}.", times(worth));
        return Some(Tip::new(topic, &slower, &[base, crowd], worth, text, evidence));
    }
    let cpu_cost = cpu_cost.filter(|found| found.clear() && found.ratio.value * CHEAPER >= 1.0)?;
    let worth = cpu_cost.ratio.value;
    let text = format!(
        "Use no more than {enough}; {most} are no faster as far as can be told and cost {} the processor time.",
        times(worth)
    );
    Some(Tip::new(topic, &cpu_cost, &[base, crowd], worth, text, evidence))
}
