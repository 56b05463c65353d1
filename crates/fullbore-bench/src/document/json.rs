//! Writes results documents, and reads those of this and earlier versions.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use fullbore::file::read_text;
use fullbore::quote::clipped;
use serde_json::Value;

use super::results::{Document, SCHEMA, VERSION};

/// Error of reading or writing a results document.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("results document: {0}")]
    Io(#[source] std::io::Error),
    /// The text is not JSON, or a field is missing or of the wrong kind.
    #[error("results document: damaged or incomplete: {}", clipped(&.0.to_string()))]
    Json(#[source] serde_json::Error),
    /// The JSON is not a results document.
    #[error("not a results document: {}, expected \"schema\": \"{SCHEMA}\"", found_schema(.schema.as_deref()))]
    NotResults {
        /// Value of its `schema` field, if present.
        schema: Option<String>,
    },
    /// The document has no usable version number.
    #[error("results document: no version number of 1 or more")]
    NoVersion,
    /// The document was written by a later version of fullbore.
    #[error("results document: version {found}, this fullbore reads up to {VERSION}: use a newer fullbore")]
    TooNew {
        /// Version of the document.
        found: u64,
    },
    /// The document has more than 20,000 cells.
    #[error("results document: {found} cells; a document may have at most {MOST_CELLS}")]
    TooManyCells {
        /// Number of its cells.
        found: usize,
    },
    /// The document has more than 20,000 experiments, findings of one type, or stretches or streams of a sample.
    #[error("results document: a list of more than {MOST_CELLS} entries, which no run of the meter writes")]
    TooManyEntries,
    /// The document has more than a million objects or eight million values, which take a hundred times the memory of their text.
    #[error(
        "results document: more than {MOST_OBJECTS} objects or {MOST_VALUES} values, which no run of the meter writes"
    )]
    TooManyValues,
}

fn found_schema(schema: Option<&str>) -> String {
    schema.map_or("no \"schema\" field".into(), |schema| format!("its schema is \"{}\"", clipped(schema)))
}

/// Maximum length of a document in bytes, larger than any that the meter writes.
pub const LIMIT: u64 = 64 << 20;

/// Maximum number of cells of a document, 20 times those of all experiments: reports group each experiment's cells among all.
/// Also that of other entries that they go through repeatedly: experiments, findings, the stretches and streams of a sample.
pub(crate) const MOST_CELLS: usize = 20_000;

/// Maximum number of objects of a document, and of values. An object may become a sample of 600 bytes.
const MOST_OBJECTS: usize = 1_000_000;
const MOST_VALUES: usize = 8_000_000;

/// First byte of a file compressed with gzip; no JSON begins with it.
const GZIP: u8 = 0x1f;

/// Reads the text of a document, compressed with gzip or not.
///
/// # Errors
/// If the reader fails, the text has more than [`LIMIT`] bytes or is not UTF-8, or the compressed data are damaged.
pub fn read_document_text(reader: impl Read) -> std::io::Result<String> {
    let mut reader = BufReader::new(reader);
    match reader.fill_buf()?.first() {
        Some(&GZIP) => read_text(MultiGzDecoder::new(reader), LIMIT),
        _ => read_text(reader, LIMIT),
    }
}

/// Name of the document in the folder of a run.
pub const DOCUMENT: &str = "results.json";

/// Returns the document of a path: the file itself, or the one that a run writes into a folder, compressed or not.
pub fn document_file(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let plain = path.join(DOCUMENT);
    let compressed = path.join(format!("{DOCUMENT}.gz"));
    if !plain.exists() && compressed.exists() { compressed } else { plain }
}

impl Document {
    /// Reads a document of any version up to [`VERSION`], compressed with gzip or not. Unknown fields are
    /// ignored.
    ///
    /// # Errors
    /// If the reader fails or returns more than [`LIMIT`] bytes, the text is not a results document, its version is newer
    /// than [`VERSION`], or it has more than 20,000 cells or entries of another list that reports go through repeatedly.
    pub fn read(reader: impl Read) -> Result<Self, Error> {
        Self::parse(&read_document_text(reader).map_err(Error::Io)?)
    }

