//! A run of `fullbore grep`: from what was asked for to the exit status.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fullbore_cli::ways::Ways;
use fullbore_grep::grep_printer::{ColorSpecs, PathPrinterBuilder, default_color_specs};
use fullbore_grep::termcolor::Buffer;
use fullbore_grep::{Nuls, Query, Settings, Show, pcre2_version};
use grep_cli::DecompressionMatcher;
use ignore::overrides::OverrideBuilder;

use super::asked::{Asked, ColorChoice, Listing, Pattern};
use super::command::Filter;
use super::file::Search;
use super::haystacks::{Item, Places, types, walk};
use super::links::hyperlinks;
use super::print::{Between, Printer};
use crate::exit::{Exit, program};

/// Runs the command.
pub(crate) fn run(mut asked: Asked, arguments: Vec<OsString>, mut ways: Ways) -> Result<(), Exit> {
    if let Some(wrong) = asked.wrong.take() {
        return Err(Exit::Trouble(wrong));
    }
    if asked.unrestricted > 3 {
        return Err(Exit::trouble("error parsing flag -u: flag can only be repeated up to 3 times"));
    }
    if let Some(level) = asked.log {
        super::log::start(level);
    }
    if asked.pcre2_version {
        return match pcre2_version() {
            Some(version) => Exit::print(&format!("{version}\n")),
            None => Err(Exit::No("PCRE2 is not available in this build of fullbore".into())),
        };
    }
    match asked.listing {
        Some(Listing::Types) => return list_types(&asked),
        Some(Listing::Generated(kind)) => return kind.print(),
        Some(Listing::Files) | None => {}
    }
    let mut arguments = arguments.into_iter();
    let (patterns, stdin_used) = patterns(&asked, &mut arguments).map_err(Exit::Trouble)?;
    let places =
        Places::new(arguments.map(PathBuf::from).collect(), stdin_used, &asked).map_err(Exit::Trouble)?;
    let terminal = std::io::stdout().is_terminal();
    let mut settings = settings(&asked, patterns, &places, terminal);
    settings.longest_line = usize::try_from(ways.budget() / 4).ok();
    if asked.listing == Some(Listing::Files) {
        return list_files(&asked, &settings, &places);
    }
    ways.prefer_workers(asked.threads);
    let query = Query::new(settings).map_err(Exit::Trouble)?;
    if !query.possible() {
        return Err(Exit::Told(1));
    }
    search(&asked, &query, &places, &ways, terminal)
}

fn search(asked: &Asked, query: &Query, places: &Places, ways: &Ways, terminal: bool) -> Result<(), Exit> {
    let running = ways.begin()?;
    let workers = running.spec().workers.unwrap_or_else(fullbore::probe::processors);
    let items = walk(asked, places, workers).map_err(Exit::Trouble)?;
    let serial = asked.sort.is_some() || places.one_file || asked.threads == Some(1);
    let between = Between::new(query.settings(), serial);
    let search = Search {
        query,
        running: &running,
        mapped: places.mapped(asked.mapped),
        mapped_all: asked.mapped == Some(true),
        filter: filter(asked)?,
        messages: !asked.no_messages,
        remarks: !asked.no_ignore_messages,
        searched: AtomicBool::new(false),
    };
    let soon = asked.line_buffered.unwrap_or(terminal);
    let mut printer = Printer::new(&running, between, soon, query.first_is_enough());
    let result = running.with_executor("grep", None, |executor| {
        executor.map_ordered_with(
            items,
            || query.tool(),
            |item, sender, worker, tool, executor| search.item(item, sender, worker, tool, executor),
            |piece| Ok(printer.put(piece)),
        )
    });
    if let Some(exit) = printer.failed.take() {
        return Err(exit);
    }
    result?;
    if places.implicit && !search.searched.into_inner() {
        if !asked.no_messages {
            let name = program("");
            let tool = if name == "rg" { "ripgrep" } else { "fullbore grep" };
            Exit::say(&format!(
                "{name}: No files were searched, which means {tool} probably applied a filter you didn't expect.\n\
                 Running with --debug will show why files are being skipped.\n"
            ));
        }
        printer.status = 2;
    }
    let json = query.settings().show == Show::Json;
    if asked.stats || json {
        printer.account(json)?;
    }
    running.flush()?;
    running.end(running.progress().bytes_done());
    match (printer.matched, printer.status) {
        (true, 0) => Ok(()),
        (true, _) if asked.quiet => Ok(()),
        (_, 0) => Err(Exit::Told(1)),
        (_, status) => Err(Exit::Told(status)),
    }
}

/// Which files a command reads for us.
fn filter(asked: &Asked) -> Result<Option<Filter>, Exit> {
    if let Some(command) = &asked.pre {
        let program = grep_cli::resolve_binary(command).map_err(Exit::trouble)?;
        let here = std::env::current_dir().map_err(Exit::trouble)?;
        let mut globs = OverrideBuilder::new(here);
        for glob in &asked.pre_globs {
            globs.add(glob).map_err(Exit::trouble)?;
        }
        let globs = globs.build().map_err(Exit::trouble)?;
        return Ok(Some(Filter::Preprocess(program, globs)));
    }
    Ok(asked.search_zip.then(|| Filter::Decompress(DecompressionMatcher::new())))
}

