//! Documents generated from the flags: shell completions and manual pages.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use fullbore_cli::values::names;

use crate::exit::{Exit, program};

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_parser = names::<Shell>())]
    shell: Shell,
}

/// Write the manual pages into a directory
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// An existing directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// A document that `grep --generate` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generated {
    Man,
    Completions(Shell),
}

impl Completions {
    pub(crate) fn run(self, mut flags: Command) -> Result<(), Exit> {
        let mut text = Vec::new();
        generate(self.shell, &mut flags, "fullbore", &mut text);
        Exit::print(&text)
    }
}

impl Man {
    pub(crate) fn run(self, flags: Command) -> Result<(), Exit> {
        let mut flags = flags.disable_help_subcommand(true);
        flags.build();
        write_pages(&flags, &self.directory)
    }
}

/// Writes the manual pages of a command and of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> Result<(), Exit> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_pages(inner, directory)?;
    }
    let (page, mut text) = (page(command.clone()), Vec::new());
    page.render(&mut text)
        .map_err(|error| Exit::failure(format!("cannot write the manual pages: {error}")))?;
    Ok(fullbore::file::write(directory.join(page.get_filename()), &text)?)
}

/// Returns a manual page, whose source is the program also for a subcommand.
fn page(command: Command) -> clap_mangen::Man {
    clap_mangen::Man::new(command).source(concat!("fullbore ", env!("CARGO_PKG_VERSION")))
}

impl Generated {
    /// Returns the document with ripgrep's `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "man" => Self::Man,
            "complete-bash" => Self::Completions(Shell::Bash),
            "complete-zsh" => Self::Completions(Shell::Zsh),
            "complete-fish" => Self::Completions(Shell::Fish),
            "complete-powershell" => Self::Completions(Shell::PowerShell),
            _ => return None,
        })
    }

    /// Prints the document. Completions are for the name under which the program was called: a shell completes
    /// `fullbore` as a whole.
    pub(crate) fn print(self, mut flags: Command) -> Result<(), Exit> {
        let as_rg = program("") == "rg";
        let shell = match self {
            Self::Completions(shell) if !as_rg => return Completions { shell }.run(flags),
            Self::Completions(shell) => Some(shell),
            Self::Man => None,
        };
        flags.build();
        let grep = flags.find_subcommand("grep").cloned().unwrap_or_default();
        let mut grep = if as_rg { grep.name("rg").display_name("rg").bin_name("rg") } else { grep };
        let mut text = Vec::new();
        match shell {
            Some(shell) => generate(shell, &mut grep, "rg", &mut text),
            None => page(grep).render(&mut text).map_err(Exit::failure)?,
        }
        Exit::print(&text)
    }
}
