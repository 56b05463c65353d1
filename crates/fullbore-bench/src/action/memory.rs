//! Reads and copies of memory: the roof of every path that moves bytes through memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock, Weak};
use std::time::Instant;

use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::lock::Mutex;
use fullbore::{Result, probe};
use serde::{Deserialize, Serialize};

use super::one_way::CACHE_LINE;
use super::settings::{Settings, number_or_text, settings};
use super::workload::{
    Contender, ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::{Labels, word};

/// The text in place of a number of workers that means 1, 2, 4 and so on up to the number of processors, which is the last.
const EACH: &str = "each";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemorySpec {
    #[serde(default)]
    kind: Kind,
    /// A number, or [`EACH`].
    #[serde(default = "each", deserialize_with = "number_or_text")]
    workers: String,
}

fn each() -> String {
    EACH.into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, Default)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Copies to a buffer that stays in the processor's cache, as a read from the page cache does.
    #[default]
    Copy,
    /// Reads of a byte of each cache line, as by a reader of a mapping.
    Read,
}

#[derive(Debug)]
struct MemoryWorkload {
    spec: MemorySpec,
    workers: usize,
    /// The memory that is read; set when the workload is opened.
    sources: Option<Arc<Vec<Buf>>>,
    span: u64,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    build(settings(given)?)
}

const MOST_WORKERS: usize = 128;

/// Memory of all processors: larger than the processor's caches, as far as they are known. With 64 MiB for each of two processors
/// and a third-level cache of 300 MiB, samples differed by a factor of 1.6; with 256 MiB for each, of 1.2.
const TOTAL: usize = 512 << 20;

/// The least memory of a processor.
const PART: usize = 64 << 20;

/// Size of a piece, and of a reader's buffer: it stays in the processor's cache.
const PIECE: usize = 256 << 10;

/// Returns the bytes of each of `processors`: less if all of them would take more than an eighth of the machine's memory.
fn part(memory: Option<u64>, processors: usize) -> usize {
    let most = memory.map_or(usize::MAX, |memory| (memory / 8) as usize / processors);
    ((TOTAL / processors).max(PART).min(most) / PIECE).max(1) * PIECE
}

/// The memory that all cells read, a part for each processor.
fn sources() -> Result<Arc<Vec<Buf>>> {
    static SOURCES: Mutex<Weak<Vec<Buf>>> = Mutex::new(Weak::new());
    let mut shared = SOURCES.lock();
    if let Some(sources) = shared.upgrade() {
        return Ok(sources);
    }
    let part = part(probe::machine().memory(), processors());
    // Each thread gets memory near its processor.
    let sources = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || source(part));
        let threads: Vec<_> = (0..processors()).map(start).collect();
        let filled = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().expect("memory is filled without a panic"),
            Err(_) => source(part),
        };
        threads.into_iter().map(filled).collect::<Result<Vec<_>>>()
    })?;
    let sources = Arc::new(sources);
    *shared = Arc::downgrade(&sources);
    Ok(sources)
}

fn processors() -> usize {
    probe::processors().min(MOST_WORKERS)
}

fn build(spec: MemorySpec) -> ParsedWorkload {
    let workers = match spec.workers.as_str() {
        EACH => processors(),
        number => match number.parse() {
            Ok(workers @ 1..=MOST_WORKERS) => workers,
            _ => {
                return Err(format!(
                    "workers: {number} is not a number from 1 to {MOST_WORKERS}, nor {EACH:?}"
                ));
            }
        },
    };
    Ok(Box::new(MemoryWorkload { spec, workers, sources: None, span: 0 }))
}

/// The numbers of workers that stand for all: powers of two below the number of processors, and that number.
fn counts(processors: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |count| Some(count * 2));
    powers.take_while(|&count| count < processors).chain([processors]).collect()
}

impl Workload for MemoryWorkload {
    fn labels(&self) -> Labels {
        Labels {
            order: Some("sequential".into()),
            workers: Some(self.workers as u32),
            strategy: Some(format!("workers={}", self.spec.workers)),
            ..Labels::of(word(self.spec.kind), "memory")
        }
    }

    fn contenders(&self, _context: &RunContext<'_>) -> Result<Option<Vec<Contender>>> {
        let one = |workers: usize| {
            let spec = MemorySpec { workers: workers.to_string(), ..self.spec.clone() };
            let workload = Box::new(Self { spec, workers, sources: None, span: 0 });
            Contender { strategy: format!("workers={workers}"), workload }
        };
        Ok((self.spec.workers == EACH).then(|| counts(processors()).into_iter().map(one).collect()))
    }

    fn shares(&self) -> usize {
        if self.spec.workers == EACH { counts(processors()).len() } else { 1 }
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn open(&mut self, _context: &RunContext<'_>) -> Result<()> {
        self.sources = Some(sources()?);
        Ok(())
    }

    fn prepare(&mut self, iteration: Iteration, _context: &RunContext<'_>) -> Result<ExpectedState> {
        self.span = iteration.span;
        Ok(ExpectedState::default())
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, _context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || {
            self.pass(0);
            Ok(())
        })
    }

