//! Depth: the smallest depth at the peak, and the depth that reaches half of it.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, is_sequential};
use super::super::ratio::{AT_PEAK, speed};
use super::super::sweep::{DEPTH, Sweep, sweeps};
use super::super::words::{subject, task, way};
use crate::units;

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    let own = input.own();
    let sequential: Vec<_> = own.into_iter().filter(|w| is_sequential(w.labels)).collect();
    sweeps(&sequential, &DEPTH).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

fn of_sweep<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let (depth, chosen) = sweep.reaching(AT_PEAK)?;
    let (shallowest, base) = sweep.points.first().copied()?;
    let (deepest, last) = sweep.last()?;
    let name = |depth| format!("depth {depth}");
    let ratio = NamedRatio::faster((name(depth), chosen), (name(shallowest), base), input)?;
    let (half, _) = sweep.reaching(0.5)?;
    let half = if half == shallowest {
        format!("depth {shallowest} already reaches half of that")
    } else {
        format!("half of that needs depth {half}")
    };
    let more = match depth == deepest {
        true => "greater depths were not measured".into(),
        false => {
            match speed(last, chosen, input.bootstrap).filter(|found| found.is_clear() && found.is_less()) {
                Some(found) => {
                    format!("depth {deepest} reaches {} of that", units::percent(found.estimate.value))
                }
                None => format!("no gain up to depth {deepest}"),
            }
        }
    };
    let text = format!(
        "Keep {depth} requests in flight in {} with {}: {}, {} the rate of depth {shallowest}; {half}, {more}.",
        task(chosen.labels),
        way(&sweep.labels),
        ratio.rate(),
        ratio.times()
    );
    let topic = format!("depth|{}|{}", subject(chosen.labels), sweep.labels.method);
    Some(ratio.candidate([last], topic, text))
}
