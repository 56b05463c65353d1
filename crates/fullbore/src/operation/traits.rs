//! The traits of operations: transforms, generators, folds and searches, and the rule for cutting a file.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;

use fullbore_io::buf::{BlockMemory, Pool};

/// Rule for cutting a file into parts that an operation processes separately (the split contract).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Split {
    /// Each byte is independent: cut anywhere.
    Any,
    /// Cut only at multiples of this number of bytes: `swab` could not swap a pair of bytes that a cut separates.
    Aligned(NonZeroUsize),
    /// Cut only after this byte, which ends a record. A record may take a quarter of the memory. For folds.
    Delimiter(u8),
    /// Cut anywhere, but adjacent parts share this number of bytes, n, so every run of n + 1 bytes is whole in exactly one part.
    /// For folds.
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

/// An operation that replaces each run of bytes by another of the same length at the same offset. Its `Display` form names it in
/// error messages.
///
/// **Law:** for every cut that [`split`](Self::split) allows, the transformed parts equal the transformed whole.
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

    /// Writes the transformed `source` into `target`, of the same length; `offset` is that of the run in the file.
    fn apply(&self, offset: u64, source: &[u8], target: &mut [u8]);

    /// Like [`apply`](Self::apply), but the result replaces the run.
    fn apply_in_place(&self, offset: u64, data: &mut [u8]);

    /// Returns the memory in which the operation may receive blocks: by default buffers. Hidden, because returning
    /// [`BlockMemory::REVIEWED`] for an operation that was not reviewed would be unsound, although the function is safe.
    #[doc(hidden)]
    fn memory(&self) -> BlockMemory {
        BlockMemory::BUFFER
    }

    /// True if the operation changes nothing, so that the bytes need not be read into memory.
    fn changes_nothing(&self) -> bool {
        false
    }
}

/// A source of bytes that can produce any run of its data without the runs before it. Programs name it by its `Display` form.
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

    /// Returns the memory in which the operation may fill blocks: by default buffers. Hidden, because returning
    /// [`BlockMemory::REVIEWED`] for an operation that was not reviewed would be unsound, although the function is safe.
    #[doc(hidden)]
    fn memory(&self) -> BlockMemory {
        BlockMemory::BUFFER
    }

    /// Prepares the buffers of a worker before its first request.
    fn prime(&self, pool: &mut Pool) {
        let _ = pool;
    }
}

/// An operation that reads bytes and keeps a state: counts, hashes, histograms.
///
/// **Law:** for every cut that [`split`](Self::split) allows, folding the parts and merging the states in file order
/// equals folding the whole. Therefore `merge` must be associative; it need not be commutative. Because of the
/// law, one operation works on a large file with many workers, on a pipe, and on many files.
///
/// [`fold_fn`](crate::fold_fn) creates a fold from three functions.
pub trait Fold: Send + Sync {
    /// State of a run of bytes.
    type State: Send;

    /// Returns the rule for cutting the file: by default anywhere.
    fn split(&self) -> Split {
        Split::Any
    }

    /// Returns the memory in which the operation may receive blocks: by default buffers. Hidden, because returning
    /// [`BlockMemory::REVIEWED`] for an operation that was not reviewed would be unsound, although the function is safe.
    #[doc(hidden)]
    fn memory(&self) -> BlockMemory {
        BlockMemory::BUFFER
    }

    /// True for a hash, which takes more CPU time per byte than a count: strategies are measured for both.
    #[doc(hidden)]
    fn is_hash(&self) -> bool {
        false
    }

    /// Returns the state of no bytes: merging it changes nothing.
    fn identity(&self) -> Self::State;

    /// Adds the bytes at `offset`, which follow those that `state` covers, if any.
    fn block(&self, state: &mut Self::State, offset: u64, bytes: &[u8]);

    /// Adds the state of the bytes that follow those of `left`.
    fn merge(&self, left: &mut Self::State, right: Self::State);
}

/// An operation that finds something in the records of a file (its lines, for example), with results in file order.
///
/// **Law:** the result for a record depends on that record and on [`reach`](Self::reach) records before and after it.
/// For every cut between records, the concatenated results of the parts therefore equal the result of the whole.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fullbore::Job;
/// use fullbore::operation::{Part, Search};
///
/// /// Finds the lines that begin a table.
/// struct Tables;
/// impl Search for Tables {
///     type Found = Vec<String>;
///     fn search(&self, part: &Part<'_>) -> Vec<String> {
///         let lines = part.own().split(|&byte| byte == b'\n');
///         lines.filter(|line| line.starts_with(b"[")).map(|line| String::from_utf8_lossy(line).into()).collect()
///     }
/// }
///
/// let mut all = Vec::new();
/// Job::new().search(&Tables, "Cargo.toml", |found| {
///     all.extend(found);
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!(all[0], "[package]");
/// # Ok::<(), fullbore::Error>(())
/// ```
pub trait Search: Send + Sync {
    /// Result of a part.
    type Found: Send;

    /// Returns the memory in which the operation may receive blocks: by default buffers. Hidden, because returning
    /// [`BlockMemory::REVIEWED`] for an operation that was not reviewed would be unsound, although the function is safe.
    #[doc(hidden)]
    fn memory(&self) -> BlockMemory {
        BlockMemory::BUFFER
    }

    /// Returns the byte that ends a record: by default a newline.
    fn delimiter(&self) -> u8 {
        b'\n'
    }

    /// Returns the number of records before and after one that affect its result (lines of context): by default 0.
    fn reach(&self) -> usize {
        0
    }

    /// Returns the result for the part's [own](Part::own) records. Several threads receive parts, in any order.
    fn search(&self, part: &Part<'_>) -> Self::Found;

    /// Returns the memory of a result in bytes besides its own size: pending results stay within the budget.
    fn weight(&self, found: &Self::Found) -> usize {
        let _ = found;
        0
    }
}

/// Whole records of a file, with those around them that affect the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The records.
    pub bytes: &'a [u8],
    /// Range of `bytes` to search. Around it are as many records as [`Search::reach`] requires, or fewer at the ends
    /// of the file.
    pub own: Range<usize>,
    /// Offset of `bytes` in the file, in bytes.
    pub offset: u64,
}

impl<'a> Part<'a> {
    /// Returns the records to search. Only the last one of a file may lack its delimiter.
    pub fn own(&self) -> &'a [u8] {
        &self.bytes[self.own.clone()]
    }
}
