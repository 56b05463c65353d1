//! Paths of the model: cells that do the same work and differ in request size, requests in flight and disks only.

use std::sync::Arc;

use fullbore::engine::{self, Availability};

use super::fit::{CellLoad, HALF, Point};
use super::law::{Flights, Load};
use crate::document::{CacheState, Cell, Labels};
use crate::stats::{Bootstrap, Estimate, student_t_quantile};

/// Name of the methods that bypass the page cache, taken together.
pub(super) const BYPASS: &str = "direct";

/// Variant of the requests that a buffer serves.
const BUFFERED: &str = "through the buffer";

/// Seconds of a request to a mapping, or to the buffer of a method, apart from its bytes: 90 to 250 ns on the machines measured
/// so far.
const LIGHT_S: f64 = 100e-9;
/// Seconds of a request to the buffer of a stream, apart from its bytes: 0 to 6 ns.
const STREAM_S: f64 = 4e-9;

/// Returns the seconds of a request apart from its bytes; `None` if it is a system call, whose time the cells show. The
/// calls that fill a buffer take a time per byte.
pub(super) fn request_s(key: &Labels) -> Option<f64> {
    match key.buffer_bytes() {
        _ if key.method.is_mapped() => Some(LIGHT_S),
        // A request elsewhere in the file fills the buffer again.
        _ if !key.is_sequential() => None,
        Some(1..) => Some(STREAM_S),
        _ => (key.variant.as_deref() == Some(BUFFERED)).then_some(LIGHT_S),
    }
}

/// True if the method can bypass the page cache and sends each request to the device as it is. Such methods are one path if they
/// bypass it: depth 1 is the same request with any of them.
pub(super) fn sends_direct_requests(method: &str) -> bool {
    engine::method(method).map(|method| method.capabilities).is_some_and(|can| {
        can.transfers && !can.batched && !can.by_threads && can.direct != Availability::Never
    })
}

/// Returns the labels that all cells of a path share; `None` if the cell's rate is not that of its path: cells of other
/// programs, of a set load, without requests.
pub(super) fn key(labels: &Labels) -> Option<Labels> {
    let bytes = labels.request_bytes.unwrap_or(0);
    if labels.peer.is_some() || labels.load_per_s.is_some() || bytes == 0 {
        return None;
    }
    let mut key = Labels {
        job: String::new(),
        request_bytes: None,
        depth: None,
        workers: None,
        streams: None,
        targets: None,
        chunk_bytes: None,
        strategy: None,
        model: None,
        flush: labels.flush.filter(|flush| *flush),
        offset_bytes: labels.offset_bytes.filter(|offset| *offset != 0),
        ..labels.clone()
    };
    // Requests that pass through a buffer are copies; longer ones are those of a path without a buffer.
    if labels.buffer_bytes().is_some_and(|buffer| bytes >= buffer) {
        key.variant = Some("no buffer".into());
    }
    let own = match &*labels.method {
        // The default of `std::io::BufReader` and `BufWriter`.
        "std-buffered" => 8 << 10,
        method => engine::method(method).map_or(0, |method| method.capabilities.buffer as u64),
    };
    if bytes <= own {
        key.variant = Some(BUFFERED.into());
    }
    // Several streams are several places in the file: not the same as more requests in flight at one.
    if labels.streams.is_some_and(|streams| streams > 1) {
        key.variant = Some("streams".into());
    }
    if labels.targets.is_some() {
        key.variant = key.variant.filter(|_| labels.disks().is_none());
    }
    if labels.bypasses_cache() {
        key.cache = None;
        if sends_direct_requests(&labels.method) {
            key.method = BYPASS.into();
            key.cache_policy = Some("direct".into());
        }
    }
    Some(key)
}

