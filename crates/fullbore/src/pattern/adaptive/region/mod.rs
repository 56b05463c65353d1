//! A region: parts of the file in one state of the page cache, its contenders, and their measurements.

mod monitoring;

use std::collections::VecDeque;
use std::ops::Range;

use fullbore_io::engine::CachePolicy;

use super::belief::{Belief, Measurement, Samples, beliefs, choice, combined, expected_after, leader};
use super::lease::{Lease, MAPPED, Parts, Settings, Slice, Spent, cut, short_lease};
use crate::strategy::{ADAPTIVE, Contender, Selection, Strategy, Tried, neighbours, text};

/// The standard deviation of a sample, the logarithm of a rate, before anything is measured: in the page cache and from
/// the device. Waiting varies more than CPU time does.
const NOISE: [f64; 2] = [0.05, 0.15];
/// The number of samples that this counts as.
const NOISE_SAMPLES: f64 = 3.0;
/// The time that a change of the contender takes, in seconds: files and queues are opened, and a queue runs empty.
const CHANGE: [f64; 2] = [0.1e-3, 3e-3];
/// The same in a short run, whose second contender needs buffers that no page of memory was given to.
const SHORT_CHANGE: f64 = 0.3e-3;
/// Leases of each worker in a slice, in the page cache: the first does not count.
const LEASES: u64 = 3;
/// The length of a slice from a device, in full queues: the first fills it.
const FILLS: u64 = 3;
/// The most rounds of a trial.
const ROUNDS: u32 = 6;
/// The expected logarithmic rate of the neighbours of a choice, relative to it, and its standard deviation.
const NEIGHBOUR: (f64, f64) = (-0.05, 0.05);
/// The standard deviation of a logarithmic rate after the conditions have changed.
const UNKNOWN: f64 = 0.3;
/// The rate above which parts are taken to come from the page cache if the system does not report its state, in bytes per second:
/// the kernel reads ahead more slowly from almost any device.
const FASTEST_READ_AHEAD: f64 = 4e9;

#[derive(Debug)]
enum Phase {
    /// Contenders are tried; the rest of the round, and the number of rounds before.
    Trying { rest: VecDeque<usize>, round: u32 },
    /// One was chosen; the logarithm of its expected rate, if known, and the slices outside the band in a row.
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
    /// The contenders of the current trial, or the chosen one.
    contenders: Vec<Contender>,
    /// The contenders of a first trial, after them those that replace one that cannot be opened.
    all: Vec<Contender>,
    /// The number of contenders of a first trial.
    tried: usize,
    /// Counts trials: the records of an earlier one are ignored.
    pub(super) epoch: u32,
    /// The number of workers of the contender whose neighbours were tried too, the trial, and its place there.
    refined: (usize, u32, usize),
    /// Trials in a row that ended with the same choice: each doubles the distance to the next.
    confirmed: u32,
    /// The last choice.
    last: Option<Strategy>,
    /// The slices of the current trial or choice.
    slices: Vec<Slice>,
    /// Bytes leased in the current trial, in the last one, and since that one ended.
    trial: u64,
    last_trial: u64,
    since: u64,
    phase: Phase,
    grain: u64,
    /// True if the run writes a file.
    writes: bool,
}

impl Region {
    pub(super) fn new(parts: Parts, settings: &Settings<'_>) -> Self {
        let total = parts.ranges.iter().map(|range| range.end - range.start).sum();
        let mut region = Self {
            cached: parts.cached,
            ranges: parts.ranges.into(),
            total,
            left: total,
            active: 0,
            contenders: Vec::new(),
            all: parts.contenders,
            tried: parts.tried,
            epoch: 0,
            refined: (0, 0, 0),
            confirmed: 0,
            last: None,
            slices: Vec::new(),
            trial: 0,
            last_trial: 0,
            since: 0,
            phase: Phase::Running { expected: None, outside: 0 },
            grain: settings.grain,
            writes: settings.writes,
        };
        region.restart();
        region
    }

    /// Begins a trial as the first.
    fn restart(&mut self) {
        self.begin(self.all[..self.tried].to_vec());
    }

