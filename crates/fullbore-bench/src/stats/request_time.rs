//! How long a request takes a device: a fixed time and a time for each byte, put together by one of two laws.
//!
//! A device that does nothing else meanwhile takes their *sum* (section 5.1 of Riedel, van Ingen and Gray: fixed
//! overhead, then the transfer); one that overlaps them, or is held to so many requests and so many bytes a second,
//! takes the *larger*. The points tell which.

use serde::{Deserialize, Serialize};

use super::interval::{Bootstrap, Estimate, resampled_medians};
use super::quantile::{median_of_sorted, sorted};
use super::rng::Xoshiro256;

/// How the two times make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// `a + b · bytes`.
    Sum,
    /// `max(a, b · bytes)`.
    Larger,
}

/// The time of a request, in seconds, by its size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RequestTime {
    /// The law that fits better.
    pub law: Law,
    /// Time of a request of no bytes, `a`: 1 ÷ the requests that the device takes a second.
    pub per_request: Estimate,
    /// Time of one more byte, `b`: 1 ÷ the bandwidth.
    pub per_byte: Estimate,
    /// The request in bytes that reaches half of the bandwidth by the law: `a ÷ b`, or half of that if the larger counts.
    pub half_power: Estimate,
    /// Even the smallest request measured takes a time that its bytes explain: `per_request` may be anything less.
    pub request_at_most: bool,
    /// Even the largest request measured takes a time that has nothing to do with its bytes: `per_byte` may be anything
    /// less.
    pub byte_at_most: bool,
    /// Largest |measured − fitted| ÷ measured.
    pub max_relative_residual: f64,
    /// Request sizes fitted.
    pub points: usize,
}

/// A bound is reached when the other part explains a time to within this share.
const EXPLAINED: f64 = 0.05;

impl RequestTime {
    /// The time of a request of `bytes`, in seconds.
    pub fn at(&self, bytes: f64) -> f64 {
        LawFit { a: self.per_request.value, b: self.per_byte.value }.at(self.law, bytes)
    }
}

/// Fits the time of a request to a curve of (request size in bytes, samples of the rate there in bytes a second), by
/// least squares of the relative residuals.
///
/// Intervals are of the bootstrap. `None` below three sizes with a rate, or if no law has positive parts: something
/// else decides then.
pub fn fit_request_time(curve: &[(u64, Vec<f64>)], bootstrap: &Bootstrap) -> Option<RequestTime> {
    let mut points: Vec<(f64, Vec<f64>)> = curve
        .iter()
        .map(|(bytes, rates)| {
            let times: Vec<f64> =
                rates.iter().filter(|rate| **rate > 0.0).map(|rate| *bytes as f64 / rate).collect();
            (*bytes as f64, sorted(&times))
        })
        .filter(|(bytes, times)| *bytes > 0.0 && !times.is_empty())
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points.dedup_by(|one, other| one.0 == other.0);
    if points.len() < 3 {
        return None;
    }
    let medians: Vec<(f64, f64)> =
        points.iter().filter_map(|(bytes, times)| Some((*bytes, median_of_sorted(times)?))).collect();
    let fits = [Law::Sum, Law::Larger].map(|law| fit(law, &medians).map(|line| (law, line)));
    let misfit = |(law, line): &(Law, LawFit)| line.misfit(*law, &medians);
    let (law, line) =
        fits.into_iter().flatten().min_by(|one, other| misfit(one).total_cmp(&misfit(other)))?;

    let mut rng = Xoshiro256::seeded(bootstrap.seed);
    let drawn: Vec<Vec<f64>> = points
        .iter()
        .map(|(_, times)| {
            let mut out = Vec::with_capacity(bootstrap.resamples);
            resampled_medians(times, times.len(), bootstrap.resamples, &mut rng, &mut out);
            out
        })
        .collect();
    let again: Vec<LawFit> = (0..bootstrap.resamples)
        .filter_map(|index| {
            let points: Vec<(f64, f64)> =
                medians.iter().zip(&drawn).map(|((bytes, _), times)| (*bytes, times[index])).collect();
            fit(law, &points)
        })
        .collect();
    let fewest = points.iter().map(|(_, times)| times.len()).min().unwrap_or(0);
    let estimate = |of: &dyn Fn(&LawFit) -> f64| {
        bootstrap.percentiles(of(&line), again.iter().map(of).collect(), fewest)
    };
    let (smallest, largest) = (medians[0].0, medians[medians.len() - 1].0);
    let residual = |(bytes, time): &(f64, f64)| ((time - line.at(law, *bytes)) / time).abs();
    Some(RequestTime {
        law,
        per_request: estimate(&|line| line.a),
        per_byte: estimate(&|line| line.b),
        half_power: estimate(&|line| line.half_power(law)),
        request_at_most: line.at(law, smallest) <= line.b * smallest * (1.0 + EXPLAINED),
        byte_at_most: line.at(law, largest) <= line.a * (1.0 + EXPLAINED),
        max_relative_residual: medians.iter().map(residual).fold(0.0, f64::max),
        points: medians.len(),
    })
}

#[derive(Debug, Clone, Copy)]
struct LawFit {
    a: f64,
    b: f64,
}

impl LawFit {
    fn at(self, law: Law, bytes: f64) -> f64 {
        match law {
            Law::Sum => self.a + self.b * bytes,
            Law::Larger => self.a.max(self.b * bytes),
        }
    }

