//! The planner: learns the facts that a decision needs, and combines the decision and the user's spec into a strategy
//! that works.

use std::fmt;

use super::choose::{Decision, PlanInput, Purpose, Target, choose};
use super::{BUDGET, Model, Profile, Strategy, StrategySpec, buffered};
use crate::engine::{self, CachePolicy, Method, method};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, FileKind, Output};
use crate::{probe, size};

/// A strategy that works on these files, and the reasons for it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The strategy.
    #[doc(hidden)]
    pub strategy: Strategy,
    /// The facts that decided.
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
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "strategy: {}", self.strategy)?;
        if let Some(spec_text) = &self.spec_text {
            writeln!(f, "specified: {spec_text}")?;
            writeln!(f, "auto would take: {}", self.decision.strategy)?;
        }
        for line in &self.decision.evidence {
            writeln!(f, "because: {line}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for other in &self.decision.alternatives {
            writeln!(f, "not {}: {}", other.strategy, other.reason)?;
        }
        Ok(())
    }
}

/// Plans runs from the user's spec and the measurements of this machine.
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
    profile: Option<&'a Profile>,
    units: Option<u64>,
}

impl<'a> Planner<'a> {
    /// Plans by facts; the fields of `spec` override the choice.
    pub fn new(spec: &'a StrategySpec) -> Self {
        Self { spec, spec_text: None, profile: None, units: None }
    }

    /// With the text of the spec, which the printed plan repeats.
    #[must_use]
    pub fn with_text(self, spec_text: Option<&'a str>) -> Self {
        Self { spec_text, ..self }
    }

    /// With the measurements of this machine.
    #[must_use]
    pub fn with_profile(self, profile: Option<&'a Profile>) -> Self {
        Self { profile, ..self }
    }

    /// For a copy that hashes or verifies units of `len` bytes: each worker reads and writes one at a time, with plain
    /// calls under the plan's cache policies.
    #[must_use]
    pub(crate) fn in_units(self, len: u64) -> Self {
        Self { units: Some(len), ..self }
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

    /// Plans the two sides of a comparison.
    ///
    /// Each gets half of the memory, and beside a side without a length the other is not striped.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_pair(&self, files: [&File; 2]) -> Result<[Plan; 2]> {
        let len = |file: &File| match file.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                file.starting_stamp().ok().map(|stamp| stamp.len).filter(|&len| len > 0)
            }
            _ => None,
        };
        let lens = len(files[0]).zip(len(files[1]));
        let budget = Some(self.spec.budget.unwrap_or(BUDGET) / 2);
        let spec = StrategySpec { budget, ..self.spec.clone() };
        let planner = Planner { spec: &spec, ..*self };
        let plan = |file, len| planner.plan(Purpose::Compare, Some(file), len, None);
        Ok([plan(files[0], lens.map(|lens| lens.0))?, plan(files[1], lens.map(|lens| lens.1))?])
    }

    /// Learns the facts that decide: each only where the choice depends on it.
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
            target_in_memory: target == Target::New
                && output.is_some_and(|output| probe::in_memory(output.file())),
            processors: probe::processors(),
            budget: spec.budget.unwrap_or(BUDGET),
            rotational: false,
            no_deep_reads: None,
            can_map: false,
            serial: None,
            units: self.units,
        };
        let (Some(input), Some(len), false) = (input, len, facts.is_small()) else { return facts };
        let residency = match input.known_stamp() {
            Some(stamp) if input.kind() == FileKind::Regular => {
                probe::residency_within(input, 0..len, stamp.len)
            }
            _ => probe::residency(input, 0..len),
        };
        facts.cached = residency.ok().and_then(|residency| residency.share());
        facts.rotational = facts.is_cold() && probe::device_facts(input).is_ok_and(|found| found.rotational);
        let works = |name: &str, cache: CachePolicy| -> Option<std::result::Result<(), String>> {
            let found = engine::probe_once(method(name)?, input, false, cache);
            Some(found.map_err(|unsupported| unsupported.reason))
        };
        if facts.is_uncached() && !facts.rotational {
            facts.no_deep_reads = works("uring", CachePolicy::Direct).and_then(std::result::Result::err);
        }
        let left_open = spec.named.is_none() && spec.read.is_none() && spec.read_cache.is_none();
        if left_open && purpose.views() && spec.model != Some(Model::Striped) && facts.is_cached() {
            facts.can_map = works("mmap", CachePolicy::Keep).is_some_and(|found| found.is_ok());
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
                super::key(input).ok().and_then(|key| profile.entry(&key, job).cloned())
            }
            _ => None,
        };
        let decision = choose(&plan_input, measured.as_ref());
        let strategy = self.spec.apply(decision.strategy.clone());
        let spec_text = self.spec_text.map(str::to_owned);
        let mut plan = Plan { strategy, plan_input, decision, spec_text, notes: Vec::new() };
        plan.settle_methods(input, output, self.spec)?;
        plan.settle_sizes(self.spec);
        plan.settle_units();
        Ok(plan)
    }
}

