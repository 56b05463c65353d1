//! The files of a run embedded in the page: the document and the samples as CSV, each compressed with gzip, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use crate::document::Document;

/// The files by the endings of their names.
#[derive(Serialize)]
pub(super) struct Files {
    json: String,
    csv: String,
}

pub(super) fn files(document: &Document) -> Files {
    let (mut json, mut csv) = (encoder(), encoder());
    // Writing to memory does not fail.
    let _ = document.write(&mut json);
    let _ = crate::csv::write(document, &mut csv);
    let [json, csv] = [json, csv].map(|file| STANDARD.encode(file.finish().unwrap_or_default()));
    Files { json, csv }
}

fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::best())
}
