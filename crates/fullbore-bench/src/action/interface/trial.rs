//! A trial of an interface: the files of the bed, the states that are asked for, and the clock around the calls.

use std::fmt;
use std::ops::Range;
use std::time::Instant;

use fullbore::Result;
use fullbore::buf::Pool;
use fullbore::error::{Error, Kind};
use fullbore::file::File;
use fullbore::operation::generate::Stamped;

use super::pass::{Bytes, Pass, Way};
use super::settings::{Asked, Order, Settled, State};
use super::{Completion, Interface, Opening, Registered};
use crate::action::condition::Condition;
use crate::action::{Claim, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::document::{CacheState, Labels};
use crate::sample::Place;

/// A sample has at least this many calls for each that may be at once.
const LEAST: u64 = 4;

/// Until its rate is known, a trial that may be slow makes at most so many calls.
const FIRST: u64 = 512;

struct Trial {
    settled: Settled,
    registered: &'static Registered,
    ready: Option<Ready>,
    /// Whether it has been run.
    known: bool,
}

/// What the next run takes.
struct Ready {
    pass: Pass,
    opening: Opening,
    pool: Pool,
    /// The file; a new one is opened within the time.
    opened: Option<Box<dyn Interface>>,
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("settled", &self.settled).finish_non_exhaustive()
    }
}

pub(super) fn parse(given: Settings) -> Parsed {
    let asked: Asked = settings(given)?;
    let (settled, registered) = asked.settle()?;
    Ok(Box::new(Trial { settled, registered, ready: None, known: false }))
}

impl Trial {
    fn writes(&self) -> bool {
        self.settled.asked.direction.writes()
    }

    fn is_new(&self) -> bool {
        self.settled.asked.file == State::New
    }

    fn depth(&self) -> usize {
        self.settled.asked.depth.unwrap_or(1)
    }

    fn condition(&self) -> Condition {
        let asked = &self.settled.asked;
        let (writes, flush) = (self.writes(), asked.flush == Some(true));
        Condition { writes, direct: asked.direct, flush, cache: asked.cache }
    }

