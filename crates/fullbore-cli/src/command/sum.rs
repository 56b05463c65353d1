//! `fullbore sum`: hashes of files, and lists of them checked.

mod check;
mod lines;
mod parse;
mod pass;

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use fullbore::error::{Error, Kind};
use fullbore::operation::hash::{Blake3Mode, Hash, algorithms, derive_context, hex};
use fullbore::pattern::{Crew, Scratch};
use fullbore::quote::{Shown, printable_bytes};
use fullbore::size;
use fullbore_cli::each::Telling;
use fullbore_cli::ways::{Running, Ways};
use serde_json::json;

use self::lines::{Lines, Shape};
pub(super) use self::lines::{escape, named};
use self::pass::Passes;
use super::walk::{Rules, Walk};
use crate::exit::{Exit, program, reason};

/// Output of blake3 may be longer than a sum, but not so long that it fills the memory, in bytes.
const LONGEST: u64 = 16 << 20;

/// Sum files: hashes that tell whether bytes are the same, and lists of them checked
#[derive(Debug, Args)]
#[command(after_help = algorithms_help())]
pub(crate) struct Sum {
    /// The files, or with --check the lists; - (or none at all) is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The algorithm [default: blake3]; several, given again or joined by commas, in one pass (and tagged lines)
    #[arg(short, long = "algorithm", value_name = "NAME", value_delimiter = ',', value_parser = Hash::named)]
    algorithms: Vec<Hash>,

    /// Sum the files below directories, in the order of their sorted paths
    #[arg(short, long, conflicts_with = "check")]
    recursive: bool,

    /// With --recursive: follow symbolic links too, not only those among the arguments
    #[arg(short = 'L', long, requires = "recursive")]
    dereference: bool,

    /// Lines as BSD has them: ALGORITHM (FILE) = HEX
    #[arg(long, conflicts_with_all = ["check", "text"])]
    tag: bool,

    /// End lines with NUL, and do not escape names
    #[arg(short, long, conflicts_with = "check")]
    zero: bool,

    /// Mark names as of binary files (*); it is what is read in any case
    #[arg(short, long, overrides_with = "text")]
    binary: bool,

    /// Do not (the default)
    #[arg(short, long, overrides_with = "binary")]
    text: bool,

    /// Leave the names out
    #[arg(long, conflicts_with_all = ["check", "tag"])]
    no_names: bool,

    /// Write the bytes of the sum, not their digits: of one file and by one algorithm
    #[arg(long, conflicts_with_all = ["check", "tag", "zero", "json"])]
    raw: bool,

    /// blake3: how many bytes of output [default: 32]
    #[arg(short, long, value_name = "BYTES", conflicts_with = "check")]
    length: Option<u64>,

    /// blake3: from which byte of the output on
    #[arg(
        long,
        value_name = "BYTE",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "check"
    )]
    seek: u64,

    /// blake3: the keyed mode, with the 32 bytes of the key read from standard input
    #[arg(long, requires = "files", conflicts_with = "check")]
    keyed: bool,

    /// blake3: derive a key for this context
    #[arg(long, value_name = "CONTEXT", conflicts_with_all = ["check", "keyed"])]
    derive_key: Option<String>,

    /// Print each result as a line of JSON, and then an account of the run
    #[arg(long)]
    json: bool,

    /// Read sums from the files and check them: what this prints, and what b3sum, sha256sum, sha512sum, sha1sum,
    /// md5sum, xxhsum -H3 and openssl dgst do
    #[arg(short, long)]
    check: bool,

    #[command(flatten)]
    verdicts: check::Verdicts,

    #[command(flatten)]
    ways: Ways,
}

fn algorithms_help() -> String {
    let mut text = String::from("Algorithms:\n");
    for known in algorithms() {
        text.push_str(&format!("  {:<8} {}\n", known.name, known.summary));
    }
    text.push_str(
        "\nExit status: 0 all is well, 1 a file could not be read or did not match, or the command line is wrong, 3 a file \
         changed while it was read.",
    );
    text
}

/// What became of one file.
struct Told {
    name: PathBuf,
    result: Result<(u64, Vec<Vec<u8>>), Error>,
}

