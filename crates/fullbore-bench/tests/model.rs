//! The model predicts cells that it was not fitted to: of simulated disks with known limits, and of published runs.

use fullbore_bench::document::{CacheState, Cell, Document, Labels, Sample, SummaryOptions};
use fullbore_bench::model::{DeviceLimits, Limit, Model, Query, Validation, predictions, validate};
use fullbore_bench::stats::Xoshiro256;

/// A disk that takes `latency_s` for a request, `requests` a second and `bytes` a second.
#[derive(Clone, Copy)]
struct Disk {
    latency_s: f64,
    requests: f64,
    bytes: f64,
}

const DISK: Disk = Disk { latency_s: 0.8e-3, requests: 5000.0, bytes: 150e6 };
/// Bytes per second that all disks share.
const BUS: f64 = 400e6;

const CPU_REQUEST_S: f64 = 40e-6;

const SIZES: [u64; 6] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const DEPTHS: [u32; 4] = [1, 4, 8, 32];

impl Disk {
    fn rate(self, bytes: u64, depth: u32, disks: u32) -> f64 {
        let size = bytes as f64;
        let one = (f64::from(depth) * size / self.latency_s).min(self.requests * size).min(self.bytes);
        (f64::from(disks) * one).min(BUS)
    }
}

fn cell(labels: Labels, rate: f64, noise: f64, rng: &mut Xoshiro256) -> Cell {
    let id =
        format!("{}/{:?}/{:?}/{:?}", labels.operation, labels.request_bytes, labels.depth, labels.targets);
    let request = labels.request_bytes.unwrap();
    let mut cell = Cell::new(id, "simulated", labels);
    let samples = (0..7).map(|_| {
        let bytes = (rate * (1.0 + noise * (rng.unit() + rng.unit() - 1.0))) as u64;
        let requests = (bytes / request).max(1);
        Sample { bytes, seconds: 1.0, requests, user_s: CPU_REQUEST_S * requests as f64, ..Sample::default() }
    });
    cell.samples = samples.collect();
    cell.summarise(&SummaryOptions::default());
    cell
}

fn labels(bytes: u64, depth: u32, disks: u32) -> Labels {
    Labels {
        request_bytes: Some(bytes),
        depth: Some(depth),
        workers: Some(1),
        cache_policy: Some("direct".into()),
        order: Some("sequential".into()),
        targets: Some(disks),
        variant: Some("together".into()),
        ..Labels::of("read", "uring")
    }
}

fn simulated(disks: &[u32], noise: f64) -> Vec<Cell> {
    let mut rng = Xoshiro256::seeded(3);
    let mut cells = Vec::new();
    for &disks in disks {
        for (bytes, depth) in SIZES.into_iter().flat_map(|bytes| DEPTHS.map(|depth| (bytes, depth))) {
            cells.push(cell(labels(bytes, depth, disks), DISK.rate(bytes, depth, disks), noise, &mut rng));
        }
    }
    cells
}

fn query(bytes: &str, depth: u32) -> Query {
    let words = [format!("request={bytes}"), format!("depth={depth}"), "cache=cold".into()];
    Query::parse("read", &words).unwrap()
}

#[test]
fn half_of_the_cells_of_known_disks_predict_the_others() {
    let cells = simulated(&[1, 2, 3, 4], 0.02);
    let (mut right, mut covered, mut all) = (0, 0, 0);
    for seed in 0..10 {
        for outcome in validate(&cells, 4, seed).outcomes {
            let [_, bytes, depth, disks] = outcome.cell.split('/').collect::<Vec<_>>().try_into().unwrap();
            let number =
                |text: &str| text.trim_start_matches("Some(").trim_end_matches(')').parse::<u64>().unwrap();
            let truth = DISK.rate(number(bytes), number(depth) as u32, number(disks) as u32);
            let rate = outcome.prediction.rate;
            right += usize::from((rate.value / truth - 1.0).abs() <= 0.1);
            covered += usize::from(rate.contains(outcome.measured));
            all += 1;
        }
    }
    println!("{right} of {all} within 10% of the truth, {covered} in the interval");
    assert!(all == 480 && right * 100 >= all * 95, "{right} of {all} within 10%");
    assert!(covered * 100 >= all * 90, "{covered} of {all} in the interval");
}