    /// The file that is there all the time.
    fn standing<'b>(&self, bed: &'b Bed) -> &'b File {
        self.condition().file(bed)
    }

    fn opening(&self, place: &Place<'_>, len: u64) -> Opening {
        let Settled { asked, record, buffer } = &self.settled;
        let vectors = asked.vectors.unwrap_or(1);
        let bed = place.bed();
        let (path, new) = match self.is_new() {
            true => (bed.fresh.clone(), Some((len, asked.allocation.unwrap_or_default()))),
            false => (self.standing(bed).path().to_owned(), None),
        };
        let bytes = match self.writes() {
            true => Bytes::written(Stamped::new(place.seed, *record), record / vectors),
            false => Bytes::Read(None),
        };
        Opening {
            path,
            new,
            record: *record,
            buffer: *buffer,
            direct: asked.direct,
            hint: asked.hint.and_then(|told| told.hint()),
            vectors,
            depth: self.depth(),
            completion: asked.completion,
            bytes,
        }
    }

    /// The records of this turn: the next run of the file, so that no cache of the device's own has it, or records all
    /// over it. As [the engines'](crate::action).
    fn part(&self, turn: Turn, len: u64) -> (Pass, Range<u64>) {
        let record = self.settled.record as u64;
        let order = self.settled.asked.order;
        let mut span = turn.span;
        if !self.known && order != Order::Sequential {
            // A disk that has to move its head would be at it for minutes.
            span = span.min(FIRST * record);
        }
        let least = record * LEAST * self.depth() as u64;
        let span = (span.max(least) / record * record).clamp(record.min(len), len);
        let random = Way::Random { seed: turn.number, count: span / record };
        let run = || {
            let places = (len / span).max(1);
            let start = turn.number % places * span;
            start..start + span
        };
        let (range, way) = match order {
            Order::Random => (0..len, random),
            Order::RandomHalf => (0..len / 2, random),
            Order::Sequential if self.is_new() => (0..span, Way::Forward),
            Order::Sequential => (run(), Way::Forward),
            Order::Backward => (run(), Way::Backward),
        };
        (Pass::new(range.clone(), self.settled.record, way, len), range)
    }
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        Needs {
            warm: !self.writes() && self.settled.asked.cache == Some(CacheState::Warm),
            written: self.writes(),
            fresh: self.is_new(),
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        let Settled { asked, record, .. } = &self.settled;
        let threads = asked.completion == Completion::Threads;
        let (depth, workers) = if threads { (1, self.depth()) } else { (self.depth(), 1) };
        let state = if self.is_new() { "extended" } else { "overwritten" };
        Labels {
            operation: if self.writes() { "write" } else { "read" }.into(),
            method: asked.interface.clone(),
            request_bytes: Some(*record as u64),
            depth: Some(depth as u32),
            workers: Some(workers as u32),
            // The words of the engines, so that only what differs tells their rows apart.
            model: Some(if threads { "pool" } else { "serial" }.into()),
            allocation: asked.allocation.map(|allocation| allocation.word().into()),
            cache_policy: Some(if asked.direct { "direct" } else { "keep" }.into()),
            file_state: self.writes().then(|| state.into()),
            cache: asked.cache,
            order: Some(asked.order.words().into()),
            flush: asked.flush,
            variant: self.settled.variant(),
            ..Labels::default()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let bed = place.bed();
        let asked = &self.settled.asked;
        if bed.in_memory && (asked.cache == Some(CacheState::Cold) || asked.direct) {
            return Err(place.no_device());
        }
        // Whether it works here.
        let opening = self.opening(place, self.settled.record as u64);
        let opened = opening.pool().and_then(|mut pool| (self.registered.open)(&opening, &mut pool));
        self.clear(place)?;
        opened.map(drop)
    }

    fn prepare(&mut self, turn: Turn, place: &Place<'_>) -> Result<Claim> {
        let bed = place.bed();
        self.clear(place)?;
        let (pass, range) = self.part(turn, bed.len);
        let opening = self.opening(place, range.end);
        let mut pool = opening.pool()?;
        let condition = self.condition();
        if self.is_new() {
            self.ready = Some(Ready { pass, opening, pool, opened: None });
            return Ok(Claim { device: condition.device(), ..Claim::default() });
        }
        let file = self.standing(bed).clone();
        condition.bring(&file, &range)?;
        let opened = Some((self.registered.open)(&opening, &mut pool)?);
        self.ready = Some(Ready { pass, opening, pool, opened });
        Ok(condition.claim(file, range))
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        let clock = Instant::now();
        while clock.elapsed().as_secs_f64() < seconds {
            self.run(place)?;
            if let (true, Some(ready)) = (self.is_new(), &mut self.ready) {
                remove(place);
                ready.pool = ready.opening.pool()?;
            }
        }
        Ok(())
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        let unready =
            || Error::new(Kind::Invalid, "measure", place.bed().directory(), "the trial was not prepared");
        let ready = self.ready.as_mut().ok_or_else(unready)?;
        let flush = self.settled.asked.flush == Some(true);
        // Of a new file, making, allocating and closing are what is asked about; a request's rate has nothing to do with
        // opening one that is there.
        let clock = Instant::now();
        let mut made = None;
        let opened = match &mut ready.opened {
            Some(opened) => opened,
            None => made.insert((self.registered.open)(&ready.opening, &mut ready.pool)?),
        };
        opened.pass(&ready.pass)?;
        if flush {
            opened.flush()?;
        }
        drop(made);
        let seconds = clock.elapsed().as_secs_f64();
        self.known = true;
        Ok(Done {
            bytes: ready.pass.bytes(),
            seconds: Some(seconds),
            requests: ready.pass.count(),
            // Of several at once nobody counts how many there were.
            depth: (self.depth() == 1).then_some(1.0),
            ..Done::default()
        })
    }

    fn clear(&mut self, place: &Place<'_>) -> Result<()> {
        self.ready = None;
        if self.is_new() {
            remove(place);
        }
        Ok(())
    }
}

