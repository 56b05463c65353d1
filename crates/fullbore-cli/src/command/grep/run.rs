//! A run of `fullbore grep`: from the flags to the exit status.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clap::Args;
use fullbore::pattern::Executor;
use fullbore_cli::common_args::CommonArgs;
use fullbore_grep::grep_printer::PathPrinterBuilder;
use fullbore_grep::termcolor::Buffer;
use fullbore_grep::{Query, Settings, Show, pcre2_version};
use grep_cli::DecompressionMatcher;
use ignore::overrides::Override;
use log::{LevelFilter, Log, Metadata, Record};

use super::args::{GrepArgs, Listing, Pattern};
use super::command::Filter;
use super::file::{Search, SearchWorker};
use super::haystacks::{Item, SearchPaths, types};
use super::parse::Config;
use super::print::{Printer, Separators};
use super::settings::settings;
use super::walk::{FileFilters, walk};
use crate::exit::{Exit, program};
use fullbore_cli::for_each::expanded;

/// Print lines that match a pattern, as rg does; large files are searched by all workers
#[derive(Debug, Args)]
#[command(
    after_help = "Without a path, standard input is searched if it is a file or a pipe, otherwise the current directory.\n\
                        Most flags can be negated with --no- before their name. Exit status: 0 a match was found, \
                        1 no match, 2 error, 3 an input changed while it was read."
)]
pub(crate) struct Grep {
    /// Pattern, unless -e or -f gives one, then files and directories; - is standard input
    #[arg(value_name = "PATTERN|PATH")]
    pub(crate) arguments: Vec<OsString>,

    #[command(flatten)]
    args: GrepArgs,

    #[command(flatten)]
    common: CommonArgs,
}

impl Grep {
    /// True if a flag has an invalid value.
    pub(crate) fn is_wrong(&self) -> bool {
        self.args.wrong.is_some()
    }

    /// Returns the flags of the configuration file for this command line, if it is not wrong and they apply to it.
    pub(crate) fn config(&self) -> Option<Config> {
        let applies = !self.is_wrong() && !self.args.no_config && !self.args.pcre2_version;
        applies.then(Config::read).flatten()
    }

    /// Runs the command. `flags` returns the flags of all commands, for `--generate`.
    pub(crate) fn run(self, flags: fn() -> clap::Command) -> Result<(), Exit> {
        let Self { arguments, mut args, mut common } = self;
        if let Some(wrong) = args.wrong.take() {
            return Err(Exit::Failure(wrong));
        }
        if args.unrestricted > 3 {
            return Err(Exit::failure("error parsing flag -u: flag can only be repeated up to 3 times"));
        }
        if let Some(level) = args.log {
            Logger::start(level);
        }
        if args.pcre2_version {
            return match pcre2_version() {
                Some(version) => Exit::print(&format!("{version}\n")),
                None => Err(Exit::No("PCRE2 is not available in this build of fullbore".into())),
            };
        }
        match args.listing {
            Some(Listing::Types) => return list_types(&args),
            Some(Listing::Generated(kind)) => return kind.print(flags()),
            Some(Listing::Files) | None => {}
        }
        let mut arguments = arguments.into_iter();
        let (patterns, stdin_used) = patterns(&args, &mut arguments).map_err(Exit::Failure)?;
        let paths = expanded(arguments.map(PathBuf::from).collect());
        let search_paths = SearchPaths::new(paths, stdin_used, &args).map_err(Exit::Failure)?;
        let filters = FileFilters::new(&args).map_err(Exit::Failure)?;
        let terminal = std::io::stdout().is_terminal();
        let mut settings = settings(&args, patterns, &search_paths, terminal);
        settings.longest_line = usize::try_from(common.budget() / 4).ok();
        common.prefer_workers(args.threads);
        if args.listing == Some(Listing::Files) {
            return list_files(&args, &settings, &search_paths, filters, &common);
        }
        common.share_standard_input(&search_paths.paths);
        if !settings.possible() {
            return Err(Exit::Reported(1));
        }
        let query = Query::new(settings).map_err(Exit::Failure)?;
        search(&args, &query, &search_paths, filters, &common, terminal)
    }
}

