//! The results document: everything one run measured, raw samples first, as versioned JSON.
//!
//! `docs/results-schema.md` describes every field. All times are seconds, all sizes bytes, all rates bytes a second;
//! a megabyte (MB) is 10^6 bytes.

mod advice;
mod cell;
mod choices;
mod environment;
mod findings;
mod moment;
mod peers;
mod pipeline;
mod printable;
mod reader;
pub(crate) mod saturation;
mod series;
mod summary;

use std::io::Write;

use serde::{Deserialize, Serialize};

pub use advice::{Advice, Confidence, Rule, RuleVerdict};
pub use cell::{CacheState, Cell, Labels, Latency, Phases, Proof, Sample};
pub(crate) use choices::candidates;
pub use choices::{Choice, RunnerUp, choices};
pub use environment::{Audit, Device, EngineFact, Environment, FileSystem};
pub use findings::{
    Findings, Peak, Roof, SeriesCost, SeriesHalfPower, SeriesRef, SeriesRequestTime, findings,
};
pub use moment::rfc3339;
pub use peers::{PeerRatio, peers};
pub use pipeline::{Pipeline, Stage};
pub use reader::{Error, LIMIT};
pub use saturation::{Saturation, SaturationStep};
pub use series::{Axis, EarlierFinding, Experiment, Figure, Series, experiments, series};
pub use summary::{CpuCost, StopReason, Summary, SummaryOptions, summarise};

/// The value of a results document's `schema` field.
pub const SCHEMA: &str = "fullbore.results";
/// The version this build writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// Additions within the version that this build writes.
pub const MINOR: u32 = 1;

/// One run of the meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the schema; grows when a reader of the old one would misread the new.
    pub version: u32,
    /// Additions within the version, which older readers may ignore.
    #[serde(default)]
    pub minor: u32,
    /// What was run.
    pub run: Run,
    /// Where it was run.
    #[serde(default)]
    pub environment: Environment,
    /// What the meter found out about itself.
    #[serde(default)]
    pub audit: Audit,
    /// The experiments, in the order of the report; those not listed follow from the cells.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// The cells of the experiments' grids, with their samples.
    pub cells: Vec<Cell>,
    /// What follows from the cells.
    #[serde(default)]
    pub findings: Findings,
}

/// What was run, when and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Start, RFC 3339 in UTC (see [`rfc3339`]).
    pub started: String,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Version of fullbore.
    pub fullbore_version: String,
    /// The command line, program first.
    #[serde(default)]
    pub command: Vec<String>,
    /// Seed of the order of trials, of test data and of intervals.
    pub seed: u64,
    /// Directory measured.
    pub directory: String,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
    /// Whether every planned cell was measured or skipped for a reason.
    pub complete: bool,
    /// Whether the run was ended from outside (Ctrl-C, SIGTERM).
    #[serde(default)]
    pub interrupted: bool,
    /// Anything to be said of the run as a whole, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// All directories measured, where there are several.
    #[serde(default)]
    pub directories: Vec<String>,
    /// The sets of experiments asked for, in order, as TOML by name: what `--resume` goes on with.
    #[serde(default)]
    pub sets: Vec<(String, String)>,
}

impl Document {
    /// A document of the current version without cells.
    pub fn new(run: Run, environment: Environment) -> Self {
        Self {
            schema: SCHEMA.into(),
            version: VERSION,
            minor: MINOR,
            run,
            environment,
            audit: Audit::default(),
            experiments: Vec::new(),
            cells: Vec::new(),
            findings: Findings::default(),
        }
    }

    /// Writes the document as JSON, two spaces an indent, with a final newline.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write(&self, mut writer: impl Write) -> Result<(), Error> {
        serde_json::to_writer_pretty(&mut writer, self).map_err(Error::Json)?;
        writer.write_all(b"\n").and_then(|()| writer.flush()).map_err(Error::Io)
    }

    /// The document with the control characters in its texts escaped: what is made of it may be shown on a terminal.
    pub fn printable(&self) -> std::borrow::Cow<'_, Self> {
        printable::printable(self)
    }

    /// A short name for each cell by id, such as `read: direct, cold, 64 KiB`.
    pub fn cell_names(&self) -> std::collections::BTreeMap<String, String> {
        series::cell_names(&self.cells, &self.experiments)
    }

    /// The cell with this id.
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.id == id)
    }
}
