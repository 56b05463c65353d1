//! Strategies: everything that affects the speed of a run, and nothing that affects its result.
#![forbid(unsafe_code)]

mod choose;
mod contender;
mod contenders;
mod evidence;
mod fields;
mod figure;
mod fit;
mod job;
mod learned;
mod plan;
mod plan_input;
mod plan_text;
mod profile;
mod selection;
mod spec;

#[doc(hidden)]
pub use choose::{Decision, choose};
#[doc(hidden)]
pub use contender::{Contender, Contenders};
pub(crate) use contender::{Tried, text};
pub(crate) use contenders::neighbours;
#[doc(hidden)]
pub use evidence::{Alternative, Evidence, Reason, Serial};
#[doc(hidden)]
pub use fields::{Allocation, BUDGET, Completion, Model, Strategy};
#[doc(hidden)]
pub use figure::{Circumstances, Figure};
pub(crate) use fit::parts_of_blocks;
#[doc(hidden)]
pub use job::{CacheState, ProfileJob};
#[doc(hidden)]
pub use learned::Learned;
pub use plan::Plan;
#[doc(hidden)]
pub use plan::Planner;
#[doc(hidden)]
pub use plan_input::{ADAPTIVE, PlanInput, Purpose, Target, Units};
pub(crate) use plan_input::{MIXED, SMALL, reads_alike};
pub use profile::Profile;
#[doc(hidden)]
pub use profile::{Entry, FileSystem, Measured, key};
#[doc(hidden)]
pub use selection::RunStrategy;
pub use selection::Selection;
pub(crate) use selection::{Adaptive, Selections};
pub(crate) use spec::LEAST_BUDGET;
pub use spec::StrategySpec;
#[doc(hidden)]
pub use spec::{NAMED, Named};