fn search(
    args: &GrepArgs,
    query: &Query,
    search_paths: &SearchPaths,
    filters: FileFilters,
    common: &CommonArgs,
    terminal: bool,
) -> Result<(), Exit> {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !fullbore_grep::catches_panics() {
            report(panic);
        }
    }));
    let run = common.begin()?;
    let workers = run.job.spec().workers.unwrap_or_else(fullbore::probe::processors);
    let filter = filter(args, filters.pre_globs.clone())?;
    let items = walk(args, search_paths, filters, workers);
    // rg maps no file on macOS.
    let mapped = if cfg!(target_os = "macos") { Some(false) } else { args.mapped };
    let separators = Separators::new(query.settings(), search_paths.serial(args));
    let search = Search {
        query,
        run: &run,
        mapped: search_paths.mapped(mapped),
        mapped_all: mapped == Some(true),
        filter,
        messages: !args.no_messages,
        remarks: !args.no_ignore_messages,
        searched: AtomicBool::new(false),
    };
    let soon = args.line_buffered.unwrap_or(terminal);
    let mut printer = Printer::new(&run, separators, soon, query.stops_at_first_match());
    // A quarter of the memory for the outputs of all workers, half of it for workers that are added while all wait for the
    // device; another quarter for results that wait.
    let (quarter, made) = (common.budget() as usize / 4, AtomicUsize::new(0));
    let grows = run.job.spec().workers.is_none();
    let room = || match made.fetch_add(1, Ordering::Relaxed) < workers {
        true => quarter / if grows { 2 } else { 1 } / workers.max(1),
        false => quarter / 2 / Executor::MOST_WORKERS,
    };
    let result = run.with_executor("grep", None, |executor| {
        executor.map_ordered_with(
            items,
            || query.whole_searcher_within(room()),
            |item, sender, worker, tool, executor| {
                search.item(item, &mut SearchWorker { sender, worker, executor }, tool)
            },
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
    if args.search.stats || json {
        printer.statistics(json)?;
    }
    run.output.flush()?;
    run.end(run.progress.bytes_done());
    outcome(args, printer.matched, printer.status)
}

/// Returns the exit of a search, or of a list of files. `status` is that of its worst error.
fn outcome(args: &GrepArgs, found: bool, status: u8) -> Result<(), Exit> {
    match (found, status) {
        (true, 0) => Ok(()),
        (true, _) if args.search.quiet => Ok(()),
        (_, 0) => Err(Exit::Reported(1)),
        (_, status) => Err(Exit::Reported(status)),
    }
}

/// Returns the filter of files that are read through a command.
fn filter(args: &GrepArgs, pre_globs: Override) -> Result<Option<Filter>, Exit> {
    if let Some(command) = &args.pre {
        let program = grep_cli::resolve_binary(command).map_err(Exit::failure)?;
        return Ok(Some(Filter::Preprocess(program, pre_globs)));
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

fn list_types(args: &GrepArgs) -> Result<(), Exit> {
    let types = types(args).map_err(Exit::Failure)?;
    let mut text = String::new();
    for definition in types.definitions() {
        text.push_str(&format!("{}: {}\n", definition.name(), definition.globs().join(", ")));
    }
    Exit::print(&text)?;
    if text.is_empty() { Err(Exit::Reported(1)) } else { Ok(()) }
}

fn list_files(
    args: &GrepArgs,
    settings: &Settings,
    search_paths: &SearchPaths,
    filters: FileFilters,
    common: &CommonArgs,
) -> Result<(), Exit> {
    let run = common.begin()?;
    let mut buffer = if settings.color { Buffer::ansi() } else { Buffer::no_color() };
    let mut printer = PathPrinterBuilder::new();
    printer
        .color_specs(settings.colors.clone())
        .hyperlink(settings.hyperlinks.clone().unwrap_or_default())
        .separator(settings.path_separator)
        .terminator(settings.path_terminator.unwrap_or(b'\n'));
    let workers = run.job.spec().workers.unwrap_or_else(fullbore::probe::processors);
    let (mut any, mut status) = (false, 0);
    for item in walk(args, search_paths, filters, workers) {
        match item {
            Item::Haystack(haystack) => {
                any = true;
                if args.search.quiet {
                    break;
                }
                printer.build(&mut buffer).write(&haystack.path).map_err(Exit::failure)?;
            }
            Item::Diagnostic(text) => {
                status = 2;
                if !args.no_messages {
                    Exit::eprint(&format!("{}: {text}\n", program("")));
                }
            }
            Item::Remark(text) if !args.no_messages && !args.no_ignore_messages => {
                Exit::eprint(&format!("{}: {text}\n", program("")));
            }
            Item::Remark(_) => {}
        }
        if buffer.len() > 32 << 10 {
            Exit::print_raw(buffer.as_slice())?;
            buffer.clear();
        }
    }
    Exit::print_raw(buffer.as_slice())?;
    run.end(0);
    outcome(args, any, status)
}

/// A printer of the log messages of ripgrep's crates, for `--debug` and `--trace`.
struct Logger;

impl Logger {
    /// Prints messages up to `level` on standard error from now on.
    fn start(level: LevelFilter) {
        // The logger can be set only once per process.
        if log::set_logger(&Self).is_ok() {
            log::set_max_level(level);
        }
    }
}

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let place = match (record.file(), record.line()) {
            (Some(file), Some(line)) => format!("|{file}:{line}"),
            _ => String::new(),
        };
        let (level, target) = (record.level(), record.target());
        Exit::eprint(&format!("{}: {level}|{target}{place}: {}\n", program(""), record.args()));
    }

    fn flush(&self) {}
}
