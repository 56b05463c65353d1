//! The flags and their effects: those of `rg`, under the same names.

use std::ffi::OsStr;

use fullbore_grep::grep_searcher::Encoding;
use fullbore_grep::{Boundary, Case, Coding, Engine, Nuls, Show};
use log::LevelFilter;

use super::args::{Flag, FlagEffect, GrepArgs, Listing, Pattern, Setter, Sort, SortBy, TypeChange};
use crate::command::documents::Generated;

const fn flag(short: char, long: &'static str, help: &'static str, set: FlagEffect) -> Flag {
    let short = if short == ' ' { None } else { Some(short) };
    Flag { short, long, alias: None, negated: None, help, set }
}

/// A flag without a value.
const fn on(short: char, long: &'static str, help: &'static str, set: fn(&mut GrepArgs, bool)) -> Flag {
    flag(short, long, help, FlagEffect::Switch(set))
}

const fn value(short: char, long: &'static str, name: &'static str, set: Setter) -> Flag {
    flag(short, long, "", FlagEffect::Value(name, set))
}

/// A flag that sets a field, or has another effect, and that `--no-` before its name negates.
macro_rules! toggle {
    ($short:literal, $long:literal, $help:literal, $($field:ident).+) => {
        toggle!($short, $long, $help, |args, yes| args.$($field).+ = yes)
    };
    ($short:literal, $long:literal, $help:literal, $set:expr) => {
        on($short, $long, $help, $set).or(concat!("no-", $long))
    };
}

/// A flag whose name is `no-` and the name of the flag that negates it.
macro_rules! opt_out {
    ($name:literal, $help:literal, $($field:ident).+) => {
        opt_out!($name, $help, |args, yes| args.$($field).+ = yes)
    };
    ($name:literal, $help:literal, $set:expr) => {
        on(' ', concat!("no-", $name), $help, $set).or($name)
    };
}

impl Flag {
    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn or(self, negated: &'static str) -> Self {
        Self { negated: Some(negated), ..self }
    }

