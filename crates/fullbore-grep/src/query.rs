//! Compiled settings: the matcher, the searchers and the printers.

use std::sync::Arc;

use grep_matcher::LineTerminator;
use grep_printer::{
    ColorSpecs, HyperlinkConfig, JSON, JSONBuilder, Standard, StandardBuilder, Summary, SummaryBuilder,
    SummaryKind,
};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use termcolor::WriteColor;

use crate::matcher::AnyMatcher;
use crate::recorded_output::{Escapes, Numbers};
use crate::settings::{Coding, Detection, Nuls, READ_SIZE, ReadMode, Settings, Show, SourceInfo};

/// A search ready to run.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) settings: Arc<Settings>,
    pub(crate) matcher: AnyMatcher,
    pub(crate) escapes: Escapes,
    whole_file_reason: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Print {
    Lines,
    Json,
    Summary(SummaryKind),
}

impl Query {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// If a pattern is invalid, in the wording of the regex crate with advice.
    pub fn new(mut settings: Settings) -> Result<Self, String> {
        settings.show = match settings.show {
            Show::CountMatches if settings.invert_match => Show::Count,
            Show::Count if settings.only_matching => Show::CountMatches,
            show => show,
        };
        settings.color &= settings.show != Show::Json;
        let matcher = AnyMatcher::new(&settings)?;
        let escapes = Escapes::new(settings.color, &settings.colors);
        let mut query = Self { settings: Arc::new(settings), matcher, escapes, whole_file_reason: None };
        query.whole_file_reason = query.pattern_whole_file_reason();
        Ok(query)
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// True if the first match in any file is sufficient.
    pub fn stops_at_first_match(&self) -> bool {
        self.settings.quiet && !self.settings.counts()
    }

    /// Returns the facts of a file by its first [`SourceInfo::BYTES`] bytes; `named`: it was named by the user.
    pub fn source_info(&self, read_mode: ReadMode, named: bool, first: &[u8]) -> SourceInfo {
        let detection = self.detection(named);
        let first = &first[..first.len().min(READ_SIZE)];
        let looks = read_mode == ReadMode::Mapped && detection != Detection::None;
        let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
        let sniff = !matches!(self.settings.coding, Coding::Raw);
        SourceInfo {
            read_mode,
            detection,
            known: looks.then(|| memchr::memchr(0, first)).flatten().map(|at| at as u64),
            marked: sniff && marks.iter().any(|mark| first.starts_with(mark)),
        }
    }

    /// Returns the reason why a file must be searched as a whole, if it must.
    pub fn whole_file_reason(&self, source: SourceInfo) -> Option<&'static str> {
        if source.marked {
            return Some("a byte order mark: the text may be in another encoding");
        }
        if matches!(source.read_mode, ReadMode::Piped { .. }) {
            if self.reach() > MUCH_CONTEXT {
                return Some("much context, and a pipe cannot be read again");
            }
            if self.settings.vimgrep && self.print() == Print::Lines {
                return Some("a line is printed for each match, and a pipe cannot be read again");
            }
        }
        self.whole_file_reason
    }

    /// Number of lines before and after a line that are printed with it.
    pub(crate) fn reach(&self) -> usize {
        let settings = &self.settings;
        if settings.any_context() && matches!(self.print(), Print::Lines | Print::Json) {
            settings.before_context.max(settings.after_context)
        } else {
            0
        }
    }

    pub(crate) fn detection(&self, named: bool) -> Detection {
        match self.settings.nuls {
            _ if self.settings.null_data => Detection::None,
            Nuls::Text => Detection::None,
            Nuls::Auto if !named => Detection::Quit,
            _ => Detection::Convert,
        }
    }

    pub(crate) fn print(&self) -> Print {
        let (show, quiet) = (self.settings.show, self.settings.quiet);
        match show {
            Show::PathsWithout if quiet => Print::Summary(SummaryKind::QuietWithoutMatch),
            _ if quiet => Print::Summary(SummaryKind::QuietWithMatch),
            Show::Lines => Print::Lines,
            Show::Json => Print::Json,
            Show::Count => Print::Summary(SummaryKind::Count),
            Show::CountMatches => Print::Summary(SummaryKind::CountMatches),
            Show::PathsWith => Print::Summary(SummaryKind::PathWithMatch),
            Show::PathsWithout => Print::Summary(SummaryKind::PathWithoutMatch),
        }
    }

