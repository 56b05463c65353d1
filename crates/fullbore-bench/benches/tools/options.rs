//! The options of the benchmark of whole commands.

use std::path::PathBuf;

use clap::Parser;

use super::harness::options::{CommonOptions, EXIT_STATUS, within};

const NOTES: &str = "Reflinks are measured in DIR or in a directory of FULLBORE_TEST_DIRS that supports them; scripts/file-systems makes \
     some.\n\n";

/// Compares fullbore's tools with wc, cat, rg, cmp, cp, dd, b3sum, sha256sum, fclones, and with their own strategies, and the meter with fio.
#[derive(Debug, Clone, Parser)]
#[command(bin_name = "cargo bench -p fullbore-bench --bench tools --", args_override_self = true)]
#[command(after_help = [NOTES, EXIT_STATUS].concat())]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// Size of the data; six times that must be free
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = fullbore::size::parse)]
    pub(crate) size: u64,
    /// Search this directory for peers before PATH (may be repeated)
    #[arg(long, value_name = "DIR", value_parser = existing)]
    pub(crate) peers: Vec<PathBuf>,
    /// Test this program instead of building the release binary
    #[arg(long, value_name = "FILE")]
    pub(crate) binary: Option<PathBuf>,
    /// Files of the largest tree; the others have two fifths of that
    #[arg(long, value_name = "N", default_value = "50000", value_parser = within::<100, 90_000>)]
    pub(crate) files: usize,
    /// Count, search, copy and hash this text instead of a generated one
    #[arg(long, value_name = "FILE", value_parser = existing)]
    pub(crate) text: Option<PathBuf>,
    /// Search this source tree instead of a generated one
    #[arg(long, value_name = "DIR", value_parser = existing)]
    pub(crate) tree: Option<PathBuf>,
    /// Literal on few lines; the default is on one line in 1000 of the generated text
    #[arg(long, value_name = "WORD", default_value = super::text::RARE)]
    pub(crate) literal: String,
    /// Literal on many lines
    #[arg(long = "common", value_name = "WORD", default_value = "that ")]
    pub(crate) frequent: String,
}

/// A path that exists, made absolute: commands run in other directories.
fn existing(text: &str) -> std::io::Result<PathBuf> {
    PathBuf::from(text).canonicalize()
}
