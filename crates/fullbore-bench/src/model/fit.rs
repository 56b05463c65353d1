//! Fit of a path's law to its points, and the deviation from the law near a point.

use std::sync::Arc;

use super::law::{ALL, Flights, Load, OVERLAPS, PathLaw, TERMS, Term, request_and_byte_shares};
use super::numerics::{Cholesky, dot};
use crate::stats::student_t_quantile;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) load: Load,
    /// Logarithm of the time of a request in the pipeline.
    pub(super) log_time: f64,
    pub(super) error: f64,
    pub(super) flights: Flights,
    pub(super) experiment: Arc<str>,
}

impl Point {
    fn cell_load(&self) -> CellLoad<'_> {
        CellLoad { load: self.load, flights: self.flights, experiment: Some(&self.experiment) }
    }
}

/// A measured load, or one to predict.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellLoad<'a> {
    pub(super) load: Load,
    pub(super) flights: Flights,
    /// The experiment that measures it; `None`: another one than those of the points.
    pub(super) experiment: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) law: PathLaw,
    /// The similar path that it was fitted with.
    pub(super) like: Option<SimilarPath>,
    points: Vec<Point>,
    prior: Prior,
    /// Standard deviation of the part of the deviations from the law that noise does not explain.
    deviation: f64,
    /// Standard error of a typical point.
    pub(super) noise: f64,
    /// Half of a 95% interval in standard errors, which are known from this number of points.
    pub(super) half: f64,
    factor: Option<Arc<Cholesky>>,
    /// Factor of all variances by which each point's prediction from the others is as uncertain as it is wrong.
    inflation: f64,
}

/// Half the width of a 95% interval, in standard errors.
pub(super) const HALF: f64 = 1.96;

/// Prior standard deviation of the logarithm of a parameter, before any measurement.
const PRIOR: f64 = 2.0;
/// Prior standard deviation for a path that resembles another one, around the parameters of that one; for a factor that all
/// parameters have in common; and for the share by which one processor slows another.
const LIKE: f64 = 1.0;
/// Deviations at sizes of this many doublings apart, and at as many in flight, are unrelated.
const REACH: (f64, f64) = (5.0, 3.0);
/// The deviation from a law that machines show, and the number of points that it is worth beside those of the path.
const USUAL_DEVIATION: f64 = 0.12;
const USUAL_POINTS: f64 = 3.0;
/// Standard deviations of the deviations that loads of equal [`Flights`] share: of the time per request, and of that per byte.
const FLIGHTS: [f64; 2] = [0.3, 0.15];
/// The prior standard deviation of the logarithm of a known time of a request.
const KNOWN: f64 = 0.5;
/// Improvement of the misfit that a further parameter must bring (Akaike).
const PARAMETER: f64 = 2.0;
/// Logarithm of the smallest piece of a split request, in bytes.
const SMALLEST_PIECE: u32 = 16;
/// Share of the variance of deviations that even cells of equal requests do not have in common: the machine differs from
/// minute to minute.
const UNSHARED: f64 = 0.15;
const STEPS: usize = 40;

/// Knowledge of a law before the points of its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Basis {
    /// A similar path, whose parameters are the prior.
    pub(super) like: Option<SimilarPath>,
    /// Large requests may be served in pieces.
    pub(super) splits: bool,
    /// Seconds of a request apart from its bytes, if they are known before the points: no system call.
    pub(super) request_s: Option<f64>,
    /// Processors, and the share by which one slows another, if they limit the path.
    pub(super) sharing: Option<(f64, f64)>,
}

impl Basis {
    /// Returns a law without the terms that the path does not have, and with the share by which processors slow each other.
    fn with_terms(&self, mut law: PathLaw) -> PathLaw {
        if let Some(request_s) = self.request_s {
            law.parameters[Term::Request as usize] = request_s;
        }
        if let Some((processors, share)) = self.sharing {
            law.processors = processors;
            law.parameters[Term::DiskRequests as usize] = 0.0;
            law.parameters[Term::DiskBytes as usize] = 0.0;
            law.parameters[Term::BusBytes as usize] = 0.0;
            law.parameters[Term::Sharing as usize] = share;
        }
        law
    }
}

/// The law of a path, for similar ones, and the figures of a load whose effect its points show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SimilarPath {
    pub(super) law: PathLaw,
    pub(super) bytes: bool,
    pub(super) in_flight: bool,
}

