//! The model predicts cells that it was not fitted to: of simulated disks with known limits, and of published runs.

use fullbore_bench::document::{
    CacheState, Cell, CellPrediction, Document, Labels, Sample, Summary, SummaryOptions,
};
use fullbore_bench::model::{DeviceLimits, Limit, Model, Query, Validation, predictions, validate};
use fullbore_bench::stats::{Estimate, Xoshiro256, student_t_quantile};

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
        for found in validate(&cells, 4, seed).predictions {
            let labels = &cells.iter().find(|cell| cell.id == found.cell).unwrap().labels;
            let (depth, disks) = (labels.depth.unwrap(), labels.targets.unwrap());
            let truth = DISK.rate(labels.request_bytes.unwrap(), depth, disks);
            let rate = found.rate;
            right += usize::from((rate.value / truth - 1.0).abs() <= 0.1);
            covered += usize::from(rate.contains(found.ratio * rate.value));
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
fn the_page_cache_merges_sequential_requests() {
    let cold = |bytes, order: &str| {
        let labels = Labels { cache: Some(CacheState::Cold), ..cached("buffered", bytes, 1) };
        let labels = Labels { order: Some(order.into()), ..labels };
        cell(labels, 700e6, 0.01, &mut Xoshiro256::seeded(bytes))
    };
    let device = Some(DeviceLimits { requests_per_s: 3000.0, bytes_per_s: 131_072_000.0 });
    for (order, rate, limit) in [
        ("sequential", 131_072_000.0, Limit::DeviceBandwidth),
        ("random", 3000.0 * 16_384.0, Limit::DeviceRequests),
    ] {
        let model = Model::fit(&SIZES.map(|bytes| cold(bytes, order)), 4);
        let words = ["request=16K", "method=buffered", "cache=cold", &format!("order={order}")];
        let query = Query::parse("read", &words.map(str::to_owned)).unwrap();
        let found = model.predict(&Query { device, ..query }).unwrap();
        assert!((found.rate.value / rate - 1.0).abs() < 0.01 && found.limit == limit, "{order}: {found:?}");
    }
}

#[test]
fn the_workers_of_a_striped_file_serve_all_disks() {
    let model = Model::fit(&simulated(&[1], 0.01), 4);
    let disks = Query { disks: Some(16), depth: 128, ..query("64K", 1) };
    let found = model.predict(&Query { chunk: Some(64 << 10), ..disks.clone() }).unwrap();
    assert!((found.rate.value * CPU_REQUEST_S / 65_536.0 - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!(found.limit, Limit::Processor);
    // A worker for each disk: the device limits.
    let each = model.predict(&Query { depth: 8, ..disks }).unwrap();
    assert!((each.rate.value / (16.0 * DISK.bytes) - 1.0).abs() < 0.1, "{each:?}");
}

/// A cell of `workers` that keep a processor busy each.
fn busy(labels: Labels, rate: f64) -> Cell {
    let mut one = cell(labels.clone(), rate, 0.01, &mut Xoshiro256::seeded(4));
    one.samples.iter_mut().for_each(|sample| sample.user_s = f64::from(labels.workers.unwrap()));
    one.summarise(&SummaryOptions::default());
    one
}

fn cached(method: &str, bytes: u64, workers: u32) -> Labels {
    Labels {
        request_bytes: Some(bytes),
        workers: Some(workers),
        cache: Some(CacheState::Warm),
        order: Some("sequential".into()),
        ..Labels::of("read", method)
    }
}

fn cached_query(method: &str, bytes: &str, workers: u32) -> Query {
    let words = [format!("request={bytes},workers={workers},method={method}"), "cache=warm".into()];
    Query::parse("read", &words).unwrap()
}

/// Cells of memory: each of `n` processors copies 10 GB/s alone, two 16 GB/s together.
fn memory_cells() -> impl Iterator<Item = Cell> {
    [1, 2].into_iter().map(|n| {
        let mut one = busy(cached("memory", 1, n), memory(f64::from(n)));
        one.labels.request_bytes = None;
        one
    })
}

fn memory(n: f64) -> f64 {
    n * 1e9 / (0.075 + 0.025 * n)
}

#[test]
fn added_processors_share_the_bandwidth_of_memory() {
    let mut cells: Vec<Cell> = SIZES.iter().map(|&bytes| busy(cached("buffered", bytes, 1), 5e9)).collect();
    let at = |cells: &[Cell], cpus: u32| {
        let query = Query { cpus: Some(cpus), ..cached_query("buffered", "1M", cpus) };
        Model::fit(cells, 2).predict(&query).unwrap()
    };
    // Two processors slow each other as on other machines; what more of them share is unknown without memory.
    let free = at(&cells, 32);
    assert!((free.rate.value / (160e9 / 1.25) - 1.0).abs() < 0.1, "memory is unknown: {free:?}");
    cells.extend(memory_cells());
    for (cpus, rate) in [(2, 8e9), (32, memory(32.0))] {
        let found = at(&cells, cpus);
        assert!((found.rate.value / rate - 1.0).abs() < 0.05, "{cpus}: {found:?}");
        assert!(cpus == 2 || found.limit == Limit::Memory, "{found:?}");
        assert!(found.rate.low < found.rate.value && found.rate.value < found.rate.high, "{found:?}");
    }
    // The measured number is no change.
    let same = Model::fit(&cells, 2).predict(&cached_query("buffered", "1M", 2)).unwrap();
    assert_eq!(at(&cells, 2), same);
}

#[test]
fn a_second_worker_is_slowed_as_the_cells_show() {
    let model = |workers: &[u32], seen: f64| {
        let cells = workers.iter().flat_map(|&n| {
            let rate = if n == 1 { 5e9 } else { seen };
            SIZES.map(|bytes| busy(cached("buffered", bytes, n), rate))
        });
        Model::fit(&cells.chain(memory_cells()).collect::<Vec<_>>(), 2)
    };
    // With one worker only, by as much as memory.
    let found = model(&[1], 0.0).predict(&cached_query("buffered", "64K", 2)).unwrap();
    assert!((found.rate.value / 8e9 - 1.0).abs() < 0.05 && found.extrapolated, "{found:?}");
    assert!(found.rate.low < 7e9 && 9e9 < found.rate.high, "the share is uncertain: {found:?}");
    // With cells of two workers, by what these lose, in both directions.
    for seen in [5.5e9, 9.5e9] {
        let found = model(&[1, 2], seen).predict(&cached_query("buffered", "128K", 2)).unwrap();
        assert!((found.rate.value / seen - 1.0).abs() < 0.05 && !found.extrapolated, "{found:?}");
    }
}

#[test]
fn one_request_predicts_its_repetition_and_other_sizes_of_a_mapping() {
    let at = |method: &str, bytes: &str| {
        Model::fit(&[busy(cached(method, 64 << 10, 1), 5e9)], 2).predict(&cached_query(method, bytes, 1))
    };
    for (method, bytes) in [("buffered", "64K"), ("mmap", "64K"), ("mmap", "256K")] {
        let found = at(method, bytes).unwrap();
        assert!((found.rate.value / 5e9 - 1.0).abs() < 0.05, "{method} {bytes}: {found:?}");
        assert_eq!(found.extrapolated, bytes != "64K", "{method}");
    }
    assert!(at("buffered", "256K").unwrap_err().contains("too few cells"));
}

#[test]
fn a_request_to_a_mapping_takes_a_time_of_its_own() {
    let rate = |bytes: u64| bytes as f64 / (150e-9 + bytes as f64 / 20e9);
    let cells = [16 << 10, 64 << 10, 256 << 10, 1 << 20].map(|b| busy(cached("mmap", b, 1), rate(b)));
    let found = Model::fit(&cells, 2).predict(&cached_query("mmap", "4K", 1)).unwrap();
    assert!((found.rate.value / rate(4096) - 1.0).abs() < 0.1, "{found:?}, truth {}", rate(4096));
}

/// The time of a request to a mapping is known even if the similar path is four times as slow.
#[test]
fn a_similar_path_does_not_change_the_known_time_of_a_mapping() {
    let rate = |bytes: u64| bytes as f64 / (100e-9 + bytes as f64 / 20e9);
    let called = |bytes: u64| bytes as f64 / (1e-6 + bytes as f64 / 5e9);
    let slow = SIZES.map(|bytes| busy(cached("buffered", bytes, 1), called(bytes)));
    let fast = [1 << 20, 4 << 20].map(|bytes| busy(cached("mmap", bytes, 1), rate(bytes)));
    let cells: Vec<Cell> = slow.into_iter().chain(fast).collect();
    let found = Model::fit(&cells, 2).predict(&cached_query("mmap", "4K", 1)).unwrap();
    assert!((found.rate.value / rate(4096) - 1.0).abs() < 0.15, "{found:?}, truth {}", rate(4096));
}

#[test]
fn requests_through_a_buffer_take_a_time_of_their_bytes() {
    let through = |bytes| Labels { variant: Some("buffer 4 KiB".into()), ..cached("stream", bytes, 1) };
    let whole =
        SIZES.map(|bytes| busy(cached("stream", bytes, 1), bytes as f64 / (400e-9 + bytes as f64 / 20e9)));
    let mut cells = vec![busy(through(1024), 5.5e9), busy(through(512), 5.5e9)];
    cells.extend(whole);
    let found = predictions(&cells, 2).into_iter().find(|found| found.cell == cells[1].id).unwrap();
    assert!((found.ratio - 1.0).abs() < 0.1, "{found:?}");
}

/// Every second cell is of another experiment, which other programs slow down.
#[test]
fn cells_of_one_experiment_predict_one_another_best() {
    let mut cells = simulated(&[1], 0.02);
    for one in cells.iter_mut().skip(1).step_by(2) {
        one.experiment = "slower".into();
        one.samples.iter_mut().for_each(|sample| sample.seconds *= 1.2);
        one.summarise(&SummaryOptions::default());
    }
    let error = |cells: &[Cell]| -> f64 {
        let found = predictions(cells, 4);
        found.iter().map(|one| one.ratio.ln().abs()).sum::<f64>() / found.len() as f64
    };
    let known = error(&cells);
    cells.iter_mut().for_each(|one| one.experiment = "simulated".into());
    assert!(known < 0.8 * error(&cells), "{known} {}", error(&cells));
}

/// A mechanism that is faster for small requests is no faster where bandwidth limits.
#[test]
fn the_mechanism_of_small_requests_says_little_about_large_ones() {
    let mut rng = Xoshiro256::seeded(6);
    let of = |bytes, depth| Labels { method: "aio".into(), ..labels(bytes, depth, 1) };
    let mut cells = simulated(&[1], 0.02);
    for (bytes, depth) in [(4 << 10, 4), (4 << 10, 8), (1 << 20, 8)] {
        let faster = if bytes < 1 << 20 { 1.5 } else { 1.0 };
        let mut one = cell(of(bytes, depth), faster * DISK.rate(bytes, depth, 1), 0.02, &mut rng);
        one.id = format!("aio/{bytes}/{depth}");
        cells.push(one);
    }
    let found = predictions(&cells, 4);
    let large = found.iter().find(|one| one.cell == format!("aio/{}/8", 1 << 20)).unwrap();
    assert!((large.ratio - 1.0).abs() < 0.1, "{large:?}");
}

#[test]
fn too_few_cells_name_an_experiment() {
    let mut rng = Xoshiro256::seeded(1);
    let one = [cell(labels(4096, 1, 1), 5e6, 0.01, &mut rng)];
    let error = Model::fit(&one, 4).predict(&query("64K", 8)).unwrap_err();
    assert!(error.contains("too few cells") && error.contains("fullbore bench run depth"), "{error}");
    let error = Model::fit(&[], 4).predict(&query("64K", 1)).unwrap_err();
    assert!(error.contains("no cells") && error.contains("fullbore bench run unbuffered"), "{error}");
    let dropped = Query { policy: Some("drop".into()), ..query("64K", 1) };
    let error = Model::fit(&[], 4).predict(&dropped).unwrap_err();
    assert!(error.contains("no built-in experiment"), "{error}");
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

/// Published documents with the least shares that the test requires: right, right with the interval of Student's t, right of
/// those that others surround, measurements in the predicted interval. They are measured again from time to time.
/// docs/model.md has the figures.
fn published() -> [(&'static str, [f64; 4], Document); 8] {
    let root = env!("CARGO_MANIFEST_DIR");
    [
        ("tests/fixtures/two-processors.json.gz", [0.89, 0.89, 0.94, 0.95]),
        ("tests/fixtures/everything.json.gz", [0.90, 0.90, 0.93, 0.95]),
        ("tests/fixtures/everything-amd.json.gz", [0.90, 0.92, 0.93, 0.97]),
        ("tests/fixtures/two-amd-processors.json.gz", [0.89, 0.94, 0.89, 0.98]),
        // From Zen 5 processors; the model was not fitted to the quick runs.
        ("../../docs/results/full/results.json.gz", [0.91, 0.93, 0.94, 0.97]),
        ("../../docs/results/quick/run-1.json.gz", [0.95, 0.95, 0.97, 0.98]),
        ("../../docs/results/quick/run-2.json.gz", [0.91, 0.92, 0.91, 0.97]),
        ("../../docs/results/quick/run-3.json.gz", [0.90, 0.92, 0.91, 0.98]),
    ]
    .map(|(path, least)| {
        let file =
            std::fs::File::open(format!("{root}/{path}")).unwrap_or_else(|error| panic!("{path}: {error}"));
        (path, least, Document::read(file).unwrap())
    })
}

/// Returns the interval at 95% of three to five samples by Student's t over the logarithms. The document's interval is
/// their range, which contains the median in 75 to 94% only; of two samples it is too wide to decide anything.
fn student_interval(summary: &Summary) -> Estimate {
    /// Standard error of the median of 3, 4 and 5 normal samples ÷ their expected range.
    const OF_RANGE: [f64; 3] = [0.396, 0.265, 0.230];
    let rate = summary.rate;
    let Some(of_range) = summary.n.checked_sub(3).and_then(|more| OF_RANGE.get(more)) else { return rate };
    let error = of_range * (rate.high / rate.low).ln();
    let half = (error * student_t_quantile(0.975, summary.n as f64 - 1.0).unwrap()).exp();
    rate.holding(&Estimate { value: rate.value, low: rate.value / half, high: rate.value * half })
}

/// True if a prediction is within 15% of the measured rate or inside its interval.
fn is_right(found: &CellPrediction, measured: &Estimate) -> bool {
    (found.rate.value / measured.value - 1.0).abs() <= 0.15 || measured.contains(found.rate.value)
}

fn summary<'a>(document: &'a Document, found: &CellPrediction) -> &'a Summary {
    document.cell(&found.cell).unwrap().summary.as_ref().unwrap()
}

/// Shares of right predictions; of the same with the interval of Student's t; of right ones of those surrounded by cells; of
/// measurements in the predicted interval.
fn shares(document: &Document, predictions: &[CellPrediction]) -> [f64; 4] {
    let surrounded: Vec<_> = predictions.iter().filter(|found| !found.extrapolated).cloned().collect();
    let share = |all: &[CellPrediction], is: &dyn Fn(&CellPrediction, &Summary) -> bool| {
        all.iter().filter(|found| is(found, summary(document, found))).count() as f64 / all.len() as f64
    };
    let right = |found: &CellPrediction, summary: &Summary| is_right(found, &summary.rate);
    [
        share(predictions, &right),
        share(predictions, &|found, summary| is_right(found, &student_interval(summary))),
        share(&surrounded, &right),
        share(predictions, &|found, summary| found.rate.contains(summary.rate.value)),
    ]
}

#[test]
fn half_of_the_published_cells_predict_the_others() {
    for (name, least, document) in published() {
        let processors = document.environment.logical_cpus;
        let tests: Vec<Validation> =
            (0..20).map(|seed| validate(&document.cells, processors, seed)).collect();
        let predictions: Vec<_> = tests.iter().flat_map(|test| test.predictions.clone()).collect();
        let found = shares(&document, &predictions);
        let missing: usize = tests.iter().map(|test| test.unpredictable).sum();
        let without = missing as f64 / (missing + predictions.len()) as f64;
        println!("{name}: {found:.3?} of {}, {without:.3} without a prediction", predictions.len());
        assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{name}: {found:?}");
        // The common deviation of an experiment is known from few cells of a path, so those of other experiments are uncertain.
        assert!(without <= 0.58, "{name}: {without} without a prediction");
        let others = fullbore_bench::model::predictions(&document.cells, processors);
        println!("{name}: each cell from the others: {:.3?} of {}", shares(&document, &others), others.len());
    }
}
