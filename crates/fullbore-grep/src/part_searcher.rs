//! The operation over parts: ripgrep's searcher, a sink, ripgrep's printer, and the facts that the file needs of each
//! part.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use fullbore::operation::{Part, Search};
use grep_printer::{JSONSink, StandardSink, Stats, SummaryKind, SummarySink};
use grep_searcher::{Searcher, Sink};

use crate::matcher::AnyMatcher;
use crate::part_sink::{Checkpoint, NullSink, OnNul, PartFacts, PartSink, SinkOptions};
use crate::query::{Print, Query};
use crate::recorded_output::{RecordedOutput, Recorder, marker_colors};
use crate::settings::{Detection, READ_SIZE, ReadMode, Show, SourceInfo};

/// Searches the parts of one file.
#[derive(Debug)]
pub struct PartSearcher<'q> {
    query: &'q Query,
    path: &'q Path,
    source: SourceInfo,
    /// Idle searchers by thread: a matcher is slower on any thread but the first that used it.
    idle: Mutex<Vec<(ThreadId, (Searcher, AnyMatcher))>>,
}

/// The result of a part, with numbers from the start of the part.
#[derive(Debug, Default)]
pub struct PartResult {
    pub(crate) output: RecordedOutput,
    pub(crate) facts: PartFacts,
    pub(crate) offset: u64,
    /// Range of its own lines in the file.
    pub(crate) own: Range<u64>,
    /// Number of lines in the part before its own.
    pub(crate) lines_before: u64,
    /// Number of its own lines.
    pub(crate) lines: u64,
    /// The first NUL in its own bytes, if all bytes are checked.
    pub(crate) nul: Option<u64>,
    pub(crate) error: Option<io::Error>,
}

impl Query {
    /// Returns the operation over parts of a file.
    pub fn part_searcher<'q>(&'q self, path: &'q Path, source: SourceInfo) -> PartSearcher<'q> {
        PartSearcher { query: self, path, source, idle: Mutex::default() }
    }
}

impl PartSearcher<'_> {
    fn tool(&self) -> (Searcher, AnyMatcher) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.iter().position(|(thread, _)| *thread == thread::current().id()) {
            Some(position) => idle.swap_remove(position).1,
            None => (self.query.searcher_of_parts(), self.query.matcher.clone()),
        }
    }

    fn rules(&self) -> SinkOptions {
        let (query, settings) = (self.query, &self.query.settings);
        let on_nul = match (self.source.detection, query.print()) {
            _ if self.source.read_mode != ReadMode::Mapped => OnNul::Nothing,
            (Detection::None, _) => OnNul::Nothing,
            (Detection::Quit, _) => OnNul::Quit,
            (Detection::Convert, Print::Lines) => OnNul::Stop,
            (Detection::Convert, _) if settings.counts() => OnNul::Note,
            (Detection::Convert, _) => OnNul::Nothing,
        };
        let known = self.source.known.is_some() && on_nul == OnNul::Stop;
        SinkOptions {
            on_nul,
            stop_from: known.then_some(0),
            limits: query.limits(),
            json: query.print() == Print::Json,
        }
    }

    /// Searches `bytes` and records the output for `own`.
    fn find(
        &self,
        (searcher, matcher): &mut (Searcher, AnyMatcher),
        bytes: &[u8],
        own: Range<usize>,
        rules: SinkOptions,
    ) -> (RecordedOutput, PartFacts, io::Result<()>) {
        let (query, settings, matcher) = (self.query, &self.query.settings, &*matcher);
        let recorder = Recorder::new(settings.color, query.numbers());
        let output = recorder.output.clone();
        if query.print() == Print::Lines {
            // Reserved memory that stays unused costs nothing; growing would.
            output.borrow_mut().text.reserve(own.len());
        }
        let shown = (settings.with_filename && !settings.heading).then_some(self.path);
        let events = output.clone();
        let (facts, result) = match query.print() {
            Print::Lines => {
                let colors = marker_colors(settings.color, &settings.colors);
                let mut printer = query.standard(recorder, colors, settings.stats);
                let sink = match shown {
                    Some(path) => printer.sink_with_path(matcher, path),
                    None => printer.sink(matcher),
                };
                let count = |sink: &StandardSink<'_, '_, _, _>| sink.stats().map_or(0, Stats::matches);
                run(searcher, matcher, bytes, PartSink::new(sink, count, events, own, rules))
            }
            Print::Json => {
                let mut printer = query.json(recorder);
                let sink = printer.sink_with_path(matcher, self.path);
                let count = |sink: &JSONSink<'_, '_, _, _>| sink.stats().matches();
                run(searcher, matcher, bytes, PartSink::new(sink, count, events, own, rules))
            }
            Print::Summary(_) if settings.show == Show::CountMatches || settings.counts() => {
                let mut printer = query.summary(recorder, settings.colors.clone(), SummaryKind::Count, true);
                let count = |sink: &SummarySink<'_, '_, _, _>| sink.stats().map_or(0, Stats::matches);
                let sink = printer.sink(matcher);
                run(searcher, matcher, bytes, PartSink::new(sink, count, events, own, rules))
            }
            Print::Summary(_) => {
                run(searcher, matcher, bytes, PartSink::new(NullSink, |_| 0, events, own, rules))
            }
        };
        (output.take(), facts, result)
    }
}

