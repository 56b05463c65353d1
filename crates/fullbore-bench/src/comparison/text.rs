//! Values of documents as text.

use serde_json::Value;

/// Text from a document or a path, with control characters replaced: they could control a terminal.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// A value as text; empty for null.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
