//! Analysis of a run's cells: findings, choices and comparisons with peers.

mod devices;
mod findings;
mod rounds;

pub(crate) use devices::variations;
pub(crate) use findings::candidates;
pub use findings::{choices, findings};
pub use rounds::{peers, regrets};
