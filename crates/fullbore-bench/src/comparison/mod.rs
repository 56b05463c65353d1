//! Comparison of results documents: each cell with the same cell of a baseline, with a ratio, its interval and a verdict.
//!
//! Documents are compared only if no recorded difference of their environments could alone explain a difference in speed,
//! or if the caller allows the difference. The samples of a run show only the noise within the run. Two runs of the same
//! thing on the same machine also differ for other reasons (file layout, another guest, a warm drive), which no interval
//! covers: see `docs/report.md`.

mod change;
mod compare;
mod compared_run;
mod difference;
mod environment;
mod export;
mod options;
mod page;
mod table;
mod words;

pub use change::{Change, FEWEST_SAMPLES, Judgement, Measure};
pub use compare::{ConditionResult, RunComparison, compare};
pub use compared_run::{CellChange, ComparedRun, Matched, Origin, Unmatched, VerdictCounts};
pub use difference::{Aspect, Difference, Differences, Error};
pub use environment::differences;
pub use export::{COLUMNS, Column, SCHEMA, VERSION, csv, json};
pub use options::{Condition, Glob, Options, Source, parse_share};
pub use page::{html, markdown};
pub use table::render;
