//! A results document made from known laws: a storage with given limits, CPU costs and faults.
#![allow(dead_code, unreachable_pub)]

pub mod full;

use fullbore_bench::analysis::findings;
use fullbore_bench::document::{
    Audit, CacheState, Cell, Device, Document, EngineFact, Environment, FileSystem, Labels, Latency, Phases,
    Proof, Run, Sample, StopReason, SummaryOptions,
};
use fullbore_bench::stats::{Bootstrap, Course, Estimate, Stretch, Xoshiro256};

/// The properties of a path of the synthetic machine.
#[derive(Clone, Copy)]
pub struct Law {
    /// Seconds per request beyond the transfer time.
    pub fixed_s: f64,
    /// Bytes per second for large requests.
    pub bps: f64,
    /// CPU seconds per request.
    pub cpu_request_s: f64,
    /// CPU seconds per byte.
    pub cpu_byte_s: f64,
    /// Relative spread of the rate.
    pub noise: f64,
}

/// Cold direct reads of the synthetic disk: 1 / (150 µs + bytes / 1.4 GB/s), so half of the limit at 205 KiB.
pub const DIRECT_COLD: Law =
    Law { fixed_s: 150e-6, bps: 1.4e9, cpu_request_s: 9e-6, cpu_byte_s: 0.02e-9, noise: 0.02 };
/// Warm buffered reads.
pub const BUFFERED_WARM: Law =
    Law { fixed_s: 0.9e-6, bps: 11.5e9, cpu_request_s: 0.9e-6, cpu_byte_s: 0.085e-9, noise: 0.015 };

const FILE: u64 = 1 << 30;
pub const REQUESTS: [u64; 6] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// The variant of a cell of continuous transfer.
const CONTINUOUS: &str = "continuous";

struct Maker {
    rng: Xoshiro256,
    clock: f64,
    document: Document,
}

impl Maker {
    fn new(seed: u64, document: Document) -> Self {
        Self { rng: Xoshiro256::seeded(seed), clock: 0.0, document }
    }

    /// A sample, with the phases of a ring's requests, the rates of streams and the course of a continuous transfer.
    fn sample(&mut self, law: Law, labels: &Labels, round: u32) -> Sample {
        let bytes = labels.request_bytes.unwrap_or(1 << 20);
        let request = bytes as f64;
        let depth = f64::from(labels.depth.unwrap_or(1));
        let noise = 1.0 + law.noise * self.rng.normal();
        let rate = (request / (law.fixed_s / depth + request / law.bps)).min(law.bps) * noise;
        let rate = labels.load_per_s.map_or(rate, |load| rate.min(load as f64 * request));
        let count = (rate * 0.25 / request).max(40.0).round();
        let seconds = count * request / rate;
        let cpu = count * (law.cpu_request_s + law.cpu_byte_s * request) * (1.0 + 0.01 * self.rng.normal());
        self.clock += seconds;
        let is_cold = labels.cache == Some(CacheState::Cold);
        let each = seconds * depth / count;
        // The share of the device that a set load uses.
        let used = labels.load_per_s.map_or(0.3, |load| (load as f64 * request / law.bps).min(0.97));
        let streams = labels.streams.or(labels.targets).unwrap_or(0);
        let share = |i: u32| {
            let count = f64::from(streams);
            rate / count * (1.0 + 0.3 * f64::from(i) / count) / 1.15
        };
        Sample {
            round,
            start_s: self.clock,
            bytes: count as u64 * bytes,
            seconds,
            requests: count as u64,
            user_s: 0.15 * cpu,
            system_s: 0.85 * cpu,
            uncharged_s: Some(0.08 * cpu),
            minor_faults: Some(12),
            major_faults: Some(0),
            cached_before_bytes: Some(if is_cold { 0 } else { FILE }),
            cached_after_bytes: Some(if labels.method == "direct" { 0 } else { FILE }),
            cache_total_bytes: Some(FILE),
            device_read_bytes: Some(if is_cold { count as u64 * bytes } else { 0 }),
            device_written_bytes: Some(0),
            depth_mean: Some(depth * 0.98),
            latency: Some(Latency {
                p50_s: each,
                p90_s: each * (0.9 + used),
                p99_s: each * (1.2 + 0.5 / (1.0 - used)),
                p999_s: each * (1.0 + 2.0 / (1.0 - used)),
                max_s: 1.0,
            }),
            phases: (labels.method == "uring").then(|| Phases {
                submit_s: 1.2e-6 * count * noise,
                queue_s: Some(4.0e-6 * count * depth * noise),
                device_s: Some((law.fixed_s + request / law.bps) * count),
                complete_s: 2.3e-6 * count * noise,
                device_requests: (count * (request / 131_072.0).ceil()) as u64,
                merges: 3,
                splits: (count * ((request / 131_072.0).ceil() - 1.0)) as u64,
                device_request_bytes: request.min(131_072.0),
            }),
            streams: (0..streams).map(share).collect(),
            course: (labels.variant.as_deref() == Some(CONTINUOUS)).then(|| course(rate)),
            proof: Proof::Confirmed,
            ..Sample::default()
        }
    }