    fn begin(&mut self, contenders: Vec<Contender>) {
        self.phase = match contenders.len() {
            1 => Phase::Running { expected: None, outside: 0 },
            // The best expected one begins, and is measured after that.
            _ if self.warms_up() => Phase::Trying { rest: [0, 0].into(), round: 0 },
            _ => Phase::Trying { rest: [0].into(), round: 0 },
        };
        self.contenders = contenders;
        self.epoch += 1;
        self.slices.clear();
        self.trial = 0;
        self.since = 0;
    }

    /// True before the first slice of a run in the page cache, which is slow with any contender: threads start, caches are cold,
    /// and a file begins with small folios.
    fn warms_up(&self) -> bool {
        self.cached && self.left == self.total
    }

    /// True if the whole run is shorter than a long trial would be.
    fn is_short(&self) -> bool {
        self.cached && self.total < ADAPTIVE
    }

    /// Leases of each worker in a slice, in the page cache. In a short run, the first slice follows the warm-up with the same
    /// buffers.
    fn leases(&self) -> u64 {
        match self.phase {
            Phase::Trying { round: 0, .. } if self.is_short() => LEASES - 1,
            _ => LEASES,
        }
    }

    /// The length of a slice of a contender in bytes.
    fn slice_len(&self, contender: usize) -> u64 {
        let strategy = &self.contenders[contender].strategy;
        let lease = match self.is_short() {
            true => short_lease(strategy, self.total, self.grain),
            false => strategy.stripe,
        };
        let dealt = lease.saturating_mul(strategy.workers.max(1) as u64);
        match self.phase {
            Phase::Running { .. } => (self.total / 16).clamp(16 << 20, 256 << 20),
            Phase::Trying { .. } if self.warms_up() && self.is_short() => self.total / 16,
            Phase::Trying { .. } if self.warms_up() => dealt.min(self.total / 8),
            // Short at first, while there are contenders that lose clearly; twice as long each round.
            Phase::Trying { round, .. } => {
                let queued = (strategy.workers * strategy.depth).max(1) as u64 * strategy.request as u64;
                let first = match self.cached {
                    true => dealt.saturating_mul(self.leases()),
                    false => (self.total / 64).clamp(8 << 20, 32 << 20).max(FILLS * queued),
                };
                let share = if self.is_short() { 4 } else { 8 };
                (first << round.saturating_sub(1).min(4)).min(self.total / share)
            }
        }
    }

    /// Changes with the slice, the trial, and the end of the region.
    pub(super) fn turn(&self) -> u64 {
        u64::from(self.epoch) << 32 | (self.slices.len() as u64) << 1 | u64::from(self.left == 0)
    }

    /// A lease, if the contender in turn has fewer than its number of workers, at most `limit`, which is `shared` with another
    /// region; `only` restricts it to one contender.
    pub(super) fn take(
        &mut self,
        region: usize,
        (limit, shared): (usize, bool),
        settings: &Settings<'_>,
        only: Option<usize>,
    ) -> Option<Lease> {
        if self.left == 0 {
            return None;
        }
        if self.slices.last().is_none_or(|slice| slice.left == 0) {
            let trying = matches!(self.phase, Phase::Trying { .. });
            // On a device, contenders that overlap would share its throughput.
            let overlaps = !self.cached && self.active > 0;
            if trying && !self.slices.is_empty() && (only.is_some() || overlaps) {
                return None;
            }
            let epoch = self.epoch;
            self.next_slice(settings);
            // A worker that continues keeps its engine; the first contender of a new trial has another one.
            if only.is_some() && self.epoch != epoch {
                return None;
            }
        }
        let slice = self.slices.len() - 1;
        let Slice { contender, uncounted, .. } = self.slices[slice];
        let strategy = self.contenders[contender].strategy.clone();
        let workers = strategy.workers.min(limit).max(1);
        if self.active >= workers || only.is_some_and(|only| only != contender) {
            return None;
        }
        let each = match self.phase {
            Phase::Trying { .. } if uncounted => self.slice_len(contender).div_ceil(workers as u64),
            Phase::Trying { .. } => self.slice_len(contender).div_ceil(self.leases() * workers as u64),
            // Towards the end the leases become shorter, so that all workers end together.
            Phase::Running { .. } => self.left.div_ceil(2 * workers as u64),
        };
        let len = strategy.stripe.min(each).next_multiple_of(self.grain);
        let scattered = !uncounted && (len >= MAPPED || !strategy.read.capabilities.mapped);
        let leases = self.leases() as usize * workers;
        let filling = self.filling(&strategy, workers, self.slice_len(contender));
        let range = match self.phase {
            // Folios and extents may differ along the file: each contender gets parts from all over it.
            Phase::Trying { round, .. } if self.cached && settings.any_order && scattered => {
                let part = self.slices[slice].leases as f64 + 0.5 / f64::from(round.max(1));
                cut(&mut self.ranges, self.grain, (part / leases as f64).fract(), len)?
            }
            _ => cut(&mut self.ranges, self.grain, 0.0, len)?,
        };
        let len = range.end - range.start;
        self.left -= len;
        self.active += 1;
        let trial = matches!(self.phase, Phase::Trying { .. });
        *if trial { &mut self.trial } else { &mut self.since } += len;
        let current = &mut self.slices[slice];
        current.left = current.left.saturating_sub(len);
        current.leases += 1;
        current.workers = workers;
        current.shared |= shared;
        Some(Lease { region, epoch: self.epoch, slice, contender, workers, trial, filling, strategy, range })
    }

