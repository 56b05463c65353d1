//! Results documents made from known laws: a storage with given limits, CPU costs and faults. The tables beside this file
//! describe their cells.
#![allow(dead_code, unreachable_pub)]

use fullbore_bench::analysis::findings;
use fullbore_bench::document::{
    Audit, CacheState, Cell, Document, Environment, Experiment, Findings, Labels, Latency, Phases, Proof,
    Run, Sample, StopReason, SummaryOptions,
};
use fullbore_bench::stats::{Course, Stretch, Xoshiro256};
use serde::Deserialize;
use toml::{Table, Value};

const QUICK: &str = include_str!("quick.toml");

/// The properties of a path of the synthetic machine.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Law {
    /// Seconds per request beyond the transfer time.
    fixed_s: f64,
    /// Bytes per second for large requests.
    bps: f64,
    /// CPU seconds per request.
    cpu_request_s: f64,
    /// CPU seconds per byte.
    cpu_byte_s: f64,
    /// Relative spread of the rate.
    noise: f64,
}

const FILE: u64 = 1 << 30;

/// The run of all documents.
#[derive(Deserialize)]
struct Described {
    run: Run,
    environment: Environment,
    audit: Audit,
}

/// The cells of a document, and findings that do not follow from them.
#[derive(Deserialize)]
struct Cells {
    seed: u64,
    samples: u32,
    /// One of so many cells is not measured to the end.
    time_up_one_in: usize,
    #[serde(default)]
    sets: Vec<(String, String)>,
    experiments: Vec<Table>,
    #[serde(default)]
    every_experiment: Table,
    every_cell: Table,
    /// Grids of cells.
    cells: Vec<Table>,
    findings: Option<Findings>,
}

#[derive(Deserialize)]
struct CellSpec {
    experiment: String,
    /// The reason why it was not measured.
    skipped: Option<String>,
    #[serde(flatten)]
    law: Law,
    #[serde(flatten)]
    labels: Labels,
}

/// Every combination of the values in a grid's lists; a value that is a table stands for its fields.
fn combinations(every: &Table, grid: Table) -> Vec<Table> {
    let (lists, single): (Table, Table) = grid.into_iter().partition(|(_, value)| value.is_array());
    let mut all: Vec<Table> = vec![every.clone().into_iter().chain(single).collect()];
    for (key, values) in lists {
        let with = |table: &Table, value: &Value| {
            let mut table = table.clone();
            match value {
                Value::Table(fields) => table.extend(fields.clone()),
                value => drop(table.insert(key.clone(), value.clone())),
            }
            table
        };
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        all = all.iter().flat_map(|table| values.iter().map(|value| with(table, value))).collect();
    }
    all
}

struct Maker {
    rng: Xoshiro256,
    clock: f64,
}

