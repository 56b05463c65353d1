//! The meter: trials, experiments as data, statistics, results documents and their report.
#![forbid(unsafe_code)]

pub mod csv;
pub mod document;
pub mod report;
pub mod stats;
pub mod table;

pub(crate) mod units;
