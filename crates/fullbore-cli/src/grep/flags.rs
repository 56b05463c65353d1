//! The flags, each with what it does: those of `rg`, by its names.

use std::ffi::OsStr;

use fullbore_grep::grep_searcher::Encoding;
use fullbore_grep::{Boundary, Case, Coding, Nuls, Show};

use super::asked::{Asked, ColorChoice, Listing, Pattern, Sort, SortBy, TypeChange};

/// A flag.
pub(crate) struct Flag {
    pub(crate) short: Option<char>,
    pub(crate) long: &'static str,
    pub(crate) alias: Option<&'static str>,
    /// The name of the flag that takes it back.
    pub(crate) negated: Option<&'static str>,
    pub(crate) help: &'static str,
    pub(crate) set: Set,
}

/// What a flag does.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    /// Without a value: it is given, or taken back.
    Switch(fn(&mut Asked, bool)),
    /// With a value of that name; without one, it is taken back.
    Value(&'static str, Setter),
}

/// What a value does.
type Setter = fn(&mut Asked, Option<&OsStr>) -> Result<(), String>;

const fn on(short: char, long: &'static str, help: &'static str, set: fn(&mut Asked, bool)) -> Flag {
    let short = if short == ' ' { None } else { Some(short) };
    Flag { short, long, alias: None, negated: None, help, set: Set::Switch(set) }
}

const fn value(short: char, long: &'static str, name: &'static str, help: &'static str, set: Setter) -> Flag {
    let short = if short == ' ' { None } else { Some(short) };
    Flag { short, long, alias: None, negated: None, help, set: Set::Value(name, set) }
}

impl Flag {
    const fn or(self, negated: &'static str) -> Self {
        Self { negated: Some(negated), ..self }
    }

