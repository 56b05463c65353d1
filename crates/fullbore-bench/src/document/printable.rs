//! Documents whose texts contain no terminal control characters.

use std::borrow::Cow;
use std::io::{self, Write};

use fullbore::quote;
use serde_json::Value;

use super::results::Document;

impl Document {
    /// Returns the document with the control characters in its texts escaped, because text derived from it may be shown
    /// on a terminal.
    pub fn printable(&self) -> Cow<'_, Self> {
        let mut search = Search(false);
        if self.write(&mut search).is_ok() && !search.0 {
            return Cow::Borrowed(self);
        }
        let escaped = serde_json::to_value(self).map(escaped).and_then(serde_json::from_value);
        // A text replaces a text, so the result still parses as a document.
        escaped.map_or(Cow::Borrowed(self), Cow::Owned)
    }
}

fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => quote::printable(&text).into_owned().into(),
        Value::Array(values) => values.into_iter().map(escaped).collect(),
        Value::Object(values) => values
            .into_iter()
            .map(|(key, value)| (quote::printable(&key).into_owned(), escaped(value)))
            .collect(),
        other => other,
    }
}

/// Writer that detects control characters in JSON, other than line ends and tabs.
struct Search(bool);

impl Write for Search {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        // The serialiser writes escapes and characters whole, so no pair is split between two writes.
        let escape = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'b' | b'f' | b'r'] | [0xc2, 0x80..=0x9f]);
        self.0 = self.0 || json.contains(&0x7f) || json.windows(2).any(escape);
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Environment, Run};

    #[test]
    fn every_text_is_escaped() {
        let mut document = Document::new(Run::default(), Environment::default());
        document.run.notes = vec!["plain\tnote\n".into()];
        assert!(matches!(document.printable(), Cow::Borrowed(_)));
        for (text, wanted) in
            [("\x1b[2J", "\\u001b[2J"), ("\x7f", "\\u007f"), ("\u{9b}m", "\\u009bm"), ("\r", "\\u000d")]
        {
            document.run.notes = vec![format!("{text}é")];
            assert_eq!(document.printable().run.notes, [format!("{wanted}é")]);
        }
    }
}
