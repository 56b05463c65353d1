//! The results document: everything that one run measured, with raw samples, as versioned JSON.
//!
//! `docs/results-schema.md` describes every field. All times are seconds, all sizes bytes, all rates bytes per second;
//! a megabyte (MB) is 10^6 bytes.

mod advice;
mod counted;
mod environment;
mod findings;
mod json;
mod labels;
mod printable;
mod regime;
mod results;
mod sample;
mod series;
mod summary;
mod terms;
mod warning;

pub use advice::{Advice, Confidence, JobKind, RateUnit, Recommendation, Rule, RuleVerdict};
pub use environment::{Audit, Device, EngineFact, Environment, FileSystem};
pub use findings::{
    CellPrediction, Choice, Findings, Limit, Peak, PeerRatio, Pipeline, Regret, Roof, RunnerUp, Saturation,
    SaturationStep, SeriesCost, SeriesHalfPower, SeriesRef, SeriesRequestTime, Stage,
};
pub(crate) use json::MOST_CELLS;
pub use json::{DOCUMENT, Error, LIMIT, document_file, read_document_text};
pub use labels::{CacheState, Labels};
pub(crate) use labels::{Disks, Headline, is_ordinary, page_size};
pub use regime::{Burst, DeviceCredit, DeviceLimit, DeviceVariation, Regime, Slices, SteadyPart};
pub use results::{Document, MINOR, Run, SCHEMA, VERSION, rfc3339};
pub use sample::{Latency, Phases, Proof, Sample};
pub use series::{Axis, EarlierFinding, Experiment, Figure, Series, experiments, series};
pub use summary::{Cell, CpuCost, Summary, SummaryOptions, summarise};
pub(crate) use terms::word;
pub use terms::{AccessMethod, Allocation, FileState, Operation, Order};
pub use warning::{StopReason, Warning};