/// The patterns, and whether they came from standard input.
fn patterns(
    asked: &Asked,
    arguments: &mut impl Iterator<Item = OsString>,
) -> Result<(Vec<String>, bool), String> {
    if asked.listing.is_some() {
        return Ok((Vec::new(), false));
    }
    if asked.patterns.is_empty() {
        let first = arguments.next().ok_or("grep requires at least one pattern to execute a search")?;
        return match first.into_string() {
            Ok(pattern) => Ok((vec![pattern], false)),
            Err(_) => Err("pattern given is not valid UTF-8".into()),
        };
    }
    let (mut patterns, mut stdin_used) = (Vec::new(), false);
    for source in &asked.patterns {
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

/// What the flags come to, with what they imply, as `rg` has it.
fn settings(asked: &Asked, patterns: Vec<String>, places: &Places, terminal: bool) -> Settings {
    let plain = Settings::default();
    let (before_context, after_context) = asked.context();
    let column = asked.column.unwrap_or(asked.vimgrep);
    let mut colors = default_color_specs();
    colors.extend(asked.colors.iter().cloned());
    let implied = match asked.show {
        _ if asked.quiet => false,
        Show::Json => true,
        Show::Lines => (terminal && !places.only_standard_input()) || column || asked.vimgrep,
        _ => false,
    };
    Settings {
        patterns,
        engine: asked.engine,
        fixed_strings: asked.fixed_strings,
        case: asked.case,
        boundary: asked.boundary,
        unicode: !asked.no_unicode,
        multiline: asked.multiline,
        multiline_dotall: asked.multiline_dotall,
        crlf: asked.crlf,
        null_data: asked.null_data,
        regex_size_limit: asked.regex_size_limit,
        dfa_size_limit: asked.dfa_size_limit,
        invert_match: asked.invert_match,
        max_count: asked.max_count,
        before_context,
        after_context,
        passthru: asked.passthru,
        stop_on_nonmatch: asked.stop_on_nonmatch,
        nuls: if asked.null_data { Nuls::Text } else { asked.nuls },
        coding: asked.coding.clone(),
        show: asked.show,
        quiet: asked.quiet,
        stats: asked.stats,
        line_number: asked.line_number.unwrap_or(implied),
        column,
        byte_offset: asked.byte_offset,
        only_matching: asked.only_matching,
        vimgrep: asked.vimgrep,
        replace: asked.replace.clone(),
        trim: asked.trim,
        max_columns: asked.max_columns,
        max_columns_preview: asked.max_columns_preview,
        include_zero: asked.include_zero,
        heading: !asked.vimgrep && asked.heading.unwrap_or(terminal),
        with_filename: asked.with_filename.unwrap_or(asked.vimgrep || !places.one_file),
        path_terminator: asked.null.then_some(0),
        path_separator: asked.path_separator,
        context_separator: asked.context_separator.clone().unwrap_or(plain.context_separator),
        field_match_separator: asked.field_match_separator.clone().unwrap_or(plain.field_match_separator),
        field_context_separator: asked
            .field_context_separator
            .clone()
            .unwrap_or(plain.field_context_separator),
        color: match asked.color {
            ColorChoice::Never => false,
            ColorChoice::Always => true,
            ColorChoice::Auto => terminal && color_is_welcome(),
        },
        colors: ColorSpecs::new(&colors),
        hyperlinks: hyperlinks(asked),
        longest_line: None,
    }
}

fn color_is_welcome() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb") && std::env::var_os("NO_COLOR").is_none()
}

fn list_types(asked: &Asked) -> Result<(), Exit> {
    let types = types(asked).map_err(Exit::Trouble)?;
    let mut text = String::new();
    for definition in types.definitions() {
        text.push_str(&format!("{}: {}\n", definition.name(), definition.globs().join(", ")));
    }
    Exit::print(&text)?;
    if text.is_empty() { Err(Exit::Told(1)) } else { Ok(()) }
}

fn list_files(asked: &Asked, settings: &Settings, places: &Places) -> Result<(), Exit> {
    let mut buffer = if settings.color { Buffer::ansi() } else { Buffer::no_color() };
    let mut printer = PathPrinterBuilder::new();
    printer
        .color_specs(settings.colors.clone())
        .hyperlink(settings.hyperlinks.clone().unwrap_or_default())
        .separator(settings.path_separator)
        .terminator(settings.path_terminator.unwrap_or(b'\n'));
    let workers = asked.threads.map_or_else(fullbore::probe::processors, |threads| threads as usize);
    let (mut any, mut status) = (false, 0);
    for item in walk(asked, places, workers).map_err(Exit::Trouble)? {
        let flow = match item {
            Item::Haystack(haystack) => {
                any = true;
                if asked.quiet {
                    ControlFlow::Break(())
                } else {
                    printer.build(&mut buffer).write(&haystack.path).map_err(Exit::trouble)?;
                    ControlFlow::Continue(())
                }
            }
            Item::Trouble(text) => {
                status = 2;
                if !asked.no_messages {
                    Exit::say(&format!("{}: {text}\n", program("")));
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
        (true, _) if asked.quiet => Ok(()),
        (_, 0) => Err(Exit::Told(1)),
        (_, status) => Err(Exit::Told(status)),
    }
}
