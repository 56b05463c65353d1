//! The flags of `sum`, and the hashes that they select: the named algorithms with their lengths and modes.

use std::io::Read;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use fullbore::error::ParseError;
use fullbore::operation::hash::{self, Blake3Mode, Hash};
use fullbore_cli::common_args::CommonArgs;
use fullbore_cli::values::path;

use crate::command::help_list;
use crate::exit::{self, Exit, program};
use fullbore_cli::for_each::{expanded, standard_stream};

/// Maximum output length of blake3 in bytes: longer than any sum, small enough to fit in memory.
const LONGEST: u64 = 16 << 20;

/// Print or check hashes of files
#[derive(Debug, Args)]
#[command(after_help = algorithms_help())]
pub(crate) struct Sum {
    /// Files, or with --check lists; - or no file is standard input
    #[arg(value_name = "FILE", value_parser = path())]
    pub(crate) files: Vec<PathBuf>,

    /// Algorithm [default: blake3]; several, repeated or comma-separated, are computed in one pass (with tagged lines)
    #[arg(short, long = "algorithm", value_name = "NAME", value_parser = algorithms)]
    pub(super) algorithms: Vec<AlgorithmList>,

    /// Hash the files in directories recursively, in the order of their sorted paths
    #[arg(short, long, conflicts_with = "check")]
    pub(super) recursive: bool,

    /// With --recursive: follow all symbolic links, not only those among the arguments
    #[arg(short = 'L', long, requires = "recursive")]
    pub(super) dereference: bool,

    // Precedes the flags that it depends on, which parsing removes one after the other.
    #[command(flatten)]
    pub(super) text_mode: TextMode,

    /// Print lines in BSD format: ALGORITHM (FILE) = HEX
    #[arg(long, conflicts_with = "check", overrides_with = "untagged")]
    pub(super) tag: bool,

    /// Print lines in the format of sha256sum: HEX  FILE (the default for one algorithm)
    #[arg(long, overrides_with = "tag")]
    pub(super) untagged: bool,

    /// End lines with NUL, and do not escape names
    #[arg(short, long, conflicts_with = "check")]
    pub(super) zero: bool,

    /// Mark names with * (binary); the files are read as binary in any case
    #[arg(short, long, conflicts_with = "check", overrides_with = "text")]
    pub(super) binary: bool,

    /// Do not mark names (the default)
    #[arg(short, long, conflicts_with = "check", overrides_with = "binary")]
    pub(super) text: bool,

    /// Omit the names
    #[arg(long, conflicts_with = "check")]
    pub(super) no_names: bool,

    /// Write the bytes of the sum instead of digits; for one file and one algorithm only
    #[arg(long, conflicts_with_all = ["check", "zero", "json"])]
    pub(super) raw: bool,

    /// Write sums in base64 instead of hexadecimal; --check accepts them in tagged lines and, with -a, in untagged
    /// ones
    #[arg(long, conflicts_with_all = ["check", "raw", "json"])]
    pub(super) base64: bool,

    /// blake3: output length in bytes [default: 32], as b3sum; blake2b, sha2 and sha3: in bits, as b2sum and cksum
    #[arg(short, long, value_name = "LENGTH", value_parser = length)]
    pub(super) length: Option<Length>,

    /// blake3: offset of the first output byte
    #[arg(long, value_name = "BYTE", default_value_t = 0, hide_default_value = true)]
    pub(super) seek: u64,

    /// blake3: keyed mode; the 32 bytes of the key are read from standard input
    #[arg(long, requires = "files", conflicts_with = "check")]
    pub(super) keyed: bool,

    /// blake3: derive a key for this context
    #[arg(long, value_name = "CONTEXT", conflicts_with_all = ["check", "keyed"])]
    pub(super) derive_key: Option<String>,

    /// Read with system calls instead of a memory map: --strategy method=buffered
    #[arg(long)]
    pub(super) no_mmap: bool,

    /// Same as --workers; 0 is the number of processors
    #[arg(long, value_name = "N")]
    pub(super) num_threads: Option<u64>,

    /// Report the vector instructions that the processor supports
    #[arg(long)]
    pub(super) debug: bool,

    /// Print each result as a line of JSON, then a summary of the run
    #[arg(long)]
    pub(super) json: bool,

    /// Read sums from the files and check them: lists of this command, of the tools that it replaces (b3sum, md5sum,
    /// sha1sum to sha512sum, b2sum, cksum), xxhsum -H3 and openssl dgst
    #[arg(short, long)]
    pub(super) check: bool,

    #[command(flatten)]
    pub(super) verdicts: CheckArgs,

    #[command(flatten)]
    pub(super) common: CommonArgs,
}

fn algorithms_help() -> String {
    let algorithms = hash::algorithms().iter().map(|known| (known.name, known.summary));
    let families = FAMILIES.map(|family| (family, "the function of this family with --length bits"));
    let mut text = format!("Algorithms:\n{}", help_list(8, algorithms.chain(families)));
    text.push_str(
        "\nExit status: 0 done, 1 a file could not be read or did not match, or usage error, 3 an input \
         changed while it was read.",
    );
    text
}

