//! The order of the contenders in a round: random, so that drift affects all alike.

use fullbore_bench::stats::Xoshiro256;

/// The numbers below `count` in random order (Fisher and Yates).
pub(crate) fn shuffled(count: usize, random: &mut Xoshiro256) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}
