//! Documents with known right advice: it is given with the right figures, and nothing else is.

mod cases;
mod jobs;
mod room;
mod rules;
#[path = "../synthetic/mod.rs"]
mod synthetic;

use fullbore_bench::analysis::{choices, findings};
use fullbore_bench::document::CacheState::{Cold, Warm};
use fullbore_bench::document::{
    Advice, Cell, Confidence, Document, Labels, Latency, Proof, RuleVerdict, StopReason, SummaryOptions,
};

use cases::CASES;
use room::{K, M, Room, Spread, read, variant, write};

fn line<'a>(advice: &'a [Advice], begins: &str) -> Option<&'a Advice> {
    advice.iter().find(|a| a.text.starts_with(begins))
}

/// Returns the first advice with all these labels and figures.
fn with<'a>(advice: &'a [Advice], parts: &[&str]) -> Option<&'a Advice> {
    advice.iter().find(|a| parts.iter().all(|part| a.text.contains(part)))
}

#[test]
fn each_advisor_gives_the_right_figures() {
    for case in CASES {
        let mut room = Room::new(Spread::Apart);
        (case.build)(&mut room);
        let all = room.advice();
        let texts = || all.iter().map(|a| a.text.as_str()).collect::<Vec<_>>().join("\n");
        let found = line(&all, case.begins).unwrap_or_else(|| panic!("{}:\n{}", case.name, texts()));
        for part in case.holds {
            assert!(found.text.contains(part), "{}: {part:?} not in\n{}", case.name, found.text);
        }
        assert!((found.worth / case.worth - 1.0).abs() < 0.02, "{}: {found:?}", case.name);
        assert_eq!(found.experiment, "mine");
        assert!(found.text.ends_with('.') && !found.evidence.is_empty(), "{}: {found:?}", case.name);
        assert!(
            !found.cells.is_empty() && found.cells.iter().all(|id| room.cells.iter().any(|c| c.id == *id))
        );
        let rank = |a: &Advice| (a.confidence == Confidence::Low, !a.lead);
        assert!(all.is_sorted_by(|a, b| rank(a) <= rank(b)), "{}", case.name);
        assert!(all.iter().filter(|a| a.lead).count() <= 7, "{}", case.name);
        assert!(all.iter().all(|a| a.worth >= 1.0), "{}", case.name);
    }
}

#[test]
fn advisors_need_their_cells() {
    for case in CASES {
        let mut room = Room::new(Spread::Apart);
        (case.build)(&mut room);
        room.cells.remove(case.missing);
        assert_eq!(line(&room.advice(), case.begins), None, "{}", case.name);
    }
}

#[test]
fn overlapping_intervals_give_no_advice() {
    for case in CASES {
        let mut room = Room::new(Spread::Alike);
        (case.build)(&mut room);
        if case.name == "request size, where only CPU time differs" {
            continue;
        }
        for claimed in room.advice() {
            // The profile has an entry for each job; its line reports no significant difference.
            let honest = claimed.text.starts_with("For “") && !claimed.text.contains("as fast as");
            assert!(honest && claimed.confidence == Confidence::Low, "{}: {claimed:?}", case.name);
            assert!(claimed.worth < 1.05, "{}: {claimed:?}", case.name);
        }
    }
}

#[test]
fn latency_under_load() {
    let room = |slow: [f64; 4], served: f64| {
        let mut room = Room::new(Spread::Apart);
        for (load, p99) in [100, 1000, 5000, 10_000].into_iter().zip(slow) {
            let labels = Labels {
                load_per_s: Some(load),
                order: Some("random".into()),
                depth: None,
                ..read("direct", 4 * K, Cold)
            };
            let cell = room.add(labels, 1.0);
            for (i, sample) in cell.samples.iter_mut().enumerate() {
                let near = 1.0 + 0.002 * i as f64;
                let took = if load == 10_000 { load as f64 * served } else { load as f64 };
                sample.requests = 1000;
                sample.bytes = 4096 * 1000;
                sample.seconds = 1000.0 / took;
                sample.latency = Some(Latency { p50_s: 1e-4, p99_s: p99 * near, ..Latency::default() });
            }
            cell.summarise(&SummaryOptions::default());
        }
        room.advice()
    };
    let found = room([2e-4, 3e-4, 8e-4, 5e-3], 1.0);
    let one = with(&found, &["random reads from the device", "p99"]).unwrap();
    for figure in ["5.00 k/s", "10.0×", "100 µs", "808 µs", "10.0 k/s", "5.05 ms"] {
        assert!(one.text.contains(figure), "{figure}: {one:?}");
    }
    assert!((one.worth - 6.25).abs() < 0.1 && one.confidence == Confidence::High, "{one:?}");
    let unserved = room([2e-4, 3e-4, 8e-4, 9e-4], 0.5);
    let unserved = with(&unserved, &["random reads from the device", "p99"]).unwrap();
    // The limit, and the rate that is served of the load beyond it.
    assert_eq!(unserved.text.matches("5.00 k/s").count(), 2, "{unserved:?}");
    assert!(unserved.text.contains("10.0 k/s"), "{unserved:?}");
    let easy = room([2e-4, 2e-4, 2e-4, 2e-4], 1.0);
    let easy = with(&easy, &["random reads from the device", "p99", "10.0 k/s"]).unwrap();
    assert_eq!(easy.worth, 1.0);
    assert!(room([2e-3, 2e-3, 2e-3, 2e-3], 1.0).is_empty(), "too slow even when idle");
}

