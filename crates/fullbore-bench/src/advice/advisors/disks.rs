//! Several disks: the number from which adding one no longer helps.

use super::super::candidate::{Candidate, NamedRatio};
use super::super::input::{AdviceInput, EligibleCell};
use super::super::ratio::{Ratio, speed};
use super::super::sweep::{Sweep, TARGETS, sweeps};
use super::super::words::{against, subject, task, way};
use crate::document::Labels;
use crate::units;

/// Sweeps over the number of disks.
pub(in super::super) fn disk_sweeps<'a>(input: &AdviceInput<'a>) -> Vec<Sweep<'a>> {
    sweeps(&input.ours(), &TARGETS)
}

/// The number of disks from which more do not help.
struct Saturation<'a> {
    count: u64,
    enough: EligibleCell<'a>,
    /// The fastest cell with more disks, and its ratio; `None` if more were not measured.
    beyond: Option<(EligibleCell<'a>, Ratio)>,
}

/// The smallest number of disks after which no larger one is faster.
fn saturation<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Saturation<'a>> {
    sweep.points.iter().enumerate().find_map(|(place, &(count, enough))| {
        let beyond: Vec<(EligibleCell<'a>, Ratio)> = sweep.points[place + 1..]
            .iter()
            .filter_map(|&(_, more)| Some((more, speed(more, enough, input.bootstrap)?)))
            .collect();
        let best = beyond.iter().copied().max_by(|a, b| a.0.rate().total_cmp(&b.0.rate()));
        (!beyond.iter().any(|(_, found)| found.is_greater())).then_some(Saturation {
            count,
            enough,
            beyond: best,
        })
    })
}

/// The task on the disks, without the variant `together`.
pub(in super::super) fn describe_disks(sweep: &Sweep<'_>) -> String {
    let said = sweep.labels.variant.as_deref().filter(|variant| *variant != "together");
    let labels = Labels { variant: said.map(Into::into), ..sweep.labels.clone() };
    format!("{} with {}", task(&labels), way(&sweep.labels))
}

pub(super) fn advise(input: &AdviceInput<'_>) -> Vec<Candidate> {
    disk_sweeps(input).iter().filter_map(|sweep| of_sweep(sweep, input)).collect()
}

fn of_sweep<'a>(sweep: &Sweep<'a>, input: &AdviceInput<'a>) -> Option<Candidate> {
    let (fewest, first) = sweep.points.first().copied()?;
    let (most, _) = sweep.last()?;
    let Saturation { count, enough, beyond } = saturation(sweep, input)?;
    let disks = |n: u64| units::count(n as usize, "disk");
    let topic = format!("disks|{}|{}", subject(enough.labels), sweep.labels.method);
    let what = describe_disks(sweep);
    if count == fewest {
        // No gain at all is reported only if it is certain.
        let (last, found) = beyond.filter(|(_, found)| !found.is_undecided())?;
        let text = format!(
            "More disks do not raise the throughput of {what}: {} {}, {} {}; they share a limit.",
            disks(fewest),
            units::rate(first.rate()),
            disks(most),
            units::rate(last.rate())
        );
        let evidence = against((&disks(most), &last), (&disks(fewest), &first), &found);
        return Some(Candidate::new(
            topic,
            &found,
            &[first, last],
            1.0 / found.estimate.value,
            text,
            evidence,
        ));
    }
    let ratio = NamedRatio::faster((disks(count), enough), (disks(fewest), first), input)?;
    let further = match beyond {
        Some(_) => format!("; no gain up to {most}"),
        None => "; the last one still helped, more were not measured".into(),
    };
    let text = format!(
        "Spread {what} over {}: {}, {} as fast as {}{further}.",
        disks(count),
        ratio.rate(),
        ratio.times(),
        disks(fewest)
    );
    Some(ratio.candidate(beyond.map(|(more, _)| more), topic, text))
}
