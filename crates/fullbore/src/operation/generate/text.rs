//! Lines of text of equal length. A line is a sentence of common English and pronounceable invented words, with commas, an initial
//! capital and a full stop.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::LazyLock;

use super::random::piece_key;
use crate::operation::traits::Generate;
use fullbore_io::buf::BlockMemory;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

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

impl Text {
    /// Creates the text of `seed` in lines of `line_length` bytes, including the newline.
    pub fn new(seed: u64, line_length: NonZeroU64) -> Self {
        Self { seed, line_length: line_length.get() }
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
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

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

/// Length of the longest word that ends a sentence, in letters.
pub(super) const LONGEST: usize = 12;

/// Number of ordinary words to draw from, common ones repeated: a power of two, so that bits choose.
pub(super) const DRAWS: usize = 2048;

/// Number of closing words of each length to draw from.
pub(super) const CLOSINGS: usize = 32;

/// Bytes of a word, so that every word is written in one fixed-size step.
pub(super) const ROOM: usize = 16;

/// A word with an optional comma and the space after it.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// The letters, then padding; the last byte holds [`advance`](Self::advance).
    pub(super) room: [u8; ROOM],
}

impl Word {
    fn new(letters: &str, after: &str) -> Self {
        let mut room = [b' '; ROOM];
        let text = letters.bytes().chain(after.bytes());
        room.iter_mut().zip(text).for_each(|(place, byte)| *place = byte);
        room[ROOM - 1] = (letters.len() + after.len()) as u8;
        Self { room }
    }

    /// Returns the distance from the start of this word to the next, in bytes.
    #[inline]
    pub(super) fn advance(&self) -> usize {
        usize::from(self.room[ROOM - 1])
    }
}

pub(super) struct Vocabulary {
    /// Words of at most [`LONGEST`] bytes with the space after them.
    pub(super) ordinary: [Word; DRAWS],
    /// `closing[n]` has words of exactly `n` letters, with a full stop.
    pub(super) closing: [[Word; CLOSINGS]; LONGEST + 1],
}

pub(super) static VOCABULARY: LazyLock<Box<Vocabulary>> = LazyLock::new(Vocabulary::build);

/// Common words, the most common first: place `i` is drawn in proportion to 1 / (i + 2), following Zipf's law.
const COMMON: [&str; 40] = [
    "the", "of", "and", "to", "a", "in", "that", "it", "is", "was", "for", "as", "with", "on", "be", "at",
    "by", "this", "had", "not", "are", "but", "from", "or", "have", "an", "they", "which", "one", "you",
    "were", "all", "her", "she", "there", "would", "their", "we", "him", "been",
];

/// Share of the most common words; all common words take about a third of the draws.
const COMMON_SHARE: usize = 216;

/// Percentage of made-up words with 3, 4, … 11 letters.
const MADE_UP_LENGTHS: [(usize, u64); 9] =
    [(3, 6), (4, 16), (5, 20), (6, 18), (7, 15), (8, 11), (9, 7), (10, 4), (11, 3)];

/// One of this many made-up words has a comma.
const COMMA_EVERY: usize = 12;

const ONSETS: [&str; 32] = [
    "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "l", "m", "n", "r", "s", "t",
    "d", "br", "cl", "gr", "pl", "st", "tr", "ch", "sh", "th", "nd",
];
const VOWELS: [&str; 16] =
    ["a", "e", "i", "o", "u", "a", "e", "i", "o", "e", "a", "i", "ea", "ou", "ai", "ee"];

/// Creates a made-up word of exactly `letters` letters: alternating consonants and vowels.
fn made_up(letters: usize, dice: &mut SplitMix64) -> String {
    let mut word = String::new();
    let mut vowel = letters == 1 || dice.next_u64() >> 62 == 0;
    while word.len() < letters {
        let sounds: &[&str] = if vowel { &VOWELS } else { &ONSETS };
        // The last sound of each list does not begin a word: no `nd`, no doubled vowel.
        let sounds = if word.is_empty() { &sounds[..sounds.len() - 1] } else { sounds };
        let sound = sounds[(dice.next_u64() >> 32) as usize % sounds.len()];
        if word.len() + sound.len() <= letters {
            word.push_str(sound);
            vowel = !vowel;
        }
    }
    word
}

impl Vocabulary {
    /// Builds a constant vocabulary: the seed of the text chooses among its words, not the words.
    fn build() -> Box<Self> {
        let mut dice = SplitMix64::seed_from_u64(0x776f_7264_7321);
        let mut ordinary = Vec::with_capacity(DRAWS);
        for (place, word) in COMMON.iter().enumerate() {
            let share = COMMON_SHARE / (place + 2);
            ordinary.extend(std::iter::repeat_n(Word::new(word, " "), share));
        }
        while ordinary.len() < DRAWS {
            let mut percent = dice.next_u64() % 100;
            let letters = MADE_UP_LENGTHS
                .iter()
                .find(|(_, share)| {
                    let found = percent < *share;
                    percent = percent.saturating_sub(*share);
                    found
                })
                .map_or(5, |(letters, _)| *letters);
            let comma = letters + 2 <= LONGEST && ordinary.len().is_multiple_of(COMMA_EVERY);
            ordinary.push(Word::new(&made_up(letters, &mut dice), if comma { ", " } else { " " }));
        }
        let closing = std::array::from_fn(|letters| {
            std::array::from_fn(|_| Word::new(&made_up(letters, &mut dice), "."))
        });
        let mut words = [ordinary[0]; DRAWS];
        words.copy_from_slice(&ordinary);
        Box::new(Self { ordinary: words, closing })
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{fnv1a, run};
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn text(seed: u64, line_length: u64) -> Text {
        Text::new(seed, NonZeroU64::new(line_length).unwrap())
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

    fn letters(word: &Word) -> &str {
        let text = std::str::from_utf8(&word.room[..word.advance()]).unwrap();
        text.trim_end_matches([' ', ',', '.'])
    }

    #[test]
    fn words_are_letters_and_fit_their_room() {
        for word in &VOCABULARY.ordinary {
            assert!(word.advance() <= LONGEST && word.room[word.advance() - 1] == b' ');
            assert!(letters(word).bytes().all(|byte| byte.is_ascii_lowercase()), "{}", letters(word));
        }
        for (length, words) in VOCABULARY.closing.iter().enumerate() {
            for word in words {
                assert_eq!((word.advance(), letters(word).len()), (length + 1, length));
                assert!(letters(word).bytes().all(|byte| byte.is_ascii_lowercase()));
            }
        }
    }

    #[test]
    fn lengths_and_frequencies_are_those_of_prose() {
        let total: usize = VOCABULARY.ordinary.iter().map(|word| letters(word).len()).sum();
        let mean = total as f64 / DRAWS as f64;
        assert!((4.0..6.0).contains(&mean), "{mean}");
        let the = VOCABULARY.ordinary.iter().filter(|word| letters(word) == "the").count();
        assert!((0.03..0.08).contains(&(the as f64 / DRAWS as f64)), "{the}");
        let distinct: std::collections::HashSet<_> = VOCABULARY.ordinary.iter().map(letters).collect();
        assert!(distinct.len() > 1000, "{}", distinct.len());
        for word in &VOCABULARY.ordinary {
            let word = letters(word);
            assert!(word == "by" || word.bytes().any(|byte| b"aeiou".contains(&byte)), "{word}");
        }
    }
}
