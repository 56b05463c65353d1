//! The inputs of a comparison, and its results.

use fullbore_io::file::File;

use crate::strategy::RunStrategy;

/// One of two inputs to compare.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The file, pipe or device. A descriptor that was passed in is read from its position.
    pub file: &'a File,
    /// The strategy for reading the bytes. Both sides use the longer request, the shorter stripe and
    /// the smaller number of workers of the two.
    pub choice: RunStrategy<'a>,
    /// Bytes to skip at the start of the file.
    pub skip: u64,
}

impl<'a> Side<'a> {
    /// Creates the side of a whole file.
    pub fn new(file: &'a File, choice: impl Into<RunStrategy<'a>>) -> Self {
        Self { file, choice: choice.into(), skip: 0 }
    }

    /// Offset in the file of the first byte compared.
    pub(super) fn base(&self) -> u64 {
        self.file.start().saturating_add(self.skip)
    }
}

/// One of the two inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The first input.
    Left = 0,
    /// The second input.
    Right = 1,
}

/// The options of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompareOptions {
    /// The maximum number of bytes to compare.
    pub limit: Option<u64>,
    /// True to count the lines before the difference.
    pub lines: bool,
}

/// A byte that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Offset from the first byte compared.
    pub offset: u64,
    /// The byte of the left input.
    pub left: u8,
    /// The byte of the right input.
    pub right: u8,
}

impl Difference {
    /// Returns every difference between two runs at `offset`, up to the end of the shorter one.
    pub fn between<'a>(offset: u64, left: &'a [u8], right: &'a [u8]) -> impl Iterator<Item = Self> + 'a {
        // Short, so that a run with one difference takes little longer than a run without.
        const RUN: usize = 256;
        let runs = left.chunks(RUN).zip(right.chunks(RUN)).enumerate();
        let differ = runs.filter(|(_, (left, right))| left != right);
        differ.flat_map(move |(run, (left, right))| {
            let at = offset + (run * RUN) as u64;
            let bytes = left.iter().zip(right).enumerate().filter(|(_, (left, right))| left != right);
            bytes.map(move |(place, (&left, &right))| Self { offset: at + place as u64, left, right })
        })
    }
}

/// The end of the shorter of two inputs, if it equals the beginning of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct End {
    /// The shorter input.
    pub side: Which,
    /// Length of the shorter input from the first byte compared, in bytes.
    pub offset: u64,
    /// Number of lines that ended before, if requested, else 0.
    pub lines: u64,
    /// True if the last byte of the shorter input ended a line.
    pub fresh: bool,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a difference is a result, not an error"]
pub enum Comparison {
    /// No difference up to the limit.
    Equal,
    /// The inputs differ.
    Differ {
        /// The first byte that differs.
        at: Difference,
        /// Lines that ended before, if requested, else 0.
        lines: u64,
    },
    /// One input is the beginning of the other.
    End(End),
}

/// The summary of a comparison of every byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct Differences {
    /// True if the inputs differ in a byte that both have.
    pub differ: bool,
    /// The end of the shorter input. Unknown after `emit` returned `Break`.
    pub end: Option<End>,
}
