//! Several directories, one per disk: each disk alone, the first n together, or one file striped over them (section 4
//! of Riedel, van Ingen and Gray: disks were added until another resource was full).

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::operation::Generate;
use fullbore::{Result, size};
use serde::Deserialize;

use super::concurrent::{FileRange, Transfers, prepare, span};
use super::one_way::{Direction, OneWayIo, Precondition, at_least_one_request};
use super::requested_strategy::RequestedStrategy;
use super::settings::{Bytes, RequestOrder, Settings, number_or_text, settings};
use super::striped::{self, Layout};
use super::workload::{ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload};
use crate::document::{CacheState, Disks, Labels};
use crate::test_files::Needs;

/// Minimum number of requests per sample on a disk, in multiples of the requests in flight.
const LEAST: u64 = 4;

/// Greatest number of a target.
const MOST_TARGETS: usize = 1024;

/// Default chunk of a striped file, in bytes; NT's `ftdisk` used the same.
const CHUNK: u64 = 64 << 10;

/// Chunks are multiples of this, in bytes, so that every piece can bypass the page cache.
const BLOCK: u64 = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DevicesSpec {
    #[serde(default = "direct")]
    strategy: String,
    request: Option<String>,
    /// Requests in flight per disk; for a striped file, over all disks.
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    mode: Mode,
    /// Number of disks, or their numbers: see [`DiskSelection`].
    #[serde(deserialize_with = "number_or_text")]
    targets: String,
    /// Consecutive bytes of a striped file on one disk.
    chunk: Option<Bytes>,
}

fn direct() -> String {
    "method=direct".into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// One disk alone, the one with this number.
    Alone,
    #[default]
    Together,
    /// One file striped over all disks.
    Striped,
}

/// The disks of a trial, counted from 1 in the order of `--dir`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DiskSelection(Vec<usize>);

impl DiskSelection {
    /// Parses `3` as the first three disks, or as the third alone; parses `1+3` as the first and the third.
    fn parse(targets: &str, mode: Mode) -> std::result::Result<Self, String> {
        let number = |text: &str| match text.trim().parse::<usize>() {
            Ok(number @ 1..=MOST_TARGETS) => Ok(number),
            _ => Err(format!(
                "targets are numbers from 1 to {MOST_TARGETS}, such as 3 or \"1+3\", not {text:?}"
            )),
        };
        let named: Vec<usize> = targets.split('+').map(number).collect::<std::result::Result<_, _>>()?;
        let twice = |at: usize| named[..at].contains(&named[at]);
        if (0..named.len()).any(twice) {
            return Err("targets: name each target once".into());
        }
        match (named.as_slice(), mode) {
            ([_], Mode::Alone) => Ok(Self(named)),
            (_, Mode::Alone) => Err("mode = \"alone\" takes one target, not several".into()),
            (&[count], _) => Ok(Self((1..=count).collect())),
            _ => Ok(Self(named)),
        }
    }

