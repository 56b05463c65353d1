//! A fold over parts. The tests of `pattern::fold` and the fuzz target `sum` have this file, too.

use super::Fold;

/// Folds `bytes` cut at `cuts`, each part in two blocks, the parts merged in the order that `order` chooses.
pub(crate) fn folded<F: Fold>(
    fold: &F,
    bytes: &[u8],
    unit: usize,
    cuts: &[usize],
    order: &[usize],
) -> F::State {
    let units = bytes.len() / unit;
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (units + 1) * unit).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    let mut states: Vec<_> = places
        .windows(2)
        .map(|pair| {
            let mut state = fold.identity();
            let half = pair[0].midpoint(pair[1]).next_multiple_of(unit).min(pair[1]);
            fold.block(&mut state, pair[0] as u64, &bytes[pair[0]..half]);
            fold.block(&mut state, half as u64, &bytes[half..pair[1]]);
            state
        })
        .collect();
    let mut order = order.iter().cycle();
    while states.len() > 1 {
        let at = order.next().unwrap() % (states.len() - 1);
        let right = states.remove(at + 1);
        fold.merge(&mut states[at], right);
    }
    states.pop().unwrap()
}
