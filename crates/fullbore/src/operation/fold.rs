//! Folding: from the bytes of a file to a value, part by part.

use super::Split;

/// An operation that looks at bytes and keeps a state: counts, hashes, histograms.
///
/// **Law:** for every cut that [`split`](Self::split) allows, folding the parts and merging the states in the order of the
/// file gives what folding the whole gives. So `merge` must be associative; it need not be commutative.
/// From that follow one huge file over many workers, a pipe, and many files.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::operation::Fold;
/// use fullbore::pattern::{Progress, fold};
/// use fullbore::strategy::Strategy;
///
/// /// How often each byte occurs.
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
    /// What is known of a run of bytes.
    type State: Send;

    /// How the file may be cut; anywhere, if not said otherwise.
    ///
    /// ```
    /// # use fullbore::operation::{Fold, Split};
    /// /// The longest line, in bytes.
    /// struct Longest;
    /// impl Fold for Longest {
    ///     type State = usize;
    ///     fn split(&self) -> Split {
    ///         Split::Delimiter(b'\n') // so `block` sees whole lines
    ///     }
    ///     # fn identity(&self) -> usize { 0 }
    ///     # fn merge(&self, left: &mut usize, right: usize) { *left = right.max(*left) }
    ///     fn block(&self, longest: &mut usize, _offset: u64, lines: &[u8]) {
    ///         *longest = lines.split(|&byte| byte == b'\n').map(<[u8]>::len).fold(*longest, usize::max);
    ///     }
    /// }
    /// assert_eq!(Longest.split(), Split::Delimiter(b'\n'));
    /// ```
    fn split(&self) -> Split {
        Split::Any
    }

    /// The state of no bytes: merged with another, it changes nothing.
    ///
    /// ```
    /// # use fullbore::operation::Fold;
    /// struct Bytes;
    /// impl Fold for Bytes {
    ///     type State = u64;
    ///     fn identity(&self) -> u64 { 0 }
    ///     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
    ///     fn merge(&self, left: &mut u64, right: u64) { *left += right }
    /// }
    /// let mut state = 7;
    /// Bytes.merge(&mut state, Bytes.identity());
    /// assert_eq!(state, 7);
    /// ```
    fn identity(&self) -> Self::State;

    /// Goes on with the bytes that stand at `offset`, right behind those that `state` has seen, if any.
    ///
    /// ```
    /// # use fullbore::operation::Fold;
    /// # struct Bytes;
    /// # impl Fold for Bytes {
    /// #     type State = u64;
    /// #     fn identity(&self) -> u64 { 0 }
    /// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
    /// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
    /// # }
    /// let mut state = Bytes.identity();
    /// Bytes.block(&mut state, 0, b"some ");
    /// Bytes.block(&mut state, 5, b"bytes");
    /// assert_eq!(state, 10);
    /// ```
    fn block(&self, state: &mut Self::State, offset: u64, bytes: &[u8]);

    /// Takes over the state of the bytes right behind those of `left`.
    ///
    /// ```
    /// # use fullbore::operation::Fold;
    /// # struct Bytes;
    /// # impl Fold for Bytes {
    /// #     type State = u64;
    /// #     fn identity(&self) -> u64 { 0 }
    /// #     fn block(&self, count: &mut u64, _offset: u64, bytes: &[u8]) { *count += bytes.len() as u64 }
    /// #     fn merge(&self, left: &mut u64, right: u64) { *left += right }
    /// # }
    /// let mut left = 5;
    /// Bytes.merge(&mut left, 6);
    /// assert_eq!(left, 11);
    /// ```
    fn merge(&self, left: &mut Self::State, right: Self::State);
}
