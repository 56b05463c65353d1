//! `fullbore wc`: lines, words, characters, bytes and columns of files.

mod files;
mod report;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fullbore::error::{Error, Kind};
use fullbore::operation::{Count, Counts, Encoding};
use fullbore::pattern::{Executor, OrderedSender, Worker};
use fullbore_cli::each::{Telling, arrives};
use fullbore_cli::exit::{self, Exit, program};
use fullbore_cli::values::names;
use fullbore_cli::ways::{Running, Ways};

use crate::locale;
use files::{Input, Inputs, StandardInput};
use fullbore::quote::{Shown, quoted};
use report::{Columns, Report};

/// Count lines, words, characters, bytes and columns
#[derive(Debug, Args)]
#[command(
    after_help = "Without a choice, lines, words and bytes are counted. They are printed in the order: lines, words, \
                  characters, bytes, columns.\n\nExit status: 0 done, 1 trouble, 3 an input changed while it was read."
)]
pub(crate) struct Wc {
    /// Count bytes; if nothing else is asked for, the length of a regular file is looked up and not read
    #[arg(short = 'c', long)]
    bytes: bool,

    /// Count characters, which LC_ALL, LC_CTYPE or LANG say are UTF-8 or bytes
    #[arg(short = 'm', long)]
    chars: bool,

    /// Count newlines
    #[arg(short = 'l', long)]
    lines: bool,

    /// Print the width of the longest line, in columns
    #[arg(short = 'L', long)]
    max_line_length: bool,

    /// Count words
    #[arg(short = 'w', long)]
    words: bool,

    /// Count the files whose names stand in F, each with a zero byte behind it; - is standard input
    #[arg(long, value_name = "F")]
    files0_from: Option<PathBuf>,

    /// When to print a line of totals
    #[arg(long, value_parser = names::<Total>(), value_name = "WHEN", default_value = "auto")]
    total: Total,

    /// Print the counts and an account of the run as JSON
    #[arg(long)]
    json: bool,

    /// The files; - is standard input, which is also read if there are none
    #[arg(value_name = "FILE")]
    files: Vec<OsString>,

    /// Tell which vector instructions the processor has
    #[arg(long)]
    debug: bool,

    #[command(flatten)]
    ways: Ways,
}

/// When there is a line of totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Total {
    /// If there is more than one file
    Auto,
    /// Always
    Always,
    /// Always, without its name, and no other line
    Only,
    /// Never
    Never,
}

/// What became of one input.
struct Told {
    /// What its line is headed; none for standard input that nobody named.
    name: Option<PathBuf>,
    /// The line, if there is one: a directory has one of zeros.
    counts: Option<Counts>,
    trouble: Option<Trouble>,
}

struct Trouble {
    message: String,
    /// The exit code that it leads to.
    code: u8,
}

impl Trouble {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    fn of(name: &Path, error: &Error, encoding: Encoding) -> Self {
        let message = format!("{}: {}", quoted(name, encoding, false), reason(error));
        Self { message, code: if error.kind() == Kind::Changed { 3 } else { 1 } }
    }

    fn say(&self, running: &Running<'_>) {
        running.say(&self.line());
    }

    fn line(&self) -> String {
        format!("{}: {}\n", program("wc"), self.message)
    }

    fn fatal(self) -> Exit {
        Exit::say(&self.line());
        Exit::Told(1)
    }
}

/// What the system says of an error, as it says it to any program.
fn reason(error: &Error) -> String {
    match error.raw_os_error() {
        Some(number) => exit::reason(&std::io::Error::from_raw_os_error(number)),
        None => error.what().map_or_else(|| error.to_string(), str::to_owned),
    }
}

/// What all workers know.
struct Task<'a> {
    count: Count,
    /// Only bytes are asked for: what has a length need not be read.
    only_bytes: bool,
    encoding: Encoding,
    standard_input: StandardInput,
    running: &'a Running<'a>,
}

