//! Any file cut at any places and merged in any order has the sum of the whole.
#![no_main]

use arbitrary::Arbitrary;
use fullbore::operation::Fold;
use fullbore::operation::hash::{Hash, PipelinedHashes};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/fullbore/src/operation/hash/tests/folded.rs"]
mod folded;

#[derive(Debug, Arbitrary)]
struct Case {
    /// Length of the file; each byte is derived from its position and the seed.
    len: u16,
    seed: u8,
    cuts: Vec<u16>,
    order: Vec<u16>,
    workers: u8,
    block: u16,
}

fn bytes(case: &Case) -> Vec<u8> {
    let len = usize::from(case.len) * 3;
    (0..len).map(|place| (place as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] ^ case.seed).collect()
}

fuzz_target!(|case: Case| {
    let bytes = bytes(&case);
    let (blake3, crc32c) = (Hash::default(), Hash::named("crc32c").expect("a built-in hash"));
    let wanted = [blake3.of(&bytes), crc32c.of(&bytes)];
    let [cuts, mut order] =
        [case.cuts, case.order].map(|list| list.into_iter().map(usize::from).collect::<Vec<_>>());
    order.push(0);
    assert_eq!(folded::folded(&blake3, &bytes, 1024, &cuts, &order).digest(), wanted[0]);
    assert_eq!(folded::folded(&crc32c, &bytes, 1, &cuts, &order).digest(), wanted[1]);
    let hashes = [blake3, crc32c];
    let (sums, ()) = PipelinedHashes::run(&hashes, usize::from(case.workers % 8) + 1, |pipeline| {
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
