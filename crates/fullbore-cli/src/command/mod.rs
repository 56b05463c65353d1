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
