//! What is done with the bytes. An operation never sees the strategy: it gets a run of bytes and its offset.
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

pub use count::{Count, CountState, Counts, Encoding};
pub use fold::Fold;
pub use kernel::Kernel;
pub use registry::{Operation, ParseOperationError, parse, registry};
pub use search::{Part, Search};

use std::fmt;
use std::num::NonZeroUsize;

use crate::buf::Pool;

/// How a file may be cut before the parts are given to an operation separately (the split contract).
///
/// ```
/// use fullbore::operation::{Kernel, Split, parse};
/// assert_eq!(parse("upper", Kernel::Simd)?.split(), Split::Any);
/// // swab exchanges two bytes: a cut between them would leave both where they are.
/// assert_eq!(parse("swab", Kernel::Simd)?.split(), Split::Aligned(2.try_into()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Each byte stands alone: cut anywhere.
    Any,
    /// Cut only at offsets that are a multiple of so many bytes.
    Aligned(NonZeroUsize),
    /// Cut only behind this byte, which ends a record. A record must fit in memory. For folds.
    Delimiter(u8),
    /// Cut anywhere, but neighbouring parts share so many bytes: every run of one byte more lies in exactly one part. For
    /// folds.
    Overlap(usize),
    /// Not at all: from front to back, by one worker.
    Sequential,
}

impl Split {
    /// Of how many bytes every part but the last must be a multiple.
    pub(crate) fn unit(self) -> usize {
        match self {
            Self::Aligned(unit) => unit.get(),
            _ => 1,
        }
    }
}

/// An operation that replaces each byte run with another of the same length at the same place.
///
/// **Law:** for every cut that [`split`](Self::split) allows, applying the parts gives what applying the whole
/// gives, byte for byte.
///
/// ```
/// use fullbore::operation::{Split, Transform};
///
/// /// Turns every bit.
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
    /// How the file may be cut.
    ///
    /// ```
    /// use fullbore::operation::{Kernel, Split, parse};
    /// assert_eq!(parse("xor:0102ff", Kernel::Simd)?.split(), Split::Any, "the offset tells where the key stands");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn split(&self) -> Split;

    /// Writes the transformed `source` into `target`. Both are the same length; `offset` is where the run
    /// stands in the file, in bytes.
    ///
    /// ```
    /// use fullbore::operation::{Kernel, parse};
    /// let xor = parse("xor:0001", Kernel::Simd)?;
    /// let (mut even, mut odd) = ([0; 2], [0; 2]);
    /// xor.apply(0, &[0, 0], &mut even);
    /// xor.apply(1, &[0, 0], &mut odd);
    /// assert_eq!((even, odd), ([0, 1], [1, 0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]);

    /// As [`apply`](Self::apply) with the result replacing the run.
    ///
    /// ```
    /// use fullbore::operation::{Kernel, parse};
    /// let mut data = *b"some bytes";
    /// parse("upper", Kernel::Simd)?.apply_in_place(0, &mut data);
    /// assert_eq!(&data, b"SOME BYTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn apply_in_place(&self, offset: u64, data: &mut [u8]);

    /// Whether it changes nothing, so that the bytes need not be seen.
    ///
    /// ```
    /// use fullbore::operation::{Kernel, parse};
    /// assert!(parse("none", Kernel::Simd)?.changes_nothing());
    /// assert!(!parse("upper", Kernel::Simd)?.changes_nothing());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn changes_nothing(&self) -> bool {
        false
    }
}

/// A source of bytes that can make any run of its data without the runs before it.
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
    /// Fills `target` with the bytes that stand at `offset`, in bytes.
    ///
    /// ```
    /// use fullbore::operation::{Generate, generate::Random};
    /// let (mut whole, mut end) = ([0; 100], [0; 40]);
    /// Random::new(1).fill(0, &mut whole);
    /// Random::new(1).fill(60, &mut end);
    /// assert_eq!(whole[60..], end);
    /// ```
    fn fill(&self, offset: u64, target: &mut [u8]);

    /// As [`fill`](Self::fill) for a buffer that was [primed](Self::prime), which may keep what it holds.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// use fullbore::operation::{Generate, generate::Stamped};
    /// let stamped = Stamped::new(1, 8192);
    /// let mut pool = Pool::new(1, 8192)?;
    /// stamped.prime(&mut pool);
    /// let mut buf = pool.take().unwrap();
    /// buf.place(4096, 8192);
    /// stamped.renew(4096, buf.data_mut()); // writes a few bytes a block
    /// let mut filled = vec![0; 8192];
    /// stamped.fill(4096, &mut filled);
    /// assert_eq!(buf.data(), filled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn renew(&self, offset: u64, target: &mut [u8]) {
        self.fill(offset, target);
    }

    /// Prepares the buffers of a worker before its first request.
    ///
    /// ```
    /// use fullbore::buf::Pool;
    /// use fullbore::operation::{Generate, generate::Stamped};
    /// let mut pool = Pool::new(1, 4096)?;
    /// Stamped::new(1, 4096).prime(&mut pool);
    /// let mut buf = pool.take().unwrap();
    /// buf.place(0, 4096);
    /// assert!(buf.data().iter().any(|&byte| byte != 0), "the template stands in it already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn prime(&self, pool: &mut Pool) {
        let _ = pool;
    }
}
