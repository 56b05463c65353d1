//! The cases: the bounds of each tool, from the page cache and from the device, peak memory, `auto` beside fixed strategies,
//! and the meter's loop.

mod copy;
mod memory;
mod meter;
mod process;
mod reading;
mod strategies;
mod transform;

use std::path::{Path, PathBuf};

use crate::command::CommandLine;
use crate::commands::{Bench, Case};
use crate::data::Data;
use crate::harness::Attempt;
use crate::harness::finding::Bound;
use crate::race::{Figure, Race};
use crate::{states, tree};

/// Bound of a tool's peak memory in MiB: the budget for buffers, and 16 MiB for all else.
const MEMORY: Bound = Bound::AtMost(80.0);

pub(crate) fn all() -> Vec<Case> {
    [
        reading::CACHED,
        copy::CASES,
        reading::HASHED,
        reading::COLD,
        memory::CASES,
        strategies::CASES,
        process::CASES,
        transform::CASES,
        meter::CASES,
    ]
    .concat()
}
