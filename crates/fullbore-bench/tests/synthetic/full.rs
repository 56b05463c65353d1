//! A results document of the size of the full set: some 600 cells of every experiment, eight samples each, with phases,
//! streams, latencies at a set load, the pipeline, advice and rules.

use fullbore_bench::document::{
    Advice, Axis, CacheState, Confidence, Document, EarlierFinding, Experiment, Figure, Labels, Pipeline,
    Rule, RuleVerdict, Stage,
};
use fullbore_bench::stats::Estimate;

use super::{CONTINUOUS, Law, Maker, REQUESTS, labels, text};

pub const SAMPLES: u32 = 8;

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
    fn add(&mut self, experiment: &str, labels: Labels, bps: f64, fixed_s: f64) {
        let law = Law { fixed_s, bps, cpu_request_s: 1.1e-6, cpu_byte_s: 0.09e-9, noise: 0.005 };
        self.cell(experiment, labels, law, SAMPLES);
    }
}

pub fn document() -> Document {
    let mut base = super::document();
    base.cells.clear();
    base.run.sets = vec![("full".into(), "[[experiment]]\nname = 'interfaces'\n".into())];
    let mut maker = Maker::new(2026, base);
    by_request(&mut maker);
    along_others(&mut maker);
    side_by_side(&mut maker);
    continuous(&mut maker);
    let mut document = maker.finish(7);
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
                for request in REQUESTS {
                    let labels = Labels {
                        job: format!("{order} read"),
                        request_bytes: Some(request),
                        cache: Some(cache),
                        order: text(order),
                        ..labels("read", method)
                    };
                    maker.add("interfaces", labels, peak / penalty, fixed * slower * penalty);
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
            for request in REQUESTS {
                let written = operation == "write";
                let labels = Labels {
                    request_bytes: Some(request),
                    file_state: written.then(|| state.into()),
                    variant: (!written).then(|| format!("pass {state}")),
                    flush: written.then_some(true),
                    ..labels(operation, "buffered")
                };
                maker.add(name, labels, 2.4e9 * factor, 3e-6);
            }
        }
    }
    maker.experiment("phases", "Where a request’s time goes", Axis::Request, &[Figure::Phases, Figure::Rate]);
    for request in REQUESTS {
        let labels =
            Labels { request_bytes: Some(request), cache: Some(CacheState::Cold), ..labels("read", "uring") };
        maker.add("phases", labels, 2.3e9, 140e-6);
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
            maker.add("depth", Labels { depth: Some(depth), ..cold(method) }, 2.3e9, 140e-6 * slower);
            let random = Labels {
                depth: Some(depth),
                request_bytes: Some(4096),
                order: text("random"),
                ..cold(method)
            };
            maker.add("seek", random, 2.3e9, 140e-6 * slower);
        }
        for offset in [0i64, 512, -512, 4096, 65536] {
            let labels = Labels { offset_bytes: Some(offset), ..cold(method) };
            maker.add("align", labels, if offset == 0 { 2.2e9 } else { 1.6e9 } / slower, 80e-6);
        }
        for power in 26..=35 {
            let labels = Labels { file_bytes: Some(1 << power), ..labels("read", method) };
            let limited = Labels { memory_limit_bytes: Some(1 << 30), ..labels.clone() };
            maker.add("file-size", limited, if power > 29 { 1.1e9 } else { 9.0e9 } / slower, 2e-6);
            maker.add("file-size", labels, if power > 33 { 1.2e9 } else { 9.0e9 } / slower, 2e-6);
        }
    }
    for disks in 1..=4u32 {
        let total = [0.0, 0.5e9, 1.0e9, 1.45e9, 1.46e9][disks as usize];
        maker.add("devices", Labels { targets: Some(disks), ..cold("uring") }, total, 1e-6);
    }
    for streams in [1, 2, 4, 8, 16] {
        maker.add("streams", Labels { streams: Some(streams), ..cold("uring") }, 2.1e9, 20e-6);
    }
    for load in [500, 1000, 2000, 4000, 8000, 16_000] {
        let labels = Labels { load_per_s: Some(load), request_bytes: Some(4096), ..cold("uring") };
        maker.add("latency", labels, 40e6, 1e-6);
    }
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
        maker.add("sustained", labels, 1e8, 1e-6);
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
            maker.add(name, labels, peak, fixed);
        }
    }
    maker.experiment("pipeline", "The storage pipeline", Axis::None, &[Figure::Pipeline]);
    maker.experiment("memory", "Memory", Axis::None, &[]);
    super::memory(maker, SAMPLES);
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