    fn cell(&mut self, experiment: &str, labels: Labels, law: Law, samples: u32) -> &mut Cell {
        let id = format!("{experiment}/{:02}", self.document.cells.len());
        let mut cell = Cell::new(id, experiment, labels);
        cell.samples = (0..samples).map(|round| self.sample(law, &cell.labels, round)).collect();
        self.document.cells.push(cell);
        self.document.cells.last_mut().expect("just pushed")
    }

    /// Summarises the cells; one of some cells was not measured to the end.
    fn finish(self, one_of: usize) -> Document {
        let mut document = self.document;
        for (i, cell) in document.cells.iter_mut().enumerate() {
            let stop = if i % one_of == 4 { StopReason::TimeUp } else { StopReason::Precise };
            cell.summarise(&SummaryOptions {
                stop,
                null_request_s: Some(48e-9),
                ..SummaryOptions::default()
            });
        }
        document.findings = findings(&document.cells, &document.experiments, &Bootstrap::default());
        document
    }
}

/// Four seconds at three times the sustained rate, then six at that rate; two idle seconds regain half of the credit, four
/// the whole credit.
fn course(rate: f64) -> Course {
    let slices = |seconds: f64, factor: f64| vec![(rate * factor * 0.05) as u64; (seconds / 0.05) as usize];
    let stretch =
        |idle_s, burst, rest| Stretch { idle_s, bytes: [slices(burst, 3.0), slices(rest, 1.0)].concat() };
    let stretches = vec![stretch(0.0, 4.0, 6.0), stretch(2.0, 2.0, 3.0), stretch(4.0, 4.0, 5.0)];
    Course { slice_s: 0.05, round_s: 0.5, stretches }
}

fn text<'a, T: From<&'a str>>(value: &'a str) -> Option<T> {
    Some(value.into())
}

fn labels(operation: &str, method: &str) -> Labels {
    Labels {
        depth: Some(1),
        workers: Some(1),
        model: text("serial"),
        order: text("sequential"),
        ..Labels::of(operation, method)
    }
}

/// The document: about sixty cells of the quick run, one of them bimodal, one drifting, one with a contradicted
/// sample, one limited by the meter, two skipped.
pub fn document() -> Document {
    let mut maker = Maker::new(1997, Document::new(run(), environment()));
    sequential(&mut maker);
    asynchronous(&mut maker);
    transforms(&mut maker);
    maker.document.run.duration_s = maker.clock;
    let mut document = maker.finish(9);
    let bound = document.cells.iter().filter(|c| c.summary.as_ref().is_some_and(|s| s.tool_bound));
    document.audit = Audit {
        null_request_s: Some(Estimate { value: 48e-9, low: 46e-9, high: 51e-9 }),
        clock_s: Some(21e-9),
        findings: vec!["another process used 3 % of the processors during the run".into()],
        tool_bound: bound.map(|c| c.id.clone()).collect(),
    };
    document
}

