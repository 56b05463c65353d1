//! The terminal's views of a run: a summary of one page, and all findings.

mod full;
mod summary;

pub use full::{TableOptions, render};
pub use summary::summary;
