//! A hash folded over parts. The fuzz target `sum` has this file, too.

use super::{Fold, Hash};

/// Folds `bytes` cut at `cuts`, each part in two blocks, the parts merged in the order that `order` chooses.
pub(super) fn folded(hash: &Hash, bytes: &[u8], unit: usize, cuts: &[usize], order: &[usize]) -> Vec<u8> {
    let units = bytes.len() / unit;
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (units + 1) * unit).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut states: Vec<_> = places
        .windows(2)
        .map(|pair| {
            let mut state = hash.identity();
            let half = pair[0].midpoint(pair[1]).next_multiple_of(unit).min(pair[1]);
            hash.block(&mut state, pair[0] as u64, &bytes[pair[0]..half]);
            hash.block(&mut state, half as u64, &bytes[half..pair[1]]);
            state
        })
        .collect();
    let mut order = order.iter().cycle();
    while states.len() > 1 {
        let at = order.next().unwrap() % (states.len() - 1);
        let right = states.remove(at + 1);
        hash.merge(&mut states[at], right);
    }
    states.pop().unwrap().finish()
}
