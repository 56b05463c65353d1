//! A trial that only reads or only writes: strategy, data, cache state before a run, requests issued one by one.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::engine::{CachePolicy, Capabilities, EngineConfig, IoQueue, Method};
use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, File, Output};
use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::{self, Order, Progress, Scope, Stats};
use fullbore::size;
use fullbore::strategy::{Planner, Purpose, Strategy};
use fullbore::sys::{self, Advice};
use serde::{Deserialize, Serialize};

use super::requested_strategy::RequestedStrategy;
use super::settings::RequestOrder;
use super::workload::{DeviceIo, ExpectedState};
use crate::document::{CacheState, Labels, word};
use crate::test_files::TestFiles;

/// Bytes of a line of the processor's cache.
pub(super) const CACHE_LINE: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Read,
    Write,
}

impl Direction {
    pub(super) fn writes(self) -> bool {
        self == Self::Write
    }

    /// Returns the method and the cache policy of a strategy for this direction.
    pub(super) fn of(self, strategy: &Strategy) -> (&'static Method, CachePolicy) {
        match self {
            Self::Read => (strategy.read, strategy.read_cache),
            Self::Write => (strategy.write, strategy.write_cache),
        }
    }
}

/// Strategy of a trial that only reads or only writes: as requested, and as planned once known.
#[derive(Debug)]
pub(super) struct OneWayIo {
    pub(super) direction: Direction,
    requested: RequestedStrategy,
    planned: Option<Strategy>,
    data: Option<Stamped>,
}

impl OneWayIo {
    pub(super) fn new(direction: Direction, requested: RequestedStrategy) -> Self {
        Self { direction, requested, planned: None, data: None }
    }

    /// Returns the planned strategy, or the requested one before planning.
    pub(super) fn strategy(&self) -> Strategy {
        self.planned.clone().unwrap_or_else(|| self.requested.plain())
    }

    /// Returns the full strategy as the profile stores it, once it is known.
    pub(super) fn planned(&self) -> Option<String> {
        self.planned.as_ref().map(ToString::to_string)
    }

    pub(super) fn writes(&self) -> bool {
        self.direction.writes()
    }

    pub(super) fn direct(&self) -> bool {
        let (method, cache) = self.direction.of(&self.strategy());
        cache == CachePolicy::Direct || method.capabilities.passes_cache(cache)
    }

    /// Returns the generator of the written data; `None` for reads, and before [`set_strategy`](Self::set_strategy).
    pub(super) fn data(&self) -> Option<&Stamped> {
        self.data.as_ref()
    }

    /// Plans the strategy for the first `len` bytes of a file.
    pub(super) fn plan(&self, file: &File, len: u64) -> Result<Strategy> {
        let RequestedStrategy { spec, text } = &self.requested;
        let planner = Planner::new(spec).with_text(Some(text));
        let planned = if self.writes() {
            let output = Output::overwrite(file.path())?;
            let planned = planner.plan(Purpose::Generate, None, Some(len), Some(&output))?;
            output.commit_len(len, Durability::None)?;
            planned
        } else {
            planner.plan(Purpose::Read, Some(file), Some(len), None)?
        };
        self.requested.check_granted(&planned, file.path())?;
        Ok(planned.strategy)
    }

    /// Plans the strategy for the first `len` bytes of a file, which must hold a request, and sets it.
    pub(super) fn open(&mut self, file: &File, (len, order): (u64, RequestOrder), seed: u64) -> Result<()> {
        let strategy = self.plan(file, len)?;
        at_least_one_request(file, (len, order), strategy.request as u64)?;
        self.set_strategy(strategy, seed);
        Ok(())
    }

