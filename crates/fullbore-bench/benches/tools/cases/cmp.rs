//! Comparing: `fullbore cmp` beside GNU `cmp`.

use super::cold;
use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::{OutputCheck, Race};
use crate::{Attempt, Bench, states};

/// Limit for a difference in the first MB, in milliseconds: below the threshold of perception.
const AT_ONCE: f64 = 20.0;

pub(super) const CASES: &[Case] = &[
    ("cmp-equal", "two equal cached files", |bench| equal(bench, false)),
    ("cmp-early", "a difference in the first MB", early),
];

/// Compares two equal files, from the page cache or from the device.
pub(super) fn equal(bench: &mut Bench, cold: bool) -> Attempt<()> {
    let (text, twin) = (bench.place.of(Data::Text), bench.place.of(Data::Twin));
    let words = [&*text.to_string_lossy(), "twin"];
    let state = if cold { states::cold } else { states::warm };
    let (what, bound) = match cold {
        true => ("cold: cmp of equal files ÷ GNU cmp", cold::BOUND),
        false => ("cmp of equal files ÷ GNU cmp", Bound::AtMost(0.25)),
    };
    let (ours, peer) = (bench.ours("cmp", &words), bench.peer("cmp", &words));
    Race::new(&[Data::Twin], 2 * bench.place.size)
        .pair(what, ("fullbore cmp", ours), ("cmp", peer), || state(&text).and_then(|()| state(&twin)), bound)
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
