//! Prints search results to standard output in the order of the files.

use std::ops::ControlFlow;
use std::time::Instant;

use fullbore_cli::common_args::CliRun;
use fullbore_grep::grep_printer::Stats;
use fullbore_grep::{SearchResult, Settings, Show};

use crate::exit::{Exit, program};

/// The result of a file, or of a part of one.
#[derive(Debug, Default)]
pub(crate) struct FileOutput {
    pub(crate) bytes: Vec<u8>,
    /// True if this is the first piece of a file.
    pub(crate) begins: bool,
    /// True if the piece begins with lines, not with a summary of a file.
    pub(crate) lines: bool,
    pub(crate) matched: bool,
    pub(crate) stats: Option<Stats>,
    /// An error or warning, with its exit status; 0 leaves the exit status unchanged.
    pub(crate) said: Option<(u8, String)>,
}

#[derive(Debug)]
pub(crate) struct Separators {
    text: Option<Vec<u8>>,
    /// True if separators precede lines only, not summaries of a file.
    lines_only: bool,
}

impl Separators {
    /// Creates the separators. `serial` is true if the files are printed in a requested order.
    pub(crate) fn new(settings: &Settings, serial: bool) -> Self {
        let context = !settings.passthru && (settings.before_context > 0 || settings.after_context > 0);
        let text = match settings.show {
            Show::Lines if settings.quiet => None,
            Show::Lines if settings.heading => Some(Vec::new()),
            Show::Lines if context => settings.context_separator.clone(),
            _ => None,
        };
        let text = text.map(|mut text| {
            text.push(if serial && settings.null_data { 0 } else { b'\n' });
            if serial && settings.crlf {
                text.insert(text.len() - 1, b'\r');
            }
            text
        });
        Self { text, lines_only: serial }
    }

    fn before(&self, lines: bool) -> &[u8] {
        match &self.text {
            Some(text) if lines || !self.lines_only => text,
            _ => &[],
        }
    }
}

impl FileOutput {
    /// Creates the output of a whole file.
    pub(crate) fn from_result(result: &SearchResult, printed: &[u8]) -> Self {
        let mut output =
            Self { bytes: printed.to_vec(), begins: true, lines: result.lines, ..Self::default() };
        output.count(result);
        output
    }

    /// Creates the output of lines of a file; `begins`: its first ones.
    pub(crate) fn of_lines(bytes: Vec<u8>, begins: bool) -> Self {
        Self { bytes, begins, lines: true, ..Self::default() }
    }

    /// Creates the output of a message with its exit status. An empty message only sets the status.
    pub(crate) fn from_text(status: u8, text: String) -> Self {
        Self { said: Some((status, text)), ..Self::default() }
    }

    /// Adds the statistics known at the end of a file.
    pub(crate) fn count(&mut self, result: &SearchResult) {
        self.matched |= result.matched;
        if let Some(stats) = &result.stats {
            *self.stats.get_or_insert_default() += stats;
        }
    }

    /// True if the piece affects the output, the statistics or the exit status.
    pub(crate) fn counts(&self) -> bool {
        self.matched || !self.bytes.is_empty() || self.said.is_some() || self.stats.is_some()
    }

    pub(crate) fn weight(&self) -> usize {
        self.bytes.capacity() + self.said.as_ref().map_or(0, |(_, text)| text.capacity())
    }
}

/// A printer of pieces, in order.
pub(crate) struct Printer<'r> {
    run: &'r CliRun<'r>,
    separators: Separators,
    soon: bool,
    stops_at_first_match: bool,
    written: bool,
    start: Instant,
    pub(crate) matched: bool,
    pub(crate) status: u8,
    stats: Option<Stats>,
    pub(crate) failed: Option<Exit>,
}

/// Minimum number of bytes that are written without a copy.
const UNCOPIED_BYTES: usize = 32 << 10;

impl<'r> Printer<'r> {
    /// Creates a printer. With `soon` each piece is printed immediately.
    pub(crate) fn new(
        run: &'r CliRun<'r>,
        separators: Separators,
        soon: bool,
        stops_at_first_match: bool,
    ) -> Self {
        Self {
            run,
            separators,
            soon,
            stops_at_first_match,
            written: false,
            start: Instant::now(),
            matched: false,
            status: 0,
            stats: None,
            failed: None,
        }
    }

    /// Prints a piece; `Break` means that no more are needed.
    pub(crate) fn put(&mut self, output: FileOutput) -> ControlFlow<()> {
        if let Some((status, text)) = &output.said {
            self.status = self.status.max(*status);
            if !text.is_empty() {
                self.run.output.without_progress_line(|| Exit::eprint(&format!("{}: {text}\n", program(""))));
            }
        }
        self.matched |= output.matched;
        if let Some(stats) = &output.stats {
            *self.stats.get_or_insert_default() += stats;
        }
        if !output.bytes.is_empty()
            && let Err(exit) = self.write(&output)
        {
            self.failed = Some(exit);
            return ControlFlow::Break(());
        }
        match self.stops_at_first_match && self.matched {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn write(&mut self, output: &FileOutput) -> Result<(), Exit> {
        if std::mem::replace(&mut self.written, true) && output.begins {
            self.run.output.print_raw(self.separators.before(output.lines))?;
        }
        if output.bytes.len() < UNCOPIED_BYTES {
            self.run.output.print_raw(&output.bytes)?;
        } else {
            self.run.output.flush()?;
            self.run.output.without_progress_line(|| Exit::print_raw(&output.bytes))?;
        }
        if self.soon { self.run.output.flush() } else { Ok(()) }
    }

    /// Prints the statistics, if they are collected.
    pub(crate) fn statistics(&mut self, json: bool) -> Result<(), Exit> {
        let stats = self.stats.take().unwrap_or_default();
        let elapsed = self.start.elapsed();
        if json {
            let message = serde_json::json!({
                "type": "summary",
                "data": {
                    "stats": stats,
                    "elapsed_total": {
                        "secs": elapsed.as_secs(),
                        "nanos": elapsed.subsec_nanos(),
                        "human": format!("{:0.6}s", elapsed.as_secs_f64()),
                    },
                },
            });
            return self.run.output.print_raw(format!("{message}\n"));
        }
        // To rg with several threads they are the output of a further file.
        if self.written && !self.separators.lines_only {
            self.run.output.print_raw(self.separators.before(true))?;
        }
        self.run.output.print_raw(format!(
            "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n{} bytes printed\n\
             {} bytes searched\n{:0.6} seconds spent searching\n{:0.6} seconds total\n",
            stats.matches(),
            stats.matched_lines(),
            stats.searches_with_match(),
            stats.searches(),
            stats.bytes_printed(),
            stats.bytes_searched(),
            stats.elapsed().as_secs_f64(),
            elapsed.as_secs_f64(),
        ))
    }
}
