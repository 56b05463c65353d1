//! Order statistics: median, quantiles, median absolute deviation; and outliers, which are determined from them,
//! labelled and never dropped.

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
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = median_of_sorted(&sorted)?;
    let deviations: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
    median(&deviations)
}

/// Standard deviation of a normal distribution, in median absolute deviations.
pub(super) const MAD_TO_DEVIATION: f64 = 1.482_602_218_505_602;

/// Returns the mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the sum of the squared distances from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Modified z-score above which a sample is labelled an outlier (Iglewicz and Hoaglin).
pub const OUTLIER_SCORE: f64 = 3.5;

/// Returns 0.6745 · (value − median) / MAD for each value, in order.
///
/// If more than half of the values are equal, the MAD is 0, and the mean absolute deviation (times 1.2533, so that both
/// estimate a normal's deviation) replaces it; if that is also 0, every score is 0.
pub fn modified_z_scores(values: &[f64]) -> Vec<f64> {
    let Some(middle) = median(values) else { return vec![0.0; values.len()] };
    let scale = match median_absolute_deviation(values) {
        Some(mad) if mad > 0.0 => mad / 0.674_489_750_196_081_7,
        _ => {
            let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
            finite.iter().map(|v| (v - middle).abs()).sum::<f64>() / finite.len() as f64
                * (std::f64::consts::PI / 2.0).sqrt()
        }
    };
    values.iter().map(|v| if scale > 0.0 { (v - middle) / scale } else { 0.0 }).collect()
}

/// Returns the positions of the outliers, in order.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let scores = modified_z_scores(values);
    scores.iter().enumerate().filter(|(_, z)| z.abs() > OUTLIER_SCORE).map(|(i, _)| i).collect()
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
    fn scores_match_hand_computation() {
        // Median 10, MAD 1: (16 − 10) · 0.6745 / 1 = 4.05 and (13 − 10) · 0.6745 = 2.02.
        let values = [9.0, 10.0, 11.0, 16.0, 10.0, 9.0, 13.0];
        let scores = modified_z_scores(&values);
        assert!((scores[3] - 4.0469).abs() < 1e-3 && (scores[6] - 2.0235).abs() < 1e-3);
        assert_eq!(outliers(&values), vec![3]);
    }

    #[test]
    fn equal_values_have_no_outliers_and_one_odd_one_is_found() {
        assert!(outliers(&[5.0; 9]).is_empty());
        assert!(outliers(&[]).is_empty());
        let mut values = vec![5.0; 9];
        values.push(50.0);
        assert_eq!(outliers(&values), vec![9]);
    }
}
