//! Rounds: contenders run one after another in random order, repeatedly, so that drift affects all alike.

use fullbore_bench::stats::{Xoshiro256, median};

use super::Attempt;

/// The results of one contender, one per round.
#[derive(Debug, Clone)]
pub(crate) struct Series<T> {
    /// The contender's name.
    pub(crate) label: String,
    /// Its results in the order of the rounds.
    pub(crate) runs: Vec<T>,
}

impl<T> Series<T> {
    /// The median of a value.
    pub(crate) fn median(&self, of: impl Fn(&T) -> f64) -> f64 {
        median(&self.runs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    }

    /// The median over the rounds of this one's value ÷ the other's.
    pub(crate) fn paired(&self, other: &Self, of: impl Fn(&T) -> f64) -> f64 {
        let ratios: Vec<f64> = self.runs.iter().zip(&other.runs).map(|(a, b)| of(a) / of(b)).collect();
        median(&ratios).unwrap_or(f64::NAN)
    }
}

/// Finds a contender's series.
pub(crate) fn find<'s, T>(series: &'s [Series<T>], label: &str) -> Option<&'s Series<T>> {
    series.iter().find(|one| one.label == label)
}

/// Runs `once` for each contender in each of `rounds` rounds.
pub(crate) fn interleave<C, T>(
    contenders: &mut [(String, C)],
    rounds: usize,
    random: &mut Xoshiro256,
    mut once: impl FnMut(&mut C) -> Attempt<T>,
) -> Attempt<Vec<Series<T>>> {
    let empty = |(label, _): &(String, C)| Series { label: label.clone(), runs: Vec::with_capacity(rounds) };
    let mut series: Vec<Series<T>> = contenders.iter().map(empty).collect();
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &index in &order {
            series[index].runs.push(once(&mut contenders[index].1)?);
        }
    }
    Ok(series)
}
