//! Reads and copies of memory: the roof of every path that moves bytes through memory.

use std::sync::{Barrier, OnceLock};
use std::time::Instant;

use fullbore::{Result, probe};
use serde::Deserialize;

use super::settings::{Settings, settings};
use super::workload::{
    Contender, ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::Labels;

/// In place of a number of workers: 1, 2, 4 and so on up to the number of processors, which is the last.
const EACH: &str = "each";

const CACHE_LINE: usize = 64;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemorySpec {
    #[serde(default)]
    kind: Kind,
    /// A number, or [`EACH`].
    #[serde(default = "each")]
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

fn build(spec: MemorySpec) -> ParsedWorkload {
    let workers = match spec.workers.as_str() {
        EACH => probe::processors(),
        number => match number.parse() {
            Ok(workers @ 1..) => workers,
            _ => return Err(format!("workers: {number} is not a number from 1 on, nor {EACH:?}")),
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
        repeat_until(ramp.enough, || {
            pass(self.spec.kind, self.workers, 0);
            Ok(())
        })
    }

    fn run(&mut self, _context: &RunContext<'_>) -> Result<RunResult> {
        let (bytes, seconds) = pass(self.spec.kind, self.workers, self.span);
        Ok(RunResult { bytes, seconds: Some(seconds), ..RunResult::default() })
    }
}

/// Reads or copies about `bytes`; returns the number of bytes and of seconds.
fn pass(kind: Kind, workers: usize, bytes: u64) -> (u64, f64) {
    /// Larger than the processor's caches.
    const PART: usize = 64 << 20;
    /// Size of a reader's buffer: it stays in the processor's cache.
    const BUFFER: usize = 256 << 10;
    let rounds = (bytes / (workers * PART) as u64).max(1);
    // Set once the threads are started, which may be fewer than requested.
    let ready: OnceLock<Barrier> = OnceLock::new();
    let seconds: Vec<f64> = std::thread::scope(|scope| {
        let work = || {
            let source = vec![1u8; PART];
            let mut target = vec![2u8; BUFFER];
            ready.wait().wait();
            let clock = Instant::now();
            for _ in 0..rounds {
                for part in source.chunks_exact(BUFFER) {
                    let part = std::hint::black_box(part);
                    match kind {
                        Kind::Copy => target.copy_from_slice(part),
                        Kind::Read => target[0] = touch(part),
                    }
                    std::hint::black_box(&mut target);
                }
            }
            clock.elapsed().as_secs_f64()
        };
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..workers).map_while(start).collect();
        let _ = ready.set(Barrier::new(1 + others.len()));
        let mine = work();
        std::iter::once(mine).chain(others.into_iter().filter_map(|other| other.join().ok())).collect()
    });
    (rounds * PART as u64 * seconds.len() as u64, seconds.into_iter().fold(0.0, f64::max))
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
            let (bytes, seconds) = pass(kind, workers, 0);
            assert_eq!(bytes, workers as u64 * (64 << 20));
            assert!(seconds > 0.0);
        }
        assert_eq!(touch(&[1; 640]), 10, "ten lines");
    }
}
