//! Series of a figure: cells of one experiment that differ along one axis only.

use std::collections::{BTreeMap, BTreeSet};

use fullbore::size;
use serde::{Deserialize, Serialize};

use super::labels::Labels;
use super::summary::Cell;
use crate::units;

/// The x axis of an experiment's figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Request size in bytes.
    Request,
    /// Depth in requests.
    Depth,
    /// Length of the file in bytes.
    File,
    /// Concurrent streams.
    Streams,
    /// Directories (disks) used concurrently.
    Targets,
    /// Distance of requests from a multiple of their size, in bytes.
    Offset,
    /// Requested arrival rate in requests per second.
    Load,
    /// No axis: the cells are bars.
    None,
}

impl Axis {
    /// Returns the position of a cell with these labels on the axis; for an offset, its absolute value.
    pub fn of(self, labels: &Labels) -> Option<u64> {
        match self {
            Self::Request => labels.request_bytes,
            Self::Depth => labels.depth.map(u64::from),
            Self::File => labels.file_bytes,
            Self::Streams => labels.streams.map(u64::from),
            Self::Targets => labels.targets.map(u64::from),
            Self::Offset => labels.offset_bytes.map(i64::unsigned_abs),
            Self::Load => labels.load_per_s,
            Self::None => None,
        }
    }

    /// True if the text of a strategy has the position of its cell.
    fn is_in_strategy(self) -> bool {
        matches!(self, Self::Request | Self::Depth)
    }

    /// Returns the labels without those of the axis: equal for the cells of one series.
    pub(crate) fn shared(self, labels: &Labels) -> Labels {
        let mut shared = labels.clone();
        if self.is_in_strategy() {
            shared.strategy =
                labels.beyond_labels().map(|parts| parts.join(",")).filter(|text| !text.is_empty());
        }
        match self {
            Self::Request => shared.request_bytes = None,
            Self::Depth => shared.depth = None,
            Self::File => shared.file_bytes = None,
            Self::Streams => shared.streams = None,
            Self::Targets => shared.targets = None,
            Self::Offset => shared.offset_bytes = None,
            Self::Load => shared.load_per_s = None,
            Self::None => {}
        }
        shared
    }

    /// Formats a position with its unit or noun: `depth 8`, `3 disks`.
    pub(crate) fn label(self, at: u64) -> String {
        match self {
            Self::Depth => format!("depth {at}"),
            Self::Streams => units::count(at as usize, "stream"),
            Self::Targets => units::count(at as usize, "disk"),
            Self::Offset => format!("{} off", self.text(at)),
            _ => self.text(at),
        }
    }

    /// Formats a position: `64 KiB`, `8`, `500 /s`.
    pub fn text(self, at: u64) -> String {
        match self {
            Self::Request | Self::File | Self::Offset => units::size(at),
            Self::Load => units::requests_rate(at as f64),
            _ => at.to_string(),
        }
    }
}

/// Description of an experiment for the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Name that its cells carry.
    pub name: String,
    /// Heading.
    pub title: String,
    /// Explanation of the figure, in a sentence.
    #[serde(default)]
    pub note: String,
    /// The x axis.
    pub axis: Axis,
    /// Question that the experiment answers.
    #[serde(default)]
    pub question: String,
    /// Findings of the reference documents.
    #[serde(default)]
    pub then: Vec<EarlierFinding>,
    /// Figures of the chapter; empty: those that suit the axis.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// A finding of an earlier document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierFinding {
    /// The year of the finding.
    pub year: u16,
    /// The document, such as `Riedel, van Ingen and Gray, figure 3`.
    pub source: String,
    /// The finding, in a sentence with its figures.
    pub found: String,
}

/// The quantity that a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Throughput in bytes per second.
    Rate,
    /// Requests per second.
    Requests,
    /// CPU time per megabyte.
    CpuPerMb,
    /// CPU time per request.
    CpuPerRequest,
    /// Processors kept busy.
    Processors,
    /// Latency: median and high percentiles.
    Latency,
    /// Phases of the requests' time.
    Phases,
    /// The storage pipeline with advertised and measured throughput.
    Pipeline,
    /// Throughput of the streams, compared.
    Fairness,
    /// Time of `auto` ÷ time of the best strategy.
    Regret,
    /// Throughput over time of continuous transfer, with the fitted credit model.
    Course,
}

