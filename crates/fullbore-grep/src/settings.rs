//! Options of a search, named after `rg`'s flags, and facts of a file before it: the way `rg` would read the file, and its
//! first bytes, which decide the effect of a NUL in it.

use std::borrow::Cow;
use std::path::Path;

use fullbore::sys::{OsStrExt, is_separator};

use grep_printer::{ColorSpecs, HyperlinkConfig};
use grep_searcher::Encoding;

/// Case sensitivity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Letters match exactly (`-s`).
    #[default]
    Sensitive,
    /// Letters match regardless of case (`-i`).
    Insensitive,
    /// `Insensitive` if the pattern has no capital letter (`-S`).
    Smart,
}

/// The required extent of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// A whole line (`-x`).
    Line,
    /// Whole words (`-w`).
    Word,
}

/// The engine of the regular expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The crate `regex`.
    #[default]
    Rust,
    /// PCRE2, with look-around and backreferences (`-P`).
    Pcre2,
    /// `Rust`, or `Pcre2` for patterns that `Rust` rejects.
    Auto,
}

/// The kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    /// The lines.
    #[default]
    Lines,
    /// The lines as JSON messages (`--json`).
    Json,
    /// The number of matching lines (`-c`).
    Count,
    /// The number of matches (`--count-matches`).
    CountMatches,
    /// The paths of files with a match (`-l`).
    PathsWith,
    /// The paths of files without a match (`--files-without-match`).
    PathsWithout,
}

/// The text encoding.
#[derive(Debug, Clone, Default)]
pub enum Coding {
    /// UTF-8, or the encoding of a byte order mark.
    #[default]
    Auto,
    /// Raw bytes, ignoring byte order marks.
    Raw,
    /// This encoding, unless there is a byte order mark.
    Named(Encoding),
}

/// The treatment of NUL bytes, which distinguish binary files from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nuls {
    /// Named files: lines are printed up to the first match after a NUL, then only a message that there are matches.
    /// Files found in directories: the search stops.
    #[default]
    Auto,
    /// All files are treated as named ones (`--binary`).
    Suppress,
    /// NUL is an ordinary byte (`-a`).
    Text,
}

/// The options of a search, one field per flag of `rg`. The caller sets what flags imply, such as line numbers for
/// `--column`.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each is the flag of that name in the manual of rg")]
pub struct Settings {
    pub patterns: Vec<String>,
    pub engine: Engine,
    pub fixed_strings: bool,
    pub case: Case,
    pub boundary: Option<Boundary>,
    pub unicode: bool,
    pub multiline: bool,
    pub multiline_dotall: bool,
    pub crlf: bool,
    pub null_data: bool,
    pub regex_size_limit: Option<usize>,
    pub dfa_size_limit: Option<usize>,
    pub invert_match: bool,
    pub max_count: Option<u64>,
    pub before_context: usize,
    pub after_context: usize,
    pub passthru: bool,
    pub stop_on_nonmatch: bool,
    pub nuls: Nuls,
    pub coding: Coding,
    pub show: Show,
    pub quiet: bool,
    pub stats: bool,
    pub line_number: bool,
    pub column: bool,
    pub byte_offset: bool,
    pub only_matching: bool,
    pub vimgrep: bool,
    pub replace: Option<Vec<u8>>,
    pub trim: bool,
    pub max_columns: Option<u64>,
    pub max_columns_preview: bool,
    pub include_zero: bool,
    pub heading: bool,
    pub with_filename: bool,
    /// Terminator of a path instead of the usual one: NUL with `--null`.
    pub path_terminator: Option<u8>,
    pub path_separator: Option<u8>,
    pub context_separator: Option<Vec<u8>>,
    pub field_match_separator: Vec<u8>,
    pub field_context_separator: Vec<u8>,
    pub color: bool,
    pub colors: ColorSpecs,
    /// Hyperlink configuration, if paths are printed as links.
    pub hyperlinks: Option<HyperlinkConfig>,
    /// Maximum length of a line that is read into memory, in bytes.
    pub longest_line: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            engine: Engine::default(),
            fixed_strings: false,
            case: Case::default(),
            boundary: None,
            unicode: true,
            multiline: false,
            multiline_dotall: false,
            crlf: false,
            null_data: false,
            regex_size_limit: None,
            dfa_size_limit: None,
            invert_match: false,
            max_count: None,
            before_context: 0,
            after_context: 0,
            passthru: false,
            stop_on_nonmatch: false,
            nuls: Nuls::default(),
            coding: Coding::default(),
            show: Show::default(),
            quiet: false,
            stats: false,
            line_number: false,
            column: false,
            byte_offset: false,
            only_matching: false,
            vimgrep: false,
            replace: None,
            trim: false,
            max_columns: None,
            max_columns_preview: false,
            include_zero: false,
            heading: false,
            with_filename: false,
            path_terminator: None,
            path_separator: None,
            context_separator: Some(b"--".to_vec()),
            field_match_separator: b":".to_vec(),
            field_context_separator: b"-".to_vec(),
            color: false,
            colors: ColorSpecs::default_with_color(),
            hyperlinks: None,
            longest_line: None,
        }
    }
}

/// Returns a path as it is printed, with `separator` instead of the system's separators if given.
pub fn shown(path: &Path, separator: Option<u8>) -> Cow<'_, [u8]> {
    let mut bytes = Cow::Borrowed(path.as_os_str().as_bytes());
    if let Some(separator) = separator {
        bytes.to_mut().iter_mut().filter(|byte| is_separator(**byte)).for_each(|byte| *byte = separator);
    }
    bytes
}

impl Settings {
    /// True if lines of context are printed.
    pub(crate) fn any_context(&self) -> bool {
        !self.passthru && (self.before_context > 0 || self.after_context > 0)
    }

    /// True if statistics are collected.
    pub(crate) fn counts(&self) -> bool {
        self.stats || self.show == Show::Json
    }

    pub(crate) fn line_end(&self) -> &'static [u8] {
        match (self.crlf, self.null_data) {
            (true, _) => b"\r\n",
            (_, true) => b"\0",
            _ => b"\n",
        }
    }

    /// Returns the last byte of the [line terminator](Self::line_end).
    pub(crate) fn delimiter(&self) -> u8 {
        if self.null_data && !self.crlf { 0 } else { b'\n' }
    }
}

/// The way `rg` would read the file, which decides where it checks for NULs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Mapped: for a few named files. Only the beginning and the lines found are checked for NULs.
    Mapped,
    /// Read, from a file that can be read again. All bytes are checked for NULs.
    Streamed,
    /// Read, from input that can be read only once.
    Piped,
}

/// Facts of a file before the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceInfo {
    pub(crate) read_mode: ReadMode,
    pub(crate) detection: Detection,
    /// Offset of a NUL in the beginning of a mapped file.
    pub(crate) known: Option<u64>,
    /// True if the file begins with a byte order mark.
    pub(crate) marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detection {
    None,
    /// NULs end lines, and lines after a NUL are not printed.
    Convert,
    /// A NUL ends the search.
    Quit,
}

/// Bytes that `rg` reads at a time, and bytes at the beginning of a mapping that it checks for NULs.
pub(crate) const READ_SIZE: usize = 64 << 10;

impl SourceInfo {
    /// Number of first bytes that determine the facts; fewer if the file is shorter.
    pub const BYTES: usize = READ_SIZE;

    /// True if all bytes are checked for NULs, not only the lines found.
    pub(crate) fn scans(&self) -> bool {
        self.read_mode != ReadMode::Mapped && self.detection != Detection::None
    }
}
