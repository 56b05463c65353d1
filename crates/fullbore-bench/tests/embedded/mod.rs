//! The data embedded in the page.
#![allow(unreachable_pub)]

fn put(object: &mut serde_json::Value, name: &str, value: &serde_json::Value) {
    let place = name.split('.').fold(object, |object, part| &mut object[part]);
    *place = value.clone();
}

/// The data, unpacked as `docs/results-schema.md` describes.
pub fn unpacked(html: &str) -> serde_json::Value {
    use serde_json::{Value, json};
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
fn restore_series(value: &mut serde_json::Value, series: &[serde_json::Value]) {
    use serde_json::Value;
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
pub fn same_but_for_rounding(a: &serde_json::Value, b: &serde_json::Value, path: &str) {
    use serde_json::Value;
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
