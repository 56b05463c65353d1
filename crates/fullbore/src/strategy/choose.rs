//! Chooses a strategy, with its evidence, from facts and measurements. The functions are pure: they make no system calls.

use fullbore_io::engine::{Method, deep_method, method};

use super::contender::Contenders;
use super::contenders::{contenders, measurement};
use super::evidence::{Alternative, Evidence, Reason};
use super::fields::{Allocation, Model, Strategy};
use super::plan_input::{MOST_WORKERS, PlanInput, Purpose, Target, mapped_part};
use super::profile::{Entry, Measured};
use super::spec::StrategySpec;

/// One worker reads an input without a length while another works on the bytes before.
const MOST_ON_STREAM: usize = 2;

/// A strategy and the reasons for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The choice.
    pub strategy: Strategy,
    /// The reasons for it.
    pub evidence: Vec<Evidence>,
    /// The strategies not chosen.
    pub alternatives: Vec<Alternative>,
    /// The strategies that the run tries, if it may.
    pub contenders: Contenders,
}

/// Chooses a strategy for these facts. `measured` holds the strategies that the profile of this file system has for the
/// same job, if any.
///
/// ```
/// use fullbore::strategy::{CacheState, Entry, ProfileJob, Measured, PlanInput, choose};
/// let warm = PlanInput { processors: 2, ..PlanInput::reading(1 << 30) };
/// assert_eq!(choose(&warm, None).strategy.read.name, "buffered");
/// let best = Measured { strategy: "method=mmap".into(), rate: 9e9, low: 8e9, high: 1e10 };
/// let entry = Entry { job: ProfileJob::Read(CacheState::Warm), measured: "2026-01-02".into(), ranked: vec![best] };
/// assert_eq!(choose(&warm, Some(&entry)).strategy.read.name, "mmap");
/// ```
pub fn choose(plan_input: &PlanInput, measured: Option<&Entry>) -> Decision {
    let decision = measured
        .and_then(|entry| from_profile(plan_input, entry, &by_facts(plan_input)))
        .unwrap_or_else(|| by_facts(plan_input));
    Decision { contenders: contenders(plan_input, &decision.strategy, measured), ..decision }
}

/// Chooses by the facts alone.
fn by_facts(plan_input: &PlanInput) -> Decision {
    let mut decision = Decision {
        strategy: Strategy::plain(),
        evidence: Vec::new(),
        alternatives: Vec::new(),
        contenders: Contenders::default(),
    };
    match plan_input.len {
        None => sequential(plan_input, &mut decision),
        Some(len) if plan_input.is_small() => small(len, &mut decision),
        Some(_) if plan_input.is_cold() && plan_input.rotational => rotational(&mut decision),
        Some(_) if plan_input.is_cold() => from_device(plan_input, &mut decision),
        Some(_) if maps(plan_input) => mapped(plan_input, &mut decision),
        Some(_) => from_memory(plan_input, &mut decision),
    }
    match plan_input.target {
        Target::New if plan_input.len.is_some() => allocation(plan_input, &mut decision),
        Target::Stream => {
            // Workers alternate on a stream: short stripes keep them busy.
            decision.strategy.stripe = decision.strategy.request as u64;
        }
        _ => {}
    }
    decision
}

