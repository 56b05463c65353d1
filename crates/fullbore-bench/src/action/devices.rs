//! Several directories, one a disk: each alone, the first so many together, or one file striped over them (section 4
//! of Riedel, van Ingen and Gray: disks were added until something else was full).

use std::ops::Range;
use std::time::{Duration, Instant};

use fullbore::error::{Error, Kind};
use fullbore::file::{File, Sync};
use fullbore::{Result, size};
use serde::Deserialize;

use super::abreast::{self, Doing, Part};
use super::side::{Direction, Side};
use super::striped::{self, Layout};
use super::wished::Wished;
use super::{Claim, Device, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::document::{CacheState, Labels, saturation};
use crate::sample::Place;

/// A sample has at least this many requests for each that may be in flight on a disk.
const LEAST: u64 = 4;

/// The chunk of a striped file unless told otherwise, in bytes: as NT's `ftdisk` had it.
const CHUNK: u64 = 64 << 10;

/// Chunks are multiples of this, in bytes, so that every piece can pass the page cache by.
const BLOCK: u64 = 4096;

/// What a grid may say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// As `--strategy` takes it.
    #[serde(default = "direct")]
    strategy: String,
    /// Request size.
    request: Option<String>,
    /// Requests in flight: a disk; of a striped file, over all disks.
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    mode: Mode,
    /// How many disks, or which: see [`Which`].
    targets: Targets,
    /// Bytes that a striped file has on one disk before it goes on on the next.
    chunk: Option<String>,
}

fn direct() -> String {
    "method=direct".into()
}

/// What is done with the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// One disk by itself, the one of that number.
    Alone,
    /// Each its own file, all at once.
    #[default]
    Together,
    /// One file over all.
    Striped,
}

/// A number, or a text: a number or several with `+` between.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Targets {
    Number(u32),
    Text(String),
}

/// The disks of a trial, counted from 1 in the order of `--dir`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Which(Vec<usize>);

impl Which {
    /// `3` is the first three, or the third if one is measured alone; `1+3` is the first and the third.
    fn parse(targets: &Targets, mode: Mode) -> std::result::Result<Self, String> {
        let number = |text: &str| match text.trim().parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("targets are numbers from 1, such as 3 or \"1+3\", not {text:?}")),
        };
        let named: Vec<usize> = match targets {
            Targets::Number(count) => vec![number(&count.to_string())?],
            Targets::Text(text) => text.split('+').map(number).collect::<std::result::Result<_, _>>()?,
        };
        let twice = |at: usize| named[..at].contains(&named[at]);
        if (0..named.len()).any(twice) {
            return Err("each target is named once".into());
        }
        match (named.as_slice(), mode) {
            ([_], Mode::Alone) => Ok(Self(named)),
            (_, Mode::Alone) => Err("one target is measured alone, not several".into()),
            (&[count], _) => Ok(Self((1..=count).collect())),
            _ => Ok(Self(named)),
        }
    }

    /// Whether they are the first so many.
    fn first_ones(&self) -> bool {
        self.0.iter().enumerate().all(|(index, &disk)| disk == index + 1)
    }

    fn most(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// A trial of disks.
#[derive(Debug)]
struct Trial {
    mode: Mode,
    which: Which,
    chunk: u64,
    side: Side,
    /// What the next run covers: of each disk's file, or of the striped one.
    parts: Vec<Part>,
    logical: Range<u64>,
}

pub(super) fn parse(given: Settings) -> Parsed {
    let asked: Asked = settings(given)?;
    let which = Which::parse(&asked.targets, asked.mode)?;
    let chunk = match (asked.chunk.as_deref(), asked.mode) {
        (None, _) => CHUNK,
        (Some(chunk), Mode::Striped) => size::parse(chunk).map_err(|error| error.to_string())?,
        (Some(_), _) => return Err("`chunk` is for `mode = \"striped\"`".into()),
    };
    if chunk == 0 || !chunk.is_multiple_of(BLOCK) {
        return Err(format!("a chunk is a multiple of {}, not {}", size::exact(BLOCK), size::exact(chunk)));
    }
    let wished = Wished::new(&asked.strategy, asked.request.as_deref(), asked.depth)?;
    if asked.mode == Mode::Striped && wished.plain().workers > 1 {
        return Err("a striped file has one worker: ask for depth".into());
    }
    Ok(Box::new(Trial {
        mode: asked.mode,
        which,
        chunk,
        side: Side::new(asked.direction, wished),
        parts: Vec::new(),
        logical: 0..0,
    }))
}

impl Trial {
    /// Whether written bytes wait in the page cache and must be brought to the disk within the time.
    fn flushes(&self) -> bool {
        self.side.writes() && !self.side.direct()
    }

    fn layout(&self) -> Layout {
        Layout { files: self.which.0.len(), chunk: self.chunk }
    }

    /// The file of a disk.
    fn file<'b>(&self, bed: &'b Bed) -> &'b File {
        if self.flushes() { &bed.written } else { &bed.cold }
    }

    fn files(&self, place: &Place<'_>) -> Vec<File> {
        self.which.0.iter().map(|&disk| self.file(&place.beds[disk - 1]).clone()).collect()
    }

    /// What the next sample covers: the next run of every file, so that no disk's own cache has it.
    fn aim(&mut self, turn: Turn, place: &Place<'_>) {
        let len = place.bed().len;
        let strategy = self.side.strategy();
        let (request, disks) = (strategy.request as u64, self.which.0.len() as u64);
        let least = LEAST * request * (strategy.depth * strategy.workers) as u64;
        let files = self.files(place);
        if self.mode != Mode::Striped {
            let span = whole((turn.span / disks).max(least), request, len);
            let start = turn.number % (len / span).max(1) * span;
            let part = |file| Part { file, range: start..start + span };
            self.parts = files.into_iter().map(part).collect();
            return;
        }
        let layout = self.layout();
        let room = (len / self.chunk * self.chunk).max(BLOCK) * disks;
        let span = whole(turn.span.max(least), request, room);
        // From the first disk on.
        let rows = span.next_multiple_of(layout.row());
        let start = turn.number % (room / rows).max(1) * rows;
        self.logical = start..start + span;
        let range = layout.rows(&(start..(start + rows).min(room)));
        self.parts = files.into_iter().map(|file| Part { file, range: range.clone() }).collect();
    }

    fn doing(&self) -> Doing<'_> {
        match self.side.data() {
            Some(data) => Doing::Writing { data, flush: self.flushes() },
            None => Doing::Reading,
        }
    }

    fn striped(&self, range: Range<u64>, place: &Place<'_>) -> Result<Done> {
        let files: Vec<File> = self.parts.iter().map(|part| part.file.clone()).collect();
        let (layout, strategy) = (self.layout(), self.side.strategy());
        let (outcome, tally) = match self.doing() {
            Doing::Writing { data, flush } => {
                let mut outcome =
                    striped::write(&files, layout, range.clone(), &strategy, place.monitor, data)?;
                if flush {
                    let clock = Instant::now();
                    files.iter().try_for_each(|file| file.sync(Sync::Data).map(drop))?;
                    outcome.seconds += clock.elapsed().as_secs_f64();
                }
                (outcome, outcome.writes)
            }
            Doing::Reading => {
                let look = |_: u64, data: &[u8]| {
                    std::hint::black_box(data);
                };
                let outcome = striped::read(&files, layout, range.clone(), &strategy, place.monitor, look)?;
                (outcome, outcome.reads)
            }
        };
        Ok(Done {
            bytes: outcome.bytes,
            seconds: Some(outcome.seconds),
            requests: tally.requests,
            depth: Some(tally.depth()),
            ..Done::default()
        })
    }
}

