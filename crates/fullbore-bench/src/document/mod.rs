//! The results document: everything that one run measured, with raw samples, as versioned JSON.
//!
//! `docs/results-schema.md` describes every field. All times are seconds, all sizes bytes, all rates bytes per second;
//! a megabyte (MB) is 10^6 bytes.

mod advice;
mod cell;
mod credit;
mod environment;
mod findings;
mod headline;
mod json;
mod labels;
mod moment;
mod pipeline;
mod prediction;
mod printable;
mod recommendation;
mod regime;
mod results;
mod sample;
mod series;
mod summary;

pub use advice::{Advice, Confidence, Rule, RuleVerdict};
pub use cell::Cell;
pub use credit::{CreditUnit, DeviceCredit};
pub use environment::{Audit, Device, EngineFact, Environment, FileSystem};
pub use findings::{
    Choice, Findings, Peak, PeerRatio, Regret, Roof, RunnerUp, Saturation, SaturationStep, SeriesCost,
    SeriesHalfPower, SeriesRef, SeriesRequestTime,
};
pub(crate) use headline::{Headline, is_ordinary, page_size};
pub use json::{DOCUMENT, Error, LIMIT, document_file, read_document_text};
pub use labels::{CacheState, Labels};
pub(crate) use labels::{TOGETHER, alone};
pub use moment::rfc3339;
pub use pipeline::{Pipeline, Stage};
pub use prediction::{CellPrediction, Limit};
pub use recommendation::{JobKind, RateUnit, Recommendation};
pub use regime::{Burst, DeviceLimit, DeviceVariation, Regime, Slices, SteadyPart};
pub use results::{Document, MINOR, Run, SCHEMA, VERSION};
pub use sample::{Latency, Phases, Proof, Sample};
pub use series::{Axis, EarlierFinding, Experiment, Figure, Series, experiments, series};
pub use summary::{CpuCost, StopReason, Summary, SummaryOptions, summarise};
