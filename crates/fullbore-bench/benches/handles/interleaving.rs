//! Turns: contenders work one after another in random order, for some milliseconds each, repeatedly.

use std::time::{Duration, Instant};

use fullbore_bench::stats::{Xoshiro256, median};

use nix::sys::resource::{UsageWho, getrusage};

use super::allocations;
use super::case::{Case, Contender};
use super::files::BenchFiles;
use super::judging::Attempt;
use super::judging::order::shuffled;

/// Most repetitions of a turn that was preempted; the shortest of them counts. Without repetitions a busy machine would
/// decide: a turn just longer than another's loses one slice more, which doubles it.
const TRIES: usize = 5;
/// A turn longer than this is not repeated: it would always be preempted.
const SLICE: Duration = Duration::from_millis(10);

/// The measurements of one contender.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// The contender's name.
    pub(crate) label: &'static str,
    /// Seconds per operation, one per round.
    pub(crate) times: Vec<f64>,
    /// Allocations per operation, counted in a separate turn.
    pub(crate) allocations: f64,
    /// Rounds in which every turn was preempted.
    pub(crate) disturbed: usize,
}

impl Series {
    /// The median time of an operation in seconds.
    pub(crate) fn median(&self) -> f64 {
        median(&self.times).unwrap_or(f64::NAN)
    }

    /// The median over the rounds of this one's time ÷ the other's.
    pub(crate) fn paired(&self, other: &Self) -> f64 {
        let ratios: Vec<f64> = self.times.iter().zip(&other.times).map(|(a, b)| a / b).collect();
        median(&ratios).unwrap_or(f64::NAN)
    }
}

/// Memory of whole pages shared by the contenders of a case: the address of a buffer affects its speed.
pub(crate) struct SharedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl SharedBuffer {
    /// A buffer of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        const PAGE: usize = 4096;
        let memory = vec![1; len + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, len }
    }

    /// The bytes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// A contender during the run.
struct RunningContender {
    contender: Contender,
    /// Operations per turn.
    count: u64,
    series: Series,
}

impl RunningContender {
    /// Runs one turn; returns seconds.
    fn turn(&mut self, buffer: &mut [u8]) -> Attempt<f64> {
        (self.contender.prepare)()?;
        let begin = Instant::now();
        (self.contender.work)(self.count, buffer)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Repeats turns until one is not preempted; records seconds per operation.
    fn round(&mut self, buffer: &mut [u8]) -> Attempt<()> {
        let mut best = f64::INFINITY;
        for _ in 0..TRIES {
            let before = taken()?;
            let took = self.turn(buffer)?;
            if taken()? == before {
                self.series.times.push(took / self.count as f64);
                return Ok(());
            }
            best = best.min(took);
            if took > SLICE.as_secs_f64() {
                break;
            }
        }
        self.series.disturbed += 1;
        self.series.times.push(best / self.count as f64);
        Ok(())
    }

    /// Determines the number of operations per turn, which also warms up.
    fn calibrate(&mut self, turn: Duration, buffer: &mut [u8]) -> Attempt<()> {
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

/// Number of involuntary context switches of this thread.
fn taken() -> Attempt<i64> {
    Ok(getrusage(UsageWho::RUSAGE_THREAD)?.involuntary_context_switches())
}

/// Runs the case's contenders in `rounds` rounds. One that fails the first time is left out, and `excuse` gets the reason.
pub(crate) fn interleave(
    case: &Case,
    files: &BenchFiles,
    rounds: usize,
    random: &mut Xoshiro256,
    mut excuse: impl FnMut(&str, &str),
) -> Attempt<Vec<Series>> {
    files.settle()?;
    let mut shared = SharedBuffer::new(case.buffer);
    let mut runners = Vec::new();
    for (label, make) in &case.makers {
        let ready = make(files).and_then(|contender| {
            let series = Series { label, times: Vec::with_capacity(rounds), allocations: 0.0, disturbed: 0 };
            let mut runner = RunningContender { contender, count: 1, series };
            runner.calibrate(case.turn, shared.bytes())?;
            Ok(runner)
        });
        match ready {
            Ok(runner) => runners.push(runner),
            Err(error) => excuse(label, &error.to_string()),
        }
    }
    for _ in 0..rounds {
        for index in shuffled(runners.len(), random) {
            runners[index].round(shared.bytes())?;
        }
    }
    for runner in &mut runners {
        (runner.contender.prepare)()?;
        let (count, done) = allocations::during(|| (runner.contender.work)(runner.count, shared.bytes()));
        done?;
        runner.series.allocations = count as f64 / runner.count as f64;
    }
    Ok(runners.into_iter().map(|runner| runner.series).collect())
}
