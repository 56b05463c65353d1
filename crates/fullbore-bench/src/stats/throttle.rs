//! Signs of a rate limiter in the transfers of a device over time: an accounting period, and a fall from the burst to
//! the sustained throughput.

use super::quantile::{median, median_absolute_deviation, squares};

/// Counters of a device at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reading {
    /// Seconds since the start.
    pub at: f64,
    /// Bytes moved since the start.
    pub bytes: f64,
    /// Requests completed since the start.
    pub requests: f64,
}

/// Throughput of a device over a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    /// Bytes per second.
    pub bytes: f64,
    /// Requests per second.
    pub requests: f64,
}

impl Pace {
    /// Returns the pace between two readings; zero if no time passed.
    pub fn between(from: &Reading, to: &Reading) -> Self {
        let seconds = to.at - from.at;
        if seconds <= 0.0 {
            return Self::default();
        }
        Self { bytes: (to.bytes - from.bytes) / seconds, requests: (to.requests - from.requests) / seconds }
    }
}

/// Shortest pause between transfers that separates two accounting periods, in seconds: longer than a request of a
/// hard disk takes.
const PAUSE: f64 = 0.015;

/// Fewest pauses that prove a period.
const FEWEST_PAUSES: usize = 4;

/// Fewest requests that a limiter lets through in a period.
const FEWEST_TOGETHER: f64 = 4.0;

/// Largest median deviation of the distances between pauses, as a share of their median, for them to be periodic.
const REGULAR: f64 = 0.25;

/// Returns the indices of the last readings before transfers that follow a pause.
fn starts(readings: &[Reading]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut idle_since = None;
    for (index, pair) in readings.windows(2).enumerate() {
        if pair[1].bytes > pair[0].bytes {
            if idle_since.is_some_and(|since| pair[1].at - since >= PAUSE) {
                starts.push(index);
            }
            idle_since = None;
        } else {
            idle_since = idle_since.or(Some(pair[0].at));
        }
    }
    starts
}

/// Returns the period, in seconds, at which a limiter hands out transfers; `None` if they are not handed out
/// periodically.
///
/// A limiter with a period serves the requests of a period at once and then none until the next. Periods therefore start
/// at regular distances, each after a pause. A slow device has such pauses, too, but one request between them.
pub fn accounting_period(readings: &[Reading]) -> Option<f64> {
    let starts = starts(readings);
    let distances: Vec<f64> =
        starts.windows(2).map(|pair| readings[pair[1]].at - readings[pair[0]].at).collect();
    let period = median(&distances)?;
    let (first, last) = (&readings[*starts.first()?], &readings[*starts.last()?]);
    let together = (last.requests - first.requests) / distances.len() as f64;
    let regular =
        distances.len() >= FEWEST_PAUSES && median_absolute_deviation(&distances)? <= REGULAR * period;
    (regular && together >= FEWEST_TOGETHER).then_some(period)
}

/// Returns the indices of the readings at the start of the first and of the last period; `None` for fewer than
/// three.
///
/// The transfers between them are those of whole periods, so that their throughput has no error of accounting. The
/// periods need not be equally long.
pub fn whole_periods(readings: &[Reading]) -> Option<(usize, usize)> {
    let starts = starts(readings);
    (starts.len() > FEWEST_PERIODS).then(|| (starts[0], starts[starts.len() - 1]))
}

/// Fewest periods from which throughput is determined.
const FEWEST_PERIODS: usize = 3;

/// A fall of the throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fall {
    /// Index of the reading at which it happened.
    pub at: usize,
    /// Throughput before.
    pub before: Pace,
    /// Throughput after.
    pub after: Pace,
}

/// Smallest ratio of the throughput before a fall to that after it.
const FALLS_BY: f64 = 1.25;

/// Largest share of the variance that the two levels of a fall leave: chance cuts leave 0.25 of a uniform distribution,
/// more of others.
const LEFT: f64 = 0.15;

/// Fewest bins after a fall.
const FEWEST_AFTER: usize = 4;

/// Returns the readings up to the end of the last transfer. A flush of the device's own cache, which moves nothing, may follow.
pub fn up_to_the_last_transfer(readings: &[Reading]) -> &[Reading] {
    let moved = readings.last().map_or(0.0, |last| last.bytes);
    let end = readings.partition_point(|reading| reading.bytes < moved);
    &readings[..readings.len().min(end + 1)]
}

