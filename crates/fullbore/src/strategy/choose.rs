//! The chooser: facts and what was measured in, a strategy with its evidence out. Pure: it looks at nothing.

use std::fmt;

use super::profile::{CacheState, Entry, Job};
use super::{Allocation, Model, Strategy};
use crate::engine::{CachePolicy, method};

/// What the bytes go to.
///
/// ```
/// use fullbore::strategy::{Job, PlanInput, Target, CacheState};
/// # let plan_input = PlanInput { len: Some(1 << 30), cached: Some(1.0), target: Target::New, target_in_memory: false,
/// #     processors: 2, rotational: false, no_deep_reads: None };
/// let looked_at = PlanInput { target: Target::Nowhere, ..plan_input };
/// assert_eq!(looked_at.job(), Some(Job::Read(CacheState::Warm)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Nowhere: they are only looked at.
    Nowhere,
    /// A pipe or device, in order.
    Stream,
    /// A new file.
    New,
    /// The blocks of an existing file.
    Existing,
}

/// The facts that decide.
///
/// ```
/// use fullbore::strategy::{PlanInput, Target, choose};
/// let turning = PlanInput {
///     len: Some(1 << 30),
///     cached: Some(0.0),
///     target: Target::Nowhere,
///     target_in_memory: false,
///     processors: 8,
///     rotational: true,
///     no_deep_reads: None,
/// };
/// assert_eq!(choose(&turning, None).strategy.workers, 1, "eight would make the disk seek");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlanInput {
    /// The input's length in bytes; `None` if it is read from front to back.
    pub len: Option<u64>,
    /// The share of the input that the page cache holds, 0 to 1; `None` if there is no input file or the system
    /// does not say.
    pub cached: Option<f64>,
    /// What the bytes go to.
    pub target: Target,
    /// Whether the target's file system keeps its files in memory.
    pub target_in_memory: bool,
    /// The processors this process may use.
    pub processors: usize,
    /// Whether the input lies on a disk that turns.
    pub rotational: bool,
    /// Why asynchronous direct reading cannot be used on the input, if so.
    pub no_deep_reads: Option<String>,
}

impl PlanInput {
    /// The kind of job this is, as profiles name it; `None` for an input that is read from front to back.
    ///
    /// ```
    /// use fullbore::strategy::{Job, PlanInput, Target, CacheState};
    /// # let plan_input = PlanInput { len: Some(1 << 30), cached: Some(0.0), target: Target::New, target_in_memory: false,
    /// #     processors: 2, rotational: false, no_deep_reads: None };
    /// assert_eq!(plan_input.job(), Some(Job::TransformNew(CacheState::Cold)));
    /// let pipe = PlanInput { len: None, ..plan_input };
    /// assert_eq!(pipe.job(), None);
    /// ```
    pub fn job(&self) -> Option<Job> {
        let cache_state = match self.cached {
            Some(cached) if cached < COLD => CacheState::Cold,
            _ => CacheState::Warm,
        };
        match (self.len, self.target) {
            // A pipe takes what reading gives.
            (Some(_), Target::Nowhere | Target::Stream) => Some(Job::Read(cache_state)),
            (Some(_), Target::New) => Some(Job::TransformNew(cache_state)),
            (Some(_), Target::Existing) => Some(Job::TransformExisting(cache_state)),
            _ => None,
        }
    }
}

/// Below this cached share an input counts as cold: the device decides, not the memory.
const COLD: f64 = 0.5;

/// Below this cached share nothing is cached to speak of: a look at the file may have left a page or two.
const NONE: f64 = 0.02;

/// Below this length threads cost more than they bring, in bytes.
const SMALL: u64 = 2 << 20;

/// More workers than this on one file gain nothing that was measured: the file's own lock and the memory decide.
const CROWD: usize = 8;

/// A strategy that was not chosen.
///
/// ```
/// # use fullbore::strategy::{PlanInput, Target, choose};
/// # let warm = PlanInput { len: Some(1 << 30), cached: Some(1.0), target: Target::Nowhere, target_in_memory: false,
/// #     processors: 2, rotational: false, no_deep_reads: None };
/// let decision = choose(&warm, None);
/// let beaten = decision.alternatives.iter().find(|other| other.strategy == "uring").unwrap();
/// assert_eq!(beaten.reason, "has nothing to wait for in the page cache");
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alternative {
    /// The strategy.
    pub strategy: String,
    /// Why not.
    pub reason: String,
}

