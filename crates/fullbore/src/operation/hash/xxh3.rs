//! xxh3: XXH3 with 64 bits and seed 0 (Collet's xxHash specification), as `xxhsum -H3`.

use xxhash_rust::xxh3::Xxh3;

use super::sequential::{Forward, Sequential};
use super::{Algorithm, Split};

pub(super) const XXH3: Algorithm = Algorithm {
    name: "xxh3",
    tag: "XXH3",
    len: 8,
    summary: "64 bits: detects damage, not tampering, at memory speed; as xxhsum -H3",
    split: Split::Sequential,
    begin: || Sequential::begin(Xxh3::new()),
};

impl Forward for Xxh3 {
    fn go_on(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        // The canonical byte order.
        self.digest().to_be_bytes().to_vec()
    }
}
