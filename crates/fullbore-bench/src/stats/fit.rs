//! Cost of a request as a fixed part and a part per byte: `cost = a + b · bytes`.
//!
//! The model is Riedel, van Ingen and Gray's rule of thumb (section 3, figure 4): a cost per request plus a cost per
//! byte.

use serde::{Deserialize, Serialize};

use super::distribution::student_t_quantile;
use super::interval::{Bootstrap, Estimate, SampleSet};

/// A fitted cost line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CostLine {
    /// Cost of a request of no bytes, in the unit of the given costs (seconds in results documents).
    pub per_request: Estimate,
    /// Cost of one more byte, in the same unit.
    pub per_byte: Estimate,
    /// Share of the variation explained, in relative terms; near 0 also if cost does not depend on size.
    pub r_squared: f64,
    /// Largest |measured − fitted| / measured: the worst deviation from the straight line.
    pub max_relative_residual: f64,
    /// Number of fitted points.
    pub points: usize,
}

impl CostLine {
    /// Returns the fitted cost of a request of `bytes`.
    pub fn at(&self, bytes: f64) -> f64 {
        self.per_request.value + self.per_byte.value * bytes
    }
}

/// Fits `cost = a + b · bytes` to points (bytes, cost per request) by least squares of the *relative* residuals.
///
/// Request sizes span several powers of ten; plain least squares would fit the largest and ignore the rest. Intervals
/// are Student's t at `confidence` (0 to 1) with n − 2 degrees of freedom. `None` with fewer than three points of
/// different size with a positive, finite cost, because the error is then unknown.
pub fn fit_cost(points: &[(f64, f64)], confidence: f64) -> Option<CostLine> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(x, y)| x.is_finite() && y.is_finite() && *x >= 0.0 && *y > 0.0)
        .collect();
    let mut sizes: Vec<f64> = points.iter().map(|p| p.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() < 3 {
        return None;
    }
    let line = solve(&points)?;
    let freedom = (points.len() - 2) as f64;
    let variance = line.unexplained(&points) / freedom;
    let t = student_t_quantile(0.5 + confidence.clamp(0.0, 0.999_999) / 2.0, freedom)?;
    let around = |value: f64, spread: f64| {
        let half = t * (variance * spread).sqrt();
        Estimate { value, low: value - half, high: value + half }
    };
    Some(line.described(&points, around(line.a, line.spread_a), around(line.b, line.spread_b)))
}

/// A solved line `a + b · x`.
#[derive(Clone, Copy)]
pub(super) struct LinearFit {
    pub(super) a: f64,
    pub(super) b: f64,
    mean: f64,
    /// Variances of `a` and `b` for residuals of variance 1.
    spread_a: f64,
    spread_b: f64,
}

/// Solves for least squares of the relative residuals; `None` if all sizes are equal.
pub(super) fn solve(points: &[(f64, f64)]) -> Option<LinearFit> {
    let scale = points.iter().map(|p| p.0).fold(0.0, f64::max);
    if scale <= 0.0 {
        return None;
    }
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(x, y) in points {
        let (x, weight) = (x / scale, 1.0 / (y * y));
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
    }
    let determinant = w * wxx - wx * wx;
    if determinant <= f64::EPSILON * w * wxx {
        return None;
    }
    Some(LinearFit {
        a: (wxx * wy - wx * wxy) / determinant,
        b: (w * wxy - wx * wy) / determinant / scale,
        mean: wy / w,
        spread_a: wxx / determinant,
        spread_b: w / determinant / (scale * scale),
    })
}

impl LinearFit {
    fn unexplained(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|&(x, y)| ((y - self.a - self.b * x) / y).powi(2)).sum()
    }

    fn described(&self, points: &[(f64, f64)], per_request: Estimate, per_byte: Estimate) -> CostLine {
        let total: f64 = points.iter().map(|&(_, y)| ((y - self.mean) / y).powi(2)).sum();
        let worst = points.iter().map(|&(x, y)| ((y - self.a - self.b * x) / y).abs()).fold(0.0, f64::max);
        let r_squared =
            if total > 0.0 { (1.0 - self.unexplained(points) / total).clamp(0.0, 1.0) } else { 1.0 };
        CostLine { per_request, per_byte, r_squared, max_relative_residual: worst, points: points.len() }
    }
}

