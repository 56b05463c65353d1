//! `fullbore report`: shows a results document again, or compares it with others.

use std::convert::Infallible;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::file::{Durability, Output, Temporary};
use fullbore::quote::Shown;
use fullbore::stream::FileStream;
use fullbore::sys::{self, AsHandle, interprets_sequences};
use fullbore_bench::comparison::{
    self, Aspect, Condition, Error, Glob, Options, RunComparison, Source, parse_share,
};
use fullbore_bench::document::{Document, document_file, read_document_text};
use fullbore_bench::table::TableOptions;
use fullbore_bench::{csv, report, table};

use crate::exit::Exit;
use fullbore_cli::for_each::{expanded, standard_stream};
use fullbore_cli::values::is_stdio;

/// Show the results of a bench run, or compare several runs with the first
///
/// Cells are compared by their raw samples: each gets a ratio to the baseline, its 95% interval and a verdict. If the
/// environments (machine, kernel, file system, device ...) differ in a way that could explain a difference in speed,
/// the comparison is refused unless --across names the difference.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 shown or compared, 1 a condition of --fail-on is met, 2 error, or environments \
                  that differ."
)]
pub(crate) struct Report {
    /// A results.json (may be compressed with gzip) or its folder; - is standard input. With several, the first is the baseline
    #[arg(value_name = "RESULTS", required = true)]
    results: Vec<PathBuf>,

    /// Print all findings of a document instead of a summary of one page
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    full: bool,

    /// Print the document or the comparison as JSON instead of the summary or table
    #[arg(long)]
    json: bool,

    /// Write the report or the comparison as one HTML page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the report or the comparison as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write the samples or the compared cells as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write each chart of the report as an SVG file into this new directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// Print neither summary nor table
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,

    #[command(flatten)]
    compare_args: CompareArgs,
}

/// Flags of a comparison of several documents.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparing")]
struct CompareArgs {
    /// Treat ratios that differ from 1 by at most this percentage as equal [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    margin: Option<f64>,

    /// Differences of the environments to permit, comma-separated: machine, limits, kernel,
    /// file-system, device, version, file-size
    #[arg(long, value_name = "ASPECT", value_delimiter = ',')]
    across: Vec<Aspect>,

    /// Compare despite any environment differences
    #[arg(long)]
    anyway: bool,

    /// Compare only cells whose id matches; * is any text, ? any character; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = |text: &str| Ok::<_, Infallible>(Glob::new(text)))]
    only: Vec<Glob>,

    /// Exit with 1 if a cell meets a condition: slower:5% (its whole interval is beyond 5%), also faster, cpu-higher,
    /// cpu-lower (CPU time), longer, shorter (99th percentile of latency), unclear, missing; may be repeated
    #[arg(long, value_name = "CONDITION")]
    fail_on: Vec<Condition>,
}

fn margin(text: &str) -> Result<f64, String> {
    match parse_share(text)? {
        share if share < 1.0 => Ok(share),
        _ => Err("a margin must be less than 100%".into()),
    }
}

