//! Request size: the smallest that reaches the peak, and what small ones cost.

use super::super::contrast::{cost, speed};
use super::super::line::{Line, REQUEST, lines};
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness, is_sequential};
use super::super::words::{against, and_cost, subject, task, times, way};
use super::{AT_PEAK, CHEAPER};
use crate::units;

/// What programs ask for that never thought of it, in bytes.
const USUAL: u64 = 4 << 10;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let sequential: Vec<Witness<'_>> = ground.own().into_iter().filter(|w| is_sequential(w.labels)).collect();
    let all = lines(&sequential, &REQUEST);
    let task_of = |line: &Line<'_>| line.points.first().map(|(_, w)| task(w.labels));
    let top = |line: &Line<'_>| line.peak().map_or(0.0, |(_, w)| w.rate());
    all.iter()
        .filter(|line| {
            // Of the many methods: what everybody uses, what passes the cache, and what is fastest.
            let rivals = all.iter().filter(|other| task_of(other) == task_of(line));
            matches!(line.labels.method.as_str(), "buffered" | "direct")
                || rivals.into_iter().all(|other| top(other) <= top(line))
        })
        .filter_map(|line| of_line(line, ground))
        .collect()
}

fn of_line(line: &Line<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let (size, chosen) = line.reaching(AT_PEAK)?;
    let (peak_size, peak) = line.peak()?;
    let (largest, last) = line.last()?;
    let smaller = || line.points.iter().copied().filter(|(at, _)| *at < size);
    let small = smaller().find(|(at, _)| *at >= USUAL).or_else(|| smaller().next());
    let topic = format!("request|{}|{}", subject(chosen.labels), line.labels.method);
    // Past the peak rates fall again where a request outgrows the processor's cache.
    let too_large = (largest > size).then(|| speed(chosen, last, ground.bootstrap)).flatten();
    let too_large = too_large.filter(|found| found.clear() && found.more());
    let reached = match size == peak_size {
        true => "the peak".into(),
        false => format!(
            "{} of the peak (at {})",
            units::percent(chosen.rate() / peak.rate()),
            units::size(peak_size)
        ),
    };
    let recommended = format!(
        "Request {} in {} with {}: {}, {reached}",
        units::size(size),
        task(chosen.labels),
        way(&line.labels),
        units::rate(chosen.rate())
    );
    let Some((small_size, small)) = small else {
        let found = too_large?;
        let worth = found.ratio.value;
        let text = format!(
            "{recommended}; larger ones bring nothing, and {} takes {} the time.",
            units::size(largest),
            times(worth)
        );
        let evidence = against((&units::size(size), &chosen), (&units::size(largest), &last), &found);
        return Some(Tip::new(topic, &found, &[chosen, last], worth, text, evidence));
    };
    let small_name = units::size(small_size);
    // Of several that overlap the smallest may do as well.
    let alike = line
        .points
        .iter()
        .rev()
        .filter(|(at, _)| *at < size)
        .take_while(|(_, w)| speed(chosen, *w, ground.bootstrap).is_some_and(|found| !found.more()));
    let recommended = match alike.last() {
        Some((at, _)) => format!("{recommended} (none from {} on is clearly slower)", units::size(*at)),
        None => recommended,
    };
    let beyond = too_large.map_or_else(String::new, |found| {
        format!(", and {} takes {} the time", units::size(largest), times(found.ratio.value))
    });
    let faster = speed(chosen, small, ground.bootstrap)?;
    let cpu_cost = cost(small, chosen, ground.bootstrap);
    let evidence = against((&units::size(size), &chosen), (&small_name, &small), &faster);
    if faster.more() {
        let worth = faster.ratio.value;
        let cpu_cost = and_cost(cpu_cost.as_ref());
        let text = format!("{recommended}; {small_name} takes {} the time{cpu_cost}{beyond}.", times(worth));
        return Some(Tip::new(topic, &faster, &[chosen, small, peak], worth, text, evidence));
    }
    let cpu_cost = cpu_cost.filter(|found| found.clear() && found.ratio.value * CHEAPER >= 1.0)?;
    let worth = cpu_cost.ratio.value;
    let text = format!(
        "{recommended}; {small_name} is not slower as far as can be told, but costs {} the processor time{beyond}.",
        times(worth)
    );
    Some(Tip::new(topic, &cpu_cost, &[chosen, small], worth, text, evidence))
}
