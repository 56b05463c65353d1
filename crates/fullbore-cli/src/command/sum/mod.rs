//! `fullbore sum`: hashes files, and checks lists of hashes.

mod check;
mod choice;
mod lines;
mod lists;
mod parse;
mod pass;

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::error::{Error, ErrorKind};
use fullbore::operation::hash::{Hash, algorithms, hex};
use fullbore::pattern::{Executor, Worker};
use fullbore::quote::Shown;
use fullbore_cli::common_args::{CliRun, CommonArgs};
use fullbore_cli::for_each::FirstFailure;
use serde_json::json;

use self::choice::{Choices, Length};
use self::lines::{LineFormat, Shape};
pub(super) use self::lines::{escape, named};
use self::pass::Passes;
use super::walk::{Rules, Walk};
use crate::exit::{self, Exit, program, reason};

/// Print or check hashes of files
#[derive(Debug, Args)]
#[command(after_help = algorithms_help())]
pub(crate) struct Sum {
    /// Files, or with --check lists; - or no file is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Algorithm [default: blake3]; several, repeated or comma-separated, are computed in one pass (with tagged lines)
    #[arg(short, long = "algorithm", value_name = "NAME", value_parser = choice::algorithms)]
    algorithms: Vec<Choices>,

    /// Hash the files in directories recursively, in the order of their sorted paths
    #[arg(short, long, conflicts_with = "check")]
    recursive: bool,

    /// With --recursive: follow all symbolic links, not only those among the arguments
    #[arg(short = 'L', long, requires = "recursive")]
    dereference: bool,

    /// Print lines in BSD format: ALGORITHM (FILE) = HEX
    #[arg(long, conflicts_with_all = ["check", "text"], overrides_with = "untagged")]
    tag: bool,

    /// Print lines in the format of sha256sum: HEX  FILE (the default for one algorithm)
    #[arg(long, conflicts_with = "check", overrides_with = "tag")]
    untagged: bool,

    /// End lines with NUL, and do not escape names
    #[arg(short, long, conflicts_with = "check")]
    zero: bool,

    /// Mark names as of binary files (*); files are read as binary in any case
    #[arg(short, long, conflicts_with = "check", overrides_with = "text")]
    binary: bool,

    /// Do not mark names (the default)
    #[arg(short, long, conflicts_with = "check", overrides_with = "binary")]
    text: bool,

    /// Omit the names
    #[arg(long, conflicts_with = "check")]
    no_names: bool,

    /// Write the bytes of the sum, not digits: one file and one algorithm only
    #[arg(long, conflicts_with_all = ["check", "tag", "zero", "json"])]
    raw: bool,

    /// Write sums in base64 instead of hexadecimal; --check recognises them by their length
    #[arg(long, conflicts_with_all = ["check", "raw", "json"])]
    base64: bool,

    /// blake3: output length in bytes [default: 32], as b3sum; blake2b, sha2 and sha3: in bits, as b2sum and cksum
    #[arg(short, long, value_name = "LENGTH", value_parser = choice::length)]
    length: Option<Length>,

    /// blake3: offset of the first output byte
    #[arg(
        long,
        value_name = "BYTE",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "check"
    )]
    seek: u64,

    /// blake3: keyed mode; the 32 bytes of the key are read from standard input
    #[arg(long, requires = "files", conflicts_with = "check")]
    keyed: bool,

    /// blake3: derive a key for this context
    #[arg(long, value_name = "CONTEXT", conflicts_with_all = ["check", "keyed"])]
    derive_key: Option<String>,

    /// Read with system calls instead of a memory map: --strategy method=buffered
    #[arg(long)]
    no_mmap: bool,

    /// Same as --workers; 0 is the number of processors
    #[arg(long, value_name = "N")]
    num_threads: Option<u64>,

    /// Report the vector instructions that the processor supports
    #[arg(long)]
    debug: bool,

    /// Print each result as a line of JSON, then a summary of the run
    #[arg(long)]
    json: bool,

    /// Read sums from the files and check them: lists of this command, b3sum, sha256sum, sha512sum, sha1sum, md5sum,
    /// xxhsum -H3 and openssl dgst
    #[arg(short, long)]
    check: bool,

    #[command(flatten)]
    verdicts: check::CheckArgs,

    #[command(flatten)]
    common: CommonArgs,
}

fn algorithms_help() -> String {
    let mut text = String::from("Algorithms:\n");
    for known in algorithms() {
        text.push_str(&format!("  {:<8} {}\n", known.name, known.summary));
    }
    text.push_str(
        "\nExit status: 0 done, 1 a file could not be read or did not match, or usage error, 3 an input \
         changed while it was read.",
    );
    text
}

/// True if the program was called `cksum`, which accepts fewer flags and lists.
fn is_cksum() -> bool {
    exit::called() == Some("cksum")
}

/// The result for one file.
struct FileResult {
    name: PathBuf,
    result: Result<(u64, Vec<Vec<u8>>), Error>,
}

