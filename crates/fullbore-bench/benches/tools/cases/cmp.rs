//! Comparing: `fullbore cmp` beside GNU `cmp`.

use super::Row;
use crate::data::Data;
use crate::finding::Bound;
use crate::race::{OutputCheck, Race};
use crate::{Attempt, Bench, states};

/// Limit for a difference in the first MB, in milliseconds: below the threshold of perception.
const AT_ONCE: f64 = 20.0;

pub(super) const CASES: &[Row] =
    &[("cmp-equal", "two equal cached files", equal), ("cmp-early", "a difference in the first MB", early)];

fn equal(bench: &mut Bench) -> Attempt<()> {
    let (text, twin) = (bench.place.of(Data::Text), bench.place.of(Data::Twin));
    let words = [&*text.to_string_lossy(), "twin"];
    let prepare = || states::warm(&text).and_then(|()| states::warm(&twin));
    Race::new(&[Data::Twin], 2 * bench.place.size)
        .enter("fullbore cmp", bench.ours("cmp", &words), prepare)
        .enter("cmp", bench.peer("cmp", &words), prepare)
        .hold("cmp of equal files ÷ GNU cmp", "fullbore cmp", "cmp", Bound::AtMost(0.25))
        .run(bench)
}

fn early(bench: &mut Bench) -> Attempt<()> {
    let (text, other) = (bench.place.of(Data::Text), bench.place.of(Data::Other));
    let words = [&*text.to_string_lossy(), "other"];
    let prepare = || states::warm(&text).and_then(|()| states::warm(&other));
    Race::new(&[Data::Other], 2 * bench.place.size.min(1_000_000))
        .answers(OutputCheck::Same)
        .enter("fullbore cmp", bench.ours("cmp", &words).map(|line| line.code(1)), prepare)
        .enter("cmp", bench.peer("cmp", &words).map(|line| line.code(1)), prepare)
        .within("cmp, a difference in the first MB", "fullbore cmp", Bound::AtMost(AT_ONCE))
        .hold("cmp, a difference in the first MB ÷ GNU cmp", "fullbore cmp", "cmp", Bound::None)
        .run(bench)
}