/// The strategy that measured fastest, unless the choice by facts was measured too and is not clearly slower: then
/// noise would decide.
fn from_profile(plan_input: &PlanInput, entry: &Entry, by_facts: &Decision) -> Option<Decision> {
    if plan_input.len.is_none() || plan_input.is_small() {
        return None;
    }
    let (best, others) = entry.ranked.split_first()?;
    // The memory is this run's.
    let strategy = |text: &str| {
        let spec = text.parse::<StrategySpec>().ok()?;
        Some(Strategy { budget: plan_input.budget, ..spec.apply(Strategy::plain()) })
    };
    let suggested = measurement(entry, &by_facts.strategy, plan_input.target);
    let measured = |best: bool, measured: &Measured| Evidence::Measured {
        best,
        date: entry.measured.clone(),
        job: entry.job,
        rate: measured.rate,
        low: measured.low,
        high: measured.high,
    };
    if let Some(suggested) = suggested.filter(|suggested| *suggested != best && suggested.high >= best.low) {
        let mut decision = by_facts.clone();
        decision.evidence.push(measured(false, suggested));
        decision.evidence.push(Evidence::NotClearlyFaster { other: best.strategy.clone() });
        return Some(decision);
    }
    let slower = |other: &Measured| Alternative {
        strategy: other.strategy.clone(),
        reason: Reason::Measured { rate: other.rate, share: other.rate / best.rate },
    };
    let strategy = strategy(&best.strategy)?;
    // A run of the meter can measure methods that other runs cannot use.
    let is_usable = |method: &Method| {
        let capabilities = &method.capabilities;
        capabilities.storage && (!capabilities.copies_in_kernel || plan_input.purpose == Purpose::Copy)
    };
    if ![strategy.read, strategy.write].into_iter().all(is_usable) {
        return None;
    }
    Some(Decision {
        strategy,
        evidence: vec![measured(true, best)],
        alternatives: others.iter().map(slower).collect(),
        contenders: Contenders::default(),
    })
}

fn reject(decision: &mut Decision, strategy: &str, reason: Reason) {
    decision.alternatives.push(Alternative { strategy: strategy.into(), reason });
}

/// Rejects the methods for reads from the device: the bytes are in memory.
fn reject_device(decision: &mut Decision) {
    let deep = deep_method().name;
    reject(decision, &format!("direct, {deep} direct, aio"), Reason::ReadsFromDevice);
    reject(decision, deep, Reason::NothingToWaitFor);
}

/// The number of workers that these facts allow: one per processor, up to the number beyond which more do not help.
fn workers(plan_input: &PlanInput) -> usize {
    let most = if plan_input.len.is_none() { MOST_ON_STREAM } else { MOST_WORKERS };
    match plan_input.serial {
        Some(_) => 1,
        None => plan_input.processors.clamp(1, most),
    }
}

/// As many workers as the facts allow, in stripes.
fn spread(plan_input: &PlanInput, decision: &mut Decision) {
    let workers = workers(plan_input);
    decision.strategy.workers = workers;
    if workers > 1 {
        decision.strategy.model = Model::Pool;
    }
    decision.evidence.push(match plan_input.serial {
        Some(serial) => Evidence::Serial(serial),
        None => Evidence::Workers { workers, processors: plan_input.processors },
    });
}

fn sequential(plan_input: &PlanInput, decision: &mut Decision) {
    decision.evidence.push(Evidence::NoLength);
    spread(plan_input, decision);
    reject(decision, &format!("mmap, direct, {}", deep_method().name), Reason::NeedsLength);
}

fn small(len: u64, decision: &mut Decision) {
    decision.evidence.push(Evidence::Small { len });
    decision.strategy.request = 256 << 10;
}

fn rotational(decision: &mut Decision) {
    decision.evidence.push(Evidence::Rotational);
    decision.strategy.request = 1 << 20;
    reject(decision, "striped, pool", Reason::Seeks);
}

/// True if the input is mapped, to be used in the page cache.
fn maps(plan_input: &PlanInput) -> bool {
    plan_input.purpose.views() && plan_input.can_map && plan_input.serial.is_none() && plan_input.is_cached()
}

/// The longest stripe of a mapped file that is too short for a trial, in bytes: the workers end closer together than with 16 MiB.
const SHORT_STRIPE: u64 = 8 << 20;

