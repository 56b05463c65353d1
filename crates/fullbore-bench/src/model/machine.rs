//! The model: the paths of a machine with their laws, and predictions from them.

use serde::{Deserialize, Serialize};

use super::fit::{Basis, CellLoad, Fit, SimilarPath};
use super::law::{Flights, Load, Memory, PathLaw, Term};
use super::numerics::in_hull;
use super::path::{self, Member, Requests};
use super::query::Query;
use crate::comparable::comparable_cells;
use crate::document::{AccessMethod, CacheState, Cell, Document, Labels, Limit};
use crate::grouping::grouped;
use crate::stats::Estimate;

/// A predicted throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Bytes per second, with an interval that a measurement falls into with 95% probability.
    pub rate: Estimate,
    /// The narrowest stage.
    pub limit: Limit,
    /// True if the prediction is for requests outside the measured ones, or for a changed machine.
    pub extrapolated: bool,
    /// The path: work that the cells behind the prediction share.
    pub path: String,
}

/// The model of a machine.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) machine: Machine,
    pub(super) paths: Vec<Path>,
}

/// The stages that all paths share.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    processors: u32,
    memory: Option<Memory>,
}

#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) key: Labels,
    pub(super) members: Vec<Member>,
    /// A similar path, with which it is fitted if it has few loads.
    pub(super) like: Option<SimilarPath>,
    /// The law; `None` without cells.
    fit: Option<Fit>,
    /// True if requests keep processors busy all the time.
    on_processor: bool,
}

impl Model {
    /// Fits a model to the figures of the regime that a run requested.
    pub fn of(document: &Document) -> Self {
        let cells = comparable_cells(&document.cells, document.run.regime);
        Self::fit(&*cells, document.environment.usable_processors())
    }

    /// Fits a model to the measured cells of a machine with `processors`.
    pub fn fit<'a>(cells: impl IntoIterator<Item = &'a Cell>, processors: u32) -> Self {
        let cells: Vec<&Cell> = cells.into_iter().collect();
        let memory =
            cells.iter().filter(|cell| cell.labels.method == AccessMethod::Memory).filter_map(|cell| {
                let workers = cell.labels.workers.unwrap_or(1).clamp(1, processors.max(1));
                Some((workers, cell.summary.as_ref()?.rate))
            });
        let machine = Machine { processors, memory: Memory::fit(memory) };
        let mut paths = grouped(cells.into_iter().filter_map(Member::of));
        // Paths with many loads come first: those with few resemble them.
        paths.sort_by_key(|(_, members)| std::cmp::Reverse(loads(members)));
        let mut model = Self { machine, paths: Vec::new() };
        for (key, members) in paths {
            let like = model.like(&key);
            let path = Path::new(key, members, like, &model.machine);
            model.paths.push(path);
        }
        model
    }

    /// Returns the law of the path with the most labels in common, of several that with the most loads. Both reach the device, or
    /// neither does.
    fn like(&self, key: &Labels) -> Option<SimilarPath> {
        let calls = |key: &Labels| path::request_s(key).is_none();
        let donors = self.paths.iter().filter(|path| {
            loads(&path.members) >= DONOR_LOADS
                && calls(&path.key) >= calls(key)
                && path::touches_device(&path.key) == path::touches_device(key)
        });
        let found = donors.rev().max_by_key(|path| path::labels_in_common(&path.key, key))?;
        Some(found.fit.as_ref()?.similar_path())
    }

    /// Predicts the throughput of a query's requests: of the paths that it matches, the fastest within the measured
    /// requests, or else the fastest.
    ///
    /// # Errors
    /// If no path matches, or none has cells of two different requests; the text names the experiment to run.
    pub fn predict(&self, query: &Query) -> Result<Prediction, String> {
        if query.cache == Some(CacheState::Warm) && query.device.is_some() {
            return Err("cache=warm: such requests do not reach the device, whose limits are given".into());
        }
        if query.chunk.is_some() && query.disks.is_none() {
            return Err(
                "chunk= is about a file striped over several disks: add their number, --disks N".into()
            );
        }
        // The measured number of processors is no change.
        let cpus = query.cpus.filter(|&cpus| cpus != self.machine.processors);
        let query = &Query { cpus, ..query.clone() };
        let matching: Vec<&Path> = self.paths.iter().filter(|path| query.matches(&path.key)).collect();
        let requests = query.requests();
        // A query that names no method is about that of the path.
        let own = |path: &Path, requests: Requests| match (&query.method, requests.flights) {
            (None, Flights::Queue(_)) => {
                let measured = path.members.iter().map(|member| member.requests.flights);
                let queue = measured.into_iter().find(|flights| matches!(flights, Flights::Queue(_)));
                Requests { flights: queue.unwrap_or(requests.flights), ..requests }
            }
            _ => requests,
        };
        // The machine as it is decides the path: a changed one has no measured cells.
        let here = Requests { disks: 1, chunk: None, ..requests };
        let known = matching.iter().filter_map(|path| {
            Some((path, path.predict(&own(path, here), None, &self.machine, &Query::unchanged())?))
        });
        let best = known.max_by(|(_, a), (_, b)| {
            b.extrapolated.cmp(&a.extrapolated).then(a.rate.value.total_cmp(&b.rate.value))
        });
        best.and_then(|(path, _)| path.predict(&own(path, requests), None, &self.machine, query))
            .ok_or_else(|| query.unmeasured(!matching.is_empty()))
    }
}

