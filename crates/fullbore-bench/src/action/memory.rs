//! Copies from memory to memory: the roof of every path that copies.

use std::sync::{Barrier, OnceLock};
use std::time::Instant;

use fullbore::{Result, probe};

use super::context::RunContext;
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunResult, Settings, Workload, repeat_until, settings,
};
use crate::document::Labels;

/// A trial in which every processor copies from memory to a buffer, the upper limit of reads from the page cache.
#[derive(Debug)]
struct MemoryCopyWorkload {
    span: u64,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let NoSettings {} = settings(given)?;
    Ok(Box::new(MemoryCopyWorkload { span: 0 }))
}

impl Workload for MemoryCopyWorkload {
    fn labels(&self) -> Labels {
        Labels {
            operation: "copy".into(),
            method: "memory".into(),
            order: Some("sequential".into()),
            ..Labels::default()
        }
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
            copy(0);
            Ok(())
        })
    }

    fn run(&mut self, _context: &RunContext<'_>) -> Result<RunResult> {
        let (bytes, seconds) = copy(self.span);
        Ok(RunResult { bytes, seconds: Some(seconds), ..RunResult::default() })
    }
}

/// Copies about `bytes`; returns the number of bytes and of seconds.
fn copy(bytes: u64) -> (u64, f64) {
    /// Larger than the processor's caches.
    const PART: usize = 64 << 20;
    /// Size of a reader's buffer: it stays in the processor's cache.
    const BUFFER: usize = 256 << 10;
    let workers = probe::processors();
    let rounds = (bytes / (workers * PART) as u64).max(1);
    // Set once the threads are started, which may be fewer than requested.
    let ready: OnceLock<Barrier> = OnceLock::new();
    let seconds: Vec<f64> = std::thread::scope(|scope| {
        let copy = || {
            let source = vec![1u8; PART];
            let mut target = vec![2u8; BUFFER];
            ready.wait().wait();
            let clock = Instant::now();
            for _ in 0..rounds {
                for part in source.chunks_exact(BUFFER) {
                    target.copy_from_slice(std::hint::black_box(part));
                    std::hint::black_box(&mut target);
                }
            }
            clock.elapsed().as_secs_f64()
        };
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, copy).ok();
        let copiers: Vec<_> = (1..workers).map_while(start).collect();
        let _ = ready.set(Barrier::new(1 + copiers.len()));
        let mine = copy();
        std::iter::once(mine).chain(copiers.into_iter().filter_map(|copier| copier.join().ok())).collect()
    });
    (rounds * PART as u64 * seconds.len() as u64, seconds.into_iter().fold(0.0, f64::max))
}
