//! Operations for [`Job`](crate::Job) as typed functions: transforms, counts and hashes, without a specification to parse.
#![forbid(unsafe_code)]

use std::fmt;

pub use crate::operation::hash::Digest;
use crate::operation::hash::Hash;
use crate::operation::{Count, Encoding, Fold, Split};
use fullbore_io::buf::BlockMemory;

pub use crate::operation::maps::{Map, caesar, lower, map_fn, rot13, shift, swab, upper, xor};

/// A fold that consists of three functions, created by [`fold_fn`].
#[derive(Clone)]
pub struct FnFold<I, B, M> {
    identity: I,
    block: B,
    merge: M,
    split: Split,
}

impl<I, B, M> fmt::Debug for FnFold<I, B, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnFold").field("split", &self.split).finish_non_exhaustive()
    }
}

/// Creates a fold from three functions: `identity` returns the state of no bytes, `block` adds a run of bytes to a state, and
/// `merge` adds the state of the bytes that follow. The file may be cut anywhere, unless [`FnFold::split`] sets its boundaries.
///
/// ```
/// let longest = fullbore::fold_fn(
///     || 0,
///     |longest: &mut usize, lines| {
///         *longest = lines.split(|&byte| byte == b'\n').map(<[u8]>::len).fold(*longest, usize::max);
///     },
///     |left, right| *left = right.max(*left),
/// )
/// .split(fullbore::operation::Split::Delimiter(b'\n'));
/// assert_eq!(fullbore::fold(&longest, &b"one\nthree\n"[..])?, 5);
/// # Ok::<(), fullbore::Error>(())
/// ```
pub fn fold_fn<S, I, B, M>(identity: I, block: B, merge: M) -> FnFold<I, B, M>
where
    S: Send,
    I: Fn() -> S + Send + Sync,
    B: Fn(&mut S, &[u8]) + Send + Sync,
    M: Fn(&mut S, S) + Send + Sync,
{
    FnFold { identity, block, merge, split: Split::Any }
}

impl<I, B, M> FnFold<I, B, M> {
    /// Declares where the file may be cut.
    #[must_use]
    pub fn split(self, split: Split) -> Self {
        Self { split, ..self }
    }
}

impl<S, I, B, M> Fold for FnFold<I, B, M>
where
    S: Send,
    I: Fn() -> S + Send + Sync,
    B: Fn(&mut S, &[u8]) + Send + Sync,
    M: Fn(&mut S, S) + Send + Sync,
{
    type State = S;

    fn split(&self) -> Split {
        self.split
    }

    fn identity(&self) -> S {
        (self.identity)()
    }

    fn block(&self, state: &mut S, _offset: u64, bytes: &[u8]) {
        (self.block)(state, bytes);
    }

    fn merge(&self, left: &mut S, right: S) {
        (self.merge)(left, right);
    }
}

/// A count of newlines.
#[derive(Debug, Clone, Copy)]
pub struct LineCount;

/// Counts newlines.
pub fn count_lines() -> LineCount {
    LineCount
}

impl Fold for LineCount {
    type State = u64;

    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

    fn identity(&self) -> u64 {
        0
    }

    fn block(&self, lines: &mut u64, _offset: u64, bytes: &[u8]) {
        *lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }

    fn merge(&self, left: &mut u64, right: u64) {
        *left += right;
    }
}

/// Counts lines, words, characters and bytes as `wc` does; [`Count::counts`] reads the state.
pub fn count(encoding: Encoding) -> Count {
    Count::new(encoding)
}

/// Hashes with BLAKE3 (32 bytes). The hash can be split: all workers hash one file.
pub fn blake3() -> Hash {
    Hash::default()
}

/// Hashes with SHA-256.
///
/// ```
/// use fullbore::op;
/// let digest = fullbore::fold(&op::sha256(), &b"abc"[..])?.digest();
/// assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub fn sha256() -> Hash {
    Hash::shipped("sha256")
}

/// Hashes with XXH3 (64 bits).
pub fn xxh3() -> Hash {
    Hash::shipped("xxh3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_their_names() {
        for (hash, name) in [(sha256(), "sha256"), (xxh3(), "xxh3"), (blake3(), "blake3")] {
            assert_eq!(hash.algorithm().name, name);
        }
    }
}
