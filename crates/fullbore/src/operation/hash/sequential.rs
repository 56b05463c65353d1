//! Hashes whose every step needs the previous one: from front to back, by one worker.

use sha2::Digest;

use super::Hasher;

/// A hash that processes bytes in order.
pub(super) trait Forward: Send + 'static {
    /// Adds more bytes.
    fn go_on(&mut self, bytes: &[u8]);
    /// Returns the sum.
    fn end(self) -> Vec<u8>;
}

/// A hash of the RustCrypto crates, which use the processor's instructions for it if available.
pub(super) struct Crypto<D>(pub(super) D);

impl<D: Digest + Send + 'static> Forward for Crypto<D> {
    fn go_on(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn end(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

/// State of a sequential hash.
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
        let right = super::same::<Self>(right);
        if right.started {
            assert!(!self.started, "the parts of a sequential hash cannot be joined");
            *self = *right;
        }
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.hash.end()
    }
}