impl Maker {
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
        // Clocks count nanoseconds.
        let clock = |seconds: f64| (seconds * 1e9).round() / 1e9;
        Sample {
            round,
            start_s: clock(self.clock),
            bytes: count as u64 * bytes,
            seconds,
            requests: count as u64,
            user_s: clock(0.15 * cpu),
            system_s: clock(0.85 * cpu),
            uncharged_s: Some(clock(0.08 * cpu)),
            minor_faults: Some(12),
            major_faults: Some(0),
            cached_before_bytes: Some(if is_cold { 0 } else { FILE }),
            cached_after_bytes: Some(if labels.method == "direct" { 0 } else { FILE }),
            cache_total_bytes: Some(FILE),
            device_read_bytes: Some(if is_cold { count as u64 * bytes } else { 0 }),
            device_written_bytes: Some(0),
            depth_mean: Some(depth * 0.98),
            latency: Some(Latency {
                p50_s: clock(each),
                p90_s: clock(each * (0.9 + used)),
                p99_s: clock(each * (1.2 + 0.5 / (1.0 - used))),
                p999_s: clock(each * (1.0 + 2.0 / (1.0 - used))),
                max_s: 1.0,
            }),
            phases: (labels.method == "uring").then(|| Phases {
                submit_s: clock(1.2e-6 * count * noise),
                queue_s: Some(clock(4.0e-6 * count * depth * noise)),
                device_s: Some(clock((law.fixed_s + request / law.bps) * count)),
                complete_s: clock(2.3e-6 * count * noise),
                device_requests: (count * (request / 131_072.0).ceil()) as u64,
                merges: 3,
                splits: (count * ((request / 131_072.0).ceil() - 1.0)) as u64,
                device_request_bytes: request.min(131_072.0),
            }),
            streams: (0..streams).map(share).collect(),
            course: (labels.variant.as_deref() == Some("continuous")).then(|| course(rate)),
            proof: Proof::Confirmed,
            ..Sample::default()
        }
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

/// Makes the document of a table.
fn made(table: &str) -> Document {
    let spec: Cells = toml::from_str(table).unwrap();
    let mut document = unmeasured();
    document.run.sets = spec.sets;
    let experiment = |experiment: Table| -> Experiment {
        spec.every_experiment.clone().into_iter().chain(experiment).collect::<Table>().try_into().unwrap()
    };
    document.experiments = spec.experiments.into_iter().map(experiment).collect();
    let mut maker = Maker { rng: Xoshiro256::seeded(spec.seed), clock: 0.0 };
    for cell in spec.cells.into_iter().flat_map(|grid| combinations(&spec.every_cell, grid)) {
        let CellSpec { experiment, skipped, law, labels } = cell.try_into().unwrap();
        let id = format!("{experiment}/{:02}", document.cells.len());
        let mut cell = Cell { skipped, ..Cell::new(id, experiment, labels) };
        if cell.skipped.is_none() {
            cell.samples = (0..spec.samples).map(|round| maker.sample(law, &cell.labels, round)).collect();
            disturb(&mut cell);
            let time_up = document.cells.len() % spec.time_up_one_in == 4;
            cell.summarise(&SummaryOptions {
                stop: if time_up { StopReason::TimeUp } else { StopReason::Precise },
                null_request_s: Some(48e-9),
                ..SummaryOptions::default()
            });
        }
        document.cells.push(cell);
    }
    document.run.duration_s = maker.clock;
    let bound = document.cells.iter().filter(|c| c.summary.as_ref().is_some_and(|s| s.tool_bound));
    document.audit.tool_bound = bound.map(|c| c.id.clone()).collect();
    document.findings = findings(&document.cells, &document.experiments);
    if let Some(Findings { pipeline, advice, rules, .. }) = spec.findings {
        document.findings = Findings { pipeline, advice, rules, ..document.findings };
    }
    document
}

/// Makes one cell of the quick run bimodal, one contradicted in a sample, one drifting.
fn disturb(cell: &mut Cell) {
    let Labels { method, cache, request_bytes, .. } = &cell.labels;
    let samples = cell.samples.iter_mut().enumerate();
    match (cell.experiment.as_str(), method.as_str(), cache, request_bytes.unwrap_or(0) >> 10) {
        // In bursts, as of a limited host.
        ("read", "direct", _, 4096) => {
            samples.for_each(|(i, sample)| sample.seconds /= if i % 2 == 0 { 1.0 } else { 1.9 });
        }
        ("read", "buffered", Some(CacheState::Cold), 1024) => {
            let reason = "61 % of the file was in the page cache, asked cold".into();
            cell.samples[3].proof = Proof::Contradicted { reason };
            cell.samples[3].seconds /= 4.0;
        }
        ("write", "buffered", _, 256) => {
            samples.for_each(|(i, sample)| sample.seconds *= 1.0 + 0.06 * i as f64);
        }
        _ => {}
    }
}

/// The document of a quick run, one of its cells bimodal, one drifting, one with a contradicted sample, one limited by the
/// meter, two skipped.
pub fn document() -> Document {
    made(QUICK)
}

/// The document of the full set.
pub fn whole() -> &'static Document {
    static WHOLE: std::sync::OnceLock<Document> = std::sync::OnceLock::new();
    WHOLE.get_or_init(|| made(include_str!("full.toml")))
}

/// The run and the machine, without cells.
pub fn unmeasured() -> Document {
    let Described { run, environment, audit } = toml::from_str(QUICK).unwrap();
    Document { audit, ..Document::new(run, environment) }
}
