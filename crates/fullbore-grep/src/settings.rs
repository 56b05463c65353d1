//! Options of a search, named after `rg`'s flags, and facts of a file that are known before the search: the way in which
//! `rg` would read the file, and its first bytes, on which the effect of a NUL depends.

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

/// Declares the settings, with the defaults that are not those of their types.
macro_rules! settings {
    (@) => { Default::default() };
    (@ $default:expr) => { $default };
    ($($(#[$doc:meta])* $field:ident: $type:ty $(= $default:expr)?),* $(,)?) => {
        /// The options of a search, one field per flag of `rg`. The caller sets what flags imply.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each is the flag of that name in the manual of rg")]
        pub struct Settings {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: settings!(@ $($default)?),)* }
            }
        }
    };
}

settings! {
    patterns: Vec<String>,
    engine: Engine,
    fixed_strings: bool,
    case: Case,
    boundary: Option<Boundary>,
    unicode: bool = true,
    multiline: bool,
    multiline_dotall: bool,
    crlf: bool,
    null_data: bool,
    regex_size_limit: Option<usize>,
    dfa_size_limit: Option<usize>,
    invert_match: bool,
    max_count: Option<u64>,
    before_context: usize,
    after_context: usize,
    passthru: bool,
    stop_on_nonmatch: bool,
    nuls: Nuls,
    coding: Coding,
    show: Show,
    quiet: bool,
    stats: bool,
    line_number: bool,
    column: bool,
    byte_offset: bool,
    only_matching: bool,
    vimgrep: bool,
    replace: Option<Vec<u8>>,
    trim: bool,
    max_columns: Option<u64>,
    max_columns_preview: bool,
    include_zero: bool,
    heading: bool,
    with_filename: bool,
    /// Terminator of a path instead of the usual one: NUL with `--null`.
    path_terminator: Option<u8>,
    path_separator: Option<u8>,
    context_separator: Option<Vec<u8>> = Some(b"--".to_vec()),
    field_match_separator: Vec<u8> = b":".to_vec(),
    field_context_separator: Vec<u8> = b"-".to_vec(),
    color: bool,
    colors: ColorSpecs = ColorSpecs::default_with_color(),
    /// Hyperlink configuration, if paths are printed as links.
    hyperlinks: Option<HyperlinkConfig>,
    /// Maximum length of a line that is read into memory, in bytes.
    longest_line: Option<usize>,
}

/// Returns a path as it is printed, with `separator` instead of the system's separators if given.
pub(crate) fn shown(path: &Path, separator: Option<u8>) -> Cow<'_, [u8]> {
    let mut bytes = Cow::Borrowed(path.as_os_str().as_bytes());
    if let Some(separator) = separator {
        bytes.to_mut().iter_mut().filter(|byte| is_separator(**byte)).for_each(|byte| *byte = separator);
    }
    bytes
}

impl Settings {
    /// True if a match is possible. Patterns that cannot match are not compiled, and may be invalid.
    pub fn possible(&self) -> bool {
        (!self.patterns.is_empty() || self.invert_match) && self.max_count != Some(0)
    }

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
    Piped {
        /// True for standard input, which is read through a buffer of its own.
        stdin: bool,
    },
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

/// Ends of the first reads of `rg` from a pipe: after a possible byte order mark and, of standard input only, at the end of
/// its buffer.
pub(crate) const FIRST_READS: [usize; 2] = [3, 8 << 10];

impl SourceInfo {
    /// Number of first bytes that determine the facts; fewer if the file is shorter.
    pub const BYTES: usize = READ_SIZE;

    /// True if all bytes are checked for NULs, not only the lines found.
    pub(crate) fn scans(&self) -> bool {
        self.read_mode != ReadMode::Mapped && self.detection != Detection::None
    }
}