impl Sum {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        self.common.prefer_workers(self.num_threads.filter(|&threads| threads > 0));
        if self.no_mmap {
            self.common.prefer_strategy("method=buffered");
        }
        let cksum = is_cksum();
        if cksum && self.algorithms.is_empty() && !self.check {
            self.algorithms = choice::algorithms("crc").into_iter().collect();
        }
        if cksum && self.text && !self.untagged && !self.check {
            return Err(Exit::failure("--text mode is only supported with --untagged"));
        }
        if cksum {
            self.refuse_length()?;
        }
        if self.debug {
            super::vectors::report(&["avx512", "avx2", "pclmul"]);
        }
        if self.check {
            return check::run(self);
        }
        // clap does not enforce `requires` for a flag whose required flag conflicts with another one given.
        if let Some(flag) = self.verdicts.given() {
            let text = format!("the {flag} option is meaningful only when verifying checksums");
            let hint = exit::called().map(|name| format!("\nTry '{name} --help' for more information."));
            return Err(Exit::failure(text + &hint.unwrap_or_default()));
        }
        let hashes = self.hashes()?;
        let shape = match hashes.len() {
            _ if self.raw => Shape::Raw,
            _ if self.no_names => Shape::Nameless,
            1 if self.untagged || !(self.tag || cksum) => Shape::Plain { binary: self.binary },
            _ => Shape::Tagged,
        };
        let dashed = !self.files.is_empty();
        let files = self.files();
        if self.raw && files.len() > 1 {
            return Err(Exit::failure("the --raw option is not supported with multiple files"));
        }
        if self.raw && (hashes.len() > 1 || self.recursive) {
            return Err(Exit::failure(
                "--raw: several sums cannot be separated: name one file and one algorithm",
            ));
        }
        let run = self.common.begin()?;
        let mut printer = Printer {
            hashes: &hashes,
            lines: LineFormat {
                shape,
                zero: self.zero,
                base64: self.base64,
                unnamed: files == [Path::new("-")] && !dashed,
                sized: cksum,
            },
            json: self.json,
            run: &run,
            bytes: 0,
            worst: 0,
        };
        let passes = Passes::default();
        let one =
            |(name, found): (PathBuf, Result<(), Error>), executor: &Executor<'_>, worker: &mut Worker| {
                let result = found.and_then(|()| {
                    if self.keyed && name == Path::new("-") {
                        let what = "the key is already read from it";
                        return Err(Error::new(ErrorKind::Invalid, "read", "standard input", what));
                    }
                    passes.sums(&hashes, &name, executor, worker)
                });
                FileResult { name, result }
            };
        let walked: Box<dyn Iterator<Item = _> + Send> = match self.recursive {
            true => {
                let walk = Walk::new(files.into_iter(), Rules { follow: self.dereference, hidden: true });
                Box::new(walk.map(|(name, found)| (name, found.map(drop))))
            }
            false => Box::new(files.into_iter().map(|name| (name, Ok(())))),
        };
        let mut first_failure = FirstFailure::default();
        run.with_executor("sum", None, |executor| {
            executor.map_ordered(
                walked,
                |item, sender, worker, executor| match one(item, executor, worker) {
                    FileResult { result: Err(error), .. } if error.kind() == ErrorKind::Cancelled => {
                        Err(error)
                    }
                    file_result => {
                        let weight = file_result.name.as_os_str().len() + hashes.len() * 64;
                        sender.send(file_result, weight).map(drop)
                    }
                },
                |file_result| Ok(first_failure.check(printer.print_result(&file_result))),
            )
        })
        .map_err(Exit::from)?;
        first_failure.end()?;
        end(&run, printer.bytes, self.json)?;
        match printer.worst {
            0 => Ok(()),
            code => Err(Exit::Reported(code)),
        }
    }

    /// Returns the named files, or standard input.
    fn files(&mut self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec!["-".into()] } else { std::mem::take(&mut self.files) }
    }
}

/// Prints results as they are delivered, in order.
struct Printer<'r> {
    hashes: &'r [Hash],
    lines: LineFormat,
    json: bool,
    run: &'r CliRun<'r>,
    bytes: u64,
    /// The exit code so far.
    worst: u8,
}

impl Printer<'_> {
    fn print_result(&mut self, file_result: &FileResult) -> Result<(), Exit> {
        let mut text = Vec::new();
        match &file_result.result {
            Err(error) => {
                self.worst = self.worst.max(if error.kind() == ErrorKind::Changed { 3 } else { 1 });
                if self.json {
                    let mut value = named(&file_result.name);
                    value["error"] = message(error).into();
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                }
                self.run.eprint(&error_line(&file_result.name, error));
            }
            Ok((bytes, sums)) => {
                self.bytes += bytes;
                let each = self.hashes.iter().map(Hash::algorithm).zip(sums);
                if self.json {
                    let mut value = named(&file_result.name);
                    value["bytes"] = (*bytes).into();
                    each.for_each(|(algorithm, sum)| value[algorithm.name] = hex(sum).into());
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                } else {
                    let mut add = |(algorithm, sum): (_, &Vec<u8>)| {
                        self.lines.add(&mut text, algorithm, &file_result.name, sum, *bytes);
                    };
                    each.for_each(&mut add);
                }
            }
        }
        self.run.print(&text)
    }
}

/// Returns the message of an error, in the peers' wording if the system reported it.
fn message(error: &Error) -> String {
    match error.raw_os_error() {
        Some(number) => match (io::Error::from_raw_os_error(number), exit::called()) {
            (error, Some("b3sum")) => error.to_string(),
            (error, _) => reason(&error),
        },
        None => error.what().map_or_else(|| error.to_string(), str::to_owned),
    }
}

/// Returns the line of an error.
fn error_line(name: &Path, error: &Error) -> String {
    format!("{}: {}: {}\n", program(""), Shown(name), message(error))
}

/// Ends a run with the summary of `--json`.
fn end(run: &CliRun<'_>, bytes: u64, json: bool) -> Result<(), Exit> {
    let summary = run.end(bytes);
    if json {
        run.print(format!("{}\n", json!({ "account": summary.json() })))?;
    }
    run.flush()
}