/// True if the program was called `cksum`, which accepts fewer flags and lists.
pub(super) fn is_cksum() -> bool {
    exit::called() == Some("cksum")
}

/// True if --text was given, and no later --tag, which selects binary mode.
#[derive(Debug)]
pub(super) struct TextMode(pub(super) bool);

impl Args for TextMode {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for TextMode {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let place = |flag: &str| {
            let given = matches.value_source(flag) == Some(ValueSource::CommandLine);
            matches.indices_of(flag).filter(|_| given).and_then(Iterator::max)
        };
        Ok(Self(place("text") > place("tag")))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Flags for the output of verdicts.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --check")]
pub(super) struct CheckArgs {
    /// Do not print OK for each file that matches
    #[arg(long, overrides_with_all = ["status", "warn"])]
    pub(super) quiet: bool,

    /// Print nothing; only set the exit status
    #[arg(long, overrides_with_all = ["quiet", "warn"])]
    pub(super) status: bool,

    /// Count malformed lines as failures
    #[arg(long)]
    pub(super) strict: bool,

    /// Warn about each malformed line
    #[arg(short, long, overrides_with_all = ["quiet", "status"])]
    pub(super) warn: bool,

    /// Ignore missing files
    #[arg(long)]
    pub(super) ignore_missing: bool,
}

impl CheckArgs {
    /// Returns a flag that was given, if any.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.ignore_missing, "--ignore-missing"),
            (self.status, "--status"),
            (self.warn, "--warn"),
            (self.quiet, "--quiet"),
            (self.strict, "--strict"),
        ];
        flags.into_iter().find_map(|(given, flag)| given.then_some(flag))
    }
}

/// The names of families of algorithms.
const FAMILIES: [&str; 2] = ["sha2", "sha3"];

/// An algorithm as it was named.
#[derive(Debug, Clone)]
pub(super) enum NamedAlgorithm {
    One(Hash),
    /// sha2 or sha3: the length selects the variant, as with cksum.
    Family(&'static str),
}

/// The comma-separated algorithms of one flag.
#[derive(Debug, Clone)]
pub(super) struct AlgorithmList(Vec<NamedAlgorithm>);

/// Parses comma-separated algorithms.
pub(super) fn algorithms(names: &str) -> Result<AlgorithmList, ParseError> {
    names.split(',').map(algorithm).collect::<Result<_, _>>().map(AlgorithmList)
}

/// Returns the algorithm of an unabbreviated name, as cksum does.
fn algorithm(name: &str) -> Result<NamedAlgorithm, ParseError> {
    if let Some(family) = FAMILIES.into_iter().find(|family| *family == name) {
        return Ok(NamedAlgorithm::Family(family));
    }
    let also = |error| ParseError::new(format!("{error}, {}", FAMILIES.join(", ")));
    Hash::named(name).map(NamedAlgorithm::One).map_err(also)
}

impl NamedAlgorithm {
    /// Returns the selected algorithms: one of a family, or all of them for `check`, where the list selects.
    fn hashes(&self, length: Option<&Length>, check: bool) -> Result<Vec<Hash>, Exit> {
        let family = match self {
            Self::One(hash) => return Ok(vec![hash.clone()]),
            Self::Family(family) => family,
        };
        let prefix = if *family == "sha3" { "sha3-" } else { "sha" };
        let bits: &[u64] = match length {
            Some(length) if SIZES.contains(&length.value) => &[length.value],
            Some(other) => {
                let what = format!(
                    "digest length for '{}' must be 224, 256, 384, or 512",
                    family.to_ascii_uppercase()
                );
                return Err(other.invalid(&what));
            }
            None if check => SIZES,
            None => {
                let what = "requires specifying --length 224, 256, 384, or 512";
                return Err(Exit::failure(format!("--algorithm={family} {what}")));
            }
        };
        bits.iter().map(|bits| Hash::named(&format!("{prefix}{bits}")).map_err(Exit::failure)).collect()
    }
}

/// The sizes of sha2 and sha3 in bits.
const SIZES: &[u64] = &[224, 256, 384, 512];

/// A length and its text on the command line.
#[derive(Debug, Clone)]
pub(super) struct Length {
    text: String,
    /// Values too large for the type become its maximum.
    pub(super) value: u64,
}

pub(super) fn length(text: &str) -> Result<Length, &'static str> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a number");
    }
    Ok(Length { text: text.to_owned(), value: text.parse().unwrap_or(u64::MAX) })
}

impl Length {
    /// Returns an error in the two lines of coreutils.
    fn invalid(&self, what: &str) -> Exit {
        Exit::failure(format!("invalid length: '{}'\n{}: {what}", self.text, program("")))
    }

