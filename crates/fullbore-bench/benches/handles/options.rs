//! Options of the benchmark: cases, directory, rounds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::case::Case;
use super::judging::Attempt;
use super::judging::words::{choose, number, text};

/// Options of the command line.
pub(crate) struct Options {
    /// Parent of the directory for the files.
    pub(crate) dir: PathBuf,
    /// Rounds of each case.
    pub(crate) rounds: usize,
    /// Only cases whose names contain one of these.
    only: Vec<String>,
    /// File for the findings as Markdown, if any.
    pub(crate) markdown: Option<PathBuf>,
    /// True if system calls are counted.
    pub(crate) calls: bool,
    /// Seed of the order of the contenders in each round.
    pub(crate) seed: u64,
}

/// A run, or a text to print.
pub(crate) enum Request {
    Run(Options),
    Say(String),
}

const HELP: &str = "\
Compares fullbore's file handles with std, the raw system calls, tokio::fs and compio: the cases of
dotnet/performance's FileStream, RandomAccess and File benchmarks, all contenders in one process.

    cargo bench -p fullbore-bench --bench handles -- [OPTIONS]

  --dir DIR        make the files in a new directory here [the current directory]
  --rounds N       rounds of each case; in each, every contender works for 1 ms or one operation [61]
  --only PATTERN   only cases whose names contain PATTERN (several: separate by commas); a name in full is that
                   case alone
  --list           print the names of the cases
  --no-calls       do not count system calls (counting needs strace)
  --markdown FILE  also write the findings to FILE
  --seed N         the order of the contenders in the rounds [the time]

Exit status: 0 every bound was kept, 1 one was not, 2 error, 130 interrupted (143 by SIGTERM).";

impl Options {
    /// True if the case called `name` is selected.
    pub(crate) fn wants(&self, cases: &[Case], name: &str) -> bool {
        choose(&self.only, cases.iter().map(|case| case.name.as_str()), name)
    }
}

/// Parses the command line.
pub(crate) fn parse(words: Vec<OsString>, cases: &[Case]) -> Attempt<Request> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos() as u64);
    let mut options = Options {
        dir: PathBuf::from("."),
        rounds: 61,
        only: Vec::new(),
        markdown: None,
        calls: true,
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
                let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
                return Ok(Request::Say(names.join("\n")));
            }
            "--no-calls" => options.calls = false,
            "--dir" => options.dir = value()?.into(),
            "--markdown" => options.markdown = Some(value()?.into()),
            "--rounds" => options.rounds = number("--rounds", &text(value()?)?)?.clamp(1, 10_000) as usize,
            "--seed" => options.seed = number("--seed", &text(value()?)?)?,
            "--only" => options.only.extend(text(value()?)?.split(',').map(|name| name.trim().to_owned())),
            _ => return Err(format!("{word}: unknown option; try --help").into()),
        }
    }
    if !as_bench {
        // `cargo test --all-targets` starts benchmarks too, without --bench.
        return Ok(Request::Say(
            "handles measures only under cargo bench (or with --bench); try --help".into(),
        ));
    }
    Ok(Request::Run(options))
}
