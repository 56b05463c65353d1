//! Prints the results of one file: the parts in order with the file's numbers, separators, and the final message.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Instant;

use grep_printer::{Stats, SummaryKind};

use crate::part_searcher::{PartResult, consume_limit};
use crate::query::{Print, Query};
use crate::recorded_output::{Style, decimal, end_message};
use crate::settings::{Detection, READ_SIZE, ReadMode, SourceInfo, shown};
use crate::whole_searcher::SearchResult;

/// Parts held back where a later NUL affects them, in lengths of the longest: as much as `rg` may have buffered.
const KEPT_BACK: u64 = 4;

/// The printer of one file that is searched in parts.
#[derive(Debug)]
pub struct FilePrinter<'q> {
    query: &'q Query,
    path: Cow<'q, [u8]>,
    source: SourceInfo,
    start: Instant,
    /// Number of lines in the parts so far.
    lines: u64,
    /// End of the last printed line.
    end: Option<u64>,
    matches: u64,
    submatches: u64,
    /// End of the last match, and of the last part.
    last_match: u64,
    reached: u64,
    left: Option<u64>,
    behind: usize,
    /// The first NUL that affects the output.
    nul: Option<u64>,
    /// True if the next line found ends the search.
    stopping: bool,
    quit: bool,
    /// The message that begins the file, or the heading, if already printed.
    begun: Option<Vec<u8>>,
    done: bool,
    limited: bool,
    printed: u64,
    held: VecDeque<PartResult>,
    longest: u64,
    error: Option<io::Error>,
}

/// The result of taking a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartOutcome {
    /// The next part is needed.
    More,
    /// No more parts are needed.
    Done,
    /// The file must be searched as a whole for this reason, leaving out the bytes that this printer has printed.
    SearchWhole(&'static str),
}

impl PartOutcome {
    /// True if the next part is needed.
    pub fn more(self) -> bool {
        self == Self::More
    }
}

impl Query {
    /// Returns the printer of a file that is searched in parts.
    pub fn file_printer<'q>(&'q self, path: &'q Path, source: SourceInfo) -> FilePrinter<'q> {
        let quit = source.detection == Detection::Quit && source.known.is_some();
        FilePrinter {
            query: self,
            path: shown(path, self.settings.path_separator),
            source,
            start: Instant::now(),
            lines: 0,
            end: None,
            matches: 0,
            submatches: 0,
            last_match: 0,
            reached: 0,
            left: self.limits(source).0,
            behind: 0,
            nul: source.known,
            stopping: false,
            quit,
            begun: None,
            done: quit,
            limited: false,
            printed: 0,
            held: VecDeque::new(),
            longest: READ_SIZE as u64,
            error: None,
        }
    }
}

