//! `fullbore man`: manual pages generated from the flags.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Cli;
use crate::exit::Exit;

/// Write the manual pages into a directory
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// An existing directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Exit> {
        clap_mangen::generate_to(Cli::flags(), &self.directory).map_err(|error| {
            Exit::failure(format!("{}: cannot write the manual pages: {error}", self.directory.display()))
        })
    }
}
