//! Actions: the work of trials. Each action has one file and one line in the registry.
//!
//! An action is data in an experiment's grid and a [`Workload`] here, which states its needs, prepares itself, and does
//! the work that [`sample`](crate::sample) times and proves.

mod access;
mod append;
mod command;
mod concurrent;
mod device_limits;
mod devices;
mod interface;
mod latency;
mod limit_search;
mod memory;
mod one_way;
mod phases;
mod registry;
mod requested_strategy;
mod reread;
mod settings;
mod streams;
mod striped;
mod sustained;
mod transform;
mod whole_file;
mod workload;

pub(crate) use device_limits::DeviceLimits;
pub(crate) use limit_search::{SteadyPace, ramp_up_without_cache, steady_pace};
pub(crate) use one_way::read_until;
pub(crate) use registry::ACTIONS;
pub(crate) use settings::Settings;
pub(crate) use workload::{
    Contender, CoveredRange, DeviceIo, ExpectedState, Iteration, Ramp, RunContext, RunResult, Workload,
};