#[test]
fn unmeasured_sizes_depths_and_disks_are_predicted() {
    let model = Model::fit(&simulated(&[1, 2], 0.01), 4);
    for (bytes, size, depth, disks) in
        [(32 << 10, "32K", 2, 1), (8 << 10, "8K", 16, 2), (512 << 10, "512K", 3, 1)]
    {
        let found = model.predict(&Query { disks: Some(disks), ..query(size, depth) }).unwrap();
        let truth = DISK.rate(bytes, depth, disks);
        assert!(
            (found.rate.value / truth - 1.0).abs() < 0.1,
            "{size} {depth} {disks}: {found:?}, truth {truth}"
        );
        assert!(
            !found.extrapolated && found.rate.low < found.rate.value && found.rate.value < found.rate.high
        );
    }
    // Without cells of four disks, the bus is unknown: the sum, marked as extrapolated.
    let four = model.predict(&Query { disks: Some(4), ..query("1M", 8) }).unwrap();
    assert!(four.extrapolated && (four.rate.value / 600e6 - 1.0).abs() < 0.15, "{four:?}");
    let alone = Model::fit(&simulated(&[1], 0.01), 4);
    let [one, four] =
        [1, 4].map(|disks| alone.predict(&Query { disks: Some(disks), ..query("64K", 4) }).unwrap());
    assert!((four.rate.value / one.rate.value - 4.0).abs() < 1e-6, "{one:?} {four:?}");
    let measured = Model::fit(&simulated(&[1, 2, 3, 4], 0.01), 4);
    let four = measured.predict(&Query { disks: Some(4), ..query("1M", 8) }).unwrap();
    assert!((four.rate.value / BUS - 1.0).abs() < 0.1 && four.limit == Limit::Bus, "{four:?}");
}

#[test]
fn the_narrowest_stage_is_named() {
    let model = Model::fit(&simulated(&[1], 0.01), 4);
    for (size, depth, limit) in
        [("4K", 1, Limit::Latency), ("4K", 32, Limit::DeviceRequests), ("1M", 8, Limit::DeviceBandwidth)]
    {
        assert_eq!(model.predict(&query(size, depth)).unwrap().limit, limit, "{size} {depth}");
    }
}

#[test]
fn another_device_limits_by_its_own_figures() {
    let model = Model::fit(&simulated(&[1], 0.01), 4);
    let with = |requests_per_s, bytes_per_s, size, depth| {
        let device = Some(DeviceLimits { requests_per_s, bytes_per_s });
        model.predict(&Query { device, ..query(size, depth) }).unwrap()
    };
    let found = with(3000.0, 131_072_000.0, "4K", 32);
    assert!(
        (found.rate.value / (3000.0 * 4096.0) - 1.0).abs() < 0.01 && found.limit == Limit::DeviceRequests
    );
    assert!(found.rate.low < found.rate.value && found.rate.value < found.rate.high, "{found:?}");
    let found = with(3000.0, 131_072_000.0, "1M", 8);
    assert!((found.rate.value / 131_072_000.0 - 1.0).abs() < 0.01 && found.limit == Limit::DeviceBandwidth);
    // A faster device leaves the time of a request.
    let found = with(1e6, 1e10, "4K", 8);
    assert!((found.rate.value / (8.0 * 4096.0 / DISK.latency_s) - 1.0).abs() < 0.15, "{found:?}");
    assert!(found.extrapolated);
    // In the end the processor limits it.
    let found = with(1e6, 1e10, "4K", 32);
    assert!((found.rate.value * CPU_REQUEST_S / 4096.0 - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!(found.limit, Limit::Processor);
}

#[test]
fn added_processors_share_the_bandwidth_of_memory() {
    // Each processor copies 10 GB/s alone, two 16 GB/s together: 1/(0.075 + 0.025 n) GB/s each.
    let memory = |n: f64| n * 1e9 / (0.075 + 0.025 * n);
    let busy = |labels: Labels, rate: f64| {
        let mut one = cell(labels.clone(), rate, 0.01, &mut Xoshiro256::seeded(4));
        one.samples.iter_mut().for_each(|sample| sample.user_s = f64::from(labels.workers.unwrap()));
        one.summarise(&SummaryOptions::default());
        one
    };
    let labels = |method: &str, bytes: u64, workers: u32| Labels {
        request_bytes: Some(bytes),
        workers: Some(workers),
        cache: Some(CacheState::Warm),
        order: Some("sequential".into()),
        ..Labels::of("read", method)
    };
    let mut cells: Vec<Cell> = SIZES.iter().map(|&bytes| busy(labels("buffered", bytes, 1), 5e9)).collect();
    let at = |cells: &[Cell], cpus: u32| {
        let words = ["request=1M".to_owned(), format!("workers={cpus}"), "cache=warm".into()];
        let query = Query::parse("read", &words).unwrap();
        Model::fit(cells, 2).predict(&Query { cpus: Some(cpus), ..query }).unwrap()
    };
    let free = at(&cells, 32);
    assert!((free.rate.value / 160e9 - 1.0).abs() < 0.1, "memory is unknown: {free:?}");
    cells.extend([1, 2].map(|n| {
        let mut one = busy(labels("memory", 1, n), memory(f64::from(n)));
        one.labels.request_bytes = None;
        one
    }));
    for (cpus, rate) in [(2, 10e9), (32, memory(32.0))] {
        let found = at(&cells, cpus);
        assert!((found.rate.value / rate - 1.0).abs() < 0.05, "{cpus}: {found:?}");
        assert!(cpus == 2 || found.limit == Limit::Memory, "{found:?}");
        assert!(found.rate.low < found.rate.value && found.rate.value < found.rate.high, "{found:?}");
    }
}

#[test]
fn too_few_cells_name_an_experiment() {
    let mut rng = Xoshiro256::seeded(1);
    let one = [cell(labels(4096, 1, 1), 5e6, 0.01, &mut rng)];
    let error = Model::fit(&one, 4).predict(&query("64K", 8)).unwrap_err();
    assert!(error.contains("too few cells") && error.contains("fullbore bench run depth"), "{error}");
    let error = Model::fit(&[], 4).predict(&query("64K", 1)).unwrap_err();
    assert!(error.contains("no cells") && error.contains("fullbore bench run unbuffered"), "{error}");
}

#[test]
fn a_cell_that_its_neighbours_do_not_explain_is_listed() {
    let mut cells = simulated(&[1], 0.02);
    let mut rng = Xoshiro256::seeded(8);
    let place = cells.iter().position(|c| c.labels == labels(64 << 10, 8, 1)).unwrap();
    cells[place] = cell(labels(64 << 10, 8, 1), DISK.rate(64 << 10, 8, 1) / 3.0, 0.02, &mut rng);
    let found = predictions(&cells, 4);
    let worst = found.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio)).unwrap();
    assert!(worst.cell == cells[place].id && worst.wrong, "{worst:?}");
    assert!(found.iter().filter(|one| one.wrong).count() <= found.len() / 10);
}