impl Experiment {
    fn guessed(name: &str, cells: &[Cell]) -> Self {
        let distinct = |axis: Axis| {
            let here = cells.iter().filter(|c| c.experiment == name);
            here.filter_map(|c| axis.of(&c.labels)).collect::<BTreeSet<_>>().len()
        };
        let axis = match (distinct(Axis::Request), distinct(Axis::Depth)) {
            (requests, depths) if requests >= 3 && requests >= depths => Axis::Request,
            (_, depths) if depths >= 3 => Axis::Depth,
            _ => Axis::None,
        };
        Self::named(name, axis)
    }

    pub(crate) fn named(name: &str, axis: Axis) -> Self {
        Self {
            name: name.into(),
            title: name.into(),
            note: String::new(),
            axis,
            question: String::new(),
            then: Vec::new(),
            figures: Vec::new(),
        }
    }
}

/// Returns the experiments of the cells: those in `described`, then the others in the order of their first cell.
pub fn experiments(described: &[Experiment], cells: &[Cell]) -> Vec<Experiment> {
    let mut all: Vec<Experiment> = described.to_vec();
    let mut known: BTreeSet<&str> = described.iter().map(|experiment| experiment.name.as_str()).collect();
    for cell in cells {
        if known.insert(&cell.experiment) {
            all.push(Experiment::guessed(&cell.experiment, cells));
        }
    }
    all
}

/// A series of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the series within the figure, such as `direct, cold`.
    pub name: String,
    /// Labels that its cells share; those of the axis are empty, and the strategy has only the parts that no label covers if it
    /// contains the position on the axis.
    pub labels: Labels,
    /// Positions of its measured cells in the given slice, ascending along the axis.
    pub cells: Vec<usize>,
}

/// Groups the measured cells of `experiment` into series along its axis, in the order of their first cell.
///
/// Without an axis, every cell is a series.
pub fn series(cells: &[Cell], experiment: &Experiment) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for (position, cell) in cells.iter().enumerate() {
        if cell.experiment != experiment.name || cell.summary.is_none() {
            continue;
        }
        let shared = experiment.axis.shared(&cell.labels);
        let on_axis = experiment.axis.of(&cell.labels).is_some();
        match lines.iter_mut().find(|line| on_axis && line.labels == shared) {
            Some(line) => line.cells.push(position),
            None => lines.push(Series { name: String::new(), labels: shared, cells: vec![position] }),
        }
    }
    for line in &mut lines {
        line.cells.sort_by_key(|&i| experiment.axis.of(&cells[i].labels));
    }
    let names = distinguishing_names(&lines.iter().map(|l| &l.labels).collect::<Vec<_>>(), experiment.axis);
    for (line, name) in lines.iter_mut().zip(names) {
        line.name = name;
    }
    lines
}

/// Returns a short name for every cell, measured or not: experiment, distinguishing labels, position on the axis.
pub(crate) fn cell_names(cells: &[Cell], described: &[Experiment]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for experiment in experiments(described, cells) {
        for line in series(cells, &experiment) {
            for &i in &line.cells {
                let at = experiment.axis.of(&cells[i].labels);
                let at = at.map_or_else(String::new, |at| format!(", {}", experiment.axis.label(at)));
                names.insert(cells[i].id.clone(), format!("{}: {}{at}", experiment.name, line.name));
            }
        }
    }
    for cell in cells {
        let described = || format!("{}: {}", cell.experiment, cell.labels.describe());
        names.entry(cell.id.clone()).or_insert_with(described);
    }
    names
}

