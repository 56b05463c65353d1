//! The planner: collects facts, and makes a strategy that works on the files from the decision and the user's spec.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::choose::{Decision, choose};
use super::contender::{Contender, Contenders};
use super::contenders::contenders;
use super::evidence::{Evidence, Unallocated};
use super::fields::{BUDGET, Model, Strategy, buffered};
use super::figure::Circumstances;
use super::learned::Learned;
use super::plan_input::{ADAPTIVE, MIXED, PlanInput, Purpose, SMALL, Target, Units, reads_alike};
use super::profile::{LazyProfile, key};
use super::selection::{Adaptive, RunStrategy, Selection, Selections};
use super::spec::StrategySpec;
use fullbore_io::buf::BlockMemory;
use fullbore_io::engine::{self, CachePolicy, deep_method, method};
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::Result;
use fullbore_io::file::{File, FileKind, Output};
use fullbore_io::probe;

/// A strategy that works on these files, and the reasons for it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The strategy.
    #[doc(hidden)]
    pub strategy: Strategy,
    /// The facts on which the decision rests.
    #[doc(hidden)]
    pub plan_input: PlanInput,
    /// The choice before the user's spec.
    #[doc(hidden)]
    pub decision: Decision,
    /// The text of the spec, if any.
    #[doc(hidden)]
    pub spec_text: Option<String>,
    /// Deviations from the choice or the spec, with reasons.
    #[doc(hidden)]
    pub notes: Vec<String>,
    /// The strategies that the run tries, made to work on these files.
    #[doc(hidden)]
    pub contenders: Contenders,
    /// The fields that the user set.
    pub(super) spec: StrategySpec,
    /// The results of the trials so far.
    pub(super) selections: Arc<Selections>,
}

/// A planner of runs, from the user's spec and the measurements of this machine.
///
/// ```
/// use fullbore::error::ErrorKind;
/// use fullbore::strategy::{Planner, Purpose, StrategySpec};
/// let input = fullbore::file::File::open("Cargo.toml")?;
/// let planned = |text: &str| {
///     let spec: StrategySpec = text.parse().unwrap();
///     Planner::new(&spec).plan(Purpose::Read, Some(&input), input.seekable_len()?, None)
/// };
/// assert_eq!(planned("read=mmap")?.strategy.read.name, "mmap");
/// assert_eq!(planned("read=null").unwrap_err().kind(), ErrorKind::Unsupported);
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    spec: &'a StrategySpec,
    spec_text: Option<&'a str>,
    profile: Option<&'a LazyProfile>,
    units: Option<Units>,
    among_files: bool,
    memory: BlockMemory,
    in_file_order: bool,
}

impl<'a> Planner<'a> {
    /// Creates a planner that decides by facts; the fields of `spec` override its choice.
    pub fn new(spec: &'a StrategySpec) -> Self {
        Self {
            spec,
            spec_text: None,
            profile: None,
            units: None,
            among_files: false,
            memory: BlockMemory::REVIEWED,
            in_file_order: false,
        }
    }

    /// Adds the text of the spec, which the printed plan repeats.
    #[must_use]
    pub fn with_text(self, spec_text: Option<&'a str>) -> Self {
        Self { spec_text, ..self }
    }

    pub(crate) fn spec(&self) -> &StrategySpec {
        self.spec
    }

    /// True if the user named a strategy.
    pub(crate) fn is_named(&self) -> bool {
        self.spec_text.is_some()
    }

    /// Uses the measurements of this machine.
    #[must_use]
    pub(crate) fn with_profile(self, profile: Option<&'a LazyProfile>) -> Self {
        Self { profile, ..self }
    }

    /// Plans for one of many files: a short file has contenders too, which the caller tries on whole files.
    #[must_use]
    pub(crate) fn among_files(self, among_files: bool) -> Self {
        Self { among_files, ..self }
    }

    /// Plans for an operation that receives blocks only in this memory.
    #[must_use]
    pub(crate) fn in_memory(self, memory: BlockMemory) -> Self {
        Self { memory, ..self }
    }

    /// Plans for an operation that needs the parts of a file in their order: a partly cached file has one list of contenders.
    #[must_use]
    pub(crate) fn in_file_order(self, in_file_order: bool) -> Self {
        Self { in_file_order, ..self }
    }

    /// Plans for a copy that hashes or verifies units: each worker reads and writes one at a time, with plain calls under the
    /// plan's cache policies.
    #[must_use]
    pub(crate) fn in_units(self, units: Units) -> Self {
        Self { units: Some(units), ..self }
    }

