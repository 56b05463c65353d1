//! Comparison of two inputs: equality, the first difference, or every difference in order.
//!
//! Two files are striped over the workers from the front. The smallest differing offset is the result, and workers cancel
//! all work after it. Holes common to both files are not read. Inputs without offsets (pipes, devices) are read
//! sequentially, by one reader per side.

mod flow;
mod pair;
mod result;
#[cfg(test)]
mod tests;
mod visit;
mod walk;

pub use pair::{compare, differences};
pub use result::{CompareOptions, Comparison, Difference, Differences, End, Side, Which};
