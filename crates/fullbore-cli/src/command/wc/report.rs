//! Output of the counts: selection, width and order, as lines or as JSON.

use std::io::Write;
use std::path::Path;

use clap::{Args, ValueEnum};
use fullbore::operation::{Counts, Encoding};
use fullbore::sys::{FileKind, OsStrExt};
use fullbore_cli::common_args::CliRun;
use fullbore_cli::exit::Exit;
use fullbore_cli::for_each;
use serde_json::{Map, Value};

use super::files::FileResult;
use crate::command::sum::name_fields;

/// The condition for a line of totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Total {
    /// If there is more than one file
    Auto,
    /// Always
    Always,
    /// Print only the totals, without a name
    Only,
    /// Never
    Never,
}

/// The requested counts.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Columns {
    /// Count bytes; if no other count is requested, take the length of a regular file without reading it
    #[arg(short = 'c', long)]
    pub(super) bytes: bool,

    /// Count characters: UTF-8 or bytes, according to LC_ALL, LC_CTYPE or LANG
    #[arg(short = 'm', long)]
    pub(super) chars: bool,

    /// Count newlines
    #[arg(short = 'l', long)]
    pub(super) lines: bool,

    /// Print the width of the longest line in columns
    #[arg(short = 'L', long)]
    pub(super) max_line_length: bool,

    /// Count words
    #[arg(short = 'w', long)]
    pub(super) words: bool,
}

/// True if requested, its name, and the function that returns its number.
type Column = (bool, &'static str, fn(&Counts) -> u64);

impl Columns {
    /// Returns the requested counts, or those of `wc` without flags.
    pub(super) fn or_default(self) -> Self {
        if self.number() > 0 { self } else { Self { lines: true, words: true, bytes: true, ..self } }
    }

    /// Returns the counts in print order.
    fn all(&self) -> [Column; 5] {
        [
            (self.lines, "lines", |counts| counts.lines),
            (self.words, "words", |counts| counts.words),
            (self.chars, "characters", |counts| counts.characters),
            (self.bytes, "bytes", |counts| counts.bytes),
            (self.max_line_length, "columns", |counts| counts.columns),
        ]
    }

    pub(super) fn number(&self) -> usize {
        self.all().iter().filter(|(requested, ..)| *requested).count()
    }

    pub(super) fn only_bytes(&self) -> bool {
        self.bytes && self.number() == 1
    }

    pub(super) fn only_bytes_or_characters(&self) -> bool {
        !self.lines && !self.words && !self.max_line_length
    }

    /// Returns the print width of each number: that of the sum of the lengths of all files, and at least 7 if any file
    /// has no length; 1 for one count of one file, and for files not yet known.
    pub(super) fn width(&self, files: Option<Vec<&Path>>) -> usize {
        let Some(files) = files.filter(|files| files.len() != 1 || self.number() != 1) else { return 1 };
        let (mut sum, mut least) = (0_u64, 1);
        for path in files {
            match for_each::stat(path) {
                Ok(found) if found.kind() == FileKind::Regular => {
                    sum = sum.saturating_add(found.size);
                }
                Ok(_) => least = 7,
                Err(_) => {}
            }
        }
        sum.to_string().len().max(least)
    }

    fn line(&self, counts: &Counts, width: usize) -> Vec<u8> {
        let numbers: Vec<_> = self
            .all()
            .into_iter()
            .filter(|(requested, ..)| *requested)
            .map(|(_, _, number)| format!("{:>width$}", number(counts)))
            .collect();
        numbers.join(" ").into_bytes()
    }

    fn object(&self, counts: &Counts) -> Map<String, Value> {
        let requested = self.all().into_iter().filter(|(requested, ..)| *requested);
        requested.map(|(_, name, number)| (name.to_owned(), number(counts).into())).collect()
    }
}

/// The lines not yet printed, and the totals.
pub(super) struct Report {
    columns: Columns,
    width: usize,
    total: Total,
    json: bool,
    encoding: Encoding,
    waiting: Vec<u8>,
    files: u64,
    sum: Counts,
}

impl Report {
    pub(super) fn new(columns: Columns, width: usize, total: Total, json: bool, encoding: Encoding) -> Self {
        let waiting = if json { b"{\"files\":[\n".to_vec() } else { Vec::new() };
        Self { columns, width, total, json, encoding, waiting, files: 0, sum: Counts::default() }
    }

    /// Reports one file: its counts, if it could be counted, and as JSON the error too.
    pub(super) fn file(&mut self, result: &FileResult, run: &CliRun<'_>) -> Result<(), Exit> {
        self.files += 1;
        if self.json {
            self.add_object(result, run)?;
        }
        let Some(counts) = result.counts else { return Ok(()) };
        self.sum.lines += counts.lines;
        self.sum.words += counts.words;
        // The lengths of sparse files may sum to more than 2^64.
        self.sum.characters = self.sum.characters.saturating_add(counts.characters);
        self.sum.bytes = self.sum.bytes.saturating_add(counts.bytes);
        self.sum.columns = self.sum.columns.max(counts.columns);
        if self.json {
            return Ok(());
        }
        if self.total != Total::Only {
            let name = result.name.as_deref().map(|name| match name.as_os_str().as_bytes() {
                bytes if bytes.contains(&b'\n') => self.encoding.quoted(name, false).into_bytes(),
                bytes => bytes.to_vec(),
            });
            self.line(&counts, name.as_deref());
        }
        run.output.print(std::mem::take(&mut self.waiting))
    }

    /// Prints the objects before this one, which waits for the comma or the end of the list.
    fn add_object(&mut self, result: &FileResult, run: &CliRun<'_>) -> Result<(), Exit> {
        let name = result.name.as_deref().or(result.counts.map(|_| Path::new("-")));
        let mut object = name.map_or_else(Map::new, |name| name_fields("path", name));
        if let Some(counts) = &result.counts {
            object.append(&mut self.columns.object(counts));
        }
        if let Some(diagnostic) = &result.diagnostic {
            object.insert("error".into(), diagnostic.message.as_str().into());
        }
        if self.files > 1 {
            self.waiting.extend_from_slice(b",\n");
        }
        run.output.print(std::mem::take(&mut self.waiting))?;
        self.waiting.extend_from_slice(Value::Object(object).to_string().as_bytes());
        Ok(())
    }

    fn line(&mut self, counts: &Counts, name: Option<&[u8]>) {
        self.waiting.extend(self.columns.line(counts, self.width));
        if let Some(name) = name {
            self.waiting.push(b' ');
            self.waiting.extend(name);
        }
        self.waiting.push(b'\n');
    }

    pub(super) fn end(mut self, run: &CliRun<'_>) -> Result<(), Exit> {
        let sum = self.sum;
        let summary = run.end(run.progress.bytes_done());
        if self.json {
            let (total, statistics) = (Value::Object(self.columns.object(&sum)), summary.json());
            let _ = writeln!(self.waiting, "\n],\"total\":{total},\"run\":{statistics}}}");
        } else {
            match self.total {
                Total::Auto if self.files > 1 => self.line(&sum, Some(b"total")),
                Total::Always => self.line(&sum, Some(b"total")),
                Total::Only => self.line(&sum, None),
                Total::Auto | Total::Never => {}
            }
        }
        run.output.print(self.waiting)?;
        run.output.flush()
    }
}
