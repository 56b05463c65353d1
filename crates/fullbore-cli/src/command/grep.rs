//! `fullbore grep`: the lines that match, as `rg` prints them.

use std::ffi::OsString;

use clap::Args;

use super::common_args::CommonArgs;
use crate::exit::Exit;
use crate::grep::args::GrepArgs;

/// Print lines that match a pattern, as rg does, with every file searched by all workers
#[derive(Debug, Args)]
#[command(
    after_help = "Without a path, standard input is searched if it is a file or a pipe, or else the current directory.\n\
                        Most flags can be taken back with --no- before their name. Exit status: 0 there is a match, \
                        1 there is none, 2 trouble."
)]
pub(crate) struct Grep {
    /// The pattern, unless -e or -f gives one, and files and directories; - is standard input
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