    /// Plans a run over `len` bytes (`None`: unknown before the end) of `input` (`None`: generated) to `output`
    /// (`None`: no output).
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the spec requires a method or policy that does not work here, and the system's errors.
    pub fn plan(
        &self,
        purpose: Purpose,
        input: Option<&File>,
        len: Option<u64>,
        output: Option<&Output>,
    ) -> Result<Plan> {
        self.decide(self.learn(purpose, input, len, output), input, output)
    }

    /// Plans the two sides of a comparison, each by its own fields.
    ///
    /// Each side gets half of the memory. If one side has no length, the other is not striped. Both have the same
    /// request size, stripes, workers and contenders.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_pair(&self, files: [&File; 2], specs: [&StrategySpec; 2]) -> Result<[Plan; 2]> {
        let len = |file: &File| match file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                file.starting_stamp().ok().map(|stamp| stamp.len).filter(|&len| len > 0)
            }
            _ => None,
        };
        let lens = len(files[0]).zip(len(files[1]));
        let budget = Some(self.spec.budget.unwrap_or(BUDGET) / 2);
        let plan = |side: usize, len| {
            let spec = &StrategySpec { budget, ..specs[side].clone() };
            Planner { spec, ..*self }.plan(Purpose::Compare, Some(files[side]), len, None)
        };
        let (mut left, mut right) = (plan(0, lens.map(|lens| lens.0))?, plan(1, lens.map(|lens| lens.1))?);
        left.pair(&mut right);
        // The figures would be those of the slower file system.
        if left.selections.are_learned() && key(files[0]).ok() != key(files[1]).ok() {
            left.selections = Arc::default();
        }
        // Files with holes are compared in stripes, by one strategy.
        if files.iter().any(|file| file.is_sparse()) {
            (left.contenders, right.contenders) = Default::default();
        }
        Ok([left, right])
    }

    /// Determines the facts on which the choice depends, each only where it matters.
    pub(crate) fn learn(
        &self,
        purpose: Purpose,
        input: Option<&File>,
        len: Option<u64>,
        output: Option<&Output>,
    ) -> PlanInput {
        let target = match output {
            None => Target::Nowhere,
            Some(output) if !output.seekable() => Target::Stream,
            Some(output) if output.overwrites() => Target::Existing,
            Some(_) => Target::New,
        };
        let spec = self.spec;
        let mut facts = PlanInput {
            purpose,
            len,
            cached: None,
            target,
            unallocated: output.filter(|_| target == Target::New).and_then(Unallocated::of),
            processors: 1,
            budget: spec.budget.unwrap_or(BUDGET),
            rotational: false,
            no_deep_reads: None,
            can_map: false,
            serial: None,
            unit: 1,
            units: self.units,
            adapts: !spec.fixed
                && spec.model.is_none_or(|model| model != Model::Striped)
                && len.is_none_or(|len| len >= if self.among_files { SMALL } else { MIXED }),
            among_files: self.among_files,
        };
        if facts.is_small() {
            return facts;
        }
        facts.processors = probe::processors();
        let (Some(input), Some(len)) = (input, len) else { return facts };
        let policy = spec.read_cache.filter(|_| !spec.fixed);
        facts.cached = match policy {
            // Direct reads get every byte from the device.
            Some(CachePolicy::Direct) => Some(0.0),
            _ => cached_share(input, len),
        };
        let is_view = facts.purpose.views() && facts.is_cached();
        facts.adapts &= facts.among_files || !facts.is_short() || facts.is_mixed() || is_view;
        facts.rotational = !facts.is_cached() && probe::rotational(input);
        let works = |method, cache| engine::probe_once(method, input, false, cache);
        let wanted = facts.is_uncached() || facts.adapts && !facts.is_cached();
        if wanted && !facts.rotational {
            facts.no_deep_reads = works(deep_method(), CachePolicy::Direct).err();
        }
        let left_open = spec.named.is_none() && spec.read.is_none() && spec.read_cache.is_none();
        let views = left_open && is_view && spec.model != Some(Model::Striped);
        let keeps = policy.is_none_or(|policy| policy == CachePolicy::Keep);
        if keeps && self.memory.may_be_mapping() && (views || facts.adapts && !facts.is_uncached()) {
            facts.can_map = method("mmap").is_some_and(|mmap| works(mmap, CachePolicy::Keep).is_ok());
        }
        facts
    }

    /// Decides by these facts.
    pub(crate) fn decide(
        &self,
        plan_input: PlanInput,
        input: Option<&File>,
        output: Option<&Output>,
    ) -> Result<Plan> {
        let measured = match (self.profile, input, plan_input.job()) {
            (Some(profile), Some(input), Some(job))
                if !plan_input.is_small() && !profile.file_systems.is_empty() =>
            {
                let entry = key(input).ok().and_then(|key| profile.entry(&key, job).cloned());
                entry.map(|entry| entry.in_memory(self.memory))
            }
            _ => None,
        };
        let decision = choose(&plan_input, measured.as_ref());
        let mut plan = Plan {
            strategy: decision.strategy.clone(),
            plan_input,
            decision,
            spec_text: self.spec_text.map(str::to_owned),
            notes: Vec::new(),
            contenders: Contenders::default(),
            spec: self.spec.clone(),
            selections: Arc::default(),
        };
        let (among_files, writes) = (plan.plan_input.among_files, plan.plan_input.target.is_file());
        let same = |one: &Strategy, two: &Strategy| {
            // The stripe of a single worker has no effect, and one of many files has a stripe of its own. Requests and stripes
            // divide a mapped part, which is read as a whole, but not the writes.
            let mapped = one.read.capabilities.mapped && !writes;
            let any = one.workers == 1 || among_files || mapped;
            let stripe = if any { two.stripe } else { one.stripe };
            let request = if mapped { two.request } else { one.request };
            Strategy { stripe, request, ..one.clone() } == *two
        };
        let work = |plan: &Plan, contenders: &[Contender]| {
            let mut kept: Vec<Contender> = Vec::new();
            for contender in contenders {
                if let Some(strategy) = plan.fitted(&contender.strategy, input, output)
                    && !kept.iter().any(|other| same(&other.strategy, &strategy))
                {
                    kept.push(Contender { strategy, ..contender.clone() });
                }
            }
            kept
        };
        let Contenders { cached, uncached } = &plan.decision.contenders;
        plan.contenders = Contenders { cached: work(&plan, cached), uncached: work(&plan, uncached) };
        plan.fit(input, output)?;
        let joined = self.in_file_order && plan.is_by_parts();
        if joined {
            plan.join_parts();
        }
        // Figures compare all contenders: a run whose spec excludes some does not compare them.
        let open = *self.spec == StrategySpec { budget: self.spec.budget, ..StrategySpec::default() };
        // A pipe does not measure the file system, and halves are not compared.
        let tries = !joined
            && plan.contenders.differ()
            && plan.plan_input.len.is_some()
            && (plan.plan_input.among_files || !plan.plan_input.is_short());
        let as_longer = measured.is_none() && plan.plan_input.is_short_view();
        if open
            && (tries || as_longer)
            && let (Some(profile), Some(input)) = (self.profile, input)
            && let Some(learned) = &profile.learned
            && (tries || !learned.is_empty())
            && let Ok(file_system) = key(input)
        {
            let unfitted = plan.clone();
            let works = |strategy: &Strategy| unfitted.fitted(strategy, Some(input), output);
            if tries {
                let first = plan.arrange(learned, file_system, works);
                plan.take(first);
            } else {
                let longer = PlanInput { len: Some(ADAPTIVE), adapts: true, ..plan.plan_input.clone() };
                let Contenders { cached, .. } = contenders(&longer, &plan.strategy, None);
                let mut cached = work(&unfitted, &cached);
                // The choice for this length is behind the others if no longer run has had it.
                cached.iter_mut().take(1).for_each(|chosen| chosen.expected = -f64::EPSILON);
                let mut longer = unfitted.clone();
                longer.contenders.cached = cached;
                let first = longer.arrange(learned, file_system, works);
                if first.is_some() {
                    plan.contenders = Contenders::default();
                }
                plan.take(first.map(|(strategy, figure)| (plan.of_this_length(strategy), figure)));
            }
        }
        Ok(plan)
    }
}

