//! Random bytes: incompressible, and no block repeats another.

use crate::operation::traits::Generate;
use fullbore_io::buf::BlockMemory;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
use std::fmt;

/// Number of bytes generated together. It defines the data: another value gives other data.
const BLOCK: usize = 4096;

/// Number of generators interleaved in a block, to work on several at once. It defines the data, too.
const LANES: usize = 4;

/// Returns a key for each piece of the data of `seed`: no two pieces of one seed share a key, because each step is
/// one-to-one, and two seeds give the same key to two pieces no more often than chance.
#[inline]
pub(super) fn piece_key(seed: u64, piece: u64) -> u64 {
    let scatter = |word| SplitMix64::from_seed(u64::to_le_bytes(word)).next_u64();
    scatter(scatter(seed) ^ piece)
}

/// Random bytes from a seed. The same seed gives the same bytes on every machine and in every version; each block of 4
/// KiB has its own generators, so no block of a file equals another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Random {
    seed: u64,
}

impl Random {
    /// Creates the random data of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Writes the first bytes of a block, as many as `target` has.
    #[inline]
    fn block(&self, block: u64, target: &mut [u8]) {
        let mut lanes: [_; LANES] = std::array::from_fn(|lane| {
            Xoshiro256PlusPlus::seed_from_u64(piece_key(self.seed, block * LANES as u64 + lane as u64))
        });
        let mut turn = || {
            let mut words = [[0; 8]; LANES];
            for (word, lane) in words.iter_mut().zip(&mut lanes) {
                *word = lane.next_u64().to_le_bytes();
            }
            words
        };
        let (turns, rest) = target.as_chunks_mut::<{ 8 * LANES }>();
        for bytes in turns {
            bytes.as_chunks_mut().0.copy_from_slice(&turn());
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&turn().as_flattened()[..rest.len()]);
        }
    }
}

impl fmt::Display for Random {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "random, seed {}", self.seed)
    }
}

impl Generate for Random {
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn fill(&self, offset: u64, target: &mut [u8]) {
        let block = offset / BLOCK as u64;
        let skip = (offset % BLOCK as u64) as usize;
        let head = if skip == 0 { 0 } else { target.len().min(BLOCK - skip) };
        let (head, whole) = target.split_at_mut(head);
        if !head.is_empty() {
            let mut start = [0; BLOCK];
            self.block(block, &mut start[..skip + head.len()]);
            head.copy_from_slice(&start[skip..skip + head.len()]);
        }
        let first = block + u64::from(skip != 0);
        for (block, bytes) in (first..).zip(whole.chunks_mut(BLOCK)) {
            self.block(block, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{fnv1a, run};
    use super::*;
    use std::collections::HashSet;

    const MIB: usize = 1 << 20;

    #[test]
    fn order_0_entropy_is_eight_bits_a_byte() {
        for seed in [0, 1, u64::MAX] {
            let data = run(&Random::new(seed), 0, MIB);
            let mut counts = [0u32; 256];
            data.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
            let entropy: f64 =
                counts.iter().map(|&n| f64::from(n) / MIB as f64).map(|share| -share * share.log2()).sum();
            assert!(entropy >= 7.999, "{seed}: {entropy}");
            // 255 degrees of freedom: mean 255, deviation 22.6. Too even is as wrong as too uneven.
            let expected = MIB as f64 / 256.0;
            let chi_square: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            assert!((150.0..380.0).contains(&chi_square), "{seed}: {chi_square}");
        }
    }

    #[test]
    fn nothing_repeats() {
        // Two of 2^19 windows of 128 bits are equal by chance once in 10^27.
        let random = Random::new(42);
        let mut seen = HashSet::new();
        for block in 0..(64 * MIB / BLOCK) as u64 {
            assert!(seen.insert(run(&random, block * BLOCK as u64, 16)), "block {block} begins like another");
        }
        let mut windows = HashSet::new();
        for window in run(&random, 0, 4 * MIB).as_chunks::<16>().0 {
            assert!(windows.insert(*window));
        }
        // A far block or another seed does not begin like a near block either.
        for far in [1u64 << 40, 1 << 52, 1 << 63] {
            assert!(seen.insert(run(&random, far, 16)));
        }
        for seed in (0..1000).filter(|&seed| seed != 42) {
            assert!(seen.insert(run(&Random::new(seed), 0, 16)), "seed {seed}");
        }
    }

    #[test]
    fn bits_of_neighbouring_blocks_and_seeds_are_unrelated() {
        // Two unrelated runs of 2^20 · 8 bits differ in half of them, with a deviation of 1448 bits.
        let data = run(&Random::new(7), 0, MIB);
        for other in [run(&Random::new(7), BLOCK as u64, MIB), run(&Random::new(8), 0, MIB)] {
            let differing: i64 = data.iter().zip(&other).map(|(a, b)| i64::from((a ^ b).count_ones())).sum();
            assert!((differing - 4 * MIB as i64).abs() < 6 * 1448, "{differing}");
        }
    }

    #[test]
    fn the_data_never_changes() {
        assert_eq!(fnv1a(&run(&Random::new(0), 0, MIB)), 0x1212_8d80_6ff9_31ec);
        assert_eq!(fnv1a(&run(&Random::new(42), 12_345_678_901, 100_001)), 0x7105_8a33_cba5_dbfd);
    }
}
