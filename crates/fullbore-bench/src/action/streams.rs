//! Concurrent sequential streams on one device. The paper of 1997 left them for later: an array that serves several
//! applications "no longer sees a single sequential request stream" (its last paragraph).

use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::{Result, size};
use serde::Deserialize;

use super::concurrent::{FileRange, Transfers, prepare, span};
use super::one_way::{Direction, OneWayIo, Precondition};
use super::requested_strategy::RequestedStrategy;
use super::settings::{Settings, refuse, settings};
use super::workload::{ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload};
use crate::document::{CacheState, Labels};
use crate::test_files::Needs;

/// Minimum number of requests per sample in a stream, in multiples of the requests in flight.
const LEAST: u64 = 4;

/// Minimum length of a sample in a stream that the kernel reads ahead, in windows of read-ahead: beyond the last request
/// the device reads up to a window that nobody uses.
const WINDOWS: u64 = 4;

/// Windows of read-ahead relative to the device's setting: the hint of sequential access doubles it.
const HINTED: u64 = 2;

/// Length of a stream's own file, in bytes.
const OWN: u64 = 64 << 20;

/// Largest number of streams with files of their own.
const MOST_OWN: u32 = 16;

/// Maximum number of streams: each has a thread.
const MOST: u32 = 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamsSpec {
    #[serde(default = "buffered")]
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
    streams: u32,
    #[serde(default)]
    files: StreamFiles,
    cache: Option<CacheState>,
    flush: Option<bool>,
}

fn buffered() -> String {
    "method=buffered".into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum StreamFiles {
    /// Each stream has a region of one file.
    #[default]
    One,
    /// Each stream has a file.
    Own,
}

#[derive(Debug)]
struct StreamsWorkload {
    spec: StreamsSpec,
    io: OneWayIo,
    own: Vec<File>,
    parts: Vec<FileRange>,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: StreamsSpec = settings(given)?;
    let writes = spec.direction.writes();
    let own = spec.files == StreamFiles::Own;
    refuse([
        (spec.streams == 0, "streams: at least one"),
        (spec.streams > MOST, "streams: at most 1024"),
        (own && spec.streams > MOST_OWN, "streams: at most 16 with files of their own"),
        (writes && spec.cache.is_some(), "`cache` is for reads and `flush` for writes"),
        (!writes && spec.flush.is_some(), "`cache` is for reads and `flush` for writes"),
        (spec.cache == Some(CacheState::Mixed), "cache: streams are warm or cold"),
    ])?;
    let requested = RequestedStrategy::new(&spec.strategy, spec.request.as_deref(), spec.depth)?;
    let io = OneWayIo::new(spec.direction, requested);
    Ok(Box::new(StreamsWorkload { spec, io, own: Vec::new(), parts: Vec::new() }))
}

impl StreamsWorkload {
    fn precondition(&self) -> Precondition {
        Precondition::of(&self.io, self.spec.flush, self.spec.cache)
    }

    /// Selects the next run of each stream's region or file, so that no device cache holds it.
    fn select_ranges(&mut self, iteration: Iteration, context: &RunContext<'_>) {
        let strategy = self.io.strategy();
        let (request, streams) = (strategy.request as u64, u64::from(self.spec.streams));
        let region = match self.spec.files {
            StreamFiles::One => (context.test_files().len / streams / request * request).max(request),
            StreamFiles::Own => OWN,
        };
        let in_flight = LEAST * request * (strategy.depth * strategy.workers) as u64;
        let span = span(iteration.span / streams, in_flight.max(self.ahead(context)), request, region);
        let run = iteration.next_run(span, region);
        self.parts = (0..streams)
            .map(|stream| {
                let (file, start) = match self.own.get(stream as usize) {
                    Some(file) => (file, 0),
                    None => (self.precondition().file(context.test_files()), stream * region),
                };
                FileRange { file: file.clone(), range: start + run.start..start + run.end }
            })
            .collect();
    }

    /// Returns the minimum length of a sample in a stream that the kernel reads ahead; 0 if it does not.
    fn ahead(&self, context: &RunContext<'_>) -> u64 {
        let reads_ahead = self.spec.cache == Some(CacheState::Cold) && !self.io.direct();
        if reads_ahead { WINDOWS * HINTED * context.read_ahead } else { 0 }
    }

    fn transfers<'a>(&'a self, context: &'a RunContext<'_>) -> Transfers<'a> {
        Transfers::of(&self.io, self.spec.flush == Some(true), context.progress)
    }
}

impl Workload for StreamsWorkload {
    fn needs(&self) -> Needs {
        let own = if self.spec.files == StreamFiles::Own { u64::from(self.spec.streams) * OWN } else { 0 };
        Needs {
            warm: self.spec.cache == Some(CacheState::Warm),
            written: self.io.writes() && !self.io.direct(),
            extra: own,
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        Labels {
            cache: self.spec.cache,
            order: Some("sequential".into()),
            flush: self.spec.flush,
            streams: Some(self.spec.streams),
            variant: (self.spec.files == StreamFiles::Own).then(|| "own files".into()),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(self.precondition().needs_device())?;
        if self.spec.files == StreamFiles::Own {
            let file = |stream| test_files.random_file(&format!("stream-{stream}"), OWN);
            self.own = (1..=self.spec.streams).map(file).collect::<Result<_>>()?;
        }
        let file = self.own.first().unwrap_or_else(|| self.precondition().file(test_files));
        let len = file.stamp()?.len;
        let strategy = self.io.plan(file, len)?;
        let room = len / if self.own.is_empty() { u64::from(self.spec.streams) } else { 1 };
        if room < strategy.request as u64 {
            let what = format!("each stream has {}, less than one request", size::human(room));
            return Err(Error::new(ErrorKind::Unsupported, "measure", file.path(), what)
                .advise("set a larger --size"));
        }
        self.io.set_strategy(strategy, context.seed);
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
        self.transfers(context).ramp_up(&self.parts, ramp.enough)
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        self.transfers(context).run(&self.parts, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_stream_count_and_files() {
        let labels = |text: &str| parse(text.parse().unwrap()).unwrap().labels();
        let warm = labels("streams = 4\ncache = 'warm'\nrequest = '256K'");
        assert_eq!((warm.streams, warm.cache, warm.variant), (Some(4), Some(CacheState::Warm), None));
        let own = labels("streams = 2\nfiles = 'own'\ndirection = 'write'\nflush = true");
        assert_eq!((own.operation.as_str(), own.flush), ("write", Some(true)));
        assert_eq!(own.variant.as_deref(), Some("own files"));
    }

    #[test]
    fn a_sample_is_longer_than_the_read_ahead() {
        // 7 MB a stream, of which the kernel reads 16 MiB ahead.
        let least = WINDOWS * HINTED * (8 << 20);
        assert_eq!(span(7_000_000, least, 256 << 10, 128 << 20), 64 << 20);
        assert_eq!(span(7_000_000, least, 256 << 10, 40 << 20), 40 << 20, "within the region");
        assert_eq!(span(7_000_000, 0, 256 << 10, 128 << 20), 26 * (256 << 10));
        assert_eq!(span(1, 0, 256 << 10, 128 << 20), 256 << 10);
        assert_eq!(span(1, 0, 256 << 10, 10_000), 10_000, "less than a request");
    }
}
