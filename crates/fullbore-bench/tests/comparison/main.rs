//! Comparisons find existing differences and no others, at any number of cells.

mod forms;
#[path = "../markup/mod.rs"]
mod markup;
mod pair;
mod repeat;
#[path = "../synthetic/mod.rs"]
mod synthetic;

use fullbore_bench::comparison::{
    Aspect, CellChange, ComparedRun, Condition, Error, Glob, Judgement, Matched, Options, RunComparison,
    Source, compare,
};
use fullbore_bench::document::{Document, Labels, Proof, Regime, Sample, SummaryOptions};
use fullbore_bench::stats::{Bootstrap, Xoshiro256};
use fullbore_testkit::cases;
use pair::{Law, Spread, document, labels};

fn outcome(baseline: &Document, this: &Document, options: &Options) -> Result<RunComparison, Error> {
    let sources = [("a.json", baseline), ("b.json", this)].map(|(name, document)| Source { name, document });
    compare(sources[0], &sources[1..], options)
}

fn compared(baseline: &Document, this: &Document, options: &Options) -> RunComparison {
    outcome(baseline, this, options).unwrap()
}

fn against(baseline: &Document, this: &Document) -> ComparedRun {
    compared(baseline, this, &Options::default()).others.remove(0)
}

fn refused(baseline: &Document, this: &Document) -> Error {
    outcome(baseline, this, &Options::default()).unwrap_err()
}

fn failing(condition: &str) -> Options {
    Options { conditions: vec![condition.parse::<Condition>().unwrap()], ..Options::default() }
}

fn of<'a>(against: &'a ComparedRun, id: &str) -> &'a CellChange {
    against.cells.iter().find(|cell| cell.id == id).unwrap()
}

#[test]
fn known_differences_are_found() {
    let law = Law { p99: 1e-3, ..Law::default() };
    let before = document(&vec![law.clone(); 5], 1);
    let now = document(
        &[
            Law { rate: 0.8e9, ..law.clone() },
            Law { rate: 1.5e9, cost: 0.5e-3, ..law.clone() },
            law.clone(),
            Law { cost: 1.3e-3, p99: 2e-3, ..law.clone() },
            Law { spread: Spread::LogNormal(0.8), ..law },
        ],
        2,
    );
    let found = against(&before, &now);
    let counts = found.verdict_counts;
    let words: Vec<&str> = (0..5).map(|n| of(&found, &format!("read/{n}")).rate.verdict).collect();
    let same = "no-difference-that-matters";
    assert_eq!(words, ["slower", "faster", same, same, "unclear"]);
    for (id, truth) in [("read/0", 0.8), ("read/1", 1.5), ("read/2", 1.0)] {
        assert!(of(&found, id).rate.ratio.contains(truth), "{id}");
    }
    let beside = |id: &str| {
        let cell = of(&found, id);
        (cell.cost.as_ref().unwrap().verdict, cell.latency.as_ref().unwrap().verdict)
    };
    assert_eq!(beside("read/1"), ("cpu-lower", same));
    assert_eq!(beside("read/3"), ("cpu-higher", "longer"));
    let order: Vec<Judgement> = found.cells.iter().map(|cell| cell.rate.judgement).collect();
    assert!(order.is_sorted(), "the worst first: {order:?}");
    assert_eq!((counts.slower, counts.faster, counts.same, counts.unclear, counts.standing), (1, 1, 2, 1, 2));
}

#[test]
fn a_document_equals_itself() {
    for spread in [Spread::Normal(0.001), Spread::LogNormal(0.5), Spread::Bimodal(0.3)] {
        let one = document(&vec![Law { spread, p99: 1e-3, ..Law::default() }; 20], 3);
        let conditions = ["slower", "faster", "cpu-higher", "cpu-lower", "longer", "shorter", "missing"];
        let options = Options {
            conditions: conditions.map(|text| text.parse().unwrap()).to_vec(),
            ..Options::default()
        };
        let comparison = compared(&one, &one, &options);
        assert!(!comparison.fails());
        let found = &comparison.others[0];
        for change in found.cells.iter().flat_map(CellChange::changes) {
            assert_eq!(change.ratio.value, 1.0);
            assert!(matches!(change.judgement, Judgement::Same | Judgement::Unclear), "{change:?}");
            assert_eq!((change.p, change.paired), (Some(1.0), false));
        }
        assert!(found.notes.iter().any(|note| note.contains("copies")), "{:?}", found.notes);
    }
}