    /// Converts bits to bytes; `None`: 0 bits, which select the default length.
    fn bytes(&self) -> Result<Option<u64>, Exit> {
        match self.value {
            0 => Ok(None),
            bits if bits.is_multiple_of(8) => Ok(Some(bits / 8)),
            _ => Err(self.invalid("length is not a multiple of 8")),
        }
    }
}

impl Sum {
    /// Returns the named files, or standard input.
    pub(super) fn files(&mut self) -> Vec<PathBuf> {
        if self.files.is_empty() { vec!["-".into()] } else { expanded(std::mem::take(&mut self.files)) }
    }

    /// Returns the named algorithms without duplicates, in their default modes.
    pub(super) fn named(&self) -> Result<Vec<Hash>, Exit> {
        let mut hashes: Vec<Hash> = Vec::new();
        for choice in self.choices() {
            for hash in choice.hashes(self.length.as_ref(), self.check)? {
                if !hashes.iter().any(|known| known.algorithm() == hash.algorithm()) {
                    hashes.push(hash);
                }
            }
        }
        Ok(hashes)
    }

    /// Returns the named algorithms. With several flags, `cksum` uses the last.
    fn choices(&self) -> impl Iterator<Item = &NamedAlgorithm> {
        let first = if is_cksum() { self.algorithms.len().saturating_sub(1) } else { 0 };
        self.algorithms[first..].iter().flat_map(|choices| &choices.0)
    }

    /// Fails if a length was given and `cksum` has none for the algorithm.
    pub(super) fn refuse_length(&self) -> Result<(), Exit> {
        let has_length = |choice: &NamedAlgorithm| match choice {
            NamedAlgorithm::One(hash) => ["blake2b", "blake3"].contains(&hash.algorithm().name),
            NamedAlgorithm::Family(_) => true,
        };
        match &self.length {
            Some(length) if length.value > 0 && !self.choices().any(has_length) => Err(Exit::failure(
                "--length is only supported with --algorithm blake2b, sha2, or sha3, or blake3",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the hashes to compute, without duplicates.
    pub(super) fn hashes(&self) -> Result<Vec<Hash>, Exit> {
        let mut hashes = self.named()?;
        if hashes.is_empty() {
            hashes.push(Hash::default());
        }
        let mut length = self.length.as_ref();
        if let (Some(bits), Some(blake2b)) =
            (length, hashes.iter_mut().find(|hash| hash.algorithm().name == "blake2b"))
        {
            *blake2b = Hash::blake2b(blake2b_bytes(bits)?).map_err(Exit::failure)?;
            length = None;
        }
        // The bits of a family are not bytes of blake3.
        if self.choices().any(|choice| matches!(choice, NamedAlgorithm::Family(_))) {
            length = None;
        }
        let any_blake3 = hashes.iter().any(|hash| hash.algorithm().name == "blake3");
        if length.is_some_and(|length| length.value == 0) && !any_blake3 {
            length = None;
        }
        let special = self.keyed || self.derive_key.is_some() || length.is_some() || self.seek > 0;
        if !special {
            return Ok(hashes);
        }
        let Some(blake3) = hashes.iter_mut().find(|hash| hash.algorithm().name == "blake3") else {
            return Err(Exit::failure(
                "--length, --seek, --keyed and --derive-key need blake3: add -a blake3 (--length also: blake2b, sha2, sha3)",
            ));
        };
        let len = match length {
            // cksum counts in bits.
            Some(length) if is_cksum() => length.bytes()?,
            Some(length) => Some(length.value),
            None => None,
        };
        let len = len.unwrap_or(blake3.algorithm().len as u64);
        if len > LONGEST {
            let text = length.map_or_else(|| len.to_string(), |length| length.text.clone());
            return Err(Exit::failure(format!("--length {text}: the maximum is {LONGEST} bytes")));
        }
        let mode = match &self.derive_key {
            _ if self.keyed => Blake3Mode::Keyed(read_key()?),
            Some(context) => Blake3Mode::derive(context),
            None => Blake3Mode::Plain,
        };
        *blake3 = Hash::blake3(mode, self.seek, len as usize);
        Ok(hashes)
    }
}

/// Returns the length of a blake2b sum in bytes; 0 bits select the full length.
fn blake2b_bytes(length: &Length) -> Result<usize, Exit> {
    if length.value > 512 {
        return Err(length.invalid("maximum digest length for 'BLAKE2b' is 512 bits"));
    }
    Ok(length.bytes()?.map_or(64, |bytes| bytes as usize))
}

/// Reads the key of the keyed mode: all of standard input.
fn read_key() -> Result<[u8; 32], Exit> {
    let mut key = Vec::with_capacity(33);
    let read = standard_stream().and_then(|stream| stream.take(33).read_to_end(&mut key));
    read.map_err(|error| Exit::failure(format!("--keyed: standard input: {error}")))?;
    key.as_slice().try_into().map_err(|_| {
        let found = if key.len() > 32 { "more".into() } else { key.len().to_string() };
        Exit::failure(format!("--keyed: expected 32 key bytes on standard input, found {found}"))
    })
}