fn mapped(plan_input: &PlanInput, decision: &mut Decision) {
    let Some(mmap) = method("mmap") else { return from_memory(plan_input, decision) };
    decision.strategy.read = mmap;
    let workers = workers(plan_input) as u64;
    decision.strategy.request = if plan_input.budget / workers >= 4 << 20 { 1 << 20 } else { 256 << 10 };
    let request = decision.strategy.request as u64;
    let window = mapped_part(plan_input.budget, workers, request);
    decision.evidence.push(Evidence::Mapped { window, share: plan_input.cached.unwrap_or(1.0) });
    spread(plan_input, decision);
    decision.strategy.window = Some(window as usize);
    // All workers have several parts of a short file.
    let part = plan_input.len.unwrap_or(u64::MAX) / (4 * workers);
    let most = if plan_input.is_short() { SHORT_STRIPE.max(request) } else { window };
    decision.strategy.stripe = (part / request * request).clamp(request, window.min(most));
    reject(decision, "buffered", Reason::CopiesBytes);
    reject_device(decision);
}

fn from_memory(plan_input: &PlanInput, decision: &mut Decision) {
    decision.evidence.push(Evidence::Buffered { share: plan_input.cached });
    // The page cache allocates folios for a new file no larger than the writes; reads and overwrites use existing ones.
    // Writes of 2 MiB took up to 14 times as long on fragmented memory: the kernel compacts it.
    let new_file = plan_input.target == Target::New;
    let request = if new_file { 512 << 10 } else { 256 << 10 };
    decision.strategy.request = request;
    decision.evidence.push(Evidence::Request { len: request as u64, new_file });
    spread(plan_input, decision);
    decision.strategy.stripe = 1 << 20;
    reject(decision, "mmap", Reason::PageFaults);
    reject_device(decision);
}

fn from_device(plan_input: &PlanInput, decision: &mut Decision) {
    match plan_input.deep_reads(&decision.strategy).filter(|_| plan_input.is_uncached()) {
        Some(deep) => {
            let (depth, request) = (deep.depth, deep.request as u64);
            decision.strategy = deep;
            decision.evidence.push(Evidence::DeepReads { depth, request });
            reject(decision, "buffered", Reason::ShallowReadAhead);
            // Depth gains more than workers, where the memory is not enough for both.
            let most = (plan_input.budget / decision.strategy.memory_of(1)) as usize;
            // Writers of one file wait for one another.
            if !plan_input.target.is_file() && most > 1 {
                spread(plan_input, decision);
                decision.strategy.workers = decision.strategy.workers.min(most);
            }
        }
        None => {
            decision.evidence.push(Evidence::Buffered { share: plan_input.cached });
            if let Some(reason) = &plan_input.no_deep_reads {
                reject(
                    decision,
                    &format!("{} direct", deep_method().name),
                    Reason::Unsupported(reason.clone()),
                );
            }
            decision.strategy.stripe = 8 << 20;
            spread(plan_input, decision);
        }
    }
}

fn allocation(plan_input: &PlanInput, decision: &mut Decision) {
    if plan_input.target_in_memory {
        decision.evidence.push(Evidence::TargetInMemory);
        decision.strategy.allocation = Allocation::Size;
    } else {
        decision.evidence.push(Evidence::Fallocate);
        decision.strategy.allocation = Allocation::Fallocate;
        reject(decision, "alloc=extend", Reason::MovesEnd);
    }
}

#[cfg(test)]
mod tests {
    use fullbore_io::engine::CachePolicy;

    use super::*;
    use crate::strategy::contender::Contender;
    use crate::strategy::{CacheState, ProfileJob, Purpose, Serial};

    fn plan_input() -> PlanInput {
        PlanInput {
            purpose: Purpose::Transform,
            target: Target::New,
            processors: 2,
            ..PlanInput::reading(1 << 30)
        }
    }

    fn measured(strategy: &Strategy, rate: f64) -> Measured {
        Measured { strategy: strategy.to_string(), rate, low: rate * 0.9, high: rate * 1.1 }
    }

    fn entry(ranked: Vec<Measured>) -> Entry {
        Entry { job: ProfileJob::TransformNew(CacheState::Warm), measured: "2026-01-02".into(), ranked }
    }

