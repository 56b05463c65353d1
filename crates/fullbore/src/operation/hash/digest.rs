//! Digests, and their hexadecimal form.

use std::fmt;

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

/// Formats a sum: two lower-case hexadecimal digits per byte.
pub fn hex(sum: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
