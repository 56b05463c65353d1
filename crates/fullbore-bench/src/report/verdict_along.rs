//! The effect along the axis of an experiment, in a sentence: further disks or streams, growing files, misalignment,
//! load.

use super::panels::named;
use super::phrases::{against, capital, compared, peak, spanned};
use super::request_figures::percentile;
use super::streams::{jain, stream_rates};
use crate::document::{Axis, Cell, Document, Experiment, Series};
use crate::stats::Verdict;
use crate::units;

/// A sentence about a kind of job along the axis; `None` for axes that the half-power point describes.
pub(super) fn along(
    document: &Document,
    experiment: &Experiment,
    lines: &[&Series],
    job: &str,
) -> Option<String> {
    let (name, fastest, _) = named(lines, job)
        .into_iter()
        .filter(|(_, line)| line.cells.len() > 1)
        .filter_map(|(name, line)| Some((name, line, peak(document, line)?.1.value)))
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    let cells: Vec<&Cell> = fastest.cells.iter().map(|&c| &document.cells[c]).collect();
    let walk = AxisVerdict { axis: experiment.axis, cells, name: if lines.len() > 1 { &name } else { "" } };
    let described = match experiment.axis {
        Axis::Targets | Axis::Streams => walk.adding()?,
        Axis::File => walk.outgrowing()?,
        Axis::Offset => walk.misaligning()?,
        Axis::Load => walk.loading()?,
        Axis::Request | Axis::Depth | Axis::None => return None,
    };
    let head: Vec<String> =
        [capital(job), walk.name.to_owned()].into_iter().filter(|w| !w.is_empty()).collect();
    Some(if head.is_empty() { capital(&described) } else { format!("{}: {described}", head.join(", ")) })
}

/// An added stream or disk helps if it brings at least this share of the first one's rate.
const HELPS: f64 = 0.1;
/// A load is sustained if at least this share of it is served.
const BORNE: f64 = 0.95;

struct AxisVerdict<'a> {
    axis: Axis,
    cells: Vec<&'a Cell>,
    name: &'a str,
}

impl AxisVerdict<'_> {
    fn at(&self, cell: &Cell) -> u64 {
        self.axis.of(&cell.labels).unwrap_or(0)
    }

    fn text(&self, cell: &Cell) -> String {
        self.axis.text(self.at(cell))
    }

    fn label(&self, cell: &Cell) -> String {
        self.axis.label(self.at(cell))
    }

    fn rate(cell: &Cell) -> f64 {
        cell.summary.as_ref().map_or(0.0, |s| s.rate.value)
    }

    /// Streams or disks added one after the other.
    fn adding(&self) -> Option<String> {
        let (first, last) = (*self.cells.first()?, *self.cells.last()?);
        let (start, base) = (self.at(first), Self::rate(first));
        if base <= 0.0 || start == 0 {
            return None;
        }
        let comparison = compared(last, first)?;
        let mut text = format!("{}: {}", self.label(last), against(&comparison, &self.label(first)));
        // The first step that adds less than a tenth of a share per added one.
        let share = base / start as f64;
        let stop = self.cells.windows(2).find(|pair| {
            let added = (self.at(pair[1]) - self.at(pair[0])) as f64;
            added > 0.0 && Self::rate(pair[1]) - Self::rate(pair[0]) < HELPS * share * added
        });
        match stop {
            Some(pair) => {
                text += &format!(
                    "; beyond {} each addition brings less than 10% of the first",
                    self.label(pair[0])
                )
            }
            None if comparison.verdict == Verdict::Faster => text += "; every addition raised throughput",
            None => {}
        }
        let fair = self.cells.iter().rev().find_map(|c| Some((*c, jain(&stream_rates(c))?)));
        if let Some((cell, index)) = fair {
            text += &format!("; Jain’s fairness index at {}: {index:.2}", self.label(cell));
        }
        Some(text + ".")
    }

    /// Files that grow until they no longer fit into memory.
    fn outgrowing(&self) -> Option<String> {
        let best = self.cells.iter().copied().max_by(|a, b| Self::rate(a).total_cmp(&Self::rate(b)))?;
        let beyond = self.cells.iter().copied().filter(|c| self.at(c) > self.at(best));
        let fallen = beyond.clone().find(|c| Self::rate(c) < Self::rate(best) / 2.0);
        let last = *self.cells.last()?;
        Some(match fallen {
            Some(cell) => format!(
                "throughput falls below half the peak at a file of {}: {} there, {} at {}.",
                self.text(cell),
                units::rate(Self::rate(cell)),
                units::rate(Self::rate(last)),
                self.text(last)
            ),
            None => format!(
                "throughput stays at or above half the peak up to a file of {} ({} there).",
                self.text(last),
                units::rate(Self::rate(last))
            ),
        })
    }

    /// Requests that do not begin at a multiple of their size.
    fn misaligning(&self) -> Option<String> {
        let aligned = self.cells.iter().copied().find(|c| self.at(c) == 0)?;
        let off = self.cells.iter().copied().filter(|c| self.at(c) > 0);
        let worst = off.min_by(|a, b| Self::rate(a).total_cmp(&Self::rate(b)))?;
        let comparison = compared(worst, aligned)?;
        Some(match comparison.verdict {
            Verdict::Slower => format!(
                "largest cost of misalignment: at {} off, {} of the aligned rate ({}–{}).",
                units::size(self.at(worst)),
                units::percent(comparison.ratio.value),
                units::percent(comparison.ratio.low),
                units::percent(comparison.ratio.high)
            ),
            _ => format!(
                "no measurable cost of misalignment; lowest rate at {} off: {}.",
                units::size(self.at(worst)),
                against(&comparison, "aligned")
            ),
        })
    }

    /// Requests that arrive at a set rate.
    fn loading(&self) -> Option<String> {
        let served = |c: &Cell| c.summary.as_ref().and_then(|s| s.requests_per_s);
        let borne = |c: &&&Cell| served(c).is_some_and(|r| r >= BORNE * self.at(c) as f64);
        let most = self.cells.iter().filter(borne).copied().max_by_key(|c| self.at(c));
        let Some(most) = most else {
            let least = *self.cells.first()?;
            let got = units::requests_rate(served(least)?);
            return Some(format!("does not sustain the lowest load, {}: {got} served.", self.text(least)));
        };
        let tail = |c: &Cell| percentile(c, |l| l.p99_s).map(|e| spanned(e, units::seconds));
        let mut text = format!("sustains {}", self.text(most));
        if let (Some(light), Some(heavy)) = (tail(self.cells[0]), tail(most)) {
            text += &if self.at(most) > self.at(self.cells[0]) {
                format!("; p99 {light} at {}, {heavy} at that load", self.text(self.cells[0]))
            } else {
                format!("; p99 {light}")
            };
        }
        let over = self.cells.iter().copied().find(|c| self.at(c) > self.at(most));
        if let Some(over) = over {
            text += &format!("; does not sustain {}", self.text(over));
        }
        Some(text + ".")
    }
}
