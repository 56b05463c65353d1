//! Any file cut at any places and merged in any order has the sum of the whole.
#![no_main]

use arbitrary::Arbitrary;
use fullbore::operation::Fold;
use fullbore::operation::hash::{Hash, PipelinedHashes};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case {
    /// Length of the file; each byte is derived from its position and the seed.
    len: u16,
    seed: u8,
    cuts: Vec<u16>,
    order: Vec<u8>,
    workers: u8,
    block: u16,
}

fn bytes(case: &Case) -> Vec<u8> {
    let len = usize::from(case.len) * 3;
    (0..len).map(|place| (place as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ case.seed).collect()
}

fn parts(hash: &Hash, bytes: &[u8], unit: usize, case: &Case) -> Vec<u8> {
    let units = bytes.len() / unit;
    let mut places: Vec<usize> = case.cuts.iter().map(|&cut| usize::from(cut) % (units + 1) * unit).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut states: Vec<_> = places
        .windows(2)
        .map(|pair| {
            let mut state = hash.identity();
            hash.block(&mut state, pair[0] as u64, &bytes[pair[0]..pair[1]]);
            state
        })
        .collect();
    let mut order = case.order.iter().chain(std::iter::repeat(&0));
    while states.len() > 1 {
        let at = order.next().map_or(0, |&at| usize::from(at)) % (states.len() - 1);
        let right = states.remove(at + 1);
        hash.merge(&mut states[at], right);
    }
    states.pop().expect("one remains").finish()
}

fuzz_target!(|case: Case| {
    let bytes = bytes(&case);
    let (blake3, crc32c) = (Hash::default(), Hash::named("crc32c").expect("a built-in hash"));
    let wanted = [blake3.of(&bytes), crc32c.of(&bytes)];
    assert_eq!(parts(&blake3, &bytes, 1024, &case), wanted[0]);
    assert_eq!(parts(&crc32c, &bytes, 1, &case), wanted[1]);
    let hashes = [blake3, crc32c];
    let (_, sums) = PipelinedHashes::run(&hashes, usize::from(case.workers % 8) + 1, |pipeline| {
        let mut offset = 0;
        for block in bytes.chunks(usize::from(case.block).max(100)) {
            pipeline.block(&mut (), offset, block);
            offset += block.len() as u64;
        }
        Ok::<_, ()>(((), ()))
    })
    .expect("no error");
    assert_eq!(sums, wanted);
});