impl Plan {
    /// The handle for the runs of this plan over `input`: workers share the open file of a cached input, which needs no
    /// read-ahead.
    pub fn handle(&self, input: &File) -> File {
        input.sharing(self.plan_input.is_cached())
    }

    /// Replaces methods that do not work here.
    fn settle_methods(
        &mut self,
        input: Option<&File>,
        output: Option<&Output>,
        spec: &StrategySpec,
    ) -> Result<()> {
        let strategy = &mut self.strategy;
        let named = spec.named.is_some();
        let path =
            input.map_or_else(|| output.map(|output| output.file().path()), |input| Some(input.path()));
        let path = path.unwrap_or(std::path::Path::new("standard input")).to_owned();
        for method in [strategy.read, strategy.write] {
            if method.name == "null" {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "use",
                    path,
                    "the null method moves no bytes: it is for measuring only",
                ));
            }
        }
        if strategy.read.capabilities.copies_in_kernel || strategy.write.capabilities.copies_in_kernel {
            let copy_in_kernel =
                if strategy.read.capabilities.copies_in_kernel { strategy.read } else { strategy.write };
            let (Some(input), Some(output), Some(_)) =
                (input, output.filter(|output| output.seekable()), self.plan_input.len)
            else {
                return Err(refused(copy_in_kernel, &path, "it moves bytes only between files"));
            };
            engine::probe(copy_in_kernel, output.file(), Some(input), true, CachePolicy::Keep)
                .map_err(|unsupported| refused(copy_in_kernel, &path, &unsupported.reason))?;
            strategy.read = copy_in_kernel;
            strategy.write = copy_in_kernel;
            return Ok(());
        }
        for (method, requested) in [(strategy.read, spec.read_cache), (strategy.write, spec.write_cache)] {
            if requested.is_some_and(|requested| inherent(method, requested) != requested) {
                let cache = inherent(method, CachePolicy::Keep);
                return Err(refused(method, &path, &format!("its cache policy is always {cache}")));
            }
        }
        strategy.read_cache = inherent(strategy.read, strategy.read_cache);
        strategy.write_cache = inherent(strategy.write, strategy.write_cache);
        if self.plan_input.len.is_none() {
            if spec.read.is_some_and(|method| method != buffered()) {
                self.notes.push("the input is read sequentially by read(2), with any method".into());
            }
            strategy.read = buffered();
            if strategy.write.capabilities.mapped {
                self.notes.push("write=buffered: a mapping needs the length in advance".into());
                strategy.write = buffered();
            }
        }
        if self.plan_input.target == Target::Stream {
            if spec.write.is_some_and(|method| method != strategy.read) {
                self.notes.push("the output is written by write(2) in order, with any method".into());
            }
            strategy.write = buffered();
        }
        if let Some(input) = input.filter(|_| self.plan_input.len.is_some()) {
            let insists = spec.read.is_some() && !named || spec.read_cache.is_some() && named;
            let (method, note) = settled(strategy.read, strategy.read_cache, input, false, insists)?;
            if note.is_some() {
                strategy.read_cache = CachePolicy::Keep;
            }
            strategy.read = method;
            self.notes.extend(note);
            self.notes.extend(emulated("read", strategy.read_cache, input));
        }
        if let Some(output) = output.filter(|output| output.seekable()) {
            let insists = spec.write.is_some() && !named || spec.write_cache.is_some() && named;
            let (method, note) = settled(strategy.write, strategy.write_cache, output.file(), true, insists)?;
            if note.is_some() {
                strategy.write_cache = CachePolicy::Keep;
            }
            strategy.write = method;
            self.notes.extend(note);
            self.notes.extend(emulated("write", strategy.write_cache, output.file()));
        }
        Ok(())
    }

    /// Adapts the sizes to each other and to the memory budget.
    fn settle_sizes(&mut self, spec: &StrategySpec) {
        let strategy = &mut self.strategy;
        let deepest = strategy.read.capabilities.depth.max(strategy.write.capabilities.depth);
        if strategy.depth > deepest {
            if spec.depth.is_some() {
                self.notes.push(format!("depth={deepest}: these methods keep no more in flight"));
            }
            strategy.depth = deepest;
        }
        if self.plan_input.target == Target::Stream {
            strategy.stripe = strategy.request as u64;
        }
        // Stripes end at request boundaries, and at boundaries of the blocks that direct I/O writes whole.
        let request = strategy.request as u64;
        let unit = if request.is_multiple_of(crate::buf::ALIGNMENT as u64) {
            request
        } else {
            request * crate::buf::ALIGNMENT as u64 / gcd(request, crate::buf::ALIGNMENT as u64)
        };
        strategy.stripe = strategy.stripe.max(1).next_multiple_of(unit);
        if strategy.workers > 1 && strategy.model == Model::Serial {
            self.notes.push("workers=1: model=serial has one".into());
            strategy.workers = 1;
        }
        if let Some(reason) = self.plan_input.serial.filter(|_| strategy.workers > 1) {
            self.notes.push(format!("workers=1: {reason}"));
            strategy.workers = 1;
        }
        if self.plan_input.purpose == Purpose::Compare && strategy.model == Model::Striped {
            self.notes.push(
                "model=pool in place of striped: the search for the first difference starts at the front"
                    .into(),
            );
            strategy.model = Model::Pool;
        }
        self.settle_memory();
        let strategy = &mut self.strategy;
        if strategy.workers == 1 {
            strategy.model = Model::Serial;
        }
    }
}

