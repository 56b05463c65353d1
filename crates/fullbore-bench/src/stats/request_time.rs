//! Time of a request at a device: a fixed time and a time per byte, combined by one of two laws.
//!
//! If a device does one after the other, the time is their *sum* (section 5.1 of Riedel, van Ingen and Gray: fixed
//! overhead, then the transfer). If it overlaps them, or is limited to a number of requests and a number of bytes per
//! second, the time is the *larger* of the two. The better fit decides.

use serde::{Deserialize, Serialize};

use super::fit::solve;
use super::interval::{Bootstrap, Estimate, SampleSet};

/// Law that combines the two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// `a + b · bytes`.
    Sum,
    /// `max(a, b · bytes)`.
    Larger,
}

/// Time of a request by its size, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RequestTime {
    /// Law that fits better.
    pub law: Law,
    /// Time of a request of no bytes, `a`: 1 ÷ the device's requests per second.
    pub per_request: Estimate,
    /// Time of one more byte, `b`: 1 ÷ the bandwidth.
    pub per_byte: Estimate,
    /// Request size in bytes that reaches half of the bandwidth by the law: `a ÷ b`, or half of that for
    /// [`Law::Larger`].
    pub half_power: Estimate,
    /// True if even the smallest measured request takes a time that its bytes explain: `per_request` is an upper bound.
    pub request_at_most: bool,
    /// True if even the largest measured request takes a time that is independent of its bytes: `per_byte` is an upper
    /// bound.
    pub byte_at_most: bool,
    /// Largest |measured − fitted| ÷ measured.
    pub max_relative_residual: f64,
    /// Number of request sizes fitted.
    pub points: usize,
}

/// A part is an upper bound if the other part explains a time to within this share.
const EXPLAINED: f64 = 0.05;

/// Fits the time of a request to a curve of (request size in bytes, samples of the rate there in bytes per second, in the
/// order taken), by least squares of the relative residuals.
///
/// Intervals are of the bootstrap, which draws as many values as the samples of a size are worth. `None` with fewer than
/// three sizes with a rate, or if no law has positive parts, because another limit then dominates.
pub fn fit_request_time(curve: &[(u64, Vec<f64>)], bootstrap: &Bootstrap) -> Option<RequestTime> {
    let mut points: Vec<(f64, SampleSet)> = curve
        .iter()
        .map(|(bytes, rates)| {
            let times = rates.iter().filter(|rate| **rate > 0.0).map(|rate| *bytes as f64 / rate);
            (*bytes as f64, SampleSet::of(&times.collect::<Vec<f64>>()))
        })
        .filter(|(bytes, times)| *bytes > 0.0 && !times.sorted.is_empty())
        .collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points.dedup_by(|one, other| one.0 == other.0);
    if points.len() < 3 {
        return None;
    }
    let medians: Vec<(f64, f64)> =
        points.iter().filter_map(|(bytes, times)| Some((*bytes, times.median()?))).collect();
    let fits = [Law::Sum, Law::Larger].map(|law| fit(law, &medians).map(|line| (law, line)));
    let misfit = |(law, line): &(Law, LawFit)| line.misfit(*law, &medians);
    let (law, line) =
        fits.into_iter().flatten().min_by(|one, other| misfit(one).total_cmp(&misfit(other)))?;

    let drawn = bootstrap.drawn(points.iter().map(|(_, times)| times));
    let with = |times: &[f64]| -> Vec<(f64, f64)> {
        medians.iter().zip(times).map(|((bytes, _), time)| (*bytes, *time)).collect()
    };
    let again: Vec<LawFit> =
        bootstrap.refit(&drawn, |times| fit(law, &with(times))).into_iter().flatten().collect();
    let fewest = points.iter().map(|(_, times)| times.worth).min().unwrap_or(0);
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

    fn misfit(self, law: Law, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(bytes, time)| ((time - self.at(law, *bytes)) / time).powi(2)).sum()
    }
}

/// Fits the best line of a law; `None` if a part of it is not positive.
fn fit(law: Law, points: &[(f64, f64)]) -> Option<LawFit> {
    let line = match law {
        Law::Sum => solve(points).map(|line| LawFit { a: line.a, b: line.b }),
        // The points up to some size are flat; those beyond it are on a line through the origin.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    /// Returns nine samples per size around the rate that a law gives.
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
        // Bandwidth alone: the fixed time may be anything below the time of the smallest request.
        let only_bytes = fit_request_time(&curve(|x| (1e-9f64).max(1e-8 * x), 0.0), &bootstrap).unwrap();
        assert!(only_bytes.request_at_most && !only_bytes.byte_at_most, "{only_bytes:?}");
        let only_requests = fit_request_time(&curve(|_| 1e-3, 0.0), &bootstrap).unwrap();
        assert!(only_requests.byte_at_most && !only_requests.request_at_most, "{only_requests:?}");
    }

    #[test]
    fn intervals_of_correlated_samples_are_wider() {
        let (mut rng, mut shuffled) = (Xoshiro256::seeded(9), Vec::new());
        let series = |bytes: u64| {
            let time = 1e-3 + 1e-8 * bytes as f64;
            // Like storage that becomes faster and slower in the course of a run.
            let rate = |place: u32| {
                let wave = (f64::from(place) / 30.0 * std::f64::consts::TAU).sin();
                bytes as f64 / time * (1.0 + 0.1 * wave + 0.01 * rng.unit())
            };
            let rates: Vec<f64> = (0..30).map(rate).collect();
            let mut other = rates.clone();
            rng.shuffle(&mut other);
            shuffled.push((bytes, other));
            (bytes, rates)
        };
        let curve = [4096, 16_384, 65_536, 262_144, 1 << 20].map(series);
        let width = |curve: &[(u64, Vec<f64>)]| {
            let found = fit_request_time(curve, &Bootstrap::default()).unwrap();
            found.per_request.relative_half_width()
        };
        let (correlated, independent) = (width(&curve), width(&shuffled));
        assert!(correlated > 1.5 * independent, "{correlated} {independent}");
    }

    #[test]
    fn too_few_sizes_give_none() {
        let bootstrap = Bootstrap::default();
        assert_eq!(fit_request_time(&[(1, vec![1.0]), (2, vec![1.0])], &bootstrap), None);
        assert_eq!(fit_request_time(&[(1, vec![1.0]), (1, vec![1.0]), (1, vec![1.0])], &bootstrap), None);
        assert_eq!(fit_request_time(&[(1, vec![]), (2, vec![0.0]), (3, vec![f64::NAN])], &bootstrap), None);
    }
}
