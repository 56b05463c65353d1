//! Comparison of two cells by the rounds in which both were measured.

use std::collections::BTreeMap;

use crate::document::Cell;
use crate::stats::{Bootstrap, Comparison, DEFAULT_MARGIN, compare_paired, compare_rates};

/// Minimum number of rounds with a sample of both for a paired comparison.
const FEWEST: usize = 6;

/// Compares samples of the same round, so that conditions common to both (other load, heat, a credit) cancel out. With
/// few common rounds, all samples are compared.
pub(super) fn compare_in_rounds(first: &Cell, second: &Cell, bootstrap: &Bootstrap) -> Option<Comparison> {
    let by_round = |cell: &Cell| -> BTreeMap<u32, f64> {
        let usable = cell.samples.iter().filter(|sample| sample.usable());
        usable.map(|sample| (sample.round, sample.rate())).collect()
    };
    let (firsts, seconds) = (by_round(first), by_round(second));
    let pairs: (Vec<f64>, Vec<f64>) =
        firsts.iter().filter_map(|(round, rate)| Some((*rate, *seconds.get(round)?))).unzip();
    let paired = compare_paired(&pairs.0, &pairs.1, DEFAULT_MARGIN, bootstrap);
    let whole = || compare_rates(&first.rates(), &second.rates(), DEFAULT_MARGIN, bootstrap);
    if pairs.0.len() >= FEWEST { paired } else { whole() }
}