impl Plan {
    /// Replaces the methods by plain calls under the same cache policies if units are hashed or verified.
    fn settle_units(&mut self) {
        let Some(units) = self.plan_input.units else { return };
        let strategy = &mut self.strategy;
        let plain = |cache| match cache {
            CachePolicy::Keep => buffered(),
            CachePolicy::DontCache => method("uncached").unwrap_or(buffered()),
            CachePolicy::Direct => method("direct").unwrap_or(buffered()),
        };
        let (read, write) = (plain(strategy.read_cache), plain(strategy.write_cache));
        let replaced = [(strategy.read, read), (strategy.write, write)];
        let mut notes: Vec<_> = (replaced.iter().filter(|(method, plain)| method.name != plain.name))
            .map(|(method, plain)| {
                format!("{} in place of {}: stripes are hashed or read back", plain.name, method.name)
            })
            .collect();
        notes.dedup();
        self.notes.extend(notes);
        (strategy.read, strategy.write) = (read, write);
        strategy.depth = 1;
        strategy.stripe = units;
        if strategy.workers > 1 {
            strategy.model = Model::Pool;
        }
    }
}

/// The cache policy of a method that supports only one; else the requested policy.
fn inherent(method: &Method, requested: CachePolicy) -> CachePolicy {
    match (method.capabilities.direct, method.capabilities.drops) {
        (engine::Choice::Always, _) => CachePolicy::Direct,
        (_, engine::Choice::Always) => CachePolicy::DontCache,
        _ => requested,
    }
}

impl Plan {
    /// Keeps the memory budget: first by smaller mapped parts, then by fewer workers or less depth, whichever is
    /// larger.
    fn settle_memory(&mut self) {
        let strategy = &mut self.strategy;
        if strategy.memory() <= strategy.budget {
            return;
        }
        let mapped = strategy.read.capabilities.mapped || strategy.write.capabilities.mapped;
        while strategy.memory() > strategy.budget {
            match &mut strategy.window {
                Some(window) if mapped && *window > strategy.request => {
                    *window = (*window / 2).max(strategy.request)
                }
                _ if strategy.workers > strategy.depth => strategy.workers -= 1,
                _ if strategy.depth > 1 => strategy.depth /= 2,
                _ => break,
            }
        }
        let window = match strategy.window {
            Some(window) if mapped => format!("window={}, ", size::exact(window as u64)),
            _ => String::new(),
        };
        self.notes.push(format!(
            "{window}depth={}, workers={}: more would take over {} of memory",
            strategy.depth,
            strategy.workers,
            size::exact(strategy.budget)
        ));
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Describes the emulation of dropping, if it is requested and emulated.
fn emulated(way: &str, cache: CachePolicy, file: &File) -> Option<String> {
    let how = (cache == CachePolicy::DontCache).then(|| engine::drop_emulated(file)).flatten()?;
    Some(format!("{way}: cache=drop is emulated: {how}"))
}

/// The method, or `buffered` if the method does not work on this file and is not required.
fn settled(
    requested: &'static Method,
    cache: CachePolicy,
    file: &File,
    write: bool,
    insists: bool,
) -> Result<(&'static Method, Option<String>)> {
    // The same calls with another flag are separate methods.
    let method = match (requested.name, cache) {
        ("buffered", CachePolicy::Direct) => method("direct").unwrap_or(requested),
        ("buffered", CachePolicy::DontCache) => method("uncached").unwrap_or(requested),
        _ => requested,
    };
    let way = if write { "write" } else { "read" };
    let contradiction = match cache {
        CachePolicy::Direct if method.capabilities.direct == engine::Choice::Never => {
            Some("cannot bypass the page cache")
        }
        CachePolicy::DontCache if method.capabilities.drops == engine::Choice::Never => {
            Some("cannot drop what it cached")
        }
        _ => None,
    };
    let reason = match contradiction {
        Some(reason) => reason.to_owned(),
        // Plain buffered calls work on every file that is open.
        None if method == buffered() && cache == CachePolicy::Keep => return Ok((method, None)),
        None => match engine::probe_once(method, file, write, cache) {
            Ok(()) => return Ok((method, None)),
            Err(unsupported) => unsupported.reason,
        },
    };
    if insists {
        return Err(refused(method, file.path(), &reason));
    }
    let instead = buffered();
    if file.kind() != FileKind::Regular && file.kind() != FileKind::BlockDevice {
        return Ok((instead, None));
    }
    Ok((instead, Some(format!("{way}={} in place of {}: {reason}", instead.name, method.name))))
}

fn refused(method: &Method, path: &std::path::Path, reason: &str) -> Error {
    Error::new(ErrorKind::Unsupported, "use", path, format!("method {}: {reason}", method.name))
        .advise("name another method or leave the choice to the planner")
}
