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
pub use self::{
    choose::{Decision, choose},
    contender::{Contender, Contenders},
    evidence::{Alternative, Evidence, Reason, Serial, Unallocated},
    fields::{Allocation, BUDGET, Completion, Model, Strategy},
    figure::{Circumstances, LearnedFigure},
    job::{InputState, ProfileJob},
    learned::Learned,
    plan::Planner,
    plan_input::{ADAPTIVE, PlanInput, Purpose, SMALL, Target, Units},
    profile::{FileSystem, MeasuredStrategy, ProfileEntry, key},
    selection::RunStrategy,
    spec::{DEEPEST, LARGEST_REQUEST, NAMED, Named, WORKER_LIMIT},
};
pub(crate) use contender::{Tried, text};
pub(crate) use contenders::neighbours;
pub(crate) use fit::parts_of_blocks;
pub use plan::Plan;
pub(crate) use plan_input::{MIXED, MOST_WORKERS, reads_alike, registered};
pub(crate) use profile::LazyProfile;
pub use profile::Profile;
pub use selection::Selection;
pub(crate) use selection::{Adaptive, NEVER, Selections};
pub(crate) use spec::LEAST_BUDGET;
pub use spec::StrategySpec;