/// Options that keep thousands of comparisons fast in a debug build.
fn quick(options: Options) -> Options {
    Options { bootstrap: Bootstrap { resamples: 500, ..Bootstrap::default() }, ..options }
}

/// Distributions of the samples of a real run.
const SPREADS: [Spread; 6] = [
    Spread::Normal(0.02),
    Spread::Normal(0.1),
    Spread::LogNormal(0.15),
    Spread::LogNormal(0.5),
    Spread::Bimodal(0.6),
    Spread::Stumbling(0.05),
];

#[test]
fn unchanged_cells_differ_in_at_most_five_percent() {
    let every = SPREADS.into_iter().flat_map(|spread| [6, 8, 15].map(|samples| (spread, samples)));
    for (spread, samples) in cases("unchanged cells", 4, every) {
        let law = Law { spread, samples, cost: 0.0, ..Law::default() };
        let (mut different, mut cells) = (0, 0);
        for seed in 0..25 {
            let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| document(&vec![law.clone(); 40], 1000 + seed));
            let tally = compared(&a, &b, &quick(Options::default())).others[0].verdict_counts;
            different += tally.slower + tally.faster;
            cells += tally.compared;
            assert!((tally.by_chance - 2.0).abs() < 1e-9);
        }
        assert_eq!(cells, 1000);
        assert!(different <= 50, "{spread:?}, {samples} samples: {different} of 1000");
    }
}

#[test]
fn conditions_on_many_cells_raise_few_false_alarms() {
    for spread in cases("false alarms", 3, SPREADS) {
        let law = Law { spread, cost: 0.0, ..Law::default() };
        let options = quick(failing("slower:1%"));
        let mut alarms = 0;
        for seed in 0..100 {
            let [a, b] = [2 * seed, 2 * seed + 1].map(|seed| document(&vec![law.clone(); 40], 9000 + seed));
            alarms += usize::from(compared(&a, &b, &options).fails());
        }
        // 2.5 are expected at most; 7 or more of 100 then occur in one case of seventy.
        assert!(alarms <= 6, "{spread:?}: {alarms} of 100 runs of 40 unchanged cells");
    }
}

#[test]
fn a_condition_detects_a_slower_cell() {
    let laws = vec![Law { spread: Spread::Normal(0.03), ..Law::default() }; 60];
    let before = document(&laws, 1);
    let mut slower = laws;
    slower[17].rate *= 0.8;
    let now = document(&slower, 2);
    for (condition, fails) in [
        ("slower", true),
        ("slower:5%", true),
        ("slower:40%", false),
        ("faster:5%", false),
        ("cpu-higher:5%", false),
        ("longer", false),
        ("missing", false),
    ] {
        let comparison = compared(&before, &now, &failing(condition));
        assert_eq!(comparison.fails(), fails, "{condition}");
        if fails {
            let met = &comparison.conditions[0];
            assert_eq!(met.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>(), ["read/17"]);
            assert_eq!((met.tested, met.alone), (60, 0));
        }
    }
    // In the other direction it became faster.
    assert!(compared(&now, &before, &failing("faster:5%")).fails());
    assert!(!compared(&now, &before, &failing("slower:5%")).fails());
}

#[test]
fn one_noisy_cell_of_many_is_listed_but_does_not_fail() {
    // A cell whose interval lies beyond 1% by chance, as one of forty does, among 59 others.
    let laws = vec![Law { spread: Spread::LogNormal(0.3), ..Law::default() }; 60];
    let found = (0..20).find_map(|seed| {
        let comparison =
            compared(&document(&laws, 50 + 2 * seed), &document(&laws, 51 + 2 * seed), &failing("slower:1%"));
        (comparison.conditions[0].alone > 0).then_some(comparison)
    });
    let comparison = found.unwrap();
    assert!(!comparison.fails());
    let alone = format!("; {} more ", comparison.conditions[0].alone);
    assert!(comparison.conditions[0].to_string().contains(&alone), "{}", comparison.conditions[0]);
    assert!(
        comparison.others[0].verdict_counts.slower > 0 && comparison.others[0].verdict_counts.standing == 0
    );
}