    /// Memory is limited by the run, not by the strategy that was measured.
    #[test]
    fn a_measured_strategy_has_the_memory_of_this_run() {
        let large = Strategy { budget: 64 << 30, workers: 16, ..choose(&plan_input(), None).strategy };
        let entry = entry(vec![measured(&large, 9e9)]);
        assert!(entry.ranked[0].strategy.contains("budget=64G"));
        let chosen = choose(&plan_input(), Some(&entry)).strategy;
        assert_eq!((chosen.workers, chosen.budget), (16, plan_input().budget));
    }

    /// Some systems do not report what is cached.
    #[test]
    fn a_long_run_without_known_residency_tries_deep_direct_reads() {
        let unknown = PlanInput {
            cached: None,
            adapts: true,
            purpose: Purpose::Fold,
            target: Target::Nowhere,
            ..plan_input()
        };
        let deep = |input: &PlanInput| {
            let Contenders { cached, uncached } = choose(input, None).contenders;
            let deep = |one: &Contender| {
                let strategy = &one.strategy;
                (strategy.read.name, strategy.read_cache) == (deep_method().name, CachePolicy::Direct)
                    && strategy.depth > 1
            };
            cached.iter().chain(&uncached).filter(|one| deep(one)).count()
        };
        assert_eq!(deep(&unknown), 2, "with one worker and with all");
        assert_eq!(deep(&PlanInput { no_deep_reads: Some("forbidden".into()), ..unknown }), 0);
    }

    #[test]
    fn facts_decide_without_measurements() {
        let warm = choose(&plan_input(), None).strategy;
        assert_eq!((warm.read.name, warm.workers, warm.allocation), ("buffered", 2, Allocation::Fallocate));
        let cold = choose(&PlanInput { cached: Some(0.0), ..plan_input() }, None).strategy;
        assert_eq!(
            (cold.read.name, cold.read_cache, cold.write_cache),
            (deep_method().name, CachePolicy::Direct, CachePolicy::Keep)
        );
        let forbidden =
            PlanInput { cached: Some(0.0), no_deep_reads: Some("seccomp".into()), ..plan_input() };
        let decision = choose(&forbidden, None);
        assert_eq!(decision.strategy.read.name, "buffered");
        assert!(
            decision.alternatives.iter().any(|other| other.reason == Reason::Unsupported("seccomp".into()))
        );
        let short = PlanInput { cached: Some(0.0), len: Some(100 << 20), ..plan_input() };
        assert_eq!(choose(&short, None).strategy.workers, 1, "writers wait for one another");
        let read = choose(&PlanInput { target: Target::Nowhere, ..short }, None).strategy;
        assert_eq!((read.read.name, read.request, read.workers), (deep_method().name, 256 << 10, 2));
        let disk = PlanInput { cached: Some(0.0), rotational: true, ..plan_input() };
        assert_eq!(choose(&disk, None).strategy.workers, 1);
        let small = PlanInput { len: Some(1000), ..plan_input() };
        assert_eq!(choose(&small, None).strategy.workers, 1);
        let memory = PlanInput { target_in_memory: true, ..plan_input() };
        assert_eq!(choose(&memory, None).strategy.allocation, Allocation::Size);
    }

    /// The meter can measure methods that only some runs, or none, can use.
    #[test]
    fn a_profile_chooses_no_method_that_the_run_cannot_use() {
        let fast = |read: &str| {
            let strategy =
                StrategySpec { read: method(read), write: method(read), ..StrategySpec::default() };
            measured(&strategy.apply(Strategy::plain()), 1e12)
        };
        for (purpose, name, chosen) in [
            (Purpose::Fold, "null", false),
            (Purpose::Fold, "copy_file_range", false),
            (Purpose::Copy, "copy_file_range", true),
        ] {
            if method(name).is_none() {
                continue;
            }
            let entry = entry(vec![fast(name)]);
            let found = choose(&PlanInput { purpose, ..plan_input() }, Some(&entry)).strategy;
            assert_eq!(found.read.name == name, chosen, "{purpose:?} {name}");
        }
    }

