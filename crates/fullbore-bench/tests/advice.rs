//! Documents made so that the right advice is known: it is given with the right figures, and with no others.

mod synthetic;

use fullbore_bench::advice::{advice, rules};
use fullbore_bench::document::{
    Advice, CacheState, Cell, Confidence, Document, Findings, Labels, Latency, Proof, RuleVerdict, Sample,
    StopReason, SummaryOptions, choices, findings,
};
use fullbore_bench::stats::Bootstrap;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

/// Cells in the making. `Apart` gives each its own rate within 1 %; `Alike` one rate to all, widely spread.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    Apart,
    Alike,
}

struct Room {
    spread: Spread,
    cells: Vec<Cell>,
}

impl Room {
    fn new(spread: Spread) -> Self {
        Self { spread, cells: Vec::new() }
    }

    /// A cell that moves so many MB a second at so many milliseconds of processor time a MB.
    fn add(&mut self, experiment: &str, labels: Labels, mb_per_s: f64, ms_per_mb: f64) -> &mut Cell {
        let (mb_per_s, ms_per_mb, spread) = match self.spread {
            Spread::Apart => (mb_per_s, ms_per_mb, 0.01),
            Spread::Alike => (100.0, 1.0, 0.5),
        };
        let mut cell = Cell::new(format!("cell {}", self.cells.len()), experiment, labels);
        for i in 0..11u32 {
            // The same values for each, in an order of its own.
            let place = f64::from((i * 4 + self.cells.len() as u32) % 11) / 5.0 - 1.0;
            let bytes = 100_000_000;
            let seconds = 100.0 / mb_per_s / (1.0 + spread * place);
            cell.samples.push(Sample {
                round: i,
                bytes,
                seconds,
                requests: bytes / cell.labels.request_bytes.unwrap_or(M).max(1),
                system_s: ms_per_mb * 0.1 * (1.0 + spread * place),
                proof: Proof::Confirmed,
                ..Sample::default()
            });
        }
        cell.summarise(&SummaryOptions::default());
        self.cells.push(cell);
        self.cells.last_mut().unwrap()
    }

    fn advice(&self) -> Vec<Advice> {
        let bootstrap = Bootstrap::default();
        let found = Findings { choices: choices(&self.cells, &bootstrap), ..Findings::default() };
        advice(&self.cells, &found, &bootstrap)
    }
}

fn read(method: &str, request: u64, cache: CacheState) -> Labels {
    Labels {
        operation: "read".into(),
        method: method.into(),
        request_bytes: Some(request),
        depth: Some(1),
        workers: Some(1),
        cache: Some(cache),
        cache_policy: Some(if method == "direct" { "direct" } else { "keep" }.into()),
        order: Some("sequential".into()),
        ..Labels::default()
    }
}

fn write(method: &str, request: u64, state: &str) -> Labels {
    let file_state = Some(state.to_owned());
    Labels { operation: "write".into(), file_state, cache: None, ..read(method, request, CacheState::Warm) }
}

fn deep(request: u64, depth: u32) -> Labels {
    Labels {
        depth: Some(depth),
        cache_policy: Some("direct".into()),
        ..read("uring", request, CacheState::Cold)
    }
}

fn variant(labels: Labels, variant: &str) -> Labels {
    Labels { variant: Some(variant.into()), ..labels }
}

use CacheState::{Cold, Warm};

/// A room in which an advisor has something to say, how the line begins, what else it holds, what it is worth, and the cell
/// without which it has nothing to say.
struct Case {
    name: &'static str,
    build: fn(&mut Room),
    begins: &'static str,
    holds: &'static [&'static str],
    worth: f64,
    missing: usize,
}