/// A strategy and why.
///
/// ```
/// # use fullbore::strategy::{PlanInput, Target, choose};
/// # let warm = PlanInput { len: Some(1 << 30), cached: Some(1.0), target: Target::Nowhere, target_in_memory: false,
/// #     processors: 2, rotational: false, no_deep_reads: None };
/// let decision = choose(&warm, None);
/// assert_eq!(decision.strategy.read.name, "buffered");
/// assert_eq!(decision.evidence[0], "buffered: 100% of the input is in the page cache");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What was chosen.
    pub strategy: Strategy,
    /// Why, a line each.
    pub evidence: Vec<String>,
    /// What it beat.
    pub alternatives: Vec<Alternative>,
}

/// Chooses for a situation. `measured` are the strategies that the profile of this file system has for the
/// same job, if it has any.
///
/// ```
/// use fullbore::strategy::{Entry, Job, Measured, PlanInput, Target, CacheState, choose};
/// # let warm = PlanInput { len: Some(1 << 30), cached: Some(1.0), target: Target::Nowhere, target_in_memory: false,
/// #     processors: 2, rotational: false, no_deep_reads: None };
/// assert_eq!(choose(&warm, None).strategy.read.name, "buffered");
/// let best = Measured { strategy: "method=mmap".into(), rate: 9e9, low: 8e9, high: 1e10 };
/// let entry = Entry { job: Job::Read(CacheState::Warm), measured: "2026-01-02".into(), ranked: vec![best] };
/// assert_eq!(choose(&warm, Some(&entry)).strategy.read.name, "mmap");
/// ```
pub fn choose(plan_input: &PlanInput, measured: Option<&Entry>) -> Decision {
    let by_facts = by_facts(plan_input);
    from_profile(plan_input, measured, &by_facts).unwrap_or(by_facts)
}

/// Chooses by the facts alone.
fn by_facts(plan_input: &PlanInput) -> Decision {
    let mut decision =
        Decision { strategy: Strategy::plain(), evidence: Vec::new(), alternatives: Vec::new() };
    let cold = plan_input.cached.is_some_and(|cached| cached < COLD);
    match plan_input.len {
        None => front_to_back(plan_input, &mut decision),
        Some(len) if len < SMALL => small(len, &mut decision),
        Some(_) if plan_input.rotational && cold => turning(&mut decision),
        Some(_) if cold => from_device(plan_input, &mut decision),
        Some(_) => from_memory(plan_input, &mut decision),
    }
    match plan_input.target {
        Target::New if plan_input.len.is_some() => allocation(plan_input, &mut decision),
        Target::Stream => {
            // Workers take turns at a stream: turns are short.
            decision.strategy.stripe = decision.strategy.request as u64;
        }
        _ => {}
    }
    decision
}

/// The best that was measured, unless what the facts suggest was measured too and not clearly slower: then noise
/// would decide.
fn from_profile(plan_input: &PlanInput, measured: Option<&Entry>, by_facts: &Decision) -> Option<Decision> {
    let entry = measured?;
    if plan_input.len? < SMALL {
        return None;
    }
    let (best, others) = entry.ranked.split_first()?;
    let strategy = |text: &str| Some(text.parse::<super::StrategySpec>().ok()?.apply(Strategy::plain()));
    let suggested = entry.ranked.iter().find(|measured| {
        strategy(&measured.strategy)
            .is_some_and(|strategy| alike(&strategy, &by_facts.strategy, plan_input.target))
    });
    let said = |what: &str, measured: &super::Measured| {
        format!(
            "{what} here on {} for {}: {} (95% interval {} to {})",
            entry.measured,
            entry.job,
            crate::size::rate(measured.rate),
            crate::size::rate(measured.low),
            crate::size::rate(measured.high)
        )
    };
    if let Some(suggested) = suggested.filter(|suggested| *suggested != best && suggested.high >= best.low) {
        let mut decision = by_facts.clone();
        decision.evidence.push(said("measured", suggested));
        decision.evidence.push(format!("{} was not clearly faster", best.strategy));
        return Some(decision);
    }
    Some(Decision {
        strategy: strategy(&best.strategy)?,
        evidence: vec![said("measured best", best)],
        alternatives: others
            .iter()
            .map(|other| Alternative {
                strategy: other.strategy.clone(),
                reason: format!(
                    "measured {}, {:.2} of that",
                    crate::size::rate(other.rate),
                    other.rate / best.rate
                ),
            })
            .collect(),
    })
}

