//! Depth: where more requests in flight stop helping, and which depth reaches half of the peak.

use super::super::candidate::Candidate;
use super::super::input::{AdviceInput, is_sequential};
use super::super::ratio::speed;
use super::super::sweep::{DEPTH, Sweep, sweeps};
use super::super::words::{against, subject, task, times, way};
use super::AT_PEAK;
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let own = input.own();
    let sequential: Vec<_> = own.into_iter().filter(|w| is_sequential(w.labels)).collect();
    sweeps(&sequential, &DEPTH).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

fn of_sweep(sweep: &Sweep<'_>, input: &AdviceInput<'_>) -> Option<Candidate> {
    let (depth, chosen) = sweep.reaching(AT_PEAK)?;
    let (shallowest, base) = sweep.points.first().copied()?;
    let (deepest, last) = sweep.last()?;
    let found = speed(chosen, base, input.bootstrap).filter(|found| found.is_greater())?;
    let worth = found.estimate.value;
    let (half, _) = sweep.reaching(0.5)?;
    let one = if shallowest == 1 { "one at a time".into() } else { format!("{shallowest} at a time") };
    let half = if half == shallowest {
        format!("{one} already reach half of it")
    } else {
        format!("half of it takes {half}")
    };
    let more = match depth == deepest {
        true => "deeper was not measured".into(),
        false => {
            match speed(last, chosen, input.bootstrap).filter(|found| found.is_clear() && found.is_less()) {
                Some(found) => format!("{deepest} give {} of that", units::percent(found.estimate.value)),
                None => format!("up to {deepest} bring no more"),
            }
        }
    };
    let text = format!(
        "Keep {depth} requests in flight in {} with {}: {}, {} {one}; {half}, {more}.",
        task(chosen.labels),
        way(&sweep.labels),
        units::rate(chosen.rate()),
        times(worth)
    );
    let evidence =
        against((&format!("depth {depth}"), &chosen), (&format!("depth {shallowest}"), &base), &found);
    let topic = format!("depth|{}|{}", subject(chosen.labels), sweep.labels.method);
    Some(Candidate::new(topic, &found, &[chosen, base, last], worth, text, evidence))
}