    const fn also(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

fn text(value: Option<&OsStr>) -> Result<&str, String> {
    value.unwrap_or_default().to_str().ok_or_else(|| "value is not valid UTF-8".into())
}

fn number<T: std::str::FromStr>(value: Option<&OsStr>) -> Result<T, String> {
    text(value)?.parse().map_err(|_| "value is not a valid number".into())
}

/// As `rg` writes sizes: digits, and K, M or G for powers of 1024.
fn size(value: Option<&OsStr>) -> Result<u64, String> {
    grep_cli::parse_human_readable_size(text(value)?).map_err(|error| error.to_string())
}

fn limit(value: Option<&OsStr>) -> Result<Option<usize>, String> {
    usize::try_from(size(value)?).map(Some).map_err(|_| "size is too big".into())
}

fn escaped(value: Option<&OsStr>) -> Result<Vec<u8>, String> {
    Ok(grep_cli::unescape(text(value)?))
}

fn sort(value: Option<&OsStr>, reverse: bool) -> Result<Option<Sort>, String> {
    let by = match text(value)? {
        "none" => return Ok(None),
        "path" => SortBy::Path,
        "modified" => SortBy::Modified,
        "accessed" => SortBy::Accessed,
        "created" => SortBy::Created,
        other => return Err(format!("choice '{other}' is unrecognized")),
    };
    Ok(Some(Sort { by, reverse }))
}

/// All flags.
pub(crate) const FLAGS: &[Flag] = &[
    value(
        'e',
        "regexp",
        "PATTERN",
        "Search for this too; then there is no pattern among the arguments",
        |a, v| {
            a.patterns.push(Pattern::Given(text(v)?.into()));
            Ok(())
        },
    ),
    value('f', "file", "FILE", "Search for the patterns in FILE, one a line; - is standard input", |a, v| {
        a.patterns.push(Pattern::File(v.unwrap_or_default().into()));
        Ok(())
    }),
    on('F', "fixed-strings", "Patterns are text, not regular expressions", |a, yes| a.fixed_strings = yes)
        .or("no-fixed-strings"),
    on('i', "ignore-case", "Capital letters match small ones", |a, _| a.case = Case::Insensitive),
    on('s', "case-sensitive", "Letters match as they are [default]", |a, _| a.case = Case::Sensitive),
    on('S', "smart-case", "As -i if the pattern has no capital letter", |a, _| a.case = Case::Smart),
    on('v', "invert-match", "Find lines that do not match", |a, yes| a.invert_match = yes)
        .or("no-invert-match"),
    on('w', "word-regexp", "A match must be whole words", |a, _| a.boundary = Some(Boundary::Word)),
    on('x', "line-regexp", "A match must be a whole line", |a, _| a.boundary = Some(Boundary::Line)),
    on(
        'U',
        "multiline",
        "A match may go over several lines; then a file is searched as a whole",
        |a, yes| {
            a.multiline = yes;
            a.stop_on_nonmatch &= !yes;
        },
    )
    .or("no-multiline"),
    on(' ', "multiline-dotall", "With -U, a dot matches the end of a line", |a, yes| {
        a.multiline_dotall = yes
    })
    .or("no-multiline-dotall"),
    on(' ', "crlf", "Lines may end with CR LF", |a, yes| {
        a.crlf = yes;
        a.null_data &= !yes;
    })
    .or("no-crlf"),
    on(' ', "null-data", "Lines end with NUL", |a, _| (a.crlf, a.null_data) = (false, true)),
    on(' ', "no-unicode", "Patterns know ASCII only", |a, yes| a.no_unicode = yes).or("unicode"),
    on('P', "pcre2", "Refused: there is no PCRE2 here", |a, yes| a.pcre2 = yes).or("no-pcre2"),
    value(
        ' ',
        "engine",
        "ENGINE",
        "The regular expressions: default, which is all there is here, or auto",
        |a, v| {
            match text(v)? {
                "default" | "auto" => a.pcre2 = false,
                "pcre2" => a.pcre2 = true,
                other => return Err(format!("unrecognized regex engine '{other}'")),
            }
            Ok(())
        },
    ),
    value(' ', "regex-size-limit", "SIZE", "How large a compiled pattern may be", |a, v| {
        a.regex_size_limit = limit(v)?;
        Ok(())
    }),
    value(' ', "dfa-size-limit", "SIZE", "How much memory the matcher may cache states in", |a, v| {
        a.dfa_size_limit = limit(v)?;
        Ok(())
    }),
    value(
        'E',
        "encoding",
        "ENCODING",
        "The encoding of the text; none: no byte order marks either [default: auto]",
        |a, v| {
            a.coding = match v.map(|_| text(v)).transpose()? {
                None | Some("auto") => Coding::Auto,
                Some("none") => Coding::Raw,
                Some(label) => Coding::Named(Encoding::new(label).map_err(|error| error.to_string())?),
            };
            Ok(())
        },
    )
    .or("no-encoding"),
    on('a', "text", "Search binary files as if they were text", |a, yes| {
        a.nuls = if yes { Nuls::Text } else { Nuls::Auto };
    })
    .or("no-text"),
    on(' ', "binary", "Search binary files that were come across as those that were named", |a, yes| {
        a.nuls = if yes { Nuls::Suppress } else { Nuls::Auto };
    })
    .or("no-binary"),
    on(
        'z',
        "search-zip",
        "Search in compressed files, by gzip, xz and others that must be installed",
        |a, yes| {
            a.search_zip = yes;
        },
    )
    .or("no-search-zip"),
    on(' ', "mmap", "Look for NULs as rg does in a memory map", |a, yes| a.mapped = Some(yes)).or("no-mmap"),
    value('m', "max-count", "N", "Stop in a file after N lines that match", |a, v| {
        a.max_count = Some(number(v)?);
        Ok(())
    }),
    on(
        ' ',
        "stop-on-nonmatch",
        "Stop in a file at the first line without a match behind one with",
        |a, _| {
            (a.stop_on_nonmatch, a.multiline) = (true, false);
        },
    ),
    value('A', "after-context", "N", "Print N lines behind each match", |a, v| {
        a.limited().after = Some(number(v)?);
        Ok(())
    }),
    value('B', "before-context", "N", "Print N lines before each match", |a, v| {
        a.limited().before = Some(number(v)?);
        Ok(())
    }),
    value('C', "context", "N", "Print N lines before and behind each match", |a, v| {
        a.limited().both = Some(number(v)?);
        Ok(())
    }),
    on(' ', "passthru", "Print all lines", |a, _| a.passthru = true).also("passthrough"),
    on('c', "count", "Print how many lines match", |a, _| a.show(Show::Count)),
    on(' ', "count-matches", "Print how many matches there are", |a, _| a.show(Show::CountMatches)),
    on('l', "files-with-matches", "Print the paths of files with a match", |a, _| a.show(Show::PathsWith)),
    on(' ', "files-without-match", "Print the paths of files without a match", |a, _| {
        a.show(Show::PathsWithout)
    }),
    on(' ', "json", "Print lines of JSON", |a, yes| match yes {
        true => a.show(Show::Json),
        false if a.show == Show::Json => a.show(Show::Lines),
        false => {}
    })
    .or("no-json"),
    on('q', "quiet", "Print nothing; the exit status says whether there is a match", |a, _| a.quiet = true),
    on(' ', "include-zero", "With -c, print files without a match too", |a, yes| a.include_zero = yes)
        .or("no-include-zero"),
    on('o', "only-matching", "Print the matches only", |a, _| a.only_matching = true),
    value(
        'r',
        "replace",
        "TEXT",
        "Print TEXT in place of each match; $1 and $name are what groups matched",
        |a, v| {
            a.replace = Some(text(v)?.into());
            Ok(())
        },
    ),
    on('n', "line-number", "Print the numbers of lines [default on a terminal]", |a, _| {
        a.line_number = Some(true)
    }),
    on('N', "no-line-number", "Print no numbers of lines", |a, _| a.line_number = Some(false)),
    on('b', "byte-offset", "Print the offset of each line, or of each match with -o", |a, yes| {
        a.byte_offset = yes
    })
    .or("no-byte-offset"),
    on(' ', "column", "Print the column of the first match in a line", |a, yes| a.column = Some(yes))
        .or("no-column"),
    on(' ', "vimgrep", "Print a line for each match, with path, line and column", |a, _| a.vimgrep = true),
    on('H', "with-filename", "Print the path with each line [default with several files]", |a, _| {
        a.with_filename = Some(true);
    }),
    on('I', "no-filename", "Print no paths", |a, _| a.with_filename = Some(false)),
    on(' ', "heading", "Print the path above its lines [default on a terminal]", |a, yes| {
        a.heading = Some(yes)
    })
    .or("no-heading"),
    on('0', "null", "Print a NUL behind each path", |a, _| a.null = true),
    value(' ', "path-separator", "BYTE", "Print this in paths in place of /", |a, v| {
        a.path_separator = match escaped(v)?.as_slice() {
            [] => None,
            [byte] => Some(*byte),
            _ => return Err("A path separator must be exactly one byte".into()),
        };
        Ok(())
    }),
    value(
        ' ',
        "context-separator",
        "TEXT",
        "Print this between lines that do not follow on each other [default: --]",
        |a, v| {
            a.context_separator = Some(v.map(|_| escaped(v)).transpose()?);
            Ok(())
        },
    )
    .or("no-context-separator"),
    value(
        ' ',
        "field-match-separator",
        "TEXT",
        "Print this behind numbers and paths [default: :]",
        |a, v| {
            a.field_match_separator = Some(escaped(v)?);
            Ok(())
        },
    ),
    value(
        ' ',
        "field-context-separator",
        "TEXT",
        "Print this behind numbers and paths of context [default: -]",
        |a, v| {
            a.field_context_separator = Some(escaped(v)?);
            Ok(())
        },
    ),
    on(' ', "trim", "Print lines without the white space at their start", |a, yes| a.trim = yes)
        .or("no-trim"),
    value('M', "max-columns", "N", "Leave out lines of more than N bytes", |a, v| {
        a.max_columns = Some(number(v)?).filter(|&columns| columns > 0);
        Ok(())
    }),
    on(' ', "max-columns-preview", "Print the start of lines that -M leaves out", |a, yes| {
        a.max_columns_preview = yes;
    })
    .or("no-max-columns-preview"),
    value(' ', "color", "WHEN", "When to use colours: never, auto, always or ansi", |a, v| {
        a.color = match text(v)? {
            "never" => ColorChoice::Never,
            "auto" => ColorChoice::Auto,
            "always" | "ansi" => ColorChoice::Always,
            other => return Err(format!("choice '{other}' is unrecognized")),
        };
        Ok(())
    }),
    value(
        ' ',
        "colors",
        "SPEC",
        "Which colours to use: path, line, column, match or highlight, :fg:, :bg: or :style:, a value",
        |a, v| {
            a.colors.push(text(v)?.parse().map_err(|error| format!("{error}"))?);
            Ok(())
        },
    ),
    on('p', "pretty", "As --color always --heading --line-number", |a, _| {
        a.color = ColorChoice::Always;
        (a.heading, a.line_number) = (Some(true), Some(true));
    }),
    on(' ', "line-buffered", "Print each result at once", |a, yes| a.line_buffered = yes.then_some(true))
        .or("no-line-buffered"),
    on(' ', "block-buffered", "Print many results together", |a, yes| a.line_buffered = yes.then_some(false))
        .or("no-block-buffered"),
    on(' ', "stats", "Print an account of the search at the end", |a, yes| a.stats = yes).or("no-stats"),
    value('g', "glob", "GLOB", "Search files whose paths match, or with ! before it, do not", |a, v| {
        a.globs.push(text(v)?.into());
        Ok(())
    }),
    value(' ', "iglob", "GLOB", "As -g, but capital letters match small ones", |a, v| {
        a.iglobs.push(text(v)?.into());
        Ok(())
    }),
    on(' ', "glob-case-insensitive", "As if -g were --iglob", |a, yes| a.glob_case_insensitive = yes)
        .or("no-glob-case-insensitive"),
    value('t', "type", "TYPE", "Search files of this type", |a, v| {
        a.types.push(TypeChange::Select(text(v)?.into()));
        Ok(())
    }),
    value('T', "type-not", "TYPE", "Search no files of this type", |a, v| {
        a.types.push(TypeChange::Negate(text(v)?.into()));
        Ok(())
    }),
    value(' ', "type-add", "NAME:GLOB", "Add a glob to a type", |a, v| {
        a.types.push(TypeChange::Add(text(v)?.into()));
        Ok(())
    }),
    value(' ', "type-clear", "TYPE", "Forget the globs of a type", |a, v| {
        a.types.push(TypeChange::Clear(text(v)?.into()));
        Ok(())
    }),
    on(' ', "type-list", "Print the types and their globs", |a, _| a.listing = Some(Listing::Types)),
    on(' ', "files", "Print the paths of the files that would be searched", |a, _| {
        a.listing = Some(Listing::Files)
    }),
    on('.', "hidden", "Search hidden files and directories", |a, yes| a.hidden = yes).or("no-hidden"),
    on('L', "follow", "Follow symbolic links", |a, yes| a.follow = yes).or("no-follow"),
    value('d', "max-depth", "N", "Descend N directories at most", |a, v| {
        a.max_depth = Some(number(v)?);
        Ok(())
    })
    .also("maxdepth"),
    value(' ', "max-filesize", "SIZE", "Search no files that are larger", |a, v| {
        a.max_filesize = Some(size(v)?);
        Ok(())
    }),
    on(' ', "one-file-system", "Stay on the file systems of the paths that were named", |a, yes| {
        a.one_file_system = yes;
    })
    .or("no-one-file-system"),
    on(' ', "no-ignore", "Search what ignore files exclude", |a, yes| a.no_ignore(yes)).or("ignore"),
    on(' ', "no-ignore-dot", "Obey no .ignore and .rgignore files", |a, yes| a.no_ignore_dot = yes)
        .or("ignore-dot"),
    on(' ', "no-ignore-exclude", "Do not obey .git/info/exclude", |a, yes| a.no_ignore_exclude = yes)
        .or("ignore-exclude"),
    on(' ', "no-ignore-files", "Obey no --ignore-file", |a, yes| a.no_ignore_files = yes).or("ignore-files"),
    on(' ', "no-ignore-global", "Do not obey the user's own ignore file of git", |a, yes| {
        a.no_ignore_global = yes
    })
    .or("ignore-global"),
    on(' ', "no-ignore-messages", "Say nothing of ignore files that are wrong", |a, yes| {
        a.no_ignore_messages = yes
    })
    .or("ignore-messages"),
    on(' ', "no-ignore-parent", "Obey no ignore files of directories above", |a, yes| {
        a.no_ignore_parent = yes
    })
    .or("ignore-parent"),
    on(' ', "no-ignore-vcs", "Obey no .gitignore files", |a, yes| a.no_ignore_vcs = yes).or("ignore-vcs"),
    on(' ', "no-require-git", "Obey .gitignore files outside of repositories too", |a, yes| {
        a.no_require_git = yes
    })
    .or("require-git"),
    value(' ', "ignore-file", "FILE", "Obey this ignore file too", |a, v| {
        a.ignore_files.push(v.unwrap_or_default().into());
        Ok(())
    }),
    on(
        ' ',
        "ignore-file-case-insensitive",
        "Ignore files match capital letters with small ones",
        |a, yes| {
            a.ignore_file_case_insensitive = yes;
        },
    )
    .or("no-ignore-file-case-insensitive"),
    on('u', "unrestricted", "As --no-ignore; -uu: and --hidden; -uuu: and --binary", |a, _| {
        a.unrestricted += 1;
        match a.unrestricted {
            1 => a.no_ignore(true),
            2 => a.hidden = true,
            _ => a.nuls = Nuls::Suppress,
        }
    }),
    on(' ', "no-messages", "Say nothing of files that cannot be read", |a, yes| a.no_messages = yes)
        .or("messages"),
    value(
        ' ',
        "sort",
        "BY",
        "The order of the files: path, modified, accessed, created, or none, which is by path here",
        |a, v| {
            a.sort = sort(v, false)?;
            Ok(())
        },
    ),
    value(' ', "sortr", "BY", "As --sort, the other way round", |a, v| {
        a.sort = sort(v, true)?;
        Ok(())
    }),
    on(' ', "sort-files", "As --sort path", |a, yes| {
        a.sort = yes.then_some(Sort { by: SortBy::Path, reverse: false });
    })
    .or("no-sort-files"),
    value('j', "threads", "N", "As --workers, but 0 is as many as processors", |a, v| {
        a.threads = Some(number(v)?).filter(|&threads| threads > 0);
        Ok(())
    }),
];
