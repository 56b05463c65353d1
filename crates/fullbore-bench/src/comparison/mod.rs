//! Comparison of results documents: each cell with the same cell of a baseline, with a ratio, its interval and a verdict.
//!
//! Documents are compared only if no recorded difference of their environments could alone explain a difference in
//! speed, or if the caller allows the difference. Samples of a run contain its noise; the difference between two runs of
//! the same thing on the same machine (file layout, another guest, a warm drive) is in no interval: see `docs/report.md`.

mod cell;
mod change;
mod compare;
mod compared_run;
mod condition;
mod condition_result;
mod csv;
mod devices;
mod difference;
mod environment;
mod error;
mod family;
mod glob;
mod json;
mod options;
mod page;
mod pairs;
mod svg;
mod table;
mod text;
mod words;

pub use cell::CellChange;
pub use change::{Change, FEWEST_SAMPLES, Judgement, Measure};
pub use compare::{Comparison, compare};
pub use compared_run::{ComparedRun, Origin, Unmatched, VerdictCounts};
pub use condition::{Condition, parse_share};
pub use condition_result::ConditionResult;
pub use csv::{COLUMNS, csv};
pub use difference::{Aspect, Difference, Differences};
pub use environment::differences;
pub use error::Error;
pub use glob::Glob;
pub use json::{SCHEMA, VERSION, json};
pub use options::{Options, Source};
pub use page::{html, markdown};
pub use pairs::Matched;
pub use table::render;
