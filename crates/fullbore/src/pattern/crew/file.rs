//! One file: a small one is read at once, a large one by all workers as planned.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, PoisonError};

use super::{Crew, Scratch};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, Snapshot};
use crate::operation::{Fold, Search, Split};
use crate::pattern::{Outcome, fold, fold_bytes, search, search_bytes};
use crate::strategy::{Model, Strategy, plan};

/// Files up to this long are read in one request, in bytes.
const ONE_REQUEST: u64 = 1 << 20;

/// Files up to this long are read by one worker: threads cost more than they bring (as `strategy::choose` has it), in bytes.
const SMALL: u64 = 2 << 20;

/// What a large file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Workers fold its parts.
    Fold,
    /// One worker folds it, each step on the one before.
    Steps,
    /// Workers search its parts, and what they find is given out before all of it was read.
    Search,
}

impl Crew<'_> {
    /// Folds `operation` over a whole file: a small one is read at once, a large one planned and spread over all workers (one
    /// such file at a time), what has no length is read from front to back.
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
    /// use fullbore::file::File;
    /// use fullbore::pattern::{Crew, Monitor, Scratch};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let crew = Crew::new(&wish, &monitor);
    /// let (outcome, bytes) = crew.fold(&Bytes, &File::open("Cargo.toml")?, &mut Scratch::default())?;
    /// assert_eq!(outcome.bytes, bytes);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fold`](crate::pattern::fold).
    pub fn fold<F: Fold>(
        &self,
        operation: &F,
        input: &File,
        scratch: &mut Scratch,
    ) -> Result<(Outcome, F::State)> {
        let (before, len) = input.measure()?;
        match self.at_once(input, &before, len, scratch)? {
            Some(bytes) => Ok((
                Outcome { bytes: bytes.len() as u64, ..Outcome::default() },
                fold_bytes(operation, bytes),
            )),
            None => {
                let purpose =
                    if operation.split() == Split::Sequential { Purpose::Steps } else { Purpose::Fold };
                self.with_plan(input, len, scratch.place, purpose, |strategy| {
                    fold(operation, input, strategy, self.monitor)
                })
            }
        }
    }

    /// Searches a whole file, as [`fold`](Self::fold) folds it; `emit` is given the results in the order of the file.
    ///
    /// ```
    /// # use fullbore::operation::{Part, Search};
    /// # struct Lines;
    /// # impl Search for Lines {
    /// #     type Found = usize;
    /// #     fn search(&self, part: &Part<'_>) -> usize { part.own().iter().filter(|&&byte| byte == b'\n').count() }
    /// # }
    /// use std::ops::ControlFlow;
    /// use fullbore::file::File;
    /// use fullbore::pattern::{Crew, Monitor, Scratch};
    /// let (wish, monitor) = (Default::default(), Monitor::default());
    /// let (crew, mut lines) = (Crew::new(&wish, &monitor), 0);
    /// crew.search(&Lines, &File::open("Cargo.toml")?, &mut Scratch::default(), |count| {
    ///     lines += count;
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert!(lines > 10);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`search`](crate::pattern::search).
    pub fn search<S: Search>(
        &self,
        operation: &S,
        input: &File,
        scratch: &mut Scratch,
        emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Outcome> {
        let (before, len) = input.measure()?;
        match self.at_once(input, &before, len, scratch)? {
            Some(bytes) => {
                search_bytes(operation, bytes, emit)?;
                Ok(Outcome { bytes: bytes.len() as u64, ..Outcome::default() })
            }
            None => self.with_plan(input, len, scratch.place, Purpose::Search, |strategy| {
                search(operation, input, strategy, self.monitor, emit)
            }),
        }
    }

    /// The bytes of a small regular file; `None` for all others, and where it matters by which method it is read.
    fn at_once<'s>(
        &self,
        input: &File,
        before: &Snapshot,
        len: Option<u64>,
        scratch: &'s mut Scratch,
    ) -> Result<Option<&'s [u8]>> {
        let Some(len) = len.filter(|&len| len <= ONE_REQUEST) else { return Ok(None) };
        if input.kind() != FileKind::Regular || !self.plain || self.planned.is_some() {
            return Ok(None);
        }
        self.not_stopped()?;
        // One byte more tells a file that grows.
        scratch.bytes.resize(ONE_REQUEST as usize + 1, 0);
        let mut read = 0;
        while read < len as usize {
            match input.read_at(&mut scratch.bytes[read..], read as u64)? {
                0 => {
                    let what = "the file became shorter while it was read";
                    return Err(Error::new(Kind::Changed, "read", input.path(), what).at(read as u64));
                }
                count => read += count,
            }
        }
        if read as u64 != len {
            let what = "the file became longer while it was read";
            return Err(Error::new(Kind::Changed, "trust", input.path(), what).at(len));
        }
        if input.snapshot()? != *before {
            let what = "the file was modified while it was read";
            return Err(Error::new(Kind::Changed, "trust", input.path(), what));
        }
        self.monitor.add(len);
        Ok(Some(&scratch.bytes[..read]))
    }

    /// Runs `job` with the strategy for a file that is not read at once.
    fn with_plan<T>(
        &self,
        input: &File,
        len: Option<u64>,
        place: u64,
        purpose: Purpose,
        job: impl FnOnce(&Strategy) -> Result<T>,
    ) -> Result<T> {
        if self.plain
            && self.planned.is_none()
            && len.is_some_and(|len| len < SMALL)
            && input.kind() == FileKind::Regular
        {
            return job(&Strategy::plain());
        }
        let mut plan = plan(Some(input), len, None, self.wish, self.asked, self.profile)?;
        if purpose == Purpose::Fold && plan.strategy.model != Model::Striped {
            plan = plan.for_comparing(input, self.wish);
        }
        if purpose == Purpose::Steps && plan.strategy.workers > 1 {
            // The other workers are free for other files.
            plan.notes.push("workers=1: each step needs the one before".into());
            plan.strategy.workers = 1;
        }
        let all = plan.strategy.workers > 1 && self.workers > 1;
        let alone = if all { self.alone(place) } else { None };
        if all && alone.is_none() {
            plan.notes.push("workers=1: the others are at a file that comes later".into());
            plan.strategy.workers = 1;
        }
        if let Some(planned) = self.planned {
            planned(input.path(), &plan);
        }
        job(&plan.strategy)
    }

    /// Waits until no other file has all workers. `None` where one has them whose results come later than those of the file
    /// at `place`: it may have to wait for this one.
    fn alone(&self, place: u64) -> Option<Alone<'_>> {
        let mut big = self.big.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(other) = *big {
            if other > place {
                return None;
            }
            big = self.free.wait(big).unwrap_or_else(PoisonError::into_inner);
        }
        *big = Some(place);
        Some(Alone { big: &self.big, free: &self.free })
    }
}

/// One file has all workers, until this is dropped.
struct Alone<'c> {
    big: &'c Mutex<Option<u64>>,
    free: &'c Condvar,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        *self.big.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Monitor;
    use crate::strategy::Wish;

    #[test]
    fn a_small_file_of_the_same_length_and_another_time_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "some bytes").unwrap();
        let (wish, monitor) = (Wish::default(), Monitor::default());
        let (crew, file, mut scratch) =
            (Crew::new(&wish, &monitor), File::open(&path).unwrap(), Scratch::default());
        let (before, len) = file.measure().unwrap();
        assert_eq!(crew.at_once(&file, &before, len, &mut scratch).unwrap(), Some(&b"some bytes"[..]));
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        writer.set_modified(std::time::UNIX_EPOCH).unwrap();
        let error = crew.at_once(&file, &before, len, &mut scratch).unwrap_err();
        assert_eq!(error.kind(), Kind::Changed, "{error}");
    }
}