const CASES: &[Case] = &[
    Case {
        name: "request size",
        build: |room| {
            for (size, rate, cost) in
                [(4 * K, 250.0, 4.0), (64 * K, 800.0, 1.5), (256 * K, 980.0, 1.0), (M, 1000.0, 1.0)]
            {
                room.add("mine", read("buffered", size, Warm), rate, cost);
            }
        },
        begins: "Request 256 KiB in sequential reads from the page cache with buffered: 980 MB/s, 98% of the peak (at 1 MiB)",
        holds: &["4 KiB takes 3.92× the time and 4.00× the processor time"],
        worth: 3.92,
        missing: 2,
    },
    Case {
        name: "request size, where only the processor notices",
        build: |room| {
            for (size, rate, cost) in [(4 * K, 1000.0, 3.0), (64 * K, 1040.0, 1.0), (256 * K, 1041.0, 1.0)] {
                let cell = room.add("mine", read("buffered", size, Cold), rate, cost);
                // So wide that the rates overlap; the processor's cost stays as it is.
                for (i, sample) in cell.samples.iter_mut().enumerate() {
                    sample.seconds *= 1.0 + 0.3 * f64::from(i as u32 % 3);
                }
                cell.summarise(&SummaryOptions::default());
            }
        },
        begins: "Request 64 KiB in sequential reads from the device with buffered",
        holds: &["4 KiB is not slower as far as can be told, but costs 3.00× the processor time"],
        worth: 3.0,
        missing: 0,
    },
    Case {
        name: "request size, where larger is worse",
        build: |room| {
            for (size, rate) in [(4 * K, 1000.0), (64 * K, 1000.0), (M, 500.0)] {
                room.add("mine", read("buffered", size, Warm), rate, 1.0);
            }
        },
        begins: "Request 4 KiB in sequential reads",
        holds: &["larger ones bring nothing, and 1 MiB takes 2.00× the time"],
        worth: 2.0,
        missing: 2,
    },
    Case {
        name: "depth",
        build: |room| {
            for (depth, rate) in [(1, 300.0), (3, 700.0), (8, 990.0), (32, 1000.0)] {
                room.add("mine", deep(64 * K, depth), rate, 1.0);
            }
        },
        begins: "Keep 8 requests in flight in sequential reads from the device with uring past the page cache, 64 KiB: 990 MB/s, 3.30× one at a time",
        holds: &["half of it takes 3", "up to 32 bring no more"],
        worth: 3.3,
        missing: 2,
    },
    Case {
        name: "workers",
        build: |room| {
            for (workers, rate) in [(1, 500.0), (2, 900.0), (4, 910.0)] {
                let labels = Labels {
                    workers: Some(workers),
                    model: Some(if workers > 1 { "pool" } else { "serial" }.into()),
                    ..read("buffered", 256 * K, Warm)
                };
                room.add("mine", labels, rate, 1.0);
            }
        },
        begins: "Use 2 workers for sequential reads from the page cache with buffered, 256 KiB: 900 MB/s, 1.80× as fast as 1 worker",
        holds: &["; 4 bring no more"],
        worth: 1.8,
        missing: 1,
    },
    Case {
        name: "one worker",
        build: |room| {
            for (workers, rate) in [(1, 500.0), (2, 250.0)] {
                room.add(
                    "mine",
                    Labels { workers: Some(workers), ..write("buffered", 64 * K, "extended") },
                    rate,
                    1.0,
                );
            }
        },
        begins: "Use no more than 1 worker for sequential writes into the page cache to a new file with buffered, 64 KiB: 500 MB/s; 2 take 2.00× the time",
        holds: &[],
        worth: 2.0,
        missing: 1,
    },
    Case {
        name: "method",
        build: |room| {
            room.add("mine", read("buffered", 64 * K, Warm), 400.0, 1.0);
            room.add("mine", read("mmap", 64 * K, Warm), 600.0, 1.0);
            room.add("mine", read("stdio", 64 * K, Warm), 300.0, 1.0);
        },
        begins: "Use mmap, 64 KiB for sequential reads from the page cache: 600 MB/s, 1.50× as fast as buffered, 64 KiB",
        holds: &[],
        worth: 1.5,
        missing: 1,
    },
    Case {
        name: "direct or buffered",
        build: |room| {
            for (size, buffered, direct) in
                [(4 * K, 500.0, 100.0), (64 * K, 510.0, 500.0), (256 * K, 500.0, 700.0), (M, 500.0, 1000.0)]
            {
                room.add("mine", read("buffered", size, Cold), buffered, 1.0);
                room.add("mine", Labels { cache: None, ..read("direct", size, Cold) }, direct, 0.1);
            }
        },
        begins: "In sequential reads from the device pass the page cache by (direct) from requests of 256 KiB on: direct is 1.40× as fast at 256 KiB",
        holds: &[
            "10% of the processor time at 1 MiB",
            "Leave smaller ones to the page cache",
            "buffered is 5.00× as fast at 4 KiB",
        ],
        worth: 5.0,
        missing: 4,
    },
    Case {
        name: "preallocation",
        build: |room| {
            for (allocation, rate) in [("extend", 200.0), ("preallocate", 500.0)] {
                let labels =
                    Labels { allocation: Some(allocation.into()), ..write("buffered", 64 * K, "extended") };
                room.add("mine", labels, rate, 1.0);
            }
        },
        begins: "Preallocate in sequential writes into the page cache to a new file (buffered, 64 KiB): 500 MB/s, 2.50× as fast as extending",
        holds: &[],
        worth: 2.5,
        missing: 0,
    },
    Case {
        name: "preallocation that costs",
        build: |room| {
            room.add("mine", write("buffered", 64 * K, "extended"), 300.0, 1.0);
            room.add("mine", write("buffered", 64 * K, "preallocated"), 100.0, 1.0);
        },
        begins: "Do not preallocate in sequential writes",
        holds: &["extending gives 300 MB/s, 3.00× as fast"],
        worth: 3.0,
        missing: 1,
    },
    Case {
        name: "existing blocks",
        build: |room| {
            room.add("mine", write("buffered", 64 * K, "extended"), 300.0, 1.0);
            room.add("mine", write("buffered", 64 * K, "overwritten"), 900.0, 1.0);
        },
        begins: "Where the old contents need not survive a failure, write over the existing file: 900 MB/s",
        holds: &["3.00× as fast as extending"],
        worth: 3.0,
        missing: 1,
    },
    Case {
        name: "alignment",
        build: |room| {
            for (offset, rate) in [(0, 600.0), (512, 480.0), (-512, 500.0)] {
                room.add(
                    "mine",
                    Labels { offset_bytes: Some(offset), ..read("direct", 64 * K, Cold) },
                    rate,
                    1.0,
                );
            }
        },
        begins: "Begin requests at multiples of their size in sequential reads from the device with direct, 64 KiB: those that begin 512 B past one take 1.25× the time",
        holds: &[],
        worth: 1.25,
        missing: 0,
    },
    Case {
        name: "small random requests",
        build: |room| {
            for (depth, workers, rate) in [(1, 1, 50.0), (32, 1, 500.0), (1, 8, 250.0), (64, 1, 505.0)] {
                let labels =
                    Labels { order: Some("random".into()), workers: Some(workers), ..deep(4 * K, depth) };
                room.add("mine", labels, rate, 1.0);
            }
        },
        begins: "Keep 32 requests in flight in random reads from the device, 4 KiB a request (uring past the page cache, 4 KiB, depth 32): 122 k/s, ",
        holds: &["what comes one at a time", "8 workers reaches 50% of that", "more bring nothing"],
        worth: 10.0,
        missing: 0,
    },
    Case {
        name: "processor cost",
        build: |room| {
            room.add("mine", read("buffered", 64 * K, Warm), 1000.0, 3.0);
            room.add("mine", read("mmap", 64 * K, Warm), 980.0, 1.0);
        },
        begins: "Mmap, 64 KiB gives 98% of the peak of sequential reads from the page cache at 33% of the processor time (1.00 ms/MB; the fastest, buffered, 64 KiB, takes 3.00 ms/MB)",
        holds: &[],
        worth: 3.0,
        missing: 1,
    },
    Case {
        name: "the strategies of 2010 beaten",
        build: |room| {
            for (strategy, method, rate) in
                [("cci", "buffered", 300.0), ("cci-mtmm", "mmap", 500.0), ("auto", "buffered", 1000.0)]
            {
                transform(room, strategy, method, rate);
            }
        },
        begins: "For shift:10 of a cached file over existing blocks what `auto` chooses gives 1.00 GB/s, 2.00× as fast as cci-mtmm",
        holds: &["the fastest of 2010"],
        worth: 2.0,
        missing: 2,
    },
    Case {
        name: "the strategies of 2010 ahead",
        build: |room| {
            for (strategy, method, rate) in
                [("cci", "buffered", 300.0), ("cci-mtmm", "mmap", 1200.0), ("auto", "buffered", 1000.0)]
            {
                transform(room, strategy, method, rate);
            }
        },
        begins: "For shift:10 of a cached file over existing blocks cci-mtmm of 2010 is still ahead: 1.20 GB/s, 1.20× as fast as what `auto` chooses",
        holds: &[],
        worth: 1.2,
        missing: 1,
    },
    Case {
        name: "what auto misses",
        build: |room| {
            transform(room, "auto", "buffered", 1000.0);
            transform(room, "method=mmap,workers=2", "mmap", 1500.0);
            // It competes for a job, as auto does not.
            room.cells[1].labels.job = "transform over an existing file".into();
        },
        begins: "Use --strategy method=mmap,workers=2 for shift:10 of a cached file over existing blocks: 1.50 GB/s, 1.50× as fast as what `auto` chooses by the facts. The profile has it now.",
        holds: &[],
        worth: 1.5,
        missing: 0,
    },
    Case {
        name: "interfaces",
        build: |room| {
            for (name, small, large) in
                [("std", 400.0, 900.0), ("file", 500.0, 900.0), ("tokio", 100.0, 600.0)]
            {
                room.add("mine", read(name, 4 * K, Warm), small, 1000.0 / small);
                room.add("mine", read(name, M, Warm), large, 1.0);
            }
        },
        begins: "In sequential reads from the page cache, 4 KiB a call, use file and not tokio, which takes 5.00× the time and 5.00× the processor time.",
        holds: &[],
        worth: 5.0,
        missing: 4,
    },
    Case {
        name: "SIMD",
        build: |room| {
            room.add("mine", variant(read("buffered", 64 * K, Warm), "scalar"), 400.0, 2.0);
            room.add("mine", read("buffered", 64 * K, Warm), 1000.0, 1.0);
        },
        begins: "Take the processor's vector instructions in sequential reads from the page cache with buffered, 64 KiB: 1.00 GB/s, 2.50× as fast as scalar at 50% of the processor time",
        holds: &[],
        worth: 2.5,
        missing: 0,
    },
    Case {
        name: "hints",
        build: |room| {
            room.add("mine", variant(read("buffered", 64 * K, Cold), "no hint"), 400.0, 1.0);
            room.add("mine", variant(read("buffered", 64 * K, Cold), "hint sequential"), 600.0, 1.0);
            room.add("mine", variant(read("buffered", 64 * K, Cold), "hint random"), 100.0, 1.0);
        },
        begins: "Take hint sequential in sequential reads from the device with buffered, 64 KiB: 600 MB/s, 1.50× as fast as no hint",
        holds: &[],
        worth: 1.5,
        missing: 1,
    },
    Case {
        name: "the finer settings",
        build: |room| {
            for (completion, rate) in [("ordered", 500.0), ("any", 600.0)] {
                let strategy = Some(format!("method=uring,depth=8,completion={completion}"));
                room.add("mine", Labels { strategy, ..deep(64 * K, 8) }, rate, 1.0);
            }
        },
        begins: "Set completion=any in sequential reads from the device",
        holds: &["1.20× as fast as completion=ordered"],
        worth: 1.2,
        missing: 0,
    },
    Case {
        name: "stream buffer",
        build: |room| {
            for (call, bare, small, large) in
                [(512, 50.0, 500.0, 505.0), (4 * K, 400.0, 400.0, 400.0), (64 * K, 900.0, 900.0, 900.0)]
            {
                room.add("mine", variant(read("buffered", call, Warm), "no buffer"), bare, 1.0);
                room.add("mine", variant(read("buffered", call, Warm), "buffer 4K"), small, 1.0);
                room.add("mine", variant(read("buffered", call, Warm), "buffer 64K"), large, 1.0);
            }
        },
        begins: "Give a stream a buffer of 4 KiB for sequential reads from the page cache with buffered in calls of 512 B: 500 MB/s, ",
        holds: &["from calls of 4 KiB on it brings nothing"],
        worth: 10.0,
        missing: 0,
    },
    Case {
        name: "disks",
        build: |room| {
            for (disks, rate) in [(1, 100.0), (2, 200.0), (3, 290.0), (4, 291.0)] {
                let labels = Labels { targets: Some(disks), ..read("direct", 64 * K, Cold) };
                room.add("mine", variant(labels, "together"), rate, 1.0);
                let alone = format!("disk {disks} alone");
                let labels = Labels { targets: Some(1), ..read("direct", 64 * K, Cold) };
                room.add("mine", variant(labels, &alone), 100.0 + f64::from(disks), 1.0);
            }
        },
        begins: "Spread sequential reads from the device with direct, 64 KiB over 3 disks: 290 MB/s, 2.90× as fast as 1 disk; up to 4 bring no more",
        holds: &[],
        worth: 2.9,
        missing: 0,
    },
    Case {
        name: "streams that hinder one another",
        build: |room| {
            for (streams, rate) in [(1, 400.0), (2, 500.0), (8, 250.0)] {
                let cell = room.add(
                    "mine",
                    Labels { streams: Some(streams), ..read("buffered", 64 * K, Cold) },
                    rate,
                    1.0,
                );
                for sample in &mut cell.samples {
                    sample.streams = (0..streams).map(|i| if i == 0 { 10e6 } else { 40e6 }).collect();
                }
            }
        },
        begins: "Run no more than 2 streams at once of sequential reads from the device with buffered, 64 KiB: together 500 MB/s; 8 streams get 250 MB/s in all, 50% less.",
        holds: &["Of 8 the slowest gets 25% of the fastest."],
        worth: 2.0,
        missing: 2,
    },
    Case {
        name: "little memory",
        build: |room| {
            for (method, file, rate) in
                [("mmap", 64, 1000.0), ("mmap", 512, 100.0), ("direct", 64, 410.0), ("direct", 512, 400.0)]
            {
                let labels = Labels {
                    file_bytes: Some(file * M),
                    memory_limit_bytes: Some(256 * M),
                    ..read(method, M, if method == "direct" { Cold } else { Warm })
                };
                room.add("mine", labels, rate, 1.0);
            }
        },
        begins: "With 256 MiB of memory, from files of 512 MiB on use direct, 1 MiB for read: 400 MB/s, 4.00× as fast",
        holds: &["mmap, 1 MiB falls from 1.00 GB/s (files of 64 MiB) to 100 MB/s"],
        worth: 4.0,
        missing: 0,
    },
    Case {
        name: "peers",
        build: |room| {
            room.add("mine", read("direct", 64 * K, Cold), 500.0, 1.0);
            room.add("mine", Labels { peer: Some("fio".into()), ..read("direct", 64 * K, Cold) }, 600.0, 1.0);
        },
        begins: "In sequential reads from the device at 64 KiB fio gets more out of this storage than fullbore: 600 MB/s, 1.20× as fast as ours (direct, 64 KiB)",
        holds: &[],
        worth: 1.2,
        missing: 0,
    },
    Case {
        name: "the profile's entry",
        build: |room| {
            for (method, depth, rate) in [("buffered", 1, 300.0), ("uring", 8, 900.0)] {
                let strategy = Some(format!("method={method},depth={depth}"));
                let labels =
                    Labels { job: "read".into(), strategy, depth: Some(depth), ..read(method, M, Cold) };
                room.add("mine", labels, rate, 1.0);
            }
        },
        begins: "For “read, cold” use uring, 1 MiB, depth 8 (`method=uring,depth=8`), as the profile has it: 900 MB/s, 3.00× as fast as buffered, 1 MiB",
        holds: &[],
        worth: 3.0,
        missing: 1,
    },
];

