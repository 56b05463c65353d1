//! A run of `fullbore grep`: from the flags to the exit status.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fullbore_cli::common_args::CommonArgs;
use fullbore_grep::grep_printer::{ColorSpecs, PathPrinterBuilder, default_color_specs};
use fullbore_grep::termcolor::Buffer;
use fullbore_grep::{Nuls, Query, Settings, Show, pcre2_version};
use grep_cli::DecompressionMatcher;
use ignore::overrides::OverrideBuilder;

use super::args::{ColorChoice, GrepArgs, Listing, Pattern};
use super::command::Filter;
use super::file::Search;
use super::haystacks::{Item, SearchPaths, types, walk};
use super::links::hyperlinks;
use super::print::{Printer, Separators};
use crate::exit::{Exit, program};

/// Runs the command.
pub(crate) fn run(mut args: GrepArgs, arguments: Vec<OsString>, mut common: CommonArgs) -> Result<(), Exit> {
    if let Some(wrong) = args.wrong.take() {
        return Err(Exit::Failure(wrong));
    }
    if args.unrestricted > 3 {
        return Err(Exit::failure("error parsing flag -u: flag can only be repeated up to 3 times"));
    }
    if let Some(level) = args.log {
        super::log::start(level);
    }
    if args.pcre2_version {
        return match pcre2_version() {
            Some(version) => Exit::print(&format!("{version}\n")),
            None => Err(Exit::No("PCRE2 is not available in this build of fullbore".into())),
        };
    }
    match args.listing {
        Some(Listing::Types) => return list_types(&args),
        Some(Listing::Generated(kind)) => return kind.print(),
        Some(Listing::Files) | None => {}
    }
    let mut arguments = arguments.into_iter();
    let (patterns, stdin_used) = patterns(&args, &mut arguments).map_err(Exit::Failure)?;
    let search_paths =
        SearchPaths::new(arguments.map(PathBuf::from).collect(), stdin_used, &args).map_err(Exit::Failure)?;
    let terminal = std::io::stdout().is_terminal();
    let mut settings = settings(&args, patterns, &search_paths, terminal);
    settings.longest_line = usize::try_from(common.budget() / 4).ok();
    if args.listing == Some(Listing::Files) {
        return list_files(&args, &settings, &search_paths);
    }
    common.prefer_workers(args.threads);
    let query = Query::new(settings).map_err(Exit::Failure)?;
    if !query.possible() {
        return Err(Exit::Reported(1));
    }
    search(&args, &query, &search_paths, &common, terminal)
}

fn search(
    args: &GrepArgs,
    query: &Query,
    search_paths: &SearchPaths,
    common: &CommonArgs,
    terminal: bool,
) -> Result<(), Exit> {
    let run = common.begin()?;
    let workers = run.job().spec().workers.unwrap_or_else(fullbore::probe::processors);
    let items = walk(args, search_paths, workers).map_err(Exit::Failure)?;
    let serial = args.sort.is_some() || search_paths.one_file || args.threads == Some(1);
    let separators = Separators::new(query.settings(), serial);
    let search = Search {
        query,
        run: &run,
        mapped: search_paths.mapped(args.mapped),
        mapped_all: args.mapped == Some(true),
        filter: filter(args)?,
        messages: !args.no_messages,
        remarks: !args.no_ignore_messages,
        searched: AtomicBool::new(false),
    };
    let soon = args.line_buffered.unwrap_or(terminal);
    let mut printer = Printer::new(&run, separators, soon, query.first_is_enough());
    let result = run.with_executor("grep", None, |executor| {
        executor.map_ordered_with(
            items,
            || query.whole_searcher(),
            |item, sender, worker, tool, executor| search.item(item, sender, worker, tool, executor),
            |output| Ok(printer.put(output)),
        )
    });
    if let Some(exit) = printer.failed.take() {
        return Err(exit);
    }
    result?;
    if search_paths.implicit && !search.searched.into_inner() {
        if !args.no_messages {
            let name = program("");
            let tool = if name == "rg" { "ripgrep" } else { "fullbore grep" };
            Exit::eprint(&format!(
                "{name}: No files were searched, which means {tool} probably applied a filter you didn't expect.\n\
                 Running with --debug will show why files are being skipped.\n"
            ));
        }
        printer.status = 2;
    }
    let json = query.settings().show == Show::Json;
    if args.stats || json {
        printer.account(json)?;
    }
    run.flush()?;
    run.end(run.progress().bytes_done());
    match (printer.matched, printer.status) {
        (true, 0) => Ok(()),
        (true, _) if args.quiet => Ok(()),
        (_, 0) => Err(Exit::Reported(1)),
        (_, status) => Err(Exit::Reported(status)),
    }
}

