//! Analysis of a run's cells: findings, choices and comparisons with peers.

mod choices;
mod devices;
mod findings;
mod rounds;

pub(crate) use choices::candidates;
pub use choices::choices;
pub(crate) use devices::variations;
pub use findings::findings;
pub use rounds::{peers, regrets};