/// Returns the mechanism of a method's requests; that of the system's method of many requests if the method is unknown.
pub(super) fn flights(method: &str, depth: u32, workers: u32) -> Flights {
    match engine::method(method) {
        _ if workers > 1 => Flights::Workers,
        Some(method) if depth > 1 => Flights::Queue(method.name),
        None if depth > 1 => Flights::Queue(engine::deep_method().name),
        _ => Flights::One,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Requests {
    pub(super) bytes: u64,
    /// Requests that each worker keeps in flight.
    pub(super) depth: u32,
    pub(super) workers: u32,
    pub(super) disks: u32,
    /// Chunk of a file striped over the disks; `None`: each disk has its own file, workers and depth.
    pub(super) chunk: Option<u64>,
    pub(super) flights: Flights,
}

impl Requests {
    /// Creates requests to one disk. Those that a method batches are one request, because they are one call.
    pub(super) fn new(method: &str, bytes: u64, depth: u32, workers: u32) -> Self {
        let batched = engine::method(method).is_some_and(|method| method.capabilities.batched);
        let (bytes, depth) =
            if batched { (bytes.saturating_mul(u64::from(depth)), 1) } else { (bytes, depth) };
        Self { bytes, depth, workers, disks: 1, chunk: None, flights: flights(method, depth, workers) }
    }

    pub(super) fn of(labels: &Labels) -> Option<Self> {
        let depth = labels.depth.unwrap_or(1).max(1);
        let workers = labels.workers.unwrap_or(1).max(labels.streams.unwrap_or(1)).max(1);
        Some(Self {
            disks: labels.targets.unwrap_or(1).max(1),
            chunk: labels.chunk_bytes,
            ..Self::new(&labels.method, labels.request_bytes?, depth, workers)
        })
    }

    /// Returns the load of a cell of a path. The mechanism makes no difference on one that keeps `processors` busy.
    pub(super) fn cell_load<'a>(&self, processors: Option<u32>, experiment: Option<&'a str>) -> CellLoad<'a> {
        let flights = if processors.is_some() { Flights::One } else { self.flights };
        CellLoad { load: self.load(processors), flights, experiment }
    }

    /// Returns the load of one disk. On a path that keeps `processors` busy, whose requests reach no disk, each worker has
    /// one in flight, and at most as many as there are processors are in flight in all.
    ///
    /// Consecutive requests of a striped file cover a window of the file, and the disks of its chunks are busy (section
    /// 4 of Riedel, van Ingen and Gray: eight requests of 8 KiB in chunks of 64 KiB keep a second disk busy 7/8 of the
    /// time).
    pub(super) fn load(&self, processors: Option<u32>) -> Load {
        let (bytes, disks) = (self.bytes as f64, f64::from(self.disks));
        // A request that is longer than a chunk is split, even on one disk.
        let chunk = self.chunk.map(|chunk| chunk.max(1) as f64);
        if let Some(processors) = processors {
            let files = if chunk.is_some() { 1.0 } else { disks };
            let in_flight = (f64::from(self.workers) * files).min(f64::from(processors.max(1)));
            return Load { bytes: chunk.map_or(bytes, |chunk| bytes.min(chunk)), in_flight, disks: 1.0 };
        }
        let in_flight = f64::from(self.depth) * f64::from(self.workers);
        match chunk {
            Some(chunk) => {
                let pieces = (bytes / chunk).max(1.0);
                let busy = (pieces + (in_flight - 1.0) * bytes / chunk).min(disks);
                Load { bytes: bytes / pieces, in_flight: in_flight * pieces / busy, disks: busy }
            }
            None => Load { bytes, in_flight, disks },
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) cell: String,
    experiment: Arc<str>,
    pub(super) requests: Requests,
    rate: f64,
    error: f64,
    busy: Option<f64>,
    /// Bytes and CPU seconds of a request.
    pub(super) cost: Option<(f64, f64)>,
}

/// The smallest standard error of a cell's rate assumed, as a share: later cells differ by more than the interval of a
/// precise one.
const LEAST_ERROR: f64 = 0.01;
/// The standard error of a cell without an interval.
const UNKNOWN_ERROR: f64 = 0.2;
/// The largest standard error: a wider interval means only that the cell is worth little.
const MOST_ERROR: f64 = 0.5;

/// Standard error of the median of 2, 3, 4 and 5 normal samples ÷ their expected range.
const OF_RANGE: [f64; 4] = [0.627, 0.396, 0.265, 0.230];

/// Returns the standard error of a median as a share of it: from the range of fewer than six samples, or from the interval of
/// more, which a summary draws after repeated looks. That of a single sample is unknown.
fn relative_error(samples: usize, rate: &Estimate) -> f64 {
    let half = rate.relative_half_width();
    match samples {
        0 | 1 => UNKNOWN_ERROR,
        2..=5 => 2.0 * half * OF_RANGE[samples - 2],
        _ => {
            let tail = 0.5 + Bootstrap::default().after_stopping().confidence / 2.0;
            half / student_t_quantile(tail, samples as f64 - 1.0).unwrap_or(HALF)
        }
    }
}

impl Member {
    /// Returns the key and the member of a measured cell; `None` if it is not of a path.
    pub(super) fn of(cell: &Cell) -> Option<(Labels, Self)> {
        let summary = cell.summary.as_ref().filter(|summary| summary.rate.value > 0.0)?;
        let error = relative_error(summary.n, &summary.rate);
        let error = if error.is_finite() { error } else { UNKNOWN_ERROR };
        let requests = Requests::of(&cell.labels)?;
        let batch = requests.bytes as f64 / cell.labels.request_bytes? as f64;
        let member = Self {
            cell: cell.id.clone(),
            experiment: cell.experiment.as_str().into(),
            requests,
            rate: summary.rate.value,
            error: error.clamp(LEAST_ERROR, MOST_ERROR),
            busy: summary.processors.map(|busy| busy.value),
            cost: summary.cpu_per_request.map(|cost| (requests.bytes as f64, cost.charged.value * batch)),
        };
        Some((key(&cell.labels)?, member))
    }

    /// True if the cell keeps a processor busy for each of its workers, as far as there are processors.
    pub(super) fn is_busy(&self, processors: u32) -> bool {
        const BUSY: f64 = 0.8;
        let workers = f64::from(self.requests.workers.min(processors.max(1)));
        self.busy.is_some_and(|busy| busy >= BUSY * workers)
    }

    pub(super) fn point(&self, processors: Option<u32>) -> Point {
        let CellLoad { load, flights, .. } = self.requests.cell_load(processors, None);
        let (log_time, experiment) = (load.rate(self.rate).ln(), self.experiment.clone());
        Point { load, log_time, error: self.error, flights, experiment }
    }
}

pub(super) fn touches_device(key: &Labels) -> bool {
    key.bypasses_cache()
        || matches!(key.cache, Some(CacheState::Cold | CacheState::Mixed))
        || key.flush == Some(true)
}

/// Returns the number of labels that two paths have in common, of those that change the work.
pub(super) fn labels_in_common(one: &Labels, other: &Labels) -> usize {
    let equal = [
        one.operation == other.operation,
        one.method == other.method,
        one.order == other.order,
        one.cache == other.cache,
        one.flush == other.flush,
        one.file_state == other.file_state,
        one.allocation == other.allocation,
        one.variant == other.variant,
    ];
    equal.into_iter().filter(|equal| *equal).count()
}

/// Formats the labels of a path: `read, direct, sequential`.
pub(super) fn name(key: &Labels) -> String {
    let mut words = vec![key.operation.to_string(), key.method.to_string()];
    words.extend(key.order.as_deref().map(str::to_owned));
    words.extend(key.cache.map(|cache| cache.word().to_owned()));
    let further = [
        key.cache_policy.as_deref(),
        key.file_state.as_deref(),
        key.allocation.as_deref(),
        key.variant.as_deref(),
    ];
    words.extend(further.into_iter().flatten().map(str::to_owned));
    words.extend(key.flush.map(|_| "flush".to_owned()));
    words.extend(key.file_bytes.map(|bytes| format!("file {}", crate::units::size(bytes))));
    words.extend(key.memory_limit_bytes.map(|bytes| format!("memory limit {}", crate::units::size(bytes))));
    words.dedup();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Disks;

    fn striped(bytes: u64, depth: u32) -> Load {
        Requests { bytes, depth, workers: 1, disks: 4, chunk: Some(64 << 10), flights: Flights::One }
            .load(None)
    }

    #[test]
    fn a_stripe_keeps_the_disks_of_its_window_busy() {
        // Section 4 of the paper: eight requests of 8 KiB use a second disk 7/8 of the time.
        assert!((striped(8 << 10, 8).disks - 1.875).abs() < 1e-9);
        assert!((striped(4 << 10, 8).disks - 1.4375).abs() < 1e-9);
        assert_eq!(striped(64 << 10, 3), Load { bytes: 65536.0, in_flight: 1.0, disks: 3.0 });
        assert_eq!(striped(256 << 10, 1), Load { bytes: 65536.0, in_flight: 1.0, disks: 4.0 });
        assert_eq!(striped(256 << 10, 8), Load { bytes: 65536.0, in_flight: 8.0, disks: 4.0 });
    }

    #[test]
    fn a_stripe_of_one_disk_splits_its_requests_at_chunks() {
        let one = |bytes, depth| {
            Requests { bytes, depth, workers: 1, disks: 1, chunk: Some(64 << 10), flights: Flights::One }
                .load(None)
        };
        assert_eq!(one(256 << 10, 3), Load { bytes: 65536.0, in_flight: 12.0, disks: 1.0 });
        assert_eq!(one(8 << 10, 8), Load { bytes: 8192.0, in_flight: 8.0, disks: 1.0 });
    }

    #[test]
    fn requests_to_several_disks_share_the_processors_that_they_keep_busy() {
        let load = |workers, disks, chunk| {
            Requests { bytes: 128 << 10, depth: 1, workers, disks, chunk, flights: Flights::One }
                .load(Some(2))
        };
        let two = Load { bytes: 131_072.0, in_flight: 2.0, disks: 1.0 };
        assert_eq!([load(2, 1, None), load(1, 2, None), load(4, 4, None)], [two; 3]);
        assert_eq!(load(1, 2, Some(64 << 10)), Load { bytes: 65536.0, in_flight: 1.0, disks: 1.0 });
    }

    #[test]
    fn a_batch_is_one_request_and_a_queue_keeps_one_processor_busy() {
        let load = |method, depth| Requests::new(method, 4096, depth, 1).load(Some(2));
        let one = |bytes| Load { bytes, in_flight: 1.0, disks: 1.0 };
        assert_eq!([load("vectored", 4), load("vectored", 16)], [one(16_384.0), one(65_536.0)]);
        assert_eq!(load("uring", 16), one(4096.0));
    }

    #[test]
    fn methods_of_equal_requests_share_a_path() {
        let labels = |method: &str, targets: Option<u32>| Labels {
            request_bytes: Some(4096),
            cache_policy: Some("direct".into()),
            targets,
            variant: targets.map(|_| Disks::Together.to_string()),
            ..Labels::of("read", method)
        };
        assert_eq!(key(&labels("uring", None)), key(&labels("direct", Some(2))));
        assert_ne!(key(&labels("uring", None)), key(&labels("tokio", None)));
        assert_eq!(key(&Labels { peer: Some("fio".into()), ..labels("uring", None) }), None);
        assert_eq!(key(&Labels { load_per_s: Some(9), ..labels("uring", None) }), None);
    }

    #[test]
    fn requests_through_a_buffer_are_a_path_of_their_own() {
        let call = |method: &str, bytes: u64, variant: Option<&str>| {
            key(&Labels {
                request_bytes: Some(bytes),
                variant: variant.map(Into::into),
                ..Labels::of("read", method)
            })
        };
        let stream = |bytes, variant| call("stream", bytes, Some(variant));
        assert_eq!(stream(4096, "buffer 4 KiB"), stream(512, "no buffer"));
        assert_ne!(stream(1024, "buffer 4 KiB"), stream(512, "no buffer"));
        assert_eq!(stream(1024, "buffer 4 KiB"), stream(512, "buffer 4 KiB"));
        assert_eq!(call("stdio", 512, None), call("stdio", 4096, None));
        assert_ne!(call("stdio", 4096, None), call("stdio", 8192, None));
        assert_eq!(call("std-buffered", 512, None), call("std-buffered", 8192, None));
        assert_ne!(call("std-buffered", 8192, None), call("std-buffered", 16384, None));
        let is_call = |key: Option<Labels>| request_s(&key.unwrap()).is_none();
        assert!(!is_call(call("std-buffered", 512, None)) && is_call(call("std-buffered", 16384, None)));
        assert!(is_call(stream(512, "no buffer")) && !is_call(stream(1024, "buffer 4 KiB")));
    }

    #[test]
    fn the_error_of_a_cell_is_that_of_its_median() {
        let rate = |low, high| Estimate { value: 100.0, low, high };
        // Three samples with a deviation of 10% have an expected range of 17%; the standard error of their median is 6.7%.
        assert!((relative_error(3, &rate(91.5, 108.4)) - 0.067).abs() < 0.001);
        // Of seven, 98% are within 3.14 standard errors.
        assert!((relative_error(7, &rate(90.0, 110.0)) - 0.1 / 3.143).abs() < 1e-4);
        assert_eq!(relative_error(1, &rate(100.0, 100.0)), UNKNOWN_ERROR);
    }

    #[test]
    fn queues_and_workers_differ_only_with_several_requests_in_flight() {
        assert_eq!(flights("uring", 1, 1), flights("direct", 1, 1));
        assert_ne!(flights("uring", 8, 1), flights("aio", 8, 1));
        assert_ne!(flights("uring", 8, 1), flights("uring", 1, 8));
        assert_eq!(flights("direct", 1, 8), flights("uring", 8, 8));
        assert_eq!(flights("", 8, 1), flights(engine::deep_method().name, 8, 1));
    }
}
