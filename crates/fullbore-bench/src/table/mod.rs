//! The terminal's views of a run: a summary of one page, and all findings.

mod full;
mod options;
mod summary;

pub use full::render;
pub use options::TableOptions;
pub use summary::summary;
