//! Lines of text of one length: words, commas, a capital and a full stop.

use super::random::piece_key;
use super::vocabulary::{CLOSINGS, DRAWS, LONGEST, ROOM, VOCABULARY, Vocabulary};
use crate::operation::traits::Generate;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::fmt;

/// Length of a sentence. A line is one sentence, or several of this many bytes, the last of them longer: any offset in
/// a line of any length is then near the beginning of a sentence. It defines the data.
const SENTENCE: u64 = 128;

/// Room for the longest sentence and for a last word written whole.
const PAGE: usize = 2 * SENTENCE as usize + ROOM;

/// Lines of text of exactly the given length, the same for a seed and length on every machine and in every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text {
    seed: u64,
    line_length: u64,
}

/// Error for a line length of 0: a line has at least its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLengthError;

impl fmt::Display for LineLengthError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("invalid line length 0: the newline counts, so give 1 or more bytes")
    }
}

impl std::error::Error for LineLengthError {}

impl Text {
    /// Creates the text of `seed` in lines of `line_length` bytes, including the newline.
    ///
    /// # Errors
    /// If `line_length` is 0.
    pub fn new(seed: u64, line_length: u64) -> Result<Self, LineLengthError> {
        if line_length == 0 { Err(LineLengthError) } else { Ok(Self { seed, line_length }) }
    }

    fn sentences(&self) -> u64 {
        (self.line_length / SENTENCE).max(1)
    }

    /// Writes a sentence of a line, and returns its length with the space or newline after it.
    #[inline]
    fn sentence(&self, words: &Vocabulary, line: u64, place: u64, page: &mut [u8; PAGE]) -> usize {
        let last = place + 1 == self.sentences();
        let length = if last { self.line_length - place * SENTENCE } else { SENTENCE } as usize;
        let mut dice = SplitMix64::from_seed(
            piece_key(self.seed, line.wrapping_mul(self.sentences()).wrapping_add(place)).to_le_bytes(),
        );
        write_sentence(words, &mut dice, &mut page[..length - 1 + ROOM], length - 1);
        page[length - 1] = if last { b'\n' } else { b' ' };
        length
    }
}

/// Writes a sentence of exactly `length` bytes; the bytes of `page` after it are scratch space.
#[inline]
fn write_sentence(words: &Vocabulary, dice: &mut SplitMix64, page: &mut [u8], length: usize) {
    let mut at = 0;
    // A closing word and its full stop take 2 to LONGEST + 1 bytes, and no ordinary word leaves fewer.
    let mut draw = 0;
    let mut draws_left = 0;
    while length - at > LONGEST + 1 {
        if draws_left == 0 {
            draw = dice.next_u64();
            draws_left = u64::BITS / DRAWS.ilog2();
        }
        let word = &words.ordinary[draw as usize % DRAWS];
        draw /= DRAWS as u64;
        draws_left -= 1;
        page[at..at + ROOM].copy_from_slice(&word.room);
        at += word.advance();
    }
    let rest = length - at;
    // A line too short for a sentence is one word.
    let letters = if length < 4 { rest } else { rest - 1 };
    let word = &words.closing[letters][dice.next_u64() as usize % CLOSINGS];
    page[at..at + ROOM].copy_from_slice(&word.room);
    page[0] = page[0].to_ascii_uppercase();
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "text in lines of {} bytes, seed {}", self.line_length, self.seed)
    }
}

impl Generate for Text {
    fn fill(&self, offset: u64, target: &mut [u8]) {
        if self.line_length == 1 {
            return target.fill(b'\n');
        }
        let words = &**VOCABULARY;
        let mut page = [0; PAGE];
        let mut line = offset / self.line_length;
        let within = offset % self.line_length;
        let mut place = (within / SENTENCE).min(self.sentences() - 1);
        let mut skip = (within - place * SENTENCE) as usize;
        let mut rest = target;
        while !rest.is_empty() {
            let length = self.sentence(words, line, place, &mut page);
            let (now, later) = rest.split_at_mut(rest.len().min(length - skip));
            now.copy_from_slice(&page[skip..skip + now.len()]);
            rest = later;
            skip = 0;
            place += 1;
            if place == self.sentences() {
                (line, place) = (line + 1, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{fnv1a, run};
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn text(seed: u64, line_length: u64) -> Text {
        Text::new(seed, line_length).unwrap()
    }

    fn is_prose(byte: u8) -> bool {
        byte.is_ascii_alphabetic() || b" ,.".contains(&byte)
    }

    fn check_lines(seed: u64, line_length: u64) {
        let lines = 40;
        let data = run(&text(seed, line_length), 0, lines * line_length as usize);
        let mut found = 0;
        for line in data.split_inclusive(|&byte| byte == b'\n') {
            assert_eq!(line.len() as u64, line_length);
            let (newline, prose) = line.split_last().unwrap();
            assert_eq!(*newline, b'\n');
            assert!(prose.iter().all(|&byte| is_prose(byte)), "{}", String::from_utf8_lossy(line));
            if line_length > 4 {
                assert!(prose[0].is_ascii_uppercase() && prose.ends_with(b"."), "{line_length}");
                assert!(!prose.windows(2).any(|pair| matches!(pair, b"  " | b" ." | b",." | b",,")));
            }
            found += 1;
        }
        assert_eq!(found, lines);
    }

    #[test]
    fn every_length_up_to_several_sentences_is_exact() {
        (1..=600).for_each(|length| check_lines(length * 31, length));
    }

    proptest! {
        #[test]
        fn lines_of_any_seed_and_length_are_exact(seed: u64, line_length in 1u64..20_000) {
            check_lines(seed, line_length);
        }
    }

    #[test]
    fn a_line_of_one_byte_is_a_newline() {
        assert_eq!(run(&text(9, 1), 12_345, 1000), vec![b'\n'; 1000]);
    }

    #[test]
    fn a_line_length_of_zero_is_an_error() {
        let error = Text::new(1, 0).unwrap_err();
        assert!(error.to_string().contains("give 1 or more bytes"));
    }

    #[test]
    fn a_line_longer_than_any_file_has_words_everywhere() {
        // From the beginning of one sentence to the end of another.
        let data = run(&text(3, u64::MAX), 1 << 60, 80 * SENTENCE as usize - 1);
        assert!(data.iter().all(|&byte| is_prose(byte)));
        assert!(data.split(|&byte| byte == b' ').all(|word| (1..=LONGEST + 1).contains(&word.len())));
    }

    #[test]
    fn lines_and_seeds_differ() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            for line in run(&text(seed, 80), 0, 80 * 10_000).chunks(80) {
                assert!(seen.insert(line.to_vec()), "{}", String::from_utf8_lossy(line));
            }
        }
    }

    #[test]
    fn the_text_never_changes() {
        assert_eq!(fnv1a(&run(&text(0, 80), 0, 1 << 20)), 0x9f4f_bb8c_521a_927c);
        assert_eq!(fnv1a(&run(&text(42, 1000), 12_345_678_901, 100_001)), 0x671b_2877_dce7_b1c8);
        let first = "Oche was for it of fime adosas by meet ilo leasi an bree elomeapl reasapashemo.\n";
        assert_eq!(String::from_utf8(run(&text(1, 80), 0, 80)).unwrap(), first);
    }
}
