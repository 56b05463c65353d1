//! Contenders: the strategies that an adaptive run tries on the first parts of a file.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::choose::{MOST_WORKERS, PlanInput, Purpose, Target, WINDOW, alike};
use super::learned::{Circumstances, Learned};
use super::{Entry, Measured, Model, Plan, Strategy, StrategySpec};
use fullbore_io::engine::{CachePolicy, method};
use fullbore_io::size;

/// Below this length of the parts in one state of the page cache a trial costs more than it saves, in bytes: with 64 MiB,
/// files of 100 MB took 10 to 30% longer.
#[doc(hidden)]
pub const ADAPTIVE: u64 = 256 << 20;

/// Files from this length on, partly in the page cache, have a strategy for each state, in bytes.
pub(crate) const PARTLY: u64 = 64 << 20;

/// The expected logarithmic rates of contenders relative to the first, and their standard deviations, from measurements on
/// a few machines: the choice by the facts; in the page cache a mapping and copies; from the device deep queues, large
/// requests, and the kernel's read-ahead, which some devices like as much and which costs twice the CPU time.
const CHOSEN: [f64; 2] = [0.0, 0.15];
const MAPPED: [f64; 2] = [-0.05, 0.2];
const COPIED: [f64; 2] = [-0.1, 0.2];
const DEEP: [f64; 2] = [0.0, 0.15];
const LARGE: [f64; 2] = [-0.05, 0.2];
const READ_AHEAD: [f64; 2] = [-0.5, 0.3];

/// From this cached share on, the other parts are read into the page cache.
const COMPLETE: f64 = 0.9;

/// A strategy worth trying, and its expected rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// The strategy.
    pub strategy: Strategy,
    /// The expected logarithm of its rate, relative to that of the first contender.
    pub expected: f64,
    /// The standard deviation of this expectation.
    pub deviation: f64,
}

/// The strategies that a run may use, by the state of a region in the page cache, best expected first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contenders {
    /// For regions in the page cache, and for files whose state is unknown.
    pub cached: Vec<Contender>,
    /// For regions that the device must deliver.
    pub uncached: Vec<Contender>,
}

impl Contenders {
    /// True if there is a choice: several contenders for one region, or regions of two kinds.
    pub fn differ(&self) -> bool {
        self.cached.len() + self.uncached.len() > 1
    }
}

