//! A region: parts of the file in one state of the page cache, its contenders, and their measurements.

use std::collections::VecDeque;
use std::ops::Range;

use super::{Lease, Parts, Settings, Spent};
use crate::strategy::{Selection, Strategy, Tried, neighbors};

/// Rounds of a trial.
const ROUNDS: u32 = 5;
/// Standard deviations of a logarithmic rate before anything is measured, in the page cache and from the device: waiting
/// varies more than CPU time does.
const PRIOR: [f64; 2] = [0.05, 0.15];
/// The number of samples that the prior counts as.
const PRIOR_SAMPLES: f64 = 3.0;
/// A contender that is slower than the best by more than this many standard errors is eliminated.
const ERRORS: f64 = 2.5;
/// Rates within this factor are equal: CPU time decides.
const EQUAL: f64 = 0.03;
/// The expected band: a rate below this factor, twice in a row, starts another trial.
const BAND: f64 = 0.3;
/// The neighbors of a choice are tried if this much is left, in bytes.
const REFINE: u64 = 2 << 30;
/// A region shorter than this is not tried again, in bytes.
const RETRY: u64 = 64 << 20;

#[derive(Debug)]
struct Contender {
    strategy: Strategy,
    alive: bool,
}

/// A run of leases for one contender, measured together.
#[derive(Debug, Default)]
struct Slice {
    contender: usize,
    /// Bytes not leased yet.
    left: u64,
    /// Bytes recorded.
    bytes: u64,
    spent: Spent,
    /// The workers among which it is divided.
    workers: usize,
    /// The logarithmic rate of each lease, times the workers.
    rates: Vec<f64>,
    /// True for the first slice of a run, which is slow with any strategy: threads start, caches are cold.
    uncounted: bool,
}

impl Slice {
    /// The logarithm of the rate of all workers, from what one of them moves in the time that it is at work: a worker may
    /// be late for its part.
    fn rate(&self) -> Option<f64> {
        let rate = self.bytes as f64 / self.spent.seconds * self.workers as f64;
        (self.bytes > 0 && self.spent.seconds > 0.0).then(|| rate.ln())
    }
}

#[derive(Debug)]
enum Phase {
    /// Contenders are tried; the rest of the round, and the number of rounds before.
    Trying { rest: VecDeque<usize>, round: u32 },
    /// One was chosen; the logarithm of its expected rate, if known, and the slices below the band in a row.
    Running { expected: Option<f64>, outside: u32 },
}

/// A region: parts of the file, the contenders for them, and their measurements.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) cached: bool,
    pub(super) ranges: VecDeque<Range<u64>>,
    total: u64,
    pub(super) left: u64,
    /// Leases in progress.
    pub(super) active: usize,
    /// The contenders of the current trial.
    contenders: Vec<Contender>,
    /// The contenders of a first trial.
    all: Vec<Strategy>,
    /// Counts trials: the records of an earlier one are ignored.
    pub(super) epoch: u32,
    /// True once the neighbors of the choice were tried too.
    refined: bool,
    /// The slices of the current trial or choice.
    slices: Vec<Slice>,
    /// Bytes leased in the current trial, and since the last one ended.
    trial: u64,
    since: u64,
    phase: Phase,
    grain: u64,
}

impl Region {
    pub(super) fn new(parts: Parts, grain: u64) -> Self {
        let total = parts.ranges.iter().map(|range| range.end - range.start).sum();
        let mut region = Self {
            cached: parts.cached,
            ranges: parts.ranges.into(),
            total,
            left: total,
            active: 0,
            contenders: Vec::new(),
            all: parts.contenders,
            epoch: 0,
            refined: false,
            slices: Vec::new(),
            trial: 0,
            since: 0,
            phase: Phase::Running { expected: None, outside: 0 },
            grain,
        };
        region.begin(region.all.clone());
        region
    }

    /// Begins a trial of these contenders.
    fn begin(&mut self, contenders: Vec<Strategy>) {
        let alone = contenders.len() == 1;
        self.contenders =
            contenders.into_iter().map(|strategy| Contender { strategy, alive: true }).collect();
        self.epoch += 1;
        self.slices.clear();
        self.trial = 0;
        self.since = 0;
        self.phase = match alone {
            true => Phase::Running { expected: None, outside: 0 },
            // The best expected one begins, and is tried after that.
            false if self.warms_up() => {
                let rest = std::iter::once(0).chain(0..self.contenders.len()).collect();
                Phase::Trying { rest, round: 0 }
            }
            false => Phase::Trying { rest: (0..self.contenders.len()).collect(), round: 0 },
        };
    }

    /// True before the first slice of a run in the page cache.
    fn warms_up(&self) -> bool {
        self.cached && self.left == self.total
    }

    /// The length of a slice in bytes.
    fn slice_len(&self) -> u64 {
        match self.phase {
            // Short at first, while there are contenders that lose clearly; twice as long each round.
            Phase::Trying { round, .. } => {
                let first = match self.cached {
                    true => (self.total / 128).clamp(4 << 20, 16 << 20),
                    false => (self.total / 64).clamp(8 << 20, 32 << 20),
                };
                first << round.min(4)
            }
            Phase::Running { .. } => (self.total / 16).clamp(16 << 20, 256 << 20),
        }
    }

