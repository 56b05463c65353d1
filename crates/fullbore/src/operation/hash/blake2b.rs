//! blake2b (RFC 7693), of 1 to 64 bytes.

use blake2b_simd::{Params, State};

use super::sequential::{Forward, Sequential};
use super::{Algorithm, Hasher, Split};

/// Maximum length of the sum in bytes.
const LONGEST: usize = 64;

pub(super) const BLAKE2B: Algorithm = Algorithm {
    name: "blake2b",
    tag: "BLAKE2b",
    len: LONGEST,
    summary: "cryptographic, fast without special instructions; --length is in bits; as b2sum",
    split: Split::Sequential,
    begin: || begin(LONGEST),
};

/// Begins a sum of `len` bytes.
pub(super) fn begin(len: usize) -> Box<dyn Hasher> {
    Sequential::begin(Params::new().hash_length(len.clamp(1, LONGEST)).to_state())
}

impl Forward for State {
    fn go_on(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        self.finalize().as_bytes().to_vec()
    }
}
