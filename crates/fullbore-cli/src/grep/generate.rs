//! `--generate`: the manual page and shell completions.

use clap_complete::Shell;

use crate::cli::Cli;
use crate::exit::{Exit, program};

/// The generated document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generated {
    Man,
    Completions(Shell),
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
    pub(crate) fn print(self) -> Result<(), Exit> {
        let (mut whole, name, mut text) = (Cli::flags(), program(""), Vec::new());
        whole.build();
        let grep = whole.find_subcommand("grep").cloned().unwrap_or_default();
        let as_rg = name == "rg";
        let grep = if as_rg { grep.name("rg").display_name("rg").bin_name("rg") } else { grep };
        match self {
            Self::Man => clap_mangen::Man::new(grep).render(&mut text).map_err(Exit::failure)?,
            Self::Completions(shell) if as_rg => {
                clap_complete::generate(shell, &mut { grep }, "rg", &mut text)
            }
            Self::Completions(shell) => {
                clap_complete::generate(shell, &mut Cli::flags(), "fullbore", &mut text)
            }
        }
        Exit::print(&text)
    }
}