    fn highest(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

#[derive(Debug)]
struct DevicesWorkload {
    mode: Mode,
    selection: DiskSelection,
    chunk: u64,
    io: OneWayIo,
    /// Range of the next run, of each disk's file or of the striped file.
    parts: Vec<FileRange>,
    logical: Range<u64>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: DevicesSpec = settings(given)?;
    let selection = DiskSelection::parse(&spec.targets, spec.mode)?;
    if spec.chunk.is_some() && spec.mode != Mode::Striped {
        return Err("`chunk` is for `mode = \"striped\"`".into());
    }
    let chunk = spec.chunk.map_or(CHUNK, |chunk| chunk.0);
    if chunk == 0 || !chunk.is_multiple_of(BLOCK) {
        return Err(format!(
            "chunk: expected a multiple of {}, found {}",
            size::exact(BLOCK),
            size::exact(chunk)
        ));
    }
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    if spec.mode == Mode::Striped && requested.plain().workers > 1 {
        return Err("a striped file has one worker: set `depth` instead".into());
    }
    Ok(Box::new(DevicesWorkload {
        mode: spec.mode,
        selection,
        chunk,
        io: OneWayIo::new(spec.direction, requested),
        parts: Vec::new(),
        logical: 0..0,
    }))
}

impl DevicesWorkload {
    /// True if writes are buffered in the page cache and the time must include a flush.
    fn flushes(&self) -> bool {
        self.io.writes() && !self.io.direct()
    }

    fn layout(&self) -> Layout {
        Layout { files: self.selection.0.len(), chunk: self.chunk }
    }

    fn precondition(&self) -> Precondition {
        let cold = !self.io.writes() && !self.io.direct();
        Precondition::of(&self.io, Some(self.flushes()), cold.then_some(CacheState::Cold))
    }

    /// Selects the ranges of the next sample: the next run of every file, so that no device cache holds it.
    fn select_ranges(&mut self, iteration: Iteration, context: &RunContext<'_>) {
        let len = context.test_files().len;
        let strategy = self.io.strategy();
        let (request, disks) = (strategy.request as u64, self.selection.0.len() as u64);
        let least = LEAST * request * (strategy.depth * strategy.workers) as u64;
        let range = if self.mode == Mode::Striped {
            let layout = self.layout();
            let room = (len / self.chunk * self.chunk).max(BLOCK) * disks;
            let span = span(iteration.span, least, request, room);
            // Rows start on the first disk.
            let rows = span.next_multiple_of(layout.row());
            let start = iteration.next_run(rows, room).start;
            self.logical = start..start + span;
            layout.rows(&(start..(start + rows).min(room)))
        } else {
            iteration.next_run(span(iteration.span / disks, least, request, len), len)
        };
        let file = |&disk: &usize| self.precondition().file(&context.file_sets[disk - 1]).clone();
        let part = |disk| FileRange { file: file(disk), range: range.clone() };
        self.parts = self.selection.0.iter().map(part).collect();
    }

    fn transfers<'a>(&'a self, context: &'a RunContext<'_>) -> Transfers<'a> {
        Transfers::of(&self.io, self.flushes(), context.progress)
    }

    fn striped(&self, range: Range<u64>, context: &RunContext<'_>) -> Result<RunResult> {
        let files: Vec<File> = self.parts.iter().map(|part| part.file.clone()).collect();
        let (layout, strategy) = (self.layout(), self.io.strategy());
        let written = self.transfers(context).written;
        let look = |_: u64, data: &[u8]| {
            std::hint::black_box(data);
        };
        let data = written.map(|(data, _)| data as &dyn Generate);
        let mut stats = striped::transfer(&files, layout, range, &strategy, context.progress, data, look)?;
        if written.is_some_and(|(_, flush)| flush) {
            let clock = Instant::now();
            files.iter().try_for_each(|file| file.sync_data().map(drop))?;
            stats.elapsed += clock.elapsed();
        }
        Ok(RunResult::of_transfer(&stats, written.is_some()))
    }
}

