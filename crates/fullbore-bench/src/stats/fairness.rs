//! Fairness of several streams' shares of the throughput.

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