impl Report {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        self.results = expanded(self.results);
        self.check()?;
        let mut documents = Vec::new();
        for path in &self.results {
            documents.push((name(path), read(path)?));
        }
        match documents.as_slice() {
            [(name, document)] => self.show(name, document),
            [baseline, others @ ..] => self.compare(baseline, others),
            [] => Err(Exit::failure("name a results document")),
        }
    }

    fn check(&self) -> Result<(), Exit> {
        let to_stdout = self.outputs().filter(|(_, path)| is_stdio(path)).count() + usize::from(self.json);
        if to_stdout > 1 {
            return Err(Exit::failure("standard output: named for two outputs: name a file for all but one"));
        }
        if self.results.iter().filter(|path| is_stdio(path)).count() > 1 {
            return Err(Exit::failure("standard input: named twice: it holds one document"));
        }
        let mut seen: Vec<((u64, u64), String)> = Vec::new();
        for path in self.results.iter().filter(|path| !is_stdio(path)) {
            let Some(identity) = identity(&document_file(path)) else { continue };
            if let Some((_, before)) = seen.iter().find(|(known, _)| *known == identity) {
                return Err(Exit::failure(format!(
                    "{before} and {} are the same file: name another run's results",
                    Shown(path)
                )));
            }
            seen.push((identity, Shown(path).to_string()));
        }
        let mut written = Vec::new();
        // One file may be spelled in several ways.
        let place = |path: &Path| {
            let directory =
                path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            path.canonicalize().unwrap_or_else(|_| directory.join(path.file_name().unwrap_or_default()))
        };
        let pictures = self.svg.as_deref().map(|path| ("--svg", path));
        for (flag, path) in self.outputs().filter(|(_, path)| !is_stdio(path)).chain(pictures) {
            if let Some((_, input)) = seen.iter().find(|(known, _)| identity(path) == Some(*known)) {
                return Err(Exit::failure(format!("{flag}: {input} is an input: name another file")));
            }
            let place = place(path);
            if written.contains(&place) {
                return Err(Exit::failure(format!("{flag}: {} is named for another output", Shown(path))));
            }
            written.push(place);
        }
        if let Some((flag, _)) = self.outputs().find(|(_, path)| self.full && is_stdio(path)) {
            return Err(Exit::failure(format!(
                "--full applies to the table, which {flag} - replaces: name a file with {flag}"
            )));
        }
        if self.results.len() > 1 {
            return match self.svg {
                Some(_) => Err(Exit::failure("--svg takes one results document: name only one")),
                None if self.full => Err(Exit::failure("--full takes one results document: name only one")),
                None => Ok(()),
            };
        }
        let compare_args = &self.compare_args;
        let flags = [
            ("--margin", compare_args.margin.is_some()),
            ("--across", !compare_args.across.is_empty()),
            ("--anyway", compare_args.anyway),
            ("--only", !compare_args.only.is_empty()),
            ("--fail-on", !compare_args.fail_on.is_empty()),
        ];
        match flags.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Exit::failure(format!("{flag} needs two results documents: name a second one")))
            }
            None => Ok(()),
        }
    }

    fn outputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        [("--html", &self.html), ("--markdown", &self.markdown), ("--csv", &self.csv)]
            .into_iter()
            .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }

    fn show(&self, name: &str, document: &Document) -> Result<(), Exit> {
        if document.cells.is_empty() {
            return Err(Exit::failure(format!("{name}: no cells to show")));
        }
        let shown = document.printable();
        let files = self.files(
            || report::html(&shown),
            || report::markdown(&shown),
            |samples| csv::write(document, samples).map_err(Exit::failure),
        )?;
        let pictures = self.svg.as_deref().map(|directory| pictures(&shown, directory)).transpose()?;
        self.write_outputs(files, pictures, || {
            if !self.json {
                let view = if self.full { table::render } else { table::summary };
                return Ok(view(&shown, table_options()).into_bytes());
            }
            let mut text = Vec::new();
            document.write(&mut text).map_err(Exit::failure)?;
            Ok(text)
        })
    }

    fn files(
        &self,
        html: impl FnOnce() -> String,
        markdown: impl FnOnce() -> String,
        csv: impl FnOnce(&mut Vec<u8>) -> Result<(), Exit>,
    ) -> Result<Vec<(&Path, Vec<u8>)>, Exit> {
        let mut files: Vec<(&Path, Vec<u8>)> = Vec::new();
        files.extend(self.html.as_deref().map(|path| (path, html().into_bytes())));
        files.extend(self.markdown.as_deref().map(|path| (path, markdown().into_bytes())));
        if let Some(path) = &self.csv {
            let mut table = Vec::new();
            csv(&mut table)?;
            files.push((path, table));
        }
        Ok(files)
    }

    fn compare(&self, baseline: &(String, Document), others: &[(String, Document)]) -> Result<(), Exit> {
        let compare_args = &self.compare_args;
        let mut options = Options {
            across: if compare_args.anyway { Aspect::ALL.to_vec() } else { compare_args.across.clone() },
            only: compare_args.only.clone(),
            conditions: compare_args.fail_on.clone(),
            ..Options::default()
        };
        options.margin = compare_args.margin.unwrap_or(options.margin);
        let shown: Vec<_> = others.iter().map(|(name, document)| (name, document.printable())).collect();
        let others: Vec<_> = shown.iter().map(|(name, document)| Source { name, document }).collect();
        let (name, document) = (&baseline.0, &baseline.1.printable());
        let found = comparison::compare(Source { name, document }, &others, &options)
            .map_err(|error: Error| Exit::failure(error))?;
        let files = self.files(
            || comparison::html(&found),
            || comparison::markdown(&found),
            |cells| comparison::csv(&found, cells).map_err(Exit::failure),
        )?;
        self.write_outputs(files, None, || {
            Ok(if self.json { comparison::json(&found) } else { comparison::render(&found, table_options()) }
                .into_bytes())
        })?;
        verdict(&found)
    }

    /// Writes the files, all of them or none, and then standard output. `pictures` is kept if all files are written.
    fn write_outputs(
        &self,
        files: Vec<(&Path, Vec<u8>)>,
        pictures: Option<Temporary>,
        text: impl FnOnce() -> Result<Vec<u8>, Exit>,
    ) -> Result<(), Exit> {
        let mut outputs = Vec::new();
        let mut to_stdout = None;
        for (path, content) in files {
            if is_stdio(path) {
                to_stdout = Some(content);
                continue;
            }
            let output = Output::create(path)?;
            let mut stream = FileStream::new(output.file().clone());
            // An error of the library names the path.
            let failed = |error: io::Error| {
                error.downcast().unwrap_or_else(|error| fullbore::Error::io("write", path, error))
            };
            stream.write_all(&content).map_err(failed)?;
            stream.close()?;
            outputs.push(output);
        }
        let is_table = to_stdout.is_none() && !self.json;
        let text = match to_stdout {
            Some(content) => content,
            None if self.quiet => Vec::new(),
            None => text()?,
        };
        for output in outputs {
            output.commit(Durability::None)?;
        }
        if let Some(pictures) = pictures {
            pictures.keep();
        }
        match text.is_empty() {
            true => Ok(()),
            // A table may have colours; the names in it are escaped.
            false if is_table => Exit::print_raw(&text),
            false => Exit::print(&text),
        }
    }
}

