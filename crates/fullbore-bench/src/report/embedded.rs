//! The whole document embedded in the page in compact form: samples as columns, rounded figures, no repetition.
//!
//! `docs/results-schema.md` describes the form; `script/data.js` turns it back into a results document.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::document::Document;

/// Significant digits of measured figures: a tenth of a microsecond in a second, a second in a day.
const DIGITS: usize = 7;
/// Significant digits of computed figures, whose intervals are rarely narrower than a thousandth.
const DIGITS_WORKED_OUT: usize = 5;

/// The document as JSON with the names of the fields of samples (`columns`), of labels and of summaries, and `csv`, the
/// columns of the CSV file. In findings, `series` is an index into the list of that name. In each cell `labels` and
/// `summary` are lists of values in the order of the names, and `samples` holds their number `n` and a list for each
/// column: empty if no sample has the field, of one value if all have the same, else of one value per sample. `uncounted`
/// lists the positions of the samples that the summary does not count; it is left out if there are none.
pub(super) fn packed(document: &Document) -> Value {
    let mut whole = match serde_json::to_value(document) {
        Ok(whole) => whole,
        // Cannot happen: it would take a map with keys that are not strings.
        Err(error) => return json!({ "error": error.to_string() }),
    };
    for part in ["findings", "audit", "experiments"] {
        if let Some(part) = whole.get_mut(part) {
            lighten(part, DIGITS_WORKED_OUT);
        }
    }
    let (mut columns, mut labels, mut summary) = (Vec::new(), Vec::new(), Vec::new());
    let cells = whole.get_mut("cells").and_then(Value::as_array_mut);
    for (cell, measured) in cells.into_iter().flatten().zip(&document.cells) {
        if let Some(summary) = cell.get_mut("summary") {
            lighten(summary, DIGITS_WORKED_OUT);
        }
        lighten(cell, DIGITS);
        for (part, names) in [("labels", &mut labels), ("summary", &mut summary)] {
            if let Some(part) = cell.get_mut(part) {
                *part = listed(part, names);
            }
        }
        if let Some(samples) = cell.get_mut("samples") {
            *samples = transposed(samples.take(), &mut columns);
        }
        let counted = measured.counted_positions(document.run.regime);
        let uncounted: Vec<usize> =
            (0..measured.samples.len()).filter(|at| counted.binary_search(at).is_err()).collect();
        if !uncounted.is_empty() {
            cell["uncounted"] = json!(uncounted);
        }
    }
    let (mut series, mut places) = (Vec::new(), HashMap::new());
    if let Some(findings) = whole.get_mut("findings") {
        share_series(findings, &mut series, &mut places);
    }
    let csv: Vec<&str> = crate::csv::COLUMNS.split(' ').collect();
    json!({
        "packed": 2, "columns": columns, "labels": labels, "summary": summary, "series": series, "csv": csv,
        "document": whole
    })
}

/// Collects the series of findings in a list without duplicates, and replaces each by its index; `places` has the indices by their
/// texts.
fn share_series(value: &mut Value, known: &mut Vec<Value>, places: &mut HashMap<String, usize>) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| share_series(value, known, places)),
        Value::Object(map) => {
            for (name, value) in map {
                if name != "series" || !value.is_object() {
                    share_series(value, known, places);
                    continue;
                }
                let place = *places.entry(value.to_string()).or_insert(known.len());
                if place == known.len() {
                    known.push(value.clone());
                }
                *value = json!(place);
            }
        }
        _ => {}
    }
}

/// Rounds fractions and removes nulls.
fn lighten(value: &mut Value, digits: usize) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|v| lighten(v, digits)),
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(|v| lighten(v, digits));
        }
        Value::Number(number) => {
            if let Some(rounded) = number.as_f64().filter(|_| number.is_f64()).map(|n| rounded(n, digits)) {
                *value = rounded;
            }
        }
        _ => {}
    }
}

fn rounded(number: f64, digits: usize) -> Value {
    let text = format!("{number:.*e}", digits - 1);
    let number = text.parse::<f64>().unwrap_or(number);
    // Whole numbers are written without a decimal point: a reader accepts both.
    if number.fract() == 0.0 && number.abs() < 1e15 { json!(number as i64) } else { json!(number) }
}

/// An object as its values in the order of `names`, to which new ones are added; missing values are `null` or cut off.
fn listed(object: &Value, names: &mut Vec<String>) -> Value {
    let row = flat(object);
    collect(names, row.keys());
    let mut values: Vec<Value> =
        names.iter().map(|name| row.get(name).cloned().unwrap_or(Value::Null)).collect();
    while values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    Value::Array(values)
}

fn collect<'a>(known: &mut Vec<String>, names: impl Iterator<Item = &'a String>) {
    for name in names {
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
}

/// Samples as columns. Objects within a sample become columns of their own, `latency.p50_s`.
fn transposed(samples: Value, columns: &mut Vec<String>) -> Value {
    let Value::Array(samples) = samples else { return samples };
    let rows: Vec<Map<String, Value>> = samples.iter().map(flat).collect();
    collect(columns, rows.iter().flat_map(Map::keys));
    let mut of: Vec<Value> = columns
        .iter()
        .map(|name| {
            let values: Vec<Value> =
                rows.iter().map(|row| row.get(name).cloned().unwrap_or(Value::Null)).collect();
            match values.first() {
                Some(Value::Null) | None if values.iter().all(Value::is_null) => json!([]),
                Some(first) if values.iter().all(|v| v == first) => json!([first]),
                _ => Value::Array(values),
            }
        })
        .collect();
    while of.last().is_some_and(|column| column.as_array().is_some_and(Vec::is_empty)) {
        of.pop();
    }
    json!({ "n": rows.len(), "of": of })
}

/// The fields of an object by name; those of an inner object are joined by a dot, `latency.p50_s`.
fn flat(object: &Value) -> Map<String, Value> {
    let mut row = Map::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => {
                row.extend(flat(value).into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            Value::Array(list) if list.is_empty() => {}
            Value::Null => {}
            value => {
                row.insert(name.clone(), value.clone());
            }
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded() {
        assert_eq!(rounded(1_234_567_890.4, 7), json!(1_234_568_000));
        assert_eq!(rounded(0.123_456_789, 7), json!(0.123_456_8));
        assert_eq!(rounded(0.123_456_789, 5), json!(0.123_46));
        assert_eq!((rounded(3.0, 5), rounded(4.8e-8, 5)), (json!(3), json!(4.8e-8)));
    }

    #[test]
    fn columns_hold_differing_fields() {
        let samples = json!([
            { "a": 1, "b": 2, "c": { "d": 5 } },
            { "a": 1, "b": 3, "c": { "d": 5, "e": "x" } },
        ]);
        let mut columns = vec!["none".to_owned()];
        let packed = transposed(samples, &mut columns);
        assert_eq!(columns, ["none", "a", "b", "c.d", "c.e"]);
        assert_eq!(packed, json!({ "n": 2, "of": [[], [1], [2, 3], [5], [null, "x"]] }));
    }
}
