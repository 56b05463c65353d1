//! Laws of generators: any cut gives the same bytes.

use std::num::NonZeroU64;

use proptest::prelude::*;

use super::random::piece_key;
use super::*;
use crate::operation::Generate;

pub(super) fn run(generator: &dyn Generate, offset: u64, length: usize) -> Vec<u8> {
    let mut data = vec![0xaa; length];
    generator.fill(offset, &mut data);
    data
}

/// FNV-1a of 64 bits.
pub(super) fn fnv1a(data: &[u8]) -> u64 {
    data.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A generator with a `Debug` form for failing cases.
struct Generator(Box<dyn Generate>);

impl std::fmt::Debug for Generator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.0)
    }
}

fn any_generator() -> impl Strategy<Value = Generator> {
    let line = prop_oneof![1u64..20, 60u64..140, 120u64..5000, any::<u64>()];
    let line = line.prop_map(|line| NonZeroU64::new(line).unwrap_or(NonZeroU64::MIN));
    (any::<u64>(), line, 0..3).prop_map(|(seed, line, which)| {
        Generator(match which {
            0 => Box::new(Random::new(seed)),
            1 => Box::new(Text::new(seed, line)),
            _ => Box::new(Zeros),
        })
    })
}

proptest! {
    #[test]
    fn any_cut_gives_the_same_bytes(
        generator in any_generator(),
        offset in prop_oneof![0u64..10_000, 0..u64::MAX - 100_000],
        length in prop_oneof![0usize..300, 0usize..20_000],
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let whole = run(&*generator.0, offset, length);
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(length + 1)).chain([0, length]).collect();
        places.sort_unstable();
        let parts: Vec<u8> = places
            .windows(2)
            .flat_map(|place| run(&*generator.0, offset + place[0] as u64, place[1] - place[0]))
            .collect();
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn keys_of_one_seed_differ(seed: u64, pieces: (u64, u64)) {
        prop_assume!(pieces.0 != pieces.1);
        prop_assert_ne!(piece_key(seed, pieces.0), piece_key(seed, pieces.1));
    }
}

#[test]
fn the_end_of_the_largest_file_can_be_generated() {
    for generator in
        [&Random::new(1) as &dyn Generate, &Text::new(1, const { NonZeroU64::new(80).unwrap() }), &Zeros]
    {
        let tail = run(generator, u64::MAX - 10_000, 10_000);
        assert_eq!(tail[9_000..], run(generator, u64::MAX - 1_000, 1_000));
    }
}
