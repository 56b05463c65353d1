//! Search for the limiters of a device, and the steady part of a recording.
//!
//! A device is read or written without pause, with large requests and then with small ones. If its throughput falls, or
//! if it grants transfers periodically, there is a limiter, and the throughput at the end is the sustained one. A
//! device without these signs may have a credit larger than the search spends: its samples are of an unknown regime.

use std::sync::atomic::{AtomicBool, Ordering};

use fullbore::Result;
use fullbore::engine::deep_method;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::{Order, Scope};
use fullbore::probe::DeviceNumber;
use fullbore::strategy::Strategy;

use super::one_way::{Direction, OneWayIo, read_or_overwrite};
use super::requested_strategy::RequestedStrategy;
use super::workload::{Ramp, RunContext};
use crate::document::{Burst, DeviceLimit};
use crate::recorder::{Counters, Recording, record, sum};
use crate::stats::{Pace, Reading, accounting_period, fall, up_to_the_last_transfer, whole_periods};

/// Strategies of large requests: for the system's deep method, and for files that do not support it.
const LARGE: [&str; 2] =
    ["cache=direct,request=512K,depth=2,workers=1", "method=direct,request=4M,workers=1"];

/// Strategies of small requests, for the same two cases.
const SMALL: [&str; 2] = ["cache=direct,request=4K,depth=32,workers=1", "method=direct,request=4K,workers=1"];

/// Strategies of a ramp, with requests as large as those of read-ahead.
const RAMP: [&str; 2] = ["cache=direct,request=1M,depth=2,workers=1", "method=direct,request=1M,workers=1"];

/// Duration of a search for a limiter in seconds: without a sign of one, and with one.
const SEARCH: (f64, f64) = (0.8, 2.0);

/// Width of the bins in which a fall is looked for, in seconds; for a device with a period, at least that.
pub(super) const BIN: f64 = 0.025;

/// Number of accounting periods over which a sample's throughput is determined to about a percent.
pub(super) const PERIODS: f64 = 10.0;

/// Share of the rate of small requests above which large requests, too, are limited by their number.
pub(super) const LIMITED: f64 = 0.85;

/// The part of a recording that determines its throughput.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteadyPace {
    pub(crate) pace: Pace,
    /// Duration of the part in seconds.
    pub(crate) seconds: f64,
    /// True if it has whole accounting periods of each device.
    pub(crate) whole_periods: bool,
}

/// Returns the part of a recording that determines its throughput: after a fall, over whole accounting periods, of which each
/// device has its own; `None` if it is the whole recording.
pub(crate) fn steady_pace(recording: &Recording, period: Option<f64>) -> Option<SteadyPace> {
    let mut cut = false;
    let mut total = SteadyPace { pace: Pace::default(), seconds: 0.0, whole_periods: true };
    for series in recording {
        let (Some(first), Some(last)) = (series.first(), series.last()) else { continue };
        if last.bytes <= first.bytes {
            continue;
        }
        let range = steady_range(series, period);
        cut |= range.is_some();
        total.whole_periods &= range.is_some_and(|range| range.2);
        let (from, to) = range.map_or((first, last), |(from, to, _)| (&series[from], &series[to]));
        let pace = Pace::between(from, to);
        let sum = total.pace;
        total.pace = Pace { bytes: sum.bytes + pace.bytes, requests: sum.requests + pace.requests };
        total.seconds = total.seconds.max(to.at - from.at);
    }
    cut.then_some(total)
}

/// Returns the first and the last reading of a device's steady transfers, and true if they have whole periods; `None` if all
/// are steady.
fn steady_range(series: &[Reading], period: Option<f64>) -> Option<(usize, usize, bool)> {
    let series = up_to_the_last_transfer(series);
    let fell = fall(series, period.unwrap_or(0.0).max(BIN)).map_or(0, |fall| fall.at);
    let mut from = fell;
    if let Some(period) = period.filter(|period| series[series.len() - 1].at >= PERIODS / 2.0 * period) {
        // Without the credit that the device saved up while the work was opened.
        from = series.partition_point(|reading| reading.at < series[fell].at + period).min(series.len() - 1);
    }
    match period.and_then(|_| whole_periods(&series[from..])) {
        Some((first, last)) => Some((from + first, from + last, true)),
        None => (fell > 0).then_some((fell, series.len() - 1, false)),
    }
}

/// Searches for the limits of the devices under a file; `None` if direct I/O does not work there, or if nothing was recorded.
pub(super) fn search(
    file: &File,
    writes: bool,
    devices: &[DeviceNumber],
    context: &RunContext<'_>,
) -> Result<Option<DeviceLimit>> {
    let counters = Counters { devices, writes, progress: context.progress };
    let Some(large) = transfer_without_pause(file, LARGE, &counters, context)? else { return Ok(None) };
    let Some(small) = transfer_without_pause(file, SMALL, &counters, context)? else { return Ok(None) };
    let operation = if writes { "write" } else { "read" };
    Ok(limit_of(&large, &small).map(|limit| DeviceLimit { operation: operation.into(), ..limit }))
}

/// Reads a file without caching it until the ramp is long enough: a device spends its credit until the moment at which a
/// sample of cold reads starts. False if no strategy bypasses the page cache.
pub(crate) fn ramp_up_without_cache(file: &File, ramp: Ramp<'_>, context: &RunContext<'_>) -> Result<bool> {
    let Some(strategy) = without_cache(file, Direction::Read, RAMP)? else { return Ok(false) };
    repeat(file, &strategy, false, ramp.enough, context).map(|()| true)
}

