//! The operation over parts: ripgrep's searcher, a sink, and ripgrep's printer. The sink passes on the events in a
//! part's own lines, and records the facts about each part that the output of the whole file needs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::thread::{self, ThreadId};

use crate::matcher::AnyMatcher;
use crate::query::{Print, Query};
use crate::recorded_output::{Position, RecordedOutput, Recorder, find_numbers, marker_colors, take_begin};
use crate::settings::{Detection, FIRST_READS, READ_SIZE, ReadMode, Show, SourceInfo};
use fullbore::lock::Mutex;
use fullbore::operation::{BlockMemory, Part, Search};
use grep_printer::{JSONSink, StandardSink, Stats, SummaryKind, SummarySink};
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

/// Bytes of output allowed for each byte of a part, besides the part's own length, between the two limits below. Longer output,
/// such as that of `--vimgrep` for a long line, is printed by a search of the whole file.
const ROOM: usize = 16;
const LEAST_ROOM: usize = 1 << 20;
const MOST_ROOM: usize = 32 << 20;

/// A searcher of the parts of one file.
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
    /// Range in the file of the part's own lines.
    pub(crate) own: Range<u64>,
    /// Number of lines in the part before its own.
    pub(crate) lines_before: u64,
    /// Number of its own lines.
    pub(crate) lines: u64,
    /// The first NUL in the part's own bytes, if all bytes are checked.
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
        let mut idle = self.idle.lock();
        match idle.iter().position(|(thread, _)| *thread == thread::current().id()) {
            Some(position) => idle.swap_remove(position).1,
            None => (self.query.searcher_of_parts(), self.query.matcher.clone()),
        }
    }

    /// Returns the start of the buffer in which `rg` finds the first NUL of a part of a pipe, at `nul`, if each of its reads is
    /// as long as possible. It prints the matching lines before this buffer. The reads in later parts begin with the part.
    fn buffer_start(&self, part: &Part<'_>, nul: usize) -> usize {
        let first_reads = match self.source.read_mode {
            _ if part.offset > 0 => &[][..],
            ReadMode::Piped { stdin: true } => &FIRST_READS,
            _ => &FIRST_READS[..1],
        };
        let mut first_reads = first_reads.iter();
        let (mut start, mut room) = (if part.offset > 0 { part.own.start } else { 0 }, READ_SIZE);
        loop {
            let end = first_reads.next().copied().unwrap_or(start + room);
            if nul < end {
                return start;
            }
            match memchr::memrchr(self.delimiter(), &part.bytes[start..end]) {
                Some(at) => start += at + 1,
                // A buffer without a whole line grows.
                None if end == start + room => room *= 3,
                None => {}
            }
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
            limits: query.limits(self.source),
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
        let room = match self.source.read_mode {
            // It cannot be read again.
            ReadMode::Piped { .. } => usize::MAX,
            _ => bytes.len() + bytes.len().saturating_mul(ROOM).clamp(LEAST_ROOM, MOST_ROOM),
        };
        let recorder = Recorder::new(settings.color, query.numbers(), room);
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

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn delimiter(&self) -> u8 {
        self.query.settings.delimiter()
    }

    fn reach(&self) -> usize {
        self.query.reach()
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
                    rules.stop_from = nul.map(|at| self.buffer_start(part, part.own.start + at));
                }
                convert(&mut bytes);
            }
        }
        let mut tool = self.tool();
        let (output, facts, result) = self.find(&mut tool, &bytes, part.own.clone(), rules);
        self.idle.lock().push((thread::current().id(), tool));
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

/// A sink that prints nothing, for searches in which only the existence of lines matters.
pub(crate) struct NullSink;

impl Sink for NullSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(true)
    }
}

/// The effect of a NUL in a line that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnNul {
    Nothing,
    /// The position of the NUL is recorded.
    Note,
    /// This line and the following ones are not printed.
    Stop,
    /// This line and the following ones do not count.
    Quit,
}

#[derive(Debug, Clone)]
pub(crate) struct SinkOptions {
    pub(crate) on_nul: OnNul,
    /// Offset from which lines are not printed.
    pub(crate) stop_from: Option<usize>,
    /// Maximum number of matches, and of lines of context after the last one.
    pub(crate) limits: (Option<u64>, usize),
    /// True if the output is JSON.
    pub(crate) json: bool,
}

/// The state up to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) position: Position,
    pub(crate) matched: bool,
    pub(crate) submatches: u64,
    /// End of the line in the part.
    pub(crate) end: usize,
}

/// Facts of a part that the file needs. Offsets are relative to the part.
#[derive(Debug, Default)]
pub(crate) struct PartFacts {
    pub(crate) matches: u64,
    pub(crate) submatches: u64,
    /// Start of the first line with an event, and true if it matched.
    pub(crate) first: Option<(usize, bool)>,
    /// End of the last such line.
    pub(crate) end: Option<usize>,
    /// A NUL in a line that was found.
    pub(crate) nul: Option<usize>,
    /// True if lines from the last one on are not printed because of a NUL.
    pub(crate) stopped: bool,
    /// The state up to each line passed on, if there is a limit.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// Number and start of the last line.
    pub(crate) number: Option<(u64, usize)>,
    pub(crate) begin: Option<Vec<u8>>,
}

pub(crate) struct PartSink<S, C> {
    inner: S,
    /// The number of matches in the lines that `inner` printed.
    count: C,
    output: Rc<RefCell<RecordedOutput>>,
    own: Range<usize>,
    rules: SinkOptions,
    /// Number of matches still allowed; `behind`: lines of context still allowed after the last one.
    left: Option<u64>,
    behind: usize,
    gap: bool,
    /// If lines stop within the part: the state before the context that precedes the next match.
    before: Option<BeforeContext>,
    pub(crate) facts: PartFacts,
}

