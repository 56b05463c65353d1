//! Measures the device's cache: reads the same block again, the next block after a time for prefetching and, for
//! comparison, a distant block (table 3 of Riedel, van Ingen and Gray, 1997).
//!
//! All reads bypass the page cache, one at a time; only the second of each pair is timed.

use fullbore::{Result, sys};
use std::time::Duration;

use fullbore::engine::Latencies;
use fullbore::error::{Error, ErrorKind};
use fullbore::pattern::Order;
use serde::{Deserialize, Serialize};

use super::latency::percentiles;
use super::one_way::{Direction, OneWayIo, Precondition, Target};
use super::requested_strategy::RequestedStrategy;
use super::settings::{Settings, settings};
use super::workload::{
    ExpectedState, Iteration, ParsedWorkload, Ramp, RunContext, RunResult, Workload, repeat_until,
};
use crate::document::{Labels, word};
use crate::test_files::TestFiles;

/// Timed reads per sample.
const PAIRS: u64 = 50;

/// Default time for prefetching, in milliseconds: a rotational disk reads about a mebibyte in that time.
const DELAY: f64 = 5.0;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RereadSpec {
    request: String,
    mode: Mode,
    /// Delay before each timed read for prefetching, in milliseconds.
    delay_ms: Option<f64>,
}

/// The read before the timed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// The block of the timed read, immediately before: a hit in the device's cache, if it has one.
    Reread,
    /// The preceding blocks, then the delay: a hit if the device prefetches.
    Prefetched,
    /// A distant block, then the same delay: no hit.
    Elsewhere,
}

impl Mode {
    /// Returns the block read before the timed one of a pair, and the timed one; each iteration uses another part.
    fn blocks(self, iteration: u64, pair: u64, blocks: u64) -> (u64, u64) {
        let scattered = Order::Random { seed: iteration, count: blocks };
        let first = scattered.block(0, blocks);
        match self {
            Self::Reread => {
                let block = scattered.block(pair % blocks, blocks);
                (block, block)
            }
            // The previous read is the timed one of the previous pair, so that the device sees one sequential stream.
            Self::Prefetched => ((first + pair) % blocks, (first + pair + 1) % blocks),
            Self::Elsewhere => {
                (scattered.block(2 * pair % blocks, blocks), scattered.block((2 * pair + 1) % blocks, blocks))
            }
        }
    }
}

#[derive(Debug)]
struct RereadWorkload {
    spec: RereadSpec,
    delay: Duration,
    io: OneWayIo,
    iteration: u64,
}

pub(super) fn parse(given: Settings) -> ParsedWorkload {
    let spec: RereadSpec = settings(given)?;
    let delay = spec.delay_ms.unwrap_or(DELAY);
    if spec.mode == Mode::Reread && spec.delay_ms.is_some() {
        return Err(
            "mode = \"reread\" reads the block again at once: `delay_ms` is for the other modes".into()
        );
    }
    let delay = Duration::try_from_secs_f64(delay * 1e-3).ok().filter(|delay| delay.as_secs() < 10);
    let delay = delay.ok_or("`delay_ms` must be at least 0 and less than 10000")?;
    let requested =
        RequestedStrategy::new("method=direct,depth=1,workers=1,model=serial", Some(&spec.request), None)?;
    Ok(Box::new(RereadWorkload { spec, delay, io: OneWayIo::new(Direction::Read, requested), iteration: 0 }))
}

impl RereadWorkload {
    /// Reads `pairs` pairs. Returns the latencies of the timed reads and their sum in seconds.
    fn read(&self, iteration: u64, pairs: u64, test_files: &TestFiles) -> Result<(Latencies, f64)> {
        let file = test_files.cold.clone();
        let target = self.io.target(file, test_files.len, 0, Order::Sequential);
        let (mut channel, mut pool) = target.open(1)?;
        let mut one = |block: u64| -> Result<f64> {
            let buf = Target::take(&mut pool)?;
            let before = sys::monotonic_nanoseconds();
            target.enqueue(&mut channel, 0, block, buf)?;
            let done = channel.next()?;
            let after = sys::monotonic_nanoseconds();
            if let Some(done) = done {
                pool.put(done.buf);
            }
            Ok((after - before) as f64 * 1e-9)
        };
        let (mut latencies, mut sum) = (Latencies::default(), 0.0);
        for pair in 0..pairs {
            let (before, timed) = self.spec.mode.blocks(iteration, pair, target.blocks);
            if self.spec.mode != Mode::Prefetched || pair == 0 {
                one(before)?;
            }
            if self.spec.mode != Mode::Reread {
                std::thread::sleep(self.delay);
            }
            let seconds = one(timed)?;
            latencies.record(Duration::from_secs_f64(seconds.max(0.0)));
            sum += seconds;
        }
        Ok((latencies, sum))
    }
}

