//! Digests, and their hexadecimal form.

use std::fmt;
use std::str::FromStr;

use fullbore_io::error::ParseError;

/// A digest, printed as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub(super) Vec<u8>);

impl From<Digest> for Vec<u8> {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Digest {
    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Parses hexadecimal digits of either case, two per byte.
impl FromStr for Digest {
    type Err = ParseError;

    fn from_str(digits: &str) -> Result<Self, ParseError> {
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
        // Without the text, which may be long: lists of sums are searched for digests by trial.
        let invalid = || ParseError::new("a digest is written as two hexadecimal digits per byte");
        let (pairs, rest) = digits.as_bytes().as_chunks();
        let mut bytes = Vec::with_capacity(pairs.len());
        for &[high, low] in pairs {
            let byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low);
            bytes.push(byte.ok_or_else(invalid)?);
        }
        if rest.is_empty() { Ok(Self(bytes)) } else { Err(invalid()) }
    }
}

/// Formats a sum: two lower-case hexadecimal digits per byte.
pub fn hex(sum: &[u8]) -> String {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    let mut text = vec![0; 2 * sum.len()];
    for (pair, &byte) in text.as_chunks_mut().0.iter_mut().zip(sum) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    String::from_utf8(text).expect("digits are ASCII")
}
