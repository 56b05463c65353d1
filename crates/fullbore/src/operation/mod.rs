//! Computations on the bytes. An operation never sees the strategy: it receives a run of bytes and its offset.
//!
//! ```
//! use fullbore::operation::{Kernel, parse};
//! let shift = parse("shift:1", Kernel::Simd)?;
//! let mut data = *b"HAL";
//! shift.apply_in_place(0, &mut data);
//! assert_eq!(&data, b"IBM");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod case;
mod count;
#[doc(hidden)]
pub mod duplicates;
mod fold;
pub mod generate;
mod groupwise;
pub mod hash;
mod integer;
mod kernel;
#[cfg(test)]
mod laws;
mod none;
mod registry;
mod rotate;
mod search;
mod shift;
mod swab;
mod xor;

/// The shipped transforms as functions, for [`op`](crate::op).
pub(crate) mod typed {
    pub use super::case::{lower, upper};
    pub use super::rotate::{caesar, rot13};
    pub use super::shift::shift;
    pub use super::swab::swab;
    pub use super::xor::xor;
}

pub use count::{Count, CountState, Counts, Encoding};
pub use fold::Fold;
#[doc(hidden)]
pub use kernel::Kernel;
#[doc(hidden)]
pub use registry::{Operation, ParseOperationError, parse, registry};
pub use search::{Part, Search};

use std::fmt;
use std::num::NonZeroUsize;

use fullbore_io::buf::Pool;

/// Rule for cutting a file into parts that an operation processes separately (the split contract).
///
/// ```
/// use fullbore::operation::{Kernel, Split, parse};
/// assert_eq!(parse("upper", Kernel::Simd)?.split(), Split::Any);
/// // swab exchanges two bytes of a pair: a cut inside the pair would leave both in place.
/// assert_eq!(parse("swab", Kernel::Simd)?.split(), Split::Aligned(2.try_into()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Each byte is independent: cut anywhere.
    Any,
    /// Cut only at multiples of this number of bytes.
    Aligned(NonZeroUsize),
    /// Cut only after this byte, which ends a record. A record must fit in memory. For folds.
    Delimiter(u8),
    /// Cut anywhere, but adjacent parts share this number of bytes: every run of one byte more is inside exactly one
    /// part. For folds.
    Overlap(usize),
    /// No cuts: one worker, from front to back.
    Sequential,
}

impl Split {
    /// Number of bytes of which the length of every part but the last must be a multiple.
    pub(crate) fn unit(self) -> usize {
        match self {
            Self::Aligned(unit) => unit.get(),
            _ => 1,
        }
    }
}

/// An operation that replaces each run of bytes by another of the same length at the same offset.
///
/// **Law:** for every cut that [`split`](Self::split) allows, the transformed parts equal the transformed whole, byte
/// for byte.
///
/// ```
/// use fullbore::operation::{Split, Transform};
///
/// /// Inverts every bit.
/// struct Complement;
/// impl std::fmt::Display for Complement {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("complement")
///     }
/// }
/// impl Transform for Complement {
///     fn split(&self) -> Split {
///         Split::Any
///     }
///     fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]) {
///         target.copy_from_slice(source);
///         self.apply_in_place(offset, target);
///     }
///     fn apply_in_place(&self, _offset: u64, data: &mut [u8]) {
///         data.iter_mut().for_each(|byte| *byte = !*byte);
///     }
/// }
///
/// let mut target = [0; 2];
/// Complement.apply(0, &[0x00, 0xf0], &mut target);
/// assert_eq!(target, [0xff, 0x0f]);
/// ```
pub trait Transform: fmt::Display + Send + Sync {
    /// Returns the rule for cutting the file.
    fn split(&self) -> Split;

    /// Writes the transformed `source` into `target`. Both have the same length; `offset` is the offset of the run in
    /// the file, in bytes.
    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]);

    /// Like [`apply`](Self::apply), but the result replaces the run.
    fn apply_in_place(&self, offset: u64, data: &mut [u8]);

    /// True if the operation changes nothing, so that the bytes need not be read into memory.
    fn changes_nothing(&self) -> bool {
        false
    }
}

/// A source of bytes that can produce any run of its data without the runs before it.
///
/// ```
/// use fullbore::operation::Generate;
///
/// /// 0, 1, 2 … 255, 0 …
/// struct Counting;
/// impl std::fmt::Display for Counting {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("counting")
///     }
/// }
/// impl Generate for Counting {
///     fn fill(&self, offset: u64, target: &mut [u8]) {
///         (offset..).zip(target).for_each(|(place, byte)| *byte = place as u8);
///     }
/// }
///
/// let mut run = [0; 3];
/// Counting.fill(255, &mut run);
/// assert_eq!(run, [255, 0, 1]);
/// ```
pub trait Generate: fmt::Display + Send + Sync {
    /// Fills `target` with the bytes from `offset` on.
    fn fill(&self, offset: u64, target: &mut [u8]);

    /// Like [`fill`](Self::fill) for a buffer that was [primed](Self::prime), whose contents may be reused.
    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.fill(offset, target);
    }

    /// Prepares the buffers of a worker before its first request.
    fn prime(&self, pool: &mut Pool) {
        let _ = pool;
    }
}
