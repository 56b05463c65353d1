//! A results document of the size of the full set: some 600 cells of every experiment, eight samples each, with phases,
//! streams, latencies at a set load, the pipeline, advice and rules.
#![allow(dead_code, unreachable_pub)]

use fullbore_bench::analysis::findings;
use fullbore_bench::document::{
    Advice, Axis, CacheState, Cell, Confidence, Document, EarlierFinding, Experiment, Figure, Labels,
    Latency, Phases, Pipeline, Proof, Rule, RuleVerdict, Sample, Stage, StopReason, SummaryOptions,
};
use fullbore_bench::stats::{Bootstrap, Course, Estimate, Stretch, Xoshiro256};

pub const SAMPLES: u32 = 8;
const SIZES: [u64; 6] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const FILE: u64 = 1 << 30;

struct Maker {
    rng: Xoshiro256,
    clock: f64,
    document: Document,
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

impl Maker {
    fn experiment(&mut self, name: &str, title: &str, axis: Axis, figures: &[Figure]) {
        self.document.experiments.push(Experiment {
            name: name.into(),
            title: title.into(),
            note: "Every cell of the grid moves the same bytes with another method.".into(),
            axis,
            question: format!("{title}: what throughput does an application get, at what cost?"),
            then: vec![EarlierFinding {
                year: 1997,
                source: "Riedel, van Ingen and Gray, figure 3".into(),
                found: "The half-power request was 8 KB; a request took 120 µs of CPU time.".into(),
            }],
            figures: figures.to_vec(),
        });
    }

    /// A cell with a peak rate in bytes per second; a request takes `fixed_s` beside its bytes.
    fn cell(&mut self, experiment: &str, labels: Labels, peak: f64, fixed_s: f64) {
        let number = self.document.cells.len();
        let id = format!("{experiment}/{}/method={},number={number}", labels.operation, labels.method);
        let mut cell = Cell::new(id, experiment, labels);
        cell.samples = (0..SAMPLES).map(|round| self.sample(&cell.labels, round, peak, fixed_s)).collect();
        let stop = if number % 7 == 3 { StopReason::TimeUp } else { StopReason::Precise };
        cell.summarise(&SummaryOptions { stop, null_request_s: Some(48e-9), ..SummaryOptions::default() });
        self.document.cells.push(cell);
    }

