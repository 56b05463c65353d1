//! The limits of devices, found before the first sample of each, and the regime of a sample.

use std::cell::{Cell, RefCell};

use fullbore::Result;
use fullbore::error::ErrorKind;
use fullbore::probe::DeviceNumber;

use super::limit_search::{BIN, LIMITED, PERIODS, search, steady_pace};
use super::workload::{Ramp, RunContext};
use crate::document::{Burst, DeviceLimit, Regime};
use crate::recorder::{Counters, Recording, record, sum};
use crate::stats::{Pace, Reading};

/// Maximum duration of spending a device's credit before a sample, in seconds.
const SPENDING: f64 = 3.0;

/// Throughput up to this multiple of the limit is sustained: the margin is for the error of both.
const MARGIN: f64 = 1.1;

/// The devices under the measured directories, with their limits as soon as they are known.
#[derive(Debug, Default)]
pub(crate) struct DeviceLimits {
    targets: Vec<Target>,
    known: RefCell<Vec<KnownLimit>>,
    /// Limits withdrawn since they were last taken.
    withdrawn: RefCell<Vec<DeviceLimit>>,
    regime: Regime,
    spent: Cell<f64>,
}

/// Directories on the same devices.
#[derive(Debug)]
struct Target {
    directory: usize,
    name: String,
    devices: Vec<DeviceNumber>,
}

/// The limits of a target in one direction.
#[derive(Debug, Clone)]
struct KnownLimit {
    target: usize,
    writes: bool,
    /// `None` if the search failed, or if later samples refuted its result.
    limit: Option<DeviceLimit>,
}

/// The sustained pace of a target, infinite where no limiter was seen, and the places of its devices in a recording.
#[derive(Debug, Clone)]
struct PaceLimit {
    target: usize,
    places: Vec<usize>,
    bytes: f64,
    requests: f64,
    /// Bytes beyond the sustained ones that the device moved before its throughput fell.
    credit: f64,
}

impl PaceLimit {
    /// True if a recording that ends at `pace` refutes the limit: it has moved so much more than the sustained bytes that the
    /// credit must be gone. The credit of requests is unknown, so more of them refute it at once.
    fn is_refuted(&self, pace: Pace, series: &[Reading]) -> bool {
        /// The factor allows for a search that found only a part of the credit.
        const MORE: f64 = 2.0;
        let (Some(first), Some(last)) = (series.first(), series.last()) else { return false };
        let beyond = last.bytes - first.bytes - self.bytes * (last.at - first.at);
        pace.requests > MARGIN * self.requests
            || pace.bytes > MARGIN * self.bytes && beyond > MORE * self.credit
    }

    /// True if a limiter was seen.
    fn is_finite(&self) -> bool {
        self.bytes.min(self.requests).is_finite()
    }

    /// Returns the regime of a pace. If only the requests are known to be limited, a pace of fewer requests may exceed an
    /// unknown bandwidth limit.
    fn regime(&self, pace: Pace) -> Regime {
        if !self.covers(pace) {
            Regime::Burst
        } else if self.bytes.is_finite() || pace.requests >= LIMITED * self.requests {
            Regime::Sustained
        } else {
            Regime::Unknown
        }
    }

    fn covers(&self, pace: Pace) -> bool {
        pace.bytes <= MARGIN * self.bytes && pace.requests <= MARGIN * self.requests
    }
}

impl DeviceLimits {
    pub(crate) fn new(directories: Vec<(String, Vec<DeviceNumber>)>, regime: Regime) -> Self {
        let mut targets: Vec<Target> = Vec::new();
        for (directory, (name, devices)) in directories.into_iter().enumerate() {
            if targets.iter().all(|target| target.devices != devices) {
                targets.push(Target { directory, name, devices });
            }
        }
        Self { targets, regime, ..Self::default() }
    }

    pub(crate) fn found(&self) -> Vec<DeviceLimit> {
        self.known.borrow().iter().filter_map(|known| known.limit.clone()).collect()
    }