    pub(super) fn target(&self, file: File, len: u64, first: u64, order: Order) -> Target<'_> {
        let strategy = self.strategy();
        let blocks = len / strategy.request as u64;
        Target { file, strategy, data: self.data(), order, first, blocks }
    }

    /// Sets the strategy of the trial; `seed` determines the written data.
    pub(super) fn set_strategy(&mut self, strategy: Strategy, seed: u64) {
        self.data = self.writes().then(|| Stamped::new(seed, strategy.request));
        self.planned = Some(strategy);
    }

    pub(super) fn labels(&self) -> Labels {
        let strategy = self.strategy();
        let (method, cache) = self.direction.of(&strategy);
        Labels {
            request_bytes: Some(strategy.request as u64),
            depth: Some(strategy.depth as u32),
            workers: Some(strategy.workers as u32),
            model: Some(strategy.model.to_string()),
            cache_policy: Some(cache.to_string()),
            file_state: self.writes().then(|| "overwritten".into()),
            strategy: Some(self.requested.text.clone()),
            ..Labels::of(word(self.direction), method.name)
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Precondition {
    pub(super) writes: bool,
    pub(super) direct: bool,
    /// True if the time includes flushing writes to the device.
    pub(super) flush: bool,
    /// Page-cache state of the range; `None`: the default of the cache policy.
    pub(super) cache: Option<CacheState>,
}

/// Fails if a file, or the half that is used, is too short for a single request.
pub(super) fn at_least_one_request(
    file: &File,
    (len, order): (u64, RequestOrder),
    request: u64,
) -> Result<()> {
    let (part, used) = match order {
        RequestOrder::RandomHalf => ("half of the test file", len / 2),
        _ => ("the test file", len),
    };
    if request <= used {
        return Ok(());
    }
    let what = format!("a request has {}, {part} {}", size::exact(request), size::exact(used));
    Err(Error::new(ErrorKind::Invalid, "measure", file.path(), what).advise("set a larger --size"))
}

impl Precondition {
    /// True if the transfers cannot be measured in memory alone.
    pub(super) fn needs_device(&self) -> bool {
        self.flush || self.direct || self.cache == Some(CacheState::Cold)
    }

    /// Returns the precondition of reads through the page cache.
    pub(super) fn reading(cache: Option<CacheState>) -> Self {
        Self { writes: false, direct: false, flush: false, cache }
    }

    pub(super) fn of(io: &OneWayIo, flush: Option<bool>, cache: Option<CacheState>) -> Self {
        Self { writes: io.writes(), direct: io.direct(), flush: flush == Some(true), cache }
    }

    pub(super) fn file(self, test_files: &TestFiles) -> &File {
        match self.cache {
            _ if self.writes && !self.direct => &test_files.written,
            Some(CacheState::Warm) => &test_files.warm,
            _ => &test_files.cold,
        }
    }

    pub(super) fn establish(self, file: &File, range: &Range<u64>) -> Result<()> {
        if self.flush {
            // The flush of this run must not write what earlier ones left.
            file.sync_data()?;
        }
        match self.cache {
            Some(CacheState::Warm) => TestFiles::load_into_cache(file, range),
            Some(CacheState::Cold) => TestFiles::evict_from_cache(file),
            Some(CacheState::Mixed) => {
                TestFiles::evict_from_cache(file)?;
                // Read-ahead of a short range would cache the rest of it.
                TestFiles::load_exactly_into_cache(file, &(range.start..range.start.midpoint(range.end)))
            }
            // Direct I/O must read from the device, so the range must not be cached.
            None if self.direct => TestFiles::evict_from_cache(file),
            None if self.writes => TestFiles::load_into_cache(file, range),
            None => Ok(()),
        }
    }

    pub(super) fn device(self) -> DeviceIo {
        match (self.writes, self.direct) {
            (true, true) => DeviceIo::Writes,
            (true, false) if self.flush => DeviceIo::Writes,
            (false, true) => DeviceIo::Reads,
            (false, false) if self.cache == Some(CacheState::Cold) => DeviceIo::Reads,
            _ => DeviceIo::Any,
        }
    }

    /// Establishes the state of ranges; those whose cached pages matter prove it.
    pub(super) fn prepare(self, mut ranges: Vec<(File, Range<u64>)>) -> Result<ExpectedState> {
        ranges.iter().try_for_each(|(file, range)| self.establish(file, range))?;
        if self.cache.is_none() && !self.direct {
            ranges.clear();
        }
        Ok(ExpectedState { ranges, cache: self.cache, device: self.device(), fills_page_cache: false })
    }
}

/// Reads a scope until `enough` is set; of a mapping, touches every cache line.
pub(crate) fn read_until(
    file: &File,
    scope: &Scope,
    strategy: &Strategy,
    enough: &AtomicBool,
    progress: &Progress,
) -> Result<Stats> {
    // A system call copies every byte to the reader; a mapping reads nothing before it is touched.
    let mapped = strategy.read.capabilities.mapped;
    let look = |sum: &mut u64, _offset: u64, data: &[u8]| {
        if mapped {
            *sum = data.iter().step_by(CACHE_LINE).fold(*sum, |sum, &byte| sum.wrapping_add(u64::from(byte)));
        }
    };
    let (stats, sums) = pattern::visit(file, scope, strategy, progress, enough, || 0u64, look)?;
    std::hint::black_box(sums);
    Ok(stats)
}

/// Reads a scope until `enough` is set, or overwrites it with `data`.
pub(super) fn read_or_overwrite(
    file: &File,
    scope: &Scope,
    strategy: &Strategy,
    data: Option<&Stamped>,
    enough: &AtomicBool,
    progress: &Progress,
) -> Result<Stats> {
    let Some(data) = data else { return read_until(file, scope, strategy, enough, progress) };
    pattern::fill(data, scope, &Output::overwrite(file.path())?, strategy, progress, enough)
}

#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) file: File,
    pub(super) strategy: Strategy,
    /// Generator of the written data; `None` for reads.
    pub(super) data: Option<&'a Stamped>,
    pub(super) order: Order,
    pub(super) first: u64,
    /// Number of blocks of the request's size.
    pub(super) blocks: u64,
}

impl Target<'_> {
    fn request(&self) -> usize {
        self.strategy.request
    }

    fn direction(&self) -> Direction {
        if self.data.is_some() { Direction::Write } else { Direction::Read }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.direction().of(&self.strategy).0.capabilities
    }

    /// Opens it for one thread with `depth` requests in flight, and creates their buffers.
    pub(super) fn open(&self, depth: usize) -> Result<(IoQueue, Pool)> {
        let writes = self.data.is_some();
        let failed = |error| Error::io("use", self.file.path(), error);
        let (method, cache) = self.direction().of(&self.strategy);
        let mut pool = Pool::allocate(depth, self.request(), cache == CachePolicy::Direct).map_err(failed)?;
        if let Some(data) = self.data {
            data.prime(&mut pool);
        }
        let file = self.file.reopen(writes);
        let random = self.order != Order::Sequential;
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // A hint, as a pattern passes it.
        let _ = sys::advise(&file, 0, None, advice);
        let config = EngineConfig {
            file: &file,
            from: None,
            write: writes,
            cache,
            depth,
            pool: Some(&pool),
            window: self.strategy.window,
            random,
        };
        let limit = if writes { None } else { Some(self.file.len()?) };
        Ok((IoQueue::open(method, &config, limit).map_err(failed)?, pool))
    }

    /// Takes the only buffer from the pool.
    pub(super) fn take(pool: &mut Pool) -> Result<Buf> {
        let taken =
            || Error::new(ErrorKind::Invalid, "take a buffer", "", "the only one is in use").without_path();
        pool.take().ok_or_else(taken)
    }

    pub(super) fn enqueue(&self, queue: &mut IoQueue, token: u64, number: u64, mut buf: Buf) -> Result<()> {
        let block = (self.first + self.order.block(number % self.blocks, self.blocks)) % self.blocks;
        let request = self.request();
        let offset = block * request as u64;
        match self.data {
            Some(data) => {
                buf.place(offset, request);
                data.renew(offset, buf.data_mut());
                queue.write(token, offset, buf)
            }
            None => queue.read(token, offset, request, buf),
        }
    }
}

#[cfg(test)]
mod tests {
    use fullbore_testkit::ground::build_directory;

    use super::*;
    use crate::action::{ACTIONS, RunContext};
    use crate::test_files::Needs;

    #[test]
    fn a_file_shorter_than_a_request_is_refused() {
        let directory = tempfile::tempdir_in(build_directory()).unwrap();
        let progress = Progress::default();
        let file_sets = [TestFiles::of_test(directory.path(), 1 << 20, Needs::default())];
        let context = RunContext::of(&file_sets, &progress);
        for (name, setting) in [("devices", "targets = 1"), ("phases", ""), ("sustained", "")] {
            let action = ACTIONS.iter().find(|action| action.name == name).unwrap();
            let settings = format!("strategy = 'method=direct,request=2M'\n{setting}");
            let mut trial = (action.parse)(settings.parse().unwrap()).unwrap();
            match trial.open(&context) {
                Err(error) if error.kind() == ErrorKind::Unsupported => println!("skipped: {name}: {error}"),
                opened => {
                    let error = opened.expect_err(name).to_string();
                    assert!(error.contains("a request has 2M"), "{name}: {error}");
                }
            }
        }
    }
}