#[test]
fn confidence_follows_cell_quality() {
    let with = |options: SummaryOptions, change: fn(&mut Cell)| {
        let mut room = Room::new(Spread::Apart);
        room.add(read("buffered", 4 * K, Warm), 100.0);
        room.add(read("buffered", 64 * K, Warm), 300.0);
        for cell in &mut room.cells {
            change(cell);
            cell.summarise(&options);
        }
        line(&room.advice(), "Use requests of 64 KiB").map(|a| a.confidence)
    };
    let build = |change| with(SummaryOptions::default(), change);
    assert_eq!(build(|_| ()), Some(Confidence::High));
    let late = with(SummaryOptions { stop: StopReason::TimeUp, ..SummaryOptions::default() }, |_| ());
    assert_eq!(late, Some(Confidence::Medium));
    let unproved = build(|cell| cell.samples[0].proof = Proof::Unproved { reason: "nobody says".into() });
    assert_eq!(unproved, Some(Confidence::Medium));
    let cold = build(|cell| {
        cell.labels.cache = Some(Cold);
        cell.samples[0].proof = Proof::Unproved { reason: "nobody says".into() };
    });
    assert_eq!(cold, Some(Confidence::Low));
    let wide = build(|cell| {
        for (i, sample) in cell.samples.iter_mut().enumerate() {
            sample.seconds *= if i % 2 == 0 { 0.4 } else { 1.1 };
        }
    });
    assert_ne!(wide, Some(Confidence::High), "the interval is too wide");
    let few = build(|cell| cell.samples.truncate(3));
    assert_eq!(few, None, "three samples are too few");
    let contradicted = |cell: &mut Cell| {
        for sample in cell.samples.iter_mut().take(7) {
            sample.proof = Proof::Contradicted { reason: "half cached".into() };
        }
    };
    assert_eq!(build(contradicted), None, "counters contradict most samples of these cells");
    let bound = with(SummaryOptions { null_request_s: Some(1.0), ..SummaryOptions::default() }, |_| ());
    assert_eq!(bound, None, "these measure the meter");
}

#[test]
fn duplicate_topics_keep_the_higher_confidence() {
    let mut room = Room::new(Spread::Apart);
    for experiment in ["first", "second"] {
        room.experiment = experiment;
        for (size, rate) in [(4 * K, 100.0), (64 * K, 300.0)] {
            let cell = room.add(read("buffered", size, Warm), rate);
            let stop = if experiment == "first" { StopReason::TimeUp } else { StopReason::Precise };
            cell.summarise(&SummaryOptions { stop, ..SummaryOptions::default() });
        }
    }
    let all = room.advice();
    let described: Vec<&Advice> = all.iter().filter(|a| a.text.starts_with("Use requests")).collect();
    assert_eq!(described.len(), 1);
    assert_eq!((described[0].experiment.as_str(), described[0].confidence), ("second", Confidence::High));
}

#[test]
fn reads_without_a_job_fill_the_profile_and_nothing_else_does() {
    let with = |cells: &[Cell]| -> Vec<(String, String)> {
        choices(cells).into_iter().map(|c| (c.job, c.strategy)).collect()
    };
    let asked = |labels: Labels, text: &str| Labels { strategy: Some(text.into()), ..labels };
    let mut room = Room::new(Spread::Apart);
    room.add(asked(read("buffered", 64 * K, Cold), "method=buffered"), 100.0);
    room.add(asked(Labels { cache: None, ..read("direct", M, Cold) }, "method=direct"), 900.0);
    room.add(asked(Labels { order: Some("random".into()), ..read("direct", M, Cold) }, "random"), 990.0);
    room.add(asked(variant(read("direct", M, Cold), "reread"), "reread"), 990.0);
    room.add(asked(Labels { peer: Some("fio".into()), ..read("direct", M, Cold) }, "fio"), 990.0);
    room.add(asked(write("buffered", M, "overwritten"), "method=buffered"), 990.0);
    assert_eq!(with(&room.cells), [("read, cold".to_owned(), "method=direct".to_owned())]);
    let all = room.advice();
    assert!(line(&all, "For “read, cold” use direct, 1 MiB (`method=direct`): ").is_some());
    // A trial under the job's own name takes precedence.
    room.add(asked(Labels { job: "read".into(), ..read("mmap", M, Cold) }, "method=mmap"), 500.0);
    assert_eq!(with(&room.cells), [("read, cold".to_owned(), "method=mmap".to_owned())]);
}

