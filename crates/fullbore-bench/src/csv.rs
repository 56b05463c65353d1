//! The samples of a results document as CSV, one row per sample with all its labels.

use std::io::Write;

use crate::document::{Cell, Document, Latency, Phases, Proof, Sample};

struct Row<'a> {
    cell: &'a Cell,
    position: usize,
    sample: &'a Sample,
}

/// The name of a column, and its value for a sample.
type Column = (&'static str, fn(&Row<'_>) -> String);

const FIELDS: [Column; 62] = [
    ("cell", |row| row.cell.id.clone()),
    ("experiment", |row| row.cell.experiment.clone()),
    ("job", |row| row.cell.labels.job.clone()),
    ("operation", |row| row.cell.labels.operation.clone()),
    ("method", |row| row.cell.labels.method.clone()),
    ("request_bytes", |row| optional(row.cell.labels.request_bytes)),
    ("depth", |row| optional(row.cell.labels.depth)),
    ("workers", |row| optional(row.cell.labels.workers)),
    ("model", |row| optional(row.cell.labels.model.as_deref())),
    ("allocation", |row| optional(row.cell.labels.allocation.as_deref())),
    ("cache_policy", |row| optional(row.cell.labels.cache_policy.as_deref())),
    ("file_state", |row| optional(row.cell.labels.file_state.as_deref())),
    ("cache", |row| optional(row.cell.labels.cache.map(|c| c.word()))),
    ("order", |row| optional(row.cell.labels.order.as_deref())),
    ("strategy", |row| optional(row.cell.labels.strategy.as_deref())),
    ("flush", |row| optional(row.cell.labels.flush)),
    ("file_bytes", |row| optional(row.cell.labels.file_bytes)),
    ("streams", |row| optional(row.cell.labels.streams)),
    ("targets", |row| optional(row.cell.labels.targets)),
    ("chunk_bytes", |row| optional(row.cell.labels.chunk_bytes)),
    ("offset_bytes", |row| optional(row.cell.labels.offset_bytes)),
    ("load_per_s", |row| optional(row.cell.labels.load_per_s)),
    ("memory_limit_bytes", |row| optional(row.cell.labels.memory_limit_bytes)),
    ("peer", |row| optional(row.cell.labels.peer.as_deref())),
    ("variant", |row| optional(row.cell.labels.variant.as_deref())),
    ("sample", |row| row.position.to_string()),
    ("round", |row| row.sample.round.to_string()),
    ("start_s", |row| row.sample.start_s.to_string()),
    ("bytes", |row| row.sample.bytes.to_string()),
    ("seconds", |row| row.sample.seconds.to_string()),
    ("bytes_per_s", |row| row.sample.rate().to_string()),
    ("requests", |row| row.sample.requests.to_string()),
    ("user_s", |row| row.sample.user_s.to_string()),
    ("system_s", |row| row.sample.system_s.to_string()),
    ("uncharged_s", |row| optional(row.sample.uncharged_s)),
    ("minor_faults", |row| optional(row.sample.minor_faults)),
    ("major_faults", |row| optional(row.sample.major_faults)),
    ("cached_before_bytes", |row| optional(row.sample.cached_before_bytes)),
    ("cached_after_bytes", |row| optional(row.sample.cached_after_bytes)),
    ("cache_total_bytes", |row| optional(row.sample.cache_total_bytes)),
    ("device_read_bytes", |row| optional(row.sample.device_read_bytes)),
    ("device_written_bytes", |row| optional(row.sample.device_written_bytes)),
    ("depth_mean", |row| optional(row.sample.depth_mean)),
    ("latency_p50_s", |row| row.latency(|l| l.p50_s)),
    ("latency_p90_s", |row| row.latency(|l| l.p90_s)),
    ("latency_p99_s", |row| row.latency(|l| l.p99_s)),
    ("latency_p999_s", |row| row.latency(|l| l.p999_s)),
    ("latency_max_s", |row| row.latency(|l| l.max_s)),
    ("phases_submit_s", |row| row.phases(|p| p.submit_s.to_string())),
    ("phases_queue_s", |row| row.phases(|p| optional(p.queue_s))),
    ("phases_device_s", |row| row.phases(|p| optional(p.device_s))),
    ("phases_complete_s", |row| row.phases(|p| p.complete_s.to_string())),
    ("phases_device_requests", |row| row.phases(|p| p.device_requests.to_string())),
    ("phases_merges", |row| row.phases(|p| p.merges.to_string())),
    ("phases_splits", |row| row.phases(|p| p.splits.to_string())),
    ("phases_device_request_bytes", |row| row.phases(|p| p.device_request_bytes.to_string())),
    ("stream_bytes_per_s", |row| row.sample.streams.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")),
    ("regime", |row| optional(row.sample.regime.map(|regime| regime.word()))),
    ("proof", |row| row.proof().0.to_owned()),
    ("proof_reason", |row| row.proof().1.to_owned()),
    ("usable", |row| row.sample.usable().to_string()),
    ("outlier", |row| row.is_outlier().to_string()),
];

/// The columns, in order. Sizes are in bytes, times in seconds; an empty field was not measured or does not apply.
pub const COLUMNS: [&str; FIELDS.len()] = {
    let mut names = [""; FIELDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = FIELDS[at].0;
        at += 1;
    }
    names
};

/// Writes the header and one row per sample of every cell, in the document's order.
///
/// # Errors
/// The writer's errors.
pub fn write(document: &Document, writer: impl Write) -> std::io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(COLUMNS).map_err(std::io::Error::other)?;
    for cell in &document.cells {
        for (position, sample) in cell.samples.iter().enumerate() {
            let row = Row { cell, position, sample };
            csv.write_record(FIELDS.map(|(_, value)| value(&row))).map_err(std::io::Error::other)?;
        }
    }
    csv.flush()
}

impl Row<'_> {
    fn latency(&self, value: fn(&Latency) -> f64) -> String {
        optional(self.sample.latency.as_ref().map(value))
    }

    fn phases(&self, value: fn(&Phases) -> String) -> String {
        self.sample.phases.as_ref().map(value).unwrap_or_default()
    }

    /// The state of the proof, and its reason.
    fn proof(&self) -> (&str, &str) {
        match &self.sample.proof {
            Proof::Confirmed => ("confirmed", ""),
            Proof::Contradicted { reason } => ("contradicted", reason),
            Proof::Unproved { reason } => ("unproved", reason),
        }
    }

    fn is_outlier(&self) -> bool {
        self.cell.summary.as_ref().is_some_and(|s| s.outliers.contains(&self.position))
    }
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
