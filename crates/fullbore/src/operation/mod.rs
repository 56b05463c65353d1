//! What is done with the bytes. An operation never sees the strategy: it gets a run of bytes and its offset.
#![forbid(unsafe_code)]

mod case;
pub mod generate;
mod groupwise;
mod integer;
mod kernel;
#[cfg(test)]
mod laws;
mod none;
mod registry;
mod rotate;
mod shift;
mod swab;
mod xor;

pub use kernel::Kernel;
pub use registry::{Operation, ParseOperationError, parse, registry};

use std::fmt;
use std::num::NonZeroUsize;

use crate::buf::Pool;

/// How a file may be cut before the parts are given to an operation separately (the split contract).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Each byte stands alone: cut anywhere.
    Any,
    /// Cut only at offsets that are a multiple of so many bytes.
    Aligned(NonZeroUsize),
}

/// An operation that replaces each byte run with another of the same length at the same place.
///
/// **Law:** for every cut that [`split`](Self::split) allows, applying the parts gives what applying the whole
/// gives, byte for byte.
pub trait Transform: fmt::Display + Send + Sync {
    /// How the file may be cut.
    fn split(&self) -> Split;

    /// Writes the transformed `source` into `target`. Both are the same length; `offset` is where the run
    /// stands in the file, in bytes.
    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]);

    /// As [`apply`](Self::apply) with the result replacing the run.
    fn apply_in_place(&self, offset: u64, data: &mut [u8]);

    /// Whether it changes nothing, so that the bytes need not be seen.
    fn changes_nothing(&self) -> bool {
        false
    }
}

/// A source of bytes that can make any run of its data without the runs before it.
pub trait Generate: fmt::Display + Send + Sync {
    /// Fills `target` with the bytes that stand at `offset`, in bytes.
    fn fill(&self, offset: u64, target: &mut [u8]);

    /// As [`fill`](Self::fill) for a buffer that was [primed](Self::prime), which may keep what it holds.
    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.fill(offset, target);
    }

    /// Prepares the buffers of a worker before its first request.
    fn prime(&self, pool: &mut Pool) {
        let _ = pool;
    }
}
