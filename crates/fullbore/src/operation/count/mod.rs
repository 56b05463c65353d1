//! Counting lines, words, characters, bytes and columns as GNU `wc` counts them, in runs that may be cut anywhere.

mod character;
mod kernel;
mod lanes;
#[cfg(test)]
mod laws;
mod state;
mod table;

pub use state::CountState;

use super::Fold;
use character::Characters;
use kernel::{All, Lines};
use lanes::{Pass, Processor};

/// How bytes spell characters.
///
/// ```
/// use fullbore::operation::{Count, Encoding};
/// let text = "naïve".as_bytes();
/// assert_eq!(Count::new(Encoding::Utf8).of(text).characters, 5);
/// assert_eq!(Count::new(Encoding::Bytes).of(text).characters, 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Each byte is one, and those above 0x7f are nothing that words or columns see: the locale "C".
    Bytes,
    /// UTF-8, with the classes and widths of glibc 2.36 (Unicode 14). Bytes that are no UTF-8 are no characters.
    Utf8,
}

impl Encoding {
    /// Whether a character can be printed: it takes columns, or puts a mark on one that does, or is a space.
    ///
    /// ```
    /// use fullbore::operation::Encoding;
    /// assert!(Encoding::Utf8.prints('é') && !Encoding::Bytes.prints('é'));
    /// assert!(Encoding::Bytes.prints(' ') && !Encoding::Utf8.prints('\n'));
    /// ```
    pub fn prints(self, character: char) -> bool {
        match self {
            Self::Bytes => matches!(character, ' '..='~'),
            Self::Utf8 => Characters::of(true).lookup(character.into()).class != character::Class::Unseen,
        }
    }
}

/// Counts as GNU `wc` does.
///
/// A word is what stands between white space, if there is something printable in it: bytes that are no character and
/// characters that cannot be printed neither begin nor end a word, as in `wc` up to 9.4.
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

/// What was counted.
///
/// ```
/// use fullbore::operation::{Count, Counts, Encoding};
/// let counts = Count::new(Encoding::Bytes).of(b"one\ntwo three\n");
/// assert_eq!(counts, Counts { lines: 2, words: 3, characters: 14, bytes: 14, columns: 0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Newlines.
    pub lines: u64,
    /// Words; 0 if they were left out.
    pub words: u64,
    /// Characters, or bytes if each byte is one; 0 in UTF-8 if words and characters were left out.
    pub characters: u64,
    /// Bytes.
    pub bytes: u64,
    /// Columns of the longest line, with a tab stop every eight; 0 if not asked for.
    pub columns: u64,
}

impl Count {
    /// Counts lines, words, characters and bytes.
    ///
    /// ```
    /// use fullbore::operation::{Count, Encoding};
    /// assert_eq!(Count::new(Encoding::Utf8).of(b"two words").words, 2);
    /// ```
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            words: true,
            columns: false,
            characters: Characters::of(true),
            processor: Processor::here(),
        }
    }

    /// Counts the columns of the longest line too, which costs time.
    ///
    /// ```
    /// use fullbore::operation::{Count, Encoding};
    /// let wide = Count::new(Encoding::Utf8).with_columns();
    /// assert_eq!(wide.of("中文\t.\n".as_bytes()).columns, 9);
    /// ```
    pub fn with_columns(mut self) -> Self {
        self.columns = true;
        self
    }

    /// Counts lines and bytes only, which saves time.
    ///
    /// ```
    /// use fullbore::operation::{Count, Counts, Encoding};
    /// let counts = Count::new(Encoding::Utf8).lines_only().of(b"one\ntwo\n");
    /// assert_eq!(counts, Counts { lines: 2, bytes: 8, ..Counts::default() });
    /// ```
    pub fn lines_only(mut self) -> Self {
        (self.words, self.columns) = (false, false);
        self
    }

    /// Takes spaces that do not break lines for letters, as `wc` does where `POSIXLY_CORRECT` is set.
    ///
    /// ```
    /// use fullbore::operation::{Count, Encoding};
    /// let (gnu, text) = (Count::new(Encoding::Utf8), "100\u{a0}km".as_bytes());
    /// assert_eq!((gnu.of(text).words, gnu.posixly_correct().of(text).words), (2, 1));
    /// ```
    pub fn posixly_correct(mut self) -> Self {
        self.characters = Characters::of(false);
        self
    }

    /// The counts of bytes in memory.
    ///
    /// ```
    /// use fullbore::operation::{Count, Encoding};
    /// assert_eq!(Count::new(Encoding::Bytes).of(b"a line\n").lines, 1);
    /// ```
    pub fn of(&self, bytes: &[u8]) -> Counts {
        self.counts(&self.run(bytes))
    }

    /// The counts of a file whose state this is.
    ///
    /// ```
    /// use fullbore::file::File;
    /// use fullbore::operation::{Count, Encoding};
    /// use fullbore::pattern::{Progress, fold};
    /// use fullbore::strategy::Strategy;
    /// let count = Count::new(Encoding::Utf8);
    /// let (_, state) = fold(&count, &File::open("Cargo.toml")?, &Strategy::plain(), &Progress::default())?;
    /// assert_eq!(count.counts(&state), count.of(&std::fs::read("Cargo.toml").unwrap()));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn counts(&self, state: &CountState) -> Counts {
        Counts {
            lines: state.lines,
            words: state.words,
            characters: if self.encoding == Encoding::Bytes { state.bytes } else { state.characters },
            bytes: state.bytes,
            columns: state.longest(),
        }
    }

    fn run(&self, bytes: &[u8]) -> CountState {
        let characters = self.characters;
        match (self.words || self.columns, self.encoding, self.columns) {
            (false, ..) => self.processor.run(Lines(bytes)),
            (_, Encoding::Bytes, false) => self.pass(All::<false, false> { bytes, characters }),
            (_, Encoding::Bytes, true) => self.pass(All::<false, true> { bytes, characters }),
            (_, Encoding::Utf8, false) => self.pass(All::<true, false> { bytes, characters }),
            (_, Encoding::Utf8, true) => self.pass(All::<true, true> { bytes, characters }),
        }
    }

    fn pass(&self, pass: impl Pass<Output = CountState>) -> CountState {
        self.processor.run(pass)
    }
}

impl Fold for Count {
    type State = CountState;

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
