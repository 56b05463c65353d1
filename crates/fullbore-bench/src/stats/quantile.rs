//! Order statistics: median, quantiles, median absolute deviation.

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite
}

/// Returns the median of sorted values; `None` if there are none.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some((sorted[n / 2 - 1] + sorted[n / 2]) / 2.0),
    }
}

/// Returns the quantile `q` (0 to 1) of sorted values, interpolated between adjacent ones.
pub(crate) fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let share = position - below as f64;
    let above = (below + 1).min(last);
    Some(sorted[below] + share * (sorted[above] - sorted[below]))
}

/// Returns the median; `None` if no value is finite.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(values))
}

/// Returns the quantile `q` (0 to 1), interpolated linearly between order statistics (Hyndman and Fan's type 7, the
/// default of R and NumPy); `None` if no value is finite or `q` is NaN.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if q.is_nan() {
        return None;
    }
    quantile_of_sorted(&sorted(values), q)
}

/// Returns the median absolute deviation from the median, not scaled to a normal's standard deviation.
pub fn mad(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = median_of_sorted(&sorted)?;
    let deviations: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
    median(&deviations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_match_hand_computation() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, f64::NAN, 1.0, 5.0, f64::INFINITY]), Some(5.0));
    }

    #[test]
    fn quantiles_agree_with_numpy() {
        // numpy.quantile([15, 20, 35, 40, 50], [0, .05, .4, .75, 1])
        let values = [50.0, 15.0, 40.0, 20.0, 35.0];
        for (q, expected) in [(0.0, 15.0), (0.05, 16.0), (0.4, 29.0), (0.75, 40.0), (1.0, 50.0)] {
            assert!((quantile(&values, q).unwrap() - expected).abs() < 1e-12);
        }
        assert_eq!(quantile(&values, f64::NAN), None);
    }

    #[test]
    fn mad_matches_hand_computation() {
        // Median 2, deviations 1 1 0 0 2 4 7, their median 1.
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
    }
}
