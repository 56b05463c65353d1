//! Several hashes of each block in place: one fold, with the cuts that all of them allow.

use super::{Hash, Hasher};
use crate::operation::{Fold, Split};

/// Bytes that all hashes process before the next ones: a multiple of every unit of the shipped algorithms.
const RUN: usize = 64 << 10;

/// Several hashes as one operation.
///
/// It can be cut if all of them can; otherwise a [`PipelinedHashes`](super::PipelinedHashes) is faster.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::operation::hash::{Hash, MultiHash};
/// use fullbore::pattern::{Progress, fold};
/// use fullbore::strategy::Strategy;
/// let both = [Hash::default(), Hash::named("crc32c")?];
/// let (file, progress) = (File::open("Cargo.toml")?, Progress::default());
/// let (_, sums) = fold(&MultiHash::new(&both), &file, &Strategy::plain(), &progress)?;
/// let bytes = std::fs::read("Cargo.toml")?;
/// let sums: Vec<_> = sums.into_iter().map(|sum| sum.finish()).collect();
/// assert_eq!(sums, [both[0].of(&bytes), both[1].of(&bytes)]);
/// assert!(MultiHash::new(&both).may_be_cut());
/// assert!(!MultiHash::new(&[Hash::default(), Hash::named("md5")?]).may_be_cut());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct MultiHash<'h> {
    hashes: &'h [Hash],
}

impl<'h> MultiHash<'h> {
    /// Combines `hashes`.
    #[must_use]
    pub fn new(hashes: &'h [Hash]) -> Self {
        Self { hashes }
    }

    /// True if several workers can hash one file.
    #[must_use]
    pub fn may_be_cut(self) -> bool {
        self.split() != Split::Sequential
    }
}

impl Fold for MultiHash<'_> {
    type State = Vec<Box<dyn Hasher>>;

    fn is_hash(&self) -> bool {
        true
    }

    fn split(&self) -> Split {
        let both = |left, right| match (left, right) {
            (Split::Any, other) | (other, Split::Any) => other,
            (Split::Aligned(left), Split::Aligned(right)) => {
                // A common multiple: the larger unit if the smaller divides it, else the product.
                let (small, large) = (left.min(right), left.max(right));
                let unit = if large.get().is_multiple_of(small.get()) {
                    Some(large)
                } else {
                    left.checked_mul(right)
                };
                unit.map_or(Split::Sequential, Split::Aligned)
            }
            _ => Split::Sequential,
        };
        self.hashes.iter().map(|hash| hash.algorithm().split).fold(Split::Any, both)
    }

    fn identity(&self) -> Self::State {
        self.hashes.iter().map(Hash::identity).collect()
    }

    fn block(&self, sums: &mut Self::State, offset: u64, bytes: &[u8]) {
        // One run at a time, so that it is still in the processor's cache for the last hash.
        let mut at = offset;
        for part in bytes.chunks(RUN) {
            sums.iter_mut().for_each(|sum| sum.update(at, part));
            at += part.len() as u64;
        }
    }

    fn merge(&self, left: &mut Self::State, right: Self::State) {
        left.iter_mut().zip(right).for_each(|(left, right)| left.append(right));
    }
}
