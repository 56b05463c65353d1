//! Several sequential streams at once on one device: what the paper of 1997 left for later, since an array that serves
//! several applications "no longer sees a single sequential request stream" (its last paragraph).

use std::time::{Duration, Instant};

use fullbore::error::{Error, Kind};
use fullbore::file::File;
use fullbore::{Result, size};
use serde::Deserialize;

use super::abreast::{self, Doing, Part};
use super::condition::Condition;
use super::side::{Direction, Side};
use super::wished::Wished;
use super::{Claim, Done, Parsed, Settings, Turn, Work, settings};
use crate::bed::{Bed, Needs};
use crate::document::{CacheState, Labels};
use crate::sample::Place;

/// A sample has at least this many requests for each that may be in flight in a stream.
const LEAST: u64 = 4;

/// The length of a stream's own file, in bytes.
const OWN: u64 = 64 << 20;

/// The names of the streams' own files; there can be no more of those.
const NAMES: [&str; 16] = [
    "stream-1",
    "stream-2",
    "stream-3",
    "stream-4",
    "stream-5",
    "stream-6",
    "stream-7",
    "stream-8",
    "stream-9",
    "stream-10",
    "stream-11",
    "stream-12",
    "stream-13",
    "stream-14",
    "stream-15",
    "stream-16",
];

/// What a grid may say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// As `--strategy` takes it; of each stream.
    #[serde(default = "buffered")]
    strategy: String,
    /// Request size.
    request: Option<String>,
    /// Requests in flight a stream.
    depth: Option<u32>,
    #[serde(default)]
    direction: Direction,
    /// How many streams.
    streams: u32,
    #[serde(default)]
    files: Files,
    /// How much of what is read the page cache holds.
    cache: Option<CacheState>,
    /// Whether written bytes are brought to the device within the time.
    flush: Option<bool>,
}

fn buffered() -> String {
    "method=buffered".into()
}

/// What the streams go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Files {
    /// Each a region of one file.
    #[default]
    One,
    /// Each a file of its own.
    Own,
}

/// A trial of streams.
#[derive(Debug)]
struct Trial {
    asked: Asked,
    side: Side,
    own: Vec<File>,
    /// What the next run covers.
    parts: Vec<Part>,
}

pub(super) fn parse(given: Settings) -> Parsed {
    let asked: Asked = settings(given)?;
    let writes = asked.direction.writes();
    if asked.streams == 0 {
        return Err("there is at least one stream".into());
    }
    if asked.files == Files::Own && asked.streams as usize > NAMES.len() {
        return Err(format!("{} streams at most have files of their own", NAMES.len()));
    }
    if writes && asked.cache.is_some() || !writes && asked.flush.is_some() {
        return Err("`cache` is for reads and `flush` for writes".into());
    }
    if asked.cache == Some(CacheState::Mixed) {
        return Err("streams are warm or cold".into());
    }
    let wished = Wished::new(&asked.strategy, asked.request.as_deref(), asked.depth)?;
    let side = Side::new(asked.direction, wished);
    Ok(Box::new(Trial { asked, side, own: Vec::new(), parts: Vec::new() }))
}

impl Trial {
    fn condition(&self) -> Condition {
        Condition::of(&self.side, self.asked.flush, self.asked.cache)
    }

    fn warm(&self) -> bool {
        self.asked.cache == Some(CacheState::Warm)
    }

    /// The file that the streams have in common.
    fn shared<'b>(&self, bed: &'b Bed) -> &'b File {
        self.condition().file(bed)
    }

    /// The next run of each stream's region or file, so that no cache of the device's own has it.
    fn aim(&mut self, turn: Turn, place: &Place<'_>) {
        let strategy = self.side.strategy();
        let (request, streams) = (strategy.request as u64, u64::from(self.asked.streams));
        let region = match self.asked.files {
            Files::One => (place.bed().len / streams / request * request).max(request),
            Files::Own => OWN,
        };
        let least = LEAST * request * (strategy.depth * strategy.workers) as u64;
        let span =
            ((turn.span / streams).max(least).min(region) / request * request).max(request.min(region));
        let start = turn.number % (region / span).max(1) * span;
        self.parts = (0..streams)
            .map(|stream| match self.own.get(stream as usize) {
                Some(file) => Part { file: file.clone(), range: start..start + span },
                None => {
                    let start = stream * region + start;
                    Part { file: self.shared(place.bed()).clone(), range: start..start + span }
                }
            })
            .collect();
    }

    fn doing(&self) -> Doing<'_> {
        match self.side.data() {
            Some(data) => Doing::Writing { data, flush: self.asked.flush == Some(true) },
            None => Doing::Reading,
        }
    }
}

