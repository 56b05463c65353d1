//! The advice of each advisor, and the cells it rests on.

use fullbore_bench::document::CacheState::{Cold, Warm};
use fullbore_bench::document::{Labels, SummaryOptions};

use super::room::{K, M, Room, deep, read, variant, write};

/// A room in which an advisor gives advice: the beginning of the line, further parts, its worth, and the cell without which
/// there is no advice.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) build: fn(&mut Room),
    pub(crate) begins: &'static str,
    pub(crate) holds: &'static [&'static str],
    pub(crate) worth: f64,
    pub(crate) missing: usize,
}

const PLAIN: Case = Case { name: "", build: |_| (), begins: "", holds: &[], worth: 1.0, missing: 0 };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "request size",
        build: |room| {
            for (size, rate, cost) in
                [(4 * K, 250.0, 4.0), (64 * K, 800.0, 1.5), (256 * K, 980.0, 1.0), (M, 1000.0, 1.0)]
            {
                room.costing(read("buffered", size, Warm), rate, cost);
            }
        },
        begins: "Use requests of 256 KiB for sequential reads from the page cache with buffered: 980 MB/s, 98% of the peak (at 1 MiB)",
        holds: &["4 KiB takes 3.92× the time and 4.00× the CPU time"],
        worth: 3.92,
        missing: 2,
    },
    Case {
        name: "request size, where only CPU time differs",
        build: |room| {
            for (size, rate, cost) in [(4 * K, 1000.0, 3.0), (64 * K, 1040.0, 1.0), (256 * K, 1041.0, 1.0)] {
                let cell = room.costing(read("buffered", size, Cold), rate, cost);
                // So wide that the rates overlap; CPU time is unchanged.
                for (i, sample) in cell.samples.iter_mut().enumerate() {
                    sample.seconds *= 1.0 + 0.3 * f64::from(i as u32 % 3);
                }
                cell.summarise(&SummaryOptions::default());
            }
        },
        begins: "Use requests of 64 KiB for sequential reads from the device with buffered",
        holds: &["4 KiB is not significantly slower, but takes 3.00× the CPU time"],
        worth: 3.0,
        ..PLAIN
    },
    Case {
        name: "request size, where larger is worse",
        build: |room| {
            room.each([(4 * K, 1000.0), (64 * K, 1000.0), (M, 500.0)], |size| read("buffered", size, Warm));
        },
        begins: "Use requests of 4 KiB for sequential reads",
        holds: &["1 MiB takes 2.00× the time"],
        worth: 2.0,
        missing: 2,
    },
    Case {
        name: "depth",
        build: |room| {
            room.each([(1, 300.0), (3, 700.0), (8, 990.0), (32, 1000.0)], |depth| deep(64 * K, depth));
        },
        begins: "Keep 8 requests in flight in sequential reads from the device with direct uring, 64 KiB: 990 MB/s, 3.30× the rate of depth 1",
        holds: &["half of that needs depth 3", "no gain up to depth 32"],
        worth: 3.3,
        missing: 2,
    },
    Case {
        name: "workers",
        build: |room| {
            room.each([(1, 500.0), (2, 900.0), (4, 910.0)], |workers| Labels {
                workers: Some(workers),
                model: Some(if workers > 1 { "pool" } else { "serial" }.into()),
                ..read("buffered", 256 * K, Warm)
            });
        },
        begins: "Use 2 workers for sequential reads from the page cache with buffered, 256 KiB: 900 MB/s, 1.80× as fast as 1 worker",
        holds: &["; 4 are no faster"],
        worth: 1.8,
        missing: 1,
    },
    Case {
        name: "one worker",
        build: |room| {
            room.each([(1, 500.0), (2, 250.0)], |workers| Labels {
                workers: Some(workers),
                ..write("buffered", 64 * K, "extended")
            });
        },
        begins: "Use no more than 1 worker for sequential writes into the page cache to a new file with buffered, 64 KiB: 500 MB/s; 2 take 2.00× the time",
        worth: 2.0,
        missing: 1,
        ..PLAIN
    },
    Case {
        name: "method",
        build: |room| {
            let methods = [("buffered", 400.0), ("mmap", 600.0), ("stdio", 300.0)];
            room.each(methods, |method| read(method, 64 * K, Warm));
        },
        begins: "Use mmap, 64 KiB for sequential reads from the page cache: 600 MB/s, 1.50× as fast as buffered, 64 KiB",
        worth: 1.5,
        missing: 1,
        ..PLAIN
    },
    Case {
        name: "direct or buffered",
        build: |room| {
            for (size, buffered, direct) in
                [(4 * K, 500.0, 100.0), (64 * K, 510.0, 500.0), (256 * K, 500.0, 700.0), (M, 500.0, 1000.0)]
            {
                room.add(read("buffered", size, Cold), buffered);
                room.costing(Labels { cache: None, ..read("direct", size, Cold) }, direct, 0.1);
            }
        },
        begins: "Bypass the page cache (direct) in sequential reads from the device for requests of 256 KiB or more: direct is 1.40× as fast at 256 KiB",
        holds: &[
            "10% of the CPU time at 1 MiB",
            "Buffer smaller requests",
            "buffered is 5.00× as fast at 4 KiB",
        ],
        worth: 5.0,
        missing: 4,
    },
    Case {
        name: "preallocation",
        build: |room| {
            room.each([("extend", 200.0), ("fallocate", 500.0)], |allocation| Labels {
                allocation: Some(allocation.into()),
                ..write("buffered", 64 * K, "extended")
            });
        },
        begins: "Preallocate in sequential writes into the page cache to a new file (buffered, 64 KiB): 500 MB/s, 2.50× as fast as extending",
        worth: 2.5,
        ..PLAIN
    },
    Case {
        name: "preallocation that costs",
        build: |room| {
            let states = [("extended", 300.0), ("preallocated", 100.0)];
            room.each(states, |state| write("buffered", 64 * K, state));
        },
        begins: "Do not preallocate in sequential writes",
        holds: &["extending reaches 300 MB/s, 3.00× as fast"],
        worth: 3.0,
        missing: 1,
    },
    Case {
        name: "existing blocks",
        build: |room| {
            let states = [("extended", 300.0), ("overwritten", 900.0)];
            room.each(states, |state| write("buffered", 64 * K, state));
        },
        begins: "Overwrite the existing file if its contents need not survive a failure: 900 MB/s",
        holds: &["3.00× as fast as extending"],
        worth: 3.0,
        missing: 1,
    },
    Case {
        name: "alignment",
        build: |room| {
            room.each([(0, 600.0), (512, 480.0), (-512, 500.0)], |offset| Labels {
                offset_bytes: Some(offset),
                ..read("direct", 64 * K, Cold)
            });
        },
        begins: "Align requests to multiples of their size in sequential reads from the device with direct, 64 KiB: 512 B past a multiple they take 1.25× the time",
        worth: 1.25,
        ..PLAIN
    },
    Case {
        name: "small random requests",
        build: |room| {
            for (depth, workers, rate) in [(1, 1, 50.0), (32, 1, 500.0), (1, 8, 250.0), (64, 1, 505.0)] {
                let labels =
                    Labels { order: Some("random".into()), workers: Some(workers), ..deep(4 * K, depth) };
                room.add(labels, rate);
            }
        },
        begins: "Keep 32 requests in flight in random reads from the device, 4 KiB per request (direct uring, 4 KiB, depth 32): 122 k/s, ",
        holds: &["the rate of one at a time", "8 workers reaches 50% of that", "more are no faster"],
        worth: 10.0,
        ..PLAIN
    },
    Case {
        name: "CPU time",
        build: |room| {
            room.costing(read("buffered", 64 * K, Warm), 1000.0, 3.0);
            room.add(read("mmap", 64 * K, Warm), 980.0);
        },
        begins: "Mmap, 64 KiB reaches 98% of the peak of sequential reads from the page cache at 33% of the CPU time (1.00 ms/MB; the fastest, buffered, 64 KiB, takes 3.00 ms/MB)",
        worth: 3.0,
        missing: 1,
        ..PLAIN
    },
    Case {
        name: "the strategies of 2010 beaten",
        build: |room| {
            transforms(room, [("cci", "buffered", 300.0), ("cci-mtmm", "mmap", 500.0), AUTO]);
        },
        begins: "For shift:10 of a cached file over existing blocks, auto reaches 1.00 GB/s, 2.00× as fast as cci-mtmm",
        holds: &["the fastest of 2010"],
        worth: 2.0,
        missing: 2,
    },
    Case {
        name: "the strategies of 2010 ahead",
        build: |room| {
            transforms(room, [("cci", "buffered", 300.0), ("cci-mtmm", "mmap", 1200.0), AUTO]);
        },
        begins: "For shift:10 of a cached file over existing blocks, cci-mtmm of 2010 is still fastest: 1.20 GB/s, 1.20× as fast as auto",
        worth: 1.2,
        missing: 1,
        ..PLAIN
    },
    Case {
        name: "strategies faster than auto",
        build: |room| {
            transforms(room, [AUTO, ("method=mmap,workers=2", "mmap", 1500.0)]);
            // It competes for a job; auto does not.
            room.cells[1].labels.job = "transform over an existing file".into();
        },
        begins: "Use --strategy method=mmap,workers=2 for shift:10 of a cached file over existing blocks: 1.50 GB/s, 1.50× as fast as auto without a profile. It is now in the profile.",
        worth: 1.5,
        ..PLAIN
    },
    Case {
        name: "interfaces",
        build: |room| {
            for (name, small, large) in
                [("std", 400.0, 900.0), ("file", 500.0, 900.0), ("tokio", 100.0, 600.0)]
            {
                room.costing(read(name, 4 * K, Warm), small, 1000.0 / small);
                room.add(read(name, M, Warm), large);
            }
        },
        begins: "Use file instead of tokio for sequential reads from the page cache, 4 KiB per call: tokio takes 5.00× the time and 5.00× the CPU time.",
        worth: 5.0,
        missing: 4,
        ..PLAIN
    },
    Case {
        name: "SIMD",
        build: |room| {
            room.costing(variant(read("buffered", 64 * K, Warm), "scalar"), 400.0, 2.0);
            room.add(read("buffered", 64 * K, Warm), 1000.0);
        },
        begins: "Use vector instructions in sequential reads from the page cache with buffered, 64 KiB: 1.00 GB/s, 2.50× as fast as scalar at 50% of the CPU time",
        worth: 2.5,
        ..PLAIN
    },
    Case {
        name: "hints",
        build: |room| {
            let hints = [("no hint", 400.0), ("hint sequential", 600.0), ("hint random", 100.0)];
            room.each(hints, |hint| variant(read("buffered", 64 * K, Cold), hint));
        },
        begins: "Use hint sequential in sequential reads from the device with buffered, 64 KiB: 600 MB/s, 1.50× as fast as no hint",
        worth: 1.5,
        missing: 1,
        ..PLAIN
    },
    Case {
        name: "the finer settings",
        build: |room| {
            room.each([("ordered", 500.0), ("any", 600.0)], |completion| Labels {
                strategy: Some(format!("method=uring,depth=8,completion={completion}")),
                ..deep(64 * K, 8)
            });
        },
        begins: "Set completion=any in sequential reads from the device",
        holds: &["1.20× as fast as completion=ordered"],
        worth: 1.2,
        ..PLAIN
    },
    Case {
        name: "stream buffer",
        build: |room| {
            for (call, bare, small, large) in
                [(512, 50.0, 500.0, 505.0), (4 * K, 400.0, 400.0, 400.0), (64 * K, 900.0, 900.0, 900.0)]
            {
                let buffers = [("no buffer", bare), ("buffer 4K", small), ("buffer 64K", large)];
                room.each(buffers, |buffer| variant(read("buffered", call, Warm), buffer));
            }
        },
        begins: "Use a buffer of 4 KiB per stream for sequential reads from the page cache with buffered in calls of 512 B: 500 MB/s, ",
        holds: &["no gain for calls of 4 KiB or more"],
        worth: 10.0,
        ..PLAIN
    },
    Case {
        name: "disks",
        build: |room| {
            for (disks, rate) in [(1, 100.0), (2, 200.0), (3, 290.0), (4, 291.0)] {
                let labels = Labels { targets: Some(disks), ..read("direct", 64 * K, Cold) };
                room.add(variant(labels, "together"), rate);
                let alone = format!("disk {disks} alone");
                let labels = Labels { targets: Some(1), ..read("direct", 64 * K, Cold) };
                room.add(variant(labels, &alone), 100.0 + f64::from(disks));
            }
        },
        begins: "Spread sequential reads from the device with direct, 64 KiB over 3 disks: 290 MB/s, 2.90× as fast as 1 disk; no gain up to 4",
        worth: 2.9,
        ..PLAIN
    },
    Case {
        name: "streams that hinder one another",
        build: |room| {
            for (streams, rate) in [(1, 400.0), (2, 500.0), (8, 250.0)] {
                let cell =
                    room.add(Labels { streams: Some(streams), ..read("buffered", 64 * K, Cold) }, rate);
                for sample in &mut cell.samples {
                    sample.streams = (0..streams).map(|i| if i == 0 { 10e6 } else { 40e6 }).collect();
                }
            }
        },
        begins: "Run no more than 2 streams of sequential reads from the device with buffered, 64 KiB at once: 500 MB/s in total; 8 streams reach 250 MB/s, 50% less.",
        holds: &["The slowest of 8 gets 25% of the fastest."],
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
                room.add(labels, rate);
            }
        },
        begins: "With 256 MiB of memory and files of 512 MiB or more, use direct, 1 MiB for read: 400 MB/s, 4.00× as fast",
        holds: &["mmap, 1 MiB drops from 1.00 GB/s (files of 64 MiB) to 100 MB/s"],
        worth: 4.0,
        ..PLAIN
    },
    Case {
        name: "peers",
        build: |room| {
            room.add(read("direct", 64 * K, Cold), 500.0);
            room.add(Labels { peer: Some("fio".into()), ..read("direct", 64 * K, Cold) }, 600.0);
        },
        begins: "In sequential reads from the device at 64 KiB, fio is faster than fullbore: 600 MB/s, 1.20× as fast as fullbore (direct, 64 KiB)",
        worth: 1.2,
        ..PLAIN
    },
    Case {
        name: "the profile's entry",
        build: |room| {
            for (method, depth, rate) in [("buffered", 1, 300.0), ("uring", 8, 900.0)] {
                let strategy = Some(format!("method={method},depth={depth}"));
                let labels =
                    Labels { job: "read".into(), strategy, depth: Some(depth), ..read(method, M, Cold) };
                room.add(labels, rate);
            }
        },
        begins: "For “read, cold” use uring, 1 MiB, depth 8 (`method=uring,depth=8`): 900 MB/s, 3.00× as fast as buffered, 1 MiB",
        worth: 3.0,
        missing: 1,
        ..PLAIN
    },
];

const AUTO: (&str, &str, f64) = ("auto", "buffered", 1000.0);

/// Adds transformations by strategies, each with its method and rate.
fn transforms<const N: usize>(room: &mut Room, strategies: [(&str, &str, f64); N]) {
    room.each(strategies.map(|(strategy, method, rate)| ((strategy, method), rate)), |(strategy, method)| {
        Labels {
            request_bytes: Some(64 * K),
            cache: Some(Warm),
            file_state: Some("overwritten".into()),
            strategy: Some(strategy.into()),
            ..Labels::of("shift:10", method)
        }
    });
}