    /// A lease, if the contender in turn has fewer than its number of workers, at most `limit`. `only`: the contender it
    /// must be for.
    pub(super) fn take(
        &mut self,
        region: usize,
        limit: usize,
        settings: &Settings<'_>,
        only: Option<usize>,
    ) -> Option<Lease> {
        if self.left == 0 {
            return None;
        }
        if self.slices.last().is_none_or(|slice| slice.left == 0) {
            let trying = matches!(self.phase, Phase::Trying { .. });
            // On a device, contenders that overlap would share its throughput.
            let shared = !self.cached && self.active > 0;
            if trying && !self.slices.is_empty() && (only.is_some() || shared) {
                return None;
            }
            self.next_slice(settings);
        }
        let slice = self.slices.len() - 1;
        let contender = self.slices[slice].contender;
        let strategy = &self.contenders[contender].strategy;
        let workers = strategy.workers.min(limit).max(1);
        if self.active >= workers || only.is_some_and(|only| only != contender) {
            return None;
        }
        let each = match self.phase {
            // Four leases a worker: one that is late hardly matters.
            Phase::Trying { .. } => self.slice_len().div_ceil(4 * workers as u64),
            // Towards the end the leases become shorter, so that all workers end together.
            Phase::Running { .. } => self.left.div_ceil(2 * workers as u64),
        };
        let front = self.ranges.front_mut()?;
        let len = strategy.stripe.min(each).next_multiple_of(self.grain).min(front.end - front.start);
        let range = front.start..front.start + len;
        front.start += len;
        if front.start == front.end {
            self.ranges.pop_front();
        }
        self.left -= len;
        self.active += 1;
        let trial = matches!(self.phase, Phase::Trying { .. });
        *if trial { &mut self.trial } else { &mut self.since } += len;
        let strategy = strategy.clone();
        let current = &mut self.slices[slice];
        current.left = current.left.saturating_sub(len);
        current.workers = current.workers.max(workers);
        Some(Lease { region, epoch: self.epoch, slice, contender, trial, strategy, range })
    }

    pub(super) fn record(&mut self, lease: &Lease, spent: Spent) {
        if lease.epoch != self.epoch || self.slices[lease.slice].uncounted {
            return;
        }
        let slice = &mut self.slices[lease.slice];
        let bytes = lease.range.end - lease.range.start;
        slice.bytes += bytes;
        slice.spent.seconds += spent.seconds;
        slice.spent.cpu += spent.cpu;
        if spent.seconds > 0.0 {
            slice.rates.push((bytes as f64 / spent.seconds * slice.workers as f64).ln());
        }
    }

    /// Begins the next slice: of the contender in turn, of the leader while a measurement is missing, or of the chosen
    /// one.
    fn next_slice(&mut self, settings: &Settings<'_>) {
        #[cfg(test)]
        if let Some(seed) = settings.shuffle {
            let random = (seed ^ self.left).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let (contender, left) = (random as usize % self.all.len(), (1 + random / 64 % 4) * self.grain);
            self.slices.push(Slice { contender, left, ..Slice::default() });
            return;
        }
        loop {
            let contender = match &mut self.phase {
                Phase::Running { .. } => {
                    if self.watch() {
                        let chosen = self.contenders[self.chosen()].strategy.clone();
                        if !self.all.contains(&chosen) {
                            self.all.insert(0, chosen);
                        }
                        self.begin(self.all.clone());
                        continue;
                    }
                    self.chosen()
                }
                Phase::Trying { rest, .. } => match rest.pop_front() {
                    Some(contender) => contender,
                    None if self.missing() => self.leader(),
                    None => {
                        self.narrow(settings);
                        continue;
                    }
                },
            };
            let (left, uncounted) = (self.slice_len(), self.warms_up());
            self.slices.push(Slice { contender, left, uncounted, ..Slice::default() });
            return;
        }
    }

    /// The mean of the logarithmic rates of a contender, their number, and the sum of squares around the mean. In the page
    /// cache each lease is a sample. From a device a slice is: requests in flight cross the ends of leases.
    fn mean(&self, contender: usize) -> Option<(f64, f64, f64)> {
        let slices = self.slices.iter().filter(|slice| slice.contender == contender);
        let rates: Vec<f64> = match self.cached {
            true => slices.flat_map(|slice| slice.rates.iter().copied()).collect(),
            false => slices.filter_map(Slice::rate).collect(),
        };
        let count = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / count;
        let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        (count > 0.0).then_some((mean, count, squares))
    }

    fn alive(&self) -> impl Iterator<Item = usize> {
        (0..self.contenders.len()).filter(|&index| self.contenders[index].alive)
    }

    fn missing(&self) -> bool {
        self.alive().any(|contender| self.mean(contender).is_none())
    }

    /// The contender with the highest rate so far.
    fn leader(&self) -> usize {
        let rate = |contender: usize| self.mean(contender).map_or(f64::NEG_INFINITY, |(mean, ..)| mean);
        self.alive().max_by(|&one, &two| rate(one).total_cmp(&rate(two)).then(two.cmp(&one))).unwrap_or(0)
    }