fn run<S: Sink<Error = io::Error>, C: Fn(&S) -> u64>(
    searcher: &mut Searcher,
    matcher: &AnyMatcher,
    bytes: &[u8],
    mut sink: PartSink<S, C>,
) -> (PartFacts, io::Result<()>) {
    let result = searcher.search_slice(matcher, bytes, &mut sink);
    (sink.facts, result)
}

impl Search for PartSearcher<'_> {
    type Found = PartResult;

    fn delimiter(&self) -> u8 {
        self.query.settings.delimiter()
    }

    fn reach(&self) -> usize {
        let settings = &self.query.settings;
        if settings.any_context() && matches!(self.query.print(), Print::Lines | Print::Json) {
            settings.before_context.max(settings.after_context)
        } else {
            0
        }
    }

    fn search(&self, part: &Part<'_>) -> PartResult {
        let settings = &self.query.settings;
        let own = part.offset + part.own.start as u64..part.offset + part.own.end as u64;
        let mut found = PartResult { offset: part.offset, own: own.clone(), ..PartResult::default() };
        let mut bytes = Cow::Borrowed(part.bytes);
        let mut rules = self.rules();
        if self.source.scans() {
            let nul = memchr::memchr(0, part.own());
            found.nul = nul.map(|at| own.start + at as u64);
            if self.query.restarts_at_nul(self.source) {
                if nul.is_some() {
                    return found;
                }
            } else {
                if self.query.print() == Print::Lines {
                    // The behaviour of `rg` if each of its reads is as long as possible.
                    let block = |nul: u64| nul / READ_SIZE as u64 * READ_SIZE as u64;
                    rules.stop_from = found.nul.map(|nul| block(nul).saturating_sub(part.offset) as usize);
                }
                convert(&mut bytes);
            }
        }
        let mut tool = self.tool();
        let (output, facts, result) = self.find(&mut tool, &bytes, part.own.clone(), rules);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((thread::current().id(), tool));
        if settings.line_number {
            let count =
                |range: Range<usize>| memchr::memchr_iter(self.delimiter(), &bytes[range]).count() as u64;
            found.lines_before = count(0..part.own.start);
            // The searcher has counted lines up to the last one that it reported.
            found.lines = match facts.number {
                Some((number, start)) => number - 1 - found.lines_before + count(start..part.own.end),
                None => count(part.own.clone()),
            };
        }
        (found.output, found.facts, found.error) = (output, facts, result.err());
        found
    }

    fn weight(&self, found: &PartResult) -> usize {
        found.output.weight()
            + found.facts.checkpoints.capacity() * size_of::<Checkpoint>()
            + found.facts.begin.as_ref().map_or(0, Vec::capacity)
    }
}

fn convert(bytes: &mut Cow<'_, [u8]>) {
    if memchr::memchr(0, bytes).is_some() {
        bytes.to_mut().iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'\n');
    }
}
