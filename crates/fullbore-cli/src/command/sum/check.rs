//! `fullbore sum --check`: hashes the files of a list again and compares.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fullbore::error::{Error, ErrorKind};
use fullbore::operation::hash::{Algorithm, Blake3Mode, Hash};
use fullbore::pattern::{Executor, Worker};
use fullbore::sys::{Code, OsStrExt};
use fullbore_cli::common_args::CliRun;
use fullbore_cli::for_each::{self, in_order, is_stream};
use fullbore_cli::values::is_stdio;

use super::flags::{CheckArgs, Sum, is_cksum};
use super::lines::{end, error_line, escape, message, named, shown};
use super::lists::{Item, Lists};
use super::parse::{ChecksumLine, Parser};
use super::pass::Passes;
use crate::exit::{Exit, called, program};

enum Verdict {
    Passed(Item),
    /// An expected sum, the algorithm that matches it, if one does, and the length of the file in bytes.
    Compared(ChecksumLine, Option<&'static Algorithm>, u64),
    Failed(ChecksumLine, Error),
}

pub(super) fn run(mut sum: Sum) -> Result<(), Exit> {
    if sum.length.is_some()
        && !is_cksum()
        && (sum.algorithms.is_empty()
            || sum.hashes()?.iter().any(|hash| *hash.algorithm() == *Hash::default().algorithm()))
    {
        return Err(Exit::failure("--check: only full-length blake3 sums can be checked: omit --length"));
    }
    let files = sum.files();
    let requested: Vec<&'static Algorithm> = sum.named()?.iter().map(Hash::algorithm).collect();
    if let Some(wrong) = requested.iter().find(|requested| ["crc", "bsd", "sysv"].contains(&requested.name)) {
        let what = match is_cksum() {
            true => "{bsd,sysv,crc}",
            false => wrong.name,
        };
        return Err(Exit::failure(format!("--check is not supported with --algorithm={what}")));
    }
    let run = sum.common.begin()?;
    let mut reporter = VerdictReporter {
        how: &sum.verdicts,
        json: sum.json,
        one: if let [only] = requested[..] { Some(only) } else { None },
        run: &run,
        list: List::default(),
        bytes: 0,
        bad: false,
        changed: false,
    };
    let checker = Checker { passes: Passes::default(), last: AtomicUsize::new(0), seek: sum.seek };
    let arriving = files.iter().any(|list| is_stream(list));
    let lists = Lists::new(files.into(), Parser::new(requested).like(called()));
    let work = |item: Item, worker: &mut Worker, executor: &Executor<'_>| {
        let verdict = match item {
            Item::ChecksumLine(expected) => checker.check(expected, executor, worker)?,
            other => Verdict::Passed(other),
        };
        let weight = match &verdict {
            Verdict::Compared(expected, ..) | Verdict::Failed(expected, _) => {
                2 * expected.written.len() + expected.sum.len()
            }
            Verdict::Passed(_) => 0,
        };
        Ok((verdict, weight))
    };
    in_order(&run, "check", lists, arriving, work, |verdict| reporter.report(verdict))?;
    end(&run, reporter.bytes, sum.json)?;
    match (reporter.changed, reporter.bad) {
        (true, _) => Err(Exit::Reported(3)),
        (_, true) => Err(Exit::Reported(1)),
        _ => Ok(()),
    }
}

/// The computation of the sums of listed files.
struct Checker {
    passes: Passes,
    /// Index of the algorithm that matched last, among those that can have produced a sum; it is tried first.
    last: AtomicUsize,
    /// Offset of the first byte of a blake3 sum in its output.
    seek: u64,
}