    /// The first requests of each worker that a trial does not measure, as they fill the queues at the device. 0 if they are more
    /// than half of the slice: then all of it is measured.
    fn filling(&self, strategy: &Strategy, workers: usize, slice: u64) -> usize {
        let depth = strategy.depth.max(1);
        let writes = if self.writes { depth.min(strategy.write.capabilities.depth).max(1) - 1 } else { 0 };
        // A comparison begins with one request in flight, and doubles their number with each block.
        let filling = depth + depth.ilog2() as usize + writes;
        let half = slice / (2 * workers * strategy.request.max(1)) as u64;
        if self.cached || half < filling as u64 { 0 } else { filling }
    }

    pub(super) fn record(&mut self, lease: &Lease, spent: Spent) {
        if lease.epoch != self.epoch || self.slices[lease.slice].uncounted {
            return;
        }
        let slice = &mut self.slices[lease.slice];
        let seconds = spent.seconds / lease.workers as f64;
        slice.bytes += spent.bytes;
        slice.spent.seconds += seconds;
        slice.spent.cpu += spent.cpu;
        if lease.trial && seconds > 0.0 {
            slice.rates.push((spent.bytes as f64 / seconds).ln());
        }
    }

    /// Begins the next slice: of the contender in turn, or of the chosen one.
    fn next_slice(&mut self, settings: &Settings<'_>) {
        #[cfg(test)]
        if let Some(seed) = settings.shuffle {
            let random = (seed ^ self.left).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let (contender, left) =
                (random as usize % self.contenders.len(), (1 + random / 64 % 4) * self.grain);
            self.slices.push(Slice { contender, left, ..Slice::default() });
            return;
        }
        loop {
            let contender = match &mut self.phase {
                Phase::Running { .. } => {
                    if self.watch() {
                        // Neither expectations nor earlier figures hold any longer.
                        for contender in &mut self.all {
                            contender.expected = 0.0;
                            contender.deviation = contender.deviation.max(UNKNOWN);
                        }
                        self.restart();
                        continue;
                    }
                    0
                }
                Phase::Trying { rest, .. } => match rest.pop_front() {
                    Some(contender) if self.is_excluded(contender) => continue,
                    Some(contender) => contender,
                    None => {
                        self.next_round(settings);
                        continue;
                    }
                },
            };
            let (left, uncounted) = (self.slice_len(contender), self.warms_up());
            self.slices.push(Slice { contender, left, uncounted, ..Slice::default() });
            return;
        }
    }

    /// The logarithmic rates of a contender. In the page cache each lease is a sample. From a device a slice is: requests
    /// in flight cross the ends of leases.
    fn samples(&self, contender: usize) -> Samples {
        let slices = self.slices.iter().filter(|slice| slice.contender == contender);
        match self.cached {
            true if self.is_short() => Samples::of_faster_half(slices.flat_map(|slice| &slice.rates)),
            true => slices.flat_map(|slice| slice.rates.iter().copied()).collect(),
            false => slices.filter_map(Slice::rate).collect(),
        }
    }