/// Fits the same line to samples: points (bytes, costs of a request in the order taken) of two or more sizes.
///
/// The medians of each size are fitted. The intervals are of a bootstrap that resamples every size's samples, as many
/// as they are worth, and fits again. They measure the effect of noise on the line, even with only two or three sizes,
/// but not the deviation of the cost from a straight line (see `max_relative_residual`), which the intervals of
/// [`fit_cost`] include. Sizes without finite positive costs are skipped.
pub fn fit_cost_samples(points: &[(f64, Vec<f64>)], bootstrap: &Bootstrap) -> Option<CostLine> {
    let (sizes, sets): (Vec<f64>, Vec<SampleSet>) = points
        .iter()
        .filter(|(size, _)| size.is_finite() && *size >= 0.0)
        .map(|(size, costs)| {
            let usable: Vec<f64> = costs.iter().copied().filter(|c| c.is_finite() && *c > 0.0).collect();
            (*size, SampleSet::of(&usable))
        })
        .filter(|(_, costs)| !costs.sorted.is_empty())
        .unzip();
    let with =
        |costs: &[f64]| -> Vec<(f64, f64)> { sizes.iter().copied().zip(costs.iter().copied()).collect() };
    let medians = with(&sets.iter().filter_map(SampleSet::median).collect::<Vec<f64>>());
    let line = solve(&medians)?;
    let lines = bootstrap.refit(&bootstrap.drawn(&sets), |costs| solve(&with(costs)));
    let lines = lines.into_iter().collect::<Option<Vec<LinearFit>>>()?;
    // Both parameters depend on the samples of all sizes.
    let all = sets.iter().map(|costs| costs.worth).sum();
    Some(line.described(
        &medians,
        bootstrap.percentiles(line.a, lines.iter().map(|line| line.a).collect(), all),
        bootstrap.percentiles(line.b, lines.iter().map(|line| line.b).collect(), all),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Xoshiro256;

    const SIZES: [f64; 6] = [4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 4_194_304.0];

    #[test]
    fn an_exact_line_gives_back_a_and_b() {
        let points: Vec<(f64, f64)> = SIZES.iter().map(|&x| (x, 120e-6 + 2e-9 * x)).collect();
        let line = fit_cost(&points, 0.95).unwrap();
        assert!((line.per_request.value / 120e-6 - 1.0).abs() < 1e-9, "{line:?}");
        assert!((line.per_byte.value / 2e-9 - 1.0).abs() < 1e-9);
        assert!(line.max_relative_residual < 1e-9 && line.r_squared > 0.999_999);
        assert!((line.at(1e6) / (120e-6 + 2e-3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn agrees_with_a_reference_solution() {
        // numpy: X = [1, x]; W = diag(1/y²); beta = inv(X'WX) X'Wy; s² = Σ((y − Xβ)/y)²/(n − 2);
        // half = t.ppf(.975, n − 2) · sqrt(s² · diag(inv(X'WX)))
        let points = [(1.0, 3.1), (2.0, 4.8), (4.0, 9.3), (8.0, 16.5), (16.0, 33.9)];
        let line = fit_cost(&points, 0.95).unwrap();
        assert!((line.per_request.value - 1.034_441_76).abs() < 1e-7, "{line:?}");
        assert!((line.per_byte.value - 1.994_675_71).abs() < 1e-7, "{line:?}");
        assert!((line.per_request.high - line.per_request.value - 0.479_563_36).abs() < 1e-6, "{line:?}");
        assert!((line.per_byte.high - line.per_byte.value - 0.202_153_22).abs() < 1e-6, "{line:?}");
    }

    #[test]
    fn interval_coverage_matches_confidence() {
        let mut rng = Xoshiro256::seeded(11);
        let (mut held_a, mut held_b) = (0, 0);
        for _ in 0..1000 {
            let points: Vec<(f64, f64)> = SIZES
                .iter()
                .map(|&x| {
                    let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                    (x, (2e-6 + 1e-10 * x) * (1.0 + 0.03 * noise))
                })
                .collect();
            let line = fit_cost(&points, 0.95).unwrap();
            held_a += usize::from(line.per_request.contains(2e-6));
            held_b += usize::from(line.per_byte.contains(1e-10));
        }
        assert!((920..=980).contains(&held_a) && (920..=980).contains(&held_b), "{held_a} {held_b}");
    }

    #[test]
    fn too_few_points_give_none() {
        assert_eq!(fit_cost(&[(1.0, 1.0), (2.0, 2.0)], 0.95), None);
        assert_eq!(fit_cost(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), None);
        assert_eq!(fit_cost(&[(1.0, 1.0), (2.0, 0.0), (3.0, f64::NAN)], 0.95), None);
    }
}