impl Work for Trial {
    fn needs(&self) -> Needs {
        let own = if self.asked.files == Files::Own { u64::from(self.asked.streams) * OWN } else { 0 };
        Needs {
            warm: self.warm(),
            written: self.side.writes() && !self.side.direct(),
            extra: own,
            ..Needs::default()
        }
    }

    fn labels(&self) -> Labels {
        Labels {
            cache: self.asked.cache,
            order: Some("sequential".into()),
            flush: self.asked.flush,
            streams: Some(self.asked.streams),
            variant: (self.asked.files == Files::Own).then(|| "own files".into()),
            ..self.side.labels()
        }
    }

    fn open(&mut self, place: &Place<'_>) -> Result<()> {
        let bed = place.bed();
        if bed.in_memory && (self.asked.cache == Some(CacheState::Cold) || self.side.direct()) {
            return Err(place.no_device());
        }
        if self.asked.files == Files::Own {
            let names = &NAMES[..self.asked.streams as usize];
            self.own = names.iter().map(|name| bed.sized(name, OWN)).collect::<Result<_>>()?;
        }
        let file = self.own.first().unwrap_or_else(|| self.shared(bed));
        let len = file.snapshot()?.len;
        let strategy = self.side.plan(file, len)?;
        let room = len / if self.own.is_empty() { u64::from(self.asked.streams) } else { 1 };
        if room < strategy.request as u64 {
            let what = format!("each stream has {}, less than a request", size::human(room));
            return Err(
                Error::new(Kind::Unsupported, "measure", file.path(), what).advise("ask for a larger --size")
            );
        }
        self.side.settle(strategy, place.seed);
        Ok(())
    }

    fn strategy(&self) -> Option<String> {
        self.side.planned()
    }

    fn prepare(&mut self, turn: Turn, place: &Place<'_>) -> Result<Claim> {
        self.aim(turn, place);
        let condition = self.condition();
        self.parts.iter().try_for_each(|part| condition.bring(&part.file, &part.range))?;
        let about = self.parts.iter().map(|part| (part.file.clone(), part.range.clone()));
        Ok(Claim {
            about: if condition.writes { Vec::new() } else { about.collect() },
            cache: condition.cache,
            device: condition.device(),
        })
    }

    fn ramp_up(&mut self, seconds: f64, place: &Place<'_>) -> Result<()> {
        let clock = Instant::now();
        let left = || seconds - clock.elapsed().as_secs_f64();
        let mut ends = self.parts.clone();
        for part in &mut ends {
            // The end, which the sample comes to last.
            part.range.start += (part.range.end - part.range.start) / 2 / 4096 * 4096;
        }
        while left() > 0.0 {
            let limit = Some(Duration::from_secs_f64(left().max(0.0)));
            abreast::run(&ends, self.doing(), &self.side.strategy(), limit, place.monitor)?;
        }
        if self.asked.cache == Some(CacheState::Cold) {
            self.parts.iter().try_for_each(|part| Bed::cool_down(&part.file))?;
        }
        Ok(())
    }

    fn run(&mut self, place: &Place<'_>) -> Result<Done> {
        abreast::run(&self.parts, self.doing(), &self.side.strategy(), None, place.monitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_how_many_streams_of_what() {
        let labels = |text: &str| parse(text.parse().unwrap()).unwrap().labels();
        let warm = labels("streams = 4\ncache = 'warm'\nrequest = '256K'");
        assert_eq!((warm.streams, warm.cache, warm.variant), (Some(4), Some(CacheState::Warm), None));
        let own = labels("streams = 2\nfiles = 'own'\ndirection = 'write'\nflush = true");
        assert_eq!((own.operation.as_str(), own.flush), ("write", Some(true)));
        assert_eq!(own.variant.as_deref(), Some("own files"));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| parse(text.parse().unwrap()).unwrap_err();
        assert!(error("streams = 0").contains("at least one"));
        assert!(error("streams = 17\nfiles = 'own'").contains("16"));
        assert!(error("streams = 2\nflush = true").contains("writes"));
        assert!(error("streams = 2\ncache = 'mixed'").contains("warm or cold"));
        assert!(error("streams = 2\ndirection = 'sideways'").contains("sideways"));
    }
}
