//! Documents that are read whole, up to a limit of size.

use std::io::{self, Read};

use crate::size;

/// The limit for documents written by people, and for profiles, in bytes.
pub const DOCUMENT_LIMIT: u64 = 4 << 20;

/// Reads a document of at most `limit` bytes from a file, a pipe or a device. Reads at most one byte past the limit.
///
/// ```
/// use fullbore_io::file::read_text;
/// assert_eq!(read_text(&b"text"[..], 4)?, "text");
/// let error = read_text(std::fs::File::open("/dev/zero")?, 1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "longer than the limit of 1M");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If it is longer, is not UTF-8 text, or cannot be read.
pub fn read_text(from: impl Read, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what = format!("longer than the limit of {}", size::exact(limit));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}
