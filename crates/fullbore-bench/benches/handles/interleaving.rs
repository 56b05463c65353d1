//! Turns: contenders work one after another in random order, for some milliseconds each, again and again.

use std::time::{Duration, Instant};

use fullbore_bench::stats::{Xoshiro256, median};

use nix::sys::resource::{UsageWho, getrusage};

use super::allocations;
use super::case::{Case, Contender};
use super::files::BenchFiles;
use super::judging::Attempt;
use super::judging::order::shuffled;

/// A turn in which the system took the processor away is taken again, so often at most; of such turns the shortest counts.
/// Else a busy machine decides: a turn just longer than another's loses one slice more, which doubles it.
const TRIES: usize = 5;
/// A turn longer than this is not taken again: none of its length would have the processor for itself.
const SLICE: Duration = Duration::from_millis(10);

/// What one contender did.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Who.
    pub(crate) label: &'static str,
    /// Seconds an operation, a turn a round.
    pub(crate) times: Vec<f64>,
    /// Allocations an operation, in a turn of its own.
    pub(crate) allocations: f64,
    /// Rounds without a turn that had the processor for itself.
    pub(crate) disturbed: usize,
}

impl Series {
    /// The median time of an operation in seconds.
    pub(crate) fn median(&self) -> f64 {
        median(&self.times).unwrap_or(f64::NAN)
    }

    /// The median of this one's time ÷ the other's, taken round by round.
    pub(crate) fn paired(&self, other: &Self) -> f64 {
        let ratios: Vec<f64> = self.times.iter().zip(&other.times).map(|(a, b)| a / b).collect();
        median(&ratios).unwrap_or(f64::NAN)
    }
}

/// Memory of whole pages for the contenders of a case to share: where a buffer lies decides how fast it is filled.
pub(crate) struct SharedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl SharedBuffer {
    /// Of `len` bytes.
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

/// One in the race.
struct RunningContender {
    contender: Contender,
    /// Operations a turn.
    count: u64,
    series: Series,
}

impl RunningContender {
    /// One turn; seconds.
    fn turn(&mut self, buffer: &mut [u8]) -> Attempt<f64> {
        (self.contender.prepare)()?;
        let begin = Instant::now();
        (self.contender.work)(self.count, buffer)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Turns until one had the processor for itself; seconds an operation.
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

    /// Finds how many operations fill a turn, and warms up meanwhile.
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

/// How often the system took the processor from this thread, which wanted to go on.
fn taken() -> Attempt<i64> {
    Ok(getrusage(UsageWho::RUSAGE_THREAD)?.involuntary_context_switches())
}

/// Runs the case's contenders in `rounds` rounds. Who fails the first time is left out, and `excuse` is told why.
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
