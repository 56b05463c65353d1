//! Two runs of one machine: most cells are the same, next to none is called different, and a slower disk is found.

use crate::pair::{Law, Spread, cell, document, labels};
use fullbore_bench::comparison::{Options, Source, VerdictCounts, compare};
use fullbore_bench::document::{Cell, Document};
use fullbore_bench::stats::{Bootstrap, StopRule, Xoshiro256};

const CELLS: usize = 40;
const PAIRS: u64 = 50;

/// A run of a machine on which every cell's rate is off by up to 4% for the whole run, times `factor`.
fn run(spread: Spread, samples: u32, factor: f64, seed: u64) -> Document {
    let mut rng = Xoshiro256::seeded(seed ^ 0x5eed);
    let mut shifted = || {
        let rate = 1e9 * factor * (1.0 + 0.04 * (2.0 * rng.unit() - 1.0));
        Law { rate, spread, samples, cost: 0.0, ..Law::default() }
    };
    document(&(0..CELLS).map(|_| shifted()).collect::<Vec<_>>(), seed)
}

fn counts(one: &Document, other: &Document) -> VerdictCounts {
    let sources = [one, other].map(|document| Source { name: "run", document });
    let options =
        Options { bootstrap: Bootstrap { resamples: 300, ..Bootstrap::default() }, ..Options::default() };
    compare(sources[0], &sources[1..], &options).unwrap().others[0].verdict_counts
}

/// Shares of cells that are called the same, slower and faster.
fn shares(pairs: impl Fn(u64) -> [Document; 2]) -> [f64; 3] {
    let mut sums = [0; 3];
    for seed in 0..PAIRS {
        let [one, other] = pairs(seed);
        let found = counts(&one, &other);
        for (sum, count) in sums.iter_mut().zip([found.same, found.slower, found.faster]) {
            *sum += count;
        }
    }
    sums.map(|sum| sum as f64 / (PAIRS as f64 * CELLS as f64))
}

fn of_runs(spread: Spread, samples: u32, factor: f64) -> [f64; 3] {
    shares(|seed| [run(spread, samples, 1.0, 2 * seed), run(spread, samples, factor, 2 * seed + 1)])
}

#[test]
fn two_runs_of_one_machine_are_the_same() {
    for (spread, samples, least) in [
        (Spread::Normal(0.08), 7, 0.5),
        (Spread::Normal(0.08), 3, 0.0),
        (Spread::Normal(0.03), 3, 0.5),
        (Spread::Stumbling(0.03), 3, 0.2),
        (Spread::Normal(0.03), 7, 0.9),
        (Spread::Normal(0.08), 15, 0.7),
        (Spread::Stumbling(0.03), 9, 0.5),
    ] {
        let [same, slower, faster] = of_runs(spread, samples, 1.0);
        println!("{spread:?}, {samples}: same {same:.3}, different {:.4}", slower + faster);
        assert!(same >= least, "{spread:?}, {samples} samples: {same}");
        assert!(slower + faster < 0.02, "{spread:?}, {samples} samples: {slower} + {faster}");
    }
}

#[test]
fn a_disk_slower_by_a_fifth_is_found_and_not_the_same() {
    let [same, slower, faster] = of_runs(Spread::Normal(0.08), 7, 0.8);
    println!("slower by a fifth: same {same:.4}, slower {slower:.3}");
    assert!(slower > 0.6 && faster == 0.0, "{slower} {faster}");
    // The disk as a whole: two or more of eight cells of a comparison.
    let disk = |seed: u64| {
        let [mut one, mut other] = [(2 * seed, 1.0), (2 * seed + 1, 0.8)]
            .map(|(seed, factor)| run(Spread::Normal(0.08), 7, factor, seed));
        one.cells.truncate(8);
        other.cells.truncate(8);
        counts(&one, &other).slower >= 2
    };
    assert!((0..PAIRS).filter(|&seed| disk(seed)).count() as f64 >= 0.9 * PAIRS as f64);
    assert!(same < 0.01, "{same}");
    let [same, ..] = of_runs(Spread::Normal(0.08), 7, 0.85);
    println!("slower by 15%: same {same:.4}");
    assert!(same < 0.02, "{same}");
}

/// A cell measured until the stop rule is met, as a run measures it: the number of samples depends on their values.
fn stopped(law: &Law, rule: &StopRule, number: usize, rng: &mut Xoshiro256) -> Cell {
    let bootstrap = Bootstrap { resamples: 200, ..Bootstrap::default() };
    let mut all = cell(&format!("read/{number}"), labels(4096 << number), law, rng);
    let samples = std::mem::take(&mut all.samples);
    for sample in samples {
        all.samples.push(sample);
        if all.samples.len() >= 7 && rule.is_precise(&all.rates(), &bootstrap) {
            break;
        }
    }
    all
}

#[test]
fn verdicts_hold_when_the_samples_decide_when_to_stop() {
    let rule = StopRule { relative_half_width: 0.05, ..StopRule::default() };
    let law = |rng: &mut Xoshiro256| Law {
        rate: 1e9 * (1.0 + 0.04 * (2.0 * rng.unit() - 1.0)),
        spread: Spread::Normal(0.08),
        samples: 25,
        cost: 0.0,
        ..Law::default()
    };
    let one = |seed: u64| {
        let mut rng = Xoshiro256::seeded(seed);
        let mut made = run(Spread::Normal(0.08), 7, 1.0, seed);
        made.cells = (0..CELLS)
            .map(|number| {
                let law = law(&mut rng);
                stopped(&law, &rule, number, &mut rng)
            })
            .collect();
        made
    };
    let early = (0..4).flat_map(|seed| one(seed).cells).filter(|cell| cell.samples.len() < 25).count();
    assert!(early > CELLS, "the rule ends {early} of {} cells", 4 * CELLS);
    let [same, slower, faster] = shares(|seed| [one(2 * seed), one(2 * seed + 1)]);
    println!("stopped by precision: same {same:.3}, different {:.4}", slower + faster);
    assert!(same > 0.5 && slower + faster < 0.02, "{same} {slower} {faster}");
}

#[test]
fn a_verdict_of_same_is_not_given_at_once() {
    let few = [run(Spread::Normal(0.3), 7, 1.0, 1), run(Spread::Normal(0.3), 7, 1.0, 2)];
    let found = counts(&few[0], &few[1]);
    assert!(found.unclear > CELLS / 2, "{found:?}");
}
