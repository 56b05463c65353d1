//! Chooses a strategy, with its evidence, from facts and measurements. The functions are pure: they make no system calls.

#[cfg(test)]
mod tests;

use fullbore_io::engine::{Method, deep_method, method};

use super::contender::Contenders;
use super::contenders::{contenders, measurement};
use super::evidence::{Alternative, Evidence, Reason};
use super::fields::{Allocation, Strategy};
use super::plan_input::{PlanInput, Purpose, Target, mapped_part};
use super::profile::{MeasuredStrategy, ProfileEntry};
use super::spec::StrategySpec;

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
/// use fullbore::strategy::{InputState, ProfileEntry, ProfileJob, MeasuredStrategy, PlanInput, choose};
/// let warm = PlanInput { processors: 2, ..PlanInput::reading(1 << 30) };
/// assert_eq!(choose(&warm, None).strategy.read.name, "buffered");
/// let best = MeasuredStrategy { strategy: "method=mmap".into(), rate: 9e9, low: 8e9, high: 1e10 };
/// let entry = ProfileEntry { job: ProfileJob::Read(InputState::Warm), measured: "2026-01-02".into(), ranked: vec![best] };
/// assert_eq!(choose(&warm, Some(&entry)).strategy.read.name, "mmap");
/// ```
pub fn choose(plan_input: &PlanInput, measured: Option<&ProfileEntry>) -> Decision {
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
fn from_profile(plan_input: &PlanInput, entry: &ProfileEntry, by_facts: &Decision) -> Option<Decision> {
    if plan_input.len.is_none() || plan_input.is_small() {
        return None;
    }
    let (best, others) = entry.ranked.split_first()?;
    let suggested = measurement(entry, &by_facts.strategy, plan_input.target);
    let measured = |best: bool, measured: &MeasuredStrategy| Evidence::Measured {
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
    let slower = |other: &MeasuredStrategy| Alternative {
        strategy: other.strategy.clone(),
        reason: Reason::Measured { rate: other.rate, share: other.rate / best.rate },
    };
    let spec = best.strategy.parse::<StrategySpec>().ok()?;
    // The memory is this run's.
    let strategy = Strategy { budget: plan_input.budget, ..spec.apply(Strategy::plain()) };
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

/// As many workers as the facts allow, in stripes.
fn spread(plan_input: &PlanInput, decision: &mut Decision) {
    let workers = plan_input.workers();
    decision.strategy = decision.strategy.clone().with_workers(workers);
    decision.evidence.push(match plan_input.serial {
        Some(serial) => Evidence::Serial(serial),
        None if plan_input.len.is_none() && workers > 1 => Evidence::Turns { workers },
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
    let workers = plan_input.workers() as u64;
    // All workers have several parts of a short file.
    let part = plan_input.len.unwrap_or(u64::MAX) / (4 * workers);
    let large = plan_input.budget / workers >= 4 << 20 && part >= 1 << 20;
    decision.strategy.request = if large { 1 << 20 } else { 256 << 10 };
    let request = decision.strategy.request as u64;
    let window = mapped_part(plan_input.budget, workers, request);
    decision.evidence.push(Evidence::Mapped { window, share: plan_input.cached.unwrap_or(1.0) });
    spread(plan_input, decision);
    decision.strategy.window = Some(window as usize);
    let most = if plan_input.is_short() { SHORT_STRIPE.max(request) } else { window };
    decision.strategy.stripe = (part / request * request).clamp(request, window.min(most));
    reject(decision, "buffered", Reason::CopiesBytes);
    reject_device(decision);
}

fn from_memory(plan_input: &PlanInput, decision: &mut Decision) {
    if plan_input.purpose != Purpose::Generate {
        decision.evidence.push(Evidence::Buffered { share: plan_input.cached });
    }
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
                if decision.strategy.workers > most {
                    decision.strategy.workers = most;
                    decision.evidence.pop();
                    decision.evidence.push(Evidence::Memory { workers: most, budget: plan_input.budget });
                }
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
            if let Some(len) = plan_input.len {
                decision.strategy.stripe = decision.strategy.stripe_within(len);
            }
        }
    }
}

fn allocation(plan_input: &PlanInput, decision: &mut Decision) {
    if let Some(kind) = plan_input.unallocated {
        decision.evidence.push(Evidence::Unallocated(kind));
        decision.strategy.allocation = Allocation::Size;
    } else {
        decision.evidence.push(Evidence::Fallocate);
        decision.strategy.allocation = Allocation::Fallocate;
        reject(decision, "alloc=extend", Reason::MovesEnd);
    }
}
