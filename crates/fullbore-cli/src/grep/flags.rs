//! The flags with their effects: those of `rg`, by its names.

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
        "Pattern to search for; may be repeated; replaces the PATTERN argument",
        |a, v| {
            a.patterns.push(Pattern::Given(text(v)?.into()));
            Ok(())
        },
    ),
    value(
        'f',
        "file",
        "FILE",
        "Search for the patterns in FILE, one per line; - is standard input",
        |a, v| {
            a.patterns.push(Pattern::File(v.unwrap_or_default().into()));
            Ok(())
        },
    ),
    on('F', "fixed-strings", "Treat patterns as literal text", |a, yes| a.fixed_strings = yes)
        .or("no-fixed-strings"),
    on('i', "ignore-case", "Ignore case", |a, _| a.case = Case::Insensitive),
    on('s', "case-sensitive", "Match case [default]", |a, _| a.case = Case::Sensitive),
    on('S', "smart-case", "Ignore case if the pattern has no capital letter", |a, _| a.case = Case::Smart),
    on('v', "invert-match", "Print lines that do not match", |a, yes| a.invert_match = yes)
        .or("no-invert-match"),
    on('w', "word-regexp", "Match whole words only", |a, _| a.boundary = Some(Boundary::Word)),
    on('x', "line-regexp", "Match whole lines only", |a, _| a.boundary = Some(Boundary::Line)),
    on('U', "multiline", "Let matches span lines; files are searched as a whole", |a, yes| {
        a.multiline = yes;
        a.stop_on_nonmatch &= !yes;
    })
    .or("no-multiline"),
    on(' ', "multiline-dotall", "With -U, let a dot match the end of a line", |a, yes| {
        a.multiline_dotall = yes
    })
    .or("no-multiline-dotall"),
    on(' ', "crlf", "Treat CR LF as a line end too", |a, yes| {
        a.crlf = yes;
        a.null_data &= !yes;
    })
    .or("no-crlf"),
    on(' ', "null-data", "Treat NUL as the line end", |a, _| (a.crlf, a.null_data) = (false, true)),
    on(' ', "no-unicode", "Use ASCII classes in patterns", |a, yes| a.no_unicode = yes).or("unicode"),
    on('P', "pcre2", "Use PCRE2 patterns, with look-around and backreferences", |a, yes| {
        a.engine = if yes { Engine::Pcre2 } else { Engine::Rust };
    })
    .or("no-pcre2"),
    value(
        ' ',
        "engine",
        "ENGINE",
        "Regular expression engine: default, pcre2, or auto for the first that accepts the pattern",
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
    on(' ', "auto-hybrid-regex", "Same as --engine auto", |a, yes| {
        a.engine = if yes { Engine::Auto } else { Engine::Rust };
    })
    .or("no-auto-hybrid-regex"),
    on(' ', "no-pcre2-unicode", "Same as --no-unicode", |a, yes| a.no_unicode = yes).or("pcre2-unicode"),
    on(' ', "pcre2-version", "Print the version of PCRE2", |a, _| a.pcre2_version = true),
    value(' ', "regex-size-limit", "SIZE", "Size limit of a compiled pattern", |a, v| {
        a.regex_size_limit = limit(v)?;
        Ok(())
    }),
    value(' ', "dfa-size-limit", "SIZE", "Memory limit of the matcher's state cache", |a, v| {
        a.dfa_size_limit = limit(v)?;
        Ok(())
    }),
    value(
        'E',
        "encoding",
        "ENCODING",
        "Text encoding; none ignores byte order marks too [default: auto]",
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
    on('a', "text", "Search binary files as text", |a, yes| {
        a.nuls = if yes { Nuls::Text } else { Nuls::Auto };
    })
    .or("no-text"),
    on(' ', "binary", "Search binary files found in directories like named ones", |a, yes| {
        a.nuls = if yes { Nuls::Suppress } else { Nuls::Auto };
    })
    .or("no-binary"),
    on(
        'z',
        "search-zip",
        "Search in compressed files with gzip, xz and others, which must be installed",
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
        "Search the output of COMMAND for each file, which is its argument and its standard input",
        |a, v| {
            a.pre = v.filter(|command| !command.is_empty()).map(Into::into);
            a.search_zip &= a.pre.is_none();
            Ok(())
        },
    )
    .or("no-pre"),
    value(' ', "pre-glob", "GLOB", "With --pre, use COMMAND only for files whose paths match", |a, v| {
        a.pre_globs.push(text(v)?.into());
        Ok(())
    }),
    on(' ', "mmap", "Detect NULs as rg does in a memory map", |a, yes| a.mapped = Some(yes)).or("no-mmap"),
    value('m', "max-count", "N", "Stop searching a file after N matching lines", |a, v| {
        a.max_count = Some(number(v)?);
        Ok(())
    }),
    on(
        ' ',
        "stop-on-nonmatch",
        "Stop searching a file at the first non-matching line after a match",
        |a, _| {
            (a.stop_on_nonmatch, a.multiline) = (true, false);
        },
    ),
    value('A', "after-context", "N", "Print N lines after each match", |a, v| {
        a.limited().after = Some(number(v)?);
        Ok(())
    }),
    value('B', "before-context", "N", "Print N lines before each match", |a, v| {
        a.limited().before = Some(number(v)?);
        Ok(())
    }),
    value('C', "context", "N", "Print N lines before and after each match", |a, v| {
        a.limited().both = Some(number(v)?);
        Ok(())
    }),
    on(' ', "passthru", "Print all lines", |a, _| a.passthru = true).also("passthrough"),
    on('c', "count", "Print the number of matching lines", |a, _| a.show(Show::Count)),
    on(' ', "count-matches", "Print the number of matches", |a, _| a.show(Show::CountMatches)),
    on('l', "files-with-matches", "Print the paths of files with a match", |a, _| a.show(Show::PathsWith)),
    on(' ', "files-without-match", "Print the paths of files without a match", |a, _| {
        a.show(Show::PathsWithout)
    }),
    on(' ', "json", "Print results as JSON lines", |a, yes| match yes {
        true => a.show(Show::Json),
        false if a.show == Show::Json => a.show(Show::Lines),
        false => {}
    })
    .or("no-json"),
    on('q', "quiet", "Print nothing; only set the exit status", |a, _| a.quiet = true),
    on(' ', "include-zero", "With -c, print files without a match too", |a, yes| a.include_zero = yes)
        .or("no-include-zero"),
    on('o', "only-matching", "Print only the matches", |a, _| a.only_matching = true),
    value(
        'r',
        "replace",
        "TEXT",
        "Print TEXT instead of each match; $1 and $name stand for groups",
        |a, v| {
            a.replace = Some(text(v)?.into());
            Ok(())
        },
    ),
    on('n', "line-number", "Print line numbers [default on a terminal]", |a, _| a.line_number = Some(true)),
    on('N', "no-line-number", "Print no line numbers", |a, _| a.line_number = Some(false)),
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
    on('0', "null", "Print NUL after each path", |a, _| a.null = true),
    value(' ', "path-separator", "BYTE", "Separator in printed paths instead of /", |a, v| {
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
        "Separator between non-contiguous lines [default: --]",
        |a, v| {
            a.context_separator = Some(v.map(|_| escaped(v)).transpose()?);
            Ok(())
        },
    )
    .or("no-context-separator"),
    value(' ', "field-match-separator", "TEXT", "Separator after numbers and paths [default: :]", |a, v| {
        a.field_match_separator = Some(escaped(v)?);
        Ok(())
    }),
    value(
        ' ',
        "field-context-separator",
        "TEXT",
        "Separator after numbers and paths of context lines [default: -]",
        |a, v| {
            a.field_context_separator = Some(escaped(v)?);
            Ok(())
        },
    ),
    on(' ', "trim", "Remove leading white space from printed lines", |a, yes| a.trim = yes).or("no-trim"),
    value('M', "max-columns", "N", "Omit lines of more than N bytes", |a, v| {
        a.max_columns = Some(number(v)?).filter(|&columns| columns > 0);
        Ok(())
    }),
    on(' ', "max-columns-preview", "Print the start of lines that -M omits", |a, yes| {
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
        "Colours as TYPE:ATTRIBUTE:VALUE; types path, line, column, match, highlight; attributes fg, bg, style",
        |a, v| {
            a.colors.push(text(v)?.parse().map_err(|error| format!("{error}"))?);
            Ok(())
        },
    ),
    value(
        ' ',
        "hyperlink-format",
        "FORMAT",
        "Print paths as links if colours are on: none, default, file, grep+, kitty, vscode and others, \
         or a URL with {path}, {host}, {line}, {column}",
        |a, v| {
            let format = v.map(|_| text(v)).transpose()?;
            let format =
                format.map(|text| text.parse().map_err(|error| format!("invalid hyperlink format: {error}")));
            a.hyperlink_format = format.transpose()?;
            Ok(())
        },
    )
    .or("no-hyperlink-format"),
    value(
        ' ',
        "hostname-bin",
        "COMMAND",
        "With --hyperlink-format, get the host name from COMMAND",
        |a, v| {
            a.hostname_bin = v.map(Into::into);
            Ok(())
        },
    ),
    on('p', "pretty", "Same as --color always --heading --line-number", |a, _| {
        a.color = ColorChoice::Always;
        (a.heading, a.line_number) = (Some(true), Some(true));
    }),
    on(' ', "line-buffered", "Print each result immediately", |a, yes| a.line_buffered = yes.then_some(true))
        .or("no-line-buffered"),
    on(' ', "block-buffered", "Print results in blocks", |a, yes| a.line_buffered = yes.then_some(false))
        .or("no-block-buffered"),
    on(' ', "stats", "Print statistics of the search at the end", |a, yes| a.stats = yes).or("no-stats"),
    value(
        'g',
        "glob",
        "GLOB",
        "Search only files whose paths match; with ! before it, those that do not",
        |a, v| {
            a.globs.push(text(v)?.into());
            Ok(())
        },
    ),
    value(' ', "iglob", "GLOB", "Same as -g, ignoring case", |a, v| {
        a.iglobs.push(text(v)?.into());
        Ok(())
    }),
    on(' ', "glob-case-insensitive", "Treat -g as --iglob", |a, yes| a.glob_case_insensitive = yes)
        .or("no-glob-case-insensitive"),
    value('t', "type", "TYPE", "Search only files of this type", |a, v| {
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
    value(' ', "type-clear", "TYPE", "Remove the globs of a type", |a, v| {
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
    value('d', "max-depth", "N", "Descend at most N directories", |a, v| {
        a.max_depth = Some(number(v)?);
        Ok(())
    })
    .also("maxdepth"),
    value(' ', "max-filesize", "SIZE", "Skip files larger than SIZE", |a, v| {
        a.max_filesize = Some(size(v)?);
        Ok(())
    }),
    on(' ', "one-file-system", "Stay on the file systems of the named paths", |a, yes| {
        a.one_file_system = yes;
    })
    .or("no-one-file-system"),
    on(' ', "no-ignore", "Search files that ignore files exclude", |a, yes| a.no_ignore(yes)).or("ignore"),
    on(' ', "no-ignore-dot", "Do not obey .ignore and .rgignore files", |a, yes| a.no_ignore_dot = yes)
        .or("ignore-dot"),
    on(' ', "no-ignore-exclude", "Do not obey .git/info/exclude", |a, yes| a.no_ignore_exclude = yes)
        .or("ignore-exclude"),
    on(' ', "no-ignore-files", "Do not obey --ignore-file", |a, yes| a.no_ignore_files = yes)
        .or("ignore-files"),
    on(' ', "no-ignore-global", "Do not obey the user's global ignore file of git", |a, yes| {
        a.no_ignore_global = yes
    })
    .or("ignore-global"),
    on(' ', "no-ignore-messages", "Suppress messages about invalid ignore files", |a, yes| {
        a.no_ignore_messages = yes
    })
    .or("ignore-messages"),
    on(' ', "no-ignore-parent", "Do not obey ignore files of parent directories", |a, yes| {
        a.no_ignore_parent = yes
    })
    .or("ignore-parent"),
    on(' ', "no-ignore-vcs", "Do not obey .gitignore files", |a, yes| a.no_ignore_vcs = yes).or("ignore-vcs"),
    on(' ', "no-require-git", "Obey .gitignore files outside of repositories too", |a, yes| {
        a.no_require_git = yes
    })
    .or("require-git"),
    value(' ', "ignore-file", "FILE", "Additional ignore file", |a, v| {
        a.ignore_files.push(v.unwrap_or_default().into());
        Ok(())
    }),
    on(' ', "ignore-file-case-insensitive", "Ignore case in ignore files", |a, yes| {
        a.ignore_file_case_insensitive = yes;
    })
    .or("no-ignore-file-case-insensitive"),
    on('u', "unrestricted", "Same as --no-ignore; -uu: also --hidden; -uuu: also --binary", |a, _| {
        a.unrestricted += 1;
        match a.unrestricted {
            1 => a.no_ignore(true),
            2 => a.hidden = true,
            _ => a.nuls = Nuls::Suppress,
        }
    }),
    on(' ', "no-messages", "Suppress messages about unreadable files", |a, yes| a.no_messages = yes)
        .or("messages"),
    on(' ', "debug", "Print debugging messages, such as why files are skipped", |a, _| {
        a.log = a.log.max(Some(LevelFilter::Debug));
    }),
    on(' ', "trace", "Print more debugging messages than --debug", |a, _| a.log = Some(LevelFilter::Trace)),
    // The configuration file is read before the flags are parsed.
    on(' ', "no-config", "Do not read the configuration file, FULLBORE_GREP_CONFIG_PATH", |_, _| {}),
    value(
        ' ',
        "sort",
        "BY",
        "Order of the files: path, modified, accessed, created, or none (by path too)",
        |a, v| {
            a.sort = sort(v, false)?;
            Ok(())
        },
    ),
    value(' ', "sortr", "BY", "Same as --sort, in reverse order", |a, v| {
        a.sort = sort(v, true)?;
        Ok(())
    }),
    on(' ', "sort-files", "Same as --sort path", |a, yes| {
        a.sort = yes.then_some(Sort { by: SortBy::Path, reverse: false });
    })
    .or("no-sort-files"),
    value('j', "threads", "N", "Same as --workers; 0 is the number of processors", |a, v| {
        a.threads = Some(number(v)?).filter(|&threads| threads > 0);
        Ok(())
    }),
];
