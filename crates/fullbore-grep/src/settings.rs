//! What is asked for, in the words of `rg`'s flags.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use grep_printer::{ColorSpecs, HyperlinkConfig};
use grep_searcher::Encoding;

/// How letters match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// As they are (`-s`).
    #[default]
    Sensitive,
    /// Small as capital (`-i`).
    Insensitive,
    /// As `Insensitive` where the pattern has no capital (`-S`).
    Smart,
}

/// What a match must fill.
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
    /// That of the crate `regex`.
    #[default]
    Rust,
    /// PCRE2, with look-around and backreferences (`-P`).
    Pcre2,
    /// `Rust`, and `Pcre2` for patterns that `Rust` refuses.
    Auto,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    /// The lines.
    #[default]
    Lines,
    /// The lines as messages of JSON (`--json`).
    Json,
    /// How many lines match (`-c`).
    Count,
    /// How many matches there are (`--count-matches`).
    CountMatches,
    /// The paths of files with a match (`-l`).
    PathsWith,
    /// The paths of files without (`--files-without-match`).
    PathsWithout,
}

/// How the bytes stand for letters.
#[derive(Debug, Clone, Default)]
pub enum Coding {
    /// UTF-8 or whatever a byte order mark says.
    #[default]
    Auto,
    /// Bytes as they are, byte order marks too.
    Raw,
    /// This, unless a byte order mark says otherwise.
    Named(Encoding),
}

/// What is done about NUL bytes, which tell a binary file from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nuls {
    /// Files that were named: lines are printed up to the first match behind a NUL, then only that there are matches. Files
    /// that were come across: nothing more is searched.
    #[default]
    Auto,
    /// All files as if they were named (`--binary`).
    Suppress,
    /// A NUL is a byte like others (`-a`).
    Text,
}

/// What is asked for: one field a flag of `rg`. What flags imply, as that `--column` numbers the lines, is for whoever fills
/// it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each is the flag of its name, as the manual of rg has it")]
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
    /// Behind a path, instead of what stands there otherwise: NUL with `--null`.
    pub path_terminator: Option<u8>,
    pub path_separator: Option<u8>,
    pub context_separator: Option<Vec<u8>>,
    pub field_match_separator: Vec<u8>,
    pub field_context_separator: Vec<u8>,
    pub color: bool,
    pub colors: ColorSpecs,
    /// How paths are printed as links, if they are.
    pub hyperlinks: Option<HyperlinkConfig>,
    /// How long a line may be that is read into memory, in bytes.
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

/// A path as it is printed, with what stands between its parts if that is to be another byte than a slash.
pub fn shown(path: &Path, separator: Option<u8>) -> Cow<'_, [u8]> {
    let mut bytes = Cow::Borrowed(path.as_os_str().as_bytes());
    if let Some(separator) = separator {
        bytes.to_mut().iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = separator);
    }
    bytes
}

impl Settings {
    /// Lines of context are asked for.
    pub(crate) fn any_context(&self) -> bool {
        !self.passthru && (self.before_context > 0 || self.after_context > 0)
    }

    /// Whether an account of the search is kept.
    pub(crate) fn counts(&self) -> bool {
        self.stats || self.show == Show::Json
    }

    /// What ends a line.
    pub(crate) fn line_end(&self) -> &'static [u8] {
        match (self.crlf, self.null_data) {
            (true, _) => b"\r\n",
            (_, true) => b"\0",
            _ => b"\n",
        }
    }

    /// The last byte of [what ends a line](Self::line_end).
    pub(crate) fn delimiter(&self) -> u8 {
        if self.null_data && !self.crlf { 0 } else { b'\n' }
    }
}
