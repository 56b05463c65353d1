//! One file: a small one is read at once, a large one by all workers as planned.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, PoisonError};

use super::worker::ONE_REQUEST;
use super::{Executor, Worker};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind};
use crate::operation::{Fold, Search, Split};
use crate::pattern::{Stats, fold, fold_bytes, search, search_bytes};
use crate::strategy::{Planner, Purpose, Serial, Strategy};

/// Files up to this long are read by one worker: threads cost more than they bring (as `strategy::choose` has it), in bytes.
const SMALL: u64 = 2 << 20;

/// How a file arrives.
#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    /// All of it is in the worker's buffer: so many bytes.
    Read(usize),
    /// By a plan, or without one from front to back; the length, if it has one.
    Other(Option<u64>),
}

impl Executor<'_> {
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
    /// use fullbore::pattern::{Executor, Progress, Worker};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let executor = Executor::new(&spec, &progress);
    /// let (stats, bytes) = executor.fold(&Bytes, &File::open("Cargo.toml")?, &mut Worker::default())?;
    /// assert_eq!(stats.bytes, bytes);
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`fold`](crate::pattern::fold).
    pub fn fold<F: Fold>(
        &self,
        operation: &F,
        input: &File,
        worker: &mut Worker,
    ) -> Result<(Stats, F::State)> {
        match self.at_once(input, worker)? {
            Arrival::Read(len) => Ok((
                Stats { bytes: len as u64, ..Stats::default() },
                fold_bytes(operation, &worker.bytes[..len]),
            )),
            Arrival::Other(len) => {
                let sequential = operation.split() == Split::Sequential;
                self.with_plan(input, len, worker.place, (Purpose::Fold, sequential), |strategy| {
                    fold(operation, input, strategy, self.progress)
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
    /// use fullbore::pattern::{Executor, Progress, Worker};
    /// let (spec, progress) = (Default::default(), Progress::default());
    /// let (executor, mut lines) = (Executor::new(&spec, &progress), 0);
    /// executor.search(&Lines, &File::open("Cargo.toml")?, &mut Worker::default(), |count| {
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
        worker: &mut Worker,
        emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Stats> {
        match self.at_once(input, worker)? {
            Arrival::Read(len) => {
                search_bytes(operation, &worker.bytes[..len], emit)?;
                Ok(Stats { bytes: len as u64, ..Stats::default() })
            }
            Arrival::Other(len) => {
                self.with_plan(input, len, worker.place, (Purpose::Search, false), |strategy| {
                    search(operation, input, strategy, self.progress, emit)
                })
            }
        }
    }

    /// Reads a small regular file, unless it matters by which method it is read.
    fn at_once(&self, input: &File, worker: &mut Worker) -> Result<Arrival> {
        let any_method = self.plain && self.planned.is_none();
        if any_method {
            self.not_stopped()?;
            if let Some(len) = worker.read_settled_file(input) {
                self.progress.add(len as u64);
                return Ok(Arrival::Read(len));
            }
        }
        let (before, len) = input.measure()?;
        let small = len.filter(|&len| any_method && len <= ONE_REQUEST as u64);
        let Some(small) = small.filter(|_| input.kind() == FileKind::Regular) else {
            return Ok(Arrival::Other(len));
        };
        let (small, bytes, mut read) = (small as usize, worker.buffer(), 0);
        while read < small {
            match input.read_at(&mut bytes[read..], read as u64)? {
                0 => {
                    let what = "the file became shorter while it was read";
                    return Err(Error::new(Kind::Changed, "read", input.path(), what).at(read as u64));
                }
                count => read += count,
            }
        }
        if read != small {
            let what = "the file became longer while it was read";
            return Err(Error::new(Kind::Changed, "trust", input.path(), what).at(small as u64));
        }
        if input.stamp()? != before {
            let what = "the file was modified while it was read";
            return Err(Error::new(Kind::Changed, "trust", input.path(), what));
        }
        self.progress.add(small as u64);
        Ok(Arrival::Read(small))
    }

    /// Runs `job` with the strategy for a file that is not read at once.
    fn with_plan<T>(
        &self,
        input: &File,
        len: Option<u64>,
        place: u64,
        (purpose, sequential): (Purpose, bool),
        job: impl FnOnce(&Strategy) -> Result<T>,
    ) -> Result<T> {
        if self.plain
            && self.planned.is_none()
            && len.is_some_and(|len| len < SMALL)
            && input.kind() == FileKind::Regular
        {
            return job(&Strategy::plain());
        }
        let planner = Planner::new(self.spec).with_text(self.spec_text).with_profile(self.profile);
        let mut facts = planner.learn(purpose, Some(input), len, None);
        // The other workers are free for other files.
        facts.serial = sequential.then_some(Serial::EachStepNeedsTheLast);
        let mut plan = planner.decide(facts.clone(), Some(input), None)?;
        let all = plan.strategy.workers > 1 && self.workers > 1;
        let alone = if all { self.alone(place) } else { None };
        if all && alone.is_none() {
            facts.serial = Some(Serial::OthersAreBusy);
            plan = planner.decide(facts, Some(input), None)?;
        }
        if let Some(planned) = self.planned {
            planned(input.path(), &plan);
        }
        job(&plan.strategy)
    }

    /// Waits until no other file has all workers. `None` where one has them whose results come later than those of the file
    /// at `place`: it may have to wait for this one.
    fn alone(&self, place: u64) -> Option<AllWorkers<'_>> {
        let mut big = self.big.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(other) = *big {
            if other > place {
                return None;
            }
            big = self.free.wait(big).unwrap_or_else(PoisonError::into_inner);
        }
        *big = Some(place);
        Some(AllWorkers { big: &self.big, free: &self.free })
    }
}

/// One file has all workers, until this is dropped.
struct AllWorkers<'c> {
    big: &'c Mutex<Option<u64>>,
    free: &'c Condvar,
}

impl Drop for AllWorkers<'_> {
    fn drop(&mut self) {
        *self.big.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Progress;
    use crate::strategy::StrategySpec;

    #[test]
    fn a_small_file_of_the_same_length_and_another_time_is_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "some bytes").unwrap();
        let (spec, progress) = (StrategySpec::default(), Progress::default());
        let (executor, file, mut worker) =
            (Executor::new(&spec, &progress), File::open(&path).unwrap(), Worker::default());
        assert_eq!(executor.at_once(&file, &mut worker).unwrap(), Arrival::Read(10));
        assert_eq!(worker.bytes[..10], *b"some bytes");
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = std::fs::File::options().write(true).open(&path).unwrap();
                let mut second = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    second += 1;
                    writer
                        .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(second))
                        .unwrap();
                }
            });
            let error = (0..1_000_000).find_map(|_| executor.at_once(&file, &mut worker).err());
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(error.map(|error| error.kind()), Some(Kind::Changed));
        });
    }
}
