//! Comparisons of two inputs.

use std::ops::ControlFlow;

use crate::input::Input;
use crate::job::Job;
use crate::pattern::{self, Comparison, Differences, Extent, Side, Stats};
use crate::strategy::Plan;
use fullbore_io::error::Result;
use fullbore_io::file::File;

/// Two inputs whose comparison is planned.
///
/// ```
/// use std::ops::ControlFlow;
/// use fullbore::Job;
/// use fullbore::pattern::{Comparison, Extent};
/// let job = Job::new();
/// let pair = job.pair(&b"some bytes"[..], &b"the bytes!"[..])?.skip([4, 3]);
/// assert_eq!(pair.compared(), Some(6));
/// let (found, _) = pair.compare(&Extent { limit: Some(6), ..Extent::default() })?;
/// assert_eq!(found, Comparison::Equal);
/// let mut offsets = Vec::new();
/// let (seen, _) = pair.differences(None, |offset, _, _| offset, |offset| {
///     offsets.push(offset);
///     Ok(ControlFlow::Continue(()))
/// })?;
/// assert_eq!((offsets, seen.end.map(|end| end.offset)), (vec![], Some(6)));
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug)]
pub struct PlannedPair<'a> {
    job: &'a Job,
    files: [File; 2],
    plans: [Plan; 2],
    skip: [u64; 2],
}

impl Job {
    /// Plans the comparison of two inputs.
    ///
    /// # Errors
    /// The system's, and those of [`Planner::plan_pair`](crate::strategy::Planner::plan_pair).
    pub fn pair<'l, 'r>(
        &self,
        left: impl Into<Input<'l>>,
        right: impl Into<Input<'r>>,
    ) -> Result<PlannedPair<'_>> {
        let files = [left.into().open_file()?.stamped()?, right.into().open_file()?.stamped()?];
        let plans = self.planner().plan_pair([&files[0], &files[1]])?;
        for (file, plan) in files.iter().zip(&plans) {
            self.emit_plan(file.path(), plan);
        }
        let files = [plans[0].handle(&files[0]), plans[1].handle(&files[1])];
        Ok(PlannedPair { job: self, files, plans, skip: [0; 2] })
    }
}

impl PlannedPair<'_> {
    /// Skips bytes at the start of each input.
    #[must_use]
    pub fn skip(self, skip: [u64; 2]) -> Self {
        Self { skip, ..self }
    }

    /// The number of bytes that both inputs have, if both lengths are known.
    pub fn compared(&self) -> Option<u64> {
        let len = |place: usize| Some(self.plans[place].plan_input.len?.saturating_sub(self.skip[place]));
        len(0).zip(len(1)).map(|(left, right)| left.min(right))
    }

    /// Finds the first difference.
    ///
    /// # Errors
    /// As [`pattern::compare`].
    pub fn compare(&self, extent: &Extent) -> Result<(Comparison, Stats)> {
        let [left, right] = self.sides();
        let (stats, found) = pattern::compare(&left, &right, extent, &self.job.progress)?;
        Ok((found, stats))
    }

    /// Finds every difference within `limit` bytes: `emit` receives the results of `find` in the order of the files.
    ///
    /// # Errors
    /// As [`pattern::differences`].
    pub fn differences<R: Send>(
        &self,
        limit: Option<u64>,
        find: impl Fn(u64, &[u8], &[u8]) -> R + Sync,
        emit: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<(Differences, Stats)> {
        let [left, right] = self.sides();
        let (stats, seen) = pattern::differences(&left, &right, limit, &self.job.progress, find, emit)?;
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
