//! Runs from the device: the page cache is verified to hold nothing of the input before each run.

use super::{cmp, copy, dedupe};
use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::{Figure, Race};
use crate::{Attempt, Bench, states};

/// Bound as a share of the best peer's wall time.
pub(super) const BOUND: Bound = Bound::AtMost(1.05);

pub(super) const CASES: &[Case] = &[
    ("cold-wc", "wc, nothing cached", |bench| {
        let none: &[&str] = &[];
        one_file(bench, "wc", none, &[("wc", "wc", none)])
    }),
    ("cold-grep", "grep, nothing cached", |bench| {
        let literal = bench.text.literal.clone();
        let words: &[&str] = &["-c", &literal];
        let unmapped: &[&str] = &["--no-mmap", "-c", &literal];
        one_file(
            bench,
            "grep",
            words,
            &[("rg", "rg", words), ("rg --no-mmap", "rg", unmapped), ("grep", "grep", words)],
        )
    }),
    ("cold-sum-blake3", "sum -a blake3, nothing cached", |bench| {
        let (none, unmapped): (&[&str], &[&str]) = (&[], &["--no-mmap"]);
        let peers = [("b3sum", "b3sum", none), ("b3sum --no-mmap", "b3sum", unmapped)];
        one_file(bench, "sum", &["-a", "blake3"], &peers)
    }),
    ("cold-sum-sha256", "sum -a sha256, nothing cached", |bench| {
        one_file(bench, "sum", &["-a", "sha256"], &[("sha256sum", "sha256sum", &[])])
    }),
    ("cold-cmp", "cmp, nothing cached", |bench| cmp::equal(bench, true)),
    ("cold-copy", "copy, nothing cached", |bench| copy::plain(bench, true)),
    ("cold-dedupe", "dedupe, nothing cached", |bench| dedupe::equals(bench, true)),
];

/// A peer: its name, its program and its arguments.
type Peer<'p> = (&'static str, &'static str, &'p [&'p str]);

fn one_file(bench: &mut Bench, tool: &'static str, words: &[&str], peers: &[Peer<'_>]) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let word = text.to_string_lossy();
    let prepare = || states::cold(&text);
    let mine = bench.ours(tool, &[words, &[&*word]].concat());
    let mut race = Race::new(&[Data::Text], bench.place.size).enter("ours", mine, prepare);
    for (label, program, words) in peers {
        race = race.enter(label, bench.peer(program, &[*words, &[&*word]].concat()), prepare);
    }
    let labels: Vec<&str> = peers.iter().map(|(label, ..)| *label).collect();
    let all = [&[tool], words].concat().join(" ");
    let what = format!("cold: {all} ÷ its best peer");
    race.demand(&what, Figure::Fastest, "ours", &labels, BOUND).run(bench)
}
