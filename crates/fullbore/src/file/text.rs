//! Documents that are read as a whole: no more of them than a document may have.

use std::io::{self, Read};

use crate::size;

/// The limit of documents that people write, and of profiles, in bytes.
pub const DOCUMENT_LIMIT: u64 = 4 << 20;

/// Reads a document of at most `limit` bytes, from a file, a pipe or a device. Of what is longer no more is read than that.
///
/// ```
/// use fullbore::file::read_text;
/// assert_eq!(read_text(&b"text"[..], 4)?, "text");
/// let error = read_text(std::fs::File::open("/dev/zero")?, 1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "it has more than 1M, which is the limit");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If it is longer, is no text in UTF-8, or cannot be read.
pub fn read_text(from: impl Read, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let what = format!("it has more than {}, which is the limit", size::exact(limit));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
}
