//! The cases: the bounds of each tool, from the page cache and from the device, peak memory, `auto` beside fixed strategies,
//! and the meter's loop.

mod copy;
mod memory;
mod meter;
mod process;
mod reading;
mod strategies;
mod transform;

use super::harness::commands::Case;

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