    const fn also(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

fn push<T>(list: &mut Vec<T>, value: Result<T, String>) -> Result<(), String> {
    list.push(value?);
    Ok(())
}

fn text(value: Option<&OsStr>) -> Result<&str, String> {
    value.unwrap_or_default().to_str().ok_or_else(|| "value is not valid UTF-8".into())
}

fn owned(value: Option<&OsStr>) -> Result<String, String> {
    text(value).map(str::to_owned)
}

fn number<T: std::str::FromStr>(value: Option<&OsStr>) -> Result<Option<T>, String> {
    text(value)?.parse().map(Some).map_err(|_| "value is not a valid number".into())
}

fn positive(value: Option<&OsStr>) -> Result<Option<u64>, String> {
    Ok(number(value)?.filter(|&number| number > 0))
}

/// Parses a size in `rg`'s syntax: digits, and K, M or G for powers of 1024.
fn size<T: TryFrom<u64>>(value: Option<&OsStr>) -> Result<Option<T>, String> {
    let size = grep_cli::parse_human_readable_size(text(value)?).map_err(|error| error.to_string())?;
    T::try_from(size).map(Some).map_err(|_| "size is too big".into())
}

fn escaped(value: Option<&OsStr>) -> Result<Vec<u8>, String> {
    Ok(grep_cli::unescape(text(value)?))
}

fn unrecognized<T>(choice: &str) -> Result<T, String> {
    Err(format!("choice '{choice}' is unrecognized"))
}

fn sort(value: Option<&OsStr>, reverse: bool) -> Result<Option<Sort>, String> {
    let by = match text(value)? {
        "none" => return Ok(None),
        "path" => SortBy::Path,
        "modified" => SortBy::Modified,
        "accessed" => SortBy::Accessed,
        "created" => SortBy::Created,
        other => return unrecognized(other),
    };
    Ok(Some(Sort { by, reverse }))
}

fn engine(value: Option<&OsStr>) -> Result<Engine, String> {
    match text(value)? {
        "default" => Ok(Engine::Rust),
        "pcre2" => Ok(Engine::Pcre2),
        "auto" => Ok(Engine::Auto),
        other => Err(format!("unrecognized regex engine '{other}'")),
    }
}

fn coding(value: Option<&OsStr>) -> Result<Coding, String> {
    match value.map(|_| text(value)).transpose()? {
        None | Some("auto") => Ok(Coding::Auto),
        Some("none") => Ok(Coding::Raw),
        Some(label) => Encoding::new(label).map(Coding::Named).map_err(|error| error.to_string()),
    }
}

fn color(value: Option<&OsStr>) -> Result<Option<bool>, String> {
    match text(value)? {
        "never" => Ok(Some(false)),
        "auto" => Ok(None),
        "always" | "ansi" => Ok(Some(true)),
        other => unrecognized(other),
    }
}

fn path_separator(value: Option<&OsStr>) -> Result<Option<u8>, String> {
    match escaped(value)?.as_slice() {
        [] => Ok(None),
        [byte] => Ok(Some(*byte)),
        _ => Err("A path separator must be exactly one byte".into()),
    }
}

fn generated(value: Option<&OsStr>) -> Result<Option<Listing>, String> {
    let name = text(value)?;
    Generated::named(name).map_or_else(|| unrecognized(name), |kind| Ok(Some(Listing::Generated(kind))))
}

pub(super) const FLAGS: &[Flag] = &[
    value('e', "regexp", "PATTERN", |a, v| push(&mut a.patterns, owned(v).map(Pattern::Given)))
        .help("Pattern to search for; may be repeated; replaces the PATTERN argument"),
    value('f', "file", "FILE", |a, v| push(&mut a.patterns, Ok(Pattern::File(v.unwrap_or_default().into()))))
        .help("Search for the patterns in FILE, one per line; - is standard input"),
    toggle!('F', "fixed-strings", "Treat patterns as literal text", search.fixed_strings),
    on('i', "ignore-case", "Ignore case", |a, _| a.search.case = Case::Insensitive),
    on('s', "case-sensitive", "Match case [default]", |a, _| a.search.case = Case::Sensitive),
    on('S', "smart-case", "Ignore case if the pattern has no capital letter", |a, _| {
        a.search.case = Case::Smart
    }),
    toggle!('v', "invert-match", "Print lines that do not match", search.invert_match),
    on('w', "word-regexp", "Match whole words only", |a, _| a.search.boundary = Some(Boundary::Word)),
    on('x', "line-regexp", "Match whole lines only", |a, _| a.search.boundary = Some(Boundary::Line)),
    toggle!('U', "multiline", "Let matches span lines; files are searched as a whole", |a, yes| {
        a.search.multiline = yes;
        a.search.stop_on_nonmatch &= !yes;
    }),
    toggle!(' ', "multiline-dotall", "With -U, let a dot match the end of a line", search.multiline_dotall),
    toggle!(' ', "crlf", "Treat CR LF as a line end too", |a, yes| {
        a.search.crlf = yes;
        a.search.null_data &= !yes;
    }),
    on(' ', "null-data", "Treat NUL as the line end", |a, _| {
        (a.search.crlf, a.search.null_data) = (false, true);
    }),
    opt_out!("unicode", "Use ASCII classes in patterns", |a, yes| a.search.unicode = !yes),
    toggle!('P', "pcre2", "Use PCRE2 patterns, with look-around and backreferences", |a, yes| {
        a.search.engine = if yes { Engine::Pcre2 } else { Engine::Rust };
    }),
    value(' ', "engine", "ENGINE", |a, v| put(&mut a.search.engine, engine(v))).help(
        "Regular expression engine: default, pcre2, or auto for the first that accepts the \
             pattern",
    ),
    toggle!(' ', "auto-hybrid-regex", "Same as --engine auto", |a, yes| {
        a.search.engine = if yes { Engine::Auto } else { Engine::Rust };
    }),
    opt_out!("pcre2-unicode", "Same as --no-unicode", |a, yes| a.search.unicode = !yes),
    on(' ', "pcre2-version", "Print the version of PCRE2", |a, _| a.pcre2_version = true),
    value(' ', "regex-size-limit", "SIZE", |a, v| put(&mut a.search.regex_size_limit, size(v)))
        .help("Size limit of a compiled pattern"),
    value(' ', "dfa-size-limit", "SIZE", |a, v| put(&mut a.search.dfa_size_limit, size(v)))
        .help("Memory limit of the matcher's state cache"),
    value('E', "encoding", "ENCODING", |a, v| put(&mut a.search.coding, coding(v)))
        .help("Text encoding; none ignores byte order marks too [default: auto]")
        .or("no-encoding"),
    toggle!('a', "text", "Search binary files as text", |a, yes| {
        a.search.nuls = if yes { Nuls::Text } else { Nuls::Auto };
    }),
    toggle!(' ', "binary", "Search binary files found in directories like those named on the command line", |a, yes| {
        a.search.nuls = if yes { Nuls::Suppress } else { Nuls::Auto };
    }),
    toggle!(
        'z',
        "search-zip",
        "Search compressed files, using gzip, xz and others, which must be installed",
        |a, yes| {
            a.search_zip = yes;
            a.pre = a.pre.take().filter(|_| !yes);
        }
    ),
    value(' ', "pre", "COMMAND", |a, v| {
        a.pre = v.filter(|command| !command.is_empty()).map(Into::into);
        a.search_zip &= a.pre.is_none();
        Ok(())
    })
    .help("Search the output of COMMAND for each file; COMMAND gets the path as its argument and the file as standard input")
    .or("no-pre"),
    value(' ', "pre-glob", "GLOB", |a, v| push(&mut a.pre_globs, owned(v)))
        .help("With --pre, use COMMAND only for files whose paths match"),
    toggle!(' ', "mmap", "Detect NUL bytes as rg --mmap does", |a, yes| a.mapped = Some(yes)),
    value('m', "max-count", "N", |a, v| put(&mut a.search.max_count, number(v)))
        .help("Stop searching a file after N matching lines"),
    on(
        ' ',
        "stop-on-nonmatch",
        "Stop searching a file at the first non-matching line after a match",
        |a, _| {
            (a.search.stop_on_nonmatch, a.search.multiline) = (true, false);
        },
    ),
    value('A', "after-context", "N", |a, v| put(&mut a.limited().after, number(v)))
        .help("Print N lines after each match"),
    value('B', "before-context", "N", |a, v| put(&mut a.limited().before, number(v)))
        .help("Print N lines before each match"),
    value('C', "context", "N", |a, v| put(&mut a.limited().both, number(v)))
        .help("Print N lines before and after each match"),
    on(' ', "passthru", "Print all lines", |a, _| a.search.passthru = true).also("passthrough"),
    on('c', "count", "Print the number of matching lines", |a, _| a.show(Show::Count)),
    on(' ', "count-matches", "Print the number of matches", |a, _| a.show(Show::CountMatches)),
    on('l', "files-with-matches", "Print the paths of files with a match", |a, _| {
        a.show(Show::PathsWith);
    }),
    on(' ', "files-without-match", "Print the paths of files without a match", |a, _| {
        a.show(Show::PathsWithout);
    }),
    toggle!(' ', "json", "Print results as JSON lines", |a, yes| match yes {
        true => a.show(Show::Json),
        false if a.search.show == Show::Json => a.search.show = Show::Lines,
        false => {}
    }),
    on('q', "quiet", "Print nothing; only set the exit status", |a, _| a.search.quiet = true),
    toggle!(' ', "include-zero", "With -c, also print counts of 0", search.include_zero),
    on('o', "only-matching", "Print only the matches", |a, _| a.search.only_matching = true),
    value('r', "replace", "TEXT", |a, v| put(&mut a.search.replace, text(v).map(|text| Some(text.into()))))
        .help("Print TEXT instead of each match; $1 and $name stand for groups"),
    on('n', "line-number", "Print line numbers [default on a terminal]", |a, _| a.line_number = Some(true)),
    on('N', "no-line-number", "Print no line numbers", |a, _| a.line_number = Some(false)),
    toggle!(
        'b',
        "byte-offset",
        "Print the offset of each line, or of each match with -o",
        search.byte_offset
    ),
    toggle!(' ', "column", "Print the column of the first match in a line", |a, yes| a.column = Some(yes)),
    on(' ', "vimgrep", "Print a line for each match, with path, line and column", |a, _| {
        a.search.vimgrep = true;
    }),
    on('H', "with-filename", "Print the path with each line [default with several files]", |a, _| {
        a.with_filename = Some(true);
    }),
    on('I', "no-filename", "Print no paths", |a, _| a.with_filename = Some(false)),
    toggle!(' ', "heading", "Print the path above its lines [default on a terminal]", |a, yes| {
        a.heading = Some(yes);
    }),
    on('0', "null", "Print NUL after each path", |a, _| a.search.path_terminator = Some(0)),
    value(' ', "path-separator", "BYTE", |a, v| put(&mut a.search.path_separator, path_separator(v)))
        .help("Separator in printed paths instead of /"),
    value(' ', "context-separator", "TEXT", |a, v| {
        put(&mut a.search.context_separator, v.map(|_| escaped(v)).transpose())
    })
    .help("Separator between non-contiguous lines [default: --]")
    .or("no-context-separator"),
    value(' ', "field-match-separator", "TEXT", |a, v| put(&mut a.search.field_match_separator, escaped(v)))
        .help("Separator after numbers and paths [default: :]"),
    value(' ', "field-context-separator", "TEXT", |a, v| {
        put(&mut a.search.field_context_separator, escaped(v))
    })
    .help("Separator after numbers and paths of context lines [default: -]"),
    toggle!(' ', "trim", "Remove leading white space from printed lines", search.trim),
    value('M', "max-columns", "N", |a, v| put(&mut a.search.max_columns, positive(v)))
        .help("Omit lines of more than N bytes"),
    toggle!(' ', "max-columns-preview", "Print the start of lines that -M omits", search.max_columns_preview),
    value(' ', "color", "WHEN", |a, v| put(&mut a.color, color(v)))
        .help("Colours: never, auto, always or ansi"),
    value(' ', "colors", "SPEC", |a, v| {
        push(&mut a.colors, text(v)?.parse().map_err(|error| format!("{error}")))
    })
    .help(
        "Colours as TYPE:ATTRIBUTE:VALUE; types path, line, column, match, highlight; \
             attributes fg, bg, style",
    ),
    value(' ', "hyperlink-format", "FORMAT", |a, v| {
        let format = v.map(|_| text(v)).transpose()?.map(str::parse).transpose();
        put(&mut a.hyperlink_format, format.map_err(|error| format!("invalid hyperlink format: {error}")))
    })
    .help(
        "Print paths as links if colours are on: none, default, file, grep+, kitty, vscode and others, \
         or a URL with {path}, {host}, {line}, {column}",
    )
    .or("no-hyperlink-format"),
    value(' ', "hostname-bin", "COMMAND", |a, v| put(&mut a.hostname_bin, Ok(v.map(Into::into))))
        .help("With --hyperlink-format, get the host name from COMMAND"),
    on('p', "pretty", "Same as --color always --heading --line-number", |a, _| {
        (a.color, a.heading, a.line_number) = (Some(true), Some(true), Some(true));
    }),
    toggle!(' ', "line-buffered", "Print each result immediately", |a, yes| {
        a.line_buffered = yes.then_some(true);
    }),
    toggle!(' ', "block-buffered", "Print results in blocks", |a, yes| {
        a.line_buffered = yes.then_some(false);
    }),
    toggle!(' ', "stats", "Print statistics of the search at the end", search.stats),
    value('g', "glob", "GLOB", |a, v| push(&mut a.globs, owned(v)))
        .help("Search only files whose paths match; with ! before it, those that do not"),
    value(' ', "iglob", "GLOB", |a, v| push(&mut a.iglobs, owned(v))).help("Same as -g, ignoring case"),
    toggle!(' ', "glob-case-insensitive", "Treat -g as --iglob", glob_case_insensitive),
    value('t', "type", "TYPE", |a, v| push(&mut a.types, owned(v).map(TypeChange::Select)))
        .help("Search only files of this type"),
    value('T', "type-not", "TYPE", |a, v| push(&mut a.types, owned(v).map(TypeChange::Negate)))
        .help("Search no files of this type"),
    value(' ', "type-add", "NAME:GLOB", |a, v| push(&mut a.types, owned(v).map(TypeChange::Add)))
        .help("Add a glob to a type"),
    value(' ', "type-clear", "TYPE", |a, v| push(&mut a.types, owned(v).map(TypeChange::Clear)))
        .help("Remove the globs of a type"),
    on(' ', "type-list", "Print the types and their globs", |a, _| a.listing = Some(Listing::Types)),
    on(' ', "files", "Print the paths of the files that would be searched", |a, _| {
        a.listing = Some(Listing::Files);
    }),
    value(' ', "generate", "KIND", |a, v| put(&mut a.listing, generated(v))).help(
        "Print the manual page (man) or completions for a shell \
             (complete-bash, -zsh, -fish, -powershell)",
    ),
    toggle!('.', "hidden", "Search hidden files and directories", hidden),
    toggle!('L', "follow", "Follow symbolic links", follow),
    value('d', "max-depth", "N", |a, v| put(&mut a.max_depth, number(v)))
        .help("Descend at most N directory levels")
        .also("maxdepth"),
    value(' ', "max-filesize", "SIZE", |a, v| put(&mut a.max_filesize, size(v)))
        .help("Skip files larger than SIZE"),
    toggle!(' ', "one-file-system", "Stay on the file systems of the named paths", one_file_system),
    opt_out!("ignore", "Search files that are excluded by ignore files", |a, yes| a.no_ignore(yes)),
    opt_out!("ignore-dot", "Do not obey .ignore and .rgignore files", no_ignore_dot),
    opt_out!("ignore-exclude", "Do not obey .git/info/exclude", no_ignore_exclude),
    opt_out!("ignore-files", "Do not obey --ignore-file", no_ignore_files),
    opt_out!("ignore-global", "Do not obey git's global ignore file", no_ignore_global),
    opt_out!("ignore-messages", "Suppress messages about invalid ignore files", no_ignore_messages),
    opt_out!("ignore-parent", "Do not obey ignore files of parent directories", no_ignore_parent),
    opt_out!("ignore-vcs", "Do not obey .gitignore files", no_ignore_vcs),
    opt_out!("require-git", "Obey .gitignore files outside of repositories too", no_require_git),
    value(' ', "ignore-file", "FILE", |a, v| push(&mut a.ignore_files, Ok(v.unwrap_or_default().into())))
        .help("Additional ignore file"),
    toggle!(' ', "ignore-file-case-insensitive", "Ignore case in ignore files", ignore_file_case_insensitive),
    on('u', "unrestricted", "Same as --no-ignore; -uu: also --hidden; -uuu: also --binary", |a, _| {
        a.unrestrict()
    }),
    opt_out!("messages", "Suppress messages about unreadable files", no_messages),
    on(' ', "debug", "Print debugging messages, such as why files are skipped", |a, _| {
        a.log = a.log.max(Some(LevelFilter::Debug));
    }),
    on(' ', "trace", "Print more debugging messages than --debug", |a, _| a.log = Some(LevelFilter::Trace)),
    on(' ', "no-config", "Do not read the configuration file, FULLBORE_GREP_CONFIG_PATH", |a, _| {
        a.no_config = true;
    }),
    value(' ', "sort", "BY", |a, v| put(&mut a.sort, sort(v, false)))
        .help("Order of the files: path, modified, accessed, created, or none (by path too)"),
    value(' ', "sortr", "BY", |a, v| put(&mut a.sort, sort(v, true)))
        .help("Same as --sort, in reverse order"),
    toggle!(' ', "sort-files", "Same as --sort path", |a, yes| {
        a.sort = yes.then_some(Sort { by: SortBy::Path, reverse: false });
    }),
    value('j', "threads", "N", |a, v| put(&mut a.threads, positive(v)))
        .help("Same as --workers; 0 is the number of processors"),
];