impl Workload for RereadWorkload {
    fn labels(&self) -> Labels {
        Labels {
            order: Some(if self.spec.mode == Mode::Elsewhere { "random" } else { "sequential" }.into()),
            variant: Some(word(self.spec.mode)),
            ..self.io.labels()
        }
    }

    fn open(&mut self, context: &RunContext<'_>) -> Result<()> {
        let test_files = context.test_files();
        context.check_device(true)?;
        let strategy = self.io.plan(&test_files.cold, test_files.len)?;
        let unit = test_files.cold.direct_alignment();
        let request = strategy.request;
        self.io.set_strategy(strategy, context.seed);
        if request % unit != 0 {
            let what = format!("direct requests must be multiples of {unit} bytes here");
            return Err(Error::new(ErrorKind::Unsupported, "measure", test_files.cold.path(), what));
        }
        if test_files.len / (request as u64) < 2 * PAIRS {
            let what = format!("the file has fewer than {} requests of {request} bytes", 2 * PAIRS);
            return Err(Error::new(ErrorKind::Unsupported, "measure", test_files.cold.path(), what));
        }
        Ok(())
    }

    fn elastic(&self) -> bool {
        false
    }

    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState> {
        let test_files = context.test_files();
        self.iteration = context.seed_of(iteration.number);
        Precondition::of(&self.io, None, None).prepare(vec![(test_files.cold.clone(), 0..test_files.len)])
    }

    fn ramp_up(&mut self, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<()> {
        let mut iteration = !self.iteration;
        repeat_until(ramp.enough, || {
            self.read(iteration, 2, context.test_files())?;
            iteration = iteration.wrapping_sub(1);
            Ok(())
        })
    }

    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult> {
        let (latencies, seconds) = self.read(self.iteration, PAIRS, context.test_files())?;
        let bytes = PAIRS * self.io.strategy().request as u64;
        let latency = percentiles(&latencies);
        Ok(RunResult { latency, ..RunResult::timed(bytes, seconds, PAIRS, Some(1.0)) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BLOCKS: u64 = 1000;

    fn pairs(mode: Mode, iteration: u64) -> Vec<(u64, u64)> {
        (0..PAIRS).map(|pair| mode.blocks(iteration, pair, BLOCKS)).collect()
    }

    #[test]
    fn timed_block_is_the_same_the_next_or_a_distant_one() {
        assert!(pairs(Mode::Reread, 1).iter().all(|(before, timed)| before == timed));
        let stream = pairs(Mode::Prefetched, 1);
        assert!(stream.iter().all(|(before, timed)| (before + 1) % BLOCKS == *timed));
        assert!(stream.windows(2).all(|two| two[0].1 == two[1].0), "one stream");
        let near = pairs(Mode::Elsewhere, 1);
        let near = near.iter().filter(|(before, timed)| before.abs_diff(*timed) < 4).count();
        assert!(near < 5, "{near} of {PAIRS} are near");
    }

    #[test]
    fn no_block_is_timed_twice_across_iterations() {
        for mode in [Mode::Reread, Mode::Prefetched, Mode::Elsewhere] {
            let timed: BTreeSet<u64> = pairs(mode, 1).into_iter().map(|(_, timed)| timed).collect();
            assert_eq!(timed.len() as u64, PAIRS, "{mode:?}");
            assert_ne!(pairs(mode, 1), pairs(mode, 2));
        }
        let all: Vec<u64> = pairs(Mode::Elsewhere, 3).iter().flat_map(|&(one, other)| [one, other]).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "nor read before");
    }
}