/// Returns the filter of files that are read through a command.
fn filter(args: &GrepArgs) -> Result<Option<Filter>, Exit> {
    if let Some(command) = &args.pre {
        let program = grep_cli::resolve_binary(command).map_err(Exit::failure)?;
        let here = std::env::current_dir().map_err(Exit::failure)?;
        let mut globs = OverrideBuilder::new(here);
        for glob in &args.pre_globs {
            globs.add(glob).map_err(Exit::failure)?;
        }
        let globs = globs.build().map_err(Exit::failure)?;
        return Ok(Some(Filter::Preprocess(program, globs)));
    }
    Ok(args.search_zip.then(|| Filter::Decompress(DecompressionMatcher::new())))
}

/// Returns the patterns, and true if they came from standard input.
fn patterns(
    args: &GrepArgs,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<(Vec<String>, bool), String> {
    if args.listing.is_some() {
        return Ok((Vec::new(), false));
    }
    if args.patterns.is_empty() {
        let first = arguments.next().ok_or("grep requires at least one pattern to execute a search")?;
        return match first.into_string() {
            Ok(pattern) => Ok((vec![pattern], false)),
            Err(_) => Err("pattern given is not valid UTF-8".into()),
        };
    }
    let (mut patterns, mut stdin_used) = (Vec::new(), false);
    for source in &args.patterns {
        match source {
            Pattern::Given(pattern) => patterns.push(pattern.clone()),
            Pattern::File(path) if path == Path::new("-") => {
                if stdin_used {
                    return Err("error reading -f/--file from stdin: stdin has already been consumed".into());
                }
                patterns.extend(grep_cli::patterns_from_stdin().map_err(|error| error.to_string())?);
                stdin_used = true;
            }
            Pattern::File(path) => {
                patterns.extend(grep_cli::patterns_from_path(path).map_err(|error| error.to_string())?);
            }
        }
    }
    let mut seen = HashSet::new();
    patterns.retain(|pattern| seen.insert(pattern.clone()));
    Ok((patterns, stdin_used))
}

/// Converts the flags to settings, with their implications as in `rg`.
fn settings(args: &GrepArgs, patterns: Vec<String>, search_paths: &SearchPaths, terminal: bool) -> Settings {
    let plain = Settings::default();
    let (before_context, after_context) = args.context();
    let column = args.column.unwrap_or(args.vimgrep);
    let mut colors = default_color_specs();
    colors.extend(args.colors.iter().cloned());
    let implied = match args.show {
        _ if args.quiet => false,
        Show::Json => true,
        Show::Lines => (terminal && !search_paths.only_standard_input()) || column || args.vimgrep,
        _ => false,
    };
    Settings {
        patterns,
        engine: args.engine,
        fixed_strings: args.fixed_strings,
        case: args.case,
        boundary: args.boundary,
        unicode: !args.no_unicode,
        multiline: args.multiline,
        multiline_dotall: args.multiline_dotall,
        crlf: args.crlf,
        null_data: args.null_data,
        regex_size_limit: args.regex_size_limit,
        dfa_size_limit: args.dfa_size_limit,
        invert_match: args.invert_match,
        max_count: args.max_count,
        before_context,
        after_context,
        passthru: args.passthru,
        stop_on_nonmatch: args.stop_on_nonmatch,
        nuls: if args.null_data { Nuls::Text } else { args.nuls },
        coding: args.coding.clone(),
        show: args.show,
        quiet: args.quiet,
        stats: args.stats,
        line_number: args.line_number.unwrap_or(implied),
        column,
        byte_offset: args.byte_offset,
        only_matching: args.only_matching,
        vimgrep: args.vimgrep,
        replace: args.replace.clone(),
        trim: args.trim,
        max_columns: args.max_columns,
        max_columns_preview: args.max_columns_preview,
        include_zero: args.include_zero,
        heading: !args.vimgrep && args.heading.unwrap_or(terminal),
        with_filename: args.with_filename.unwrap_or(args.vimgrep || !search_paths.one_file),
        path_terminator: args.null.then_some(0),
        path_separator: args.path_separator,
        context_separator: args.context_separator.clone().unwrap_or(plain.context_separator),
        field_match_separator: args.field_match_separator.clone().unwrap_or(plain.field_match_separator),
        field_context_separator: args
            .field_context_separator
            .clone()
            .unwrap_or(plain.field_context_separator),
        color: match args.color {
            ColorChoice::Never => false,
            ColorChoice::Always => true,
            ColorChoice::Auto => terminal && color_is_welcome(),
        },
        colors: ColorSpecs::new(&colors),
        hyperlinks: hyperlinks(args),
        longest_line: None,
    }
}

fn color_is_welcome() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb") && std::env::var_os("NO_COLOR").is_none()
}

