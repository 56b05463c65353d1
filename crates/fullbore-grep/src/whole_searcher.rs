//! Searches a file as a whole: ripgrep's searcher with ripgrep's printer.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Result, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use fullbore::error::panic_text;
use grep_printer::{ColorSpecs, JSON, Standard, Stats, Summary};
use grep_searcher::{BinaryDetection, Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use termcolor::{Buffer, ColorSpec, HyperlinkSpec, WriteColor};

use crate::matcher::AnyMatcher;
use crate::query::{Print, Query};
use crate::recorded_output::{Style, marker_colors};
use crate::settings::{Coding, Detection, READ_SIZE, ReadMode, Show, shown};

/// A searcher of whole files, used for one after the other.
#[derive(Debug)]
pub struct WholeSearcher<'w> {
    query: Query,
    searcher: Searcher,
    printer: Printer<'w>,
    multi_line: bool,
}

#[derive(Debug)]
enum Printer<'w> {
    Lines(Standard<Writer<'w>>),
    Json(JSON<Writer<'w>>),
    Summary(Summary<Writer<'w>>),
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchResult {
    /// True if there was a match, or with `--files-without-match` none.
    pub matched: bool,
    /// True if the output begins with a line, or with a heading of lines.
    pub lines: bool,
    /// Statistics, if they are collected.
    pub stats: Option<Stats>,
}

enum Haystack<'s> {
    Bytes(&'s [u8]),
    Reader(&'s mut dyn Read),
}

impl Query {
    /// Returns a searcher of whole files, used for one after the other.
    pub fn whole_searcher<'w>(&self) -> WholeSearcher<'w> {
        self.whole_searcher_within(usize::MAX)
    }

    /// As [`whole_searcher`](Self::whole_searcher), but a search fails if its output takes more than `room` bytes: the searcher
    /// is then [full](WholeSearcher::is_full).
    pub fn whole_searcher_within<'w>(&self, room: usize) -> WholeSearcher<'w> {
        self.searcher_to(None, room)
    }

    /// As [`whole_searcher`](Self::whole_searcher), but passes output to `forward` in pieces instead of keeping it.
    pub fn streaming_searcher<'w>(
        &self,
        forward: impl FnMut(&[u8]) -> Result<()> + Send + 'w,
    ) -> WholeSearcher<'w> {
        self.searcher_to(Some(Box::new(forward)), usize::MAX)
    }

    fn searcher_to<'w>(&self, forward: Option<OutputFn<'w>>, room: usize) -> WholeSearcher<'w> {
        let settings = &self.settings;
        let writer = Writer {
            buffer: if settings.color { Buffer::ansi() } else { Buffer::no_color() },
            forward,
            room,
            is_full: false,
            colors: settings.colors.clone(),
            path: Vec::new(),
            separator: settings.path_separator,
            at_path: false,
        };
        let marker_colors = || marker_colors(settings.color, &settings.colors);
        let printer = match self.print() {
            Print::Lines => Printer::Lines(self.standard(writer, marker_colors(), settings.stats)),
            Print::Json => Printer::Json(self.json(writer)),
            Print::Summary(kind) => {
                Printer::Summary(self.summary(writer, marker_colors(), kind, settings.counts()))
            }
        };
        let searcher = self.searcher().build();
        WholeSearcher { query: self.clone(), searcher, printer, multi_line: self.multi_line() }
    }
}

