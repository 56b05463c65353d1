//! Hashing: `fullbore sum` beside `b3sum` and `sha256sum`.

use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::{Figure, OutputCheck, Race};
use crate::{Attempt, Bench, states, tree};

pub(super) const CASES: &[Case] = &[
    ("sum-blake3", "BLAKE3 of a cached file", |bench| one_file(bench, "blake3", "b3sum", 0.95)),
    ("sum-sha256", "SHA-256 of a cached file", |bench| one_file(bench, "sha256", "sha256sum", 0.40)),
    ("sum-three", "three hashes in one pass", three),
    ("sum-many", "BLAKE3 of many small files", many_files),
];

fn one_file(bench: &mut Bench, hash: &str, peer: &'static str, bound: f64) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let word = text.to_string_lossy();
    let what = format!("sum -a {hash} ÷ {peer}");
    let (ours, theirs) = (bench.ours("sum", &["-a", hash, &word]), bench.peer(peer, &[&word]));
    Race::new(&[Data::Text], bench.place.size)
        .answers(OutputCheck::Same)
        .pair(&what, ("fullbore sum", ours), (peer, theirs), || states::warm(&text), Bound::AtMost(bound))
        .run(bench)
}

fn three(bench: &mut Bench) -> Attempt<()> {
    const ALL: &str = "blake3,sha256,md5";
    // With two hashes that each take as long as the slowest, two processors could not keep the bound: sha512 and md5 were
    // measured at 1.21, using both processors fully.
    const ALONE: [&str; 3] = ["blake3", "sha256", "md5"];
    let text = bench.place.of(Data::Text);
    let word = text.to_string_lossy();
    let prepare = || states::warm(&text);
    let mut race = Race::new(&[Data::Text], bench.place.size).enter(
        ALL,
        bench.ours("sum", &["-a", ALL, &word]),
        prepare,
    );
    for hash in ALONE {
        race = race.enter(hash, bench.ours("sum", &["-a", hash, &word]), prepare);
    }
    let what = "sum of three hashes ÷ the slowest of them alone";
    race.demand(what, Figure::Slowest, ALL, &ALONE, Bound::AtMost(1.1)).run(bench)
}

fn many_files(bench: &mut Bench) -> Attempt<()> {
    let crowd = bench.place.of(Data::Crowd);
    let count = bench.place.some();
    let prepare = || states::warm_tree(&crowd);
    let among =
        |line: crate::harness::command::CommandLine| line.all_words(tree::names(count)).within(&crowd);
    let what = format!("sum of {count} small files ÷ b3sum");
    let ours = bench.ours("sum", &["-a", "blake3"]).map(among);
    let peer = bench.peer("b3sum", &[]).map(among);
    Race::new(&[Data::Crowd], 0)
        .answers(OutputCheck::Same)
        .pair(&what, ("fullbore sum", ours), ("b3sum", peer), prepare, Bound::AtMost(0.5))
        .run(bench)
}
