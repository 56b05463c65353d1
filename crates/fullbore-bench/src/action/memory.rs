//! Reads and copies of memory: the roof of every path that moves bytes through memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Instant;

use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::{Result, probe};
use serde::Deserialize;

use super::one_way::CACHE_LINE;
use super::settings::{Settings, number_or_text, settings};
use super::workload::{
    Contender, ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::Labels;

/// In place of a number of workers: 1, 2, 4 and so on up to the number of processors, which is the last.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Copied to a buffer that stays in the processor's cache, as by a read from the page cache.
    #[default]
    Copy,
    /// Touched, a byte of each cache line, as by a reader of a mapping.
    Read,
}

#[derive(Debug)]
struct MemoryWorkload {
    spec: MemorySpec,
    workers: usize,
    span: u64,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    build(settings(given)?)
}

/// Each has 64 MiB of its own.
const MOST_WORKERS: usize = 128;

fn build(spec: MemorySpec) -> ParsedWorkload {
    let workers = match spec.workers.as_str() {
        EACH => probe::processors(),
        number => match number.parse() {
            Ok(workers @ 1..=MOST_WORKERS) => workers,
            _ => {
                return Err(format!(
                    "workers: {number} is not a number from 1 to {MOST_WORKERS}, nor {EACH:?}"
                ));
            }
        },
    };
    Ok(Box::new(MemoryWorkload { spec, workers, span: 0 }))
}

/// The numbers of workers that stand for all: powers of two below the number of processors, and that number.
fn counts(processors: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |count| Some(count * 2));
    powers.take_while(|&count| count < processors).chain([processors]).collect()
}

impl Workload for MemoryWorkload {
    fn labels(&self) -> Labels {
        let operation = match self.spec.kind {
            Kind::Copy => "copy",
            Kind::Read => "read",
        };
        Labels {
            order: Some("sequential".into()),
            workers: Some(self.workers as u32),
            strategy: Some(format!("workers={}", self.spec.workers)),
            ..Labels::of(operation, "memory")
        }
    }

    fn contenders(&self, _context: &RunContext<'_>) -> Result<Option<Vec<Contender>>> {
        let one = |workers: usize| {
            let spec = MemorySpec { workers: workers.to_string(), ..self.spec.clone() };
            let workload = Box::new(Self { spec, workers, span: 0 });
            Contender { strategy: format!("workers={workers}"), workload }
        };
        Ok((self.spec.workers == EACH).then(|| counts(probe::processors()).into_iter().map(one).collect()))
    }

    fn shares(&self) -> usize {
        if self.spec.workers == EACH { counts(probe::processors()).len() } else { 1 }
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn open(&mut self, _context: &RunContext<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, iteration: Iteration, _context: &RunContext<'_>) -> Result<ExpectedState> {
        self.span = iteration.span;
        Ok(ExpectedState::default())
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, _context: &RunContext<'_>) -> Result<()> {
        repeat_until(ramp.enough, || pass(self.spec.kind, self.workers, 0).map(drop))
    }

    fn run(&mut self, _context: &RunContext<'_>) -> Result<RunResult> {
        let (bytes, seconds) = pass(self.spec.kind, self.workers, self.span)?;
        Ok(RunResult { bytes, seconds: Some(seconds), ..RunResult::default() })
    }
}

/// Memory of a worker: larger than the processor's caches.
const PART: usize = 64 << 20;

/// Reads or copies about `bytes`; returns the number of bytes and of seconds.
///
/// The workers take pieces until none is left. With equal shares, the time would be that of the slowest worker, which is 10% longer in
/// a short run if another program takes its processor for some milliseconds.
fn pass(kind: Kind, workers: usize, bytes: u64) -> Result<(u64, f64)> {
    /// Size of a piece, and of a reader's buffer: it stays in the processor's cache.
    const PIECE: usize = 256 << 10;
    let rounds = (bytes / (workers * PART) as u64).max(1) as usize;
    let pieces = rounds * workers * (PART / PIECE);
    // Set once the threads are started, which may be fewer than requested.
    let ready: OnceLock<(Barrier, AtomicUsize)> = OnceLock::new();
    let work = || {
        let source = source();
        let mut target = vec![2u8; PIECE];
        let (barrier, taken) = ready.wait();
        barrier.wait();
        let (source, clock) = (source?, Instant::now());
        let mut bytes = 0;
        for part in source.data().chunks_exact(PIECE).cycle() {
            if taken.fetch_add(1, Ordering::Relaxed) >= pieces {
                break;
            }
            let part = std::hint::black_box(part);
            match kind {
                Kind::Copy => target.copy_from_slice(part),
                Kind::Read => target[0] = touch(part),
            }
            std::hint::black_box(&mut target);
            bytes += PIECE as u64;
        }
        Ok((bytes, clock.elapsed().as_secs_f64()))
    };
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..workers).map_while(start).collect();
        let _ = ready.set((Barrier::new(1 + others.len()), AtomicUsize::new(0)));
        let mine = work();
        let all = std::iter::once(mine).chain(others.into_iter().filter_map(|other| other.join().ok()));
        all.reduce(|one, other| {
            let ((bytes, seconds), (more, others)) = (one?, other?);
            Ok((bytes + more, seconds.max(others)))
        })
        .expect("there is a worker")
    })
}

/// Memory with content, on huge pages as far as the system has them: the roof is the fastest way through memory.
fn source() -> Result<Buf> {
    let pool = Pool::new(1, PART).map_err(|error| Error::io("allocate memory", "", error).without_path());
    let mut source = pool?.take().expect("a new pool is full");
    source.place(0, PART);
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
        assert!(parse(toml::from_str("workers = '0'").unwrap()).is_err());
    }

    #[test]
    fn every_worker_moves_its_bytes() {
        for (kind, workers) in [(Kind::Copy, 1), (Kind::Copy, 2), (Kind::Read, 2)] {
            let (bytes, seconds) = pass(kind, workers, 0).unwrap();
            assert_eq!(bytes, workers as u64 * (64 << 20));
            assert!(seconds > 0.0);
        }
        assert_eq!(touch(&[1; 640]), 10, "ten lines");
    }
}