    /// The limit of matches in a file, and of lines of context after the last one.
    pub(crate) fn limits(&self, source: SourceInfo) -> (Option<u64>, usize) {
        match (self.first_only(source), self.settings.passthru) {
            (true, _) => (Some(1), 0),
            (_, true) => (self.settings.max_count, 0),
            _ => (self.settings.max_count, self.settings.after_context),
        }
    }

    /// True if paths are printed as links.
    pub(crate) fn links(&self) -> bool {
        self.settings.color && self.settings.hyperlinks.is_some()
    }

    fn hyperlinks(&self) -> HyperlinkConfig {
        self.settings.hyperlinks.clone().unwrap_or_default()
    }

    /// True if one match per file is sufficient. A NUL after it makes a file without a match of one whose search it ends,
    /// unless ripgrep ended at the match.
    fn first_only(&self, source: SourceInfo) -> bool {
        use SummaryKind::{PathWithMatch, PathWithoutMatch, QuietWithMatch, QuietWithoutMatch};
        let whole = source.detection == Detection::Quit;
        !self.settings.counts()
            && match self.print() {
                Print::Summary(PathWithMatch | QuietWithMatch) => !(whole && self.settings.invert_match),
                Print::Summary(PathWithoutMatch | QuietWithoutMatch) => !whole,
                _ => false,
            }
    }

    pub(crate) fn multi_line(&self) -> bool {
        self.searcher().build().multi_line_with_matcher(&self.matcher)
    }