    #[test]
    fn the_evidence_has_the_number_of_workers_that_run() {
        let eight = PlanInput { processors: 8, ..plan_input() };
        let serial = |serial: Serial| PlanInput { serial: Some(serial), ..eight.clone() };
        for (plan_input, workers) in [
            (eight.clone(), 8),
            (PlanInput { processors: 64, ..eight.clone() }, MOST_WORKERS),
            (PlanInput { processors: 1, ..eight.clone() }, 1),
            (PlanInput { purpose: Purpose::Hash, target: Target::Nowhere, ..eight.clone() }, 8),
            (PlanInput { cached: Some(0.3), ..eight.clone() }, 8),
            (PlanInput { len: None, ..eight.clone() }, 2),
            (PlanInput { len: None, processors: 1, ..eight.clone() }, 1),
            (serial(Serial::EachStepNeedsTheLast), 1),
            (PlanInput { len: None, ..serial(Serial::EachStepNeedsTheLast) }, 1),
            (PlanInput { cached: Some(0.3), ..serial(Serial::OthersAreBusy) }, 1),
        ] {
            let Decision { strategy, evidence, .. } = choose(&plan_input, None);
            assert_eq!(strategy.workers, workers, "{plan_input:?}");
            assert_eq!(strategy.model, if workers > 1 { Model::Pool } else { Model::Serial });
            let of_workers =
                |evidence: &&Evidence| matches!(evidence, Evidence::Workers { .. } | Evidence::Serial(_));
            let of_workers: Vec<_> = evidence.iter().filter(of_workers).collect();
            let expected = match plan_input.serial {
                Some(serial) => Evidence::Serial(serial),
                None => Evidence::Workers { workers, processors: plan_input.processors },
            };
            assert_eq!(of_workers, [&expected], "{plan_input:?}");
        }
    }

    #[test]
    fn jobs_follow_length_cache_and_target() {
        let cold = PlanInput { cached: Some(0.0), ..plan_input() };
        assert_eq!(cold.job(), Some(ProfileJob::TransformNew(CacheState::Cold)));
        assert_eq!(PlanInput { len: None, ..cold }.job(), None);
    }

    #[test]
    fn every_purpose_has_a_job() {
        let warm = CacheState::Warm;
        for (purpose, target, job) in [
            (Purpose::Read, Target::Nowhere, Some(ProfileJob::Read(warm))),
            (Purpose::Fold, Target::Nowhere, Some(ProfileJob::Scan(warm))),
            (Purpose::Search, Target::Nowhere, Some(ProfileJob::Search(warm))),
            (Purpose::Hash, Target::Nowhere, Some(ProfileJob::Hash(warm))),
            (Purpose::Compare, Target::Nowhere, Some(ProfileJob::Compare(warm))),
            (Purpose::Transform, Target::Existing, Some(ProfileJob::TransformExisting(warm))),
            (Purpose::Transform, Target::New, Some(ProfileJob::TransformNew(warm))),
            (Purpose::Transform, Target::Stream, Some(ProfileJob::Scan(warm))),
            (Purpose::Copy, Target::New, Some(ProfileJob::Copy(warm))),
            (Purpose::Copy, Target::Existing, Some(ProfileJob::Copy(warm))),
            (Purpose::Copy, Target::Stream, Some(ProfileJob::Scan(warm))),
            (Purpose::Generate, Target::New, None),
        ] {
            assert_eq!(PlanInput { purpose, target, ..plan_input() }.job(), job, "{purpose:?} {target:?}");
        }
    }

    #[test]
    fn the_clearly_fastest_measured_strategy_is_chosen() {
        let other = Strategy { request: 64 << 10, ..Strategy::plain() };
        let suggested = choose(&plan_input(), None).strategy;
        let entry = entry(vec![measured(&other, 9e9), measured(&suggested, 5e9)]);
        let decision = choose(&plan_input(), Some(&entry));
        assert_eq!(decision.strategy, other);
        assert!(decision.evidence[0].to_string().contains("9.00 GB/s"), "{:?}", decision.evidence);
        assert_eq!(decision.alternatives.len(), 1);
    }

