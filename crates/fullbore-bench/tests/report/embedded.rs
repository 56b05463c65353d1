//! The document that the page holds, packed.

use super::*;
use serde_json::json;

fn put(object: &mut Value, name: &str, value: &Value) {
    let place = name.split('.').fold(object, |object, part| &mut object[part]);
    *place = value.clone();
}

/// The data, unpacked as `docs/results-schema.md` describes.
fn unpacked(html: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"results\">";
    let text = html.split(start).nth(1).unwrap().split("</script>").next().unwrap();
    let packed: Value = serde_json::from_str(text).unwrap();
    let names = |kind: &str| -> Vec<String> { serde_json::from_value(packed[kind].clone()).unwrap() };
    let mut document = packed["document"].clone();
    for cell in document["cells"].as_array_mut().unwrap() {
        for kind in ["labels", "summary"] {
            if let Some(values) = cell[kind].as_array() {
                let mut object = json!({});
                for (name, value) in names(kind).iter().zip(values).filter(|(_, v)| !v.is_null()) {
                    put(&mut object, name, value);
                }
                cell[kind] = object;
            }
        }
        let samples = (0..cell["samples"]["n"].as_u64().unwrap() as usize).map(|i| {
            let mut sample = json!({});
            for (name, column) in names("columns").iter().zip(cell["samples"]["of"].as_array().unwrap()) {
                match column.as_array().unwrap().as_slice() {
                    [] => {}
                    [all] => put(&mut sample, name, all),
                    each => put(&mut sample, name, &each[i]),
                }
            }
            sample
        });
        cell["samples"] = samples.collect();
    }
    restore_series(&mut document["findings"], packed["series"].as_array().unwrap());
    document
}

/// Replaces indices of series in findings by the series.
fn restore_series(value: &mut Value, series: &[Value]) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| restore_series(value, series)),
        Value::Object(map) => {
            for (name, value) in map {
                match value.as_u64().filter(|_| name == "series") {
                    Some(place) => *value = series[place as usize].clone(),
                    None => restore_series(value, series),
                }
            }
        }
        _ => {}
    }
}

/// Fails unless both are the same but for rounding: samples to seven digits, computed values to five.
fn same_but_for_rounding(a: &Value, b: &Value, path: &str) {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            let digits = if path.contains("samples[") || path.contains(".labels") { 6e-7 } else { 6e-5 };
            assert!((a - b).abs() <= digits * a.abs(), "{path}: {a} and {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}");
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                same_but_for_rounding(a, b, &format!("{path}[{i}]"));
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{path}");
            for (key, value) in a {
                same_but_for_rounding(value, &b[key], &format!("{path}.{key}"));
            }
        }
        _ => assert_eq!(a, b, "{path}"),
    }
}

#[test]
fn the_embedded_document_is_the_document() {
    for document in [synthetic::document(), whole().clone()] {
        let html = report::html(&document);
        let held = Document::parse(&unpacked(&html).to_string()).unwrap();
        let [a, b] = [&document, &held].map(|d| serde_json::to_value(d).unwrap());
        same_but_for_rounding(&a, &b, "");
        let counts = |d: &Document| d.cells.iter().map(|c| c.samples.len()).collect::<Vec<_>>();
        assert_eq!(counts(&held), counts(&document));
    }
}
