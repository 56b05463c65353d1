//! Options of the benchmark: comparisons, directory, size, rounds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Attempt;
use super::judging::words::{choose, number, text};

/// Options of the command line.
pub(crate) struct Options {
    /// Parent of the directory for the data files.
    pub(crate) dir: PathBuf,
    /// The size of the data file in bytes.
    pub(crate) size: u64,
    /// Measured rounds of each comparison.
    pub(crate) rounds: usize,
    /// Only comparisons whose names contain one of these.
    only: Vec<String>,
    /// File for the findings as Markdown, if any.
    pub(crate) markdown: Option<PathBuf>,
    /// The program to test, if it should not be built.
    pub(crate) binary: Option<PathBuf>,
    /// Seed of the order of the commands in each round.
    pub(crate) seed: u64,
}

/// A run, or a text to print.
pub(crate) enum Request {
    Run(Options),
    Say(String),
}

const HELP: &str = "\
Compares fullbore with dd, cp, fio and its own strategies.

    cargo bench -p fullbore-bench --bench peers -- [OPTIONS]

  --dir DIR        make the data files in a new directory here [the current directory]
  --size SIZE      size of the data file; five times that must be free [1GB]
  --rounds N       measured rounds of each comparison [15]
  --only PATTERN   only comparisons whose names contain PATTERN (several: separate by commas): start-up, memory,
                   overwrite, new-file, reading, meter, strategies-{warm,cold}-{overwrite,new-file,reading};
                   a name in full is that comparison alone
  --markdown FILE  also write the findings to FILE
  --binary FILE    test this program instead of building the release binary
  --seed N         the order of the commands in the rounds [the time]

Exit status: 0 every bound was kept, 1 one was not, 2 error, 130 interrupted (143 by SIGTERM).";

impl Options {
    /// True if the comparison called `name` is selected.
    pub(crate) fn wants(&self, name: &str) -> bool {
        choose(&self.only, super::COMPARISONS.iter().map(|(name, ..)| *name), name)
    }
}

/// Parses the command line.
pub(crate) fn parse(words: Vec<OsString>) -> Attempt<Request> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos() as u64);
    let mut options = Options {
        dir: PathBuf::from("."),
        size: 1_000_000_000,
        rounds: 15,
        only: Vec::new(),
        markdown: None,
        binary: None,
        seed: now,
    };
    let mut as_bench = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let word =
            word.into_string().map_err(|word| format!("{}: unknown option; try --help", word.display()))?;
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value; try --help"));
        match word.as_str() {
            "--bench" => as_bench = true,
            "--help" | "-h" => return Ok(Request::Say(HELP.into())),
            "--dir" => options.dir = value()?.into(),
            "--markdown" => options.markdown = Some(value()?.into()),
            "--binary" => options.binary = Some(value()?.into()),
            "--size" => options.size = fullbore::size::parse(&text(value()?)?)?,
            "--rounds" => options.rounds = number("--rounds", &text(value()?)?)?.clamp(1, 10_000) as usize,
            "--seed" => options.seed = number("--seed", &text(value()?)?)?,
            "--only" => options.only.extend(text(value()?)?.split(',').map(|name| name.trim().to_owned())),
            _ => return Err(format!("{word}: unknown option; try --help").into()),
        }
    }
    if options.size < 1 << 20 {
        return Err("--size: less than 1 MiB measures only start-up: use a larger size".into());
    }
    if !as_bench {
        // `cargo test --all-targets` starts benchmarks too, without --bench.
        return Ok(Request::Say(
            "peers measures only under cargo bench (or with --bench); try --help".into(),
        ));
    }
    Ok(Request::Run(options))
}
