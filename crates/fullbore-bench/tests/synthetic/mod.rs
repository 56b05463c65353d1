//! A results document made from known laws: a storage with given limits, CPU costs and faults.
#![allow(dead_code, unreachable_pub)]

use fullbore_bench::analysis::findings;
use fullbore_bench::document::{
    Audit, CacheState, Cell, Device, Document, EngineFact, Environment, FileSystem, Labels, Latency, Proof,
    Run, Sample, StopReason, SummaryOptions,
};
use fullbore_bench::stats::{Bootstrap, Estimate, Xoshiro256};

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

struct Maker {
    rng: Xoshiro256,
    clock: f64,
    cells: Vec<Cell>,
}

impl Maker {
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.rng.unit()).cos()
    }

    fn samples(&mut self, law: Law, labels: &Labels, n: u32) -> Vec<Sample> {
        let request = labels.request_bytes.unwrap_or(1 << 20);
        let depth = f64::from(labels.depth.unwrap_or(1));
        (0..n)
            .map(|round| {
                let noise = 1.0 + law.noise * self.normal();
                let iops = 1.0 / (law.fixed_s / depth + request as f64 / law.bps);
                let rate = (iops * request as f64).min(law.bps) * noise;
                let requests = (rate * 0.25 / request as f64).max(40.0).round() as u64;
                let bytes = requests * request;
                let seconds = bytes as f64 / rate;
                let cpu = requests as f64
                    * (law.cpu_request_s + law.cpu_byte_s * request as f64)
                    * (1.0 + 0.01 * self.normal());
                self.clock += seconds;
                let cold = labels.cache == Some(CacheState::Cold);
                Sample {
                    round,
                    start_s: self.clock,
                    bytes,
                    seconds,
                    requests,
                    user_s: 0.15 * cpu,
                    system_s: 0.85 * cpu,
                    uncharged_s: Some(0.08 * cpu),
                    minor_faults: Some(12),
                    major_faults: Some(0),
                    cached_before_bytes: Some(if cold { 0 } else { FILE }),
                    cached_after_bytes: Some(if labels.method == "direct" { 0 } else { FILE }),
                    cache_total_bytes: Some(FILE),
                    device_read_bytes: Some(if cold { bytes } else { 0 }),
                    device_written_bytes: Some(0),
                    depth_mean: Some(depth * 0.98),
                    latency: Some(Latency {
                        p50_s: seconds / requests as f64,
                        p90_s: 1.2 * seconds / requests as f64,
                        p99_s: 1.9 * seconds / requests as f64,
                        p999_s: 4.0 * seconds / requests as f64,
                        max_s: 9.0 * seconds / requests as f64,
                    }),
                    proof: Proof::Confirmed,
                    ..Sample::default()
                }
            })
            .collect()
    }

    fn cell(&mut self, experiment: &str, labels: Labels, law: Law) -> &mut Cell {
        let id = format!("{experiment}/{:02}", self.cells.len());
        let mut cell = Cell::new(id, experiment, labels);
        cell.samples = self.samples(law, &cell.labels, 10);
        self.cells.push(cell);
        self.cells.last_mut().expect("just pushed")
    }
}

/// The document: about sixty cells of the quick run, one of them two-humped, one drifting, one with a contradicted
/// sample, one limited by the meter, two skipped.
pub fn document() -> Document {
    let mut maker = Maker { rng: Xoshiro256::seeded(1997), clock: 0.0, cells: Vec::new() };
    sequential(&mut maker);
    asynchronous(&mut maker);
    transforms(&mut maker);
    let mut document = Document::new(run(maker.clock), environment());
    document.audit = Audit {
        null_request_s: Some(Estimate { value: 48e-9, low: 46e-9, high: 51e-9 }),
        clock_s: Some(21e-9),
        findings: vec!["another process used 3 % of the processors during the run".into()],
        tool_bound: Vec::new(),
    };
    document.cells = maker.cells;
    for (i, cell) in document.cells.iter_mut().enumerate() {
        let stop = if i % 9 == 4 { StopReason::TimeUp } else { StopReason::Precise };
        cell.summarise(&SummaryOptions { stop, null_request_s: Some(48e-9), ..SummaryOptions::default() });
    }
    let bound = document.cells.iter().filter(|c| c.summary.as_ref().is_some_and(|s| s.tool_bound));
    document.audit.tool_bound = bound.map(|c| c.id.clone()).collect();
    document.findings = findings(&document.cells, &[], &Bootstrap::default());
    document
}

fn sequential(maker: &mut Maker) {
    let read = |method: &str, request: u64, cache: CacheState| Labels {
        job: "sequential read".into(),
        operation: "read".into(),
        method: method.into(),
        request_bytes: Some(request),
        depth: Some(1),
        workers: Some(1),
        model: Some("serial".into()),
        cache: Some(cache),
        order: Some("sequential".into()),
        ..Labels::default()
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
            let cell = maker.cell("read", read(method, request, cache), law);
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
    maker.cells.push(Cell::skipped(
        "read/skip-1",
        "read",
        read("uncached", 65536, CacheState::Cold),
        refused,
    ));
    maker.cells.push(Cell::skipped(
        "read/skip-2",
        "read",
        read("uncached", 262_144, CacheState::Cold),
        refused,
    ));
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
            let cell = maker.cell("write", labels, law);
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
                    operation: "read".into(),
                    method: method.into(),
                    request_bytes: Some(request),
                    depth: Some(depth),
                    workers: Some(1),
                    cache: Some(CacheState::Cold),
                    cache_policy: Some("direct".into()),
                    order: Some(order.into()),
                    ..Labels::default()
                };
                let slower = if method == "aio" { 1.15 } else { 1.0 };
                let law = Law {
                    fixed_s: ring.fixed_s * slower,
                    cpu_request_s: ring.cpu_request_s * slower,
                    ..ring
                };
                maker.cell(experiment, labels, law);
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
            operation: "shift:10".into(),
            method: method.into(),
            request_bytes: Some(256 << 10),
            depth: Some(1),
            workers: Some(2),
            cache: Some(CacheState::Warm),
            file_state: Some("existing".into()),
            strategy: Some(strategy.into()),
            ..Labels::default()
        };
        maker.cell(
            "transform",
            labels,
            Law { fixed_s: 0.0, bps: rate, cpu_request_s: 1e-6, cpu_byte_s: cpu, noise: 0.03 },
        );
    }
    let labels =
        Labels { operation: "copy".into(), method: "memory".into(), workers: Some(2), ..Labels::default() };
    let roof = Law { fixed_s: 0.0, bps: 14.2e9, cpu_request_s: 0.0, cpu_byte_s: 0.14e-9, noise: 0.01 };
    maker.cell("memory", Labels { request_bytes: Some(64 << 20), ..labels }, roof);
}

fn run(duration_s: f64) -> Run {
    Run {
        started: "2026-03-14T09:26:53Z".into(),
        duration_s,
        fullbore_version: "0.1.0".into(),
        command: ["fullbore", "bench", "--dir", "/srv/data <main>", "--time", "90"]
            .map(String::from)
            .to_vec(),
        seed: 1997,
        directory: "/srv/data <main>".into(),
        file_bytes: FILE,
        complete: true,
        interrupted: false,
        notes: vec!["write-cache state of the device needs root: not shown".into()],
        ..Run::default()
    }
}

fn environment() -> Environment {
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
        facts: serde_json::json!({ "direct_alignment": { "memory": 512, "offset": 512 } }),
    }
}
