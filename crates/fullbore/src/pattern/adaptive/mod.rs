//! Adaptive runs: contenders are tried in turn on parts of a file, and the run continues with the fastest.
//!
//! A file has up to two regions, the parts in the page cache and the others, each with contenders of its own. A region
//! is distributed to the workers in leases. During a trial, each contender in turn gets a slice of several leases. The order
//! alternates from round to round, so that a trend favours none. A contender gets a slice if it is expected to save more time
//! than the slice costs (`belief`). Later the rate of the chosen strategy is compared with the expected rate; if the two
//! differ too much, the trial is repeated.

mod belief;
mod engines;
mod extents;
mod lease;
mod leases;
mod parts;
mod region;
#[cfg(test)]
mod tests;
mod trials;

pub(super) use engines::Engines;
pub(super) use extents::LeaseExtents;
pub(super) use lease::Spent;
pub(super) use leases::Leases;
pub(super) use parts::{RunInput, Terms};
pub(super) use trials::Trials;
