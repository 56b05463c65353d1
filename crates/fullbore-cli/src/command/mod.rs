//! The subcommands, one file each.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod generate;
pub(crate) mod grep;
pub(crate) mod man;
pub(crate) mod probe;
pub(crate) mod profile;
pub(crate) mod run;
pub(crate) mod transform;

// What the tools have in common.
#[allow(unused_imports, reason = "the tools are being moved onto it")]
pub(crate) use fullbore_cli::ways;