fn transform(room: &mut Room, strategy: &str, method: &str, rate: f64) {
    let labels = Labels {
        operation: "shift:10".into(),
        method: method.into(),
        request_bytes: Some(64 * K),
        cache: Some(Warm),
        file_state: Some("overwritten".into()),
        strategy: Some(strategy.into()),
        ..Labels::default()
    };
    room.add("mine", labels, rate, 1.0);
}

fn line<'a>(advice: &'a [Advice], begins: &str) -> Option<&'a Advice> {
    advice.iter().find(|a| a.text.starts_with(begins))
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
        let rank = |a: &Advice| (a.confidence == Confidence::Low, -a.worth);
        assert!(all.is_sorted_by(|a, b| rank(a) <= rank(b)), "{}", case.name);
        assert!(all.iter().all(|a| a.worth >= 1.0), "{}", case.name);
    }
}

#[test]
fn without_its_cells_an_advisor_is_silent() {
    for case in CASES {
        let mut room = Room::new(Spread::Apart);
        (case.build)(&mut room);
        room.cells.remove(case.missing);
        assert_eq!(line(&room.advice(), case.begins), None, "{}", case.name);
    }
}

#[test]
fn where_intervals_overlap_nothing_is_claimed() {
    for case in CASES {
        let mut room = Room::new(Spread::Alike);
        (case.build)(&mut room);
        if case.name == "request size, where only the processor notices" {
            continue;
        }
        for claimed in room.advice() {
            // The profile keeps something for each job; the line says that it is no better.
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
            let cell = room.add("mine", labels, 1.0, 1.0);
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
    let one = line(&found, "Ask for no more than 5.00 k/s in random reads from the device").unwrap();
    assert!(
        one.text.contains("10.0× of the idle median (100 µs): it takes 808 µs; at 10.0 k/s it takes 5.05 ms"),
        "{one:?}"
    );
    assert!((one.worth - 6.25).abs() < 0.1 && one.confidence == Confidence::High, "{one:?}");
    let unserved = room([2e-4, 3e-4, 8e-4, 9e-4], 0.5);
    assert!(
        line(&unserved, "Ask for no more than 5.00 k/s")
            .unwrap()
            .text
            .contains("of 10.0 k/s only 5.00 k/s are served")
    );
    let easy = room([2e-4, 2e-4, 2e-4, 2e-4], 1.0);
    let easy = line(&easy, "Up to 10.0 k/s, the most that was asked").unwrap();
    assert_eq!(easy.worth, 1.0);
    assert!(room([2e-3, 2e-3, 2e-3, 2e-3], 1.0).is_empty(), "idle itself is too slow");
}

#[test]
fn confidence_says_how_good_the_cells_are() {
    let build = |change: fn(&mut Cell)| {
        let mut room = Room::new(Spread::Apart);
        room.add("mine", read("buffered", 4 * K, Warm), 100.0, 1.0);
        room.add("mine", read("buffered", 64 * K, Warm), 300.0, 1.0);
        for cell in &mut room.cells {
            change(cell);
        }
        line(&room.advice(), "Request 64 KiB").map(|a| a.confidence)
    };
    assert_eq!(build(|_| ()), Some(Confidence::High));
    let late = build(|cell| {
        cell.summarise(&SummaryOptions { stop: StopReason::TimeUp, ..SummaryOptions::default() })
    });
    assert_eq!(late, Some(Confidence::Medium));
    let unproved = build(|cell| {
        cell.samples[0].proof = Proof::Unproved { reason: "nobody says".into() };
        cell.summarise(&SummaryOptions::default());
    });
    assert_eq!(unproved, Some(Confidence::Medium));
    let wide = build(|cell| {
        for (i, sample) in cell.samples.iter_mut().enumerate() {
            sample.seconds *= if i % 2 == 0 { 0.4 } else { 1.1 };
        }
        cell.summarise(&SummaryOptions::default());
    });
    assert_ne!(wide, Some(Confidence::High), "so wide that it may be chance");
    let few = build(|cell| {
        cell.samples.truncate(3);
        cell.summarise(&SummaryOptions::default());
    });
    assert_eq!(few, None, "three samples are no ground for a verdict");
    let contradicted = |cell: &mut Cell| {
        for sample in cell.samples.iter_mut().take(7) {
            sample.proof = Proof::Contradicted { reason: "half cached".into() };
        }
        cell.summarise(&SummaryOptions::default());
    };
    assert_eq!(build(contradicted), None, "most samples of these cells are not what they say");
    let bound = |cell: &mut Cell| {
        cell.summarise(&SummaryOptions { null_request_s: Some(1.0), ..SummaryOptions::default() });
    };
    assert_eq!(build(bound), None, "these measure the meter");
}

#[test]
fn what_is_measured_twice_is_said_once_and_by_the_surer() {
    let mut room = Room::new(Spread::Apart);
    for experiment in ["first", "second"] {
        for (size, rate) in [(4 * K, 100.0), (64 * K, 300.0)] {
            let cell = room.add(experiment, read("buffered", size, Warm), rate, 1.0);
            let stop = if experiment == "first" { StopReason::TimeUp } else { StopReason::Precise };
            cell.summarise(&SummaryOptions { stop, ..SummaryOptions::default() });
        }
    }
    let all = room.advice();
    let told: Vec<&Advice> = all.iter().filter(|a| a.text.starts_with("Request")).collect();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].experiment.as_str(), told[0].confidence), ("second", Confidence::High));
}

