//! The common driver of all operations that map small groups of bytes independently.

use super::kernel::{Kernel, Pass, element_done};
use super::traits::{Split, Transform};
use std::fmt;
use std::num::NonZeroUsize;

/// A map of one group of `N` bytes, independent of its position.
pub(super) trait GroupMap<const N: usize>: Copy + Send + Sync {
    /// Returns the group's new bytes. Must be `#[inline(always)]` and free of branches to vectorise.
    fn map(&self, group: [u8; N]) -> [u8; N];
}

impl<F: Fn([u8; N]) -> [u8; N] + Copy + Send + Sync, const N: usize> GroupMap<N> for F {
    #[inline(always)]
    fn map(&self, group: [u8; N]) -> [u8; N] {
        self(group)
    }
}

/// An operation that maps each group; bytes after the last whole group stay unchanged.
pub(super) struct Groupwise<M, const N: usize> {
    /// The operation in the user's notation.
    pub(super) spec: String,
    pub(super) kernel: Kernel,
    pub(super) map: M,
}

impl<M, const N: usize> fmt::Display for Groupwise<M, N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.spec)
    }
}

impl<M: GroupMap<N>, const N: usize> Transform for Groupwise<M, N> {
    fn split(&self) -> Split {
        match NonZeroUsize::new(N) {
            Some(group) if N > 1 => Split::Aligned(group),
            _ => Split::Any,
        }
    }

    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
        debug_assert!(offset.is_multiple_of(N as u64), "{self}: cut inside a group, at {offset}");
        self.kernel.run(Across { map: self.map, source, target });
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        debug_assert!(offset.is_multiple_of(N as u64), "{self}: cut inside a group, at {offset}");
        self.kernel.run(InPlace { map: self.map, data });
    }
}

struct Across<'a, M, const N: usize> {
    map: M,
    source: &'a [u8],
    target: &'a mut [u8],
}

impl<M: GroupMap<N>, const N: usize> Pass for Across<'_, M, N> {
    #[inline(always)]
    fn run<const SIMD: bool>(self) {
        let map = self.map;
        let (from, from_rest) = self.source.as_chunks::<N>();
        let (to, to_rest) = self.target.as_chunks_mut::<N>();
        for (to, from) in to.iter_mut().zip(from) {
            *to = map.map(*from);
            element_done::<SIMD>();
        }
        to_rest.copy_from_slice(from_rest);
    }
}

struct InPlace<'a, M, const N: usize> {
    map: M,
    data: &'a mut [u8],
}

impl<M: GroupMap<N>, const N: usize> Pass for InPlace<'_, M, N> {
    #[inline(always)]
    fn run<const SIMD: bool>(self) {
        let map = self.map;
        for group in self.data.as_chunks_mut::<N>().0 {
            *group = map.map(*group);
            element_done::<SIMD>();
        }
    }
}
