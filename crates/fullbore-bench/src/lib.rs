//! The meter: trials, experiments as data, statistics, results documents and their report.
#![forbid(unsafe_code)]