/// Removes a new file.
fn remove(place: &Place<'_>) {
    let _ = std::fs::remove_file(&place.bed().fresh);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fullbore::pattern::Monitor;

    use super::*;
    use crate::action::Device;

    /// A length in bytes, the smallest that a bed has.
    const LEN: u64 = 16 << 20;

    fn trial(text: &str) -> Trial {
        let asked: Asked = settings(text.parse().unwrap()).unwrap();
        let (settled, registered) = asked.settle().unwrap();
        Trial { settled, registered, ready: None, known: false }
    }

    fn offsets(pass: &Pass) -> Vec<u64> {
        pass.records().map(|(offset, _)| offset).collect()
    }

    #[test]
    fn turns_are_at_other_places_and_within_the_file() {
        let text = "interface = 'std'\ndirection = 'read'\nrecord = '4K'\n";
        let turn = |number| Turn { span: 1 << 20, number };
        for order in ["sequential", "backward", "random", "random-half"] {
            let mut trial = trial(&format!("{text}order = '{order}'"));
            trial.known = true;
            let (one, two) = (trial.part(turn(1), LEN).0, trial.part(turn(2), LEN).0);
            assert_eq!((one.count(), one.bytes()), (256, 1 << 20), "{order}");
            assert_ne!(offsets(&one), offsets(&two), "{order}");
            let end = if order == "random-half" { LEN / 2 } else { LEN };
            for pass in [one, two] {
                assert!(pass.records().all(|(offset, len)| offset + len as u64 <= end), "{order}");
            }
        }
    }

    #[test]
    fn the_half_of_a_random_order_is_all_of_the_first_half() {
        let trial = trial("interface = 'std'\ndirection = 'read'\nrecord = '64K'\norder = 'random-half'");
        let (pass, _) = trial.part(Turn { span: LEN, number: 1 }, LEN);
        let mut all = offsets(&pass);
        all.sort_unstable();
        assert_eq!(all, (0..LEN / 2).step_by(64 << 10).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_seeks_for_minutes_before_the_rate_is_known() {
        let mut trial = trial("interface = 'std'\ndirection = 'read'\nrecord = '512'\norder = 'random'");
        let turn = Turn { span: 4 << 20, number: 1 };
        assert_eq!(trial.part(turn, LEN).0.count(), FIRST);
        trial.known = true;
        assert_eq!(trial.part(turn, LEN).0.count(), (4 << 20) / 512);
    }

    #[test]
    fn a_trial_does_what_it_says_and_leaves_no_file_behind() {
        let directory = tempfile::tempdir().unwrap();
        let monitor = Monitor::default();
        let needs = Needs { warm: true, written: true, fresh: true, ..Needs::default() };
        let minute = Duration::from_secs(60);
        let bed = Bed::make(directory.path(), LEN, true, minute, 1, needs, &monitor).unwrap();
        let beds = [bed];
        let place = Place {
            beds: &beds,
            devices: &[],
            monitor: &monitor,
            start: Instant::now(),
            seed: 1,
            program: None,
        };
        let mut number = 0;
        for settings in [
            "interface = 'std'\ndirection = 'read'\ncache = 'warm'",
            "interface = 'stream'\ndirection = 'read'\ncache = 'warm'\nbuffer = '0'\norder = 'backward'",
            "interface = 'tokio'\ndirection = 'read'\ncache = 'warm'\ndepth = 3\ncompletion = 'tasks'",
            "interface = 'compio'\ndirection = 'write'\nflush = true\norder = 'random'",
            "interface = 'file'\ndirection = 'write'\nvectors = 2\nflush = false",
            "interface = 'file'\ndirection = 'write'\nfile = 'new'\nallocation = 'size'\nflush = true",
            "interface = 'std-buffered'\ndirection = 'write'\nfile = 'new'\nallocation = 'extend'",
        ] {
            let mut trial = trial(&format!("{settings}\nrecord = '8K'"));
            if !crate::action::interface::tests::available(trial.registered.name) {
                continue;
            }
            trial.open(&place).unwrap_or_else(|error| panic!("{settings}: {error}"));
            for _ in 0..2 {
                number += 1;
                let before = fs_len(&beds[0].written);
                let claim = trial.prepare(Turn { span: 256 << 10, number }, &place).unwrap();
                assert_eq!(claim.cache, trial.settled.asked.cache, "{settings}");
                let flushed = settings.contains("flush = true");
                let device = if flushed { Device::Writes } else { Device::Any };
                assert_eq!(claim.device, device, "{settings}");
                trial.ramp_up(0.001, &place).unwrap();
                let done = trial.run(&place).unwrap_or_else(|error| panic!("{settings}: {error}"));
                assert_eq!((done.bytes, done.requests), (256 << 10, 32), "{settings}");
                assert!(done.seconds.is_some_and(|seconds| seconds > 0.0), "{settings}");
                if trial.is_new() {
                    assert_eq!(std::fs::metadata(&beds[0].fresh).unwrap().len(), 256 << 10, "{settings}");
                }
                trial.clear(&place).unwrap();
                assert_eq!(fs_len(&beds[0].written), before, "{settings}");
                assert!(!beds[0].fresh.exists(), "{settings}");
            }
        }
    }

    fn fs_len(file: &File) -> u64 {
        file.len().unwrap()
    }
}
