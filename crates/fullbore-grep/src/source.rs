//! Facts of a file before the search: the way `rg` would read it, and its first bytes. They decide the effect of a NUL
//! in it.

/// The way `rg` would read the file, which decides where it checks for NULs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Mapped: for a few named files. Only the beginning and the lines found are checked for NULs.
    Mapped,
    /// Read, from a file that can be read again. All bytes are checked for NULs.
    Streamed,
    /// Read, from input that can be read only once.
    Piped,
}

/// Facts of a file before the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceInfo {
    pub(crate) read_mode: ReadMode,
    pub(crate) detection: Detection,
    /// Offset of a NUL in the beginning of a mapped file.
    pub(crate) known: Option<u64>,
    /// True if the file begins with a byte order mark.
    pub(crate) marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detection {
    None,
    /// NULs end lines, and lines after a NUL are not printed.
    Convert,
    /// A NUL ends the search.
    Quit,
}

/// Bytes that `rg` reads at a time, and bytes at the beginning of a mapping that it checks for NULs.
pub(crate) const READ_SIZE: usize = 64 << 10;

impl SourceInfo {
    /// Number of first bytes that determine the facts; fewer if the file is shorter.
    pub const BYTES: usize = READ_SIZE;

    pub(crate) fn new(read_mode: ReadMode, detection: Detection, sniff: bool, first: &[u8]) -> Self {
        let first = &first[..first.len().min(READ_SIZE)];
        let looks = read_mode == ReadMode::Mapped && detection != Detection::None;
        let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
        Self {
            read_mode,
            detection,
            known: looks.then(|| memchr::memchr(0, first)).flatten().map(|at| at as u64),
            marked: sniff && marks.iter().any(|mark| first.starts_with(mark)),
        }
    }

    /// True if all bytes are checked for NULs, not only the lines found.
    pub(crate) fn scans(&self) -> bool {
        self.read_mode != ReadMode::Mapped && self.detection != Detection::None
    }
}