/// Lists the strategies worth trying, the one chosen by the facts first. `measured` holds the strategies that the profile of
/// the file system has for the same job, if any.
pub(super) fn contenders(plan_input: &PlanInput, chosen: &Strategy, measured: Option<&Entry>) -> Contenders {
    let mut found = Contenders::default();
    // Files in one state of the page cache can be compared.
    let comparable = plan_input.among_files && (plan_input.is_cached() || plan_input.is_uncached());
    let short = plan_input.is_short() && !comparable;
    // Workers alternate on a stream: whole leases would make them wait for one another.
    let stream = plan_input.target == Target::Stream;
    if !plan_input.adapts || short || stream || plan_input.rotational || plan_input.units.is_some() {
        return found;
    }
    let add = |list: &mut Vec<Contender>, strategy: Strategy, [expected, deviation]: [f64; 2]| {
        let known = measured.and_then(|entry| {
            let [one, first] =
                [&strategy, chosen].map(|strategy| measurement(entry, strategy, plan_input.target));
            one.zip(first)
        });
        let (expected, deviation) = match known {
            // The interval is about four standard deviations long. What was measured yesterday holds for today by 5%.
            Some((one, first)) => ((one.rate / first.rate).ln(), ((one.high / one.low).ln() / 4.0).max(0.05)),
            None => (expected, deviation),
        };
        list.push(Contender { strategy, expected, deviation });
    };
    let workers = match plan_input.serial {
        Some(_) => 1,
        None => plan_input.processors.clamp(1, MOST_WORKERS),
    };
    let base = Strategy { allocation: chosen.allocation, budget: plan_input.budget, ..Strategy::plain() };
    let spread = |strategy: Strategy, workers: usize| Strategy {
        workers,
        model: if workers > 1 { Model::Pool } else { Model::Serial },
        ..strategy
    };
    let buffered =
        |request: usize, stripe: u64| spread(Strategy { request, stripe, ..base.clone() }, workers);
    let writes = matches!(plan_input.target, Target::New | Target::Existing);
    // The choice by the facts goes first.
    match (plan_input.is_cached(), plan_input.is_uncached()) {
        (true, _) => add(&mut found.cached, chosen.clone(), CHOSEN),
        (_, true) => add(&mut found.uncached, chosen.clone(), CHOSEN),
        _ => {}
    }
    if !plan_input.is_uncached() {
        if let Some(mmap) = method("mmap").filter(|_| plan_input.can_map) {
            // Large writes give a new file large folios; a visitor prefers few calls.
            let request = if writes { 512 << 10 } else { 1 << 20 };
            let window = Some(WINDOW as usize);
            let mapped = Strategy { read: mmap, request, stripe: WINDOW, window, ..base.clone() };
            add(&mut found.cached, spread(mapped, workers), MAPPED);
        }
        add(&mut found.cached, buffered(512 << 10, if writes { 1 << 20 } else { 4 << 20 }), COPIED);
    }
    if !plan_input.is_cached() {
        // A file that is cached but for a few parts is wanted there: direct reads would leave them out again.
        let direct =
            plan_input.no_deep_reads.is_none() && plan_input.cached.is_none_or(|share| share < COMPLETE);
        if let Some(uring) = method("uring").filter(|_| direct) {
            let deep = Strategy {
                read: uring,
                read_cache: CachePolicy::Direct,
                request: 1 << 20,
                depth: 8,
                stripe: 8 << 20,
                ..base.clone()
            };
            add(&mut found.uncached, spread(deep.clone(), 1), DEEP);
            add(&mut found.uncached, spread(deep, workers), DEEP);
        }
        if let Some(direct) = method("direct").filter(|_| direct && !writes) {
            let large = Strategy {
                read: direct,
                read_cache: CachePolicy::Direct,
                request: 4 << 20,
                stripe: 4 << 20,
                ..base.clone()
            };
            add(&mut found.uncached, spread(large, workers), LARGE);
        }
        add(&mut found.uncached, buffered(256 << 10, 8 << 20), READ_AHEAD);
    }
    // The state of the regions is unknown: all are tried on the same parts.
    if plan_input.cached.is_none() {
        let uncached = std::mem::take(&mut found.uncached);
        found.cached.extend(uncached);
    }
    found
}

/// The measurement of a strategy that differs from this one in nothing that matters.
pub(super) fn measurement<'e>(entry: &'e Entry, strategy: &Strategy, target: Target) -> Option<&'e Measured> {
    let alike = |measured: &&Measured| {
        measured
            .strategy
            .parse::<StrategySpec>()
            .is_ok_and(|spec| alike(&spec.apply(Strategy::plain()), strategy, target))
    };
    entry.ranked.iter().find(alike)
}

/// The strategies that differ from `strategy` by one step of workers, request size or mapped part, within the memory and
/// the fields that `spec` leaves open. `most` is the largest number of workers.
pub(crate) fn neighbors(
    strategy: &Strategy,
    spec: &StrategySpec,
    most: usize,
    writes: bool,
) -> Vec<Strategy> {
    let mut found = Vec::new();
    if spec.workers.is_none() {
        let workers = |workers: usize| Strategy { workers, model: Model::Pool, ..strategy.clone() };
        if strategy.workers * 2 <= most {
            found.push(workers(strategy.workers * 2));
        }
        if strategy.workers > 1 && strategy.workers <= most {
            found.push(workers(strategy.workers / 2));
        }
    }
    if spec.request.is_none() && !writes {
        for request in [strategy.request * 2, strategy.request / 2] {
            let stripe = strategy.stripe.max(4 * request as u64);
            let stripe = if spec.stripe.is_some() { strategy.stripe } else { stripe };
            if (128 << 10..=8 << 20).contains(&request) && stripe >= request as u64 {
                found.push(Strategy { request, stripe, ..strategy.clone() });
            }
        }
    }
    if let (Some(window), true, None) = (strategy.window, strategy.read.capabilities.mapped, spec.window) {
        found.push(Strategy { window: Some(window * 2), stripe: strategy.stripe * 2, ..strategy.clone() });
    }
    found.retain(|strategy| strategy.memory() <= strategy.budget && strategy.workers > 0);
    found
}

/// The strategy of a run, or the contenders that it tries.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The strategy of a run that is too short to try others.
    pub(crate) first: &'a Strategy,
    /// The contenders and the record of their trials.
    pub(crate) adaptive: Option<Adaptive<'a>>,
}

