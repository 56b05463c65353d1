//! Folds: from the bytes of a file to a value, part by part.

use super::Split;

/// An operation that reads bytes and keeps a state: counts, hashes, histograms.
///
/// **Law:** for every cut that [`split`](Self::split) allows, folding the parts and merging the states in file order
/// equals folding the whole. So `merge` must be associative; it need not be commutative. The law allows the same
/// operation on one huge file with many workers, a pipe, and many files.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::operation::Fold;
/// use fullbore::pattern::{Progress, fold};
/// use fullbore::strategy::Strategy;
///
/// /// Counts the occurrences of each byte.
/// struct Histogram;
/// impl Fold for Histogram {
///     type State = [u64; 256];
///     fn identity(&self) -> Self::State {
///         [0; 256]
///     }
///     fn block(&self, counts: &mut Self::State, _offset: u64, bytes: &[u8]) {
///         bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
///     }
///     fn merge(&self, left: &mut Self::State, right: Self::State) {
///         left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
///     }
/// }
///
/// let (stats, counts) = fold(&Histogram, &File::open("Cargo.toml")?, &Strategy::plain(), &Progress::default())?;
/// assert_eq!(counts.iter().sum::<u64>(), stats.bytes);
/// # Ok::<(), fullbore::Error>(())
/// ```
pub trait Fold: Send + Sync {
    /// State of a run of bytes.
    type State: Send;

    /// Returns the rule for cutting the file: by default anywhere.
    fn split(&self) -> Split {
        Split::Any
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
