//! `fullbore grep`: prints matching lines as `rg` does.

use std::ffi::OsString;

use clap::Args;

use super::common_args::CommonArgs;
use crate::exit::Exit;
use crate::grep::args::GrepArgs;

/// Print lines that match a pattern, as rg does; large files are searched by all workers
#[derive(Debug, Args)]
#[command(
    after_help = "Without a path, standard input is searched if it is a file or a pipe, otherwise the current directory.\n\
                        Most flags can be negated with --no- before their name. Exit status: 0 a match was found, \
                        1 no match, 2 error, 3 an input changed while it was read."
)]
pub(crate) struct Grep {
    /// Pattern, unless -e or -f gives one, then files and directories; - is standard input
    #[arg(value_name = "PATTERN|PATH")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    args: GrepArgs,

    #[command(flatten)]
    common: CommonArgs,
}

impl Grep {
    pub(crate) fn run(self) -> Result<(), Exit> {
        crate::grep::run(self.args, self.arguments, self.common)
    }
}
