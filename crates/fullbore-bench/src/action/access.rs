//! Reading and writing ranges of a file by any strategy, in any order, through every state of the file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use fullbore::error::{Error, Kind};
use fullbore::file::{File, Output, Placement, Sync};
use fullbore::pattern::{self, Monitor, Order, Outcome, Scope};
use fullbore::strategy::{Completion, Strategy};
use fullbore::{Result, size};
use serde::Deserialize;

use super::condition::Condition;
use super::latency::percentiles;
use super::side::{Direction, Side};
use super::wished::Wished;
use super::{Claim, Covered, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::document::{CacheState, Labels};
use crate::sample::Place;

/// A sample has at least this many requests for each that may be in flight.
const LEAST: usize = 4;

/// The unit in which memory comes to the processor, in bytes.
const CACHE_LINE: usize = 64;

/// What a grid may say of a read or a write.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Access {
    /// As `--strategy` takes it.
    #[serde(default = "auto")]
    strategy: String,
    /// Request size.
    request: Option<String>,
    /// Requests in flight a worker.
    depth: Option<u32>,
    /// How much of the file the page cache holds.
    cache: Option<CacheState>,
    #[serde(default)]
    order: Way,
    /// How far every request lies from a multiple of its size, such as `+512` or `-4K`.
    offset: Option<String>,
    /// Whether writes are brought to the device within the time.
    flush: Option<bool>,
    /// What is there before a write.
    #[serde(default)]
    file: State,
}

fn auto() -> String {
    "auto".into()
}

/// In which order requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// From front to back.
    #[default]
    Sequential,
    /// Each block at most once, all over the file.
    Random,
    /// The same, over the first half of the file.
    RandomHalf,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::RandomHalf => "random over half",
        }
    }
}

/// What a write finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Blocks with data, which are written over.
    #[default]
    Overwritten,
    /// A new file, which grows with every request.
    Extended,
    /// A file with blocks that were never written.
    Preallocated,
    /// An old file with blocks and data, cut to nothing as it is opened.
    Truncated,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Overwritten => "overwritten",
            Self::Extended => "extended",
            Self::Preallocated => "preallocated",
            Self::Truncated => "truncated",
        }
    }
}

/// A trial of reading or writing.
#[derive(Debug)]
struct Trial {
    asked: Access,
    side: Side,
    offset: i64,
    /// What the next run covers.
    range: Range<u64>,
    order: Order,
}

pub(super) fn read(given: Settings) -> Parsed {
    build(Direction::Read, settings(given)?)
}

pub(super) fn write(given: Settings) -> Parsed {
    build(Direction::Write, settings(given)?)
}

fn build(direction: Direction, asked: Access) -> Parsed {
    if !direction.writes() && (asked.file != State::Overwritten || asked.flush.is_some()) {
        return Err("`file` and `flush` are for writes".into());
    }
    if asked.file != State::Overwritten && asked.order != Way::Sequential {
        return Err("a file that is not overwritten is written from front to back".into());
    }
    let wished = Wished::new(&asked.strategy, asked.request.as_deref(), asked.depth)?;
    let offset = asked.offset.as_deref().map_or(Ok(0), distance)?;
    Ok(Box::new(Trial {
        asked,
        side: Side::new(direction, wished),
        offset,
        range: 0..0,
        order: Order::Sequential,
    }))
}

/// `+512`, `-4K`, `0` in bytes.
fn distance(text: &str) -> std::result::Result<i64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let bytes = size::parse(digits).map_err(|error| error.to_string())?;
    i64::try_from(bytes).map(|bytes| sign * bytes).map_err(|_| format!("{text} is too far"))
}

impl Trial {
    /// Whether the time of each request is taken: what comes from memory takes less than two looks at the clock are worth.
    fn timed(&self) -> bool {
        self.side.direct() || self.asked.cache == Some(CacheState::Cold)
    }

    fn condition(&self) -> Condition {
        Condition::of(&self.side, self.asked.flush, self.asked.cache)
    }

