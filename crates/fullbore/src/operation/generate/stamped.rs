//! `stamped`: data whose making costs next to nothing, for timing writes.

use std::fmt;

use super::Random;
use crate::buf::Pool;
use crate::operation::Generate;

/// Random bytes made once, with the place of every block and a seed stamped into it: nothing compresses them, no
/// two blocks are equal, and a write of them is not held up by making them.
///
/// ```
/// use fullbore::operation::{Generate, generate::Stamped};
/// let mut data = [0; 8192];
/// Stamped::new(1, 4096).fill(0, &mut data);
/// let (one, two) = data.split_at(4096);
/// assert_ne!(one, two);
/// ```
#[derive(Debug)]
pub struct Stamped {
    seed: u64,
    template: Vec<u8>,
}

/// What is stamped: a file system neither compares nor shares less than that.
const BLOCK: usize = 4096;

impl Stamped {
    /// Data of `seed` for requests of up to `request` bytes.
    ///
    /// ```
    /// use fullbore::operation::{Generate, generate::Stamped};
    /// let mut block = [0; 4096];
    /// Stamped::new(7, 64 << 10).fill(8192, &mut block);
    /// assert_eq!(block[..8], 8192u64.to_le_bytes(), "the place");
    /// assert_eq!(block[8..16], 7u64.to_le_bytes(), "the seed");
    /// ```
    pub fn new(seed: u64, request: usize) -> Self {
        let mut template = vec![0; request.next_multiple_of(BLOCK) + BLOCK];
        Random::new(seed).fill(0, &mut template);
        Self { seed, template }
    }

    /// Writes place and seed into the start of every block, as far as the block's start is in `target`.
    fn stamp(&self, offset: u64, target: &mut [u8]) {
        let mut place = (offset.next_multiple_of(BLOCK as u64) - offset) as usize;
        while place + 16 <= target.len() {
            target[place..place + 8].copy_from_slice(&(offset + place as u64).to_le_bytes());
            target[place + 8..place + 16].copy_from_slice(&self.seed.to_le_bytes());
            place += BLOCK;
        }
    }
}

impl fmt::Display for Stamped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stamped:{}", self.seed)
    }
}

impl Generate for Stamped {
    fn fill(&self, offset: u64, target: &mut [u8]) {
        let shift = (offset % BLOCK as u64) as usize;
        for part in target.chunks_mut(self.template.len() - shift) {
            part.copy_from_slice(&self.template[shift..shift + part.len()]);
        }
        self.stamp(offset, target);
    }

    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.stamp(offset, target);
    }

    fn prime(&self, pool: &mut Pool) {
        pool.prepare(|memory| {
            for part in memory.chunks_mut(self.template.len()) {
                part.copy_from_slice(&self.template[..part.len()]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_blocks_are_equal_and_none_is_compressible() {
        let stamped = Stamped::new(1, 64 << 10);
        let mut data = vec![0; 1 << 20];
        for (index, request) in data.chunks_mut(64 << 10).enumerate() {
            stamped.fill(index as u64 * (64 << 10), request);
        }
        let blocks: HashSet<_> = data.chunks(BLOCK).collect();
        assert_eq!(blocks.len(), data.len() / BLOCK);
        let zeros = data.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros < data.len() / 100, "{zeros} zeros");
    }

    #[test]
    fn renewing_a_primed_buffer_is_as_good_as_filling_it() {
        let stamped = Stamped::new(7, 8192);
        let mut pool = Pool::new(1, 8192).unwrap();
        stamped.prime(&mut pool);
        let mut buf = pool.take().unwrap();
        buf.place(12_288, 8192);
        stamped.renew(12_288, buf.data_mut());
        let mut filled = vec![0; 8192];
        stamped.fill(12_288, &mut filled);
        assert_eq!(buf.data(), filled);
    }
}
