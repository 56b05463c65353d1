//! `fullbore sum`: hashes files, and checks lists of hashes.

mod check;
mod flags;
mod lines;
mod lists;
mod parse;
mod pass;

use std::path::{Path, PathBuf};

use fullbore::error::{Error, ErrorKind};
use fullbore::file::HeldDir;
use fullbore::operation::hash::{Digest, Hash};
use fullbore::pattern::{Executor, Worker};
use fullbore_cli::common_args::CliRun;
use fullbore_cli::for_each::{self, in_order, propagate_cancelled};
use fullbore_cli::values::is_stdio;

pub(crate) use self::flags::Sum;
use self::flags::is_cksum;
use self::lines::{LineFormat, Shape, end, error_line, message, number};
pub(super) use self::lines::{escape, name_fields, named};
use self::pass::Passes;
use super::walk::{Rules, Walk};
use crate::environment;
use crate::exit::{self, Exit};

/// The length and the sums of a file.
type Sums = Result<(u64, Vec<Digest>), Error>;

impl Sum {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        self.common.prefer_workers(self.num_threads.filter(|&threads| threads > 0));
        if self.no_mmap {
            self.common.prefer_strategy("method=buffered");
        }
        let cksum = is_cksum();
        if cksum && self.algorithms.is_empty() && !self.check {
            self.algorithms = flags::algorithms("crc").into_iter().collect();
        }
        if cksum && self.text_mode.0 && !self.untagged && !self.check {
            return Err(Exit::failure("--text mode is only supported with --untagged"));
        }
        if cksum {
            self.refuse_length()?;
        }
        if self.debug {
            environment::report_vectors(&["avx512", "avx2", "pclmul"]);
        }
        if self.check {
            return check::run(self);
        }
        // clap does not enforce `requires` for a flag whose required flag conflicts with another one given.
        if let Some(flag) = self.verdicts.given() {
            return Err(wrong_flag(&format!(
                "the {flag} option is meaningful only when verifying checksums"
            )));
        }
        if self.tag && self.text_mode.0 {
            return Err(wrong_flag("--tag does not support --text mode"));
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
        self.common.share_standard_input(&files);
        let run = self.common.begin()?;
        let mut printer = Printer {
            hashes: &hashes,
            lines: LineFormat {
                shape,
                zero: self.zero,
                base64: self.base64,
                unnamed: matches!(&files[..], [only] if is_stdio(only)) && !dashed,
                sized: cksum,
            },
            json: self.json,
            run: &run,
            bytes: 0,
            worst: 0,
            text: Vec::new(),
        };
        let passes = Passes::default();
        let sums = |name: &Path, listed: Option<HeldDir>, executor: &Executor<'_>, worker: &mut Worker| {
            if self.keyed && is_stdio(name) {
                let what = "the key was already read from it";
                return Err(Error::new(ErrorKind::Invalid, "read", "standard input", what));
            }
            let open = |worker: &mut Worker| match listed {
                Some(held) => held.open_file(name, self.dereference),
                None => for_each::open(name, worker),
            };
            passes.sums(&hashes, name, open, executor, worker)
        };
        let walked: Box<dyn Iterator<Item = _> + Send> = match self.recursive {
            true => {
                let rules = Rules { follow: self.dereference, hidden: true, stdin: true };
                Box::new(Walk::new(files.into_iter(), rules))
            }
            false => Box::new(files.into_iter().map(|name| (name, Ok(None)))),
        };
        let work = |(name, found): (PathBuf, Result<Option<HeldDir>, Error>),
                    worker: &mut Worker,
                    executor: &Executor<'_>| {
            let result = propagate_cancelled(found.and_then(|listed| sums(&name, listed, executor, worker)))?;
            let found =
                result.as_ref().map_or(0, |(_, sums)| sums.iter().map(|sum| sum.as_bytes().len()).sum());
            let weight = name.as_os_str().len() + hashes.len() * 64 + found;
            Ok(((name, result), weight))
        };
        in_order(&run, "sum", walked, false, work, |(name, result)| printer.print_result(&name, &result))?;
        end(&run, printer.bytes, self.json)?;
        match printer.worst {
            0 => Ok(()),
            code => Err(Exit::Reported(code)),
        }
    }
}

/// Returns an error in the flags.
fn wrong_flag(text: &str) -> Exit {
    let hint = exit::called().map(|name| format!("\nTry '{name} --help' for more information."));
    Exit::failure(format!("{text}{}", hint.unwrap_or_default()))
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
    /// The lines of the last result; kept for its memory.
    text: Vec<u8>,
}

impl Printer<'_> {
    fn print_result(&mut self, name: &Path, result: &Sums) -> Result<(), Exit> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        match result {
            Err(error) => {
                self.worst = self.worst.max(if error.kind() == ErrorKind::Changed { 3 } else { 1 });
                if self.json {
                    let mut value = named(name);
                    value["error"] = message(error).into();
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                }
                self.run.output.eprint(&error_line(name, error));
            }
            Ok((bytes, sums)) => {
                self.bytes += bytes;
                let each = self.hashes.iter().map(Hash::algorithm).zip(sums);
                if self.json {
                    let mut value = named(name);
                    value["bytes"] = (*bytes).into();
                    each.for_each(|(algorithm, sum)| {
                        value[algorithm.name] = match number(algorithm, sum.as_bytes()) {
                            Some(number) => number.into(),
                            None => sum.to_string().into(),
                        };
                    });
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                } else {
                    each.for_each(|(algorithm, sum)| {
                        self.lines.add(&mut text, algorithm, name, sum.as_bytes(), *bytes);
                    });
                }
            }
        }
        let printed = self.run.output.print(&text);
        self.text = text;
        printed
    }
}