    /// Whether it writes a file of its own, made anew for each sample.
    fn grows(&self) -> bool {
        self.asked.file != State::Overwritten
    }

    fn grown(place: &Place<'_>) -> PathBuf {
        place.bed().fresh.clone()
    }

    /// The file that is there all the time.
    fn standing<'b>(&self, bed: &'b Bed) -> &'b File {
        self.condition().file(bed)
    }

    /// The bytes of this turn: the next run of the file, so that no cache of the device's own has it, or blocks all
    /// over it.
    fn part(&self, turn: Turn, len: u64) -> (Range<u64>, Order) {
        let strategy = self.side.strategy();
        let request = strategy.request as u64;
        // Whole requests, and enough of them for the depth to be reached.
        let least = request * (LEAST * strategy.depth * strategy.workers) as u64;
        let span = (turn.span.max(least) / request * request).clamp(request.min(len), len);
        match self.asked.order {
            Way::Random => return (0..len, Order::Random { seed: turn.number, count: span / request }),
            Way::RandomHalf => {
                return (0..len / 2, Order::Random { seed: turn.number, count: span / request });
            }
            Way::Sequential => {}
        }
        if self.grows() {
            return (0..span, Order::Sequential);
        }
        // An offset takes a block at each end.
        let margin = if self.offset == 0 { 0 } else { self.offset.unsigned_abs().next_multiple_of(request) };
        let room = len.saturating_sub(2 * margin).max(span.min(len));
        let places = (room / span).max(1);
        let start = margin + turn.number % places * span;
        let start = start.saturating_add_signed(self.offset).min(len - span.min(len));
        (start..start + span, Order::Sequential)
    }

    fn transfer(&self, range: &Range<u64>, place: &Place<'_>) -> Result<Outcome> {
        let scope = Scope { range: range.clone(), order: self.order };
        let strategy = self.side.strategy();
        if !self.side.writes() {
            return read_through(self.standing(place.bed()), &scope, &strategy, place);
        }
        let path = match self.grows() {
            true => Self::grown(place),
            false => self.standing(place.bed()).path().to_owned(),
        };
        if self.asked.file == State::Truncated {
            File::open_write(&path)?.set_len(0)?;
        }
        let output = Output::create(&path, Placement::Overwrite, None)?;
        let data = self.side.data().ok_or_else(|| unopened(&path))?;
        if strategy.write.capabilities.mapped && self.grows() {
            // A mapping cannot make its file longer.
            output.file().set_len(range.end)?;
        }
        let mut outcome = pattern::fill(data, &scope, &output, &strategy, place.monitor)?;
        if self.asked.flush == Some(true) {
            let clock = Instant::now();
            output.file().sync(Sync::Data)?;
            outcome.seconds += clock.elapsed().as_secs_f64();
        }
        Ok(outcome)
    }
}

fn unopened(path: &std::path::Path) -> Error {
    Error::new(Kind::Invalid, "measure", path, "the trial was not opened")
}

/// Reads a scope and, where a mapping lends it, touches every line of it.
fn read_through(file: &File, scope: &Scope, strategy: &Strategy, place: &Place<'_>) -> Result<Outcome> {
    read_until(file, scope, strategy, &AtomicBool::new(false), place.monitor)
}

