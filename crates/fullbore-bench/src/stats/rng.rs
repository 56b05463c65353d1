//! The meter's own generator: xoshiro256++ (Blackman and Vigna), seeded by splitmix64.

/// A small seeded generator; the same seed gives the same sequence on every machine.
#[derive(Debug, Clone)]
pub struct Xoshiro256 {
    state: [u64; 4],
}

impl Xoshiro256 {
    /// Creates a generator whose whole sequence follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        let mut mixed = seed;
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = mixed;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        });
        Self { state }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (mut c, mut d) = (c ^ a, d ^ b);
        let (b_next, a_next) = (b ^ c, a ^ d);
        c ^= b << 17;
        d = d.rotate_left(45);
        self.state = [a_next, b_next, c, d];
        result
    }

    /// Returns a number in `0..n`; 0 if `n` is 0. The bias, below n / 2^64, is far under any sampling error.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Returns a standard normal number (Box and Muller).
#[cfg(test)]
pub(crate) fn normal(rng: &mut Xoshiro256) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_published_recurrence() {
        // First output from state [1, 2, 3, 4]: rotl(1 + 4, 23) + 1, as the reference implementation gives.
        let mut generator = Xoshiro256 { state: [1, 2, 3, 4] };
        assert_eq!(generator.next_u64(), 41_943_041);
        assert_eq!(generator.next_u64(), 58_720_359);
        assert_eq!(generator.next_u64(), 3_588_806_011_781_223);
    }

    #[test]
    fn same_seed_same_sequence() {
        let (mut one, mut two) = (Xoshiro256::seeded(7), Xoshiro256::seeded(7));
        assert!((0..100).all(|_| one.next_u64() == two.next_u64()));
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