impl Sum {
    pub(crate) fn run(mut self) -> Result<(), Exit> {
        if self.check {
            return check::run(self);
        }
        let hashes = self.hashes()?;
        let shape = match hashes.len() {
            _ if self.raw => Shape::Raw,
            _ if self.no_names => Shape::Nameless,
            1 if !self.tag => Shape::Plain { binary: self.binary },
            _ => Shape::Tagged,
        };
        let files = self.files();
        if self.raw && (files.len() > 1 || hashes.len() > 1 || self.recursive) {
            return Err(Exit::trouble(
                "--raw: the sums of several files would run together; name one, and one algorithm",
            ));
        }
        let running = self.ways.begin()?;
        let mut printer = Printer {
            hashes: &hashes,
            lines: Lines { shape, zero: self.zero },
            json: self.json,
            out: Out::new(&running),
            running: &running,
            bytes: 0,
            worst: 0,
        };
        let passes = Passes::default();
        let one = |(name, found): (PathBuf, Result<(), Error>), crew: &Crew<'_>, scratch: &mut Scratch| {
            let result = found.and_then(|()| {
                if self.keyed && name == Path::new("-") {
                    let what = "the key is read from it already";
                    return Err(Error::new(Kind::Invalid, "read", "standard input", what));
                }
                passes.sums(&hashes, &name, crew, scratch)
            });
            Told { name, result }
        };
        let walked: Box<dyn Iterator<Item = _> + Send> = match self.recursive {
            true => {
                let walk = Walk::new(files.into_iter(), Rules { follow: self.dereference, hidden: true });
                Box::new(walk.map(|(name, found)| (name, found.map(drop))))
            }
            false => Box::new(files.into_iter().map(|name| (name, Ok(())))),
        };
        let mut telling = Telling::default();
        running
            .with_crew("sum", None, |crew| {
                crew.many(
                    walked,
                    |item, turn, scratch, crew| match one(item, crew, scratch) {
                        Told { result: Err(error), .. } if error.kind() == Kind::Interrupted => Err(error),
                        told => {
                            let weight = told.name.as_os_str().len() + hashes.len() * 64;
                            turn.give(told, weight).map(drop)
                        }
                    },
                    |told| Ok(telling.goes_on(printer.tell(&told))),
                )
            })
            .map_err(Exit::from)?;
        telling.end()?;
        let account = running.end(printer.bytes);
        if self.json {
            printer.out.write(format!("{}\n", json!({ "account": account })).as_bytes())?;
        }
        printer.out.flush()?;
        match printer.worst {
            0 => Ok(()),
            code => Err(Exit::Told(code)),
        }
    }

    /// The files that were named, or standard input.
    fn files(&mut self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec!["-".into()] } else { std::mem::take(&mut self.files) }
    }

    /// What is to be computed, each once.
    fn hashes(&self) -> Result<Vec<Hash>, Exit> {
        let mut hashes: Vec<Hash> = Vec::new();
        for hash in &self.algorithms {
            if !hashes.iter().any(|known| known.algorithm() == hash.algorithm()) {
                hashes.push(hash.clone());
            }
        }
        if hashes.is_empty() {
            hashes.push(Hash::default());
        }
        let special = self.keyed || self.derive_key.is_some() || self.length.is_some() || self.seek > 0;
        if !special {
            return Ok(hashes);
        }
        let Some(blake3) = hashes.iter_mut().find(|hash| hash.algorithm().name == "blake3") else {
            return Err(Exit::trouble(
                "--length, --seek, --keyed and --derive-key are of blake3; ask for it too",
            ));
        };
        let len = self.length.unwrap_or(blake3.algorithm().len as u64);
        if len > LONGEST {
            let (asked, most) = (size::human(len), size::human(LONGEST));
            return Err(Exit::trouble(format!(
                "--length: {asked} of output are more than the {most} there may be"
            )));
        }
        let mode = match &self.derive_key {
            _ if self.keyed => Blake3Mode::Keyed(read_key()?),
            Some(context) => Blake3Mode::Derive(derive_context(context)),
            None => Blake3Mode::Plain,
        };
        *blake3 = Hash::blake3(mode, self.seek, len as usize);
        Ok(hashes)
    }
}

/// The key of the keyed mode: standard input, all of it.
fn read_key() -> Result<[u8; 32], Exit> {
    let mut key = Vec::with_capacity(33);
    let read = io::stdin().lock().take(33).read_to_end(&mut key);
    read.map_err(|error| Exit::trouble(format!("--keyed: standard input: {error}")))?;
    key.as_slice().try_into().map_err(|_| {
        let found = if key.len() > 32 { "more".into() } else { key.len().to_string() };
        Exit::trouble(format!("--keyed: the key has 32 bytes; there are {found} on standard input"))
    })
}

/// Prints what comes, in the order in which it comes.
struct Printer<'r> {
    hashes: &'r [Hash],
    lines: Lines,
    json: bool,
    out: Out<'r>,
    running: &'r Running<'r>,
    bytes: u64,
    /// The exit code so far.
    worst: u8,
}

impl Printer<'_> {
    fn tell(&mut self, told: &Told) -> Result<(), Exit> {
        let mut text = Vec::new();
        match &told.result {
            Err(error) => {
                self.worst = self.worst.max(if error.kind() == Kind::Changed { 3 } else { 1 });
                if self.json {
                    let mut value = named(&told.name);
                    value["error"] = message(error).into();
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                }
                self.running.aside(|| Exit::say(&said(&told.name, error)));
            }
            Ok((bytes, sums)) => {
                self.bytes += bytes;
                let each = self.hashes.iter().map(Hash::algorithm).zip(sums);
                if self.json {
                    let mut value = named(&told.name);
                    value["bytes"] = (*bytes).into();
                    each.for_each(|(algorithm, sum)| value[algorithm.name] = hex(sum).into());
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                } else {
                    each.for_each(|(algorithm, sum)| self.lines.add(&mut text, algorithm, &told.name, sum));
                }
            }
        }
        self.out.write(&text)
    }
}

/// What went wrong, as the peers say it where it is the system that said so.
fn message(error: &Error) -> String {
    match error.raw_os_error() {
        Some(number) => reason(&io::Error::from_raw_os_error(number)),
        None => error.what().map_or_else(|| error.to_string(), str::to_owned),
    }
}

/// The line that says so.
fn said(name: &Path, error: &Error) -> String {
    format!("{}: {}: {}\n", program(""), Shown(name), message(error))
}

/// Standard output, line by line on a terminal, in larger pieces elsewhere.
pub(super) struct Out<'r> {
    running: &'r Running<'r>,
    terminal: bool,
}

impl<'r> Out<'r> {
    pub(super) fn new(running: &'r Running<'r>) -> Self {
        Self { running, terminal: io::stdout().is_terminal() }
    }

    pub(super) fn write(&self, text: &[u8]) -> Result<(), Exit> {
        match self.terminal {
            true => self.running.print(printable_bytes(text)),
            false => self.running.print(text),
        }
    }

    pub(super) fn flush(&self) -> Result<(), Exit> {
        self.running.flush()
    }
}