/// Finds the fall that divides the readings best, in bins of `bin` seconds; `None` if the throughput did not fall by a
/// fifth, or other variations explain it. The end of the transfers does not count as a fall.
pub fn fall(readings: &[Reading], bin: f64) -> Option<Fall> {
    let readings = up_to_the_last_transfer(readings);
    let first = readings.first()?;
    let mut edges = vec![0];
    for (index, reading) in readings.iter().enumerate() {
        if reading.at - first.at >= edges.len() as f64 * bin {
            edges.push(index);
        }
    }
    let rates: Vec<f64> =
        edges.windows(2).map(|edge| Pace::between(&readings[edge[0]], &readings[edge[1]]).bytes).collect();
    let cuts = 1..=rates.len().checked_sub(FEWEST_AFTER)?;
    let left = |cut: usize| squares(&rates[..cut]) + squares(&rates[cut..]);
    let cut = cuts.min_by(|&a, &b| left(a).total_cmp(&left(b)))?;
    let cut_at = &readings[edges[cut]];
    // The last bin may be short, and all transfers in it: those of a program that has just started.
    let (before, after) = (Pace::between(first, cut_at), Pace::between(cut_at, readings.last()?));
    let found = Fall { at: edges[cut], before, after };
    let falls = before.bytes >= FALLS_BY * after.bytes;
    (falls && left(cut) <= LEFT * squares(&rates)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    /// Simulates `seconds` of a device in steps of 5 ms: `bytes` moved by each time.
    fn simulated(seconds: f64, bytes: impl Fn(f64) -> f64) -> Vec<Reading> {
        (0..=(seconds / 0.005) as usize)
            .map(|step| {
                let at = step as f64 * 0.005;
                Reading { at, bytes: bytes(at), requests: bytes(at) / 4096.0 }
            })
            .collect()
    }

    /// Tenths of a second, each served within its first 8 ms; the recording starts within one.
    fn tenths(rate: f64) -> impl Fn(f64) -> f64 {
        move |at: f64| {
            let tenths = (at + 0.037) * 10.0;
            rate * 0.1 * (tenths.floor() + (tenths.fract() * 100.0 / 8.0).min(1.0))
        }
    }

    #[test]
    fn period_of_a_limiter_is_found() {
        let period = accounting_period(&simulated(1.0, tenths(37e6))).unwrap();
        assert!((period - 0.1).abs() < 0.006, "{period}");
        assert_eq!(accounting_period(&simulated(0.4, tenths(37e6))), None, "too short");
    }

    #[test]
    fn steady_devices_and_irregular_pauses_have_no_period() {
        assert_eq!(accounting_period(&simulated(2.0, |at| at * 1e9)), None);
        let mut rng = Xoshiro256::seeded(5);
        let mut total = 0.0;
        let mut busy = 0.0;
        let readings: Vec<Reading> = (0..600)
            .map(|step| {
                // Pauses of 20 to 300 ms between runs of 5 to 200 ms.
                if busy <= -0.02 - 0.28 * rng.unit() {
                    busy = 0.2 * rng.unit();
                }
                busy -= 0.005;
                total += if busy > 0.0 { 1e6 } else { 0.0 };
                Reading { at: f64::from(step) * 0.005, bytes: total, requests: total }
            })
            .collect();
        assert_eq!(accounting_period(&readings), None);
        // A request of 1 MiB every 100 ms.
        let slow = simulated(2.0, tenths(10e6)).into_iter();
        let slow: Vec<Reading> =
            slow.map(|one| Reading { requests: (one.bytes / 1e6).floor(), ..one }).collect();
        assert_eq!(accounting_period(&slow), None);
    }

    #[test]
    fn whole_periods_have_the_exact_rate() {
        for seconds in [0.5, 0.77, 1.0, 1.23] {
            let readings = simulated(seconds, tenths(37e6));
            let (from, to) = whole_periods(&readings).unwrap();
            let pace = Pace::between(&readings[from], &readings[to]);
            assert!((pace.bytes / 37e6 - 1.0).abs() < 0.02, "{seconds}: {}", pace.bytes / 37e6);
        }
        assert_eq!(whole_periods(&simulated(0.3, tenths(37e6))), None);
    }

    #[test]
    fn fall_is_found_where_the_credit_ends() {
        let mut rng = Xoshiro256::seeded(6);
        for _ in 0..50 {
            let end = 0.2 + 0.5 * rng.unit();
            let readings = simulated(1.5, |at| 900e6 * at.min(end) + 300e6 * (at - end).max(0.0));
            let found = fall(&readings, 0.025).unwrap();
            assert!((readings[found.at].at - end).abs() <= 0.03, "{end} {found:?}");
            assert!((found.after.bytes / 300e6 - 1.0).abs() < 0.05, "{found:?}");
        }
    }

    #[test]
    fn the_end_of_the_transfers_is_no_fall() {
        // 0.2 s of writes, and a flush of 0.15 s.
        let readings = simulated(0.35, |at| 1.3e9 * at.min(0.2));
        assert_eq!(fall(&readings, 0.025), None);
        assert_eq!(up_to_the_last_transfer(&readings).len(), 41);
        // A fall before the flush is one.
        let readings = simulated(0.65, |at| 900e6 * at.min(0.2) + 300e6 * (at.min(0.5) - 0.2).max(0.0));
        let found = fall(&readings, 0.025).unwrap();
        assert!((found.after.bytes / 300e6 - 1.0).abs() < 0.05, "{found:?}");
    }

    /// A program that starts for a while and then transfers everything at once.
    #[test]
    fn pauses_before_the_last_transfers_are_no_falls() {
        for first in [0.0, 1e5] {
            let readings = simulated(0.245, |at| first * at.min(0.03) / 0.03 + 1e9 * (at - 0.24).max(0.0));
            assert_eq!(fall(&readings, 0.025), None, "{first}");
        }
    }

    #[test]
    fn noise_rarely_looks_like_a_fall() {
        let mut rng = Xoshiro256::seeded(7);
        let found = (0..500)
            .filter(|_| {
                let mut total = 0.0;
                let readings: Vec<Reading> = (0..200)
                    .map(|step| {
                        total += 5e6 * (0.5 + rng.unit());
                        Reading { at: f64::from(step) * 0.005, bytes: total, requests: total / 4096.0 }
                    })
                    .collect();
                fall(&readings, 0.025).is_some()
            })
            .count();
        assert!(found <= 5, "{found} of 500");
        assert_eq!(fall(&simulated(1.0, tenths(37e6)), 0.1), None, "a period is no fall");
    }
}
