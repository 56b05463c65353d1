//! The samples of a results document as CSV, one row per sample with all its labels.

use std::io::Write;

use crate::document::{Cell, Document, Phases, Proof, Sample};

/// The columns, in order. Sizes are in bytes, times in seconds; an empty field was not measured or does not apply.
pub const COLUMNS: [&str; 61] = [
    "cell",
    "experiment",
    "job",
    "operation",
    "method",
    "request_bytes",
    "depth",
    "workers",
    "model",
    "allocation",
    "cache_policy",
    "file_state",
    "cache",
    "order",
    "strategy",
    "flush",
    "file_bytes",
    "streams",
    "targets",
    "chunk_bytes",
    "offset_bytes",
    "load_per_s",
    "memory_limit_bytes",
    "peer",
    "variant",
    "sample",
    "round",
    "start_s",
    "bytes",
    "seconds",
    "bytes_per_s",
    "requests",
    "user_s",
    "system_s",
    "uncharged_s",
    "minor_faults",
    "major_faults",
    "cached_before_bytes",
    "cached_after_bytes",
    "cache_total_bytes",
    "device_read_bytes",
    "device_written_bytes",
    "depth_mean",
    "latency_p50_s",
    "latency_p90_s",
    "latency_p99_s",
    "latency_p999_s",
    "latency_max_s",
    "phases_submit_s",
    "phases_queue_s",
    "phases_device_s",
    "phases_complete_s",
    "phases_device_requests",
    "phases_merges",
    "phases_splits",
    "phases_device_request_bytes",
    "stream_bytes_per_s",
    "proof",
    "proof_reason",
    "usable",
    "outlier",
];

/// Writes the header and one row per sample of every cell, in the document's order.
///
/// # Errors
/// The writer's errors.
pub fn write(document: &Document, writer: impl Write) -> std::io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(COLUMNS).map_err(std::io::Error::other)?;
    for cell in &document.cells {
        for (position, sample) in cell.samples.iter().enumerate() {
            csv.write_record(row(cell, position, sample)).map_err(std::io::Error::other)?;
        }
    }
    csv.flush()
}

fn row(cell: &Cell, position: usize, sample: &Sample) -> [String; COLUMNS.len()] {
    let labels = &cell.labels;
    let latency = |value: fn(&crate::document::Latency) -> f64| optional(sample.latency.as_ref().map(value));
    let phases = |value: fn(&Phases) -> String| sample.phases.as_ref().map(value).unwrap_or_default();
    let (proof, reason) = match &sample.proof {
        Proof::Confirmed => ("confirmed", ""),
        Proof::Contradicted { reason } => ("contradicted", reason.as_str()),
        Proof::Unproved { reason } => ("unproved", reason.as_str()),
    };
    let outlier = cell.summary.as_ref().is_some_and(|s| s.outliers.contains(&position));
    [
        cell.id.clone(),
        cell.experiment.clone(),
        labels.job.clone(),
        labels.operation.clone(),
        labels.method.clone(),
        optional(labels.request_bytes),
        optional(labels.depth),
        optional(labels.workers),
        optional(labels.model.as_deref()),
        optional(labels.allocation.as_deref()),
        optional(labels.cache_policy.as_deref()),
        optional(labels.file_state.as_deref()),
        optional(labels.cache.map(|c| c.word())),
        optional(labels.order.as_deref()),
        optional(labels.strategy.as_deref()),
        optional(labels.flush),
        optional(labels.file_bytes),
        optional(labels.streams),
        optional(labels.targets),
        optional(labels.chunk_bytes),
        optional(labels.offset_bytes),
        optional(labels.load_per_s),
        optional(labels.memory_limit_bytes),
        optional(labels.peer.as_deref()),
        optional(labels.variant.as_deref()),
        position.to_string(),
        sample.round.to_string(),
        sample.start_s.to_string(),
        sample.bytes.to_string(),
        sample.seconds.to_string(),
        sample.rate().to_string(),
        sample.requests.to_string(),
        sample.user_s.to_string(),
        sample.system_s.to_string(),
        optional(sample.uncharged_s),
        optional(sample.minor_faults),
        optional(sample.major_faults),
        optional(sample.cached_before_bytes),
        optional(sample.cached_after_bytes),
        optional(sample.cache_total_bytes),
        optional(sample.device_read_bytes),
        optional(sample.device_written_bytes),
        optional(sample.depth_mean),
        latency(|l| l.p50_s),
        latency(|l| l.p90_s),
        latency(|l| l.p99_s),
        latency(|l| l.p999_s),
        latency(|l| l.max_s),
        phases(|p| p.submit_s.to_string()),
        phases(|p| optional(p.queue_s)),
        phases(|p| optional(p.device_s)),
        phases(|p| p.complete_s.to_string()),
        phases(|p| p.device_requests.to_string()),
        phases(|p| p.merges.to_string()),
        phases(|p| p.splits.to_string()),
        phases(|p| p.device_request_bytes.to_string()),
        sample.streams.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        proof.to_owned(),
        reason.to_owned(),
        sample.usable().to_string(),
        outlier.to_string(),
    ]
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}