impl FilePrinter<'_> {
    /// Prints the results of the next part.
    pub fn take(&mut self, found: PartResult, out: &mut Vec<u8>) -> PartOutcome {
        let before = out.len();
        let again = self.turn(found, out);
        self.printed += (out.len() - before) as u64;
        match (again, self.done) {
            (Some(reason), _) => PartOutcome::SearchWhole(reason),
            (_, true) => PartOutcome::Done,
            _ => PartOutcome::More,
        }
    }

    /// Returns the number of bytes printed.
    pub fn printed(&self) -> u64 {
        self.printed
    }

    /// Prints the results that are due, or returns the reason to search the file as a whole.
    fn turn(&mut self, found: PartResult, out: &mut Vec<u8>) -> Option<&'static str> {
        if found.output.is_full && !self.done {
            return Some("its output takes much memory");
        }
        let keeps_back = self.query.restarts_at_nul(self.source);
        if !keeps_back {
            self.put(found, out);
            return None;
        }
        // The effect on the output depends on everything before the NUL.
        if found.nul.is_some() {
            return Some("it contains NUL");
        }
        self.longest = self.longest.max(found.own.end - found.own.start);
        self.held.push_back(found);
        let end = self.held.back().map_or(0, |last| last.own.end);
        while !self.done
            && self.held.front().is_some_and(|first| end - first.own.end >= KEPT_BACK * self.longest)
        {
            if let Some(first) = self.held.pop_front() {
                self.put(first, out);
            }
        }
        None
    }

    fn put(&mut self, mut found: PartResult, out: &mut Vec<u8>) {
        if self.done {
            return;
        }
        let (settings, print) = (&self.query.settings, self.query.print());
        let lines = self.lines.wrapping_sub(found.lines_before);
        self.lines += found.lines;
        self.reached = found.own.end;
        if let Some(error) = found.error.take() {
            self.error = Some(error);
            self.done = true;
        }
        let nul = found.nul.or(found.facts.nul.map(|nul| nul as u64 + found.offset));
        let facts = &found.facts;
        let Some((first, first_matched)) = facts.first else {
            self.nul = self.nul.or(nul);
            if facts.stopped {
                (self.done, self.quit) = (true, true);
            }
            return self.stop_after(&found);
        };
        if print == Print::Lines
            && settings.any_context()
            && self.end.is_some_and(|end| end < first as u64 + found.offset)
            && let Some(separator) = &settings.context_separator
        {
            out.extend_from_slice(separator);
            out.extend_from_slice(settings.line_end());
        }
        if self.stopping {
            self.matches += u64::from(first_matched);
            self.done = true;
            return;
        }
        let (mut position, mut end) = (found.output.position(), facts.end);
        let (mut matches, mut submatches) = (facts.matches, facts.submatches);
        let (_, after) = self.query.limits(self.source);
        if let Some(left) = &mut self.left {
            // A line that stopped the search has no checkpoint.
            for (index, checkpoint) in facts.checkpoints.iter().enumerate() {
                if checkpoint.matched {
                    self.last_match = found.offset + checkpoint.end as u64;
                }
                if !consume_limit(left, &mut self.behind, checkpoint.matched, after) {
                    let taken = &facts.checkpoints[..=index];
                    matches = taken.iter().filter(|checkpoint| checkpoint.matched).count() as u64;
                    (position, end, submatches) =
                        (checkpoint.position, Some(checkpoint.end), checkpoint.submatches);
                    (self.done, self.limited) = (true, true);
                    break;
                }
            }
        }
        // A NUL in a part of which no lines are printed any more counts as unseen.
        if !(self.limited && print == Print::Lines) {
            self.nul = self.nul.or(nul);
        }
        if position.text > 0 {
            self.begin(&found, out);
        }
        found.output.print(position, lines, found.offset, &self.query.escapes, out);
        self.matches += matches;
        self.submatches += submatches;
        if let Some(end) = end {
            self.end = Some(found.offset + end as u64);
        }
        if facts.stopped && !self.done {
            self.quit = self.source.detection == Detection::Quit;
            self.done = true;
        }
        self.stop_after(&found);
    }

    /// After a NUL in input that cannot be read again, the next line found is the last.
    fn stop_after(&mut self, found: &PartResult) {
        self.stopping |= found.nul.is_some()
            && self.query.print() == Print::Lines
            && self.source.detection == Detection::Convert;
    }

    fn begin(&mut self, found: &PartResult, out: &mut Vec<u8>) {
        if self.begun.is_some() {
            return;
        }
        let settings = &self.query.settings;
        let begin = match (&found.facts.begin, self.query.print()) {
            (Some(message), Print::Json) => message.clone(),
            (_, Print::Lines) if settings.heading && settings.with_filename => {
                let mut heading = Vec::new();
                self.query.escapes.print(Style::Path, &self.path, &mut heading);
                match settings.path_terminator {
                    Some(end) => heading.push(end),
                    None => heading.extend_from_slice(settings.line_end()),
                }
                heading
            }
            _ => Vec::new(),
        };
        out.extend_from_slice(&begin);
        self.begun = Some(begin);
    }

    /// Prints the final message of the file.
    ///
    /// # Errors
    /// Those of the matcher in any part.
    pub fn finish(mut self, out: &mut Vec<u8>) -> io::Result<SearchResult> {
        let before = out.len();
        while let Some(found) = self.held.pop_front() {
            self.put(found, out);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let query = self.query;
        let settings = &query.settings;
        let lines = self.begun.is_some();
        let stats = |printed: u64| {
            settings.counts().then(|| {
                let mut stats = Stats::new();
                stats.add_elapsed(self.start.elapsed());
                stats.add_searches(1);
                stats.add_searches_with_match(u64::from(self.matches > 0));
                stats.add_bytes_searched(self.searched());
                stats.add_bytes_printed(printed);
                stats.add_matched_lines(self.matches);
                stats.add_matches(self.submatches);
                stats
            })
        };
        let mut result = SearchResult { matched: self.matches > 0, lines, stats: None };
        match query.print() {
            Print::Lines => {
                self.print_binary(out);
                result.stats = stats(self.printed + (out.len() - before) as u64);
            }
            Print::Json => {
                result.stats = stats(self.printed + (out.len() - before) as u64);
                if let (Some(begin), Some(stats)) = (&self.begun, &result.stats) {
                    out.extend_from_slice(&end_message(begin, self.nul, stats));
                }
            }
            Print::Summary(kind) => {
                result = SearchResult { lines: true, stats: stats(0), ..result };
                // A binary file counts as without matches, even if some were found before the NUL.
                let matches = if self.quit { 0 } else { self.matches };
                let without = matches!(kind, SummaryKind::PathWithoutMatch | SummaryKind::QuietWithoutMatch);
                result.matched = (matches > 0) != without;
                if !self.quit {
                    self.print_summary(kind, out);
                }
            }
        }
        Ok(result)
    }

    fn searched(&self) -> u64 {
        let reached = if self.limited { self.last_match } else { self.reached };
        match (self.source.read_mode, self.nul) {
            (ReadMode::Mapped, Some(nul)) => nul.min(reached),
            _ => reached,
        }
    }

    fn print_binary(&self, out: &mut Vec<u8>) {
        let Some(nul) = self.nul.filter(|_| self.matches > 0) else { return };
        if self.query.settings.with_filename {
            self.query.escapes.print(Style::Path, &self.path, out);
            out.extend_from_slice(b": ");
        }
        let text = match self.source.detection {
            Detection::Quit => "WARNING: stopped searching binary file after match",
            _ => "binary file matches",
        };
        out.extend_from_slice(format!("{text} (found \"\\0\" byte around offset {nul})\n").as_bytes());
    }

    fn print_summary(&self, kind: SummaryKind, out: &mut Vec<u8>) {
        let settings = &self.query.settings;
        let path = |end: &[u8], out: &mut Vec<u8>| {
            self.query.escapes.print(Style::Path, &self.path, out);
            match settings.path_terminator {
                Some(end) => out.push(end),
                None => out.extend_from_slice(end),
            }
        };
        match kind {
            SummaryKind::Count | SummaryKind::CountMatches if self.matches > 0 || settings.include_zero => {
                if settings.with_filename {
                    path(b":", out);
                }
                let count = if kind == SummaryKind::Count { self.matches } else { self.submatches };
                decimal(count, out);
                out.extend_from_slice(settings.line_end());
            }
            SummaryKind::PathWithMatch if self.matches > 0 => path(settings.line_end(), out),
            SummaryKind::PathWithoutMatch if self.matches == 0 => path(settings.line_end(), out),
            _ => {}
        }
    }
}