/// Whether two strategies are the same where it matters for a target.
fn alike(a: &Strategy, b: &Strategy, target: Target) -> bool {
    let reading = (a.read, a.request, a.depth, a.workers, a.read_cache)
        == (b.read, b.request, b.depth, b.workers, b.read_cache);
    let writing = (a.write, a.write_cache) == (b.write, b.write_cache);
    let allocating = a.allocation == b.allocation;
    reading
        && (writing || !matches!(target, Target::New | Target::Existing))
        && (allocating || target != Target::New)
}

fn reject(decision: &mut Decision, strategy: &str, reason: impl fmt::Display) {
    decision.alternatives.push(Alternative { strategy: strategy.into(), reason: reason.to_string() });
}

/// As many workers as there are processors, in stripes.
fn spread(plan_input: &PlanInput, decision: &mut Decision) {
    let workers = plan_input.processors.clamp(1, CROWD);
    decision.strategy.workers = workers;
    if workers > 1 {
        decision.strategy.model = Model::Pool;
        decision
            .evidence
            .push(format!("{workers} workers: as many as processors ({})", plan_input.processors));
    } else {
        decision.evidence.push("1 worker: there is one processor".into());
    }
}

fn front_to_back(plan_input: &PlanInput, decision: &mut Decision) {
    decision.evidence.push("the input is read from front to back: it has no length, or says none".into());
    spread(plan_input, decision);
    decision.strategy.workers = decision.strategy.workers.min(2);
    reject(decision, "mmap, direct, uring", "need a file of known length");
}

fn small(len: u64, decision: &mut Decision) {
    decision
        .evidence
        .push(format!("1 worker: {} are done before a thread has started", crate::size::human(len)));
    decision.strategy.request = 256 << 10;
}

fn turning(decision: &mut Decision) {
    decision
        .evidence
        .push("1 worker from front to back: the disk turns, and seeking costs more than it brings".into());
    decision.strategy.request = 1 << 20;
    reject(decision, "striped, pool", "would make the disk seek");
}

fn from_memory(plan_input: &PlanInput, decision: &mut Decision) {
    match plan_input.cached {
        Some(cached) => decision
            .evidence
            .push(format!("buffered: {:.0}% of the input is in the page cache", cached * 100.0)),
        None => {
            decision.evidence.push("buffered: nobody says how much of the input is in the page cache".into())
        }
    }
    // The page cache gives a new file folios no larger than the writes that ask for them; what reads or overwrites
    // finds them made. 2 MiB would be a fall of up to 14 times where memory is fragmented: the kernel compacts it.
    let (request, why) = match plan_input.target {
        Target::New => (512 << 10, "512 KiB: large enough for large folios in the new file"),
        _ => (256 << 10, "256 KiB: large enough that calls cost nothing"),
    };
    decision.strategy.request = request;
    decision.evidence.push(format!("{why}, small enough for the processor's cache"));
    spread(plan_input, decision);
    decision.strategy.stripe = 1 << 20;
    reject(decision, "mmap", "a page fault every few pages costs more than copying them");
    reject(decision, "direct, uring direct, aio", "would read from the device what memory holds");
    reject(decision, "uring", "has nothing to wait for in the page cache");
}

