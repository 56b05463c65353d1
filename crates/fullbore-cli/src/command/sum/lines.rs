//! The output: the lines of sha256sum, b3sum and xxhsum, those of BSD, and JSON; errors.

use std::borrow::Cow;
use std::io;
use std::path::{MAIN_SEPARATOR, Path};

use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use fullbore::error::Error;
use fullbore::operation::hash::{Algorithm, hex};
use fullbore::quote::Shown;
use fullbore::sys::OsStrExt;
use fullbore_cli::common_args::CliRun;
use serde_json::{Map, Value, json};

use crate::environment::encoding;
use crate::exit::{Exit, called, program, system_reason};

/// Base64 with padding. As in coreutils, the bits after the last byte are ignored.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `HEX  NAME`, or `HEX *NAME` if `binary`.
    Plain {
        binary: bool,
    },
    /// `ALGORITHM (NAME) = HEX`.
    Tagged,
    Nameless,
    /// Only the bytes of the sum.
    Raw,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LineFormat {
    pub(super) shape: Shape,
    /// True if lines end with NUL and names are not escaped.
    pub(super) zero: bool,
    pub(super) base64: bool,
    /// True if standard input was not named: lines of `cksum` and `sum` have no name then.
    pub(super) unnamed: bool,
    /// True if the tag of blake3 has the length in bits, as with cksum.
    pub(super) sized: bool,
}

impl LineFormat {
    pub(super) fn add(self, out: &mut Vec<u8>, algorithm: &Algorithm, name: &Path, sum: &[u8], bytes: u64) {
        let name = with_slashes(name.as_os_str().as_bytes());
        if let Some(text) = decimal(algorithm, sum, bytes).filter(|_| self.shape != Shape::Raw) {
            out.extend_from_slice(text.as_bytes());
            if !self.unnamed && self.shape != Shape::Nameless {
                out.push(b' ');
                out.extend_from_slice(&name);
            }
            return out.push(if self.zero { b'\0' } else { b'\n' });
        }
        let end = if self.zero { b'\0' } else { b'\n' };
        let escaped = if self.zero { None } else { escape(&name) };
        let shown = escaped.as_deref().unwrap_or(&name);
        if escaped.is_some() && matches!(self.shape, Shape::Plain { .. } | Shape::Tagged) {
            out.push(b'\\');
        }
        let digits = if self.base64 { BASE64.encode(sum) } else { hex(sum) };
        match self.shape {
            Shape::Raw => return out.extend_from_slice(sum),
            Shape::Nameless => out.extend_from_slice(digits.as_bytes()),
            Shape::Plain { binary } => {
                out.extend_from_slice(prefix(algorithm).as_bytes());
                out.extend_from_slice(digits.as_bytes());
                out.extend_from_slice(if binary { b" *" } else { b"  " });
                out.extend_from_slice(shown);
            }
            Shape::Tagged => {
                out.extend_from_slice(algorithm.tag.as_bytes());
                let sized = match algorithm.name {
                    "blake2b" => sum.len() != algorithm.len,
                    "blake3" => self.sized,
                    _ => false,
                };
                if sized {
                    out.extend_from_slice(format!("-{}", 8 * sum.len()).as_bytes());
                }
                out.extend_from_slice(b" (");
                out.extend_from_slice(shown);
                out.extend_from_slice(b") = ");
                out.extend_from_slice(digits.as_bytes());
            }
        }
        out.push(end);
    }
}

/// Replaces the backslashes that separate names on Windows, as b3sum does: they would be escaped, and a list serves all
/// systems.
fn with_slashes(name: &[u8]) -> Cow<'_, [u8]> {
    match MAIN_SEPARATOR {
        '\\' => name.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect(),
        _ => name.into(),
    }
}