    /// Searches for limiters of a direction, unless known; true if it searched. Fails on cancellation only: a device whose
    /// limits cannot be found has samples of an unknown regime.
    pub(crate) fn search(&self, writes: bool, context: &RunContext<'_>) -> Result<bool> {
        let mut searched = false;
        let before = context.clock.seconds();
        for (target, Target { directory, name, devices }) in self.targets.iter().enumerate() {
            if self.known.borrow().iter().any(|known| (known.target, known.writes) == (target, writes)) {
                continue;
            }
            searched = true;
            let file = &context.file_sets[*directory].cold;
            let limit = match search(file, writes, devices, context) {
                Ok(limit) => limit,
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(_) => None,
            };
            let limit = limit.map(|limit| DeviceLimit { directory: name.clone(), ..limit });
            self.known.borrow_mut().push(KnownLimit { target, writes, limit });
        }
        self.spent.set(self.spent.get() + context.clock.seconds() - before);
        Ok(searched)
    }

    /// Returns the seconds spent on searches so far: they are no part of the cost of a sample.
    pub(crate) fn spent(&self) -> f64 {
        self.spent.get()
    }

    /// Returns the longest accounting period of the devices for this direction, in seconds.
    pub(crate) fn period(&self, writes: bool) -> Option<f64> {
        let known = self.known(writes);
        known.iter().filter_map(|known| known.limit.as_ref()?.period_s).max_by(f64::total_cmp)
    }

    /// True if a device has a limit in this direction.
    pub(crate) fn limited(&self, writes: bool) -> bool {
        self.known(writes).iter().any(|known| known.limit.as_ref().is_some_and(DeviceLimit::limited))
    }

    /// True if the credit of a device must be spent before a sample of this direction.
    pub(crate) fn limits_samples(&self, writes: bool) -> bool {
        self.regime != Regime::Burst && self.limited(writes)
    }

    /// Returns the shortest duration of a sample with a throughput of about a percent's precision, in seconds.
    pub(crate) fn sample_seconds(&self) -> f64 {
        let longest = [false, true].into_iter().filter_map(|writes| self.period(writes)).reduce(f64::max);
        longest.map_or(0.0, |period| PERIODS * period)
    }

    /// Returns the rate in bytes per second that the limited devices sustain for requests of `request` bytes; of the slowest.
    pub(crate) fn sustained(&self, writes: bool, request: u64) -> Option<f64> {
        let known = self.known(writes);
        let limits = known.iter().filter_map(|known| known.limit.as_ref());
        let of = |limit: &DeviceLimit| {
            let requests = limit.requests_per_s.map(|requests| requests * request as f64);
            limit.sustained.into_iter().chain(requests).reduce(f64::min)
        };
        limits.filter_map(of).reduce(f64::min)
    }

    fn known(&self, writes: bool) -> Vec<KnownLimit> {
        self.known.borrow().iter().filter(|known| known.writes == writes).cloned().collect()
    }

    fn paces(&self, writes: bool, devices: &[DeviceNumber]) -> Vec<PaceLimit> {
        let of = |known: &KnownLimit| {
            let limit = known.limit.as_ref()?;
            let own = &self.targets[known.target].devices;
            let places = match devices.is_empty() {
                true => vec![0],
                false => own.iter().filter_map(|one| devices.iter().position(|other| other == one)).collect(),
            };
            let requests = limit.requests_per_s.filter(|_| !devices.is_empty()).unwrap_or(f64::INFINITY);
            let bytes = limit.sustained.unwrap_or(f64::INFINITY);
            let share = |burst: Burst| 1.0 - (bytes / burst.rate).min(1.0);
            let credit = limit.burst.map_or(0.0, |burst| burst.bytes as f64 * share(burst));
            Some(PaceLimit { target: known.target, places, bytes, requests, credit })
        };
        self.known(writes).iter().filter_map(of).collect()
    }

