//! The options of the benchmarks.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

/// The exit status, for the end of the help.
pub(crate) const EXIT_STATUS: &str =
    "Exit status: 0 every bound was kept, 1 one was not, 2 error, 130 interrupted (143 by SIGTERM).";

#[derive(Debug, Clone, Args)]
pub(crate) struct CommonOptions {
    /// Make the files in a new directory here
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Measured rounds of each case
    #[arg(long, value_name = "N", default_value = "15", value_parser = within::<1, 10_000>)]
    pub(crate) rounds: usize,
    /// Run only the cases whose names contain PATTERN (several: separate by commas); a full name selects that case alone
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Print the names of the cases
    #[arg(long)]
    pub(crate) list: bool,
    /// Also write the findings to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Seed of the data and of the order of the contenders in the rounds [default: the time]
    #[arg(long, value_name = "N", default_value_t = now(), hide_default_value = true)]
    pub(crate) seed: u64,
    /// Set by `cargo bench`.
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
}

impl CommonOptions {
    /// True if `--only` selects `name` among `names`.
    pub(crate) fn selects<'n>(&self, names: impl Iterator<Item = &'n str> + Clone, name: &str) -> bool {
        let fits = |pattern: &str| match names.clone().any(|exact| exact == pattern) {
            true => name == pattern,
            false => name.contains(pattern),
        };
        self.only.is_empty() || self.only.iter().any(|pattern| fits(pattern.trim()))
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos() as u64)
}

pub(crate) fn within<const LEAST: usize, const MOST: usize>(text: &str) -> Result<usize, ParseIntError> {
    text.parse().map(|number: usize| number.clamp(LEAST, MOST))
}