/// The contenders of an adaptive run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Adaptive<'a> {
    pub(crate) contenders: &'a Contenders,
    pub(crate) spec: &'a StrategySpec,
    pub(crate) selections: &'a Selections,
    /// Gives parts to contenders at random, by this seed.
    #[cfg(test)]
    pub(crate) shuffle: Option<u64>,
}

impl<'a> From<&'a Strategy> for Choice<'a> {
    fn from(first: &'a Strategy) -> Self {
        Self { first, adaptive: None }
    }
}

impl<'a> From<&'a Plan> for Choice<'a> {
    fn from(plan: &'a Plan) -> Self {
        let Plan { contenders, spec, selections, .. } = plan;
        let adaptive = contenders.differ().then_some(Adaptive {
            contenders,
            spec,
            selections,
            #[cfg(test)]
            shuffle: None,
        });
        Self { first: &plan.strategy, adaptive }
    }
}

/// The selections of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Selections {
    list: Mutex<Vec<Selection>>,
    /// The figures that learn from them, the file system, and the purpose.
    learned: Option<(Learned, String, Purpose)>,
}

impl Selections {
    pub(super) fn learning(learned: Learned, file_system: String, purpose: Purpose) -> Self {
        Self { list: Mutex::default(), learned: Some((learned, file_system, purpose)) }
    }

    pub(crate) fn add(&self, selection: Selection) {
        if let Some((learned, file_system, purpose)) = &self.learned {
            let (file_system, purpose) = (file_system.clone(), *purpose);
            let circumstances = Circumstances { file_system, purpose, cached: selection.cached };
            learned.add(&circumstances, &selection.tried);
        }
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(selection);
    }

    pub(crate) fn list(&self) -> Vec<Selection> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The contenders tried on one part of a file, and the one that the run continued with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Selection {
    /// The bytes of these parts that were read until the choice.
    pub(crate) after: u64,
    /// True for parts in the page cache.
    pub(crate) cached: bool,
    /// The contenders in the order of the trial.
    pub(crate) tried: Vec<Tried>,
    /// The chosen strategy, as `--strategy` takes it.
    pub(crate) chosen: String,
}

/// The measurement of one contender.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tried {
    /// The strategy, as `--strategy` takes it.
    pub(crate) strategy: String,
    /// A short name.
    pub(crate) name: String,
    /// Throughput of all its workers, in bytes per second.
    pub(crate) rate: f64,
    /// CPU time per byte, in seconds.
    pub(crate) cpu: f64,
    /// The number of parts it was tried on.
    pub(crate) samples: usize,
}

impl Tried {
    pub(crate) fn new(strategy: &Strategy, rate: f64, cpu: f64, samples: usize) -> Self {
        Self { strategy: strategy.to_string(), name: name(strategy), rate, cpu, samples }
    }
}

/// A short name of a strategy: method, cache policy, request size, depth, workers.
pub(super) fn name(strategy: &Strategy) -> String {
    let mut name = strategy.read.name.to_owned();
    if strategy.read_cache == CachePolicy::Direct && name != "direct" {
        name.push_str(" direct");
    }
    match strategy.window.filter(|_| strategy.read.capabilities.mapped) {
        Some(window) => name.push_str(&format!(" {} windows", size::human(window as u64))),
        None => name.push_str(&format!(" {}", size::human(strategy.request as u64))),
    }
    if strategy.depth > 1 {
        name.push_str(&format!(" depth {}", strategy.depth));
    }
    name.push_str(&format!(" × {}", strategy.workers));
    name
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.cached { "" } else { "not cached: " };
        write!(f, "{state}tried ")?;
        for (index, tried) in self.tried.iter().enumerate() {
            let separator = if index > 0 { " · " } else { "" };
            let (rate, cpu) = (size::rate(tried.rate), tried.cpu * 1e9);
            write!(f, "{separator}{}: {rate}, {cpu:.2} CPU ms/MB", tried.name)?;
        }
        let chosen = self.tried.iter().find(|tried| tried.strategy == self.chosen);
        let chosen = chosen.map_or(self.chosen.as_str(), |tried| tried.name.as_str());
        write!(f, " · continued after {} with {chosen}", size::human(self.after))
    }
}
