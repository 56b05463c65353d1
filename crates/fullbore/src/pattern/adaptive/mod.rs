//! Adaptive runs: contenders are tried on parts of a file, in turn, and the run continues with the fastest.
//!
//! A file has up to two regions, the parts in the page cache and the others, each with contenders of its own. A region
//! is distributed to the workers in leases. While contenders are tried, a slice of several leases goes to one of them, in an
//! order that alternates from round to round, so that a trend favors none. A contender gets a slice if it is expected to save
//! more time than it costs (`belief`). Later the rate of the chosen strategy is compared with the expected one, and where it
//! leaves that band the trial is repeated.

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
pub(super) use parts::{Place, Terms};
pub(super) use trials::Trials;
