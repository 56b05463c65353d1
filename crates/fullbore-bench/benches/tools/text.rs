//! The text that is counted and searched: the library's lines of words, with properties of real text.
//!
//! Words that end in "ing" are on about every third line, as in English; a rare name is on one line in a thousand. In the
//! other text one character in five is not ASCII.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::num::NonZeroU64;
use std::path::Path;

use fullbore::operation::Generate;
use fullbore::operation::generate::Text;
use fullbore_bench::stats::Xoshiro256;

use super::harness::Attempt;

pub(crate) const LINE: usize = 80;

/// A name on one line in a thousand.
pub(crate) const RARE: &str = "Ferdinand Magellan";

const LINES: usize = 8192;

/// Letters of two and three bytes: Latin, Greek, Cyrillic, Chinese.
const LETTERS: [char; 16] =
    ['é', 'ü', 'ß', 'ñ', 'å', 'λ', 'π', 'Ω', 'д', 'ж', 'и', 'Щ', '的', '文', '字', '語'];

pub(crate) struct Lines {
    text: Text,
    dice: Xoshiro256,
    next: u64,
}

impl Lines {
    pub(crate) fn new(seed: u64) -> Self {
        let line = const { NonZeroU64::new(LINE as u64).unwrap() };
        Self { text: Text::new(seed, line), dice: Xoshiro256::seeded(seed), next: 0 }
    }

    /// Fills `target`, a whole number of lines, with the next ones.
    pub(crate) fn fill(&mut self, target: &mut [u8]) {
        self.text.fill(self.next * LINE as u64, target);
        for line in target.chunks_exact_mut(LINE) {
            self.next += 1;
            if self.dice.below(3) == 0 {
                participle(line, self.dice.below(LINE / 2));
            }
            if self.dice.below(1000) == 0 {
                line[..RARE.len()].copy_from_slice(RARE.as_bytes());
                line[RARE.len()] = b' ';
            }
        }
    }
}

/// Makes the first long word after `from` end in "ing".
fn participle(line: &mut [u8], from: usize) {
    let mut letters = 0;
    for at in from..line.len() {
        if line[at] == b' ' && letters >= 5 {
            line[at - 3..at].copy_from_slice(b"ing");
            return;
        }
        letters = if line[at].is_ascii_lowercase() { letters + 1 } else { 0 };
    }
}

pub(crate) fn plain(path: &Path, bytes: u64, seed: u64) -> Attempt<()> {
    let mut file = File::create_new(path)?;
    let mut lines = Lines::new(seed);
    let mut block = vec![0; LINES * LINE];
    let mut left = bytes;
    while left > 0 {
        lines.fill(&mut block);
        let now = left.min(block.len() as u64) as usize;
        file.write_all(&block[..now])?;
        left -= now as u64;
    }
    Ok(file.sync_all()?)
}

/// Writes the lines of `from` with a fifth of their characters replaced until `bytes` are written, and syncs them.
pub(crate) fn wide(path: &Path, from: &Path, bytes: u64, seed: u64) -> Attempt<()> {
    let mut dice = Xoshiro256::seeded(seed);
    let mut input = BufReader::with_capacity(1 << 20, File::open(from)?);
    let mut output = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
    let (mut line, mut wide) = (Vec::new(), Vec::new());
    let mut written = 0;
    while written < bytes && input.read_until(b'\n', &mut line)? > 0 {
        for &byte in &line {
            // Ten bits decide about a character: 205 of 1024 are a fifth; newlines stay.
            let draw = dice.next_u64();
            if byte != b'\n' && draw & 1023 < 205 {
                let letter = LETTERS[(draw >> 10) as usize % LETTERS.len()];
                wide.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                wide.push(byte);
            }
        }
        output.write_all(&wide)?;
        written += wide.len() as u64;
        line.clear();
        wide.clear();
    }
    Ok(output.into_inner().map_err(|error| error.into_error())?.sync_all()?)
}
