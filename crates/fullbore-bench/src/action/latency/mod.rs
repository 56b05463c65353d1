//! How long requests take that come at a rate of their own: percentiles of an open loop, without coordinated omission.

mod arrivals;
mod crew;
mod line;
mod open_loop;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fullbore::Result;
use fullbore::engine::Latencies;
use fullbore::error::{Error, Kind};
use fullbore::file::{File, Output, Placement};
use fullbore::pattern::{self, Order, Scope};
use serde::Deserialize;

use self::arrivals::{Spacing, schedule};
use self::line::Line;
use self::open_loop::{Served, serve};
use super::side::{Direction, Side};
use super::target::Target;
use super::wished::Wished;
use super::{Claim, Device, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::document::{CacheState, Labels, Latency};
use crate::sample::Place;

/// How long a sample may take, in seconds: at least so that there is something to rank.
const SPAN: (f64, f64) = (0.05, 5.0);

/// A system that does not keep up gets so many times the time there was, then the rest is given up.
const PATIENCE: f64 = 3.0;

/// How long the closed loop is run to learn what the storage can do, in seconds.
const TRIAL: f64 = 0.5;

/// What a grid may say of requests at a set rate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// As `--strategy` takes it. Its depth is the most requests that are with the system at once; of a method whose calls
    /// wait, its workers are.
    strategy: String,
    request: Option<String>,
    depth: Option<u32>,
    /// Requests a second.
    load: Option<f64>,
    /// The same, as a share of what a closed loop of the same strategy gets here.
    share: Option<f64>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    order: Way,
    #[serde(default)]
    arrivals: Spacing,
    /// How much of the file the page cache holds; past the page cache nothing is asked of it.
    cache: Option<CacheState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Way {
    #[default]
    Random,
    Sequential,
}

/// A trial of requests at a set rate.
#[derive(Debug)]
struct Trial {
    asked: Asked,
    side: Side,
    /// Requests a second, known once opened.
    load: f64,
    /// Of the next run.
    turn: Turn,
    seconds: f64,
}

pub(super) fn parse(given: Settings) -> Parsed {
    let asked: Asked = settings(given)?;
    let load = match (asked.load, asked.share) {
        (Some(load), None) => load,
        // Known when a closed loop has been run.
        (None, Some(share)) => share,
        _ => {
            return Err(
                "one of `load` (requests a second) and `share` (of the closed loop's) is needed".into()
            );
        }
    };
    if !(load.is_finite() && load > 0.0) {
        return Err(format!("{load} requests a second is no rate"));
    }
    let wished = Wished::new(&asked.strategy, asked.request.as_deref(), asked.depth)?;
    let strategy = wished.plain();
    let (method, cache) = asked.direction.of(&strategy);
    let (method, direct) = (method.capabilities, method.capabilities.passes_cache(cache));
    if !method.transfers || method.mapped {
        return Err("a method that makes no requests has no latency of requests".into());
    }
    if method.batched {
        return Err("a method that gathers requests does not begin each when it is due".into());
    }
    if method.depth > 1 && strategy.workers > 1 {
        return Err("one worker hands over the requests of a method with depth".into());
    }
    match (direct, asked.cache, asked.direction) {
        (true, Some(_), _) => return Err("past the page cache, `cache` says nothing".into()),
        (false, _, Direction::Write) => {
            return Err("writes that end in the page cache do not wait for the device".into());
        }
        (false, Some(CacheState::Mixed), _) => return Err("`cache` is warm or cold".into()),
        _ => {}
    }
    let turn = Turn { span: 0, number: 0 };
    let side = Side::new(asked.direction, wished);
    Ok(Box::new(Trial { asked, side, load: 0.0, turn, seconds: 0.0 }))
}

/// What the closed loop reached, by what it was of: the cells of one experiment take shares of one figure.
static REACHED: Mutex<BTreeMap<String, f64>> = Mutex::new(BTreeMap::new());

impl Trial {
    fn warm(&self) -> bool {
        self.asked.cache == Some(CacheState::Warm)
    }

    fn file<'b>(&self, bed: &'b Bed) -> &'b File {
        if self.warm() { &bed.warm } else { &bed.cold }
    }

    fn ready(&self, file: &File) -> Result<()> {
        match self.warm() {
            true => Bed::warm_up(file, &(0..file.snapshot()?.len)),
            false => Bed::cool_down(file),
        }
    }

    fn order(&self, seed: u64, count: u64) -> Order {
        match self.asked.order {
            Way::Random => Order::Random { seed, count },
            Way::Sequential => Order::Sequential,
        }
    }

    /// Requests a second of the closed loop with the same strategy, measured once a run.
    fn reached(&self, place: &Place<'_>) -> Result<f64> {
        let bed = place.bed();
        let strategy = self.side.strategy();
        let direction = self.asked.direction;
        let name = format!(
            "{} {strategy} {direction:?} {:?} {:?}",
            bed.directory().display(),
            self.asked.order,
            self.asked.cache
        );
        let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = reached.get(&name) {
            return Ok(known);
        }
        let blocks = bed.len / strategy.request as u64;
        let mut count = 64 * (strategy.depth * strategy.workers) as u64;
        let rate = loop {
            count = count.min(blocks);
            self.ready(self.file(bed))?;
            let end = if self.asked.order == Way::Sequential { count } else { blocks };
            let scope = Scope { range: 0..end * strategy.request as u64, order: self.order(count, count) };
            let outcome = match self.side.data() {
                Some(data) => {
                    let output = Output::create(self.file(bed).path(), Placement::Overwrite, None)?;
                    pattern::fill(data, &scope, &output, &strategy, place.monitor)?
                }
                None => {
                    pattern::visit(self.file(bed), &scope, &strategy, place.monitor, || (), |(), _, _| ())?.0
                }
            };
            let seconds = outcome.seconds.max(1e-9);
            let rate = count as f64 / seconds;
            if seconds >= TRIAL / 2.0 || count >= blocks {
                break rate;
            }
            count = ((rate * TRIAL) as u64).max(2 * count);
        };
        reached.insert(name, rate);
        Ok(rate)
    }

    fn serve(&self, number: u64, seconds: f64, place: &Place<'_>) -> Result<Served> {
        let strategy = self.side.strategy();
        let file = self.file(place.bed()).clone();
        let blocks = file.snapshot()?.len / strategy.request as u64;
        // Another part each time, so that no cache of the device's own has it.
        let first = match self.asked.order {
            Way::Random => 0,
            Way::Sequential => number.wrapping_mul((self.load * seconds) as u64) % blocks,
        };
        let order = self.order(place.seed.wrapping_add(number), blocks);
        let (depth, workers, request) = (strategy.depth, strategy.workers, strategy.request);
        let data = self.side.data();
        let target = Target { file, strategy, data, order, first, blocks, request };
        let dues = schedule(self.asked.arrivals, self.load, seconds, place.seed.wrapping_add(number));
        let limit = PATIENCE * seconds;
        let stopped = || place.monitor.stopped();
        let served = if target.capabilities().depth > 1 {
            serve(dues, &mut Line::open(&target, depth)?, depth, limit, &stopped)?
        } else {
            crew::serve_by_threads(dues, workers, limit, &stopped, || {
                let (mut channel, mut pool) = target.open(1)?;
                let target = &target;
                Ok(move |number| {
                    let buf = pool.take().ok_or_else(|| {
                        Error::new(Kind::Invalid, "take buffers from", "memory", "the only one is in use")
                    })?;
                    target.ask(&mut channel, 0, number, buf)?;
                    if let Some(done) = channel.next()? {
                        pool.put(done.buf);
                    }
                    Ok(())
                })
            })?
        };
        if place.monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop"));
        }
        Ok(served)
    }
}

