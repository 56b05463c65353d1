//! Contenders: the strategies that an adaptive run tries on the first parts of a file.

use fullbore_io::engine::{CachePolicy, method};

use super::contender::{Contender, Contenders};
use super::fields::{Model, Strategy};
use super::plan_input::{MOST_WORKERS, PlanInput, Purpose, Target, alike, mapped_part};
use super::profile::{MeasuredStrategy, ProfileEntry};
use super::spec::StrategySpec;

/// The expected logarithmic rates of contenders relative to the first, and their standard deviations, from measurements on
/// a few machines: the choice by the facts; in the page cache a mapping and copies; from the device deep queues, large
/// requests, and the kernel's read-ahead, which is as fast on some devices and costs twice the CPU time. Several
/// writers of one file wait for one another.
const CHOSEN: [f64; 2] = [0.0, 0.15];
const MAPPED: [f64; 2] = [-0.05, 0.2];
const COPIED: [f64; 2] = [-0.1, 0.2];
/// The expectation of copies in a short run, where processors differ more: they took 0.75 to 1.4 of the time of a mapping.
const COPIED_SHORT: [f64; 2] = [-0.1, 0.3];
const DEEP: [f64; 2] = [0.0, 0.15];
const DEEP_WRITERS: [f64; 2] = [-0.1, 0.15];
const LARGE: [f64; 2] = [-0.05, 0.2];
const READ_AHEAD: [f64; 2] = [-0.5, 0.3];
/// The expectation of other request sizes and numbers of workers for a pipe: they differ little, except for operations that need
/// their own worker.
const STREAM: [f64; 2] = [0.0, 0.1];

/// From this cached share on, the other parts are read into the page cache.
const COMPLETE: f64 = 0.9;

/// Lists the strategies worth trying, the one chosen by the facts first. `measured` holds the strategies that the profile of
/// the file system has for the same job, if any.
pub(super) fn contenders(
    plan_input: &PlanInput,
    chosen: &Strategy,
    measured: Option<&ProfileEntry>,
) -> Contenders {
    let mut found = Contenders::default();
    if plan_input.len.is_none() {
        found.cached = of_stream(plan_input, chosen);
        return found;
    }
    // Files in one state of the page cache can be compared.
    let comparable = plan_input.among_files && (plan_input.is_cached() || plan_input.is_uncached());
    let short = plan_input.is_short() && !comparable;
    let short_trial = plan_input.has_short_trial();
    // Workers alternate on a stream: whole leases would make them wait for one another.
    let stream = plan_input.target == Target::Stream;
    if !plan_input.adapts
        || short && !plan_input.has_halves() && !short_trial
        || stream
        || plan_input.rotational
        || plan_input.units.is_some()
    {
        return found;
    }
    let add = |list: &mut Vec<Contender>, strategy: Strategy, [expected, deviation]: [f64; 2]| {
        let known = measured.and_then(|entry| {
            let [one, first] =
                [&strategy, chosen].map(|strategy| measurement(entry, strategy, plan_input.target));
            one.zip(first)
        });
        let (expected, deviation) = match known {
            // The interval is about four standard deviations long; a single sample has none. A rate measured yesterday holds
            // today within 5%.
            Some((one, first)) => {
                let measured = ((one.high / one.low).ln() / 4.0).max(0.05);
                ((one.rate / first.rate).ln(), if one.high > one.low { measured } else { deviation })
            }
            None => (expected, deviation),
        };
        list.push(Contender { strategy, expected, deviation });
    };
    let workers = plan_input.workers();
    // The output is prepared for one way of writing.
    let base = Strategy {
        write: chosen.write,
        write_cache: chosen.write_cache,
        allocation: chosen.allocation,
        budget: plan_input.budget,
        ..Strategy::plain()
    };
    let buffered =
        |request: usize, stripe: u64| Strategy { request, stripe, ..base.clone() }.with_workers(workers);
    let writes = plan_input.target.is_file();
    // Two files keep the device busy with any of them.
    let streams = if plan_input.purpose == Purpose::Compare { 2.0 } else { 1.0 };
    let device = |[expected, deviation]: [f64; 2]| [expected, deviation / streams];
    // The choice by the facts goes first.
    match (plan_input.is_cached(), plan_input.is_uncached()) {
        (true, _) => add(&mut found.cached, chosen.clone(), CHOSEN),
        (_, true) => add(&mut found.uncached, chosen.clone(), device(CHOSEN)),
        _ => {}
    }
    if !plan_input.is_uncached() {
        // The choice for a short file, unless it has one worker or a profile decides, is a mapping in stripes that divide it.
        if let Some(mmap) = method("mmap").filter(|_| plan_input.can_map && !short_trial) {
            // Large writes give a new file large folios; a visitor needs few calls.
            let request = if writes { 512 << 10 } else { 1 << 20 };
            let stripe = mapped_part(plan_input.budget, workers as u64, request as u64);
            let window = Some(stripe as usize);
            let mapped = Strategy { read: mmap, request, stripe, window, ..base.clone() };
            add(&mut found.cached, mapped.with_workers(workers), MAPPED);
        }
        // The buffers of both files of a comparison fit the processor's cache.
        let pair = plan_input.purpose == Purpose::Compare;
        let request = if short_trial || pair { 256 << 10 } else { 512 << 10 };
        let copies = buffered(request, if short_trial || writes { 1 << 20 } else { 4 << 20 });
        add(&mut found.cached, copies, if short_trial { COPIED_SHORT } else { COPIED });
    }
    if !plan_input.is_cached() {
        // Reads through the page cache complete an almost fully cached file; direct reads would leave it incomplete.
        let direct = plan_input.cached.is_none_or(|share| share < COMPLETE);
        if let Some(deep) = plan_input.deep_reads(&base).filter(|_| direct) {
            // The uncached parts of a partly cached file are read by all free workers; one worker is a contender too if the parts
            // are also written.
            if !plan_input.is_mixed() || writes || workers == 1 {
                add(&mut found.uncached, deep.clone().with_workers(1), device(DEEP));
            }
            let expected = device(if writes { DEEP_WRITERS } else { DEEP });
            add(&mut found.uncached, deep.with_workers(workers), expected);
        }
        if let Some(direct) = method("direct").filter(|_| direct && !writes) {
            let large = Strategy {
                read: direct,
                read_cache: CachePolicy::Direct,
                request: 4 << 20,
                stripe: 4 << 20,
                ..base.clone()
            };
            add(&mut found.uncached, large.with_workers(workers), device(LARGE));
        }
        add(&mut found.uncached, buffered(256 << 10, 8 << 20), device(READ_AHEAD));
    }
    if plan_input.has_halves() {
        // Nothing is tried.
        found.cached.truncate(1);
        found.uncached.truncate(1);
    }
    // The state of the regions is unknown: all are tried on the same parts.
    if plan_input.cached.is_none() {
        let uncached = std::mem::take(&mut found.uncached);
        found.cached.extend(uncached);
    }
    found
}