struct BeforeContext {
    position: Position,
    first: Option<(usize, bool)>,
    end: Option<usize>,
    checkpoints: usize,
}

struct SearchedLine<'l> {
    bytes: &'l [u8],
    start: usize,
    number: Option<u64>,
    matched: bool,
    /// True for context before a match.
    precedes: bool,
}

impl<'l> SearchedLine<'l> {
    fn new(bytes: &'l [u8], start: u64, number: Option<u64>, matched: bool) -> Self {
        Self { bytes, start: start as usize, number, matched, precedes: false }
    }
}

impl<S: Sink<Error = io::Error>, C: Fn(&S) -> u64> PartSink<S, C> {
    pub(crate) fn new(
        inner: S,
        count: C,
        output: Rc<RefCell<RecordedOutput>>,
        own: Range<usize>,
        rules: SinkOptions,
    ) -> Self {
        let left = rules.limits.0;
        let facts = PartFacts::default();
        Self { inner, count, output, own, rules, left, behind: 0, gap: false, before: None, facts }
    }

    fn before_context(&self) -> BeforeContext {
        BeforeContext {
            position: self.output.borrow().position(),
            first: self.facts.first,
            end: self.facts.end,
            checkpoints: self.facts.checkpoints.len(),
        }
    }

    /// Processes a line printed by `print`; true if the search continues.
    fn line(
        &mut self,
        searcher: &Searcher,
        line: &SearchedLine<'_>,
        print: impl FnOnce(&mut S) -> io::Result<bool>,
    ) -> io::Result<bool> {
        if line.start < self.own.start {
            return Ok(true);
        }
        if line.start >= self.own.end {
            return Ok(false);
        }
        let nul = match self.rules.on_nul {
            OnNul::Nothing => None,
            _ => memchr::memchr(0, line.bytes).map(|at| line.start + at),
        };
        if let Some(nul) = nul {
            self.facts.nul.get_or_insert(nul);
            if self.rules.on_nul == OnNul::Quit {
                self.facts.stopped = true;
                return Ok(false);
            }
        }
        let stops = (nul.is_some() && self.rules.on_nul == OnNul::Stop)
            || self.rules.stop_from.is_some_and(|from| line.start >= from);
        let first = self.facts.first.is_none();
        if std::mem::take(&mut self.gap) && !first {
            self.inner.context_break(searcher)?;
        }
        if line.precedes && self.rules.stop_from.is_some() && self.before.is_none() {
            self.before = Some(self.before_context());
        }
        let before = if stops || line.matched { self.before.take() } else { None };
        if let Some(before) = before.filter(|_| stops) {
            // The search stopped at the first of these lines, before the match.
            self.output.borrow_mut().truncate(before.position);
            (self.facts.first, self.facts.end) = (before.first, before.end);
            self.facts.checkpoints.truncate(before.checkpoints);
            self.facts.stopped = true;
            return Ok(false);
        }
        self.facts.first.get_or_insert((line.start, line.matched));
        self.facts.matches += u64::from(line.matched);
        if stops && !line.matched {
            self.facts.stopped = true;
            return Ok(false);
        }
        let before = self.output.borrow().position();
        print(&mut self.inner)?;
        self.facts.submatches = (self.count)(&self.inner);
        if stops {
            // The line counts, so the printer had to process it.
            self.output.borrow_mut().truncate(before);
            self.facts.stopped = true;
            return Ok(false);
        }
        if self.rules.json {
            let output = &mut *self.output.borrow_mut();
            if first {
                self.facts.begin = Some(take_begin(output));
            }
            find_numbers(output, before);
        }
        let end = line.start + line.bytes.len();
        self.facts.end = Some(end);
        self.facts.number = line.number.map(|number| (number, line.start));
        Ok(self.wants_more(line, end))
    }

    fn wants_more(&mut self, line: &SearchedLine<'_>, end: usize) -> bool {
        let Some(left) = &mut self.left else { return true };
        self.facts.checkpoints.push(Checkpoint {
            position: self.output.borrow().position(),
            matched: line.matched,
            submatches: self.facts.submatches,
            end,
        });
        consume_limit(left, &mut self.behind, line.matched, self.rules.limits.1)
    }
}

/// Counts a line against a limit of matches and of lines after the last match; true if more are allowed.
pub(crate) fn consume_limit(left: &mut u64, behind: &mut usize, matched: bool, after: usize) -> bool {
    if *left == 0 {
        *behind = behind.saturating_sub(1);
    } else if matched {
        *left -= 1;
        if *left == 0 {
            *behind = after;
        }
    }
    *left > 0 || *behind > 0
}

impl<S: Sink<Error = io::Error>, C: Fn(&S) -> u64> Sink for PartSink<S, C> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = SearchedLine::new(found.bytes(), found.absolute_byte_offset(), found.line_number(), true);
        self.line(searcher, &line, |inner| inner.matched(searcher, found))
    }

    fn context(&mut self, searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let line = SearchedLine::new(found.bytes(), found.absolute_byte_offset(), found.line_number(), false);
        let line = SearchedLine { precedes: *found.kind() == SinkContextKind::Before, ..line };
        self.line(searcher, &line, |inner| inner.context(searcher, found))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.gap = true;
        Ok(true)
    }

    fn begin(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.inner.begin(searcher)
    }

    /// A part's end is not the end of the file: the file printer prints the final message instead.
    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}
