//! Selection of an operation's machine code (the processor's widest vectors, or one element at a time), and the driver of
//! all operations that map small groups of bytes independently.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::sync::atomic::{Ordering, compiler_fence};

use super::traits::{Split, Transform};
use fullbore_io::buf::BlockMemory;

/// The machine code that an operation runs. Both kernels produce the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernel {
    /// The processor's widest vector instructions, detected at run time.
    #[default]
    Simd,
    /// The plain loop, one element at a time: the reference for vectors.
    Scalar,
}

/// A pass over some bytes, written once as plain loops and compiled for both kernels.
pub(super) trait Pass {
    /// Makes the pass and calls [`element_done`] with `SIMD` after each element. Must be `#[inline(always)]`, so that
    /// the loops are compiled for the instructions of the caller.
    fn run<const SIMD: bool>(self);
}

/// Ends one element of a pass. In the scalar kernel the compiler may not move the next element's loads and stores above
/// this call, so it cannot vectorise the loop; the fence costs no instruction.
#[inline(always)]
pub(super) fn element_done<const SIMD: bool>() {
    if !SIMD {
        compiler_fence(Ordering::SeqCst);
    }
}

static PROCESSOR: LazyLock<pulp::Arch> = LazyLock::new(pulp::Arch::new);

impl Kernel {
    pub(super) fn run(self, pass: impl Pass) {
        match self {
            Self::Simd => PROCESSOR.dispatch(Vectorised(pass)),
            Self::Scalar => pass.run::<false>(),
        }
    }
}

struct Vectorised<P>(P);

impl<P: Pass> pulp::NullaryFnOnce for Vectorised<P> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run::<true>();
    }
}

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
    fn memory(&self) -> BlockMemory {
        BlockMemory::REVIEWED
    }

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