/// The percentiles that a sample keeps.
pub(super) fn percentiles(latencies: &Latencies) -> Option<Latency> {
    let at = |share| latencies.quantile(share).map(|time| time.as_secs_f64());
    Some(Latency {
        p50_s: at(0.5)?,
        p90_s: at(0.9)?,
        p99_s: at(0.99)?,
        p999_s: at(0.999)?,
        max_s: latencies.longest()?.as_secs_f64(),
    })
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        Needs { warm: self.warm(), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let word = |random, sequential: &str| {
            if self.asked.order == Way::Random { random } else { sequential.to_owned() }
        };
        Labels {
            // The depth of an open loop is what comes out of it.
            depth: None,
            cache: self.asked.cache,
            order: Some(word("random".into(), "sequential")),
            load_per_s: (self.load > 0.0).then_some(self.load.round() as u64),
            variant: Some(format!("open loop, {}", self.asked.arrivals.word())),
            ..self.side.labels()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let bed = place.bed();
        if bed.in_memory && !self.warm() {
            return Err(place.no_device());
        }
        let file = self.file(bed).clone();
        let strategy = self.side.plan(&file, bed.len)?;
        self.side.settle(strategy, place.seed);
        self.load = match (self.asked.load, self.asked.share) {
            (Some(load), _) => load,
            (None, share) => share.unwrap_or(1.0) * self.reached(place)?,
        };
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.side.planned()
    }

    fn prepare(&mut self, turn: Turn, place: &Place<'_>) -> Result<Claim> {
        let file = self.file(place.bed()).clone();
        self.ready(&file)?;
        let pace = self.load * self.side.strategy().request as f64;
        self.seconds = (turn.span as f64 / pace).clamp(SPAN.0, SPAN.1);
        self.turn = turn;
        let device = match (self.side.writes(), self.warm()) {
            (true, _) => Device::Writes,
            (false, true) => Device::Any,
            (false, false) => Device::Reads,
        };
        let len = file.snapshot()?.len;
        let cache = self.asked.cache.or((!self.side.direct()).then_some(CacheState::Cold));
        Ok(Claim { about: vec![(file, 0..len)], cache, device })
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        // Other blocks than those of the sample.
        self.serve(!self.turn.number, seconds, place).map(drop)
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        let served = self.serve(self.turn.number, self.seconds, place)?;
        Ok(Done {
            bytes: served.done * self.side.strategy().request as u64,
            seconds: Some(served.seconds.max(self.seconds)),
            requests: served.done,
            depth: Some(served.depth),
            latency: percentiles(&served.latencies),
            ..Done::default()
        })
    }
}
