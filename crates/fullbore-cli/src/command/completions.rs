//! `fullbore completions`: shell completions generated from the flags.

use clap::Args;
use clap_complete::Shell;
use fullbore_cli::values::names;

use crate::cli::Cli;
use crate::exit::Exit;

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = names::<Shell>())]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::flags(), "fullbore", &mut text);
        Exit::print(&text)
    }
}