    fn sample(&mut self, labels: &Labels, round: u32, peak: f64, fixed_s: f64) -> Sample {
        let unit = self.rng.unit();
        let noise = 1.0 + 0.04 * (unit - 0.5);
        let request = labels.request_bytes.unwrap_or(256 << 10) as f64;
        let depth = f64::from(labels.depth.unwrap_or(1));
        let rate = (request / (fixed_s / depth + request / peak)).min(peak) * noise;
        let rate = labels.load_per_s.map_or(rate, |load| rate.min(load as f64 * request));
        let seconds = 0.25 + 0.05 * self.rng.unit();
        let requests = (rate * seconds / request).ceil().max(1.0);
        let bytes = requests * request;
        let seconds = bytes / rate;
        let each = depth * seconds / requests;
        let used = labels.load_per_s.map_or(0.3, |load| (load as f64 * request / peak).min(0.97));
        let cpu = requests * (1.1e-6 + request * 0.09e-9) * noise;
        self.clock += seconds;
        let cold = labels.cache == Some(CacheState::Cold);
        let streams = labels.streams.or(labels.targets).unwrap_or(0);
        let share =
            |i: u32| rate / f64::from(streams) * (1.0 + 0.3 * f64::from(i) / f64::from(streams)) / 1.15;
        Sample {
            round,
            start_s: self.clock,
            bytes: bytes as u64,
            seconds,
            requests: requests as u64,
            user_s: 0.17 * cpu,
            system_s: 0.83 * cpu,
            uncharged_s: Some(0.09 * cpu * self.rng.unit()),
            minor_faults: Some(10 + u64::from(round)),
            major_faults: Some(0),
            cached_before_bytes: Some(if cold { 0 } else { FILE }),
            cached_after_bytes: Some(if labels.method == "direct" { 0 } else { FILE }),
            cache_total_bytes: Some(FILE),
            device_read_bytes: Some(if cold { bytes as u64 } else { 4096 * u64::from(round) }),
            device_written_bytes: Some(8192),
            depth_mean: Some(depth * (0.97 + 0.02 * unit)),
            latency: Some(Latency {
                p50_s: each * noise,
                p90_s: each * (1.1 + used) * noise,
                p99_s: each * (1.5 + 0.5 / (1.0 - used)) * noise,
                p999_s: each * (3.0 + 2.0 / (1.0 - used)) * noise,
                max_s: each * 30.0 * unit,
            }),
            phases: (labels.method == "uring").then(|| Phases {
                submit_s: 1.2e-6 * requests * noise,
                queue_s: Some(4.0e-6 * requests * depth * noise),
                device_s: Some((fixed_s + request / peak) * requests),
                complete_s: 2.3e-6 * requests * noise,
                device_requests: (requests * (request / 131_072.0).ceil()) as u64,
                merges: 3,
                splits: (requests * ((request / 131_072.0).ceil() - 1.0)) as u64,
                device_request_bytes: request.min(131_072.0),
            }),
            streams: (0..streams).map(share).collect(),
            course: (labels.variant.as_deref() == Some(CONTINUOUS)).then(|| course(rate)),
            proof: Proof::Confirmed,
            ..Sample::default()
        }
    }
}

fn labels(operation: &str, method: &str) -> Labels {
    Labels {
        operation: operation.into(),
        method: method.into(),
        depth: Some(1),
        workers: Some(1),
        model: text("serial"),
        order: text("sequential"),
        ..Labels::default()
    }
}

pub fn document() -> Document {
    let mut base = super::synthetic::document();
    base.cells.clear();
    base.run.sets = vec![("full".into(), "[[experiment]]\nname = 'interfaces'\n".into())];
    let mut maker = Maker { rng: Xoshiro256::seeded(2026), clock: 0.0, document: base };
    by_request(&mut maker);
    along_others(&mut maker);
    side_by_side(&mut maker);
    continuous(&mut maker);
    let mut document = maker.document;
    document.findings = findings(&document.cells, &document.experiments, &Bootstrap::default());
    document.findings.pipeline = Some(pipeline());
    advise(&mut document);
    document
}

const METHODS: [(&str, f64, f64); 9] = [
    ("buffered", 11.5e9, 0.9e-6),
    ("mmap", 6.2e9, 0.4e-6),
    ("direct", 1.4e9, 150e-6),
    ("uring", 2.3e9, 140e-6),
    ("uncached", 1.3e9, 4e-6),
    ("stdio", 7.9e9, 1.1e-6),
    ("std-fs", 9.9e9, 1.0e-6),
    ("tokio", 3.1e9, 14e-6),
    ("compio", 5.4e9, 6e-6),
];

fn by_request(maker: &mut Maker) {
    maker.experiment("interfaces", "Every interface, sequential and random", Axis::Request, &[]);
    for (order, slower) in [("sequential", 1.0), ("random", 2.5)] {
        for cache in [CacheState::Warm, CacheState::Cold] {
            for (method, peak, fixed) in METHODS {
                let penalty = if cache == CacheState::Cold { 6.0 } else { 1.0 };
                for request in SIZES {
                    let labels = Labels {
                        job: format!("{order} read"),
                        request_bytes: Some(request),
                        cache: Some(cache),
                        order: text(order),
                        ..labels("read", method)
                    };
                    maker.cell("interfaces", labels, peak / penalty, fixed * slower * penalty);
                }
            }
        }
    }
    for (name, title, operation) in [
        ("out-of-box", "Out of the box", "read"),
        ("unbuffered", "Unbuffered", "read"),
        ("overhead", "Overhead of a request", "read"),
        ("extend", "Extending while writing, by request size", "write"),
        ("block-size", "Block size of the classic copies", "read"),
        ("user-buffer", "Size of the user’s buffer", "read"),
        ("stream-buffer", "Size of the stream’s buffer", "read"),
        ("device-cache", "Cache of the device against prefetch", "read"),
    ] {
        maker.experiment(name, title, Axis::Request, &[Figure::Rate, Figure::CpuPerMb]);
        for (state, factor) in
            [("preallocated", 1.0), ("extended", 0.6), ("overwritten", 0.9), ("truncated", 0.7)]
        {
            for request in SIZES {
                let written = operation == "write";
                let labels = Labels {
                    request_bytes: Some(request),
                    file_state: written.then(|| state.to_owned()),
                    variant: (!written).then(|| format!("pass {state}")),
                    flush: written.then_some(true),
                    ..labels(operation, "buffered")
                };
                maker.cell(name, labels, 2.4e9 * factor, 3e-6);
            }
        }
    }
    maker.experiment("phases", "Where a request’s time goes", Axis::Request, &[Figure::Phases, Figure::Rate]);
    for request in SIZES {
        let labels =
            Labels { request_bytes: Some(request), cache: Some(CacheState::Cold), ..labels("read", "uring") };
        maker.cell("phases", labels, 2.3e9, 140e-6);
    }
}

fn along_others(maker: &mut Maker) {
    maker.experiment("depth", "Depth", Axis::Depth, &[]);
    maker.experiment("devices", "Disks added one by one", Axis::Targets, &[Figure::Rate, Figure::Fairness]);
    maker.experiment("align", "Alignment", Axis::Offset, &[]);
    maker.experiment("file-size", "Length of the file", Axis::File, &[]);
    maker.experiment("streams", "Competing streams", Axis::Streams, &[Figure::Rate, Figure::Fairness]);
    maker.experiment("latency", "Latency at a set rate", Axis::Load, &[Figure::Latency, Figure::Requests]);
    maker.experiment("seek", "Random requests", Axis::Depth, &[Figure::Requests, Figure::Latency]);
    let cold = |method: &str| Labels {
        cache: Some(CacheState::Cold),
        request_bytes: Some(65536),
        cache_policy: text("direct"),
        ..labels("read", method)
    };
    for (method, slower) in [("uring", 1.0), ("aio", 1.2), ("pool", 1.5)] {
        for depth in [1, 3, 8, 32] {
            maker.cell("depth", Labels { depth: Some(depth), ..cold(method) }, 2.3e9, 140e-6 * slower);
            let random = Labels {
                depth: Some(depth),
                request_bytes: Some(4096),
                order: text("random"),
                ..cold(method)
            };
            maker.cell("seek", random, 2.3e9, 140e-6 * slower);
        }
        for offset in [0i64, 512, -512, 4096, 65536] {
            let labels = Labels { offset_bytes: Some(offset), ..cold(method) };
            maker.cell("align", labels, if offset == 0 { 2.2e9 } else { 1.6e9 } / slower, 80e-6);
        }
        for power in 26..=35 {
            let labels = Labels { file_bytes: Some(1 << power), ..labels("read", method) };
            let limited = Labels { memory_limit_bytes: Some(1 << 30), ..labels.clone() };
            maker.cell("file-size", limited, if power > 29 { 1.1e9 } else { 9.0e9 } / slower, 2e-6);
            maker.cell("file-size", labels, if power > 33 { 1.2e9 } else { 9.0e9 } / slower, 2e-6);
        }
    }
    for disks in 1..=4u32 {
        let total = [0.0, 0.5e9, 1.0e9, 1.45e9, 1.46e9][disks as usize];
        maker.cell("devices", Labels { targets: Some(disks), ..cold("uring") }, total, 1e-6);
    }
    for streams in [1, 2, 4, 8, 16] {
        maker.cell("streams", Labels { streams: Some(streams), ..cold("uring") }, 2.1e9, 20e-6);
    }
    for load in [500, 1000, 2000, 4000, 8000, 16_000] {
        let labels = Labels { load_per_s: Some(load), request_bytes: Some(4096), ..cold("uring") };
        maker.cell("latency", labels, 40e6, 1e-6);
    }
}

/// The variant of a cell of continuous transfer.
const CONTINUOUS: &str = "continuous";

/// Four seconds at three times the sustained rate, then six at that rate; two idle seconds regain half of the credit, four
/// the whole credit.
fn course(rate: f64) -> Course {
    let slices = |seconds: f64, factor: f64| vec![(rate * factor * 0.05) as u64; (seconds / 0.05) as usize];
    let stretch =
        |idle_s, burst, rest| Stretch { idle_s, bytes: [slices(burst, 3.0), slices(rest, 1.0)].concat() };
    let stretches = vec![stretch(0.0, 4.0, 6.0), stretch(2.0, 2.0, 3.0), stretch(4.0, 4.0, 5.0)];
    Course { slice_s: 0.05, round_s: 0.5, stretches }
}

fn continuous(maker: &mut Maker) {
    maker.experiment("sustained", "Burst and sustained throughput", Axis::None, &[Figure::Course]);
    for (order, request) in [("sequential", 256 << 10), ("random", 4096)] {
        let labels = Labels {
            order: text(order),
            request_bytes: Some(request),
            variant: text(CONTINUOUS),
            ..labels("write", "uring")
        };
        maker.cell("sustained", labels, 1e8, 1e-6);
    }
}

fn side_by_side(maker: &mut Maker) {
    for (name, title, figures) in [
        ("strategies", "The classic strategies", &[][..]),
        ("fresh", "Fresh input, new output", &[]),
        ("utilities", "Utilities of this machine", &[]),
        ("scalar-simd", "Scalar against SIMD", &[]),
        ("hints", "Hints", &[]),
        ("sync-or-async", "Synchronous or asynchronous", &[Figure::Rate, Figure::Processors]),
        ("vectored", "Vectored requests", &[]),
        ("preallocate", "Preallocation", &[]),
        ("completion", "Detection of completion", &[Figure::Latency, Figure::CpuPerRequest]),
    ] {
        maker.experiment(name, title, Axis::None, figures);
        for i in 0..9u32 {
            let (method, peak, fixed) = METHODS[i as usize];
            let labels = Labels {
                variant: Some(format!("variant {}", i + 1)),
                cache: Some(CacheState::Warm),
                request_bytes: Some(262_144),
                peer: (name == "utilities" && i > 4).then(|| format!("peer-{i}")),
                ..labels("shift:10", method)
            };
            maker.cell(name, labels, peak, fixed);
        }
    }
    maker.experiment("pipeline", "The storage pipeline", Axis::None, &[Figure::Pipeline]);
    maker.experiment("memory", "Memory", Axis::None, &[]);
    maker.cell("memory", Labels { workers: Some(2), ..labels("copy", "memory") }, 14.2e9, 0.0);
}

fn pipeline() -> Pipeline {
    let stage = |name: &str, what: &str, advertised: Option<f64>, by: &str, real: Option<f64>| Stage {
        name: name.into(),
        what: what.into(),
        advertised,
        advertised_by: by.into(),
        real: real.map(|value| Estimate { value, low: value * 0.98, high: value * 1.02 }),
        cell: None,
    };
    Pipeline {
        stages: vec![
            stage("memory", "two channels of DDR4 at 3200 MT/s", Some(51.2e9), "dmidecode", Some(14.2e9)),
            stage("page cache", "copies of 256 KiB, two workers", None, "", Some(11.4e9)),
            stage("file system", "ext4 with a journal, new file preallocated", None, "", Some(2.4e9)),
            stage("link", "PCIe 3.0 x4", Some(3.94e9), "/sys/bus/pci, current_link_speed", None),
            stage(
                "device",
                "a drive of a model with quite a long name, 1 TB",
                Some(3.5e9),
                "data sheet",
                Some(1.9e9),
            ),
        ],
    }
}

fn advise(document: &mut Document) {
    let cell = document.cells[0].id.clone();
    let advice = |text: &str, experiment: &str, confidence, worth| Advice {
        text: text.into(),
        evidence: "Compared with 4 KiB on the same path: the intervals do not overlap.".into(),
        experiment: experiment.into(),
        cells: vec![cell.clone()],
        confidence,
        worth,
        setting: None,
        lead: confidence != Confidence::Low,
    };
    document.findings.advice = vec![
        advice(
            "Use requests of 256 KiB and 2 workers: 97% of the peak; 4 KiB takes 3.6 times the time.",
            "interfaces",
            Confidence::High,
            3.6,
        ),
        advice("Preallocate files that grow: 1.7 times the rate.", "extend", Confidence::Medium, 1.7),
        advice("Keep 8 requests in flight.", "depth", Confidence::Low, 1.2),
    ];
    let verdicts = [RuleVerdict::StillTrue, RuleVerdict::NoLongerTrue, RuleVerdict::NotTestable];
    document.findings.rules = (1..=10u8)
        .map(|number| Rule {
            number,
            rule: format!("Rule {number}: use large requests, and many in flight."),
            verdict: verdicts[usize::from(number) % 3],
            evidence: "Requests of 64 KiB reach 2.3 times the rate of 4 KiB (2.2 to 2.4).".into(),
            experiment: "depth".into(),
            cells: Vec::new(),
        })
        .collect();
}