/// About `bytes`, in whole requests, within `room`.
fn whole(bytes: u64, request: u64, room: u64) -> u64 {
    (bytes.min(room) / request * request).max(request.min(room))
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        Needs { written: self.flushes(), ..Needs::default() }
    }

    fn labels(&self) -> Labels {
        let variant = match self.mode {
            Mode::Alone => saturation::alone(self.which.most()),
            Mode::Together if self.which.first_ones() => saturation::TOGETHER.into(),
            Mode::Striped if self.which.first_ones() => "striped".into(),
            Mode::Together | Mode::Striped => {
                let disks: Vec<String> = self.which.0.iter().map(ToString::to_string).collect();
                let how = if self.mode == Mode::Striped { "striped" } else { saturation::TOGETHER };
                format!("disks {} {how}", disks.join("+"))
            }
        };
        Labels {
            cache: (!self.side.writes() && !self.side.direct()).then_some(CacheState::Cold),
            order: Some("sequential".into()),
            flush: self.flushes().then_some(true),
            targets: Some(self.which.0.len() as u32),
            chunk_bytes: (self.mode == Mode::Striped).then_some(self.chunk),
            variant: Some(variant),
            ..self.side.labels()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let (most, there) = (self.which.most(), place.beds.len());
        if most > there {
            let what = format!("it takes {most} directories, not {there}: name more directories with --dir");
            return Err(Error::new(Kind::Unsupported, "measure", place.bed().directory(), what));
        }
        let mut first = None;
        for &disk in &self.which.0 {
            let bed = &place.beds[disk - 1];
            if bed.in_memory {
                return Err(place.no_device());
            }
            let strategy = self.side.plan(self.file(bed), bed.len)?;
            first.get_or_insert(strategy);
        }
        if let Some(strategy) = first {
            self.side.settle(strategy, place.seed);
        }
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.side.planned()
    }

    fn prepare(&mut self, turn: Turn, place: &Place<'_>) -> Result<Claim> {
        self.aim(turn, place);
        for part in &self.parts {
            if self.flushes() {
                Bed::warm_up(&part.file, &part.range)?;
            } else {
                Bed::cool_down(&part.file)?;
            }
        }
        let device = if self.side.writes() { Device::Writes } else { Device::Reads };
        let cold = !self.side.writes() && !self.side.direct();
        let about = self.parts.iter().map(|part| (part.file.clone(), part.range.clone()));
        Ok(Claim {
            about: if self.side.writes() { Vec::new() } else { about.collect() },
            cache: cold.then_some(CacheState::Cold),
            device,
        })
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        let (clock, strategy) = (Instant::now(), self.side.strategy());
        let left = || seconds - clock.elapsed().as_secs_f64();
        // Over the end, which the sample comes to last.
        if self.mode == Mode::Striped {
            let step = (strategy.request * strategy.depth) as u64;
            let mut end = self.logical.end;
            while left() > 0.0 {
                let start = end.saturating_sub(step).max(self.logical.start);
                self.striped(start..end, place)?;
                end = if start > self.logical.start { start } else { self.logical.end };
            }
            return Ok(());
        }
        let mut ends = self.parts.clone();
        for part in &mut ends {
            let half = (part.range.end - part.range.start) / 2 / BLOCK * BLOCK;
            part.range.start += half;
        }
        while left() > 0.0 {
            let limit = Some(Duration::from_secs_f64(left().max(0.0)));
            abreast::run(&ends, self.doing(), &strategy, limit, place.monitor)?;
        }
        if !self.side.writes() && !self.side.direct() {
            // What was read along is not to be in the way of what is measured.
            self.parts.iter().try_for_each(|part| Bed::cool_down(&part.file))?;
        }
        Ok(())
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        match self.mode {
            Mode::Striped => self.striped(self.logical.clone(), place),
            Mode::Alone | Mode::Together => {
                abreast::run(&self.parts, self.doing(), &self.side.strategy(), None, place.monitor)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn which(text: &str, mode: Mode) -> std::result::Result<Vec<usize>, String> {
        Which::parse(&Targets::Text(text.into()), mode).map(|which| which.0)
    }

    #[test]
    fn targets_are_a_number_or_a_list() {
        assert_eq!(which("3", Mode::Together), Ok(vec![1, 2, 3]));
        assert_eq!(which("3", Mode::Alone), Ok(vec![3]));
        assert_eq!(which("1+3", Mode::Striped), Ok(vec![1, 3]));
        for wrong in ["", "0", "1+0", "two", "1,2", "2+2"] {
            assert!(which(wrong, Mode::Together).is_err(), "{wrong}");
        }
        assert!(which("1+2", Mode::Alone).is_err());
    }

    #[test]
    fn labels_tell_modes_apart() {
        let labels = |text: &str| parse(text.parse().unwrap()).unwrap().labels();
        let together = labels("targets = 3\nrequest = '64K'");
        assert_eq!((together.targets, together.variant.as_deref()), (Some(3), Some("together")));
        assert_eq!((together.method.as_str(), together.chunk_bytes), ("direct", None));
        let alone = labels("targets = 3\nmode = 'alone'");
        assert_eq!((alone.targets, alone.variant.as_deref()), (Some(1), Some("disk 3 alone")));
        let striped = labels("targets = '1+3'\nmode = 'striped'\nchunk = '128K'\ndirection = 'write'");
        assert_eq!((striped.targets, striped.chunk_bytes), (Some(2), Some(128 << 10)));
        assert_eq!(striped.variant.as_deref(), Some("disks 1+3 striped"));
        let buffered = labels("targets = 1\nstrategy = 'method=buffered'");
        assert_eq!((buffered.cache, buffered.flush), (Some(CacheState::Cold), None));
        let flushed = labels("targets = 1\nstrategy = 'method=buffered'\ndirection = 'write'");
        assert_eq!((flushed.cache, flushed.flush), (None, Some(true)));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| parse(text.parse().unwrap()).unwrap_err();
        assert!(error("targets = 0").contains("from 1"));
        assert!(error("targets = 1\nchunk = '64K'").contains("striped"));
        assert!(error("targets = 2\nmode = 'striped'\nchunk = '1000'").contains("a multiple of 4K"));
        assert!(
            error("targets = 2\nmode = 'striped'\nstrategy = 'method=direct,workers=2,model=pool'")
                .contains("depth")
        );
        assert!(error("mode = 'alone'").contains("targets"));
    }

    #[test]
    fn spans_are_whole_requests_within_the_file() {
        assert_eq!(whole(10_000, 4096, 1 << 20), 8192);
        assert_eq!(whole(1, 4096, 1 << 20), 4096);
        assert_eq!(whole(1 << 30, 4096, 10_000), 8192);
        assert_eq!(whole(1, 1 << 20, 10_000), 10_000);
    }
}
