//! Fairness of several streams' shares of the throughput.

use serde::{Deserialize, Serialize};

/// Comparison of several streams' shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Jain's index (Jain, Chiu and Hawe, 1984): 1 if all streams have equal shares, 1/n if one has everything; k/n if
    /// k of n share equally and the rest have nothing.
    pub jain: f64,
    /// Throughput of the fastest stream ÷ that of the slowest; `None` if the slowest has none.
    pub max_over_min: Option<f64>,
    /// Number of streams compared.
    pub streams: usize,
}

/// Compares the rates of streams (any unit). Rates that are not finite or negative are skipped; `None` if none remains
/// or all are 0.
pub fn fairness(rates: &[f64]) -> Option<Fairness> {
    let rates: Vec<f64> = rates.iter().copied().filter(|r| r.is_finite() && *r >= 0.0).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    // Shares of the largest, so that squares neither overflow nor underflow.
    let shares = rates.iter().map(|r| r / most);
    let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), s| (sum + s, squares + s * s));
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    Some(Fairness {
        jain: sum * sum / (rates.len() as f64 * squares),
        max_over_min: (least > 0.0).then_some(most / least),
        streams: rates.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_matches_hand_computation() {
        let even = fairness(&[3.0; 5]).unwrap();
        assert!((even.jain - 1.0).abs() < 1e-12 && even.max_over_min == Some(1.0) && even.streams == 5);
        // (1 + 2 + 3)² / (3 · (1 + 4 + 9)) = 36 / 42.
        let uneven = fairness(&[1.0, 2.0, 3.0]).unwrap();
        assert!((uneven.jain - 6.0 / 7.0).abs() < 1e-12 && uneven.max_over_min == Some(3.0));
        // Two of five share, the rest starve: 2/5.
        let starved = fairness(&[7e300, 0.0, 7e300, 0.0, 0.0]).unwrap();
        assert!((starved.jain - 0.4).abs() < 1e-12 && starved.max_over_min.is_none());
    }

    #[test]
    fn no_usable_rate_gives_none() {
        assert_eq!(fairness(&[]), None);
        assert_eq!(fairness(&[0.0, 0.0]), None);
        assert_eq!(fairness(&[f64::NAN, -1.0]), None);
        assert_eq!(fairness(&[f64::NAN, 2.0]).unwrap().streams, 1);
    }
}