#[test]
fn reads_without_a_job_fill_the_profile_and_nothing_else_does() {
    let bootstrap = Bootstrap::default();
    let with = |cells: &[Cell]| -> Vec<(String, String)> {
        choices(cells, &bootstrap).into_iter().map(|c| (c.job, c.strategy)).collect()
    };
    let asked = |labels: Labels, text: &str| Labels { strategy: Some(text.into()), ..labels };
    let mut room = Room::new(Spread::Apart);
    room.add("mine", asked(read("buffered", 64 * K, Cold), "method=buffered"), 100.0, 1.0);
    room.add("mine", asked(Labels { cache: None, ..read("direct", M, Cold) }, "method=direct"), 900.0, 1.0);
    room.add(
        "mine",
        asked(Labels { order: Some("random".into()), ..read("direct", M, Cold) }, "random"),
        990.0,
        1.0,
    );
    room.add("mine", asked(variant(read("direct", M, Cold), "reread"), "reread"), 990.0, 1.0);
    room.add(
        "mine",
        asked(Labels { peer: Some("fio".into()), ..read("direct", M, Cold) }, "fio"),
        990.0,
        1.0,
    );
    room.add("mine", asked(write("buffered", M, "overwritten"), "method=buffered"), 990.0, 1.0);
    assert_eq!(with(&room.cells), [("read, cold".to_owned(), "method=direct".to_owned())]);
    let all = room.advice();
    assert!(
        line(&all, "For “read, cold” use direct, 1 MiB (`method=direct`), as the profile has it").is_some()
    );
    // A trial under the job's own name is what counts, once there is one.
    room.add(
        "mine",
        asked(Labels { job: "read".into(), ..read("mmap", M, Cold) }, "method=mmap"),
        500.0,
        1.0,
    );
    assert_eq!(with(&room.cells), [("read, cold".to_owned(), "method=mmap".to_owned())]);
}

