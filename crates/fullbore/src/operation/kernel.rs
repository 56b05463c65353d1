//! Selection of the machine code: the processor's widest vectors, or one element at a time.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// The machine code that an operation runs. Both kernels produce the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernel {
    /// The processor's widest vector instructions, detected at run time.
    #[default]
    Simd,
    /// The plain loop, one element at a time: the reference for vectors.
    Scalar,
}

impl fmt::Display for Kernel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Simd => "simd",
            Self::Scalar => "scalar",
        })
    }
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
