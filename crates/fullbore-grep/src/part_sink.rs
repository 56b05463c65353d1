//! A sink between ripgrep's searcher and its printer: passes on the events in a part's own lines, and records the facts
//! that the file needs.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::rc::Rc;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::json;
use crate::recorded_output::{Position, RecordedOutput};

/// Prints nothing, where only the existence of lines matters.
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
    /// Its position is recorded.
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
    /// Start and end of the line in the part.
    pub(crate) start: usize,
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
    /// All lines passed on, if there is a limit.
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
    pub(crate) facts: PartFacts,
}

struct SearchedLine<'l> {
    bytes: &'l [u8],
    start: usize,
    number: Option<u64>,
    matched: bool,
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
        Self { inner, count, output, own, rules, left, behind: 0, gap: false, facts: PartFacts::default() }
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
        let first = self.facts.first.is_none();
        if std::mem::take(&mut self.gap) && !first {
            self.inner.context_break(searcher)?;
        }
        self.facts.first.get_or_insert((line.start, line.matched));
        self.facts.matches += u64::from(line.matched);
        let stops = (nul.is_some() && self.rules.on_nul == OnNul::Stop)
            || self.rules.stop_from.is_some_and(|from| line.start >= from);
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
                self.facts.begin = Some(json::take_begin(output));
            }
            json::find_numbers(output, before);
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
            start: line.start,
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
        let line = SearchedLine {
            bytes: found.bytes(),
            start: found.absolute_byte_offset() as usize,
            number: found.line_number(),
            matched: true,
        };
        self.line(searcher, &line, |inner| inner.matched(searcher, found))
    }

    fn context(&mut self, searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let line = SearchedLine {
            bytes: found.bytes(),
            start: found.absolute_byte_offset() as usize,
            number: found.line_number(),
            matched: false,
        };
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