impl Checker {
    fn check(
        &self,
        expected: ChecksumLine,
        executor: &Executor<'_>,
        worker: &mut Worker,
    ) -> Result<Verdict, Error> {
        let hash = |&algorithm: &&'static Algorithm| match algorithm.name {
            "blake2b" => Hash::blake2b(expected.sum.len()),
            "blake3" => Ok(Hash::blake3(Blake3Mode::Plain, self.seek, expected.sum.len())),
            _ => Ok(Hash::from(algorithm)),
        };
        let all: Vec<Hash> = expected.algorithms.iter().map(hash).collect::<Result<_, _>>()?;
        let first = self.last.load(Ordering::Relaxed).min(all.len() - 1);
        let mut bytes = 0;
        // A pipe cannot be read again.
        let rounds: Vec<&[Hash]> = match is_stdio(&expected.name) || is_stream(&expected.name) {
            true => vec![&all],
            false => {
                let others = all[..first].chunks(1).chain(all[first + 1..].chunks(1));
                std::iter::once(&all[first..=first]).chain(others).collect()
            }
        };
        for hashes in rounds {
            let open = |worker: &mut Worker| for_each::open(&expected.name, worker);
            match self.passes.sums(hashes, &expected.name, open, executor, worker) {
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => return Ok(Verdict::Failed(expected, error)),
                Ok((len, sums)) => {
                    bytes += len;
                    let right = sums.iter().position(|sum| sum.as_bytes() == expected.sum);
                    if let Some(right) = right.map(|place| hashes[place].algorithm()) {
                        if let Some(place) = expected.algorithms.iter().position(|&known| known == right)
                            && all.len() > 1
                        {
                            self.last.store(place, Ordering::Relaxed);
                        }
                        return Ok(Verdict::Compared(expected, Some(right), bytes));
                    }
                }
            }
        }
        Ok(Verdict::Compared(expected, None, bytes))
    }
}

#[derive(Debug, Default)]
struct List {
    path: PathBuf,
    claims: u64,
    malformed: u64,
    matched: u64,
    mismatched: u64,
    unreadable: u64,
    /// Algorithm of the last line, if known.
    last: Option<&'static Algorithm>,
    /// True if there were lines of blake3; true if there were lines of others.
    kinds: (bool, bool),
}

/// A printer of the verdicts, in the order of the lists.
struct VerdictReporter<'r> {
    how: &'r CheckArgs,
    json: bool,
    /// The requested algorithm, if there is exactly one.
    one: Option<&'static Algorithm>,
    run: &'r CliRun<'r>,
    list: List,
    bytes: u64,
    bad: bool,
    changed: bool,
}

