//! Several disks: where adding one stops helping.

use super::super::contrast::{Contrast, speed};
use super::super::line::{Line, TARGETS, lines};
use super::super::tip::Tip;
use super::super::witness::{Ground, Witness};
use super::super::words::{against, subject, task, times, way};
use crate::document::Labels;
use crate::units;

/// Lines over the number of disks.
pub(in super::super) fn over_disks<'a>(ground: &Ground<'a>) -> Vec<Line<'a>> {
    let ours: Vec<Witness<'a>> = ground.all().iter().copied().filter(|w| w.labels.peer.is_none()).collect();
    lines(&ours, &TARGETS)
}

/// Where adding disks stops helping.
struct Saturation<'a> {
    count: u64,
    enough: Witness<'a>,
    /// The fastest with more disks, beside it; `None` where more were not measured.
    beyond: Option<(Witness<'a>, Contrast)>,
}

/// The smallest number of disks after which no larger one is faster.
fn saturation<'a>(line: &Line<'a>, ground: &Ground<'a>) -> Option<Saturation<'a>> {
    line.points.iter().enumerate().find_map(|(place, &(count, enough))| {
        let beyond: Vec<(Witness<'a>, Contrast)> = line.points[place + 1..]
            .iter()
            .filter_map(|&(_, more)| Some((more, speed(more, enough, ground.bootstrap)?)))
            .collect();
        let best = beyond.iter().copied().max_by(|a, b| a.0.rate().total_cmp(&b.0.rate()));
        (!beyond.iter().any(|(_, found)| found.more())).then_some(Saturation { count, enough, beyond: best })
    })
}

/// What is done on the disks; that it is done on all of them together goes without saying.
pub(in super::super) fn what(line: &Line<'_>) -> String {
    let said = line.labels.variant.as_deref().filter(|variant| *variant != "together");
    let labels = Labels { variant: said.map(Into::into), ..line.labels.clone() };
    format!("{} with {}", task(&labels), way(&line.labels))
}

pub(super) fn advise(ground: &Ground<'_>) -> Vec<Tip> {
    over_disks(ground).iter().filter_map(|line| of_line(line, ground)).collect()
}

fn of_line(line: &Line<'_>, ground: &Ground<'_>) -> Option<Tip> {
    let (fewest, first) = line.points.first().copied()?;
    let (most, _) = line.last()?;
    let Saturation { count, enough, beyond } = saturation(line, ground)?;
    let disks = |n: u64| units::count(n as usize, "disk");
    let topic = format!("disks|{}|{}", subject(enough.labels), line.labels.method);
    let what = what(line);
    if count == fewest {
        // Adding brings nothing at all: worth saying only where that is certain.
        let (last, found) = beyond.filter(|(_, found)| !found.undecided())?;
        let text = format!(
            "Adding disks brings nothing in {what}: {} give {}, {} give {}; they share what limits them.",
            disks(fewest),
            units::rate(first.rate()),
            disks(most),
            units::rate(last.rate())
        );
        let evidence = against((&disks(most), &last), (&disks(fewest), &first), &found);
        return Some(Tip::new(topic, &found, &[first, last], 1.0 / found.ratio.value, text, evidence));
    }
    let found = speed(enough, first, ground.bootstrap).filter(|found| found.more())?;
    let worth = found.ratio.value;
    let further = match beyond {
        Some(_) => format!("; up to {most} bring no more"),
        None => "; more were not measured, and the last one still helped".into(),
    };
    let text = format!(
        "Spread {what} over {}: {}, {} as fast as {}{further}.",
        disks(count),
        units::rate(enough.rate()),
        times(worth),
        disks(fewest)
    );
    let evidence = against((&disks(count), &enough), (&disks(fewest), &first), &found);
    let mut witnesses = vec![enough, first];
    witnesses.extend(beyond.map(|(more, _)| more));
    Some(Tip::new(topic, &found, &witnesses, worth, text, evidence))
}