    /// Returns the paces of the targets on which a limiter was seen.
    fn finite_paces(&self, counters: &Counters<'_>) -> Vec<PaceLimit> {
        let mut paces = self.paces(counters.writes, counters.devices);
        // A directory without a device has no counters beside those of the others.
        paces.retain(|pace| pace.is_finite() && !pace.places.is_empty());
        paces
    }

    /// Returns the limits withdrawn since the last call: what was measured under them is of an unknown regime.
    pub(crate) fn take_withdrawn(&self) -> Vec<DeviceLimit> {
        self.withdrawn.take()
    }

    /// Spends the credit of the devices: `work` continues for `least` seconds at least, until none is faster than what it
    /// sustains. If one remains faster than its credit explains, its limit was a chance variation, and is withdrawn.
    pub(crate) fn spend_credit<T>(
        &self,
        counters: &Counters<'_>,
        least: f64,
        work: impl FnOnce(Ramp<'_>) -> T,
    ) -> T {
        let paces = self.finite_paces(counters);
        let period = self.period(counters.writes).unwrap_or(0.0);
        let window = (3.0 * period).max(2.0 * BIN);
        let least = if paces.is_empty() { least } else { least.max(window) };
        let settled = |recording: &Recording, window: f64| {
            paces.iter().all(|limit| {
                let series = sum(recording, limit.places.iter().copied());
                last_pace(&series, window, period).is_some_and(|pace| limit.covers(pace))
            })
        };
        let enough = |recording: &Recording| {
            let now = recording[0].last().map_or(0.0, |reading| reading.at);
            now >= least && (now >= SPENDING.max(least) || settled(recording, window))
        };
        let (done, recording, _) = record(counters, enough, |enough| work(Ramp { least, enough }));
        let spent = recording.first().and_then(|series| series.last()).map_or(0.0, |reading| reading.at);
        if spent >= SPENDING && !settled(&recording, SPENDING / 2.0) {
            self.withdraw(counters, &recording);
        }
        done
    }

    /// Withdraws the limits that devices exceeded in the second half of a recording, if it moved more than their credit.
    fn withdraw(&self, counters: &Counters<'_>, recording: &Recording) {
        for limit in self.finite_paces(counters) {
            let series = sum(recording, limit.places.iter().copied());
            if last_pace(&series, SPENDING / 2.0, 0.0).is_some_and(|pace| limit.is_refuted(pace, &series)) {
                let mut known = self.known.borrow_mut();
                let refuted = known
                    .iter_mut()
                    .find(|known| (known.target, known.writes) == (limit.target, counters.writes));
                self.withdrawn.borrow_mut().extend(refuted.and_then(|known| known.limit.take()));
            }
        }
    }

    /// Returns the regime of a recorded sample: `Burst` if it exceeded a limit, `Sustained` if limiters covered all that it
    /// moved.
    pub(crate) fn regime(&self, counters: &Counters<'_>, recording: &Recording) -> Regime {
        let known = self.known(counters.writes);
        if recording.is_empty() || known.is_empty() || known.iter().any(|known| known.limit.is_none()) {
            return Regime::Unknown;
        }
        let period = self.period(counters.writes);
        let of = |limit: &PaceLimit| {
            let series = sum(recording, limit.places.iter().copied());
            let whole = Pace::between(series.first()?, series.last()?);
            let steady = steady_pace(&vec![series], period).map(|steady| steady.pace);
            (whole.bytes > 0.0).then(|| limit.regime(steady.unwrap_or(whole)))
        };
        let found: Vec<Regime> =
            self.paces(counters.writes, counters.devices).iter().filter_map(of).collect();
        let any = |regime| found.contains(&regime);
        match () {
            () if any(Regime::Burst) => Regime::Burst,
            () if any(Regime::Unknown) || found.is_empty() => Regime::Unknown,
            () => Regime::Sustained,
        }
    }
}

#[cfg(test)]
impl DeviceLimits {
    /// Returns the limits after samples have refuted `limit`.
    pub(crate) fn refuted(limit: DeviceLimit) -> Self {
        Self { withdrawn: RefCell::new(vec![limit]), ..Self::default() }
    }
}

/// Returns the pace over the last `window` seconds, if that many have passed; it may hold the transfers of a period more.
fn last_pace(series: &[Reading], window: f64, period: f64) -> Option<Pace> {
    let last = series.last()?;
    let from = series.partition_point(|reading| reading.at < last.at - window);
    let pace = Pace::between(&series[from.min(series.len() - 1)], last);
    let share = window / (window + period);
    (last.at >= window).then_some(Pace { bytes: pace.bytes * share, requests: pace.requests * share })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

    /// The limits of one device, whose reads have this one.
    fn known(limit: DeviceLimit) -> DeviceLimits {
        let limits = DeviceLimits::new(vec![("here".into(), vec![DEVICE])], Regime::Sustained);
        limits.known.borrow_mut().push(KnownLimit { target: 0, writes: false, limit: Some(limit) });
        limits
    }

    /// The regime of a second at these bytes and requests per second.
    fn regime(limits: &DeviceLimits, bytes: f64, requests: f64) -> Regime {
        let progress = fullbore::pattern::Progress::default();
        let counters = Counters { devices: &[DEVICE], writes: false, progress: &progress };
        let reading = |place: u32| {
            let at = 0.005 * f64::from(place);
            Reading { at, bytes: bytes * at, requests: requests * at }
        };
        limits.regime(&counters, &vec![(0..=200).map(reading).collect()])
    }

    #[test]
    fn without_a_limiter_the_regime_is_unknown() {
        let none = known(DeviceLimit { bytes: 5_000_000_000, ..DeviceLimit::default() });
        assert_eq!(regime(&none, 6.4e9, 1e4), Regime::Unknown);
        assert!(!none.limits_samples(false), "nothing to spend");
        let bytes = known(DeviceLimit { sustained: Some(1e8), ..DeviceLimit::default() });
        assert_eq!(regime(&bytes, 1e8, 1e3), Regime::Sustained);
        assert_eq!(regime(&bytes, 1.2e8, 1e3), Regime::Burst);
        let requests = known(DeviceLimit { requests_per_s: Some(1e3), ..DeviceLimit::default() });
        assert_eq!(regime(&requests, 4e6, 1e3), Regime::Sustained);
        assert_eq!(regime(&requests, 4e8, 100.0), Regime::Unknown, "the bandwidth limit is unknown");
    }

    #[test]
    fn an_exceeded_limit_is_withdrawn_once() {
        let limit = DeviceLimit { sustained: Some(1e8), ..DeviceLimit::default() };
        let limits = known(limit.clone());
        let progress = fullbore::pattern::Progress::default();
        let counters = Counters { devices: &[DEVICE], writes: false, progress: &progress };
        let series = (0..=800).map(|place| 0.005 * f64::from(place)).map(|at| Reading {
            at,
            bytes: 2e8 * at,
            requests: at,
        });
        let recording: Recording = vec![series.collect()];
        // Four seconds at 200 MB/s: 400 MB more than it sustains.
        let burst = |bytes| DeviceLimit { burst: Some(Burst { rate: 4e8, bytes }), ..limit.clone() };
        let large = known(burst(400_000_000));
        large.withdraw(&counters, &recording);
        assert_eq!(regime(&large, 2e8, 1e3), Regime::Burst, "the credit may not be spent yet");
        let small = known(burst(200_000_000));
        small.withdraw(&counters, &recording);
        assert!(small.found().is_empty());
        // A limit of bytes that is kept does not keep one of requests.
        let both = known(DeviceLimit { requests_per_s: Some(0.5), sustained: Some(1e9), ..limit.clone() });
        both.withdraw(&counters, &recording);
        assert!(both.found().is_empty());
        limits.withdraw(&counters, &recording);
        assert_eq!(regime(&limits, 5e7, 1e3), Regime::Unknown);
        assert_eq!(limits.take_withdrawn().len(), 1);
        assert!(limits.take_withdrawn().is_empty() && limits.found().is_empty());
    }
}
