//! Analysis of a run's cells: findings, choices and comparisons with peers.

mod devices;
mod findings;
mod regimes;
mod rounds;

pub(crate) use devices::{credits, variations};
pub(crate) use findings::candidates;
pub use findings::{choices, findings};
pub(crate) use regimes::{regime_by_credit, withdraw};
pub use rounds::{peers, regrets};
