//! Counts of lines, words, characters, bytes and columns as GNU `wc` counts them, in runs with cuts anywhere.

mod character;
mod kernel;
mod lanes;
#[cfg(test)]
mod laws;
mod state;
mod table;

pub use state::CountState;

use std::path::Path;

use super::traits::Fold;
use character::Characters;
use fullbore_io::buf::BlockMemory;
use fullbore_io::quote::quoted;
use kernel::{All, Lines};
use lanes::Processor;

/// Encoding of characters as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// One byte per character; words and columns ignore bytes above 0x7f: the locale "C".
    Bytes,
    /// UTF-8, with the classes and widths of glibc 2.36 (Unicode 14). Bytes that are not UTF-8 are not characters.
    Utf8,
}

impl Encoding {
    /// True if a character is printable: it takes columns, or adds a mark to one that does, or is a space.
    pub fn prints(self, character: char) -> bool {
        match self {
            Self::Bytes => matches!(character, ' '..='~'),
            Self::Utf8 => Characters::of(true).lookup(character.into()).class != character::Class::Unseen,
        }
    }

    /// Quotes a name as the GNU tools do in this locale: if `always`, or if a shell or a reader needs it.
    #[doc(hidden)]
    pub fn quoted(self, name: &Path, always: bool) -> String {
        quoted(name, |character| self.prints(character), always)
    }
}

/// A count of lines, words, characters, bytes and columns, as by GNU `wc`.
///
/// A word is the text between white space if something in it is printable: bytes that are not characters and
/// unprintable characters neither begin nor end a word, as in `wc` up to 9.4.
///
/// ```
/// use fullbore::operation::{Count, Encoding};
/// let counts = Count::new(Encoding::Utf8).with_columns().of("fünf\u{2003}Wörter\u{a0}sind\tes \0 nicht\n".as_bytes());
/// assert_eq!((counts.lines, counts.words, counts.characters, counts.bytes), (1, 5, 28, 33));
/// assert_eq!(counts.columns, 33);
/// ```
#[derive(Debug, Clone)]
pub struct Count {
    encoding: Encoding,
    words: bool,
    columns: bool,
    characters: &'static Characters,
    processor: Processor,
}

/// Results of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counts {
    /// Newlines.
    pub lines: u64,
    /// Words; 0 if not counted.
    pub words: u64,
    /// Characters, or bytes if each byte is one; 0 in UTF-8 if words and characters were not counted.
    pub characters: u64,
    /// Bytes.
    pub bytes: u64,
    /// Columns of the longest line, with a tab stop every eight; 0 if not counted.
    pub columns: u64,
}

impl Count {
    /// Counts lines, words, characters and bytes.
    pub fn new(encoding: Encoding) -> Self {
        let (characters, processor) = (Characters::of(true), Processor::here());
        Self { encoding, words: true, columns: false, characters, processor }
    }

    /// Also counts the columns of the longest line, which takes time.
    pub fn with_columns(mut self) -> Self {
        self.columns = true;
        self
    }

    /// Counts lines and bytes only, which saves time.
    pub fn lines_only(mut self) -> Self {
        (self.words, self.columns) = (false, false);
        self
    }

    /// Treats no-break spaces as letters, as `wc` does if `POSIXLY_CORRECT` is set.
    pub fn posixly_correct(mut self) -> Self {
        self.characters = Characters::of(false);
        self
    }

    /// Returns the counts of bytes in memory.
    pub fn of(&self, bytes: &[u8]) -> Counts {
        self.counts(&self.run(bytes))
    }

    /// Returns the counts for the state of a whole file.
    pub fn counts(&self, state: &CountState) -> Counts {
        Counts {
            lines: state.lines,
            words: state.words,
            characters: if self.encoding == Encoding::Bytes { state.bytes } else { state.characters },
            bytes: state.bytes,
            columns: state.columns.longest(),
        }
    }

    fn run(&self, bytes: &[u8]) -> CountState {
        let characters = self.characters;
        match (self.words || self.columns, self.encoding, self.columns) {
            (false, ..) => self.processor.run(Lines(bytes)),
            (_, Encoding::Bytes, false) => self.processor.run(All::<false, false> { bytes, characters }),
            (_, Encoding::Bytes, true) => self.processor.run(All::<false, true> { bytes, characters }),
            (_, Encoding::Utf8, false) => self.processor.run(All::<true, false> { bytes, characters }),
            (_, Encoding::Utf8, true) => self.processor.run(All::<true, true> { bytes, characters }),
        }
    }
}

impl Fold for Count {
    type State = CountState;

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn identity(&self) -> CountState {
        CountState::default()
    }

    fn block(&self, state: &mut CountState, _offset: u64, bytes: &[u8]) {
        state.then(self.run(bytes), self.characters, self.columns);
    }

    fn merge(&self, left: &mut CountState, right: CountState) {
        left.then(right, self.characters, self.columns);
    }
}