fn from_device(plan_input: &PlanInput, decision: &mut Decision) {
    let cached = plan_input.cached.unwrap_or(0.0) * 100.0;
    match (&plan_input.no_deep_reads, method("uring")) {
        (None, Some(uring)) if cached < NONE * 100.0 => {
            decision.evidence.push("uring, direct, 8 deep, 1 MiB: the input is not in the page cache".into());
            decision.strategy.read = uring;
            decision.strategy.read_cache = CachePolicy::Direct;
            decision.strategy.request = 1 << 20;
            decision.strategy.depth = 8;
            reject(decision, "buffered", "reads ahead less deep than the device can take");
        }
        (reason, _) => {
            decision.evidence.push(format!("buffered: {cached:.0}% of the input is in the page cache"));
            if let Some(reason) = reason {
                reject(decision, "uring direct", reason);
            }
            decision.strategy.stripe = 8 << 20;
            spread(plan_input, decision);
        }
    }
}

fn allocation(plan_input: &PlanInput, decision: &mut Decision) {
    if plan_input.target_in_memory {
        decision.evidence.push(
            "alloc=size: the file system keeps its files in memory, preallocating would fill it twice".into(),
        );
        decision.strategy.allocation = Allocation::Size;
    } else {
        decision.evidence.push("alloc=preallocate: writers of an extending file wait for one another".into());
        decision.strategy.allocation = Allocation::Preallocate;
        reject(decision, "alloc=extend", "allocates and moves the end of the file at every write");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Measured;

    fn plan_input() -> PlanInput {
        PlanInput {
            len: Some(1 << 30),
            cached: Some(1.0),
            target: Target::New,
            target_in_memory: false,
            processors: 2,
            rotational: false,
            no_deep_reads: None,
        }
    }

    fn measured(strategy: &Strategy, rate: f64) -> Measured {
        Measured { strategy: strategy.to_string(), rate, low: rate * 0.9, high: rate * 1.1 }
    }

    fn entry(ranked: Vec<Measured>) -> Entry {
        Entry { job: Job::TransformNew(CacheState::Warm), measured: "2026-01-02".into(), ranked }
    }

    #[test]
    fn facts_decide_without_measurements() {
        let warm = choose(&plan_input(), None).strategy;
        assert_eq!((warm.read.name, warm.workers, warm.allocation), ("buffered", 2, Allocation::Preallocate));
        let cold = choose(&PlanInput { cached: Some(0.0), ..plan_input() }, None).strategy;
        assert_eq!(
            (cold.read.name, cold.read_cache, cold.write_cache),
            ("uring", CachePolicy::Direct, CachePolicy::Keep)
        );
        let forbidden =
            PlanInput { cached: Some(0.0), no_deep_reads: Some("seccomp".into()), ..plan_input() };
        let decision = choose(&forbidden, None);
        assert_eq!(decision.strategy.read.name, "buffered");
        assert!(decision.alternatives.iter().any(|other| other.reason == "seccomp"));
        let turning = PlanInput { cached: Some(0.0), rotational: true, ..plan_input() };
        assert_eq!(choose(&turning, None).strategy.workers, 1);
        let small = PlanInput { len: Some(1000), ..plan_input() };
        assert_eq!(choose(&small, None).strategy.workers, 1);
        let memory = PlanInput { target_in_memory: true, ..plan_input() };
        assert_eq!(choose(&memory, None).strategy.allocation, Allocation::Size);
    }

    #[test]
    fn what_was_measured_clearly_faster_is_chosen() {
        let other = Strategy { request: 64 << 10, ..Strategy::plain() };
        let suggested = choose(&plan_input(), None).strategy;
        let entry = entry(vec![measured(&other, 9e9), measured(&suggested, 5e9)]);
        let decision = choose(&plan_input(), Some(&entry));
        assert_eq!(decision.strategy, other);
        assert!(decision.evidence[0].contains("9.00 GB/s"), "{:?}", decision.evidence);
        assert_eq!(decision.alternatives.len(), 1);
    }

    #[test]
    fn noise_does_not_override_the_facts() {
        let other = Strategy { request: 64 << 10, ..Strategy::plain() };
        let suggested = choose(&plan_input(), None).strategy;
        let entry = entry(vec![measured(&other, 9e9), measured(&suggested, 8.5e9)]);
        assert_eq!(choose(&plan_input(), Some(&entry)).strategy, suggested);
    }
}
