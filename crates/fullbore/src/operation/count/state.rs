//! The state of a run of bytes, and the merge of two adjacent states: words, characters and columns across a cut.

use super::character::{Character, Characters, Class, Decoded, LONGEST, continues, decode, length};

/// A few bytes at an end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Few {
    bytes: [u8; LONGEST],
    len: u8,
}

impl Few {
    /// Keeps the first bytes, at most one less than the longest character has.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut few = Self::default();
        few.extend(bytes);
        few
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }

    fn extend(&mut self, more: &[u8]) {
        for &byte in more.iter().take(LONGEST - 1 - usize::from(self.len)) {
            self.bytes[usize::from(self.len)] = byte;
            self.len += 1;
        }
    }
}

/// Movement of a run of characters along a line, for any starting column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Advance {
    /// Columns up to the first tab, or of the whole run.
    before: u64,
    /// If there is a tab: columns after the stop of the first, a multiple of eight, so that later tabs count from it.
    behind: Option<u64>,
}

/// Returns the tab stop after this column.
fn stop(column: u64) -> u64 {
    (column / 8 + 1) * 8
}

impl Advance {
    #[inline(always)]
    pub(super) fn columns(&mut self, columns: u64) {
        match &mut self.behind {
            None => self.before += columns,
            Some(behind) => *behind += columns,
        }
    }

    pub(super) fn tab(&mut self) {
        self.behind = Some(self.behind.map_or(0, stop));
    }

    /// Returns the column reached from `start`.
    pub(super) fn from(&self, start: u64) -> u64 {
        match self.behind {
            None => start + self.before,
            Some(behind) => stop(start + self.before) + behind,
        }
    }

    fn then(&mut self, next: Self) {
        match (&mut self.behind, next.behind) {
            (None, _) => *self = Self { before: self.before + next.before, behind: next.behind },
            (Some(behind), None) => *behind += next.before,
            (Some(behind), Some(more)) => *behind = stop(*behind + next.before) + more,
        }
    }
}

/// Lengths of lines in columns. Newline, carriage return and form feed return to the first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Columns {
    /// Movement up to the first return, or of the whole run, from an unknown column.
    pub(super) head: Advance,
    /// The longest line between two returns, and the columns after the last one; `None` without a return.
    pub(super) back: Option<(u64, u64)>,
}

impl Columns {
    fn then(&mut self, next: Self) {
        self.back = match (self.back, next.back) {
            (None, back) => {
                self.head.then(next.head);
                back
            }
            (Some((longest, last)), None) => Some((longest, next.head.from(last))),
            (Some((longest, last)), Some((more, end))) => {
                Some((longest.max(more).max(next.head.from(last)), end))
            }
        };
    }

    /// Returns the longest line of a whole file.
    pub(super) fn longest(&self) -> u64 {
        let (longest, last) = self.back.unwrap_or_default();
        longest.max(last).max(self.head.from(0))
    }
}

/// State of a run of bytes. Merging is associative, so runs can be counted by any worker and in any order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CountState {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    /// Words that begin here, if none is open at the start of the run.
    pub(super) words: u64,
    pub(super) characters: u64,
    /// Classes of the first and the last character that words do not ignore; both or none.
    pub(super) ends: Option<(Class, Class)>,
    pub(super) columns: Columns,
    /// Continuation bytes at the very start: ignored, unless they end a character that was cut before them.
    pub(super) head: Few,
    /// The beginning of a character at the very end: ignored, unless its rest follows.
    pub(super) tail: Few,
}

impl CountState {
    fn of(character: Character) -> Self {
        let columns = Columns { head: Advance { before: character.width, behind: None }, back: None };
        Self {
            words: u64::from(character.class == Class::Word),
            characters: 1,
            ends: (character.class != Class::Unseen).then_some((character.class, character.class)),
            columns,
            ..Self::default()
        }
    }

    /// True if the run consists only of bytes that may end a character.
    fn only_head(&self) -> bool {
        self.bytes == u64::from(self.head.len)
    }

    /// Appends the run that follows. Columns are counted if both runs have them.
    pub(super) fn then(&mut self, next: Self, characters: &Characters, columns: bool) {
        let only_heads = self.only_head();
        let mut tail = next.tail;
        if self.tail.len > 0 {
            let mut cut = self.tail.bytes;
            let mut held = usize::from(self.tail.len);
            let wanted = length(cut[0]).min(LONGEST) - held;
            for &byte in next.head.as_slice().iter().take(wanted) {
                cut[held] = byte;
                held += 1;
            }
            match decode(&cut[..held]) {
                Decoded::Whole(code) => {
                    let character = characters.lookup(code);
                    let width = if columns { character.width } else { 0 };
                    self.add(&Self::of(Character { width, ..character }));
                }
                Decoded::Cut if next.only_head() => tail = Few::of(&cut[..held]),
                Decoded::Cut | Decoded::Broken => {}
            }
        }
        if only_heads {
            self.head.extend(next.head.as_slice());
        }
        self.tail = tail;
        self.add(&next);
    }

    /// Adds the counts, without the character cut between the runs.
    fn add(&mut self, next: &Self) {
        let open = matches!(self.ends, Some((_, Class::Word)));
        let goes_on = matches!(next.ends, Some((Class::Word, _)));
        self.bytes += next.bytes;
        self.lines += next.lines;
        self.words += next.words - u64::from(open && goes_on);
        self.characters += next.characters;
        self.ends = match (self.ends, next.ends) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (one, other) => one.or(other),
        };
        self.columns.then(next.columns);
    }
}

/// Returns the bytes at the front that can only end a character begun before them, as many as matter.
pub(super) fn head(bytes: &[u8]) -> Few {
    let len = bytes.iter().take(LONGEST - 1).take_while(|&&byte| continues(byte)).count();
    Few::of(&bytes[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Column after a walk step by step; a step is a number of columns, or a tab.
    fn walked(start: u64, steps: &[Option<u8>]) -> u64 {
        steps.iter().fold(start, |column, step| match step {
            Some(columns) => column + u64::from(*columns),
            None => column + 8 - column % 8,
        })
    }

    proptest::proptest! {
        #[test]
        fn an_advance_is_the_walk_from_any_column(
            one: Vec<Option<u8>>, other: Vec<Option<u8>>, third: Vec<Option<u8>>, start in 0..100_u64,
        ) {
            let advance = |steps: &[Option<u8>]| {
                let mut advance = Advance::default();
                for step in steps {
                    match step {
                        Some(columns) => advance.columns((*columns).into()),
                        None => advance.tab(),
                    }
                }
                advance
            };
            let all = [&one[..], &other, &third].concat();
            proptest::prop_assert_eq!(advance(&all).from(start), walked(start, &all));
            let (mut left, mut right) = (advance(&one), advance(&other));
            left.then(advance(&other));
            left.then(advance(&third));
            proptest::prop_assert_eq!(left, advance(&all));
            right.then(advance(&third));
            let mut again = advance(&one);
            again.then(right);
            proptest::prop_assert_eq!(again, advance(&all));
        }
    }
}