#[test]
fn strange_documents_break_nothing() {
    assert_eq!(Room::new(Spread::Apart).advice(), []);
    let mut room = Room::new(Spread::Apart);
    for (i, case) in CASES.iter().enumerate() {
        if i % 2 == 0 {
            (case.build)(&mut room);
        }
    }
    room.add("", Labels::default(), 1.0, 0.0);
    room.add(
        "",
        Labels { request_bytes: Some(0), depth: Some(0), workers: Some(0), ..Labels::default() },
        1.0,
        0.0,
    );
    room.add(
        "",
        Labels { load_per_s: Some(u64::MAX), offset_bytes: Some(i64::MIN), ..Labels::default() },
        1.0,
        0.0,
    );
    let odd = room.add("", read("direct", u64::MAX, Cold), 1.0, 1.0);
    odd.summary.as_mut().unwrap().rate.value = f64::NAN;
    let found = findings(&room.cells, &[], &Bootstrap::default());
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

/// A rule's number, and a room where what it compares has the ratio given.
type RuleCase = (u8, fn(&mut Room, f64));

const RULES: &[RuleCase] = &[
    (1, |room, ratio| {
        room.add("mine", read("direct", 4 * K, Cold), 100.0, 1.0);
        room.add("mine", read("direct", 64 * K, Cold), 100.0 * ratio, 1.0);
    }),
    (2, |room, ratio| {
        room.add("mine", read("direct", 4 * K, Cold), 100.0, 1.0 * ratio);
        room.add("mine", read("direct", 64 * K, Cold), 100.0, 1.0);
    }),
    (3, |room, ratio| {
        room.add("mine", deep(4 * K, 2), 100.0, 1.0);
        room.add("mine", deep(4 * K, 8), 100.0 * ratio, 1.0);
    }),
    (4, |room, ratio| {
        room.add("mine", variant(write("direct", 4 * K, "overwritten"), "write cache off"), 100.0, 1.0);
        room.add(
            "mine",
            variant(write("direct", 4 * K, "overwritten"), "write cache on"),
            100.0 * ratio,
            1.0,
        );
    }),
    (5, |room, ratio| {
        // Here a ratio above 1 speaks against the rule: the fourth disk helped.
        for (disks, rate) in [(1, 100.0), (3, 300.0), (4, 300.0 / ratio.powi(2))] {
            room.add("mine", Labels { targets: Some(disks), ..read("direct", 64 * K, Cold) }, rate, 1.0);
        }
    }),
    (6, |room, ratio| {
        room.add("mine", read("buffered", 4 * K, Cold), 100.0 * ratio, 1.0);
        room.add("mine", read("direct", 4 * K, Cold), 100.0, 1.0);
        room.add("mine", read("buffered", 16 * K, Cold), 100.0 * ratio, 1.0);
        room.add("mine", read("direct", 16 * K, Cold), 100.0, 1.0);
    }),
    (7, |room, ratio| {
        for size in [64 * K, M] {
            room.add("mine", read("buffered", size, Cold), 100.0, 1.0);
            room.add("mine", read("direct", size, Cold), 100.0 * ratio, 1.0);
        }
    }),
    (8, |room, ratio| {
        room.add("mine", write("buffered", 64 * K, "extended"), 100.0, 1.0);
        room.add("mine", write("buffered", 64 * K, "preallocated"), 100.0 * ratio, 1.0);
    }),
    (9, |room, ratio| {
        room.add("mine", write("direct", 64 * K, "extended"), 100.0, 1.0);
        room.add("mine", write("direct", 64 * K, "overwritten"), 100.0 * ratio, 1.0);
    }),
    (10, |room, ratio| {
        room.add(
            "mine",
            Labels { offset_bytes: Some(0), ..read("direct", 64 * K, Cold) },
            100.0 * ratio,
            1.0,
        );
        room.add("mine", Labels { offset_bytes: Some(512), ..read("direct", 64 * K, Cold) }, 100.0, 1.0);
    }),
];

#[test]
fn each_rule_has_each_verdict() {
    let verdict = |number: u8, cells: &[Cell]| {
        let tested = rules(cells, &Findings::default(), &Bootstrap::default());
        let numbers: Vec<u8> = tested.iter().map(|r| r.number).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<u8>>());
        let rule = tested.into_iter().find(|r| r.number == number).unwrap();
        assert!(rule.evidence.ends_with('.') && rule.rule.ends_with('.'), "{rule:?}");
        rule
    };
    for &(number, build) in RULES {
        let rule = |spread, ratio| {
            let mut room = Room::new(spread);
            build(&mut room, ratio);
            verdict(number, &room.cells)
        };
        let held = rule(Spread::Apart, 2.0);
        assert_eq!(held.verdict, RuleVerdict::StillTrue, "{held:?}");
        assert!(held.cells.len() >= 2 && held.experiment == "mine", "{held:?}");
        let figure = if number == 5 { "0.250×" } else { "2.00×" };
        assert!(held.evidence.contains(figure), "{held:?}");
        for ratio in [1.0, 0.5] {
            let failed = rule(Spread::Apart, ratio);
            let expected = match (number, ratio) {
                // As fast as three, a fourth disk brings nothing either.
                (5, 1.0) => RuleVerdict::StillTrue,
                _ => RuleVerdict::NoLongerTrue,
            };
            assert_eq!(failed.verdict, expected, "{failed:?}");
        }
        let missing = verdict(number, &[]);
        assert_eq!((missing.verdict, missing.cells.len()), (RuleVerdict::NotTestable, 0), "{missing:?}");
        let wide = rule(Spread::Alike, 2.0);
        assert_eq!(wide.verdict, RuleVerdict::NotTestable, "{wide:?}");
        assert!(wide.evidence.contains("too wide to tell"), "{wide:?}");
    }
}

