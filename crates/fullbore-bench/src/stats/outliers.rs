//! Outliers: labelled, never dropped.

use super::quantile::{mad, median};

/// Modified z-score above which a sample is labelled an outlier (Iglewicz and Hoaglin).
pub const OUTLIER_SCORE: f64 = 3.5;

/// Returns 0.6745 · (value − median) / MAD for each value, in order.
///
/// If more than half of the values are equal, the MAD is 0, and the mean absolute deviation (times 1.2533, so that both
/// estimate a normal's deviation) replaces it; if that is also 0, every score is 0.
pub fn modified_z_scores(values: &[f64]) -> Vec<f64> {
    let Some(middle) = median(values) else { return vec![0.0; values.len()] };
    let scale = match mad(values) {
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
