//! The meter: trials, experiments as data, statistics, results documents and their report.
#![forbid(unsafe_code)]

mod action;
pub mod advice;
pub mod analysis;
mod audit;
mod block;
mod cgroup;
mod child;
mod clock;
mod comparable;
pub mod comparison;
pub mod csv;
pub mod document;
pub mod experiment;
pub mod fio;
mod grouping;
mod host;
pub mod model;
mod pipeline;
mod recorder;
pub mod report;
mod runner;
mod sample;
mod simplicity;
pub mod stats;
pub mod table;
mod test_files;

pub(crate) mod units;

pub use child::stop_children;
pub use runner::{Event, Measured, Options, RunProgress, run};
