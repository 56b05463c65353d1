//! The flags, each with what it does: those of `rg`, by its names.

use fullbore_grep::grep_searcher::Encoding;
use fullbore_grep::{Boundary, Case, Coding, Engine, Nuls, Show};
use log::LevelFilter;

use super::args::{ColorChoice, Listing, Pattern, Sort, SortBy, TypeChange};
use super::flag::{Flag, escaped, limit, number, on, size, sort, text, value};
use super::generate::Generated;

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
    on('P', "pcre2", "Patterns are those of PCRE2, with look-around and backreferences", |a, yes| {
        a.engine = if yes { Engine::Pcre2 } else { Engine::Rust };
    })
    .or("no-pcre2"),
    value(
        ' ',
        "engine",
        "ENGINE",
        "The regular expressions: default, pcre2, or auto for the first of them that takes the pattern",
        |a, v| {
            a.engine = match text(v)? {
                "default" => Engine::Rust,
                "pcre2" => Engine::Pcre2,
                "auto" => Engine::Auto,
                other => return Err(format!("unrecognized regex engine '{other}'")),
            };
            Ok(())
        },
    ),
    on(' ', "auto-hybrid-regex", "As --engine auto", |a, yes| {
        a.engine = if yes { Engine::Auto } else { Engine::Rust };
    })
    .or("no-auto-hybrid-regex"),
    on(' ', "no-pcre2-unicode", "As --no-unicode", |a, yes| a.no_unicode = yes).or("pcre2-unicode"),
    on(' ', "pcre2-version", "Print the version of PCRE2", |a, _| a.pcre2_version = true),
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
            a.pre = a.pre.take().filter(|_| !yes);
        },
    )
    .or("no-search-zip"),
    value(
        ' ',
        "pre",
        "COMMAND",
        "Search what COMMAND prints for each file, which is its argument and its standard input",
        |a, v| {
            a.pre = v.filter(|command| !command.is_empty()).map(Into::into);
            a.search_zip &= a.pre.is_none();
            Ok(())
        },
    )
    .or("no-pre"),
    value(' ', "pre-glob", "GLOB", "With --pre, use COMMAND for files whose paths match", |a, v| {
        a.pre_globs.push(text(v)?.into());
        Ok(())
    }),
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
    value(
        ' ',
        "hyperlink-format",
        "FORMAT",
        "Print paths as links where there are colours: none, default, file, grep+, kitty, vscode and others, or a URL with {path}, {host}, \
         {line}, {column} in it",
        |a, v| {
            let format = v.map(|_| text(v)).transpose()?;
            let format = format.map(|text| text.parse().map_err(|error| format!("invalid hyperlink format: {error}")));
            a.hyperlink_format = format.transpose()?;
            Ok(())
        },
    )
    .or("no-hyperlink-format"),
    value(' ', "hostname-bin", "COMMAND", "With --hyperlink-format, COMMAND prints the name of this machine", |a, v| {
        a.hostname_bin = v.map(Into::into);
        Ok(())
    }),
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
    value(
        ' ',
        "generate",
        "KIND",
        "Print the manual page (man) or completions for a shell (complete-bash, -zsh, -fish, -powershell)",
        |a, v| {
            let name = text(v)?;
            let kind = Generated::named(name).ok_or_else(|| format!("choice '{name}' is unrecognized"))?;
            a.listing = Some(Listing::Generated(kind));
            Ok(())
        },
    ),
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
    on(' ', "debug", "Say what is done and why files are left out", |a, _| {
        a.log = a.log.max(Some(LevelFilter::Debug));
    }),
    on(' ', "trace", "As --debug, and more", |a, _| a.log = Some(LevelFilter::Trace)),
    // The file is read before the flags are.
    on(' ', "no-config", "Do not read the file that FULLBORE_GREP_CONFIG_PATH names", |_, _| {}),
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
