//! The files that the page holds.

use std::io::Read;

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The embedded file of this kind, decoded as `docs/results-schema.md` describes.
fn held(html: &str, kind: &str) -> String {
    let start = "<script type=\"application/json\" id=\"results\">";
    let files = html.split(start).nth(1).unwrap().split("</script>").next().unwrap();
    let files: Value = serde_json::from_str(files).unwrap();
    let compressed = STANDARD.decode(files[kind].as_str().unwrap()).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(compressed.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_embedded_files_are_those_of_the_run() {
    for document in [synthetic::document(), whole().clone()] {
        let html = report::html(&document);
        let (mut json, mut csv) = (Vec::new(), Vec::new());
        document.write(&mut json).unwrap();
        fullbore_bench::csv::write(&document, &mut csv).unwrap();
        assert!(held(&html, "json").as_bytes() == json && held(&html, "csv").as_bytes() == csv);
    }
}
