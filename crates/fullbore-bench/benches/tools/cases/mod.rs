//! The cases: the bounds of each tool, from the page cache and from the device, peak memory, and `auto` beside fixed strategies.

mod copy;
mod memory;
mod reading;
mod strategies;

use super::harness::commands::Case;

pub(crate) fn all() -> Vec<Case> {
    [reading::CACHED, copy::CASES, reading::HASHED, reading::COLD, memory::CASES, strategies::CASES].concat()
}
