//! Searching: `fullbore grep` beside `rg` with the same words.

use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::{OutputCheck, Race};
use crate::{Attempt, Bench, states};

pub(super) const CASES: &[Case] = &[
    ("grep-literal", "counting the lines with a rare literal", |bench| {
        let literal = bench.text.literal.clone();
        one_file(bench, &["-c", &literal], 0.75)
    }),
    ("grep-regex", "counting the lines with a word that ends in -ing", |bench| {
        one_file(bench, &["-c", r"[a-z]+ing\s"], 0.60)
    }),
    ("grep-many", "numbered lines of many matches, to a file", |bench| {
        let common = bench.text.common.clone();
        one_file(bench, &["-n", &common], 0.70)
    }),
    ("grep-tree", "a source tree", |bench| tree(bench, &[], OutputCheck::SameLines, 1.0)),
    ("grep-sorted", "a source tree in the order of its paths", |bench| {
        tree(bench, &["--sort", "path"], OutputCheck::Same, 0.65)
    }),
];

fn one_file(bench: &mut Bench, words: &[&str; 2], bound: f64) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let word = text.to_string_lossy();
    let all: Vec<&str> = words.iter().copied().chain([&*word]).collect();
    let what = format!("grep {} '{}' ÷ rg", words[0], words[1]);
    let (ours, peer) = (bench.ours("grep", &all), bench.peer("rg", &all));
    Race::new(&[Data::Text], bench.place.size)
        .answers(OutputCheck::Same)
        .pair(&what, ("fullbore grep", ours), ("rg", peer), || states::warm(&text), Bound::AtMost(bound))
        .run(bench)
}

fn tree(bench: &mut Bench, flags: &[&str], answers: OutputCheck, bound: f64) -> Attempt<()> {
    let tree = bench.place.of(Data::Sources);
    let word = tree.to_string_lossy();
    let literal = bench.text.literal.clone();
    let all: Vec<&str> = flags.iter().copied().chain(["-n", &literal, &*word]).collect();
    // A user's own tree may exceed memory, and these cases are not measured cold: the first, unmeasured runs read
    // everything that is searched.
    let own = bench.text.tree.is_some();
    let prepare = || if own { Ok(()) } else { states::warm_tree(&tree) };
    let (ours, peer) = (bench.ours("grep", &all), bench.peer("rg", &all));
    let what = format!("grep {} of a source tree ÷ rg", [flags, &["-n"]].concat().join(" "));
    Race::new(&[Data::Sources], 0)
        .answers(answers)
        .pair(&what, ("fullbore grep", ours), ("rg", peer), prepare, Bound::AtMost(bound))
        .run(bench)
}
