//! The cases: the bounds of each tool, from the page cache and from the device, and peak memory.

mod copy;
mod memory;
mod reading;

use super::harness::commands::Case;

pub(crate) fn all() -> Vec<Case> {
    [reading::CACHED, copy::CASES, reading::HASHED, reading::COLD, memory::CASES].concat()
}