/// The share of the first `len` bytes in the page cache, if the system reports it.
fn cached_share(input: &File, len: u64) -> Option<f64> {
    let residency = match input.known_stamp() {
        Some(stamp) if input.kind() == FileKind::Regular => probe::residency_within(input, 0..len, stamp.len),
        _ => probe::residency(input, 0..len),
    };
    residency.ok()?.share()
}

impl Plan {
    /// Returns the contenders that the run has tried so far, and the one with which it continued.
    pub fn selections(&self) -> Vec<Selection> {
        self.selections.list()
    }

    /// Gives a partly cached file one list of contenders, those for uncached parts, if the plan's strategy is one: it goes first.
    /// Without a list all parts have that strategy.
    fn join_parts(&mut self) {
        let mut list = std::mem::take(&mut self.contenders).uncached;
        let strategy = &self.strategy;
        if let Some(place) = list.iter().position(|one| reads_alike(&one.strategy, strategy)) {
            list[..=place].rotate_right(1);
            self.contenders.uncached = list;
        }
    }

    /// A contender fitted to these files; `None` if it does not work there as it is.
    fn fitted(
        &self,
        contender: &Strategy,
        input: Option<&File>,
        output: Option<&Output>,
    ) -> Option<Strategy> {
        let mut plan = self.clone();
        contender.clone_into(&mut plan.strategy);
        plan.fit(input, output).ok()?;
        let read = self.spec.read.unwrap_or(contender.read);
        let fits = plan.strategy.memory() <= plan.strategy.budget;
        // Plain calls under another cache policy are a method of their own.
        let policy = self.spec.read_cache.filter(|_| read == buffered());
        let same = plan.strategy.read == read || policy == Some(plan.strategy.read_cache);
        (fits && same).then_some(plan.strategy)
    }

