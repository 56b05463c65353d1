//! Depth: where more requests in flight stop helping, and which depth reaches half of the peak.

use super::super::contrast::speed;
use super::super::line::{DEPTH, Line, lines};
use super::super::tip::Tip;
use super::super::witness::{Ground, is_sequential};
use super::super::words::{against, subject, task, times, way};
use super::AT_PEAK;
use crate::units;

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    let own = ground.own();
    let sequential: Vec<_> = own.into_iter().filter(|w| is_sequential(w.labels)).collect();
    lines(&sequential, &DEPTH).iter().filter_map(|line| of_line(line, ground)).collect()
}

fn of_line(line: &Line<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let (depth, chosen) = line.reaching(AT_PEAK)?;
    let (shallowest, base) = line.points.first().copied()?;
    let (deepest, last) = line.last()?;
    let found = speed(chosen, base, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let (half, _) = line.reaching(0.5)?;
    let one = if shallowest == 1 { "one at a time".into() } else { format!("{shallowest} at a time") };
    let half = if half == shallowest {
        format!("{one} already reach half of it")
    } else {
        format!("half of it takes {half}")
    };
    let more = match depth == deepest {
        true => "deeper was not measured".into(),
        false => match speed(last, chosen, ground.bootstrap).filter(|found| found.clear() && found.less()) {
            Some(found) => format!("{deepest} give {} of that", units::percent(found.ratio.value)),
            None => format!("up to {deepest} bring no more"),
        },
    };
    let text = format!(
        "Keep {depth} requests in flight in {} with {}: {}, {} {one}; {half}, {more}.",
        task(chosen.labels),
        way(&line.labels),
        units::rate(chosen.rate()),
        times(worth)
    );
    let evidence =
        against((&format!("depth {depth}"), &chosen), (&format!("depth {shallowest}"), &base), &found);
    let topic = format!("depth|{}|{}", subject(chosen.labels), line.labels.method);
    Some(Tip::new(topic, &found, &[chosen, base, last], worth, text, evidence))
}
