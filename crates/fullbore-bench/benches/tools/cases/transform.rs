//! A cached file transformed or read, against `dd` and `cp`.

use super::*;

pub(super) const CASES: &[Case] = &[
    ("cached-overwrite", "transform over an existing file against dd", overwrite),
    ("cached-new", "transform to a new file against cp", new_file),
    ("cached-reading", "reading a cached file against dd at its best", reading),
];

fn overwrite(bench: &mut Bench) -> Attempt<()> {
    let (input, output) = (bench.place.of(Data::Input), bench.place.path("existing"));
    let ours = bench.ours("transform", &["shift:10", "input", "existing", "--overwrite"]);
    let dd = bench.peer("dd", &["bs=256k", "conv=notrunc", "status=none", "if=input", "of=existing"]);
    let prepare = || states::warm(&input).and_then(|()| states::whole(&output, &input));
    let what = "transform shift:10 --overwrite ÷ dd, wall time";
    let outcome = Race::new(&[Data::Input], bench.options.size)
        .enter("auto", ours, prepare)
        .enter("dd bs=256k conv=notrunc", dd, prepare)
        .hold(what, "auto", "dd bs=256k conv=notrunc", Bound::AtMost(0.90))
        .run(bench);
    states::remove(&output);
    outcome
}

fn new_file(bench: &mut Bench) -> Attempt<()> {
    let input = &bench.place.of(Data::Input);
    let outputs = ["new", "new-by-cp"].map(|name| bench.place.path(name));
    let [first, second] = outputs.each_ref();
    let ready = |output| move || states::warm(input).and_then(|()| states::fresh(output, input));
    let ours = bench.ours("transform", &["shift:10", "input", "new"]);
    let cp = bench.peer("cp", &["input", "new-by-cp"]);
    Race::new(&[Data::Input], bench.options.size)
        .shaped("auto", ours, |one| one.prepare(ready(first)).clear(|| states::remove(first)))
        .shaped("cp", cp, |one| one.prepare(ready(second)).clear(|| states::remove(second)))
        .hold("transform shift:10 to a new file ÷ cp, wall time", "auto", "cp", Bound::AtMost(0.60))
        .run(bench)
}

const BLOCKS: &[&str] = &["dd bs=64k", "dd bs=128k", "dd bs=256k", "dd bs=512k", "dd bs=1M", "dd bs=4M"];

/// Strategies of fullbore, and the share of dd's best throughput that they must reach.
const READING: &[(&str, Bound)] =
    &[("workers=1", Bound::AtLeast(0.95)), ("workers=2", Bound::Above(1.0)), ("auto", Bound::Above(1.0))];

fn reading(bench: &mut Bench) -> Attempt<()> {
    let input = bench.place.of(Data::Input);
    let prepare = || states::warm(&input);
    let mut race = Race::new(&[Data::Input], bench.options.size);
    for label in BLOCKS {
        let block = label.trim_start_matches("dd ");
        let dd = bench.peer("dd", &["of=/dev/null", "status=none", block, "if=input"]);
        race = race.enter(label, dd, prepare);
    }
    for (strategy, bound) in READING {
        let ours = bench.ours("transform", &["none", "input", "/dev/null", "--strategy", strategy]);
        let what = format!("reading with {strategy} ÷ dd's best, throughput");
        race =
            race.enter(strategy, ours, prepare).demand(&what, Figure::Throughput, strategy, BLOCKS, *bound);
    }
    race.run(bench)
}