    /// The most workers of the strategy and the contenders.
    pub(crate) fn most_workers(&self) -> usize {
        let contenders = self.contenders.all().map(|contender| contender.strategy.workers);
        contenders.fold(self.strategy.workers, usize::max)
    }

    /// Orders the contenders by the figures of earlier runs, and lets them learn from this one.
    fn arrange(
        &mut self,
        learned: &Learned,
        file_system: String,
        works: impl Fn(&Strategy) -> Option<Strategy>,
    ) -> Option<(Strategy, Evidence)> {
        let PlanInput { purpose, target, cached, serial, .. } = self.plan_input;
        let circumstances = |state: bool| Circumstances {
            file_system: file_system.clone(),
            purpose,
            target,
            serial: serial.is_some() || self.plan_input.processors == 1,
            cached: cached.map(|_| state),
        };
        let cached = learned.arrange(&circumstances(true), &mut self.contenders.cached, &works);
        let uncached = learned.arrange(&circumstances(false), &mut self.contenders.uncached, &works);
        // Parts that are taken for uncached ones may be cached in places.
        if !self.plan_input.is_mixed() {
            self.selections = Arc::new(Selections::learning(learned.clone(), circumstances(true)));
        }
        let (list, figure) = match self.contenders.cached.is_empty() {
            false => (&self.contenders.cached, cached),
            true => (&self.contenders.uncached, uncached),
        };
        let (count, rate) = figure.map(|figure| (figure.count, figure.rate))?;
        Some((list.first()?.strategy.clone(), Evidence::Learned { count, rate }))
    }

    /// Takes the contender that was fastest in earlier runs, with the figure as the reason.
    fn take(&mut self, first: Option<(Strategy, Evidence)>) {
        let Some((strategy, figure)) = first else { return };
        if strategy != self.strategy {
            // They are reasons for another strategy.
            self.decision.evidence.clear();
            self.decision.alternatives.clear();
            self.strategy = strategy;
        }
        self.decision.evidence.push(figure);
    }

    /// A strategy of longer files for this one: the plan's own if that reads alike, else in stripes that divide the file.
    fn of_this_length(&self, longer: Strategy) -> Strategy {
        if reads_alike(&longer, &self.strategy) {
            return self.strategy.clone();
        }
        let stripe = longer.stripe_within(self.plan_input.len.unwrap_or(0));
        Strategy { stripe, window: longer.window.map(|window| window.min(stripe as usize)), ..longer }
    }

    /// Runs one contender on a file that is too short to try several.
    pub(crate) fn try_one(&mut self, strategy: Strategy) {
        if !reads_alike(&strategy, &self.strategy) {
            self.decision.evidence = vec![Evidence::Trial];
            self.decision.alternatives.clear();
        }
        self.contenders = Contenders::default();
        self.strategy = strategy;
    }

    /// Returns the handle for the runs of this plan over `input`: workers share the open file of a cached input, which
    /// needs no read-ahead.
    pub fn handle(&self, input: &File) -> File {
        input.sharing(self.plan_input.is_cached())
    }
}

impl<'a> From<&'a Plan> for RunStrategy<'a> {
    fn from(plan: &'a Plan) -> Self {
        let Plan { contenders, spec, selections, .. } = plan;
        let adaptive = contenders.differ().then_some(Adaptive {
            contenders,
            spec,
            selections,
            #[cfg(test)]
            shuffle: None,
        });
        Self { adaptive, ..(&plan.strategy).into() }
    }
}