impl Wc {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let encoding = locale::encoding();
        let columns = self.columns();
        let running = self.ways.begin()?;
        if self.debug {
            super::vectors::tell(&["avx2"]);
        }
        let named = (!self.files.is_empty()).then(|| self.files.iter().map(PathBuf::from).collect());
        let inputs = Inputs::new(named, self.files0_from.as_deref(), encoding).map_err(Trouble::fatal)?;
        let width = if self.total == Total::Only { 1 } else { columns.width(inputs.known()) };
        let task = Task {
            count: self.count(&columns, encoding),
            only_bytes: columns.only_bytes()
                || encoding == Encoding::Bytes && columns.only_bytes_or_characters(),
            encoding,
            standard_input: StandardInput::default(),
            running: &running,
        };
        let mut report = Report::new(columns, width, self.total, self.json, encoding);
        let (mut telling, mut code) = (Telling::default(), 0);
        let arriving = self.files0_from.as_deref().is_some_and(arrives);
        let work = |input: Input,
                    sender: &mut OrderedSender<'_, '_, Told>,
                    worker: &mut Worker,
                    executor: &Executor<'_>| {
            let told = task.tell(input, worker, executor)?;
            let weight = told.name.as_ref().map_or(0, |name| name.as_os_str().len());
            sender.send(told, weight).map(drop)
        };
        let emit = |told: Told| {
            if let Some(trouble) = &told.trouble {
                trouble.say(&running);
                code = code.max(trouble.code);
            }
            Ok(telling.goes_on(report.file(told.name.as_deref(), told.counts, &running)))
        };
        let result = running.with_executor("wc", None, |executor| match arriving {
            true => executor.map_ordered_arriving(inputs, work, emit),
            false => executor.map_ordered(inputs, work, emit),
        });
        telling.end()?;
        result?;
        report.end(&running)?;
        if code > 0 { Err(Exit::Told(code)) } else { Ok(()) }
    }

    fn columns(&self) -> Columns {
        let columns = Columns {
            lines: self.lines,
            words: self.words,
            characters: self.chars,
            bytes: self.bytes,
            longest: self.max_line_length,
        };
        match columns.number() {
            0 => Columns { lines: true, words: true, bytes: true, ..columns },
            _ => columns,
        }
    }

    fn count(&self, columns: &Columns, encoding: Encoding) -> Count {
        let mut count = Count::new(encoding);
        if columns.longest {
            count = count.with_columns();
        } else if !(columns.words || columns.characters && encoding == Encoding::Utf8) {
            count = count.lines_only();
        }
        match std::env::var_os("POSIXLY_CORRECT") {
            Some(_) => count.posixly_correct(),
            None => count,
        }
    }
}

impl Task<'_> {
    /// Counts one input.
    ///
    /// # Errors
    /// If the run is to stop: what is wrong with the input is told.
    fn tell(&self, input: Input, worker: &mut Worker, executor: &Executor<'_>) -> fullbore::Result<Told> {
        match input {
            Input::Trouble(message) => {
                Ok(Told { name: None, counts: None, trouble: Some(Trouble::new(message)) })
            }
            Input::Standard { named, turn } => {
                let counts =
                    self.standard_input.in_turn(turn, |file| self.counts(file, true, worker, executor));
                let label = Path::new(if named { "-" } else { "standard input" });
                self.told(named.then(|| "-".into()), label, counts, true)
            }
            Input::File(path) => match worker.open(&path) {
                Ok(file) => {
                    let counts = self.counts(&file, false, worker, executor);
                    self.told(Some(path.clone()), &path, counts, true)
                }
                Err(error) => self.told(Some(path.clone()), &path, Err(error), files::is_directory(&path)),
            },
        }
    }

    fn told(
        &self,
        name: Option<PathBuf>,
        label: &Path,
        counts: fullbore::Result<Counts>,
        opened: bool,
    ) -> fullbore::Result<Told> {
        match counts {
            Ok(counts) => Ok(Told { name, counts: Some(counts), trouble: None }),
            Err(error) if error.kind() == Kind::Interrupted => Err(error),
            Err(error) => {
                let mut trouble = Trouble::of(label, &error, self.encoding);
                if files::is_directory(label) {
                    trouble.message = format!("{}: Is a directory", quoted(label, self.encoding, false));
                }
                // What changed under us has no counts; what cannot be read has none, and says so.
                let counts = (opened && trouble.code == 1).then(Counts::default);
                Ok(Told { name, counts, trouble: Some(trouble) })
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
        if self.only_bytes
            && let Some(bytes) = files::length(file, standard)?
        {
            self.running.remark(&format!("{}: its length is looked up, not read", Shown(file.path())));
            return Ok(Counts { bytes, characters: bytes, ..Counts::default() });
        }
        if files::may_lie(file)? {
            let state = files::read_to_the_end(file, &self.count, standard)?;
            return Ok(self.count.counts(&state));
        }
        let seekable = standard && file.seekable_len()?.is_some();
        let (stats, state) = executor.fold(&self.count, file, worker)?;
        if seekable {
            files::stand_at(stats.bytes);
        }
        Ok(self.count.counts(&state))
    }
}