fn list_types(args: &GrepArgs) -> Result<(), Exit> {
    let types = types(args).map_err(Exit::Failure)?;
    let mut text = String::new();
    for definition in types.definitions() {
        text.push_str(&format!("{}: {}\n", definition.name(), definition.globs().join(", ")));
    }
    Exit::print(&text)?;
    if text.is_empty() { Err(Exit::Reported(1)) } else { Ok(()) }
}

fn list_files(args: &GrepArgs, settings: &Settings, search_paths: &SearchPaths) -> Result<(), Exit> {
    let mut buffer = if settings.color { Buffer::ansi() } else { Buffer::no_color() };
    let mut printer = PathPrinterBuilder::new();
    printer
        .color_specs(settings.colors.clone())
        .hyperlink(settings.hyperlinks.clone().unwrap_or_default())
        .separator(settings.path_separator)
        .terminator(settings.path_terminator.unwrap_or(b'\n'));
    let workers = args.threads.map_or_else(fullbore::probe::processors, |threads| threads as usize);
    let (mut any, mut status) = (false, 0);
    for item in walk(args, search_paths, workers).map_err(Exit::Failure)? {
        let flow = match item {
            Item::Haystack(haystack) => {
                any = true;
                if args.quiet {
                    ControlFlow::Break(())
                } else {
                    printer.build(&mut buffer).write(&haystack.path).map_err(Exit::failure)?;
                    ControlFlow::Continue(())
                }
            }
            Item::Diagnostic(text) => {
                status = 2;
                if !args.no_messages {
                    Exit::eprint(&format!("{}: {text}\n", program("")));
                }
                ControlFlow::Continue(())
            }
            Item::Remark(_) => ControlFlow::Continue(()),
        };
        if flow.is_break() {
            break;
        }
        if buffer.len() > 32 << 10 {
            Exit::print_raw(buffer.as_slice())?;
            buffer.clear();
        }
    }
    Exit::print_raw(buffer.as_slice())?;
    match (any, status) {
        (true, 0) => Ok(()),
        (true, _) if args.quiet => Ok(()),
        (_, 0) => Err(Exit::Reported(1)),
        (_, status) => Err(Exit::Reported(status)),
    }
}