/// Returns a name for each set of labels: the method, and every label that differs between them; with the job if that is not
/// enough, and the rest of the strategy.
fn distinguishing_names(all: &[&Labels], axis: Axis) -> Vec<String> {
    let fields: Vec<Vec<Option<String>>> = all.iter().map(|labels| described_fields(labels)).collect();
    let varies = |field: usize| fields.iter().any(|f| f[field] != fields[0][field]);
    // If strategies compete, the strategy replaces its fields.
    let strategy = |labels: &Labels| labels.strategy.clone().filter(|strategy| !strategy.is_empty());
    let unique: BTreeSet<_> = all.iter().map(|l| (strategy(l), l.cache, &l.job)).collect();
    let compete = |l: &&Labels| !l.job.is_empty() || strategy(l).is_some_and(|s| !s.contains('='));
    let by_strategy = !axis.is_in_strategy()
        && unique.len() == all.len()
        && all.iter().any(compete)
        && all.iter().all(|l| strategy(l).is_some());
    let mut names: Vec<String> = fields
        .iter()
        .zip(all)
        .map(|(values, labels)| match &labels.strategy {
            Some(strategy) if by_strategy => {
                let words = [CACHE, FILE_STATE, VARIANT]
                    .into_iter()
                    .filter(|&i| varies(i))
                    .filter_map(|i| values[i].clone());
                std::iter::once(strategy.clone()).chain(words).collect::<Vec<_>>().join(", ")
            }
            _ => {
                let words = (0..values.len()).filter(|&i| i == METHOD || varies(i));
                words.filter_map(|i| values[i].clone()).collect::<Vec<_>>().join(", ")
            }
        })
        .collect();
    let repeated: Vec<bool> =
        names.iter().map(|name| names.iter().filter(|other| *other == name).count() > 1).collect();
    for (i, labels) in all.iter().enumerate() {
        if names[i].is_empty() {
            names[i] = labels.job.clone();
        } else if repeated[i] && !labels.job.is_empty() {
            names[i] = format!("{}, {}", labels.job, names[i]);
        }
        if let Some(rest) = strategy(labels).filter(|_| repeated[i] && axis.is_in_strategy()) {
            names[i] = format!("{}, {rest}", names[i]);
        }
        let same = (0..i).filter(|&j| names[j] == names[i]).count();
        if same > 0 {
            names[i] = format!("{} ({})", names[i], same + 1);
        }
    }
    names
}

/// Positions among the described fields.
const METHOD: usize = 1;
const CACHE: usize = 2;
const FILE_STATE: usize = 9;
const VARIANT: usize = 20;

/// Returns the labels as words, each field at its fixed position.
fn described_fields(labels: &Labels) -> Vec<Option<String>> {
    let text = |value: &str| (!value.is_empty()).then(|| value.to_owned());
    vec![
        text(&labels.operation),
        text(&labels.method),
        labels.cache.map(|c| c.word().to_owned()),
        labels.request_bytes.map(units::size),
        labels.depth.map(|d| format!("depth {d}")),
        labels.workers.map(|w| units::count(w as usize, "worker")),
        labels.model.clone(),
        labels.allocation.clone().map(String::from),
        labels.cache_policy.as_ref().map(|p| format!("cache {p}")),
        labels.file_state.as_ref().map(|s| format!("file {s}")),
        labels.order.clone().map(String::from),
        labels.flush.map(|flush| if flush { "flushed" } else { "not flushed" }.to_owned()),
        labels.file_bytes.map(|len| format!("file of {}", units::size(len))),
        labels.streams.map(|n| units::count(n as usize, "stream")),
        labels.targets.map(|n| units::count(n as usize, "disk")),
        labels.chunk_bytes.map(|chunk| format!("chunks of {}", units::size(chunk))),
        labels.offset_bytes.map(|offset| match offset {
            0 => "aligned".to_owned(),
            _ => format!("{}{}", if offset < 0 { "−" } else { "+" }, units::size(offset.unsigned_abs())),
        }),
        labels.load_per_s.map(|load| format!("{} requested", units::requests_rate(load as f64))),
        labels.memory_limit_bytes.map(|limit| format!("memory of {}", units::size(limit))),
        labels.peer.clone(),
        labels.variant.clone(),
    ]
}

impl Labels {
    /// Describes all labels: `read, direct, cold, 64 KiB, depth 8`.
    pub fn describe(&self) -> String {
        described_fields(self).into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the strategy as text: the label, or the fields in the syntax of `--strategy`.
    pub fn strategy_text(&self) -> String {
        if let Some(strategy) = self.strategy.as_ref().filter(|s| !s.is_empty()) {
            return strategy.clone();
        }
        let mut parts = vec![format!("method={}", self.method)];
        parts.extend(self.request_bytes.map(|bytes| format!("request={}", size::exact(bytes))));
        parts.extend(self.depth.filter(|&d| d > 1).map(|d| format!("depth={d}")));
        parts.extend(self.workers.filter(|&w| w > 1).map(|w| format!("workers={w}")));
        parts.extend(self.allocation.as_ref().map(|a| format!("alloc={a}")));
        parts.extend(self.cache_policy.as_ref().map(|c| format!("cache={c}")));
        parts.join(",")
    }
}
