//! Many comparisons at once: a test for each, and Holm's correction for their number.

use crate::stats::student_t_cdf;

/// Student's t for the mean logarithm of a ratio: Welch's for two independent sets, the plain one for pairs.
///
/// Rates are products of shares of a limit, so their logarithms are nearer to a normal distribution than the rates are,
/// and the test is symmetric in the choice of the baseline. The displayed interval is the bootstrap's; this test gives
/// the small tail probabilities that a correction for a hundred comparisons needs and 2000 resamples cannot give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogTest {
    /// Mean of ln(this) minus mean of ln(baseline).
    difference: f64,
    /// Its standard error.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl LogTest {
    /// Two independent sets of positive values; `None` with fewer than two in either.
    pub(super) fn unpaired(this: &[f64], baseline: &[f64]) -> Option<Self> {
        let ((a, va), (b, vb)) = (log_moments(this)?, log_moments(baseline)?);
        let (na, nb) = (this.len() as f64, baseline.len() as f64);
        let (ea, eb) = (va / na, vb / nb);
        let variance = ea + eb;
        // Welch and Satterthwaite; for constant values any number will do.
        let freedom = if variance > 0.0 {
            variance.powi(2) / (ea * ea / (na - 1.0) + eb * eb / (nb - 1.0))
        } else {
            1.0
        };
        Some(Self { difference: a - b, error: variance.sqrt(), freedom })
    }

    /// Ratios of pairs; `None` with fewer than two.
    pub(super) fn paired(ratios: &[f64]) -> Option<Self> {
        let (mean, variance) = log_moments(ratios)?;
        let n = ratios.len() as f64;
        Some(Self { difference: mean, error: (variance / n).sqrt(), freedom: n - 1.0 })
    }

    /// Probability of a change at least as large in either direction, if there is none.
    pub(super) fn p_of_no_change(&self) -> f64 {
        (2.0 * self.p_of_at_least(1.0).min(self.p_of_at_most(1.0))).min(1.0)
    }

    /// Probability of a ratio as low as this one, if the true ratio is `bound` or more.
    pub(super) fn p_of_at_least(&self, bound: f64) -> f64 {
        self.tail(self.difference - bound.ln())
    }

    /// Probability of a ratio as high as this one, if the true ratio is `bound` or less.
    pub(super) fn p_of_at_most(&self, bound: f64) -> f64 {
        self.tail(bound.ln() - self.difference)
    }

    fn tail(&self, distance: f64) -> f64 {
        match distance {
            d if self.error > 0.0 => student_t_cdf(d / self.error, self.freedom),
            d if d < 0.0 => 0.0,
            _ => 1.0,
        }
    }
}

/// Mean and variance of the logarithms.
fn log_moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|v| v.ln()).sum::<f64>() / n;
    let variance = values.iter().map(|v| (v.ln() - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // The spread of equal values is rounding.
    let rounding = 16.0 * f64::EPSILON * mean.abs().max(1.0);
    Some((mean, if variance.sqrt() <= rounding { 0.0 } else { variance }))
}

/// Adjusts probabilities for their number so that each can be compared with one level: with all hypotheses true, the
/// probability that any adjusted one is at most `level` is at most `level` (Holm, Scandinavian Journal of Statistics, 1979).
pub(super) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let n = probabilities.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; n];
    let mut least: f64 = 0.0;
    for (rank, &place) in order.iter().enumerate() {
        least = least.max((n - rank) as f64 * probabilities[place]).min(1.0);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_matches_r() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm") = 0.04 0.09 0.09 0.025 0.5, worked by hand from the definition:
        // sorted 0.005·5, 0.01·4, 0.03·3, 0.04·2 (raised to 0.09), 0.5·1.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.5]);
        for (found, expected) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.5]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn welch_matches_numeric_integration() {
        // e to the powers 1 … 5 and 2, 4, 6, 8: means 3 and 5, variances 2.5 and 20/3, so t = −2 / √(0.5 + 5/3)
        // = −1.358732 and freedom = (13/6)² / (0.5²/4 + (5/3)²/3) = 4.749415.
        let this: Vec<f64> = (1..=5).map(|k| f64::from(k).exp()).collect();
        let baseline: Vec<f64> = (1..=4).map(|k| f64::from(2 * k).exp()).collect();
        let test = LogTest::unpaired(&this, &baseline).unwrap();
        assert!((test.difference / test.error + 1.358_732).abs() < 1e-6);
        assert!((test.freedom - 4.749_415).abs() < 1e-6);
        // The integral of the density from t to −t, by Simpson's rule: see `simpson`.
        let outside = 1.0 - 2.0 * simpson(1.358_732_4, test.freedom);
        assert!((test.p_of_no_change() - outside).abs() < 1e-6, "{} {outside}", test.p_of_no_change());
        assert!((test.p_of_at_least(1.0) + test.p_of_at_most(1.0) - 1.0).abs() < 1e-12);
        // Against a bound equal to the difference the probability is one half.
        assert!((test.p_of_at_most((-2.0f64).exp()) - 0.5).abs() < 1e-9);
    }

    /// The area under Student's density from 0 to `t`, relative to the whole, both by numeric integration.
    fn simpson(t: f64, freedom: f64) -> f64 {
        let density = |x: f64| (1.0 + x * x / freedom).powf(-(freedom + 1.0) / 2.0);
        let area = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
            let n = 20_000;
            let step = (to - from) / f64::from(n);
            let inner: f64 = (1..n)
                .map(|k| f64::from(if k % 2 == 1 { 4 } else { 2 }) * f(from + f64::from(k) * step))
                .sum();
            (f(from) + inner + f(to)) * step / 3.0
        };
        // The tail to infinity by x = tan(angle).
        let whole = 2.0
            * area(0.0, std::f64::consts::FRAC_PI_2 - 1e-9, &|angle: f64| {
                density(angle.tan()) / angle.cos().powi(2)
            });
        area(0.0, t, &density) / whole
    }

    #[test]
    fn constant_values_are_certain() {
        let test = LogTest::unpaired(&[0.3; 8], &[0.3; 8]).unwrap();
        assert_eq!((test.error, test.p_of_no_change()), (0.0, 1.0));
        let test = LogTest::unpaired(&[0.2; 8], &[0.3; 8]).unwrap();
        assert_eq!(
            (test.p_of_no_change(), test.p_of_at_least(0.9), test.p_of_at_least(0.1)),
            (0.0, 0.0, 1.0)
        );
        assert_eq!(LogTest::paired(&[1.0]), None);
    }
}