    /// Parses a document from text, as [`Document::read`] does.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        // Some may be in strings, of which a document has few.
        let count = |byte| memchr::memchr_iter(byte, text.as_bytes()).count();
        if count(b'{') > MOST_OBJECTS || count(b',') > MOST_VALUES {
            return Err(Error::TooManyValues);
        }
        let value: Value = serde_json::from_str(text).map_err(Error::Json)?;
        let schema = value.get("schema").and_then(Value::as_str);
        if schema != Some(SCHEMA) {
            return Err(Error::NotResults { schema: schema.map(str::to_owned) });
        }
        let found =
            value.get("version").and_then(Value::as_u64).filter(|&v| v >= 1).ok_or(Error::NoVersion)?;
        if found > u64::from(VERSION) {
            return Err(Error::TooNew { found });
        }
        if has_long_list(&value) {
            return Err(Error::TooManyEntries);
        }
        let document: Self = serde_json::from_value(value).map_err(Error::Json)?;
        match document.cells.len() {
            found if found > MOST_CELLS => Err(Error::TooManyCells { found }),
            _ => Ok(document),
        }
    }

    /// Writes the document as JSON, indented by two spaces, with a final newline.
    ///
    /// # Errors
    /// The writer's errors.
    pub fn write(&self, writer: &mut dyn Write) -> Result<(), Error> {
        let written = serde_json::to_writer_pretty(&mut *writer, self).map_err(std::io::Error::from);
        written.and_then(|()| writer.write_all(b"\n")).and_then(|()| writer.flush()).map_err(Error::Io)
    }
}

/// True if one of the lists that reports go through repeatedly, besides the cells, has more than [`MOST_CELLS`] entries.
fn has_long_list(document: &Value) -> bool {
    let findings = document.get("findings").and_then(Value::as_object);
    let findings = findings.into_iter().flat_map(|findings| findings.values());
    let cells = document.get("cells").and_then(Value::as_array).into_iter().flatten();
    let samples = cells.filter_map(|cell| cell.get("samples")?.as_array()).flatten();
    let parts = samples.flat_map(|sample| [sample.pointer("/course/stretches"), sample.get("streams")]);
    let is_long = |list: &Value| list.as_array().is_some_and(|list| list.len() > MOST_CELLS);
    findings.chain(document.get("experiments")).chain(parts.flatten()).any(is_long)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_lists_are_refused_and_as_many_entries_as_cells_are_read() {
        let run = json!({
            "started": "2026-01-01T00:00:00Z", "duration_s": 1, "fullbore_version": "0.1.0", "seed": 1,
            "directory": ".", "file_bytes": 0, "complete": true
        });
        let parsed = |experiments: usize, peaks: usize, stretches: usize, streams: usize| {
            let experiment = json!({ "name": "e", "title": "", "axis": "none" });
            let series = json!({ "experiment": "e", "name": "", "labels": {}, "cells": [] });
            let rate = json!({ "value": 1, "low": 1, "high": 1 });
            let peak = json!({ "series": series, "cell": "a", "rate": rate });
            let stretch = json!({ "idle_s": 0, "bytes": [] });
            let course = json!({ "slice_s": 1, "round_s": 1, "stretches": vec![stretch; stretches] });
            let sample = json!({ "bytes": 1, "seconds": 1, "course": course, "streams": vec![1; streams] });
            let document = json!({
                "schema": SCHEMA, "version": VERSION, "run": run,
                "experiments": vec![experiment; experiments],
                "cells": [{ "id": "a", "experiment": "e", "labels": {}, "samples": [sample] }],
                "findings": { "peaks": vec![peak; peaks] }
            });
            Document::parse(&document.to_string())
        };
        parsed(MOST_CELLS, MOST_CELLS, MOST_CELLS, MOST_CELLS).unwrap();
        for long in 0..4 {
            let [experiments, peaks, stretches, streams] =
                [0, 1, 2, 3].map(|list| if list == long { MOST_CELLS + 1 } else { 1 });
            let found = parsed(experiments, peaks, stretches, streams);
            assert!(matches!(found, Err(Error::TooManyEntries)), "{long}: {found:?}");
        }
    }
}
