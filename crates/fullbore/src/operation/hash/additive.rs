//! The 16-bit checksums of `sum`, those of BSD and System V.

use super::sequential::{Forward, Sequential};
use super::{Algorithm, Hasher, Split};

pub(super) const BSD: Algorithm = Algorithm {
    name: "bsd",
    tag: "BSD",
    len: 2,
    summary: "16 bits; in decimal, with blocks of 1024, as sum -r",
    split: Split::Sequential,
    begin: || Sequential::begin(Rotated(0)),
};

pub(super) const SYSV: Algorithm = Algorithm {
    name: "sysv",
    tag: "SYSV",
    len: 2,
    summary: "16 bits; in decimal, with blocks of 512, as sum -s",
    split: Split::Any,
    begin: || Box::new(Total(0)),
};

/// A sum rotated to the right before each byte is added.
struct Rotated(u16);

impl Forward for Rotated {
    fn go_on(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, &byte| sum.rotate_right(1).wrapping_add(byte.into()));
    }

    fn end(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// The sum of the bytes, modulo 2^32.
struct Total(u32);

impl Hasher for Total {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, &byte| sum.wrapping_add(byte.into()));
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        self.0 = self.0.wrapping_add(super::same::<Self>(right).0);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
        (fold(fold(self.0)) as u16).to_be_bytes().to_vec()
    }
}