/// Number of different requests at which a path needs no similar one.
const OWN_LOADS: usize = 16;
/// Number of different requests at which a path's law may serve similar ones.
const DONOR_LOADS: usize = 3;

/// Share of its own time by which a processor slows another one, if no cell of the memory experiment shows it.
const SHARE: f64 = 0.25;
/// The share for mapped files, whose page faults also wait for the lock of the address space.
const MAPPED_SHARE: f64 = 0.5;

/// Largest factor of uncertainty that cells may leave in a rate that tests the model.
const WIDEST: f64 = 1.8;

fn loads(members: &[Member]) -> usize {
    let mut loads: Vec<(u64, u64)> = members
        .iter()
        .map(|member| {
            (member.requests.bytes, u64::from(member.requests.depth) * u64::from(member.requests.workers))
        })
        .collect();
    loads.sort_unstable();
    loads.dedup();
    loads.len()
}

impl Path {
    pub(super) fn new(
        key: Labels,
        members: Vec<Member>,
        like: Option<SimilarPath>,
        machine: &Machine,
    ) -> Self {
        let processors = machine.processors;
        let device = path::touches_device(&key);
        let busy = members.iter().filter(|member| member.is_busy(processors)).count();
        let on_processor = !device && busy * 2 > members.len();
        let cap = on_processor.then_some(processors);
        let points = members.iter().map(|member| member.point(cap)).collect();
        let memory = machine.memory.as_ref().and_then(Memory::sharing);
        let share = if key.method.is_mapped() { MAPPED_SHARE } else { memory.unwrap_or(SHARE) };
        let basis = Basis {
            like: like.filter(|_| loads(&members) < OWN_LOADS),
            splits: device,
            request_s: path::request_s(&key),
            sharing: on_processor.then_some((f64::from(processors), share)),
        };
        let fit = Fit::new(points, &basis);
        Self { key, members, like, fit, on_processor }
    }

    /// Predicts the throughput of requests on this path; `None` if neither its cells nor those of a similar path show the
    /// effect of their size or number. An experiment is that of the path's cells that measures them.
    pub(super) fn predict(
        &self,
        requests: &Requests,
        experiment: Option<&str>,
        machine: &Machine,
        change: &Query,
    ) -> Option<Prediction> {
        let fit = self.fit.as_ref()?;
        let cpus = change.cpus.unwrap_or(machine.processors);
        let cap = self.on_processor.then_some(cpus);
        let load = requests.load(cap);
        let kin = fit.like;
        let bytes = path::request_s(&self.key).is_some() || kin.is_some_and(|kin| kin.bytes);
        let in_flight = self.on_processor || kin.is_some_and(|kin| kin.in_flight);
        let shown = (bytes || fit.shows(&load, |load| load.bytes))
            && (in_flight || fit.shows(&load, |load| load.in_flight));
        if !shown {
            return None;
        }
        let place = self.measured(requests.cell_load(cap, experiment));
        let measured = place.load;
        let (log_time, _, error) = fit.log_time(place);
        let range = |law: &PathLaw| {
            let base = fit.law.time(&measured).ln();
            let changed = law.time(&load).ln() - base;
            [0.0, fit.half * error, -fit.half * error].map(|far| load.rate((log_time + changed + far).exp()))
        };
        let mut law = fit.law;
        let device = change.device.filter(|_| path::touches_device(&self.key));
        if device.is_some() {
            law.parameters[Term::DiskRequests as usize] = 0.0;
            law.parameters[Term::DiskBytes as usize] = 0.0;
        }
        let [value, low, high] = range(&law);
        let mut rate = Estimate { value, low, high };
        let mut limit = self.limit(&law, &load);
        // The maximum of a stage, and the half-width of its logarithm.
        let mut cap = |(most, half): (f64, f64), stage: Limit| {
            if most < rate.value {
                limit = stage;
            }
            let spread = (fit.half * fit.noise).hypot(half).exp();
            rate = Estimate {
                value: rate.value.min(most),
                low: rate.low.min(most / spread),
                high: rate.high.min(most * spread),
            };
        };
        if let Some(device) = device {
            if self.key.reach_device_as_sent() {
                cap((load.disks * device.requests_per_s * load.bytes, 0.0), Limit::DeviceRequests);
            }
            cap((load.disks * device.bytes_per_s, 0.0), Limit::DeviceBandwidth);
        }
        let busy = match self.on_processor {
            true => load.in_flight,
            false => {
                // The workers of a striped file serve all disks.
                let files = if requests.chunk.is_some() { 1.0 } else { load.disks };
                f64::from(cpus).min(f64::from(requests.workers) * files)
            }
        };
        if let Some(request_s) = self.processor_time(load.bytes).filter(|_| change.is_change()) {
            cap((busy * load.bytes / request_s, 0.0), Limit::Processor);
        }
        if let Some(memory) = machine.memory.as_ref().filter(|_| self.on_processor && change.cpus.is_some()) {
            cap(memory.bandwidth(busy), Limit::Memory);
        }
        Some(Prediction {
            rate,
            limit,
            extrapolated: self.extrapolates(&load, change, cpus),
            path: path::name(&self.key),
        })
    }

