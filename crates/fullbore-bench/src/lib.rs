//! The meter: trials, experiments as data, statistics, results documents and their report.
#![forbid(unsafe_code)]

mod audit;
mod bed;
pub mod comparison;
pub mod csv;
pub mod document;
pub mod experiment;
pub mod report;
mod runner;
mod sample;
mod saved;
pub mod stats;
mod surroundings;
pub mod table;

pub(crate) mod units;

pub use runner::{Measured, Options, Progress, run};