/// Writes the charts of a document into a new directory, which is removed unless it is kept.
fn pictures(document: &Document, directory: &Path) -> Result<Temporary, Exit> {
    if directory == Path::new("-") {
        return Err(Exit::failure("--svg writes several files: name a new directory"));
    }
    let (made, ()) = Temporary::make_tree(directory.to_owned(), |path| {
        fs::create_dir(path).map_err(|error| {
            fullbore::Error::io("make", path, error).advise("name a new directory with --svg")
        })
    })?;
    for (name, picture) in report::charts(document) {
        let path = directory.join(name).with_extension("svg");
        fs::write(&path, picture).map_err(|error| fullbore::Error::io("write", &path, error))?;
    }
    Ok(made)
}

/// Returns "no" with the conditions that are met, if any.
fn verdict(found: &RunComparison) -> Result<(), Exit> {
    let met: Vec<String> =
        found.conditions.iter().filter(|met| !met.cells.is_empty()).map(ToString::to_string).collect();
    if met.is_empty() { Ok(()) } else { Err(Exit::No(met.join("\n"))) }
}

/// True if output to a stream may be coloured: to a terminal that `TERM` does not call incapable, unless `NO_COLOR`
/// forbids it (no-color.org).
pub(crate) fn may_colour(stream: &(impl IsTerminal + AsHandle)) -> bool {
    let is_capable = match std::env::var_os("TERM") {
        Some(name) => name != "dumb" && !name.is_empty(),
        // Consoles of Windows have no name.
        None => cfg!(windows),
    };
    let is_forbidden = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    stream.is_terminal() && is_capable && !is_forbidden && interprets_sequences(stream)
}

/// Returns the options of a table for the kind of standard output.
pub(super) fn table_options() -> TableOptions {
    let width = fullbore::sys::terminal_columns(std::io::stdout()).map_or(80, |columns| match columns {
        0 => 80,
        columns => usize::from(columns).clamp(60, 120),
    });
    TableOptions { width, colour: may_colour(&std::io::stdout()) }
}

/// Returns the name of a document for messages.
pub(super) fn name(path: &Path) -> String {
    if is_stdio(path) { "standard input".into() } else { Shown(path).to_string() }
}

/// Returns device and inode number of a file; `None` if it does not exist.
fn identity(path: &Path) -> Option<(u64, u64)> {
    sys::stat(path).ok().map(|found| found.identity())
}

/// Reads the document of a path; standard input for `-`.
pub(super) fn read(path: &Path) -> Result<Document, Exit> {
    let file = document_file(path);
    let shown = if is_stdio(path) { name(path) } else { Shown(&file).to_string() };
    let failure = |what: String| Exit::failure(format!("{shown}: {what}"));
    let text = if is_stdio(path) {
        standard_stream().and_then(read_document_text)
    } else {
        fs::File::open(&file).and_then(read_document_text)
    };
    let text = text.map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge | ErrorKind::InvalidData => {
            failure(format!("{error}: name the results.json that bench wrote"))
        }
        _ => failure(format!("cannot read: {error}")),
    })?;
    match text.trim_start().chars().next() {
        None => Err(failure("the file is empty: name the results.json that bench wrote".into())),
        Some('<') => Err(failure("an HTML page, not data: name the results.json in its folder".into())),
        Some('{') => Document::parse(&text).map_err(|error| failure(error.to_string())),
        Some(_) => Err(failure("not a results document: name the results.json that bench wrote".into())),
    }
}
