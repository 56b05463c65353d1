//! What is known of a file before it is searched: how `rg` would come by its bytes, and what its first bytes say. On that
//! depends what a NUL in it means.

/// How `rg` would come by the bytes. It looks for NULs differently in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// As a map of the file: for a few files that are named. Only its beginning and the lines found are looked at for
    /// NULs.
    Mapped,
    /// By reads, from a file that could be read again. All of it is looked at for NULs.
    Streamed,
    /// By reads, from what can be read only once.
    Piped,
}

/// What is known of a file before it is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceInfo {
    pub(crate) read_mode: ReadMode,
    pub(crate) detection: Detection,
    /// The offset of a NUL in the beginning of a mapped file.
    pub(crate) known: Option<u64>,
    /// It begins with a byte order mark.
    pub(crate) marked: bool,
}

/// What is done about NULs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detection {
    None,
    /// They end lines, and lines behind one are not printed.
    Convert,
    /// They end the search.
    Quit,
}

/// How many bytes `rg` reads at a time, and how many of a map's beginning it looks at for NULs.
pub(crate) const READ_SIZE: usize = 64 << 10;

impl SourceInfo {
    /// How many of the first bytes tell what there is to know, if there are so many.
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

    /// Whether every byte is looked at for NULs, not only the lines found.
    pub(crate) fn scans(&self) -> bool {
        self.read_mode != ReadMode::Mapped && self.detection != Detection::None
    }
}