    fn chosen(&self) -> usize {
        self.alive().next().unwrap_or(0)
    }

    /// CPU time per byte of a contender, in seconds.
    fn cpu(&self, contender: usize) -> f64 {
        let slices = self.slices.iter().filter(|slice| slice.contender == contender);
        let (bytes, cpu) =
            slices.fold((0, 0.0), |(bytes, cpu), slice| (bytes + slice.bytes, cpu + slice.spent.cpu));
        if bytes > 0 { cpu / bytes as f64 } else { 0.0 }
    }

    /// Ends a round: eliminates the contenders that are slower, and begins the next round or chooses.
    fn narrow(&mut self, settings: &Settings<'_>) {
        let Phase::Trying { round, .. } = self.phase else { return };
        let means: Vec<_> = (0..self.contenders.len()).map(|contender| self.mean(contender)).collect();
        let prior = PRIOR[usize::from(!self.cached)];
        let (squares, freedom) =
            means.iter().flatten().fold(
                (prior.powi(2) * PRIOR_SAMPLES, PRIOR_SAMPLES),
                |(squares, freedom), (_, count, own)| (squares + own, freedom + (count - 1.0).max(0.0)),
            );
        let deviation = (squares / freedom).sqrt();
        let leader = self.leader();
        if let Some((best, best_count, _)) = means[leader] {
            for (contender, mean) in means.iter().enumerate() {
                let slower = mean.is_some_and(|(mean, count, _)| {
                    best - mean > ERRORS * deviation * (1.0 / best_count + 1.0 / count).sqrt()
                });
                if slower && contender != leader {
                    self.contenders[contender].alive = false;
                }
            }
        }
        let round = round + 1;
        let alive: Vec<usize> = self.alive().collect();
        let next = alive.len() as u64 * self.slice_len();
        if alive.len() > 1 && round < ROUNDS && self.trial + next <= self.total / 8 {
            let rest = if round % 2 == 1 { alive.into_iter().rev().collect() } else { alive.into() };
            self.phase = Phase::Trying { rest, round };
            return;
        }
        self.choose(settings);
    }

    /// Chooses the fastest contender; of those that are equal, the one with the least CPU time.
    fn choose(&mut self, settings: &Settings<'_>) {
        let leader = self.leader();
        let rate = |contender: usize| self.mean(contender).map_or(f64::NEG_INFINITY, |(mean, ..)| mean);
        let equal = self.alive().filter(|&contender| rate(contender) >= rate(leader) - EQUAL);
        let chosen = equal.min_by(|&one, &two| self.cpu(one).total_cmp(&self.cpu(two))).unwrap_or(leader);
        let tried = (0..self.contenders.len()).filter_map(|contender| {
            let (mean, ..) = self.mean(contender)?;
            let strategy = &self.contenders[contender].strategy;
            Some(Tried::new(
                strategy,
                mean.exp(),
                self.cpu(contender),
                self.slices.iter().filter(|slice| slice.contender == contender).count(),
            ))
        });
        let strategy = self.contenders[chosen].strategy.clone();
        let offset = self.ranges.front().map_or(0, |range| range.start);
        let (cached, chosen_text) = (self.cached, strategy.to_string());
        settings.selections.add(Selection { offset, cached, tried: tried.collect(), chosen: chosen_text });
        let next = neighbors(&strategy, settings.spec, settings.most, settings.writes);
        if !self.refined && !next.is_empty() && self.left >= REFINE {
            self.refined = true;
            return self.begin(std::iter::once(strategy).chain(next).collect());
        }
        self.begin(vec![strategy]);
    }

    /// Takes a lease back, and begins a trial without its contender; false if there is no other.
    pub(super) fn refuse(&mut self, lease: &Lease) -> bool {
        self.all.retain(|strategy| *strategy != lease.strategy);
        if self.all.is_empty() {
            return false;
        }
        self.active -= 1;
        self.left += lease.range.end - lease.range.start;
        let later = self.ranges.iter().position(|range| range.start > lease.range.start);
        self.ranges.insert(later.unwrap_or(self.ranges.len()), lease.range.clone());
        self.begin(self.all.clone());
        true
    }

    /// Forgets the expected rate.
    pub(super) fn forget(&mut self) {
        if let Phase::Running { expected, outside } = &mut self.phase {
            (*expected, *outside) = (None, 0);
        }
    }

    /// Compares the last slice of the chosen strategy with the expected rate; true if another trial is due.
    fn watch(&mut self) -> bool {
        let rate = self.slices.last().and_then(Slice::rate);
        let Phase::Running { expected, outside } = &mut self.phase else { return false };
        let Some(rate) = rate else { return false };
        let Some(known) = expected else {
            *expected = Some(rate);
            return false;
        };
        if *known - rate <= BAND {
            *outside = 0;
            *known += 0.2 * (rate - *known);
            return false;
        }
        *outside += 1;
        *outside > 1 && self.all.len() > 1 && self.left >= RETRY && self.since >= self.total / 4
    }
}
