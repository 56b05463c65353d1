//! Words of generated text: common English ones and pronounceable made-up ones.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::LazyLock;

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
    use super::*;

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