#[test]
fn the_write_cache_rule_has_two_halves() {
    let with = |three_deep: f64| {
        let mut room = Room::new(Spread::Apart);
        for size in [4 * K, 64 * K] {
            for (on, depth, rate) in [("off", 1, 100.0), ("on", 1, 300.0), ("off", 3, three_deep)] {
                let labels = variant(write("direct", size, "overwritten"), &format!("write cache {on}"));
                room.add("mine", Labels { depth: Some(depth), ..labels }, rate, 1.0);
            }
        }
        rules(&room.cells, &Findings::default(), &Bootstrap::default()).swap_remove(3)
    };
    assert_eq!(with(290.0).verdict, RuleVerdict::StillTrue);
    let far = with(150.0);
    assert_eq!(far.verdict, RuleVerdict::NoLongerTrue);
    assert!(far.evidence.contains("three deep without it against with it: 0.500×"), "{far:?}");
}

#[test]
fn the_majority_of_paths_decides_and_the_others_are_named() {
    let mut room = Room::new(Spread::Apart);
    for (method, large) in [("direct", 400.0), ("buffered", 200.0), ("stdio", 100.0)] {
        room.add("mine", read(method, 4 * K, Cold), 100.0, 1.0);
        room.add("mine", read(method, M, Cold), large, 1.0);
    }
    let first = rules(&room.cells, &Findings::default(), &Bootstrap::default()).swap_remove(0);
    assert_eq!(first.verdict, RuleVerdict::StillTrue);
    assert!(
        first.evidence.contains("yes in 2 of 3")
            && first.evidence.contains("no in 1 (sequential reads from the device with stdio"),
        "{first:?}"
    );
}