    fn run(&mut self, _context: &RunContext<'_>) -> Result<RunResult> {
        let (bytes, seconds) = self.pass(self.span);
        Ok(RunResult { bytes, seconds: Some(seconds), ..RunResult::default() })
    }
}

impl MemoryWorkload {
    /// Reads or copies about `bytes`, but all of the memory at least once; returns the number of bytes and of seconds.
    ///
    /// The workers take pieces until none is left. With equal shares, the time would be that of the slowest worker, which is 10%
    /// longer in a short run if another program takes its processor for some milliseconds.
    fn pass(&self, bytes: u64) -> (u64, f64) {
        let workers = self.workers;
        let sources = self.sources.as_ref().expect("the workload is open");
        // Slices are shared between threads, buffers are not.
        let parts: Vec<&[u8]> = sources.iter().map(Buf::data).collect();
        let whole: usize = parts.iter().map(|part| part.len() / PIECE).sum();
        let pieces = ((bytes / PIECE as u64) as usize / whole).max(1) * whole;
        // Set once the threads are started, which may be fewer than requested.
        let ready: OnceLock<(Barrier, AtomicUsize)> = OnceLock::new();
        // The time of all begins with the first.
        let begin = OnceLock::new();
        let work = |worker: usize| {
            let mut target = vec![2u8; PIECE];
            let (barrier, taken) = ready.wait();
            barrier.wait();
            let clock = *begin.get_or_init(Instant::now);
            let mut bytes = 0;
            let mine = parts.iter().cycle().skip(worker).step_by(workers).take(parts.len());
            for part in mine.cycle().flat_map(|part| part.chunks_exact(PIECE)) {
                if taken.fetch_add(1, Ordering::Relaxed) >= pieces {
                    break;
                }
                let part = std::hint::black_box(part);
                match self.spec.kind {
                    Kind::Copy => target.copy_from_slice(part),
                    Kind::Read => target[0] = touch(part),
                }
                std::hint::black_box(&mut target);
                bytes += PIECE as u64;
            }
            (bytes, clock.elapsed().as_secs_f64())
        };
        std::thread::scope(|scope| {
            let work = &work;
            let start = |worker| std::thread::Builder::new().spawn_scoped(scope, move || work(worker)).ok();
            let others: Vec<_> = (1..workers).map_while(start).collect();
            let _ = ready.set((Barrier::new(1 + others.len()), AtomicUsize::new(0)));
            let mine = work(0);
            let others = others.into_iter().filter_map(|other| other.join().ok());
            others.fold(mine, |(bytes, seconds), (more, other)| (bytes + more, seconds.max(other)))
        })
    }
}

/// Memory with content, on huge pages as far as the system has them: the roof is the fastest way through memory.
fn source(len: usize) -> Result<Buf> {
    let pool = Pool::new(1, len).map_err(|error| Error::io("allocate memory", "", error).without_path());
    let mut source = pool?.take().expect("a new pool is full");
    source.place(0, len);
    source.data_mut().fill(1);
    Ok(source)
}

fn touch(data: &[u8]) -> u8 {
    data.iter().step_by(CACHE_LINE).fold(0, |sum, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_of_two_and_the_number_of_processors_is_measured() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(2), [1, 2]);
        assert_eq!(counts(6), [1, 2, 4, 6]);
        assert_eq!(counts(8), [1, 2, 4, 8]);
    }

    #[test]
    fn the_number_of_workers_is_a_label() {
        let labels = |text: &str| parse(toml::from_str(text).unwrap()).unwrap().labels();
        let fixed = labels("kind = 'read'\nworkers = '3'");
        assert_eq!((fixed.operation.as_str(), fixed.workers), ("read", Some(3)));
        assert_eq!(labels("").strategy.as_deref(), Some("workers=each"));
    }

    #[test]
    fn the_memory_exceeds_caches_and_takes_an_eighth_of_the_machine_at_most() {
        assert_eq!([part(None, 1), part(Some(64 << 30), 2), part(None, 128)], [TOTAL, TOTAL / 2, PART]);
        let each = part(Some(4 << 30), 96);
        assert!(96 * each <= 512 << 20 && each >= 5 << 20 && each.is_multiple_of(PIECE), "{each}");
        assert_eq!(part(Some(1 << 20), 128), PIECE);
    }

    #[test]
    fn the_workers_move_all_of_the_memory() {
        let all = Arc::new((0..3).map(|_| source(8 << 20).unwrap()).collect::<Vec<_>>());
        for (kind, workers) in [(Kind::Copy, 1), (Kind::Copy, 2), (Kind::Read, 3), (Kind::Read, 5)] {
            let spec = MemorySpec { kind, workers: each() };
            let workload = MemoryWorkload { spec, workers, sources: Some(Arc::clone(&all)), span: 0 };
            for (span, expected) in [(0, 24 << 20), (50 << 20, 48 << 20)] {
                let (bytes, seconds) = workload.pass(span);
                assert_eq!(bytes, expected);
                assert!(seconds > 0.0);
            }
        }
        assert_eq!(touch(&[1; 640]), 10, "ten lines");
    }
}
