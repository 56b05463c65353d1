//! The normal distribution and Student's t distribution, as needed for intervals and p-values; and the fairness of a
//! distribution of throughput to several streams.

/// Returns P(Z ≤ z) of the standard normal distribution.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Returns P(T ≤ t) of Student's t with `freedom` degrees of freedom (> 0).
pub fn student_t_cdf(t: f64, freedom: f64) -> f64 {
    let x = freedom / (freedom + t * t);
    let tail = 0.5 * incomplete_beta(freedom / 2.0, 0.5, x);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the `p` quantile of Student's t; `None` unless 0 < p < 1 and `freedom` > 0.
pub fn student_t_quantile(p: f64, freedom: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && freedom > 0.0) {
        return None;
    }
    let (mut low, mut high) = (-1.0, 1.0);
    while student_t_cdf(low, freedom) > p {
        low *= 2.0;
    }
    while student_t_cdf(high, freedom) < p {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high || high - low < 1e-13 * high.abs().max(1.0) {
            break;
        }
        if student_t_cdf(middle, freedom) < p { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

/// Regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front =
        (libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let tiny = 1e-300;
    let (mut c, mut d) = (1.0, 1.0 - (a + b) * x / (a + 1.0));
    d = 1.0 / if d.abs() < tiny { tiny } else { d };
    let mut result = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 + step * d;
            d = 1.0 / if d.abs() < tiny { tiny } else { d };
            c = 1.0 + step / c;
            if c.abs() < tiny {
                c = tiny;
            }
            change = c * d;
            result *= change;
        }
        if (change - 1.0f64).abs() < 1e-15 {
            break;
        }
    }
    front * result
}

/// Jain's index of the rates of streams in any unit (Jain, Chiu and Hawe, 1984): 1 if all have equal shares, k/n if k of n share
/// equally and the rest have nothing. Rates that are not finite or negative are skipped; `None` for fewer than two, or if all are 0.
pub fn jain(rates: impl IntoIterator<Item = f64>) -> Option<f64> {
    let rates: Vec<f64> = rates.into_iter().filter(|rate| rate.is_finite() && *rate >= 0.0).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    // Shares of the largest, so that squares neither overflow nor underflow.
    let shares = rates.iter().map(|rate| rate / most);
    let (sum, squares) =
        shares.fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    (rates.len() > 1 && most > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_agrees_with_scipy() {
        // scipy.stats.norm.cdf(z)
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (-1.96, 0.024_997_895_148_220_435),
            (3.0, 0.998_650_101_968_369_9),
            (-5.0, 2.866_515_718_791_933e-7),
        ] {
            assert!((normal_cdf(z) / p - 1.0).abs() < 1e-10, "{z}");
        }
    }

    #[test]
    fn student_t_agrees_with_scipy() {
        // scipy.stats.t.ppf(p, freedom)
        for (p, freedom, t) in [
            (0.975, 1.0, 12.706_204_736_174_694),
            (0.975, 4.0, 2.776_445_105_197_793_3),
            (0.975, 9.0, 2.262_157_162_798_205),
            (0.995, 30.0, 2.749_995_653_567_229_4),
            (0.975, 58.0, 2.001_717_48),
            (0.025, 9.0, -2.262_157_162_798_205),
        ] {
            assert!((student_t_quantile(p, freedom).unwrap() - t).abs() < 1e-8, "{p} {freedom}");
        }
        assert_eq!(student_t_quantile(1.0, 3.0), None);
        assert_eq!(student_t_quantile(0.5, 0.0), None);
    }

    #[test]
    fn index_matches_hand_computation() {
        let close = |rates: &[f64], expected: f64| {
            let found = jain(rates.iter().copied()).unwrap();
            assert!((found - expected).abs() < 1e-12, "{rates:?}: {found}");
        };
        close(&[3.0; 5], 1.0);
        close(&[8.0, 0.0, 0.0, 0.0], 0.25);
        // (1 + 2 + 3)² / (3 · (1 + 4 + 9)) = 36 / 42.
        close(&[1.0, f64::NAN, 2.0, 3.0, -1.0], 6.0 / 7.0);
        // Two of five share, the rest starve: 2/5.
        close(&[7e300, 0.0, 7e300, 0.0, 0.0], 0.4);
        for none in [&[][..], &[0.0, 0.0], &[f64::NAN, -1.0], &[f64::NAN, 2.0]] {
            assert_eq!(jain(none.iter().copied()), None, "{none:?}");
        }
    }
}
