//! States of sequential hashes, in which each step needs the previous one, and of checksums, whose parts can be joined.

use std::any::Any;
use std::fmt;

use blake2b_simd::State as Blake2b;
use xxhash_rust::xxh3::Xxh3;

use super::digest::Digest;

/// The state of a [`Hash`](super::Hash) over a run of bytes.
pub struct HashState(pub(super) Box<dyn Hasher>);

impl HashState {
    /// Finishes the hash.
    pub fn digest(self) -> Digest {
        Digest(self.0.finish())
    }

    /// Adds the bytes at `offset`, in bytes, which follow those before.
    pub(super) fn update(&mut self, offset: u64, bytes: &[u8]) {
        self.0.update(offset, bytes);
    }

    /// Adds the state of the bytes that follow, of the same algorithm.
    pub(super) fn append(&mut self, right: Self) {
        self.0.append(right.0);
    }
}

impl fmt::Debug for HashState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashState").finish_non_exhaustive()
    }
}

/// State of a hash: of a run of bytes that starts with the first [update](Self::update).
pub(super) trait Hasher: Any + Send {
    /// Adds the bytes at `offset`, in bytes, which follow those before.
    fn update(&mut self, offset: u64, bytes: &[u8]);

    /// Adds the state of the bytes that follow, of the same algorithm.
    ///
    /// # Panics
    /// If `right` is of another algorithm, or if the algorithm is sequential and both have seen bytes.
    fn append(&mut self, right: Box<dyn Hasher>);

    /// Returns the sum, in its written order.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

/// Downcasts `right` to the type of the state to which it is appended.
pub(super) fn same<S: Hasher>(right: Box<dyn Hasher>) -> Box<S> {
    match (right as Box<dyn Any>).downcast() {
        Ok(same) => same,
        Err(_) => panic!("states of two algorithms were merged"),
    }
}

/// A hash that processes bytes in order.
pub(super) trait Forward: Send + 'static {
    fn go_on(&mut self, bytes: &[u8]);
    fn end(self) -> Vec<u8>;
}

/// A hash of the RustCrypto crates, which use the processor's instructions for it if available.
pub(super) struct Crypto<D>(pub(super) D);

impl<D: sha2::Digest + Send + 'static> Forward for Crypto<D> {
    fn go_on(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

pub(super) struct Sequential<F> {
    hash: F,
    started: bool,
}

impl<F: Forward> Sequential<F> {
    pub(super) fn begin(hash: F) -> Box<dyn Hasher> {
        Box::new(Self { hash, started: false })
    }
}

impl<F: Forward> Hasher for Sequential<F> {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.started |= !bytes.is_empty();
        self.hash.go_on(bytes);
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        let right = same::<Self>(right);
        if right.started {
            assert!(!self.started, "the parts of a sequential hash cannot be joined");
            *self = *right;
        }
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.hash.end()
    }
}

impl Forward for Blake2b {
    fn go_on(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        self.finalize().as_bytes().to_vec()
    }
}

impl Forward for Xxh3 {
    fn go_on(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        // The canonical byte order.
        self.digest().to_be_bytes().to_vec()
    }
}

/// A sum rotated to the right before each byte is added.
pub(super) struct Rotated(pub(super) u16);

impl Forward for Rotated {
    fn go_on(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, &byte| sum.rotate_right(1).wrapping_add(byte.into()));
    }

    fn end(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// The sum of the bytes, modulo 2^32.
pub(super) struct Total(pub(super) u32);

impl Hasher for Total {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, &byte| sum.wrapping_add(byte.into()));
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        self.0 = self.0.wrapping_add(same::<Self>(right).0);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
        (fold(fold(self.0)) as u16).to_be_bytes().to_vec()
    }
}

/// A cyclic redundancy check of 32 bits. One multiplication joins the remainders of two parts.
pub(super) struct Remainder {
    pub(super) digest: crc_fast::Digest,
    /// True if the length, without its leading zeros, counts as further bytes.
    pub(super) with_length: bool,
}

impl Hasher for Remainder {
    fn update(&mut self, _offset: u64, bytes: &[u8]) {
        self.digest.update(bytes);
    }

    fn append(&mut self, right: Box<dyn Hasher>) {
        let right = same::<Self>(right);
        if self.digest.get_amount() == 0 {
            *self = *right;
        } else if right.digest.get_amount() > 0 {
            self.digest.combine(&right.digest);
        }
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        if self.with_length {
            let len = self.digest.get_amount();
            let octets = (u64::BITS - len.leading_zeros()).div_ceil(8) as usize;
            self.digest.update(&len.to_le_bytes()[..octets]);
        }
        // The remainder has 32 bits.
        (self.digest.finalize() as u32).to_be_bytes().to_vec()
    }
}
