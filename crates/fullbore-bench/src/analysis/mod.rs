//! Analysis of a run's cells: findings, choices and comparisons with peers.

mod choices;
mod credit;
mod findings;
mod peers;
mod regret;
mod rounds;
mod saturation;
mod variation;

pub(crate) use choices::candidates;
pub use choices::choices;
pub use findings::findings;
pub use peers::peers;
pub use regret::regrets;
pub(crate) use variation::variations;