fn sequential(maker: &mut Maker) {
    let read = |method: &str, request: u64, cache: CacheState| Labels {
        job: "sequential read".into(),
        request_bytes: Some(request),
        cache: Some(cache),
        ..labels("read", method)
    };
    let mapped = Law { fixed_s: 0.4e-6, bps: 6.2e9, cpu_request_s: 0.4e-6, cpu_byte_s: 0.16e-9, noise: 0.03 };
    let buffered_cold =
        Law { fixed_s: 2e-6, bps: 1.25e9, cpu_request_s: 1.6e-6, cpu_byte_s: 0.19e-9, noise: 0.05 };
    let mapped_cold =
        Law { fixed_s: 3e-6, bps: 0.92e9, cpu_request_s: 0.9e-6, cpu_byte_s: 0.31e-9, noise: 0.05 };
    for (method, cache, law) in [
        ("buffered", CacheState::Warm, BUFFERED_WARM),
        ("mmap", CacheState::Warm, mapped),
        ("buffered", CacheState::Cold, buffered_cold),
        ("mmap", CacheState::Cold, mapped_cold),
        ("direct", CacheState::Cold, DIRECT_COLD),
    ] {
        for request in REQUESTS {
            let cell = maker.cell("read", read(method, request, cache), law, 10);
            if method == "direct" && request == 4 << 20 {
                // In bursts, as of a limited host.
                for (i, sample) in cell.samples.iter_mut().enumerate() {
                    sample.seconds /= if i % 2 == 0 { 1.0 } else { 1.9 };
                }
            }
            if method == "buffered" && cache == CacheState::Cold && request == 1 << 20 {
                cell.samples[3].proof = Proof::Contradicted {
                    reason: "61 % of the file was in the page cache, asked cold".into(),
                };
                cell.samples[3].seconds /= 4.0;
            }
        }
    }
    let refused = "the file system refuses RWF_DONTCACHE (EOPNOTSUPP) <needs ext4 or XFS & kernel 6.14>";
    for (id, request) in [("read/skip-1", 65536), ("read/skip-2", 262_144)] {
        let labels = read("uncached", request, CacheState::Cold);
        maker.document.cells.push(Cell::skipped(id, "read", labels, refused));
    }
    let written =
        Law { fixed_s: 1.6e-6, bps: 2.4e9, cpu_request_s: 1.5e-6, cpu_byte_s: 0.33e-9, noise: 0.06 };
    let direct = Law { fixed_s: 210e-6, bps: 0.9e9, cpu_request_s: 14e-6, cpu_byte_s: 0.03e-9, noise: 0.04 };
    for (method, law) in [("buffered", written), ("mmap", Law { bps: 1.7e9, ..written }), ("direct", direct)]
    {
        for request in REQUESTS {
            let labels = Labels {
                job: "sequential write".into(),
                operation: "write".into(),
                allocation: Some("fallocate".into()),
                file_state: Some("preallocated".into()),
                cache: None,
                ..read(method, request, CacheState::Warm)
            };
            let cell = maker.cell("write", labels, law, 10);
            if method == "buffered" && request == 256 << 10 {
                for (i, sample) in cell.samples.iter_mut().enumerate() {
                    sample.seconds *= 1.0 + 0.06 * i as f64;
                }
            }
        }
    }
}

fn asynchronous(maker: &mut Maker) {
    let ring = Law { fixed_s: 140e-6, bps: 2.3e9, cpu_request_s: 5e-6, cpu_byte_s: 0.02e-9, noise: 0.03 };
    for (experiment, order, request) in [("depth", "sequential", 65536u64), ("random", "random", 4096)] {
        for (method, depths) in [("uring", &[1u32, 3, 8, 32][..]), ("aio", &[1, 3, 8, 32]), ("direct", &[1])]
        {
            for &depth in depths {
                let labels = Labels {
                    job: format!("{order} read of {}", if request == 4096 { "4 KiB" } else { "64 KiB" }),
                    request_bytes: Some(request),
                    depth: Some(depth),
                    model: None,
                    cache: Some(CacheState::Cold),
                    cache_policy: text("direct"),
                    order: text(order),
                    ..labels("read", method)
                };
                let slower = if method == "aio" { 1.15 } else { 1.0 };
                let law = Law {
                    fixed_s: ring.fixed_s * slower,
                    cpu_request_s: ring.cpu_request_s * slower,
                    ..ring
                };
                maker.cell(experiment, labels, law, 10);
            }
        }
    }
}

