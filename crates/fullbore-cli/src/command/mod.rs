//! The subcommands, one module each.

pub(crate) mod bench;
pub(crate) mod cmp;
pub(crate) mod copy;
pub(crate) mod dedupe;
pub(crate) mod documents;
pub(crate) mod generate;
pub(crate) mod grep;
pub(crate) mod predict;
pub(crate) mod probe;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sum;
pub(crate) mod transform;
mod walk;
pub(crate) mod wc;

use serde::Serialize;

use crate::exit::Exit;

/// Prints a value as indented JSON.
fn print_json(value: &impl Serialize) -> Result<(), Exit> {
    let text = serde_json::to_string_pretty(value).map_err(Exit::failure)?;
    Exit::print(&(text + "\n"))
}

/// A list in the text of `--help`: names in a column of this width, and their descriptions beside them, broken at 80 columns.
fn help_list<'a>(width: usize, entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, description) in entries {
        let mut line = format!("  {name:<width$}");
        for word in description.split(' ') {
            if line.len() + 1 + word.len() > 80 {
                text += &(line + "\n");
                line = format!("  {:width$}", "");
            }
            line = line + " " + word;
        }
        text += &(line + "\n");
    }
    text
}
