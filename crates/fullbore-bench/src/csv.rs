//! The samples of a results document as CSV, one row per sample with all its labels.

use std::io::Write;

use serde_json::{Value, to_value};

use crate::document::{Cell, Document};

/// The columns, in order, separated by spaces: fields of labels and samples, and what follows from them. Sizes are in
/// bytes, times in seconds; an empty field was not measured or does not apply.
pub const COLUMNS: &str = "cell experiment job operation method request_bytes depth workers model allocation \
    cache_policy file_state cache order strategy flush file_bytes streams targets chunk_bytes offset_bytes load_per_s \
    memory_limit_bytes peer variant sample round start_s bytes seconds steady_bytes \
    steady_seconds bytes_per_s uncertainty requests user_s system_s uncharged_s \
    minor_faults major_faults cached_before_bytes cached_after_bytes cache_total_bytes device_read_bytes \
    device_written_bytes depth_mean latency_p50_s latency_p90_s latency_p99_s latency_p999_s latency_max_s \
    phases_submit_s phases_queue_s phases_device_s phases_complete_s phases_device_requests phases_merges phases_splits \
    phases_device_request_bytes stream_bytes_per_s writes regime proof proof_reason usable counted outlier";

/// Writes the header and one row per sample of every cell, in the document's order.
///
/// # Errors
/// The writer's errors.
pub fn write(document: &Document, writer: impl Write) -> std::io::Result<()> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(COLUMNS.split(' ')).map_err(std::io::Error::other)?;
    for cell in &document.cells {
        let labels = to_value(&cell.labels)?;
        let counted = cell.counted_positions(document.run.regime);
        for position in 0..cell.samples.len() {
            let recorded = to_value(&cell.samples[position])?;
            let field = |name| match name {
                "counted" => counted.binary_search(&position).is_ok().to_string(),
                _ => field(name, cell, position, [&labels, &recorded]),
            };
            csv.write_record(COLUMNS.split(' ').map(field)).map_err(std::io::Error::other)?;
        }
    }
    csv.flush()
}

fn field(name: &str, cell: &Cell, position: usize, [labels, recorded]: [&Value; 2]) -> String {
    let sample = &cell.samples[position];
    match name {
        "cell" => cell.id.clone(),
        "experiment" => cell.experiment.clone(),
        "sample" => position.to_string(),
        "bytes_per_s" => sample.rate().to_string(),
        "stream_bytes_per_s" => sample.streams.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        "proof" => text(&recorded["proof"]["state"]),
        "proof_reason" => text(&recorded["proof"]["reason"]),
        "usable" => sample.usable().to_string(),
        "outlier" => {
            let outliers = cell.summary.as_ref().map(|summary| &summary.outliers);
            outliers.is_some_and(|outliers| outliers.binary_search(&position).is_ok()).to_string()
        }
        _ => match name.split_once('_') {
            Some((group @ ("latency" | "phases" | "steady"), part)) => text(&recorded[group][part]),
            _ => text(labels.get(name).unwrap_or(&recorded[name])),
        },
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // As decimal digits, without an exponent.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}