#[test]
fn a_third_disk_that_helps_says_nothing_of_a_fourth() {
    let with = |third: f64| {
        let mut room = Room::new(Spread::Apart);
        for (disks, rate) in [(1, 100.0), (2, 200.0), (3, third)] {
            room.add("mine", Labels { targets: Some(disks), ..read("direct", 64 * K, Cold) }, rate, 1.0);
        }
        rules(&room.cells, &Findings::default(), &Bootstrap::default()).swap_remove(4).verdict
    };
    assert_eq!(with(300.0), RuleVerdict::NotTestable);
    assert_eq!(with(200.0), RuleVerdict::StillTrue);
}

#[test]
fn the_quick_run_alone_is_advised_well() {
    let document = synthetic::document();
    let all = &document.findings.advice;
    // The law of warm buffered reads: 0.9 µs and 11.5 GB/s, so 256 KiB reach 96 % and 1 MiB 99 % of the limit.
    let request =
        all.iter().find(|a| a.text.contains("sequential reads from the page cache with buffered")).unwrap();
    assert!(
        request.text.starts_with("Request 1 MiB") || request.text.starts_with("Request 256 KiB"),
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
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/2026-11-21-two-processors/results.json");
    let document = Document::read(std::fs::File::open(path).unwrap()).unwrap();
    let found = findings(&document.cells, &document.experiments, &Bootstrap::default());
    let of = |begins: &str| found.advice.iter().find(|a| a.text.starts_with(begins)).unwrap();
    let cell = |id: &str| document.cell(id).and_then(|c| c.summary.as_ref()).unwrap().rate.value;
    // Checked by hand against the table in bench.txt.
    let request =
        of("Request 256 KiB in sequential reads from the page cache with buffered: 9.45 GB/s, the peak");
    assert!((request.worth - cell(&request.cells[0]) / cell(&request.cells[1])).abs() < 1e-9);
    assert!(
        request.text.contains("4 KiB takes 1.53× the time")
            && request.text.contains("4 MiB takes 1.21× the time")
    );
    of("Keep 32 requests in flight in random reads from the device, 4 KiB a request");
    of("For “read, cold” use uring past the page cache, 1 MiB, depth 8, 2 workers");
    let verdict = |n: usize| found.rules[n - 1].verdict;
    assert_eq!(
        (verdict(1), verdict(2), verdict(6)),
        (RuleVerdict::StillTrue, RuleVerdict::StillTrue, RuleVerdict::StillTrue)
    );
    assert_eq!(
        (verdict(4), verdict(5), verdict(10)),
        (RuleVerdict::NotTestable, RuleVerdict::NotTestable, RuleVerdict::NotTestable)
    );
}