    /// The beliefs in the contenders' rates after the slices so far, and the standard deviation of a sample.
    fn beliefs(&self) -> (Vec<Belief>, f64) {
        let samples: Vec<_> = (0..self.contenders.len()).map(|contender| self.samples(contender)).collect();
        let noise = (NOISE[usize::from(!self.cached)], NOISE_SAMPLES);
        let priors = self.contenders.iter().map(|contender| (contender.expected, contender.deviation));
        let mut priors: Vec<_> = priors.collect();
        let known = beliefs(&priors, &samples, noise);
        let Some(first) = leader(&known.0) else { return known };
        let (rate, relative) = (samples[first].mean.exp(), known.0[first].relative);
        for (place, prior) in priors.iter_mut().enumerate().filter(|(place, _)| samples[*place].is_empty()) {
            if self.is_deep(first) {
                // A device whose limit another contender exceeds is not at its limit.
                let (gain, deviation) = self.expected_after(first, place, rate);
                *prior = combined(*prior, (relative + gain, deviation));
            } else if self.cached
                && self.is_direct(place)
                && !self.is_direct(first)
                && rate > FASTEST_READ_AHEAD
            {
                // The state of the page cache is unknown, but no device delivers so much to it.
                *prior = (relative + (FASTEST_READ_AHEAD / rate).ln(), UNKNOWN);
            }
        }
        beliefs(&priors, &samples, noise)
    }

    /// True if a contender bypasses the page cache.
    fn is_direct(&self, contender: usize) -> bool {
        self.contenders[contender].strategy.read_cache == CachePolicy::Direct
    }

    /// True if a contender keeps many requests in flight at the device, and its CPU time is known.
    fn is_deep(&self, contender: usize) -> bool {
        !self.cached && self.contenders[contender].strategy.depth > 1 && self.cpu(contender) > 0.0
    }

    /// [`expected_after`] the measurement of a contender at this rate.
    fn expected_after(&self, measured: usize, other: usize, rate: f64) -> (f64, f64) {
        let [measured_strategy, other] = [measured, other].map(|place| &self.contenders[place].strategy);
        let slice = self.slices.iter().rfind(|slice| slice.contender == measured);
        let workers = slice.map_or(1, |slice| slice.workers.max(1));
        expected_after((measured_strategy, workers), rate * self.cpu(measured), other, self.writes)
    }

    /// CPU time per byte of a contender, in seconds.
    fn cpu(&self, contender: usize) -> f64 {
        let slices = self.slices.iter().filter(|slice| slice.contender == contender);
        let (bytes, cpu) =
            slices.fold((0, 0.0), |(bytes, cpu), slice| (bytes + slice.bytes, cpu + slice.spent.cpu));
        if bytes > 0 { cpu / bytes as f64 } else { 0.0 }
    }

    /// Begins the next round, of the contenders whose trial is expected to save more time than it costs; or chooses.
    fn next_round(&mut self, settings: &Settings<'_>) {
        let Phase::Trying { round, .. } = self.phase else { return };
        let (beliefs, noise) = self.beliefs();
        let Some(leader) = leader(&beliefs) else {
            // No lease counted.
            return match round < ROUNDS {
                true => self.phase = Phase::Trying { rest: [0].into(), round: round + 1 },
                false => self.begin(vec![self.contenders[0].clone()]),
            };
        };
        self.phase = Phase::Trying { rest: VecDeque::new(), round: round + 1 };
        let mut rest: VecDeque<usize> =
            (0..beliefs.len()).filter(|&other| self.pays(&beliefs, noise, leader, other)).collect();
        if rest.is_empty() || round >= ROUNDS || self.trial > self.total / 4 {
            return self.choose(settings, &beliefs, leader);
        }
        // The leader was measured just before the first others.
        if round > 0 {
            rest.push_front(leader);
        }
        if round % 2 == 1 {
            rest.make_contiguous().reverse();
        }
        self.phase = Phase::Trying { rest, round: round + 1 };
    }

    /// True if the slices since the round began leave nothing to gain from a contender.
    fn is_excluded(&self, contender: usize) -> bool {
        let (beliefs, noise) = self.beliefs();
        let leader = leader(&beliefs);
        leader.is_some_and(|leader| contender != leader && !self.pays(&beliefs, noise, leader, contender))
    }

