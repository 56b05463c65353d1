//! Fit of a path's law to its points, and the deviation from the law near a point.

use std::sync::Arc;

use super::law::{ALL, Load, OVERLAPS, PathLaw, TERMS, Term};
use super::numerics::{Cholesky, dot};
use crate::stats::student_t_quantile;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) load: Load,
    /// Logarithm of the time of a request in the pipeline.
    pub(super) log_time: f64,
    pub(super) error: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) law: PathLaw,
    points: Vec<Point>,
    /// Standard deviation of the logarithm of a parameter before the points.
    prior: f64,
    /// Standard deviation of the deviations from the law that noise does not explain.
    deviation: f64,
    /// Standard error of a typical point.
    pub(super) noise: f64,
    /// Half of a 95% interval in standard errors, which are known from this number of points.
    pub(super) half: f64,
    factor: Option<Arc<Cholesky>>,
    /// Factor of all variances by which each point's prediction from the others is as uncertain as it is wrong.
    inflation: f64,
}

/// Half of a 95% interval in standard errors.
pub(super) const HALF: f64 = 1.96;

/// The logarithm of a parameter is known to about this much before any measurement.
const PRIOR: f64 = 2.0;
/// The same of a path that resembles another one: its parameters are those of the other, to about this much.
const LIKE: f64 = 1.5;
/// Deviations at sizes of this many doublings apart, and at as many in flight, are unrelated.
const REACH: (f64, f64) = (5.0, 3.0);
/// The smallest deviation assumed: no machine keeps a law better.
const LEAST_DEVIATION: f64 = 0.02;
/// Improvement of the misfit that a further parameter must bring (Akaike).
const PARAMETER: f64 = 2.0;
/// Logarithm of the smallest piece of a split request, in bytes.
const SMALLEST_PIECE: u32 = 16;
/// Share of the variance of deviations that even cells of equal requests do not have in common: the machine differs from
/// minute to minute.
const UNSHARED: f64 = 0.15;
const STEPS: usize = 40;

impl Fit {
    /// Fits the law to points; `None` without points of two loads.
    ///
    /// `splits`: large requests may be served in pieces. `like`: the law of a similar path, which the parameters
    /// resemble as far as the points do not say otherwise.
    pub(super) fn new(points: Vec<Point>, splits: bool, like: Option<&PathLaw>) -> Option<Self> {
        let first = points.first()?.load;
        if points.iter().all(|point| point.load == first) {
            return None;
        }
        let pieces = if splits { splits_of(&points) } else { vec![f64::INFINITY] };
        let starts: Vec<PathLaw> = match like {
            Some(law) => vec![scaled(law, &points)],
            None => {
                let starts =
                    pieces.iter().map(|&piece| OVERLAPS.map(|overlap| start(overlap, piece, &points)));
                starts.flatten().collect()
            }
        };
        let (prior, tie) = if like.is_some() { (LIKE, 1.0) } else { (PRIOR, 0.01) };
        let fits = starts.into_iter().map(|law| {
            let (law, misfit) = refine(law, &points, prior, tie);
            (law, misfit + if law.piece.is_finite() { PARAMETER } else { 0.0 })
        });
        let (law, _) = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let count = points.len() as f64;
        let noise = (points.iter().map(|p| p.error.powi(2)).sum::<f64>() / count).sqrt();
        let free = (count - law.parameters.iter().filter(|p| **p > 0.0).count() as f64).max(1.0);
        let residuals: f64 = points.iter().map(|p| residual(&law, p).powi(2)).sum();
        let deviation = (residuals / free - noise.powi(2)).max(0.0).sqrt().max(LEAST_DEVIATION);
        let half = student_t_quantile(0.975, count - 1.0).unwrap_or(HALF);
        let mut fit = Self { law, points, prior, deviation, noise, half, factor: None, inflation: 1.0 };
        let matrix: Vec<Vec<f64>> = fit
            .points
            .iter()
            .enumerate()
            .map(|(i, one)| {
                let mut row: Vec<f64> =
                    fit.points.iter().map(|other| fit.covariance(&one.load, &other.load)).collect();
                row[i] += one.error.powi(2) + UNSHARED * fit.deviation.powi(2);
                row
            })
            .collect();
        fit.factor = Cholesky::new(&matrix).map(Into::into);
        fit.inflation = fit.surprise().max(1.0);
        Some(fit)
    }

    /// Returns the mean square of the deviations of each point from its prediction by the others, in their variances.
    fn surprise(&self) -> f64 {
        let Some(factor) = self.factor.as_ref().filter(|_| self.points.len() > 3) else { return 1.0 };
        let deviations: Vec<f64> = self.points.iter().map(|p| residual(&self.law, p)).collect();
        let solved = factor.solve(&deviations);
        let count = self.points.len();
        let square = |i: usize| {
            let unit: Vec<f64> = (0..count).map(|j| f64::from(u8::from(i == j))).collect();
            solved[i].powi(2) / factor.solve(&unit)[i]
        };
        (0..count).map(square).sum::<f64>() / count as f64
    }

    /// Covariance of the logarithms of the times of two loads: they share the parameters of the law, and nearby loads
    /// share a deviation from it.
    fn covariance(&self, one: &Load, other: &Load) -> f64 {
        let doublings = |one: f64, other: f64| (one / other).log2().abs();
        let disks = doublings(one.disks, other.disks) / REACH.1;
        let apart = doublings(one.bytes, other.bytes) / REACH.0
            + doublings(one.in_flight, other.in_flight) / REACH.1
            + disks;
        let volume = doublings(one.bytes * one.in_flight, other.bytes * other.in_flight) / REACH.0 + disks;
        let near = ((-apart).exp() + (-volume).exp()) / 2.0;
        let shared = dot(&self.law.gradient(one), &self.law.gradient(other));
        (1.0 - UNSHARED) * self.deviation.powi(2) * near + self.prior.powi(2) * shared
    }