#[test]
fn unclear_and_missing_are_conditions_too() {
    let laws = vec![Law::default(); 3];
    let before = document(&laws, 1);
    let mut now = document(&laws, 2);
    assert!(!compared(&before, &now, &failing("unclear")).fails());
    for sample in &mut now.cells[1].samples {
        sample.proof = Proof::Contradicted { reason: "half of it was cached".into() };
    }
    now.cells[2].samples.truncate(2);
    let comparison = compared(&before, &now, &failing("missing"));
    assert_eq!(comparison.conditions[0].cells[0].id, "read/1");
    let found = &comparison.others[0];
    assert!(found.missing[0].reason.contains("contradict"), "{:?}", found.missing);
    let comparison = compared(&before, &now, &failing("unclear"));
    assert_eq!(comparison.conditions[0].cells[0].id, "read/2");
    assert_eq!(of(&comparison.others[0], "read/2").rate.p, None, "two samples are too few");
    // A new cell is not missing.
    assert!(!compared(&now, &before, &failing("missing")).fails());
    assert_eq!(compared(&now, &before, &failing("missing")).others[0].added[0].id, "read/1");
}

#[test]
fn burst_and_sustained_figures_are_not_compared() {
    let laws = vec![Law::default(); 3];
    let of_regimes = |regimes: [Regime; 3], seed| {
        let mut document = document(&laws, seed);
        for (cell, regime) in document.cells.iter_mut().zip(regimes) {
            cell.samples.iter_mut().for_each(|sample| sample.regime = Some(regime));
            cell.summarise(&SummaryOptions::default());
        }
        document
    };
    let before = of_regimes([Regime::Sustained, Regime::Sustained, Regime::Burst], 1);
    let now = of_regimes([Regime::Sustained, Regime::Burst, Regime::Unknown], 2);
    let found = against(&before, &now);
    let [missing] = &found.missing[..] else { panic!("{:?}", found.missing) };
    assert_eq!((missing.id.as_str(), found.cells.len()), ("read/1", 2));
    assert!(missing.reason.contains("sustained") && missing.reason.contains("burst"), "{}", missing.reason);
}

#[test]
fn cells_with_new_ids_are_matched_by_labels() {
    let before = document(&vec![Law::default(); 4], 1);
    let mut now = document(&vec![Law::default(); 4], 2);
    now.cells[1].id = "read/renamed".into();
    now.cells[1].labels.strategy =
        Some("stripe=8192K, model=serial,method=buffered,request=8K,workers=1".into());
    now.cells[1].labels.depth = None;
    now.cells[2].id = "read/other".into();
    now.cells[2].labels.workers = Some(2);
    let found = against(&before, &now);
    let renamed = of(&found, "read/renamed");
    assert_eq!((renamed.matched, renamed.baseline_id.as_str()), (Matched::ByLabels, "read/1"));
    assert_eq!(found.missing.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>(), ["read/2"]);
    assert_eq!(found.added.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>(), ["read/other"]);
    assert_eq!(of(&found, "read/3").matched, Matched::ById);
    // Any label distinguishes cells, except the job.
    for (job, variant, found) in [("read", None, 3), ("", Some("scalar".to_owned()), 2)] {
        let mut other = now.clone();
        other.cells[3].id = "read/else".into();
        other.cells[3].labels.job = job.into();
        other.cells[3].labels.variant = variant;
        assert_eq!(against(&before, &other).cells.len(), found);
    }
    // Two cells with the same labels are ambiguous.
    let mut twice = now.cells[1].clone();
    twice.id = "read/again".into();
    now.cells.push(twice);
    let found = against(&before, &now);
    assert_eq!((found.missing.len(), found.added.len(), found.cells.len()), (2, 3, 2));
}

#[test]
fn changed_labels_are_reported() {
    let before = document(&[Law::default()], 1);
    let mut now = document(&[Law::default()], 2);
    now.cells[0].labels = Labels { workers: Some(4), request_bytes: Some(65536), ..labels(4096) };
    now.cells[0].samples.iter_mut().for_each(|sample| {
        sample.bytes /= 4;
        sample.seconds /= 4.0;
    });
    let found = against(&before, &now);
    let notes = found.cells[0].notes.join("; ");
    for part in ["workers: 1 → 4", "request: 4 KiB → 64 KiB", "samples: 64 MiB → 16 MiB"] {
        assert!(notes.contains(part), "{notes}");
    }
}