impl VerdictReporter<'_> {
    fn report(&mut self, verdict: Verdict) -> Result<(), Exit> {
        match verdict {
            Verdict::Passed(Item::List(path)) => self.list = List { path, ..List::default() },
            Verdict::Passed(Item::Unreadable(path)) => {
                self.bad = true;
                self.run.output.eprint(&format!("{}: {}: read error\n", program(""), list_name(&path)));
            }
            Verdict::Passed(Item::Closed(path, error)) => {
                self.bad = true;
                let text = Error::io("read", &path, error);
                self.run.output.eprint(&error_line(&path, &text));
            }
            Verdict::Passed(Item::Malformed(number, last)) => {
                self.list.malformed += 1;
                if self.how.warn {
                    let tag = self.one.or(last).map_or_else(String::new, |one| format!("{} ", one.tag));
                    let path = list_name(&self.list.path);
                    let text = format!(
                        "{}: {path}: {number}: improperly formatted {tag}checksum line\n",
                        program("")
                    );
                    self.run.output.eprint(&text);
                }
            }
            Verdict::Passed(Item::End) => self.end(),
            Verdict::Passed(Item::ChecksumLine(_)) => {}
            Verdict::Compared(expected, right, bytes) => {
                self.bytes += bytes;
                self.list.claims += 1;
                self.note_tool(&expected, right);
                return match right {
                    Some(algorithm) => {
                        self.list.matched += 1;
                        if self.how.quiet { Ok(()) } else { self.line(&expected, "OK", Some(algorithm)) }
                    }
                    None => {
                        self.list.mismatched += 1;
                        self.line(&expected, "FAILED", None)
                    }
                };
            }
            Verdict::Failed(expected, error) => {
                self.list.claims += 1;
                self.note_tool(&expected, None);
                if self.how.ignore_missing && error.code() == Some(Code::NOT_FOUND) {
                    return Ok(());
                }
                self.changed |= error.kind() == ErrorKind::Changed;
                if self.as_b3sum() && error.kind() != ErrorKind::Changed {
                    // b3sum counts an unreadable file as a mismatch.
                    self.list.mismatched += 1;
                    let file_result = match error.raw_os_error() {
                        Some(number) => io::Error::from_raw_os_error(number).to_string(),
                        None => message(&error),
                    };
                    return self.line(&expected, &format!("FAILED ({file_result})"), None);
                }
                self.list.unreadable += 1;
                self.run.output.eprint(&error_line(&expected.name, &error));
                return self.line(&expected, "FAILED open or read", None);
            }
        }
        Ok(())
    }

    /// Infers the tool that wrote the list from a line's algorithm.
    fn note_tool(&mut self, expected: &ChecksumLine, right: Option<&'static Algorithm>) {
        let sure = if let [only] = expected.algorithms[..] { Some(only) } else { right };
        if let Some(algorithm) = sure {
            self.list.last = sure;
            let (blake3, others) = &mut self.list.kinds;
            *(if is_blake3(algorithm) { blake3 } else { others }) = true;
        }
    }

    /// True if the verdict of the last line follows b3sum, not sha256sum.
    fn as_b3sum(&self) -> bool {
        matches!(called(), None | Some("b3sum")) && self.list.last.is_none_or(is_blake3)
    }

    fn line(
        &mut self,
        expected: &ChecksumLine,
        verdict: &str,
        algorithm: Option<&Algorithm>,
    ) -> Result<(), Exit> {
        if self.how.status {
            return Ok(());
        }
        let mut text = Vec::new();
        if self.json {
            let mut value = named(&expected.name);
            value["verdict"] = verdict.into();
            if let Some(algorithm) = algorithm {
                value["algorithm"] = algorithm.name.into();
            }
            text.extend_from_slice(value.to_string().as_bytes());
        } else {
            let name = expected.name.as_os_str().as_bytes();
            match escape(name).filter(|_| name.contains(&b'\n')) {
                _ if self.as_b3sum() => text.extend_from_slice(&expected.written),
                Some(escaped) => {
                    text.push(b'\\');
                    text.extend_from_slice(&escaped);
                }
                None => text.extend_from_slice(name),
            }
            text.extend_from_slice(b": ");
            text.extend_from_slice(verdict.as_bytes());
        }
        text.push(b'\n');
        self.run.output.print(&text)
    }

    fn end(&mut self) {
        let List { path, claims, malformed, matched, mismatched, unreadable, kinds, .. } =
            std::mem::take(&mut self.list);
        // b3sum accepts an empty list.
        if claims == 0 && malformed == 0 && called() == Some("b3sum") {
            return;
        }
        let name = list_name(&path);
        let me = program("");
        let mut text = String::new();
        if claims == 0 {
            text = format!("{me}: {name}: no properly formatted checksum lines found\n");
        } else if !self.how.status {
            let plural = |count: u64, one: &str, many: &str| match count {
                0 => String::new(),
                1 => format!("{me}: WARNING: 1 {one}\n"),
                _ => format!("{me}: WARNING: {count} {many}\n"),
            };
            text += &plural(malformed, "line is improperly formatted", "lines are improperly formatted");
            text += &plural(unreadable, "listed file could not be read", "listed files could not be read");
            text +=
                &plural(mismatched, "computed checksum did NOT match", "computed checksums did NOT match");
            if self.how.ignore_missing && matched == 0 {
                text += &format!("{me}: {name}: no file was verified\n");
            }
        }
        // b3sum counts a malformed line as a failure.
        let b3sum = kinds == (true, false) || self.one.is_some_and(is_blake3);
        let strict = self.how.strict || b3sum && !is_cksum();
        self.bad |= matched == 0 || mismatched > 0 || unreadable > 0 || strict && malformed > 0;
        if !text.is_empty() {
            self.run.output.eprint(&text);
        }
    }
}

/// Returns the name of a list for messages.
fn list_name(path: &Path) -> String {
    if is_stdio(path) { "'standard input'".to_owned() } else { shown(path) }
}

fn is_blake3(algorithm: &'static Algorithm) -> bool {
    algorithm.name == "blake3"
}