    /// True if the points show the effect of a figure of the load that differs from theirs.
    pub(super) fn shows(&self, load: &Load, figure: fn(&Load) -> f64) -> bool {
        let first = figure(&self.points[0].load);
        figure(load) == first || self.points.iter().any(|point| figure(&point.load) != first)
    }

    /// Returns the logarithm of the time of a request and the standard error that a measurement of it would have.
    pub(super) fn log_time(&self, load: &Load) -> (f64, f64) {
        let law = self.law.time(load).ln();
        let Some(factor) = &self.factor else { return (law, self.deviation) };
        let near: Vec<f64> = self.points.iter().map(|p| self.covariance(load, &p.load)).collect();
        let weights = factor.solve(&near);
        let deviations: Vec<f64> = self.points.iter().map(|p| residual(&self.law, p)).collect();
        let variance = (self.covariance(load, load) - dot(&weights, &near)).max(0.0);
        let new = self.noise.powi(2) + UNSHARED * self.deviation.powi(2);
        (law + dot(&weights, &deviations), ((variance + new) * self.inflation).sqrt())
    }
}

/// Returns a law whose times are those of another, multiplied by one factor that suits the points.
fn scaled(law: &PathLaw, points: &[Point]) -> PathLaw {
    let residuals: Vec<f64> = points.iter().map(|point| residual(law, point)).collect();
    let factor = crate::stats::median(&residuals).unwrap_or(0.0).exp();
    PathLaw { parameters: law.parameters.map(|parameter| parameter * factor), ..*law }
}

/// Returns the sizes at which requests may be split: powers of two below the largest measured, and none.
fn splits_of(points: &[Point]) -> Vec<f64> {
    let largest = points.iter().map(|p| p.load.bytes).fold(0.0, f64::max);
    let powers = (SMALLEST_PIECE..=22).map(|power| f64::from(1u32 << power));
    powers.filter(|piece| *piece < largest).chain([f64::INFINITY]).collect()
}

fn residual(law: &PathLaw, point: &Point) -> f64 {
    point.log_time - law.time(&point.load).ln()
}

/// Returns a first guess: every term explains the fastest of the points alone, and terms that the points cannot
/// distinguish from others are absent.
fn start(overlap: f64, piece: f64, points: &[Point]) -> PathLaw {
    let varies = |of: fn(&Load) -> f64| {
        let values = points.iter().map(|p| of(&p.load));
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        high > low * 1.01
    };
    let (disks, flights) = (varies(|l| l.disks), varies(|l| l.in_flight));
    let unit = PathLaw { overlap, piece, parameters: [1.0; TERMS] };
    let parameters = std::array::from_fn(|i| {
        let present = match ALL[i] {
            Term::Request | Term::Bytes => true,
            // With one number in flight, the wait is known from sharp knees only.
            Term::DiskRequests | Term::DiskBytes => flights || points[0].load.in_flight > 1.0,
            Term::BusBytes => disks,
        };
        let least = points.iter().map(|p| p.log_time.exp() / unit.terms(&p.load)[i]);
        if present { least.fold(f64::INFINITY, f64::min) / 2.0 } else { 0.0 }
    });
    PathLaw { overlap, piece, parameters }
}

/// Improves a law by damped least squares (Levenberg and Marquardt) of the logarithms; returns it with its misfit.
fn refine(mut law: PathLaw, points: &[Point], prior: f64, tie: f64) -> (PathLaw, f64) {
    // Points of one path differ by more than their errors: a floor keeps the precise ones from deciding alone.
    let weight = |point: &Point| 1.0 / (point.error.powi(2) + 0.05_f64.powi(2));
    let began = law.parameters;
    let misfit = |law: &PathLaw| {
        let data: f64 = points.iter().map(|p| weight(p) * residual(law, p).powi(2)).sum();
        let tied =
            (0..TERMS).filter(|&i| began[i] > 0.0).map(|i| (law.parameters[i] / began[i]).ln() / prior);
        data + tie * tied.map(|far| far * far).sum::<f64>()
    };
    let (mut best, mut damping) = (misfit(&law), 1.0);
    for _ in 0..STEPS {
        let mut normal = vec![vec![0.0; TERMS]; TERMS];
        let mut right = vec![0.0; TERMS];
        for point in points {
            let (gradient, weight, off) = (law.gradient(&point.load), weight(point), residual(&law, point));
            for i in 0..TERMS {
                right[i] += weight * gradient[i] * off;
                for j in 0..TERMS {
                    normal[i][j] += weight * gradient[i] * gradient[j];
                }
            }
        }
        for i in 0..TERMS {
            if began[i] > 0.0 {
                right[i] -= tie * (law.parameters[i] / began[i]).ln() / prior.powi(2);
            }
            normal[i][i] += damping + tie / prior.powi(2);
        }
        let Some(factor) = Cholesky::new(&normal) else { break };
        let step = factor.solve(&right);
        let mut next = law;
        for (parameter, step) in next.parameters.iter_mut().zip(step) {
            *parameter *= step.clamp(-2.0, 2.0).exp();
        }
        let after = misfit(&next);
        if after < best {
            let done = best - after < 1e-9 * best;
            (law, best, damping) = (next, after, damping / 5.0);
            if done {
                break;
            }
        } else {
            damping *= 4.0;
        }
    }
    (law, best)
}