#[test]
fn strange_documents_do_not_fail() {
    assert_eq!(Room::new(Spread::Apart).advice(), []);
    let mut room = Room::new(Spread::Apart);
    for (i, case) in CASES.iter().enumerate() {
        if i % 2 == 0 {
            (case.build)(&mut room);
        }
    }
    room.experiment = "";
    for labels in [
        Labels::default(),
        Labels { request_bytes: Some(0), depth: Some(0), workers: Some(0), ..Labels::default() },
        Labels { load_per_s: Some(u64::MAX), offset_bytes: Some(i64::MIN), ..Labels::default() },
    ] {
        room.costing(labels, 1.0, 0.0);
    }
    let odd = room.add(read("direct", u64::MAX, Cold), 1.0);
    odd.summary.as_mut().unwrap().rate.value = f64::NAN;
    let found = findings(&room.cells, &[]);
    assert_eq!(found.rules.len(), 10);
    for one in &found.advice {
        assert!(one.worth.is_finite(), "{one:?}");
        assert!(
            !one.text.contains("NaN") && !one.text.contains("inf") && !one.text.contains("unknown"),
            "{one:?}"
        );
    }
    let mut document = synthetic::document();
    (document.findings.advice, document.findings.rules) = (found.advice, found.rules);
    let mut bytes = Vec::new();
    document.write(&mut bytes).unwrap();
    assert!(Document::read(bytes.as_slice()).is_ok());
}

#[test]
fn the_quick_run_alone_is_advised_well() {
    let document = synthetic::document();
    let all = &document.findings.advice;
    // The law of warm buffered reads: 0.9 µs and 11.5 GB/s, so 256 KiB reach 96% and 1 MiB 99% of the limit.
    let request =
        all.iter().find(|a| a.text.contains("sequential reads from the page cache with buffered")).unwrap();
    assert!(
        request.text.starts_with("Use requests of 1 MiB")
            || request.text.starts_with("Use requests of 256 KiB"),
        "{request:?}"
    );
    // 4 KiB take 0.9 µs + 0.36 µs where their bytes alone would take 0.36 µs.
    assert!((request.worth / 3.53 - 1.0).abs() < 0.06, "{request:?}");
    let depth =
        all.iter().find(|a| a.text.starts_with("Keep 32 requests in flight in random reads")).unwrap();
    assert!(depth.worth > 20.0, "{depth:?}");
    assert!(all.iter().any(|a| a.text.contains("cci-mtmm, threads over memory maps")));
    assert!(all.iter().all(|a| document.cells.iter().any(|c| c.id == a.cells[0])));
    assert!(all.len() >= 8, "{}", all.len());
}

#[test]
fn a_real_run_is_advised_from_its_own_cells() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/two-processors.json.gz");
    let document = Document::read(std::fs::File::open(path).unwrap()).unwrap();
    let found = findings(&document.cells, &document.experiments);
    let of = |parts: &[&str]| with(&found.advice, parts).unwrap_or_else(|| panic!("{parts:?}"));
    let cell = |id: &str| document.cell(id).and_then(|c| c.summary.as_ref()).unwrap().rate.value;
    // Checked by hand against the table in bench.txt.
    let parts = ["requests of 256 KiB", "sequential reads from the page cache with buffered", "9.45 GB/s"];
    let request = of(&parts);
    assert!((request.worth - cell(&request.cells[0]) / cell(&request.cells[1])).abs() < 1e-9);
    for figure in ["4 KiB", "1.53×", "4 MiB", "1.21×"] {
        assert!(request.text.contains(figure), "{figure}: {request:?}");
    }
    of(&["32 requests", "random reads from the device", "4 KiB"]);
    of(&["“read, cold”", "direct uring, 1 MiB, depth 8, 2 workers"]);
    let verdict = |n: usize| found.rules[n - 1].verdict;
    assert_eq!([1, 2, 6].map(verdict), [RuleVerdict::StillTrue; 3]);
    assert_eq!([4, 5, 10].map(verdict), [RuleVerdict::NotTestable; 3]);
}
