//! The rule of 1997: three repeated measurements agree within 3%.
//!
//! "All measurements were repeated three times and, unless otherwise noted, all the data obtained were quite
//! repeatable (within 3% margin of error)" (Riedel, van Ingen and Gray, section 2).

use serde::{Deserialize, Serialize};

use super::rng::Xoshiro256;

/// The paper's margin: no repetition is farther than 3% from the mean of the three.
pub const REPEATABLE_WITHIN: f64 = 0.03;

/// Repeatability of a cell by the paper's rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Repeatability {
    /// Largest distance of three random samples from their mean, as a share of it; the median over all triples. With
    /// three samples, it is the paper's figure itself.
    pub deviation: f64,
    /// Share of the triples that keep the rule (deviation up to 3%): the probability that three repetitions pass.
    pub passing: f64,
    /// Number of samples used.
    pub samples: usize,
}

impl Repeatability {
    /// True if the cell keeps the rule: more likely than not, three repetitions are within 3% of their mean.
    pub fn is_repeatable(&self) -> bool {
        self.deviation <= REPEATABLE_WITHIN
    }
}

/// Above this many samples, triples are drawn, not enumerated.
const ENUMERATED_UP_TO: usize = 50;
/// Number of triples drawn: it determines the share of passing triples to half a percent.
const DRAWN: usize = 20_000;

/// Computes the repeatability of one cell's samples; `None` below three finite values or if their mean is 0.
pub fn repeatability(values: &[f64]) -> Option<Repeatability> {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let n = values.len();
    if n < 3 || values.iter().sum::<f64>() == 0.0 {
        return None;
    }
    let mut deviations = Vec::new();
    if n <= ENUMERATED_UP_TO {
        for (i, &a) in values.iter().enumerate() {
            for (j, &b) in values.iter().enumerate().skip(i + 1) {
                deviations.extend(values[j + 1..].iter().map(|&c| deviation([a, b, c])));
            }
        }
    } else {
        let mut rng = Xoshiro256::seeded(1997);
        let mut places: Vec<usize> = (0..n).collect();
        for _ in 0..DRAWN {
            for i in 0..3 {
                let other = i + rng.below(n - i);
                places.swap(i, other);
            }
            deviations.push(deviation([values[places[0]], values[places[1]], values[places[2]]]));
        }
    }
    deviations.sort_by(f64::total_cmp);
    let passing = deviations.partition_point(|d| *d <= REPEATABLE_WITHIN);
    Some(Repeatability {
        deviation: deviations[(deviations.len() - 1) / 2],
        passing: passing as f64 / deviations.len() as f64,
        samples: n,
    })
}

/// Returns the largest distance of three values from their mean, as a share of it; infinite if the mean is 0.
fn deviation(three: [f64; 3]) -> f64 {
    let mean = three.iter().sum::<f64>() / 3.0;
    let farthest = three.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max);
    if farthest == 0.0 { 0.0 } else { (farthest / mean).abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_samples_give_the_papers_rule() {
        // Mean 100; 103 is 3% off, on the margin's edge.
        let edge = repeatability(&[100.0, 97.5, 102.5]).unwrap();
        assert!((edge.deviation - 0.025).abs() < 1e-12 && edge.passing == 1.0 && edge.is_repeatable());
        let beyond = repeatability(&[100.0, 96.5, 103.5]).unwrap();
        assert!((beyond.deviation - 0.035).abs() < 1e-12 && beyond.passing == 0.0 && !beyond.is_repeatable());
    }

    #[test]
    fn triples_match_hand_computation() {
        // Of 100 100 100 109: the three equal ones pass, a triple with 109 deviates by 6/103.
        let found = repeatability(&[100.0, 109.0, f64::NAN, 100.0, 100.0]).unwrap();
        assert!((found.passing - 0.25).abs() < 1e-12 && (found.deviation - 6.0 / 103.0).abs() < 1e-12);
        assert_eq!((found.samples, found.is_repeatable()), (4, false));
    }

    #[test]
    fn drawn_and_enumerated_agree() {
        let mut rng = Xoshiro256::seeded(2);
        let few: Vec<f64> = (0..50).map(|_| 100.0 + 8.0 * (rng.unit() - 0.5)).collect();
        // Each value twice: the triples are nearly the same.
        let many: Vec<f64> = few.iter().chain(&few).copied().collect();
        let (few, many) = (repeatability(&few).unwrap(), repeatability(&many).unwrap());
        assert!((few.deviation - many.deviation).abs() < 0.001, "{few:?} {many:?}");
        assert!((few.passing - many.passing).abs() < 0.03, "{few:?} {many:?}");
    }

    #[test]
    fn too_few_samples_give_none() {
        assert_eq!(repeatability(&[1.0, 1.0]), None);
        assert_eq!(repeatability(&[0.0, 0.0, 0.0]), None);
        assert!(repeatability(&[5.0; 3]).unwrap().is_repeatable());
    }
}
