//! Turns: contenders work one after another in random order, for some milliseconds each, repeatedly.

use std::time::{Duration, Instant};

use fullbore_bench::stats::Xoshiro256;

use nix::sys::resource::{UsageWho, getrusage};

use super::allocations;
use super::case::{Case, Contender};
use super::files::BenchFiles;
use super::harness::Attempt;
use super::harness::rounds::{Series, interleave};

/// Most repetitions of a turn that was preempted; the shortest of them counts. Without repetitions a busy machine would
/// decide: a turn just longer than another's loses one slice more, which doubles it.
const TRIES: usize = 5;
/// A turn longer than this is not repeated: it would always be preempted.
const SLICE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Iteration {
    pub(crate) seconds: f64,
    /// True if it was preempted each time.
    pub(crate) disturbed: bool,
}

pub(crate) struct Measured {
    pub(crate) series: Series<Iteration>,
    /// Allocations per operation, counted in a separate turn.
    pub(crate) allocations: f64,
}

/// Memory of whole pages shared by the contenders of a case: the address of a buffer affects its speed.
pub(crate) struct SharedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl SharedBuffer {
    pub(crate) fn new(len: usize) -> Self {
        const PAGE: usize = 4096;
        let memory = vec![1; len + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, len }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

struct RunningContender<'a> {
    contender: Contender,
    case: &'a Case,
    files: &'a BenchFiles,
    /// Operations per turn.
    count: u64,
}

impl RunningContender<'_> {
    fn turn(&mut self, buffer: &mut [u8]) -> Attempt<f64> {
        self.files.prepare(self.case)?;
        let begin = Instant::now();
        (self.contender)(self.count, buffer)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    fn round(&mut self, buffer: &mut [u8]) -> Attempt<Iteration> {
        let mut best = f64::INFINITY;
        for _ in 0..TRIES {
            let before = taken()?;
            let took = self.turn(buffer)?;
            if taken()? == before {
                return Ok(Iteration { seconds: took / self.count as f64, disturbed: false });
            }
            best = best.min(took);
            if took > SLICE.as_secs_f64() {
                break;
            }
        }
        Ok(Iteration { seconds: best / self.count as f64, disturbed: true })
    }

    /// Determines the number of operations per turn, which also warms up.
    fn calibrate(&mut self, buffer: &mut [u8]) -> Attempt<()> {
        let turn = self.case.turn;
        loop {
            let took = self.turn(buffer)?;
            if took >= turn.as_secs_f64() / 2.0 || self.count >= 1 << 40 {
                self.count = ((self.count as f64 * turn.as_secs_f64() / took).round() as u64).max(1);
                return Ok(());
            }
            self.count *= 2;
        }
    }
}

fn taken() -> Attempt<i64> {
    Ok(getrusage(UsageWho::RUSAGE_THREAD)?.involuntary_context_switches())
}

/// Runs the case's contenders in `rounds` rounds. One that fails the first time is left out, and the reason is printed.
pub(crate) fn measure(
    case: &Case,
    files: &BenchFiles,
    rounds: usize,
    random: &mut Xoshiro256,
) -> Attempt<Vec<Measured>> {
    files.settle()?;
    let mut shared = SharedBuffer::new(case.buffer);
    let mut runners = Vec::new();
    for (label, make) in &case.makers {
        let ready = make(files).and_then(|contender| {
            let mut runner = RunningContender { contender, case, files, count: 1 };
            runner.calibrate(shared.bytes())?;
            Ok(runner)
        });
        match ready {
            Ok(runner) => runners.push(((*label).to_owned(), runner)),
            Err(error) => println!("  skipped {label}: {error}"),
        }
    }
    let all = interleave(&mut runners, rounds, random, |runner| runner.round(shared.bytes()))?;
    let mut measured = Vec::new();
    for ((_, mut runner), series) in runners.into_iter().zip(all) {
        files.prepare(case)?;
        let (count, done) = allocations::during(|| (runner.contender)(runner.count, shared.bytes()));
        done?;
        measured.push(Measured { series, allocations: count as f64 / runner.count as f64 });
    }
    Ok(measured)
}