/// The same, until `enough` is set.
pub(super) fn read_until(
    file: &File,
    scope: &Scope,
    strategy: &Strategy,
    enough: &AtomicBool,
    monitor: &Monitor,
) -> Result<Outcome> {
    // A system call has brought every byte to the reader; a mapping has brought none before it is touched.
    let mapped = strategy.read.capabilities.mapped;
    let look = |sum: &mut u64, _offset: u64, data: &[u8]| {
        if mapped {
            *sum = data.iter().step_by(CACHE_LINE).fold(*sum, |sum, &byte| sum.wrapping_add(u64::from(byte)));
        }
    };
    let (outcome, sums) = pattern::visit_until(file, scope, strategy, monitor, enough, || 0u64, look)?;
    std::hint::black_box(sums);
    Ok(outcome)
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        Needs {
            warm: !self.side.writes() && self.asked.cache == Some(CacheState::Warm),
            written: self.side.writes(),
            fresh: self.grows(),
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        let oldest_first = self.side.strategy().completion == Completion::Ordered;
        Labels {
            file_state: self.side.writes().then(|| self.asked.file.word().into()),
            cache: self.asked.cache,
            order: Some(self.asked.order.word().into()),
            flush: self.asked.flush,
            offset_bytes: self.asked.offset.as_ref().map(|_| self.offset),
            variant: oldest_first.then(|| "oldest first".into()),
            ..self.side.labels()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let bed = place.bed();
        if bed.in_memory && (self.asked.cache == Some(CacheState::Cold) || self.side.direct()) {
            return Err(place.no_device());
        }
        if self.grows() {
            bed.has_files()?;
        }
        let file = self.standing(bed);
        let strategy = self.side.plan(file, bed.len)?;
        self.side.settle(strategy, place.seed);
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.side.planned()
    }

    fn prepare(&mut self, turn: Turn, place: &Place<'_>) -> Result<Claim> {
        let bed = place.bed();
        (self.range, self.order) = self.part(turn, bed.len);
        let condition = self.condition();
        if self.grows() {
            self.clear(place)?;
            let file = File::create_new(&bed.fresh)?;
            match self.asked.file {
                State::Preallocated => file.preallocate(self.range.end)?,
                State::Truncated => {
                    let scope = Scope::whole(self.range.end);
                    let output = Output::create(&bed.fresh, Placement::Overwrite, None)?;
                    let data = self.side.data().ok_or_else(|| unopened(&bed.fresh))?;
                    pattern::fill(data, &scope, &output, &Strategy::plain(), place.monitor)?;
                    file.sync(Sync::Data)?;
                }
                State::Extended | State::Overwritten => {}
            }
            return Ok(Claim { device: condition.device(), ..Claim::default() });
        }
        let file = self.standing(bed).clone();
        condition.bring(&file, &self.range)?;
        Ok(condition.claim(file, self.range.clone()))
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        // Over the end of the range, which the sample comes to last.
        let clock = Instant::now();
        let strategy = self.side.strategy();
        let step = (strategy.request * strategy.depth * strategy.workers) as u64;
        let mut end = self.range.end;
        while clock.elapsed().as_secs_f64() < seconds {
            let part = end.saturating_sub(step).max(self.range.start)..end;
            self.transfer(&part, place)?;
            end = if part.start > self.range.start { part.start } else { self.range.end };
        }
        Ok(())
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        if self.timed() {
            place.monitor.time_requests();
        }
        let outcome = self.transfer(&self.range.clone(), place);
        let latency = percentiles(&place.monitor.take_latencies());
        let outcome = outcome?;
        let tally = if self.side.writes() { outcome.writes } else { outcome.reads };
        Ok(Done {
            bytes: outcome.bytes,
            // A request's rate has nothing to do with opening and closing.
            seconds: Some(outcome.seconds),
            requests: tally.requests,
            depth: Some(tally.depth()),
            latency,
            // Nor has its cost.
            aside: (outcome.aside_user, outcome.aside_system),
            ..Done::default()
        })
    }

    fn covers(&self, place: &Place<'_>) -> Option<Covered> {
        let path = match self.grows() {
            true => Self::grown(place),
            false => self.standing(place.bed()).path().to_owned(),
        };
        Some(Covered { path, range: self.range.clone(), order: self.order, timed: self.timed() })
    }

    fn again(&self) -> Option<Box<dyn Work>> {
        build(self.side.direction, self.asked.clone()).ok()
    }

    fn clear(&mut self, place: &Place<'_>) -> Result<()> {
        if self.grows() {
            let _ = std::fs::remove_file(Self::grown(place));
        }
        Ok(())
    }
}
