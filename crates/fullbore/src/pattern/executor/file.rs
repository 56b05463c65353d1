//! One file of an executor: a small one is read with one request, a large one by all workers according to a plan.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::trials::{TrialKind, TrialList};
use super::worker::{ONE_REQUEST, Place};
use super::{Executor, Worker};
use crate::operation::{Fold, Search, Split};
use crate::pattern::fold::{fold, fold_bytes};
use crate::pattern::progress::Stats;
use crate::pattern::search::{search, search_bytes};
use crate::pattern::threads::held;
use crate::strategy::{
    Contenders, Plan, PlanInput, Planner, Purpose, RunStrategy, SMALL, Serial, Strategy, StrategySpec,
};
use fullbore_io::buf::BlockMemory;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{File, FileKind};
use fullbore_io::lock::{Condvar, Mutex};

/// The way in which a file is read.
#[derive(Debug)]
enum Arrival {
    /// In one request: the length in bytes of the file, which is in the worker's buffer.
    Read(usize),
    /// By a plan, or sequentially without one: the stamped file, and its length, if known.
    Other(File, Option<u64>),
}

impl Executor<'_> {
    /// Folds `operation` over a whole file. A small file is read with one request, a large one is planned and
    /// spread over all workers (one such file at a time), and one without a length is read sequentially.
    /// # Errors
    /// As [`Job::fold`](crate::Job::fold).
    pub fn fold<F: Fold>(
        &self,
        operation: &F,
        input: &File,
        worker: &mut Worker,
    ) -> Result<(F::State, Stats)> {
        match self.at_once(input, worker)? {
            Arrival::Read(len) => Ok((
                fold_bytes(operation, &worker.buffer()[..len]),
                Stats { bytes: len as u64, ..Stats::default() },
            )),
            Arrival::Other(input, len) => {
                let purpose = if operation.is_hash() { Purpose::Hash } else { Purpose::Fold };
                let terms = (purpose, operation.split(), operation.memory());
                self.with_plan(input, len, worker, terms, |input, choice| {
                    fold(operation, input, choice, self.progress)
                })
                .map(|(stats, state)| (state, stats))
            }
        }
    }

    /// Searches a whole file, as [`fold`](Self::fold) folds it; `emit` receives the results in file order.
    /// # Errors
    /// As [`Job::search`](crate::Job::search).
    pub fn search<S: Search>(
        &self,
        operation: &S,
        input: &File,
        worker: &mut Worker,
        emit: impl FnMut(S::Found) -> Result<ControlFlow<()>> + Send,
    ) -> Result<Stats> {
        match self.at_once(input, worker)? {
            Arrival::Read(len) => {
                search_bytes(operation, &worker.buffer()[..len], emit)?;
                Ok(Stats { bytes: len as u64, ..Stats::default() })
            }
            Arrival::Other(input, len) => {
                let terms = (Purpose::Search, Split::Any, operation.memory());
                self.with_plan(input, len, worker, terms, |input, choice| {
                    Ok((search(operation, input, choice, self.progress, emit)?, ()))
                })
                .map(|(stats, ())| stats)
            }
        }
    }

    /// Reads a small regular file, unless the user chose the method.
    fn at_once(&self, input: &File, worker: &mut Worker) -> Result<Arrival> {
        let any_method = self.plain && self.planned.is_none();
        if any_method {
            self.progress.check()?;
            let long = input.known_stamp().is_some_and(|stamp| stamp.len > ONE_REQUEST as u64);
            // The read of a long file that is not cached would start read-ahead; one of many files saves a call.
            if !long
                && self.many.load(Ordering::Relaxed)
                && let Some(len) = worker.read_unchanged_file(input)
            {
                self.progress.add(len as u64);
                return Ok(Arrival::Read(len));
            }
        }
        let input = input.stamped()?;
        let (before, len) = input.measure()?;
        let small = len.filter(|&len| any_method && len <= ONE_REQUEST as u64);
        let Some(small) = small.filter(|_| input.kind() == FileKind::Regular) else {
            return Ok(Arrival::Other(input, len));
        };
        let (small, bytes, mut read) = (small as usize, worker.buffer(), 0);
        while read < small {
            match input.read_at(&mut bytes[read..], read as u64)? {
                0 => return Err(Error::changed(input.path(), "truncated while being read").at(read as u64)),
                count => read += count,
            }
        }
        if read != small {
            return Err(Error::changed(input.path(), "extended while being read").at(small as u64));
        }
        input.check_unchanged(&before)?;
        self.progress.add(small as u64);
        Ok(Arrival::Read(small))
    }

    /// Runs `job` with the strategy for a file that is not read at once.
    fn with_plan<T>(
        &self,
        input: File,
        len: Option<u64>,
        worker: &Worker,
        (purpose, split, memory): (Purpose, Split, BlockMemory),
        job: impl FnOnce(&File, RunStrategy<'_>) -> Result<(Stats, T)>,
    ) -> Result<(Stats, T)> {
        if self.plain
            && self.planned.is_none()
            && len.is_some_and(|len| len < SMALL)
            && input.kind() == FileKind::Regular
        {
            let strategy = Strategy { budget: self.budget(), ..Strategy::plain() };
            return job(&input, (&strategy).into());
        }
        // Of the half of the memory that is not for pending results.
        let share = |files: u64| {
            let budget = self.budget() / 2 / files;
            (StrategySpec { budget: Some(budget), ..self.spec.clone() }, budget)
        };
        let many = self.many.load(Ordering::Relaxed);
        // Parts in another order would hold the records that their ends cut.
        let in_file_order = matches!(split, Split::Delimiter(_));
        let planner = |spec| {
            let planner = Planner::new(spec).with_text(self.spec_text).with_profile(self.profile);
            planner.in_memory(memory).in_file_order(in_file_order)
        };
        let facts = planner(self.spec).among_files(many).learn(purpose, Some(&input), len, None);
        let serial = Serial::of(split);
        let facts = PlanInput { serial, unit: split.unit(), ..facts };
        let others = many && self.workers() > 1;
        // Short files that the device delivers are read beside one another, each by one worker.
        let beside = others && facts.is_short() && facts.is_cold();
        let (half, budget) = share(1);
        let mut first = None;
        if !beside {
            let mut plan = planner(self.spec).decide(facts.clone(), Some(&input), None)?;
            // Other files may be read meanwhile.
            if others && plan.strategy.memory() > budget {
                plan = planner(&half).decide(PlanInput { budget, ..facts.clone() }, Some(&input), None)?;
            }
            first = Some(plan);
        }
        // A stream is read by one worker at a time, which must not keep the others from the files after it.
        let all =
            len.is_some() && self.workers() > 1 && first.as_ref().is_some_and(|plan| plan.most_workers() > 1);
        let (alone, waited) = if all { self.alone(worker.place) } else { (None, false) };
        // A file that was modified while it waited has not changed while it was read.
        let input = if waited { input.stamped_again()? } else { input };
        let mut plan = match first.filter(|_| !others || alone.is_some()) {
            Some(plan) => plan,
            None => {
                let serial = serial.or(Some(Serial::OthersAreBusy));
                let (spec, budget) = share(self.at_once.load(Ordering::Relaxed).max(1) as u64);
                planner(&spec).decide(PlanInput { serial, budget, ..facts }, Some(&input), None)?
            }
        };
        let trial = self.pick(&mut plan, len);
        if let Some(planned) = self.planned {
            planned(input.path(), &plan);
        }
        let (start, before) = (Instant::now(), held());
        // The longest record does not depend on the other files.
        let choice = RunStrategy { budget: self.budget(), unneeded: &worker.unneeded, ..(&plan).into() };
        let result = job(&plan.handle(&input), choice)?;
        // A search that ended early measured less.
        if let Some((list, len)) = trial.filter(|(_, len)| result.0.bytes >= *len) {
            // The results may wait for those of other files. Other workers go on meanwhile.
            let held = if plan.strategy.workers == 1 { held() - before } else { Duration::ZERO };
            let whole = start.elapsed();
            if held < whole / 2 {
                self.trials.lock().record(list, &plan.strategy, len, (whole - held).as_secs_f64());
            }
        }
        Ok(result)
    }

    /// Replaces the strategy of a file that is too short to try several by one of the contenders.
    fn pick(&self, plan: &mut Plan, len: Option<u64>) -> Option<(TrialList, u64)> {
        let len = len?;
        if !plan.plan_input.is_short() || !plan.plan_input.among_files {
            return None;
        }
        let kind =
            TrialKind { uncached: plan.plan_input.is_uncached(), serial: plan.plan_input.serial.is_some() };
        let Contenders { cached, uncached } = &plan.contenders;
        let list = if kind.uncached { uncached } else { cached };
        let Some((strategy, list)) = self.trials.lock().pick(list, kind, len) else {
            plan.contenders = Contenders::default();
            return None;
        };
        plan.try_one(Strategy { stripe: strategy.stripe_within(len), ..strategy });
        Some((list, len))
    }

    /// Waits until no other file has all workers. `None` if the file that has them delivers its results after the file at
    /// `place`, or is read for another call or at this place: its reader might wait for this file. Also
    /// `None` without a place among several files, where each may wait for any other. `true` if it had to wait.
    fn alone(&self, place: Option<Place>) -> (Option<AllWorkers<'_>>, bool) {
        let place = match place {
            None if self.many.load(Ordering::Relaxed) => return (None, false),
            place => place.unwrap_or_default(),
        };
        let mut waited = false;
        let mut big = self.big.lock();
        while let Some(other) = *big {
            if other.0 != place.0 || other.1 >= place.1 {
                return (None, waited);
            }
            waited = true;
            big = self.free.wait(big);
        }
        *big = Some(place);
        (Some(AllWorkers { big: &self.big, free: &self.free }), waited)
    }
}