/// The contenders for a pipe or device: the request size, and the number of workers that take turns at reading it.
fn of_stream(plan_input: &PlanInput, chosen: &Strategy) -> Vec<Contender> {
    if !plan_input.adapts || plan_input.purpose == Purpose::Compare {
        return Vec::new();
    }
    let all = plan_input.processors.clamp(1, MOST_WORKERS);
    let shapes = [(64 << 10, 1), (256 << 10, 1), (1 << 20, chosen.workers), (256 << 10, all)];
    let differ =
        |&(request, workers): &(usize, usize)| (request, workers) != (chosen.request, chosen.workers);
    let other = |(request, workers)| {
        let strategy = Strategy { request, stripe: request as u64, ..chosen.clone() }.with_workers(workers);
        Contender { strategy, expected: STREAM[0], deviation: STREAM[1] }
    };
    let first = Contender { strategy: chosen.clone(), expected: CHOSEN[0], deviation: CHOSEN[1] };
    std::iter::once(first).chain(shapes.into_iter().filter(differ).map(other)).collect()
}

/// The measurement of a strategy that equals this one in all fields that matter.
pub(super) fn measurement<'e>(
    entry: &'e ProfileEntry,
    strategy: &Strategy,
    target: Target,
) -> Option<&'e MeasuredStrategy> {
    let alike = |measured: &&MeasuredStrategy| {
        measured
            .strategy
            .parse::<StrategySpec>()
            .is_ok_and(|spec| alike(&spec.apply(Strategy::plain()), strategy, target))
    };
    entry.ranked.iter().find(alike)
}

/// The strategies that differ from `strategy` by one step of workers, request size or mapped part, within the memory and
/// the fields that `spec` leaves open. `most` is the largest number of workers.
pub(crate) fn neighbours(
    strategy: &Strategy,
    spec: &StrategySpec,
    most: usize,
    writes: bool,
) -> Vec<Strategy> {
    let mut found = Vec::new();
    if spec.workers.is_none() && spec.model != Some(Model::Serial) {
        if strategy.workers * 2 <= most {
            found.push(strategy.clone().with_workers(strategy.workers * 2));
        }
        if strategy.workers > 1 && strategy.workers <= most {
            found.push(strategy.clone().with_workers(strategy.workers / 2));
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
        let stripe = if spec.stripe.is_some() { strategy.stripe } else { strategy.stripe * 2 };
        found.push(Strategy { window: Some(window * 2), stripe, ..strategy.clone() });
    }
    found.retain(|strategy| strategy.memory() <= strategy.budget && strategy.workers > 0);
    found
}