/// Returns sum and length in decimal for `cksum` and `sum`; `None`: the sum is printed in hexadecimal.
fn decimal(algorithm: &Algorithm, sum: &[u8], bytes: u64) -> Option<String> {
    let value = number(algorithm, sum)?;
    Some(match algorithm.name {
        "bsd" => format!("{value:05} {:5}", bytes.div_ceil(1024)),
        "sysv" => format!("{value} {}", bytes.div_ceil(512)),
        _ => format!("{value} {bytes}"),
    })
}

/// Returns a sum as the number that `cksum` and `sum` print; `None` for sums in hexadecimal.
pub(super) fn number(algorithm: &Algorithm, sum: &[u8]) -> Option<u32> {
    let is_number = matches!(algorithm.name, "crc" | "bsd" | "sysv");
    is_number.then(|| sum.iter().take(4).fold(0, |value, &byte| value << 8 | u32::from(byte)))
}

/// Returns the prefix that xxhsum writes before an XXH3 sum, to distinguish it from one of XXH64.
pub(super) fn prefix(algorithm: &Algorithm) -> &'static str {
    if algorithm.name == "xxh3" { "XXH3_" } else { "" }
}

/// Escapes a name for a line; `None`: no escaping is needed.
pub(in crate::command) fn escape(name: &[u8]) -> Option<Vec<u8>> {
    let special = |byte: &u8| matches!(byte, b'\\' | b'\n' | b'\r');
    name.iter().any(special).then(|| {
        let mut escaped = Vec::with_capacity(name.len() + 8);
        for &byte in name {
            match byte {
                b'\\' => escaped.extend_from_slice(b"\\\\"),
                b'\n' => escaped.extend_from_slice(b"\\n"),
                b'\r' => escaped.extend_from_slice(b"\\r"),
                other => escaped.push(other),
            }
        }
        escaped
    })
}

/// Reverses the escaping of a name; `None` if the escaping is invalid.
pub(super) fn unescape(escaped: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        name.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            other => other,
        });
    }
    Some(name)
}

/// Returns a name for JSON, with its bytes in hexadecimal added if they are not UTF-8.
pub(in crate::command) fn named(name: &Path) -> Value {
    Value::Object(name_fields("name", name))
}

/// The field `key` with a name, and another with its bytes if it is not UTF-8.
pub(in crate::command) fn name_fields(key: &str, name: &Path) -> Map<String, Value> {
    let mut fields = Map::from_iter([(key.to_owned(), name.to_string_lossy().into())]);
    if name.to_str().is_none() {
        fields.insert(format!("{key}_bytes"), hex(name.as_os_str().as_bytes()).into());
    }
    fields
}

/// Returns the message of an error, in the peers' wording if the system reported it.
pub(super) fn message(error: &Error) -> String {
    match error.raw_os_error() {
        Some(number) if called() == Some("b3sum") => io::Error::from_raw_os_error(number).to_string(),
        _ => system_reason(error),
    }
}

/// Returns a name for messages, quoted as by the peer.
pub(super) fn shown(name: &Path) -> String {
    match called() {
        Some("b3sum") => Shown(name).to_string(),
        _ => encoding().quoted(name, false),
    }
}

pub(super) fn error_line(name: &Path, error: &Error) -> String {
    format!("{}: {}: {}\n", program(""), shown(name), message(error))
}

/// Ends a run with the summary of `--json`.
pub(super) fn end(run: &CliRun<'_>, bytes: u64, json: bool) -> Result<(), Exit> {
    let summary = run.end(bytes);
    if json {
        run.output.print(format!("{}\n", json!({ "run": summary.json() })))?;
    }
    run.output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_round_trip() {
        for (name, escaped) in [(&b"a\\b"[..], &b"a\\\\b"[..]), (b"n\nl\r", b"n\\nl\\r")] {
            assert_eq!(escape(name).unwrap(), escaped);
            assert_eq!(unescape(escaped).unwrap(), name);
        }
        assert_eq!(escape(b"plain \xff"), None);
        assert_eq!(unescape(b"a\\"), None);
        assert_eq!(unescape(b"a\\t"), None);
    }
}