/// Standard deviations of the logarithms of the parameters before the points, and the weight of this knowledge.
#[derive(Debug, Clone, Copy)]
struct Prior {
    deviations: [f64; TERMS],
    ties: [f64; TERMS],
    /// Standard deviation of the logarithm of a factor that all have in common.
    scale: f64,
}

/// Most points of a fit.
const MOST_POINTS: usize = 500;

impl Fit {
    /// Fits the law to points; `None` without any.
    pub(super) fn new(points: Vec<Point>, basis: &Basis) -> Option<Self> {
        points.first()?;
        // Evenly from a longer list: time and memory grow with the cube and the square of the number.
        let step = points.len().div_ceil(MOST_POINTS);
        let points: Vec<Point> = points.into_iter().step_by(step).collect();
        let pieces = if basis.splits { splits_of(&points) } else { vec![f64::INFINITY] };
        let overlaps: &[f64] = if basis.sharing.is_some() { &OVERLAPS[..1] } else { &OVERLAPS };
        let starts: Vec<PathLaw> = match &basis.like {
            // A known time of a request is not multiplied by the factor.
            Some(kin) => vec![basis.with_terms(scaled(&basis.with_terms(kin.law), &points))],
            None => {
                let at = |piece: f64| overlaps.iter().map(move |&overlap| (overlap, piece));
                let shapes = pieces.iter().flat_map(|&piece| at(piece));
                shapes.map(|(overlap, piece)| basis.with_terms(start(overlap, piece, &points))).collect()
            }
        };
        let (deviation, tie) = if basis.like.is_some() { (LIKE, 1.0) } else { (PRIOR, 0.01) };
        let mut prior = Prior {
            deviations: [deviation; TERMS],
            ties: [tie; TERMS],
            scale: if basis.like.is_some() { LIKE } else { 0.0 },
        };
        prior.deviations[Term::Sharing as usize] = LIKE;
        prior.ties[Term::Sharing as usize] = 1.0;
        if basis.request_s.is_some() {
            prior.deviations[Term::Request as usize] = KNOWN;
            prior.ties[Term::Request as usize] = 1.0;
        }
        let fits = starts.into_iter().map(|law| {
            let (law, misfit) = refine(law, &points, &prior);
            (law, misfit + if law.piece.is_finite() { PARAMETER } else { 0.0 })
        });
        let (law, _) = fits.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let count = points.len() as f64;
        let noise = (points.iter().map(|p| p.error.powi(2)).sum::<f64>() / count).sqrt();
        let free = (count - law.parameters.iter().filter(|p| **p > 0.0).count() as f64).max(0.0);
        let residuals: f64 = points.iter().map(|p| residual(&law, p).powi(2)).sum();
        let found = (residuals - free * noise.powi(2)).max(0.0);
        let deviation = ((found + USUAL_POINTS * USUAL_DEVIATION.powi(2)) / (free + USUAL_POINTS)).sqrt();
        let half = student_t_quantile(0.975, count - 1.0 + USUAL_POINTS).unwrap_or(HALF);
        let mut fit = Self {
            law,
            like: basis.like,
            points,
            prior,
            deviation,
            noise,
            half,
            factor: None,
            inflation: 1.0,
        };
        let matrix: Vec<Vec<f64>> = fit
            .points
            .iter()
            .enumerate()
            .map(|(i, one)| {
                let mut row: Vec<f64> = fit
                    .points
                    .iter()
                    .map(|other| fit.covariance(one.cell_load(), other.cell_load()))
                    .collect();
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

    /// Covariance of the logarithms of the times of two loads: they share the parameters of the law; nearby loads and
    /// those of equal flights or of one experiment share a deviation from it.
    fn covariance(&self, here: CellLoad<'_>, there: CellLoad<'_>) -> f64 {
        let (one, other) = (&here.load, &there.load);
        let doublings = |one: f64, other: f64| (one / other).log2().abs();
        let disks = doublings(one.disks, other.disks) / REACH.1;
        let apart = doublings(one.bytes, other.bytes) / REACH.0
            + doublings(one.in_flight, other.in_flight) / REACH.1
            + disks;
        let volume = doublings(one.bytes * one.in_flight, other.bytes * other.in_flight) / REACH.0 + disks;
        let near = ((-apart).exp() + (-volume).exp()) / 2.0;
        let gradients = [one, other].map(|load| self.law.gradient(load));
        let [first, second] = gradients
            .map(|gradient| std::array::from_fn::<f64, TERMS, _>(|i| self.prior.deviations[i] * gradient[i]));
        let law = dot(&first, &second) + self.prior.scale.powi(2);
        let flights = if here.flights == there.flights && here.flights != Flights::One {
            let [first, second] = gradients.map(|gradient| {
                let [request, bytes] = request_and_byte_shares(&gradient);
                [FLIGHTS[0] * request, FLIGHTS[1] * bytes]
            });
            dot(&first, &second)
        } else {
            0.0
        };
        // The cells of an experiment alternate, so they are slowed by the same other programs.
        let experiment = f64::from(here.experiment == there.experiment);
        self.deviation.powi(2) * ((1.0 - UNSHARED) * near + experiment) + law + flights
    }

    /// True if the points show the effect of a figure of the load that differs from theirs.
    pub(super) fn shows(&self, load: &Load, figure: fn(&Load) -> f64) -> bool {
        figure(load) == figure(&self.points[0].load) || self.varies(figure)
    }

    fn varies(&self, figure: fn(&Load) -> f64) -> bool {
        let first = figure(&self.points[0].load);
        self.points.iter().any(|point| figure(&point.load) != first)
    }

    /// Returns the law for paths that resemble this one.
    pub(super) fn similar_path(&self) -> SimilarPath {
        let (bytes, in_flight) = (self.varies(|load| load.bytes), self.varies(|load| load.in_flight));
        SimilarPath { law: self.law, bytes, in_flight }
    }

    /// Returns the logarithm of the time of a request, its standard error, and that of a measurement of it.
    pub(super) fn log_time(&self, place: CellLoad<'_>) -> (f64, f64, f64) {
        let law = self.law.time(&place.load).ln();
        let Some(factor) = &self.factor else { return (law, self.deviation, self.deviation) };
        let near: Vec<f64> = self.points.iter().map(|p| self.covariance(place, p.cell_load())).collect();
        let weights = factor.solve(&near);
        let deviations: Vec<f64> = self.points.iter().map(|p| residual(&self.law, p)).collect();
        let variance = (self.covariance(place, place) - dot(&weights, &near)).max(0.0);
        let new = self.noise.powi(2) + UNSHARED * self.deviation.powi(2);
        let error = |variance: f64| (variance * self.inflation).sqrt();
        (law + dot(&weights, &deviations), error(variance), error(variance + new))
    }
}

/// Returns a law whose times are those of another, multiplied by one factor that suits the points.
fn scaled(law: &PathLaw, points: &[Point]) -> PathLaw {
    let residuals: Vec<f64> = points.iter().map(|point| residual(law, point)).collect();
    let factor = crate::stats::median(&residuals).unwrap_or(0.0).exp();
    let mut parameters = law.parameters.map(|parameter| parameter * factor);
    parameters[Term::Sharing as usize] = law.parameters[Term::Sharing as usize];
    PathLaw { parameters, ..*law }
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
    let unit = PathLaw { overlap, piece, processors: 1.0, parameters: [1.0; TERMS] };
    let parameters = std::array::from_fn(|i| {
        let present = match ALL[i] {
            Term::Request | Term::Bytes => true,
            // With one number in flight, the wait is known from sharp knees only.
            Term::DiskRequests | Term::DiskBytes => flights || points[0].load.in_flight > 1.0,
            Term::BusBytes => disks,
            Term::Sharing => false,
        };
        let least = points.iter().map(|p| p.log_time.exp() / unit.terms(&p.load)[i]);
        if present { least.fold(f64::INFINITY, f64::min) / 2.0 } else { 0.0 }
    });
    PathLaw { overlap, piece, processors: 1.0, parameters }
}

/// Improves a law by damped least squares (Levenberg and Marquardt) of the logarithms; returns it with its misfit.
fn refine(mut law: PathLaw, points: &[Point], prior: &Prior) -> (PathLaw, f64) {
    // Points deviate from a law by more than their errors: the precise ones do not decide alone.
    let weight = |point: &Point| 1.0 / (point.error.powi(2) + USUAL_DEVIATION.powi(2));
    let began = law.parameters;
    let misfit = |law: &PathLaw| {
        let data: f64 = points.iter().map(|p| weight(p) * residual(law, p).powi(2)).sum();
        let tied = (0..TERMS)
            .filter(|&i| began[i] > 0.0)
            .map(|i| prior.ties[i] * ((law.parameters[i] / began[i]).ln() / prior.deviations[i]).powi(2));
        data + tied.sum::<f64>()
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
            let tie = prior.ties[i] / prior.deviations[i].powi(2);
            if began[i] > 0.0 {
                right[i] -= tie * (law.parameters[i] / began[i]).ln();
            }
            normal[i][i] += damping + tie;
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
