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

use crate::finding::Bound;
use crate::harness::command::CommandLine;
use crate::harness::commands::Case;
use crate::harness::data::Data;
use crate::race::{Figure, Race};
use crate::{Attempt, Bench, states, tree};

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
