//! Comparisons of two planned inputs.

use std::ops::ControlFlow;

use fullbore_io::error::Result;
use fullbore_io::file::File;

use crate::pattern::{self, CompareOptions, Comparison, Differences, Progress, Side, Stats};
use crate::strategy::Plan;

/// Two inputs whose comparison is planned.
///
/// ```
/// use std::ops::ControlFlow;
/// use fullbore::Job;
/// use fullbore::pattern::{Comparison, Difference, CompareOptions};
/// let job = Job::new();
/// let pair = job.pair(&b"some bytes"[..], &b"the bytes!"[..])?.skip([4, 3]);
/// assert_eq!(pair.common_len(), Some(6));
/// let (found, _) = pair.compare(&CompareOptions { limit: Some(6), ..CompareOptions::default() })?;
/// assert_eq!(found, Comparison::Equal);
/// let mut offsets = Vec::new();
/// let find = |offset, left: &[u8], right: &[u8]| -> Vec<u64> {
///     Difference::between(offset, left, right).map(|difference| difference.offset).collect()
/// };
/// let (seen, _) = pair.differences(None, find, |found| {
///     offsets.extend(found);
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!((offsets, seen.end.map(|end| end.offset)), (vec![], Some(6)));
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug)]
pub struct PlannedPair<'a> {
    pub(crate) progress: &'a Progress,
    pub(crate) files: [File; 2],
    pub(crate) plans: [Plan; 2],
    pub(crate) skip: [u64; 2],
}

impl PlannedPair<'_> {
    /// Skips bytes at the start of each input.
    #[must_use]
    pub fn skip(self, skip: [u64; 2]) -> Self {
        Self { skip, ..self }
    }

    /// Returns the number of bytes that both inputs have after the positions at which they start and the bytes skipped, if both
    /// lengths are known.
    pub fn common_len(&self) -> Option<u64> {
        let len = |place: usize| {
            let before = self.files[place].start().saturating_add(self.skip[place]);
            Some(self.plans[place].plan_input.len?.saturating_sub(before))
        };
        len(0).zip(len(1)).map(|(left, right)| left.min(right))
    }

    /// Finds the first difference.
    ///
    /// # Errors
    /// Those of every [run](crate::Job).
    pub fn compare(&self, options: &CompareOptions) -> Result<(Comparison, Stats)> {
        let [left, right] = self.sides();
        let (stats, found) = pattern::compare(&left, &right, options, self.progress)?;
        Ok((found, stats))
    }

    /// Finds every difference within the first `limit` bytes (`None`: all). On any worker, `find` receives runs that differ in
    /// their first byte and perhaps in others, with the offset of that byte from the first byte compared;
    /// [`Difference::between`](crate::pattern::Difference::between) lists the bytes that differ. `emit` receives the results of
    /// `find` in the order of the files, one at a time; `Break` ends the comparison.
    ///
    /// # Errors
    /// As [`compare`](Self::compare), and those of `emit`.
    pub fn differences<R: Send>(
        &self,
        limit: Option<u64>,
        find: impl Fn(u64, &[u8], &[u8]) -> R + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<(Differences, Stats)> {
        let [left, right] = self.sides();
        let (stats, seen) = pattern::differences(&left, &right, limit, self.progress, find, emit)?;
        Ok((seen, stats))
    }

    fn sides(&self) -> [Side<'_>; 2] {
        [0, 1].map(|place| Side {
            file: &self.files[place],
            choice: (&self.plans[place]).into(),
            skip: self.skip[place],
        })
    }
}