    fn half_power(self, law: Law) -> f64 {
        self.a / self.b / if law == Law::Sum { 1.0 } else { 2.0 }
    }

    /// Sum of the squared relative residuals.
    fn misfit(self, law: Law, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(bytes, time)| ((time - self.at(law, *bytes)) / time).powi(2)).sum()
    }
}

/// The line of a law that fits best; `None` if a part of it is not positive.
fn fit(law: Law, points: &[(f64, f64)]) -> Option<LawFit> {
    let line = match law {
        Law::Sum => sum(points),
        // The points up to some size are flat, those beyond it lie on a line through nothing.
        Law::Larger => (1..points.len())
            .map(|split| {
                let (flat, sloped) = points.split_at(split);
                let ratio = |of: &[(f64, f64)], unit: fn(f64) -> f64| {
                    let (up, down) = of.iter().fold((0.0, 0.0), |(up, down), (bytes, time)| {
                        let share = unit(*bytes) / time;
                        (up + share, down + share * share)
                    });
                    up / down
                };
                LawFit { a: ratio(flat, |_| 1.0), b: ratio(sloped, |bytes| bytes) }
            })
            .min_by(|one, other| one.misfit(law, points).total_cmp(&other.misfit(law, points))),
    }?;
    (line.a.is_finite() && line.b.is_finite() && line.a > 0.0 && line.b > 0.0).then_some(line)
}

/// Least squares of the relative residuals of a straight line.
fn sum(points: &[(f64, f64)]) -> Option<LawFit> {
    // Scaled, so that squares of sizes do not swallow the digits of times.
    let scale = points.iter().map(|(bytes, _)| *bytes).fold(0.0, f64::max);
    let [mut w, mut wx, mut wy, mut wxx, mut wxy] = [0.0; 5];
    for (bytes, time) in points {
        let (x, weight) = (bytes / scale, 1.0 / (time * time));
        w += weight;
        wx += weight * x;
        wy += weight * time;
        wxx += weight * x * x;
        wxy += weight * x * time;
    }
    let determinant = w * wxx - wx * wx;
    (determinant > 0.0).then(|| LawFit {
        a: (wxx * wy - wx * wxy) / determinant,
        b: (w * wxy - wx * wy) / determinant / scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine samples a size, about the rate that a law gives.
    fn curve(time: impl Fn(f64) -> f64, noise: f64) -> Vec<(u64, Vec<f64>)> {
        let mut rng = Xoshiro256::seeded(5);
        [4096u64, 16_384, 65_536, 262_144, 1 << 20]
            .map(|bytes| {
                let rate = bytes as f64 / time(bytes as f64);
                (bytes, (0..9).map(|_| rate * (1.0 + noise * (rng.unit() - 0.5))).collect())
            })
            .into()
    }

    #[test]
    fn laws_are_distinguished_and_fitted() {
        for (iops, bps) in [(1000.0, 24e6), (300.0, 32e6), (2000.0, 20e6), (9000.0, 3e9)] {
            let (a, b) = (1.0 / iops, 1.0 / bps);
            for noise in [0.0, 0.02] {
                let sum = fit_request_time(&curve(|x| a + b * x, noise), &Bootstrap::default()).unwrap();
                let larger =
                    fit_request_time(&curve(|x| a.max(b * x), noise), &Bootstrap::default()).unwrap();
                assert_eq!((sum.law, larger.law), (Law::Sum, Law::Larger), "{iops} {bps}");
                for found in [sum, larger] {
                    assert!((found.per_request.value / a - 1.0).abs() < 0.03, "{found:?}");
                    assert!(found.byte_at_most || (found.per_byte.value / b - 1.0).abs() < 0.03, "{found:?}");
                    assert!(found.per_request.low <= found.per_request.high && !found.request_at_most);
                }
                assert!((larger.half_power.value * 2.0 * b / a - 1.0).abs() < 0.05, "{larger:?}");
                assert!((sum.half_power.value * b / a - 1.0).abs() < 0.05, "{sum:?}");
            }
        }
    }

    #[test]
    fn unobserved_bounds_are_flagged() {
        let bootstrap = Bootstrap::default();
        // Bandwidth alone: the fixed time may be anything below what the smallest request takes.
        let only_bytes = fit_request_time(&curve(|x| (1e-9f64).max(1e-8 * x), 0.0), &bootstrap).unwrap();
        assert!(only_bytes.request_at_most && !only_bytes.byte_at_most, "{only_bytes:?}");
        let only_requests = fit_request_time(&curve(|_| 1e-3, 0.0), &bootstrap).unwrap();
        assert!(only_requests.byte_at_most && !only_requests.request_at_most, "{only_requests:?}");
    }

    #[test]
    fn too_little_gives_nothing() {
        let bootstrap = Bootstrap::default();
        assert_eq!(fit_request_time(&[(1, vec![1.0]), (2, vec![1.0])], &bootstrap), None);
        assert_eq!(fit_request_time(&[(1, vec![1.0]), (1, vec![1.0]), (1, vec![1.0])], &bootstrap), None);
        assert_eq!(fit_request_time(&[(1, vec![]), (2, vec![0.0]), (3, vec![f64::NAN])], &bootstrap), None);
    }
}
