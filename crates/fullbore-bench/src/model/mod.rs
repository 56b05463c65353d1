//! A model of the machine, fitted to measured cells: throughput of requests that were not measured, here or after a
//! change of the machine. docs/model.md derives it.
//!
//! The model is the pipeline of Riedel, van Ingen and Gray (section 1): stages in series, each with a time per request,
//! a bandwidth and a parallelism. The narrowest stage limits the throughput; below saturation, the throughput follows
//! from the requests in flight by Little's law.

mod fit;
mod law;
mod leave_out;
mod machine;
mod numerics;
#[cfg(test)]
mod paper;
mod path;
mod query;

pub use crate::document::Limit;
pub use leave_out::{Validation, predictions, validate};
pub use machine::{Model, Prediction};
pub use query::{DeviceLimits, Query, QueryError};
