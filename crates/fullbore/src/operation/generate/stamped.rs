//! Data that costs almost nothing to generate: zeros, and stamped random bytes for measuring writes.

use std::fmt;

use super::random::Random;
use crate::operation::traits::Generate;
use fullbore_io::buf::{BlockMemory, Pool};

/// Random bytes generated once, with the offset of every block and the seed stamped into it: incompressible, no two
/// blocks equal, and generated fast enough not to delay the writes.
///
/// ```
/// use fullbore::operation::{Generate, generate::Stamped};
/// let mut block = [0; 4096];
/// Stamped::new(7, 64 << 10).fill(8192, &mut block);
/// assert_eq!(block[..8], 8192u64.to_le_bytes(), "the offset");
/// assert_eq!(block[8..16], 7u64.to_le_bytes(), "the seed");
/// ```
#[derive(Debug)]
pub struct Stamped {
    seed: u64,
    template: Vec<u8>,
}

/// Distance of the stamps in bytes: file systems do not compare or share smaller units.
const BLOCK: usize = 4096;

impl Stamped {
    /// Creates data of `seed` for requests of up to `request` bytes.
    pub fn new(seed: u64, request: usize) -> Self {
        let mut template = vec![0; request.next_multiple_of(BLOCK) + BLOCK];
        Random::new(seed).fill(0, &mut template);
        Self { seed, template }
    }

    /// Writes offset and seed to the start of every block that begins in `target`.
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
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

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

/// Zero bytes that are really written: the best case for storage, file systems and links that compress data
/// or skip holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zeros;

impl fmt::Display for Zeros {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("zeros")
    }
}

impl Generate for Zeros {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn fill(&self, _offset: u64, target: &mut [u8]) {
        target.fill(0);
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
    fn renewing_a_primed_buffer_equals_filling_it() {
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

    #[test]
    fn all_zeros_are_zero() {
        assert_eq!(super::super::laws::run(&Zeros, 77, 100_000), vec![0; 100_000]);
    }
}