    #[test]
    fn noise_does_not_override_the_facts() {
        let other = Strategy { request: 64 << 10, ..Strategy::plain() };
        let suggested = choose(&plan_input(), None).strategy;
        let entry = entry(vec![measured(&other, 9e9), measured(&suggested, 8.5e9)]);
        assert_eq!(choose(&plan_input(), Some(&entry)).strategy, suggested);
    }

    #[test]
    fn halves_of_a_short_file_are_read_in_different_ways() {
        let mixed = PlanInput {
            len: Some(100_000_000),
            cached: Some(0.5),
            can_map: true,
            adapts: true,
            purpose: Purpose::Fold,
            target: Target::Nowhere,
            ..plan_input()
        };
        let halves = |input: &PlanInput| {
            let Contenders { cached, uncached } = choose(input, None).contenders;
            let read = |list: &[Contender]| {
                list.iter().map(|one| (one.strategy.read.name, one.strategy.workers)).collect::<Vec<_>>()
            };
            (read(&cached), read(&uncached))
        };
        assert_eq!(halves(&mixed), (vec![("mmap", 2)], vec![(deep_method().name, 2)]));
        let copy = PlanInput { purpose: Purpose::Copy, target: Target::New, ..mixed.clone() };
        assert_eq!(halves(&copy), (vec![("mmap", 2)], vec![(deep_method().name, 1)]));
        let no_ring = PlanInput { no_deep_reads: Some("forbidden".into()), ..mixed.clone() };
        assert_eq!(halves(&no_ring).1, [("direct", 2)]);
        // Reads through the page cache complete an almost fully cached file.
        assert_eq!(halves(&PlanInput { cached: Some(0.95), ..mixed.clone() }).1, [("buffered", 2)]);
        for whole in [
            PlanInput { cached: Some(1.0), ..mixed.clone() },
            PlanInput { cached: Some(0.0), ..mixed.clone() },
            PlanInput { among_files: true, ..mixed.clone() },
            PlanInput { rotational: true, ..mixed.clone() },
        ] {
            assert_eq!(halves(&whole), (vec![], vec![]), "{whole:?}");
        }
    }

    #[test]
    fn a_first_look_at_a_file_leaves_it_uncached() {
        let state =
            |len: u64, cached: f64| PlanInput { len: Some(len), cached: Some(cached), ..plan_input() };
        for uncached in [state(100_000_000, 0.04), state(1 << 30, 0.015), state(90 << 20, 0.08)] {
            assert!(uncached.is_uncached(), "{uncached:?}");
        }
        for cached in [state(100_000_000, 0.09), state(1 << 30, 0.03), state(16 << 20, 0.3)] {
            assert!(!cached.is_uncached(), "{cached:?}");
        }
    }

    #[test]
    fn cached_input_is_mapped_if_every_byte_is_used_once() {
        let mut spread = plan_input();
        (spread.target, spread.processors) = (Target::Nowhere, 4);
        for purpose in [Purpose::Compare, Purpose::Fold, Purpose::Hash, Purpose::Read, Purpose::Search] {
            let input = PlanInput { purpose, ..spread.clone() };
            let name = |input: &PlanInput| choose(input, None).strategy.read.name;
            assert_eq!(name(&input) == "mmap", purpose.views());
            for otherwise in [
                PlanInput { cached: Some(0.97), ..input.clone() },
                PlanInput { can_map: false, ..input.clone() },
                PlanInput { serial: Some(Serial::EachStepNeedsTheLast), ..input.clone() },
                PlanInput { len: Some(1 << 20), ..input.clone() },
            ] {
                assert_eq!(name(&otherwise), "buffered");
            }
        }
        let narrow = PlanInput { purpose: Purpose::Compare, budget: 8 << 20, ..spread };
        let strategy = choose(&narrow, None).strategy;
        assert!(strategy.memory() <= 8 << 20, "{strategy}");
    }
}