type Change = (Aspect, &'static str, fn(&mut Document));

#[test]
fn different_environments_are_refused_unless_named() {
    let changes: [Change; 18] = [
        (Aspect::Machine, "processor", |d| d.environment.cpu_model = "Another".into()),
        (Aspect::Machine, "processors", |d| d.environment.logical_cpus = 4),
        (Aspect::Machine, "memory", |d| {
            d.environment.facts["machine"]["memory_total"] = (15u64 << 30).into()
        }),
        (Aspect::Machine, "governor", |d| d.environment.facts["machine"]["governor"] = "powersave".into()),
        (Aspect::Limits, "CPU quota", |d| d.environment.cpu_quota = Some(1.0)),
        (Aspect::Limits, "memory limit", |d| {
            d.environment.facts["machine"]["memory_limit"] = (1u64 << 30).into();
        }),
        (Aspect::Limits, "may run on", |d| d.environment.facts["machine"]["allowed_processors"] = 1.into()),
        (Aspect::Kernel, "kernel", |d| d.environment.kernel = "Linux 6.19".into()),
        (Aspect::FileSystem, "file system", |d| d.environment.file_system.kind = "xfs".into()),
        (Aspect::FileSystem, "relatime", |d| {
            d.environment.file_system.options = "rw,discard,noatime".into();
        }),
        (Aspect::FileSystem, "direct I/O", |d| d.environment.facts["path"]["direct"]["works"] = false.into()),
        (Aspect::Device, "scheduler", |d| {
            d.environment.devices[0].queue.insert("scheduler".into(), "bfq".into());
            d.environment.facts["path"]["devices"][0]["queue"]["scheduler"] = "bfq".into();
        }),
        (Aspect::Device, "transport", |d| {
            d.environment.facts["path"]["devices"][0]["transport"] = "usb".into();
        }),
        (Aspect::Device, "devices", |d| {
            let second = d.environment.devices[0].clone();
            d.environment.devices.push(second);
        }),
        (Aspect::Device, "together", |d| d.run.directories = vec!["/a".into(), "/b".into()]),
        (Aspect::Version, "version", |d| d.run.fullbore_version = "0.2.0".into()),
        (Aspect::FileSize, "test file", |d| d.run.file_bytes = 2 << 30),
        (Aspect::FileSize, "test file", |d| d.run.file_bytes += 1),
    ];
    let before = document(&[Law::default()], 1);
    for (aspect, words, change) in changes {
        let mut now = document(&[Law::default()], 2);
        change(&mut now);
        let error = refused(&before, &now);
        let text = error.to_string();
        let Error::Differ { documents } = error else { panic!("{text}") };
        assert!(documents[0].1.iter().all(|difference| difference.aspect == aspect), "{text}");
        assert!(text.contains(words) && text.contains(&format!("--across {aspect} ")), "{text}");
        let across = Options { across: vec![aspect], ..Options::default() };
        let found = compared(&before, &now, &across).others.remove(0);
        assert_eq!(found.differences, documents[0].1);
        let rest = Aspect::ALL.into_iter().filter(|other| *other != aspect).collect();
        let others = Options { across: rest, ..Options::default() };
        assert!(outcome(&before, &now, &others).is_err(), "{aspect}");
    }
}

#[test]
fn harmless_changes_are_no_difference() {
    let before = document(&[Law::default()], 1);
    let mut now = document(&[Law::default()], 2);
    now.run.started = "2027-01-01T00:00:00Z".into();
    now.run.duration_s = 9.0;
    now.run.directory = "/elsewhere".into();
    let environment = &mut now.environment;
    environment.file_system.mount_point = "/mnt".into();
    environment.file_system.options = "discard,rw,relatime,relatime,subvolid=5".into();
    environment.facts["machine"]["memory_total"] = ((24u64 << 30) - (100 << 20)).into();
    environment.facts["machine"]["memory_available"] = 1.into();
    environment.facts["path"]["file_system"]["available"] = 7.into();
    environment.facts["path"]["devices"][0]["serial"] = "S123".into();
    environment.facts["path"]["devices"][0]["partition"]["start"] = 2_097_152.into();
    environment.engines[0].available = false;
    let found = against(&before, &now);
    assert_eq!(found.differences, []);
    assert!(found.notes.iter().any(|note| note.contains("engine buffered")), "{:?}", found.notes);

    // The same file system, whose device has another name since the last boot.
    let environment = &mut now.environment;
    environment.file_system.source = "/dev/vdb1".into();
    environment.devices[0].name = "vdb".into();
    environment.facts["path"]["devices"][0]["name"] = "vdb".into();
    assert_eq!(against(&before, &now).differences, []);
    now.environment.facts["path"]["file_system"]["id"] = "bb".into();
    assert!(matches!(refused(&before, &now), Error::Differ { .. }), "another file system on another device");

    // A fact that one document did not record is a note, not a difference.
    let mut bare = document(&[Law::default()], 2);
    bare.environment.facts = serde_json::Value::Null;
    bare.environment.kernel.clear();
    let found = against(&before, &bare);
    assert!(found.notes.iter().any(|note| note.contains("kernel is recorded in one")), "{:?}", found.notes);
}

#[test]
fn samples_are_paired_only_if_one_process_interleaved_them() {
    // A storage that varies by a factor of three, with two variants in alternation; the second is 10% slower.
    let mut rng = Xoshiro256::seeded(5);
    let wander: Vec<f64> = (0..12).map(|_| 3f64.powf(rng.unit())).collect();
    let variant = |offset: f64, share: f64| {
        let mut made = document(&[Law { samples: 12, spread: Spread::Normal(0.004), ..Law::default() }], 7);
        for (sample, wander) in made.cells[0].samples.iter_mut().zip(&wander) {
            sample.seconds /= wander * share;
            sample.start_s += offset;
        }
        made
    };
    let (a, b) = (variant(0.0, 1.0), variant(5.0, 0.9));
    let found = against(&a, &b);
    assert!(
        found.cells[0].rate.paired && found.cells[0].rate.ratio.contains(0.9),
        "{:?}",
        found.cells[0].rate
    );
    assert_eq!(found.verdict_counts.slower, 1);
    assert!(found.notes.iter().any(|note| note.contains("paired")), "{:?}", found.notes);
    let unpaired = |b: &Document| {
        let found = against(&a, b);
        assert!(!found.cells[0].rate.paired);
        assert_eq!(found.verdict_counts.unclear, 1);
    };
    // Another run; two started together, whose samples overlap; one after the other.
    let mut other = b.clone();
    other.run.started = "2026-11-09T10:00:00Z".into();
    unpaired(&other);
    unpaired(&variant(0.01, 0.9));
    unpaired(&variant(500.0, 0.9));
    // A round with two samples is not paired.
    let mut twice = b.clone();
    twice.cells[0].samples[3].round = 2;
    unpaired(&twice);
}

#[test]
fn incomparable_documents_give_the_reason() {
    let good = document(&[Law::default()], 1);
    let mut empty = good.clone();
    empty.cells.clear();
    assert!(matches!(refused(&good, &empty), Error::NoCells { name } if name == "b.json"));
    assert!(matches!(refused(&empty, &good), Error::NoCells { name } if name == "a.json"));
    let mut twice = good.clone();
    twice.cells.push(twice.cells[0].clone());
    assert!(matches!(refused(&good, &twice), Error::Twice { id, .. } if id == "read/0"));
    let mut strange = good.clone();
    strange.cells[0].id = "write/\u{1b}[31m".into();
    strange.cells[0].labels.operation = "write".into();
    let text = refused(&good, &strange).to_string();
    assert!(
        text.contains("no measured cell") && text.contains("read/0") && !text.contains('\u{1b}'),
        "{text}"
    );
    let mut unmeasured = good.clone();
    unmeasured.cells[0].samples.clear();
    assert!(matches!(refused(&good, &unmeasured), Error::NothingInCommon { .. }));
    let only = Options { only: vec![Glob::new("nothing*")], ..Options::default() };
    let text = outcome(&good, &good, &only).unwrap_err().to_string();
    assert!(text.contains("nothing*") && text.contains("read/0"), "{text}");
}

#[test]
fn only_matching_cells_are_compared() {
    let (a, b) = (document(&vec![Law::default(); 12], 1), document(&vec![Law::default(); 12], 2));
    let options = Options { only: vec![Glob::new("read/1?"), Glob::new("*/3")], ..Options::default() };
    let found = compared(&a, &b, &options).others.remove(0);
    let mut ids: Vec<&str> = found.cells.iter().map(|cell| cell.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["read/10", "read/11", "read/3"]);
    assert!(found.missing.is_empty() && found.added.is_empty());
}

#[test]
fn random_reads_cost_per_request_and_zero_cost_is_omitted() {
    let (mut a, mut b) = (document(&vec![Law::default(); 2], 1), document(&vec![Law::default(); 2], 2));
    for document in [&mut a, &mut b] {
        document.cells[0].labels.order = Some("random".into());
        let nothing = |sample: &mut Sample| (sample.user_s, sample.system_s) = (0.0, 0.0);
        document.cells[1].samples.iter_mut().for_each(nothing);
    }
    let found = against(&a, &b);
    let cost = of(&found, "read/0").cost.as_ref().unwrap();
    assert_eq!(cost.measure, fullbore_bench::comparison::Measure::CostPerRequest);
    // 1 ms per MB over 64 MiB in 1024 requests.
    assert!((cost.baseline / 65.536e-6 - 1.0).abs() < 0.02, "{}", cost.baseline);
    assert_eq!(of(&found, "read/1").cost, None);
}