/// Holds all workers for one file until it is dropped.
struct AllWorkers<'c> {
    big: &'c Mutex<Option<Place>>,
    free: &'c Condvar,
}

impl Drop for AllWorkers<'_> {
    fn drop(&mut self) {
        *self.big.lock() = None;
        self.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;
    use crate::operation::Part;
    use crate::pattern::executor::OrderedSender;
    use crate::pattern::progress::Progress;
    use fullbore_io::error::ErrorKind;
    use fullbore_io::probe;
    use fullbore_testkit::meanwhile;

    /// Counts the lines of a file, for `map_ordered`.
    fn count(
        file: &File,
        sender: &mut OrderedSender<'_, '_, u64>,
        worker: &mut Worker,
        executor: &Executor<'_>,
    ) -> Result<()> {
        let (lines, _) = executor.fold(&op::count_lines(), file, worker)?;
        sender.send(lines, 0).map(drop)
    }

    #[test]
    fn workers_alone_do_not_determine_how_a_file_is_read() {
        let progress = Progress::default();
        let plain = |text: &str| Executor::new(&text.parse().unwrap(), &progress).is_plain();
        assert!(plain("auto") && plain("workers=4") && plain("auto,workers=4"));
        assert!(!plain("method=mmap") && !plain("auto,request=64K"));
    }

    #[test]
    fn a_small_file_with_another_time_and_the_same_length_has_changed() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("some bytes");
        let (spec, progress) = (StrategySpec::default(), Progress::default());
        let (executor, file, mut worker) =
            (Executor::new(&spec, &progress), File::open(&path).unwrap(), Worker::default());
        assert!(matches!(executor.at_once(&file, &mut worker).unwrap(), Arrival::Read(10)));
        assert_eq!(worker.buffer()[..10], *b"some bytes");
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        let change = |second| {
            writer.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        let mut read = || executor.at_once(&file, &mut worker).err();
        let error = meanwhile(change, || (0..1_000_000).find_map(|_| read()));
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Changed));
    }

    /// A pipe that has no bytes yet does not keep the other workers from the files after it.
    #[test]
    fn a_silent_pipe_does_not_stop_the_files_after_it() {
        use std::io::Write;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let pipe = File::from_fd(reader.into(), "pipe").unwrap();
        let spec = StrategySpec { workers: Some(2), ..StrategySpec::default() };
        let progress = Progress::default();
        let executor = Executor::new(&spec, &progress);
        let inputs = [pipe, File::open(&path).unwrap(), File::open(&path).unwrap()];
        let counted = std::thread::scope(|scope| {
            let progress = &progress;
            scope.spawn(move || {
                // The bytes of the pipe come after those of the files.
                let begin = std::time::Instant::now();
                while progress.bytes_done() < 128 << 20 && begin.elapsed().as_secs() < 20 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                let early = progress.bytes_done() < 128 << 20;
                writer.write_all(if early { b"\n\n" } else { b"\n" }).unwrap();
                drop(writer);
            });
            let mut counted = Vec::new();
            let emit = |lines| {
                counted.push(lines);
                Ok(ControlFlow::Continue(()))
            };
            executor.map_ordered(inputs.iter(), count, emit).unwrap();
            counted
        });
        assert_eq!(counted, [1, 0, 0]);
    }

    /// A file that takes minutes is not read to its end after the last result that is needed.
    #[cfg(unix)]
    #[test]
    fn a_break_ends_the_runs_in_progress() {
        const LEN: u64 = 256 << 30;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("huge");
        std::fs::File::create(&path).unwrap().set_len(LEN).unwrap();
        let file = File::open(&path).unwrap();
        let spec = StrategySpec { workers: Some(2), ..StrategySpec::default() };
        let progress = Progress::default();
        let work = |huge: bool,
                    sender: &mut OrderedSender<'_, '_, u64>,
                    worker: &mut Worker,
                    executor: &Executor<'_>| {
            if huge {
                return count(&file, sender, worker, executor);
            }
            while progress.bytes_done() == 0 {
                std::thread::yield_now();
            }
            sender.send(1, 0).map(drop)
        };
        let executor = Executor::new(&spec, &progress);
        executor.map_ordered([false, true].into_iter(), work, |_| Ok(ControlFlow::Break(()))).unwrap();
        assert!(progress.bytes_done() < LEN / 2, "{} bytes", progress.bytes_done());
    }

    /// Places of different calls have no order: the result of an inner call may wait for an outer item that would wait for it.
    #[test]
    fn calls_may_be_nested() {
        struct Lengths;
        impl Search for Lengths {
            type Found = u64;
            fn search(&self, part: &Part<'_>) -> u64 {
                part.own().len() as u64
            }
        }
        const LEN: u64 = 40 << 20;
        let (_directory, path) = fullbore_testkit::ground::temporary_file(
            [&[b'x'; 99][..], b"\n"].concat().repeat(LEN as usize / 100),
        );
        let (len, spec) =
            (path.metadata().unwrap().len(), StrategySpec { workers: Some(2), ..StrategySpec::default() });
        let (progress, mut found) = (Progress::default(), 0);
        let executor = Executor::new(&spec, &progress);
        let inner = |_, sender: &mut OrderedSender<'_, '_, u64>, _: &mut Worker, executor: &Executor<'_>| {
            executor.map_ordered(
                [&path; 3].into_iter(),
                |path, sender, worker, executor| {
                    let file = worker.open(path)?;
                    executor.search(&Lengths, &file, worker, |len| sender.send(len, 0)).map(drop)
                },
                // Results of some weight wait for their turn.
                |len| sender.send(len, 1 << 20),
            )
        };
        let emit = |len| {
            found += len;
            Ok(ControlFlow::Continue(()))
        };
        executor.map_ordered(0..4, inner, emit).unwrap();
        assert_eq!(found, 12 * len);
    }

    #[test]
    fn the_memory_limit_holds_for_files_without_a_plan() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file(vec![b'x'; 3 << 19]);
        let longest = |most: &mut usize, bytes: &[u8]| *most = bytes.len().max(*most);
        let merge = |one: &mut usize, two: usize| *one = two.max(*one);
        let records = crate::fold_fn(|| 0, longest, merge).split(Split::Delimiter(b'\n'));
        let error = crate::Job::new().memory_limit(1 << 20).fold(&records, &path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
    }

    #[test]
    fn cold_files_read_beside_one_another_share_the_memory() {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..6).map(|number| directory.path().join(number.to_string())).collect();
        for path in &paths {
            std::fs::write(path, vec![b'\n'; 3 << 20]).unwrap();
            std::fs::File::options().write(true).open(path).unwrap().sync_all().unwrap();
            let file = File::open(path).unwrap();
            let _ = file.drop_cache();
            if probe::residency(&file, 0..3 << 20).ok().and_then(|found| found.share()) != Some(0.0) {
                return println!("skipped: the page cache of {} cannot be dropped", path.display());
            }
        }
        let spec = StrategySpec { workers: Some(2), budget: Some(16 << 20), ..StrategySpec::default() };
        let (plans, progress) = (Mutex::new(Vec::new()), Progress::default());
        let planned = |_: &std::path::Path, plan: &Plan| plans.lock().push(plan.strategy.clone());
        let files: Vec<_> = paths.iter().map(|path| File::open(path).unwrap()).collect();
        let mut sum = 0;
        let add = |lines| {
            sum += lines;
            Ok(ControlFlow::Continue(()))
        };
        Executor::new(&spec, &progress)
            .explained(&planned, None)
            .map_ordered(files.iter(), count, add)
            .unwrap();
        assert_eq!(sum, 6 * (3 << 20));
        for strategy in plans.into_inner() {
            assert!(strategy.workers == 1 && strategy.memory() <= (16 << 20) / 4, "{strategy}");
        }
    }
}