/// Results documents of three machines with the least shares: an early quick run, every experiment, and every experiment as
/// published in docs/results, which is measured again from time to time. docs/model.md has the figures.
fn published() -> [(&'static str, [f64; 3], Document); 3] {
    let root = env!("CARGO_MANIFEST_DIR");
    [
        ("tests/fixtures/two-processors.json.gz", [0.80, 0.90, 0.95]),
        // Two cells of equal requests predict each other in 92% of its pairs: its disk varies by a factor of two within the run.
        ("tests/fixtures/everything.json.gz", [0.80, 0.90, 0.95]),
        ("../../docs/results/full/results.json.gz", [0.75, 0.85, 0.93]),
    ]
    .map(|(path, least)| {
        let file =
            std::fs::File::open(format!("{root}/{path}")).unwrap_or_else(|error| panic!("{path}: {error}"));
        (path, least, Document::read(file).unwrap())
    })
}

/// Shares of right predictions, of all and of those surrounded by cells, and of measurements in the interval.
fn shares(document: &Document) -> [f64; 3] {
    let tests: Vec<Validation> =
        (0..20).map(|seed| validate(&document.cells, document.environment.logical_cpus, seed)).collect();
    let outcomes = || tests.iter().flat_map(|test| &test.outcomes);
    let inside = || outcomes().filter(|outcome| !outcome.prediction.extrapolated);
    let share = |part: usize, all: usize| part as f64 / all as f64;
    let shares = [
        share(outcomes().filter(|outcome| outcome.right).count(), outcomes().count()),
        share(inside().filter(|outcome| outcome.right).count(), inside().count()),
        share(outcomes().filter(|o| o.prediction.rate.contains(o.measured)).count(), outcomes().count()),
    ];
    let unpredictable: usize = tests.iter().map(|test| test.unpredictable).sum();
    println!(
        "{shares:.3?} of {}, {} surrounded, {unpredictable} not predicted",
        outcomes().count(),
        inside().count()
    );
    shares
}

#[test]
fn half_of_the_published_cells_predict_the_others() {
    for (name, least, document) in published() {
        let found = shares(&document);
        assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{name}: {found:?}");
    }
}
