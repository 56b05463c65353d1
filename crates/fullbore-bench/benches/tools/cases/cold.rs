//! Runs from the device: the page cache is verified to hold nothing of the input before each run.

use super::{Row, copy, dedupe};
use crate::data::Data;
use crate::finding::Bound;
use crate::race::Race;
use crate::{Attempt, Bench, states};

/// Bound as a share of the best peer's wall time.
const BOUND: Bound = Bound::AtMost(1.05);

pub(super) const CASES: &[Row] = &[
    ("cold-wc", "wc, nothing cached", |bench| {
        let none: &[&str] = &[];
        one_file(bench, "wc", none, &[("wc", "wc", none)])
    }),
    ("cold-grep", "grep, nothing cached", |bench| {
        let literal = bench.options.literal.clone();
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
    ("cold-cmp", "cmp, nothing cached", cmp),
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
    race.hold_best(&what, "ours", &labels, BOUND).run(bench)
}

fn cmp(bench: &mut Bench) -> Attempt<()> {
    let (text, twin) = (bench.place.of(Data::Text), bench.place.of(Data::Twin));
    let words = [&*text.to_string_lossy(), "twin"];
    let prepare = || states::cold(&text).and_then(|()| states::cold(&twin));
    Race::new(&[Data::Twin], 2 * bench.place.size)
        .enter("fullbore cmp", bench.ours("cmp", &words), prepare)
        .enter("cmp", bench.peer("cmp", &words), prepare)
        .hold("cold: cmp of equal files ÷ GNU cmp", "fullbore cmp", "cmp", BOUND)
        .run(bench)
}