impl Workload for DevicesWorkload {
    fn needs(&self) -> Needs {
        Needs { written: self.flushes(), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let variant = match self.mode {
            Mode::Alone => Disks::Alone(self.selection.highest()),
            Mode::Together => Disks::Together,
            Mode::Striped => Disks::Striped,
        };
        let disks = &self.selection.0;
        let variant = if self.mode == Mode::Alone || disks.iter().copied().eq(1..=disks.len()) {
            variant.to_string()
        } else {
            let disks: Vec<String> = disks.iter().map(ToString::to_string).collect();
            format!("disks {} {variant}", disks.join("+"))
        };
        Labels {
            cache: self.precondition().cache,
            order: Some("sequential".into()),
            flush: self.flushes().then_some(true),
            targets: Some(self.selection.0.len() as u32),
            chunk_bytes: (self.mode == Mode::Striped).then_some(self.chunk),
            variant: Some(variant),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let (highest, there) = (self.selection.highest(), context.file_sets.len());
        if highest > there {
            let what =
                format!("needs {highest} directories, found {there}: name more directories with --dir");
            let path = context.test_files().named();
            return Err(Error::new(ErrorKind::Unsupported, "measure", path, what));
        }
        let mut first = None;
        for &disk in &self.selection.0 {
            let test_files = &context.file_sets[disk - 1];
            if test_files.in_memory {
                return Err(context.no_device());
            }
            let (file, len) = (self.precondition().file(test_files), test_files.len);
            let strategy = self.io.plan(file, len)?;
            // A request to a striped file may be longer than the file of one disk.
            if self.mode != Mode::Striped {
                at_least_one_request(file, (len, RequestOrder::Sequential), strategy.request as u64)?;
            }
            first.get_or_insert(strategy);
        }
        if let Some(strategy) = first {
            self.io.set_strategy(strategy, context.seed);
        }
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.io.planned()
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        self.select_ranges(iteration, context);
        prepare(&self.parts, self.precondition())
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        let strategy = self.io.strategy();
        // The ramp uses the end of the range, which the sample reaches last.
        if self.mode == Mode::Striped {
            let step = (strategy.request * strategy.depth) as u64;
            let mut end = self.logical.end;
            while !ramp.enough.load(Ordering::Relaxed) {
                let start = end.saturating_sub(step).max(self.logical.start);
                self.striped(start..end, context)?;
                end = if start > self.logical.start { start } else { self.logical.end };
            }
            return Ok(());
        }
        self.transfers(context).ramp_up(&self.parts, ramp.enough)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        match self.mode {
            Mode::Striped => self.striped(self.logical.clone(), context),
            Mode::Alone | Mode::Together => self.transfers(context).run(&self.parts, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(text: &str, mode: Mode) -> std::result::Result<Vec<usize>, String> {
        DiskSelection::parse(text, mode).map(|selection| selection.0)
    }

    #[test]
    fn targets_are_a_number_or_a_list() {
        assert_eq!(selection("3", Mode::Together), Ok(vec![1, 2, 3]));
        assert_eq!(selection("3", Mode::Alone), Ok(vec![3]));
        assert_eq!(selection("1+3", Mode::Striped), Ok(vec![1, 3]));
        for wrong in ["", "0", "1+0", "two", "1,2", "2+2"] {
            assert!(selection(wrong, Mode::Together).is_err(), "{wrong}");
        }
        assert!(selection("1+2", Mode::Alone).is_err());
    }

    #[test]
    fn labels_differ_by_mode() {
        let labels = |text: &str| parse(text.parse().unwrap()).unwrap().labels();
        let together = labels("targets = 3\nrequest = '64K'");
        assert_eq!((together.targets, together.variant.as_deref()), (Some(3), Some("together")));
        assert_eq!((together.method.as_str(), together.chunk_bytes), ("direct", None));
        let alone = labels("targets = 3\nmode = 'alone'");
        assert_eq!((alone.targets, alone.variant.as_deref()), (Some(1), Some("disk 3 alone")));
        let striped = labels("targets = '1+3'\nmode = 'striped'\nchunk = '128K'\ndirection = 'write'");
        assert_eq!((striped.targets, striped.chunk_bytes), (Some(2), Some(128 << 10)));
        assert_eq!(striped.variant.as_deref(), Some("disks 1+3 striped"));
        let buffered = labels("targets = 1\nstrategy = 'method=buffered'");
        assert_eq!((buffered.cache, buffered.flush), (Some(CacheState::Cold), None));
        let flushed = labels("targets = 1\nstrategy = 'method=buffered'\ndirection = 'write'");
        assert_eq!((flushed.cache, flushed.flush), (None, Some(true)));
    }
}