    fn pattern_whole_file_reason(&self) -> Option<&'static str> {
        let settings = &self.settings;
        // Matches of patterns for the start or end of the text depend on the boundaries of ripgrep's buffers.
        let anchored = settings.patterns.iter().any(|pattern| {
            let is_anchor = || [r"\A", r"\z", "(?^"].iter().any(|part| pattern.contains(part));
            !settings.fixed_strings && (is_anchor() || ends_line_mode(pattern))
        });
        let separators = [&settings.field_match_separator, &settings.field_context_separator];
        let separated = separators.iter().all(|text| !text.is_empty());
        let limited = settings.max_count.is_some();
        let lines = self.print() == Print::Lines;
        let by_lines = matches!(self.matcher, AnyMatcher::Rust(_)) && !settings.crlf && lines;
        let differs_after = settings.passthru || settings.after_context > 0 && !by_lines;
        let counted_further = (settings.invert_match || settings.after_context > 0) && settings.counts();
        let reasons = [
            (self.links(), "links contain line numbers of the file"),
            (self.multi_line(), "the pattern may match over several lines"),
            (matches!(settings.coding, Coding::Named(_)), "the text is in another encoding"),
            (settings.null_data, "the matcher looks beyond lines that end with NUL"),
            (settings.stop_on_nonmatch, "the search stops at the first non-matching line"),
            (anchored, "the pattern may match the start or the end of the text"),
            (limited && differs_after, "lines after the last match are printed differently"),
            (settings.column && settings.byte_offset && !separated, "columns and offsets are not separated"),
            (limited && counted_further, "the statistics end at a boundary of ripgrep's buffers"),
            (settings.stats && settings.color && lines, "the statistics do not count colours"),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    /// True if the effect of a NUL depends on ripgrep's buffers: then the file is searched again as a whole.
    pub(crate) fn restarts_at_nul(&self, source: SourceInfo) -> bool {
        let stops =
            self.print() == Print::Lines || (self.settings.counts() && self.settings.max_count.is_some());
        source.read_mode == ReadMode::Streamed
            && match source.detection {
                Detection::None => false,
                Detection::Quit => true,
                Detection::Convert => stops,
            }
    }

    /// Returns the numbers in the output, with which a recorder distinguishes columns from offsets.
    pub(crate) fn numbers(&self) -> Numbers {
        match (self.settings.column || self.settings.vimgrep, self.settings.byte_offset) {
            (true, true) => Numbers::Both(1),
            (false, true) => Numbers::Offsets,
            _ => Numbers::Columns,
        }
    }

    pub(crate) fn searcher(&self) -> SearcherBuilder {
        let settings = &self.settings;
        let mut builder = SearcherBuilder::new();
        let end = match (settings.crlf, settings.null_data) {
            (true, _) => LineTerminator::crlf(),
            (_, true) => LineTerminator::byte(0),
            _ => LineTerminator::byte(b'\n'),
        };
        builder
            .max_matches(settings.max_count)
            .line_terminator(end)
            .invert_match(settings.invert_match)
            .line_number(settings.line_number)
            .multi_line(settings.multiline)
            // A file with possible multi-line matches is read into memory as a whole, if it must be read.
            .heap_limit(settings.longest_line.filter(|_| !settings.multiline))
            .stop_on_nonmatch(settings.stop_on_nonmatch);
        if settings.passthru {
            builder.passthru(true);
        } else {
            builder.before_context(settings.before_context).after_context(settings.after_context);
        }
        match &settings.coding {
            Coding::Auto => &mut builder,
            Coding::Raw => builder.bom_sniffing(false),
            Coding::Named(encoding) => builder.encoding(Some(encoding.clone())),
        };
        builder
    }

    /// Returns a searcher of parts: the file printer handles what concerns the whole file.
    pub(crate) fn searcher_of_parts(&self) -> Searcher {
        let none = BinaryDetection::none();
        self.searcher().max_matches(None).bom_sniffing(false).binary_detection(none).build()
    }

    pub(crate) fn standard<W: WriteColor>(&self, writer: W, colors: ColorSpecs, stats: bool) -> Standard<W> {
        let settings = &self.settings;
        StandardBuilder::new()
            .byte_offset(settings.byte_offset)
            .color_specs(colors)
            .column(settings.column)
            .heading(settings.heading)
            .hyperlink(self.hyperlinks())
            .max_columns(settings.max_columns)
            .max_columns_preview(settings.max_columns_preview)
            .only_matching(settings.only_matching)
            .path(settings.with_filename)
            .path_terminator(settings.path_terminator)
            .per_match(settings.vimgrep)
            .per_match_one_line(true)
            .replacement(settings.replace.clone())
            .separator_context(settings.context_separator.clone())
            .separator_field_match(settings.field_match_separator.clone())
            .separator_field_context(settings.field_context_separator.clone())
            .separator_path(settings.path_separator)
            .stats(stats)
            .trim_ascii(settings.trim)
            .build(writer)
    }

    pub(crate) fn summary<W: WriteColor>(
        &self,
        writer: W,
        colors: ColorSpecs,
        kind: SummaryKind,
        stats: bool,
    ) -> Summary<W> {
        let settings = &self.settings;
        SummaryBuilder::new()
            .kind(kind)
            .hyperlink(self.hyperlinks())
            .color_specs(colors)
            .exclude_zero(!settings.include_zero)
            .path(settings.with_filename)
            .path_terminator(settings.path_terminator)
            .separator_field(b":".to_vec())
            .separator_path(settings.path_separator)
            .stats(stats)
            .build(writer)
    }

    pub(crate) fn json<W: std::io::Write>(&self, writer: W) -> JSON<W> {
        JSONBuilder::new().replacement(self.settings.replace.clone()).build(writer)
    }
}

/// Lines of context that parts of a pipe repeat at most: they must fit into memory.
const MUCH_CONTEXT: usize = 100;

/// True if a group of flags in the pattern, such as `(?i-m)`, ends the mode in which `^` and `$` match at lines.
fn ends_line_mode(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|group| {
        let len = group.find(|letter: char| !letter.is_ascii_alphabetic() && letter != '-');
        let flags = &group[..len.unwrap_or(group.len())];
        flags.split_once('-').is_some_and(|(_, ended)| ended.contains('m'))
    })
}