    /// True if a slice for a contender that is not the leader is expected to save more time in the rest of the region than it
    /// costs.
    fn pays(&self, beliefs: &[Belief], noise: f64, leader: usize, other: usize) -> bool {
        let slice = self.slice_len(other);
        if other == leader || slice >= self.left {
            return false;
        }
        let samples = if self.cached { (LEASES - 1) as f64 } else { 1.0 };
        let measurement = Measurement {
            bytes: slice,
            left: self.left - slice,
            noise: noise.powi(2) / samples,
            change: if self.is_short() { SHORT_CHANGE } else { CHANGE[usize::from(!self.cached)] },
        };
        measurement.pays(&beliefs[leader], &beliefs[other])
    }

    /// Chooses the fastest contender; of those that are equal, the one with the least CPU time.
    fn choose(&mut self, settings: &Settings<'_>, beliefs: &[Belief], leader: usize) {
        let best = self.contenders[leader].strategy.clone();
        let mut next = neighbours(&best, settings.spec, settings.most, settings.writes);
        next.retain(|next| !self.is_short() && self.contenders.iter().all(|other| other.strategy != *next));
        // While another region has workers, numbers of workers cannot be compared.
        let shared = self.slices.iter().any(|slice| slice.shared);
        next.retain(|next| !shared || next.workers == best.workers);
        // More workers that were faster have neighbours with more again, which may gain as much: short slices show that.
        let (workers, epoch, before) = self.refined;
        if best.workers > workers && !next.is_empty() {
            let rate = beliefs[leader].relative;
            let gain = if epoch == self.epoch { (rate - beliefs[before].relative).max(0.0) } else { 0.0 };
            self.refined = (best.workers, self.epoch, leader);
            self.contenders.extend(next.into_iter().map(|strategy| {
                let more = if strategy.workers > best.workers { gain / 2.0 } else { 0.0 };
                let (expected, deviation) = (rate + NEIGHBOUR.0 + more, NEIGHBOUR.1 + more / 2.0);
                Contender { strategy, expected, deviation }
            }));
            if gain > 0.0 {
                self.phase = Phase::Trying { rest: VecDeque::new(), round: 1 };
            }
            return self.next_round(settings);
        }
        let measured = (0..beliefs.len()).filter(|&contender| beliefs[contender].measured);
        let chosen = choice(beliefs, leader, |contender| self.cpu(contender));
        let tried = |contender: usize| {
            let rate = self.samples(contender).mean.exp();
            let slices = self.slices.iter().filter(|slice| slice.contender == contender && !slice.uncounted);
            let (workers, count) =
                slices.fold((0, 0), |(most, count), slice| (slice.workers.max(most), count + 1));
            Tried::new(&self.contenders[contender].strategy, workers, rate, self.cpu(contender), count)
        };
        let tried: Vec<Tried> = measured.map(tried).collect();
        let contender = self.contenders[chosen].clone();
        let (cached, chosen, after) = (self.cached, text(&contender.strategy), self.total - self.left);
        // One alone was not compared with any other, and figures hold for the number of workers in the strategy.
        let has_all = |slice: &Slice| slice.workers >= self.contenders[slice.contender].strategy.workers;
        let learn = !shared && tried.len() > 1 && self.slices.iter().all(has_all);
        settings.selections.add(Selection { after, cached, tried, chosen }, learn);
        self.confirmed = if self.last.as_ref() == Some(&contender.strategy) { self.confirmed + 1 } else { 1 };
        self.last = Some(contender.strategy.clone());
        self.last_trial = self.trial;
        // The next trial begins with it.
        match self.all.iter().position(|other| other.strategy == contender.strategy) {
            Some(place) => self.all[..=place].rotate_right(1),
            None => {
                self.all.insert(0, contender.clone());
                self.tried += 1;
            }
        }
        self.begin(vec![contender]);
    }

    /// Replaces a lease whose contender cannot be opened by one for the same part, on which other workers may wait, and begins
    /// a trial without that contender; `None` if there is no other.
    pub(super) fn replace(&mut self, lease: &Lease) -> Option<Lease> {
        self.all.retain(|contender| contender.strategy != lease.strategy);
        self.tried = self.tried.min(self.all.len());
        let strategy = self.all.first()?.strategy.clone();
        if self.contenders.iter().any(|contender| contender.strategy == lease.strategy) {
            self.restart();
        }
        // Not measured: no trial has this epoch.
        Some(Lease { epoch: 0, trial: false, strategy, ..lease.clone() })
    }
}
