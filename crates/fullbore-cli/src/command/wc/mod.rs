//! `fullbore wc`: counts lines, words, characters, bytes and columns of files.

mod files;
mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::error::ErrorKind;
use fullbore::operation::{Count, Counts, Encoding};
use fullbore::pattern::{Executor, Worker};
use fullbore::sys::Code;
use fullbore_cli::common_args::{CliRun, CommonArgs};
use fullbore_cli::exit::Exit;
use fullbore_cli::for_each::{expanded, in_order, is_stream, seek_standard_input};
use fullbore_cli::values::{names, path};

use crate::environment;
use files::{Diagnostic, FileResult, Input, Inputs, StandardInput};
use fullbore::quote::Shown;
use report::{Columns, Report, Total};

/// Count lines, words, characters, bytes and columns
#[derive(Debug, Args)]
#[command(
    after_help = "The default is lines, words and bytes. The counts are printed in the order lines, words, \
                  characters, bytes, columns.\n\nExit status: 0 done, 1 error, 3 an input changed while it was read."
)]
pub(crate) struct Wc {
    #[command(flatten)]
    columns: Columns,

    /// Count the files named in F, each name terminated by NUL; - is standard input
    #[arg(long, value_name = "F", value_parser = path())]
    files0_from: Option<PathBuf>,

    /// Line of totals: auto, always, only or never
    #[arg(long, value_parser = names::<Total>(), value_name = "WHEN", default_value = "auto")]
    total: Total,

    /// Print the counts and a summary of the run as JSON
    #[arg(long)]
    json: bool,

    /// Files; - or no file is standard input
    #[arg(value_name = "FILE", value_parser = path())]
    pub(crate) files: Vec<PathBuf>,

    /// Report the vector instructions that the processor supports
    #[arg(long)]
    debug: bool,

    #[command(flatten)]
    common: CommonArgs,
}

/// State shared by all workers.
struct WcContext<'a> {
    count: Count,
    /// True if only bytes are counted: files with a length need not be read.
    only_bytes: bool,
    encoding: Encoding,
    standard_input: StandardInput,
    run: &'a CliRun<'a>,
}

impl Wc {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        let encoding = environment::encoding();
        let columns = self.columns.or_default();
        let run = self.common.begin()?;
        if self.debug {
            environment::report_vectors(&["avx2"]);
        }
        let named = Some(std::mem::take(&mut self.files)).filter(|files| !files.is_empty()).map(expanded);
        let inputs = Inputs::new(named, self.files0_from.as_deref(), encoding).map_err(Diagnostic::fatal)?;
        let width = if self.total == Total::Only { 1 } else { columns.width(inputs.known()) };
        let context = WcContext {
            count: self.count(&columns, encoding),
            only_bytes: columns.only_bytes()
                || encoding == Encoding::Bytes && columns.only_bytes_or_characters(),
            encoding,
            standard_input: StandardInput::new(),
            run: &run,
        };
        let mut report = Report::new(columns, width, self.total, self.json, encoding);
        let mut code = 0;
        let arriving = self.files0_from.as_deref().is_some_and(is_stream);
        let work = |input: Input, worker: &mut Worker, executor: &Executor<'_>| {
            let ends_waits = context.standard_input.ends_waits();
            let file_result = context.count_input(input, worker, executor)?;
            ends_waits.passed();
            let weight = file_result.name.as_ref().map_or(0, |name| name.as_os_str().len());
            Ok((file_result, weight))
        };
        in_order(&run, "wc", inputs, arriving, work, |file_result: FileResult| {
            if let Some(diagnostic) = &file_result.diagnostic {
                run.output.eprint(&diagnostic.line());
                code = code.max(diagnostic.code);
            }
            let ends_waits = context.standard_input.ends_waits();
            report.file(&file_result, &run)?;
            ends_waits.passed();
            Ok(())
        })?;
        report.end(&run)?;
        if code > 0 { Err(Exit::Reported(code)) } else { Ok(()) }
    }

    fn count(&self, columns: &Columns, encoding: Encoding) -> Count {
        let mut count = Count::new(encoding);
        if columns.max_line_length {
            count = count.with_columns();
        } else if !(columns.words || columns.chars && encoding == Encoding::Utf8) {
            count = count.lines_only();
        }
        match std::env::var_os("POSIXLY_CORRECT") {
            Some(_) => count.posixly_correct(),
            None => count,
        }
    }
}

impl WcContext<'_> {
    /// Counts one input.
    ///
    /// # Errors
    /// If the run is to stop. Problems of the input are reported.
    fn count_input(
        &self,
        input: Input,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> fullbore::Result<FileResult> {
        match input {
            Input::Diagnostic(message) => {
                Ok(FileResult { name: None, counts: None, diagnostic: Some(Diagnostic::new(message)) })
            }
            Input::Standard { named, turn } => {
                let counts =
                    self.standard_input.in_order(turn, |file| self.counts(file, true, worker, executor));
                let label = Path::new(if named { "-" } else { "standard input" });
                self.file_result(named.then(|| "-".into()), label, counts, true)
            }
            Input::File(path) => match worker.open(&path) {
                Ok(file) => {
                    let counts = self.counts(&file, false, worker, executor);
                    self.file_result(Some(path.clone()), &path, counts, true)
                }
                Err(error) => {
                    // wc opens a directory, and fails to read it.
                    let opened = error.code() == Some(Code::IS_DIRECTORY);
                    self.file_result(Some(path.clone()), &path, Err(error), opened)
                }
            },
        }
    }

    fn file_result(
        &self,
        name: Option<PathBuf>,
        label: &Path,
        counts: fullbore::Result<Counts>,
        opened: bool,
    ) -> fullbore::Result<FileResult> {
        match counts {
            Ok(counts) => Ok(FileResult { name, counts: Some(counts), diagnostic: None }),
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                let diagnostic = Diagnostic::of(label, &error, self.encoding);
                // A file that was opened but cannot be read has a line of zeros, as with wc; one that changed has no line.
                let counts = (opened && diagnostic.code == 1).then(Counts::default);
                Ok(FileResult { name, counts, diagnostic: Some(diagnostic) })
            }
        }
    }

    fn counts(
        &self,
        file: &fullbore::file::File,
        standard: bool,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> fullbore::Result<Counts> {
        let file = &file.stamped()?;
        if self.only_bytes
            && let Some(bytes) = files::length(file, standard)?
        {
            self.run.remark(&format!("{}: length from its metadata, not read", Shown(file.path())));
            let mut counts = Counts::default();
            (counts.bytes, counts.characters) = (bytes, bytes);
            return Ok(counts);
        }
        if files::size_is_unreliable(file)? {
            let state = files::read_to_the_end(file, &self.count, standard)?;
            let counts = self.count.counts(&state);
            executor.progress().add(counts.bytes);
            return Ok(counts);
        }
        let seekable = standard && file.seekable_len()?.is_some();
        let (state, stats) = executor.fold(&self.count, file, worker)?;
        if seekable {
            seek_standard_input(stats.bytes);
        }
        Ok(self.count.counts(&state))
    }
}
