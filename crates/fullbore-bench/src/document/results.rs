//! The results of one run and their identification.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::environment::{Audit, Environment};
use super::findings::Findings;
use super::regime::Regime;
use super::series::{Experiment, cell_names};
use super::summary::{Cell, Summary};

/// Value of the `schema` field of a results document.
pub const SCHEMA: &str = "fullbore.results";
/// Version that this build writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// Minor version that this build writes: number of additions within the version.
pub const MINOR: u32 = 7;

/// One run of the meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the schema; increases when a reader of the old version would misread the new.
    pub version: u32,
    /// Minor version; its additions may be ignored by older readers.
    #[serde(default)]
    pub minor: u32,
    /// Parameters of the run.
    pub run: Run,
    /// The machine and storage.
    #[serde(default)]
    pub environment: Environment,
    /// The meter's measurements of itself.
    #[serde(default)]
    pub audit: Audit,
    /// The experiments, in the order of the report; the description of an unlisted one is derived from its cells.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// The cells of the experiments' grids, with their samples.
    pub cells: Vec<Cell>,
    /// Findings from the cells.
    #[serde(default)]
    pub findings: Findings,
}

/// Time, parameters and state of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Start, RFC 3339 in UTC (see [`rfc3339`]).
    pub started: String,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Version of fullbore.
    pub fullbore_version: String,
    /// The command line, including the program's name.
    #[serde(default)]
    pub command: Vec<String>,
    /// Seed of the order of trials, of test data and of intervals.
    pub seed: u64,
    /// Measured directory.
    pub directory: String,
    /// Size of the test file in bytes.
    pub file_bytes: u64,
    /// True if every planned cell was measured or skipped for a reason.
    pub complete: bool,
    /// True if the run was interrupted (Ctrl-C, SIGTERM).
    #[serde(default)]
    pub interrupted: bool,
    /// Notes on the run as a whole, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// All measured directories, if there are several.
    #[serde(default)]
    pub directories: Vec<String>,
    /// The requested sets of experiments, in order, as TOML by name; `--resume` continues with them.
    #[serde(default)]
    pub sets: Vec<(String, String)>,
    /// True if fio runs the cells, too; `--resume` continues with it.
    #[serde(default)]
    pub with_fio: bool,
    /// True if no profile is saved; `--resume` saves none either.
    #[serde(default)]
    pub no_save: bool,
    /// The requested regime.
    #[serde(default)]
    pub regime: Regime,
    /// Target half-width of the interval of a cell's median, as a share of the median.
    #[serde(default)]
    pub precision: Option<f64>,
    /// Length in bytes of the files that are transformed, searched and copied; `--resume` creates files of the same length.
    #[serde(default)]
    pub transform_bytes: Option<u64>,
}

impl Document {
    /// Creates a document of the current version without cells.
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

    /// Returns a short name for each cell by id, such as `read: direct, cold, 64 KiB`.
    pub fn cell_names(&self) -> BTreeMap<String, String> {
        cell_names(&self.cells, &self.experiments)
    }

    /// Returns the cell with this id.
    pub fn cell(&self, id: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.id == id)
    }

    /// Returns the summary of the cell with this id, if it was measured.
    pub(crate) fn summary(&self, id: &str) -> Option<&Summary> {
        self.cell(id)?.summary.as_ref()
    }
}

/// Formats `moment` in UTC to the second: `2026-03-14T09:26:53Z`. A moment before 1970 is formatted as 1970.
pub fn rfc3339(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years start on 1 March of year 0, so that the leap day is the last of its year: 146,097 days are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn agrees_with_date() {
        // date -u -d @SECONDS +%FT%TZ
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_773_480_413, "2026-03-14T09:26:53Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