fn transforms(maker: &mut Maker) {
    for (strategy, method, rate, cpu) in [
        ("cci", "buffered", 2.9e9, 0.34e-9),
        ("cci-stdio", "stdio", 2.2e9, 0.45e-9),
        ("cci-mm", "mmap", 4.8e9, 0.21e-9),
        ("cci-mt", "buffered", 10.4e9, 0.19e-9),
        ("cci-tp", "buffered", 10.6e9, 0.19e-9),
        ("cci-ov", "uring", 1.9e9, 0.41e-9),
        ("cci-ex", "uring", 2.6e9, 0.38e-9),
        ("cci-mtmm", "mmap", 7.7e9, 0.26e-9),
        ("cci-mmtp", "mmap", 7.5e9, 0.26e-9),
        ("method=buffered,request=256K,workers=2", "buffered", 10.9e9, 0.18e-9),
    ] {
        let labels = Labels {
            job: "transform".into(),
            request_bytes: Some(256 << 10),
            workers: Some(2),
            model: None,
            cache: Some(CacheState::Warm),
            file_state: text("existing"),
            order: None,
            strategy: text(strategy),
            ..labels("shift:10", method)
        };
        let law = Law { fixed_s: 0.0, bps: rate, cpu_request_s: 1e-6, cpu_byte_s: cpu, noise: 0.03 };
        maker.cell("transform", labels, law, 10);
    }
    memory(maker, 10);
}

fn memory(maker: &mut Maker, samples: u32) {
    let labels = Labels { request_bytes: Some(64 << 20), workers: Some(2), ..Labels::of("copy", "memory") };
    let roof = Law { fixed_s: 0.0, bps: 14.2e9, cpu_request_s: 0.0, cpu_byte_s: 0.14e-9, noise: 0.01 };
    maker.cell("memory", labels, roof, samples);
}

pub fn run() -> Run {
    Run {
        started: "2026-03-14T09:26:53Z".into(),
        fullbore_version: "0.1.0".into(),
        command: ["fullbore", "bench", "--dir", "/srv/data <main>", "--time", "90"]
            .map(String::from)
            .to_vec(),
        seed: 1997,
        directory: "/srv/data <main>".into(),
        file_bytes: FILE,
        complete: true,
        notes: vec!["write-cache state of the device needs root: not shown".into()],
        ..Run::default()
    }
}

pub fn environment() -> Environment {
    let queue = [
        ("scheduler", "none"),
        ("read_ahead_kb", "128"),
        ("max_sectors_kb", "1280"),
        ("write_cache", "write back"),
    ];
    let engine = |name: &str, reason: Option<&str>| EngineFact {
        name: name.into(),
        available: reason.is_none(),
        reason: reason.map(String::from),
    };
    Environment {
        kernel: "Linux 6.18.3 #1 SMP".into(),
        cpu_model: "Generic x86-64 processor at 2.9 GHz".into(),
        logical_cpus: 2,
        cpu_quota: Some(2.0),
        memory_bytes: Some(24 << 30),
        file_system: FileSystem {
            kind: "ext4".into(),
            mount_point: "/srv".into(),
            options: "rw,relatime,discard".into(),
            source: "/dev/vda1".into(),
        },
        devices: vec![Device {
            name: "vda".into(),
            model: None,
            rotational: Some(false),
            queue: queue.into_iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        }],
        engines: vec![
            engine("buffered", None),
            engine("direct", None),
            engine("mmap", None),
            engine("uring", None),
            engine("uncached", Some("RWF_DONTCACHE: EOPNOTSUPP")),
        ],
        facts: serde_json::json!({
            "machine": {
                "architecture": "x86_64", "governor": "performance", "page_size": 4096, "memory_total": 24u64 << 30,
                "memory_limit": null, "lockable": 8 << 20, "allowed_processors": 2, "virtualisation": null,
                "memory_available": 12u64 << 30
            },
            "path": {
                "file_system": {"block_size": 4096, "id": "aa", "network": false, "available": 1u64 << 38},
                "direct": {"works": true, "alignment": {"memory": 512, "offset": 512}},
                "devices": [{
                    "name": "vda", "number": "254:0", "model": "A drive", "transport": "nvme/pcie", "size": 1u64 << 39,
                    "queue_depth": 1023, "backing_file": null, "serial": null, "partition": {"start": 1048576},
                    "queue": {"scheduler": "none", "read_ahead": 131072},
                    "backed_by": []
                }]
            }
        }),
    }
}
