//! Turns: contenders work one after another in random order, for some milliseconds each, again and again.

use std::time::{Duration, Instant};

use fullbore_bench::stats::{Xoshiro256, median};

use super::allocations;
use super::case::{Case, Contender};
use super::judging::Attempt;
use super::judging::order::shuffled;
use super::place::Place;

/// How long a turn lasts, unless one operation lasts longer: long beside the clock's own cost, short beside what
/// disturbs the machine.
const TURN: Duration = Duration::from_millis(4);

/// What one contender did.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Who.
    pub(crate) label: &'static str,
    /// Seconds an operation, a turn a round.
    pub(crate) times: Vec<f64>,
    /// Allocations an operation, in a turn of its own.
    pub(crate) allocations: f64,
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
pub(crate) struct Shared {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Shared {
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
struct Runner {
    contender: Contender,
    /// Operations a turn.
    count: u64,
    series: Series,
}

impl Runner {
    /// One turn; seconds.
    fn turn(&mut self, buffer: &mut [u8]) -> Attempt<f64> {
        (self.contender.prepare)()?;
        let begin = Instant::now();
        (self.contender.work)(self.count, buffer)?;
        Ok(begin.elapsed().as_secs_f64())
    }

    /// Finds how many operations fill a turn, and warms up meanwhile.
    fn calibrate(&mut self, buffer: &mut [u8]) -> Attempt<()> {
        loop {
            let took = self.turn(buffer)?;
            if took >= TURN.as_secs_f64() / 2.0 || self.count >= 1 << 40 {
                self.count = ((self.count as f64 * TURN.as_secs_f64() / took).round() as u64).max(1);
                return Ok(());
            }
            self.count *= 2;
        }
    }
}

/// Runs the case's contenders in `rounds` rounds. Who fails the first time is left out, and `excuse` is told why.
pub(crate) fn interleave(
    case: &Case,
    place: &Place,
    rounds: usize,
    random: &mut Xoshiro256,
    mut excuse: impl FnMut(&str, &str),
) -> Attempt<Vec<Series>> {
    let mut shared = Shared::new(case.buffer);
    let mut runners = Vec::new();
    for (label, make) in &case.makers {
        let ready = make(place).and_then(|contender| {
            let series = Series { label, times: Vec::with_capacity(rounds), allocations: 0.0 };
            let mut runner = Runner { contender, count: 1, series };
            runner.calibrate(shared.bytes())?;
            Ok(runner)
        });
        match ready {
            Ok(runner) => runners.push(runner),
            Err(error) => excuse(label, &error.to_string()),
        }
    }
    for _ in 0..rounds {
        for index in shuffled(runners.len(), random) {
            let runner = &mut runners[index];
            let took = runner.turn(shared.bytes())?;
            runner.series.times.push(took / runner.count as f64);
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