impl<'w> WholeSearcher<'w> {
    /// Searches all bytes of a file that was read in mode `read_mode`; `named`: it was named by the user.
    ///
    /// # Errors
    /// Those of the matcher and of the output callback.
    pub fn search_bytes(
        &mut self,
        path: &Path,
        read_mode: ReadMode,
        named: bool,
        bytes: &[u8],
    ) -> Result<SearchResult> {
        let detection = self.query.detection(named);
        if read_mode == ReadMode::Mapped || self.multi_line {
            return self.search(path, detection, Haystack::Bytes(bytes));
        }
        let (query, settings) = (&self.query, &self.query.settings);
        let counts = settings.counts() || settings.show == Show::CountMatches;
        let as_it_is = !matches!(settings.coding, Coding::Named(_))
            && !query.source_info(read_mode, named, bytes).marked
            && !counts
            // The point where this search stops depends on the boundaries of ripgrep's reads.
            && !settings.stop_on_nonmatch
            && (detection == Detection::None || memchr::memchr(0, bytes).is_none());
        if as_it_is {
            self.search(path, Detection::None, Haystack::Bytes(bytes))
        } else {
            let mut rest = bytes;
            if settings.longest_line.is_none_or(|most| bytes.len() <= most) {
                return self.search(path, detection, Haystack::Reader(&mut rest));
            }
            // A line that is longer than the limit is there already.
            let unlimited = query.searcher().heap_limit(None).build();
            let limited = std::mem::replace(&mut self.searcher, unlimited);
            let result = self.search(path, detection, Haystack::Reader(&mut rest));
            self.searcher = limited;
            result
        }
    }

    /// Searches the bytes of a reader.
    ///
    /// # Errors
    /// Those of the reader, of the matcher and of the output callback.
    pub fn search_reader(&mut self, path: &Path, named: bool, reader: &mut dyn Read) -> Result<SearchResult> {
        self.search(path, self.query.detection(named), Haystack::Reader(reader))
    }

    fn search(&mut self, path: &Path, detection: Detection, source: Haystack<'_>) -> Result<SearchResult> {
        self.searcher.set_binary_detection(match detection {
            Detection::None => BinaryDetection::none(),
            Detection::Convert => BinaryDetection::convert(0),
            Detection::Quit => BinaryDetection::quit(0),
        });
        self.writer().name(path);
        let (searcher, matcher) = (&mut self.searcher, &self.query.matcher);
        let real_path = self.query.settings.stats || self.query.links();
        let shown_path = if real_path { path } else { Path::new(PLACEHOLDER_PATH) };
        match &mut self.printer {
            Printer::Lines(printer) => {
                let mut sink =
                    LineTracker { inner: printer.sink_with_path(matcher, shown_path), lines: false };
                run(searcher, matcher, source, &mut sink)?;
                let (lines, sink) = (sink.lines, sink.inner);
                Ok(SearchResult { matched: sink.has_match(), lines, stats: sink.stats().cloned() })
            }
            Printer::Json(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                run(searcher, matcher, source, &mut sink)?;
                Ok(SearchResult { matched: sink.has_match(), lines: true, stats: Some(sink.stats().clone()) })
            }
            Printer::Summary(printer) => {
                let mut sink = printer.sink_with_path(matcher, shown_path);
                run(searcher, matcher, source, &mut sink)?;
                Ok(SearchResult { matched: sink.has_match(), lines: true, stats: sink.stats().cloned() })
            }
        }
    }

    /// Returns the output since it was last [cleared](Self::clear), except for what was forwarded.
    pub fn printed(&mut self) -> &[u8] {
        self.writer().buffer.as_slice()
    }

    /// True if a search since the output was last [cleared](Self::clear) failed because its output takes too much memory.
    pub fn is_full(&mut self) -> bool {
        self.writer().is_full
    }

    /// Clears the output.
    pub fn clear(&mut self) {
        let writer = self.writer();
        writer.buffer.clear();
        writer.is_full = false;
    }

    fn writer(&mut self) -> &mut Writer<'w> {
        match &mut self.printer {
            Printer::Lines(printer) => printer.get_mut(),
            Printer::Json(printer) => printer.get_mut(),
            Printer::Summary(printer) => printer.get_mut(),
        }
    }
}

fn run<S: Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &AnyMatcher,
    source: Haystack<'_>,
    sink: &mut S,
) -> Result<()> {
    // The printers of ripgrep's crates panic on some multi-line matches under a limit of matches: only this search fails.
    let search = AssertUnwindSafe(|| match source {
        Haystack::Bytes(bytes) => searcher.search_slice(matcher, bytes, sink),
        Haystack::Reader(reader) => searcher.search_reader(matcher, reader, sink),
    });
    SEARCHING.set(true);
    let result = catch_unwind(search);
    SEARCHING.set(false);
    result.unwrap_or_else(|panic| {
        let text = panic_text(&*panic).unwrap_or("unknown");
        Err(io::Error::other(format!("the searching library failed with these flags ({text})")))
    })
}