/// Derives the limits from the transfers with large and with small requests; `None` without a recording.
fn limit_of(large: &[Reading], small: &[Reading]) -> Option<DeviceLimit> {
    let moved = |series: &[Reading]| Some(series.last()?.bytes - series.first()?.bytes);
    let period = accounting_period(small).or_else(|| accounting_period(large));
    let bin = period.unwrap_or(0.0).max(BIN);
    let sustained = |series: &[Reading]| {
        (period.is_some() || fall(series, bin).is_some()).then_some(())?;
        let (from, to, _) = steady_range(series, period)?;
        Some(Pace::between(&series[from], &series[to]))
    };
    let (large_pace, small_pace) = (sustained(large), sustained(small));
    // If large requests are no fewer than small ones, both are limited by their number: the bandwidth did not show.
    let by_requests =
        |large: &Pace| small_pace.is_some_and(|small| large.requests > LIMITED * small.requests);
    let burst = fall(large, bin)
        .map(|fall| Burst { rate: fall.before.bytes, bytes: (large[fall.at].bytes - large[0].bytes) as u64 });
    Some(DeviceLimit {
        bytes: (moved(large)? + moved(small)?) as u64,
        sustained: large_pace.filter(|pace| !by_requests(pace)).map(|pace| pace.bytes),
        requests_per_s: small_pace.map(|pace| pace.requests).filter(|requests| *requests > 0.0),
        burst,
        period_s: period,
        ..DeviceLimit::default()
    })
}

/// Returns the first of two strategies that works for a file; `None` if none does.
fn without_cache(file: &File, direction: Direction, [deep, plain]: [&str; 2]) -> Result<Option<Strategy>> {
    let len = file.stamp()?.len;
    let deep = format!("method={},{deep}", deep_method().name);
    Ok([deep.as_str(), plain].into_iter().find_map(|text| {
        let requested = RequestedStrategy::new(text, None, None).ok()?;
        OneWayIo::new(direction, requested).plan(file, len).ok()
    }))
}

/// Transfers a file over and over, and returns the readings; `None` if no strategy works.
fn transfer_without_pause(
    file: &File,
    strategies: [&str; 2],
    counters: &Counters<'_>,
    context: &RunContext<'_>,
) -> Result<Option<Vec<Reading>>> {
    let direction = if counters.writes { Direction::Write } else { Direction::Read };
    let Some(strategy) = without_cache(file, direction, strategies)? else { return Ok(None) };
    let enough = |recording: &Recording| {
        let series = sum(recording, 0..recording.len());
        let now = series.last().map_or(0.0, |reading| reading.at);
        // A search of all readings takes long compared with a tick.
        if now < SEARCH.0 || series.len() % 10 != 0 {
            return false;
        }
        let period = accounting_period(&series);
        let fell = fall(&series, period.unwrap_or(0.0).max(BIN));
        let after = fell.map_or(now, |fall| now - series[fall.at].at);
        now >= SEARCH.1
            || (period.is_none() && fell.is_none())
            || after >= PERIODS * period.unwrap_or(2.0 * BIN)
    };
    let (done, recording, _) =
        record(counters, enough, |enough| repeat(file, &strategy, counters.writes, enough, context));
    done?;
    Ok((!recording.is_empty()).then(|| sum(&recording, 0..recording.len())))
}

/// Reads or writes the blocks of a file in random order, again and again, until `enough` is set.
fn repeat(
    file: &File,
    strategy: &Strategy,
    writes: bool,
    enough: &AtomicBool,
    context: &RunContext<'_>,
) -> Result<()> {
    let request = strategy.request as u64;
    let count = file.stamp()?.len / request;
    let data = writes.then(|| Stamped::new(context.seed, strategy.request));
    let mut seed = context.seed;
    while !enough.load(Ordering::Relaxed) {
        if context.progress.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "measure", file.path(), "interrupted"));
        }
        let scope = Scope { range: 0..count * request, order: Order::Random { seed, count } };
        read_or_overwrite(file, &scope, strategy, data.as_ref(), enough, context.progress)?;
        seed = seed.wrapping_add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two seconds of a device that starts `requests` requests of `bytes` every 0.1 s.
    fn limited(requests: f64, bytes: f64) -> Vec<Reading> {
        (0..400)
            .map(|place| {
                let at = 0.005 * f64::from(place);
                let done = requests * (1.0 + (at / 0.1 + 1e-9).floor());
                Reading { at, bytes: bytes * done, requests: done }
            })
            .collect()
    }

    #[test]
    fn a_limit_of_requests_is_no_limit_of_bytes() {
        let small = limited(10.0, 4096.0);
        let found = limit_of(&limited(10.0, 524_288.0), &small).unwrap();
        assert_eq!(found.sustained, None, "{found:?}");
        assert!((found.requests_per_s.unwrap() - 100.0).abs() < 5.0, "{found:?}");
        // Of larger requests there are fewer: their bytes are limited.
        let found = limit_of(&limited(5.0, 524_288.0), &small).unwrap();
        assert!((found.sustained.unwrap() / (50.0 * 524_288.0) - 1.0).abs() < 0.05, "{found:?}");
    }
}
