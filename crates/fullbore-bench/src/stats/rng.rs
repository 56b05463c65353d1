//! The meter's own random numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A small seeded generator; the same seed gives the same sequence on every machine.
#[derive(Debug, Clone)]
pub struct Xoshiro256(Xoshiro256PlusPlus);

impl Xoshiro256 {
    /// Creates a generator whose whole sequence follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number in `0..n`; 0 if `n` is 0. The bias, below n / 2^64, is far under any sampling error.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a standard normal number (Box and Muller).
    #[doc(hidden)]
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals in documents are recomputed with the same numbers.
    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut generator = Xoshiro256::seeded(1);
        assert_eq!(
            [(); 2].map(|()| generator.next_u64()),
            [14_971_601_782_005_023_387, 13_781_649_495_232_077_965]
        );
        assert_ne!(Xoshiro256::seeded(8).next_u64(), Xoshiro256::seeded(7).next_u64());
    }

    #[test]
    fn fills_the_range_evenly() {
        let mut generator = Xoshiro256::seeded(1);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[generator.below(10)] += 1;
        }
        assert!(seen.iter().all(|&n| (9_600..10_400).contains(&n)), "{seen:?}");
    }
}