thread_local!(static SEARCHING: Cell<bool> = const { Cell::new(false) });

/// True while the calling thread searches a whole file: a panic is then an error of that search, which a panic hook need not
/// report.
pub fn catches_panics() -> bool {
    SEARCHING.get()
}

struct LineTracker<S> {
    inner: S,
    lines: bool,
}

impl<S: Sink<Error = io::Error>> Sink for LineTracker<S> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool> {
        let more = self.inner.matched(searcher, found)?;
        self.lines |= more;
        Ok(more)
    }

    fn context(&mut self, searcher: &Searcher, found: &SinkContext<'_>) -> Result<bool> {
        let more = self.inner.context(searcher, found)?;
        self.lines |= more;
        Ok(more)
    }

    fn context_break(&mut self, searcher: &Searcher) -> Result<bool> {
        self.inner.context_break(searcher)
    }

    fn binary_data(&mut self, searcher: &Searcher, offset: u64) -> Result<bool> {
        self.inner.binary_data(searcher, offset)
    }

    fn begin(&mut self, searcher: &Searcher) -> Result<bool> {
        self.inner.begin(searcher)
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> Result<()> {
        self.inner.finish(searcher, finish)
    }
}

type OutputFn<'w> = Box<dyn FnMut(&[u8]) -> Result<()> + Send + 'w>;

/// The path passed to the printers of lines and summaries. A printer resolves its path, which takes as long as the
/// search of a file with a match, and the result is used for links only. But printers count the bytes that they write,
/// so with statistics or links they get the real path.
const PLACEHOLDER_PATH: &str = "/";

/// Keeps the output, or forwards it in pieces. Writes the real path where the printer uses the path's [colour](marker_colors).
pub(crate) struct Writer<'w> {
    buffer: Buffer,
    forward: Option<OutputFn<'w>>,
    /// Bytes that may be kept.
    room: usize,
    is_full: bool,
    colors: ColorSpecs,
    path: Vec<u8>,
    separator: Option<u8>,
    at_path: bool,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("held", &self.buffer.len()).finish_non_exhaustive()
    }
}

impl Writer<'_> {
    fn name(&mut self, path: &Path) {
        // The search before may have ended within a path.
        self.at_path = false;
        self.path.clear();
        self.path.extend_from_slice(&shown(path, self.separator));
    }

    fn forward(&mut self) -> Result<()> {
        if let Some(forward) = &mut self.forward {
            forward(self.buffer.as_slice())?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let count = bytes.len();
        if bytes.len() > READ_SIZE && self.forward.is_some() {
            self.forward()?;
            if let Some(forward) = &mut self.forward {
                bytes.chunks(16 * READ_SIZE).try_for_each(forward)?;
            }
            return Ok(count);
        }
        let bytes = if self.at_path { &self.path } else { bytes };
        if self.forward.is_none() && bytes.len() > self.room.saturating_sub(self.buffer.len()) {
            self.is_full = true;
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.buffer.write_all(bytes)?;
        if self.forward.is_some() && self.buffer.len() >= READ_SIZE {
            self.forward()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl WriteColor for Writer<'_> {
    fn supports_color(&self) -> bool {
        self.buffer.supports_color()
    }

    fn supports_hyperlinks(&self) -> bool {
        self.buffer.supports_hyperlinks()
    }

    fn set_hyperlink(&mut self, link: &HyperlinkSpec<'_>) -> Result<()> {
        self.buffer.set_hyperlink(link)
    }

    fn set_color(&mut self, spec: &ColorSpec) -> Result<()> {
        let style = Style::from_color(spec);
        self.at_path = style == Some(Style::Path);
        self.buffer.set_color(style.map_or(spec, |style| style.spec(&self.colors)))
    }

    fn reset(&mut self) -> Result<()> {
        self.at_path = false;
        self.buffer.reset()
    }
}
