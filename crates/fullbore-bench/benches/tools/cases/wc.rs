//! Counting: `fullbore wc` beside GNU `wc`, and beside `cat`, which only moves the bytes.

use crate::data::Data;
use crate::finding::Bound;
use crate::harness::commands::Case;
use crate::race::{OutputCheck, Race};
use crate::{Attempt, Bench, LOCALE, states};

pub(super) const CASES: &[Case] = &[
    ("wc-default", "lines, words and bytes of a cached text", |bench| default(bench, LOCALE)),
    ("wc-c", "the same in the C locale", |bench| default(bench, "C")),
    ("wc-utf8", "a UTF-8 text of which a fifth of the characters is not ASCII", wide),
    ("wc-lines", "lines only", lines),
    ("wc-pipe", "a text from a pipe", pipe),
];

fn default(bench: &mut Bench, locale: &'static str) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let word = text.to_string_lossy();
    let mine = bench.ours("wc", &[&word]).map(|line| line.locale(locale));
    let peer = bench.peer("wc", &[&word]).map(|line| line.locale(locale));
    let prepare = || states::warm(&text);
    let what = format!("wc, LC_ALL={locale} ÷ GNU wc");
    let race = Race::new(&[Data::Text], bench.place.size).answers(OutputCheck::Same).pair(
        &what,
        ("fullbore wc", mine),
        ("wc", peer),
        prepare,
        Bound::AtMost(1.0 / 25.0),
    );
    if locale == "C" {
        return race.run(bench);
    }
    // Its output is the text itself and is not compared.
    let cat = bench.peer("cat", &[&word]).map(|line| line.nowhere());
    race.enter("cat >/dev/null", cat, prepare)
        .hold("wc ÷ cat >/dev/null", "fullbore wc", "cat >/dev/null", Bound::AtMost(2.0))
        .run(bench)
}

fn wide(bench: &mut Bench) -> Attempt<()> {
    one_file(bench, Data::Wide, &[], "wc of UTF-8 text, 20% not ASCII ÷ GNU wc", 0.1)
}

fn lines(bench: &mut Bench) -> Attempt<()> {
    one_file(bench, Data::Text, &["-l"], "wc -l ÷ GNU wc -l", 0.75)
}

fn one_file(bench: &mut Bench, data: Data, flags: &[&str], what: &str, bound: f64) -> Attempt<()> {
    let text = bench.place.of(data);
    let word = text.to_string_lossy();
    let words = [flags, &[&*word]].concat();
    let (ours, peer) = (bench.ours("wc", &words), bench.peer("wc", &words));
    Race::new(&[data], bench.place.size)
        .answers(OutputCheck::Same)
        .pair(what, ("fullbore wc", ours), ("wc", peer), || states::warm(&text), Bound::AtMost(bound))
        .run(bench)
}

fn pipe(bench: &mut Bench) -> Attempt<()> {
    let text = bench.place.of(Data::Text);
    let prepare = || states::warm(&text);
    let piped = |line: crate::harness::command::CommandLine| line.piped(&text);
    let (mine, cat) = (bench.ours("wc", &[]), bench.peer("cat", &[]));
    Race::new(&[Data::Text], bench.place.size)
        .enter("cat | fullbore wc", mine.map(piped), prepare)
        .enter("cat | cat >/dev/null", cat.map(|line| piped(line).nowhere()), prepare)
        .hold("wc of a pipe ÷ cat | cat", "cat | fullbore wc", "cat | cat >/dev/null", Bound::AtMost(1.3))
        .run(bench)
}
