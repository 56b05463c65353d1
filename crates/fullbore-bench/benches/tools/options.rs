//! Options of the benchmark: cases, directory, size, rounds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cases::Case;
use super::judging::Attempt;
use super::judging::words::{choose, number, text};

/// Options of the command line.
pub(crate) struct Options {
    /// Parent of the directory for the data.
    pub(crate) dir: PathBuf,
    /// The size of the text in bytes.
    pub(crate) size: u64,
    /// The number of files of the largest tree.
    pub(crate) files: usize,
    /// A text of the user's own.
    pub(crate) text: Option<PathBuf>,
    /// A source tree of the user's own.
    pub(crate) tree: Option<PathBuf>,
    /// A literal on few lines.
    pub(crate) literal: String,
    /// A literal on many lines.
    pub(crate) common: String,
    /// Directories searched for peers before `PATH`.
    pub(crate) peers: Vec<PathBuf>,
    /// Measured rounds of each comparison.
    pub(crate) rounds: usize,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
    /// File for the findings as Markdown, if any.
    pub(crate) markdown: Option<PathBuf>,
    /// The program to test, if it should not be built.
    pub(crate) binary: Option<PathBuf>,
    /// Seed of the data and of the order of the commands in each round.
    pub(crate) seed: u64,
}

/// A run, or a text to print.
pub(crate) enum Request {
    Run(Box<Options>),
    Say(String),
}

const HELP: &str = "\
Compares fullbore's tools with wc, cat, rg, cmp, cp, b3sum, sha256sum, fclones.

    cargo bench -p fullbore-bench --bench tools -- [OPTIONS]

  --dir DIR        make the data in a new directory here [the current directory]
  --size SIZE      size of the text; files of the memory cases are ten times that [1GB]
  --files N        files of the largest tree; the others have two fifths of that [50000]
  --text FILE      count, search, copy and hash this text instead of a generated one
  --tree DIR       search this source tree instead of a generated one
  --literal WORD   literal on few lines [a name on one line in 1000 of the generated text]
  --common WORD    literal on many lines [\"that \"]
  --peers DIR      search this directory for peers before PATH (may be repeated)
  --rounds N       measured rounds of each comparison [15]
  --only PATTERN   only cases whose names contain PATTERN (several: separate by commas); a name in full is that
                   case alone
  --list           print the names of the cases
  --markdown FILE  also write the findings to FILE
  --binary FILE    test this program instead of building the release binary
  --seed N         the data and the order of the commands in the rounds [the time]

Reflinks are measured in DIR or in a directory of FULLBORE_TEST_DIRS that supports them; scripts/file-systems makes some.

Exit status: 0 every bound was kept, 1 one was not, 2 error, 130 interrupted (143 by SIGTERM).";

impl Options {
    /// True if the case called `name` is selected.
    pub(crate) fn wants(&self, cases: &[Case], name: &str) -> bool {
        choose(&self.only, cases.iter().map(|case| case.name), name)
    }
}

/// Parses the command line.
pub(crate) fn parse(words: Vec<OsString>, cases: &[Case]) -> Attempt<Request> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos() as u64);
    let mut options = Options {
        dir: PathBuf::from("."),
        size: 1_000_000_000,
        files: 50_000,
        text: None,
        tree: None,
        literal: super::text::RARE.into(),
        common: "that ".into(),
        peers: Vec::new(),
        rounds: 15,
        only: Vec::new(),
        markdown: None,
        binary: None,
        seed: now,
    };
    let mut as_bench = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let word = text(word)?;
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value; try --help"));
        match word.as_str() {
            "--bench" => as_bench = true,
            "--help" | "-h" => return Ok(Request::Say(HELP.into())),
            "--list" => {
                let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
                return Ok(Request::Say(names.join("\n")));
            }
            "--dir" => options.dir = value()?.into(),
            "--text" => options.text = Some(there(&word, value()?)?),
            "--tree" => options.tree = Some(there(&word, value()?)?),
            "--peers" => options.peers.push(there(&word, value()?)?),
            "--literal" => options.literal = text(value()?)?,
            "--common" => options.common = text(value()?)?,
            "--markdown" => options.markdown = Some(value()?.into()),
            "--binary" => options.binary = Some(value()?.into()),
            "--size" => options.size = fullbore::size::parse(&text(value()?)?)?,
            "--files" => options.files = number("--files", &text(value()?)?)?.clamp(100, 90_000) as usize,
            "--rounds" => options.rounds = number("--rounds", &text(value()?)?)?.clamp(1, 10_000) as usize,
            "--seed" => options.seed = number("--seed", &text(value()?)?)?,
            "--only" => options.only.extend(text(value()?)?.split(',').map(|name| name.trim().to_owned())),
            _ => return Err(format!("{word}: unknown option; try --help").into()),
        }
    }
    if let Some(text) = &options.text {
        options.size = std::fs::metadata(text)?.len();
    }
    if options.size < 1 << 20 {
        return Err("less than 1 MiB of text measures only start-up: use a larger size".into());
    }
    if !as_bench {
        // `cargo test --all-targets` starts benchmarks too, without --bench.
        return Ok(Request::Say(
            "tools measures only under cargo bench (or with --bench); try --help".into(),
        ));
    }
    Ok(Request::Run(Box::new(options)))
}

/// A path that exists, made absolute: commands run in other directories.
fn there(option: &str, word: OsString) -> Attempt<PathBuf> {
    let path = PathBuf::from(word);
    path.canonicalize().map_err(|error| format!("{option} {}: {error}", path.display()).into())
}