    /// True if the cells leave the rate of requests open by more than [`WIDEST`] either way, apart from the noise of a
    /// measurement.
    pub(super) fn leaves_open(
        &self,
        requests: &Requests,
        experiment: Option<&str>,
        machine: &Machine,
    ) -> bool {
        let cap = self.on_processor.then_some(machine.processors);
        self.fit.as_ref().is_none_or(|fit| {
            let (_, uncertainty, _) = fit.log_time(self.measured(requests.cell_load(cap, experiment)));
            fit.half * uncertainty > WIDEST.ln()
        })
    }

    /// Returns the load on no more disks than were measured: on more disks, the deviation from the law is the same.
    fn measured<'a>(&self, place: CellLoad<'a>) -> CellLoad<'a> {
        let disks = self.members.iter().map(|member| member.requests.load(None).disks).fold(1.0, f64::max);
        CellLoad { load: Load { disks: place.load.disks.min(disks), ..place.load }, ..place }
    }

    fn limit(&self, law: &PathLaw, load: &Load) -> Limit {
        match law.longest(load) {
            Term::Request if self.on_processor => Limit::Processor,
            Term::Bytes if self.on_processor => Limit::Memory,
            Term::Request => Limit::Latency,
            Term::Bytes => Limit::Transfer,
            Term::DiskRequests => Limit::DeviceRequests,
            Term::DiskBytes => Limit::DeviceBandwidth,
            Term::BusBytes => Limit::Bus,
            Term::Sharing => Limit::Memory,
        }
    }

    /// Returns the CPU time of a request of `bytes` in seconds, from the cells of the nearest sizes; `None` if unknown.
    fn processor_time(&self, bytes: f64) -> Option<f64> {
        let mut costs: Vec<(f64, f64)> = self.members.iter().filter_map(|member| member.cost).collect();
        costs.retain(|(_, cost)| *cost > 0.0);
        // The cheapest of each size: requests in flight together share wake-ups.
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        costs.dedup_by_key(|cost| cost.0);
        let above = costs.iter().position(|(size, _)| *size >= bytes);
        match above {
            Some(0) => costs.first().map(|cost| cost.1),
            Some(above) => {
                let ((low, from), (high, to)) = (costs[above - 1], costs[above]);
                Some(from + (to - from) * (bytes - low) / (high - low))
            }
            None => costs.last().map(|(size, cost)| cost * (bytes / size).max(1.0)),
        }
    }

    /// True if the cells do not surround a load, or the machine differs from the measured one.
    fn extrapolates(&self, load: &Load, change: &Query, cpus: u32) -> bool {
        let at = |load: &Load| (load.bytes.log2(), load.in_flight.log2());
        let loads = || self.members.iter().map(|m| m.requests.load(self.on_processor.then_some(cpus)));
        let disks =
            loads().fold((f64::INFINITY, 0.0_f64), |(l, h), load| (l.min(load.disks), h.max(load.disks)));
        change.device.is_some()
            || change.cpus.is_some()
            || load.disks < disks.0
            || load.disks > disks.1
            || !in_hull(&loads().map(|load| at(&load)).collect::<Vec<_>>(), at(load))
    }
}
