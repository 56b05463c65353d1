//! The subcommands, one file each.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod generate;
pub(crate) mod man;
pub(crate) mod probe;
pub(crate) mod profile;
pub(crate) mod run;
pub(crate) mod transform;
#[allow(dead_code, reason = "the tools are being moved onto it")]
pub(crate) mod ways;
