//! From what was asked and what is there to a strategy that works here, with an account of it.

use std::fmt;

use super::choose::{Decision, PlanInput, Target, choose};
use super::{Model, Profile, Strategy, StrategySpec, buffered};
use crate::engine::{self, CachePolicy, Method, method};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, Output};
use crate::{probe, size};

/// A strategy that works here, and how it came about.
///
/// ```
/// # use fullbore::strategy::{StrategySpec, plan};
/// # let input = fullbore::file::File::open("Cargo.toml")?;
/// let plan = plan(Some(&input), input.seekable_len()?, None, &StrategySpec::default(), None, None)?;
/// assert!(plan.to_string().starts_with("strategy: method=buffered,"));
/// assert!(plan.to_string().contains("because: 1 worker"));
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    /// The strategy.
    pub strategy: Strategy,
    /// The facts it was chosen by.
    pub plan_input: PlanInput,
    /// The choice before the user's specification.
    pub decision: Decision,
    /// What was asked for, if anything.
    pub spec_text: Option<String>,
    /// What is otherwise than chosen or asked, and why.
    pub notes: Vec<String>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "strategy: {}", self.strategy)?;
        if let Some(spec_text) = &self.spec_text {
            writeln!(f, "asked for: {spec_text}")?;
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

/// Decides how to bring `len` bytes (nothing: nobody knows before the end) of `input` (nothing: they are made) to `output`
/// (nothing: they are only looked at). What is in `spec` overrides the choice, `asked` is its text for the account, and
/// `profile` has what was measured.
///
/// ```
/// use fullbore::error::Kind;
/// use fullbore::strategy::{StrategySpec, plan};
/// let input = fullbore::file::File::open("Cargo.toml")?;
/// let asked = |text: &str| {
///     let spec: StrategySpec = text.parse().unwrap();
///     plan(Some(&input), input.seekable_len()?, None, &spec, Some(text), None)
/// };
/// assert_eq!(asked("read=mmap")?.strategy.read.name, "mmap");
/// assert_eq!(asked("read=null").unwrap_err().kind(), Kind::Unsupported);
/// # Ok::<(), fullbore::Error>(())
/// ```
///
/// # Errors
/// [`Kind::Unsupported`] if the user insists on what cannot be had here, and the system's errors.
pub fn plan(
    input: Option<&File>,
    len: Option<u64>,
    output: Option<&Output>,
    spec: &StrategySpec,
    spec_text: Option<&str>,
    profile: Option<&Profile>,
) -> Result<Plan> {
    let plan_input = plan_input(input, len, output)?;
    let measured = match (profile, input, plan_input.job()) {
        (Some(profile), Some(input), Some(job)) => {
            super::key(input).ok().and_then(|key| profile.entry(&key, job).cloned())
        }
        _ => None,
    };
    let decision = choose(&plan_input, measured.as_ref());
    let strategy = spec.apply(decision.strategy.clone());
    let mut plan =
        Plan { strategy, plan_input, decision, spec_text: spec_text.map(str::to_owned), notes: Vec::new() };
    plan.settle_methods(input, output, spec)?;
    plan.settle_sizes(spec);
    Ok(plan)
}

/// Gathers the facts that decide.
fn plan_input(input: Option<&File>, len: Option<u64>, output: Option<&Output>) -> Result<PlanInput> {
    let target = match output {
        None => Target::Nowhere,
        Some(output) if !output.seekable() => Target::Stream,
        Some(output) if output.overwrites() => Target::Existing,
        Some(_) => Target::New,
    };
    let cached = input.zip(len).and_then(|(input, len)| {
        probe::residency(input, 0..len).ok().and_then(|residency| residency.share())
    });
    let no_deep_reads = input.filter(|_| cached.is_some_and(|cached| cached < 0.5)).and_then(|input| {
        let uring = method("uring")?;
        engine::probe(uring, input, None, false, CachePolicy::Direct)
            .err()
            .map(|unsupported| unsupported.reason)
    });
    Ok(PlanInput {
        len,
        cached,
        target,
        target_in_memory: output
            .is_some_and(|output| probe::device_facts(output.file()).is_ok_and(|found| found.in_memory)),
        processors: probe::processors(),
        rotational: input.is_some_and(|input| probe::device_facts(input).is_ok_and(|found| found.rotational)),
        no_deep_reads,
    })
}

impl Plan {
    /// Makes the methods ones that work here.
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
                    Kind::Unsupported,
                    "use",
                    path,
                    "the null method moves nothing: it is for measuring",
                ));
            }
        }
        if strategy.read.capabilities.copies_in_kernel || strategy.write.capabilities.copies_in_kernel {
            let copy_in_kernel =
                if strategy.read.capabilities.copies_in_kernel { strategy.read } else { strategy.write };
            let (Some(input), Some(output), Some(_)) =
                (input, output.filter(|output| output.seekable()), self.plan_input.len)
            else {
                return Err(refused(copy_in_kernel, &path, "it moves bytes from file to file only"));
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
                self.notes
                    .push("the input is read by read(2) from front to back, whatever the method".into());
            }
            strategy.read = buffered();
            if strategy.write.capabilities.mapped {
                self.notes.push("write=buffered: a mapping must know the length before".into());
                strategy.write = buffered();
            }
        }
        if self.plan_input.target == Target::Stream {
            if spec.write.is_some_and(|method| method != strategy.read) {
                self.notes.push("the output is written by write(2) in order, whatever the method".into());
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

    /// Makes the sizes ones that go together and keep the memory budget.
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
        // Stripes end where requests do, and where blocks do that direct I/O writes whole.
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
        self.settle_memory();
        let strategy = &mut self.strategy;
        if strategy.workers == 1 {
            strategy.model = Model::Serial;
        }
    }
}

impl Plan {
    /// The plan for a copy that hashes or reads back runs of `stripe` bytes: each worker reads and writes one at a time, by
    /// plain calls under the cache policies of the plan.
    pub(crate) fn by_stripes(&mut self, stripe: u64) {
        let strategy = &mut self.strategy;
        for (way, cache) in
            [(&mut strategy.read, &strategy.read_cache), (&mut strategy.write, &strategy.write_cache)]
        {
            let plain = match cache {
                CachePolicy::Keep => buffered(),
                CachePolicy::DontCache => method("uncached").unwrap_or(buffered()),
                CachePolicy::Direct => method("direct").unwrap_or(buffered()),
            };
            let note = format!("{} in place of {}: stripes are hashed or read back", plain.name, way.name);
            if way.name != plain.name && !self.notes.contains(&note) {
                self.notes.push(note);
            }
            *way = plain;
        }
        strategy.depth = 1;
        strategy.stripe = stripe;
        if strategy.workers > 1 {
            strategy.model = Model::Pool;
        }
    }
}

/// The cache policy that a method has by itself, if it leaves no choice.
fn inherent(method: &Method, requested: CachePolicy) -> CachePolicy {
    match (method.capabilities.direct, method.capabilities.drops) {
        (engine::Choice::Always, _) => CachePolicy::Direct,
        (_, engine::Choice::Always) => CachePolicy::DontCache,
        _ => requested,
    }
}

impl Plan {
    /// Keeps the memory budget: first by smaller windows, then by less of what there is more of, workers or depth.
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

/// How dropping is emulated, if it is asked for and is.
fn emulated(way: &str, cache: CachePolicy, file: &File) -> Option<String> {
    let how = (cache == CachePolicy::DontCache).then(|| engine::drop_emulated(file)).flatten()?;
    Some(format!("{way}: cache=drop is emulated: {how}"))
}

/// The method, or `buffered` if the method does not work on this file and nobody insists.
fn settled(
    requested: &'static Method,
    cache: CachePolicy,
    file: &File,
    write: bool,
    insists: bool,
) -> Result<(&'static Method, Option<String>)> {
    // The same calls with another flag have names of their own.
    let method = match (requested.name, cache) {
        ("buffered", CachePolicy::Direct) => method("direct").unwrap_or(requested),
        ("buffered", CachePolicy::DontCache) => method("uncached").unwrap_or(requested),
        _ => requested,
    };
    let way = if write { "write" } else { "read" };
    let contradiction = match cache {
        CachePolicy::Direct if method.capabilities.direct == engine::Choice::Never => {
            Some("cannot pass by the page cache")
        }
        CachePolicy::DontCache if method.capabilities.drops == engine::Choice::Never => {
            Some("cannot drop what it cached")
        }
        _ => None,
    };
    let reason = match contradiction {
        Some(reason) => reason.to_owned(),
        None => match engine::probe(method, file, None, write, cache) {
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
    Error::new(Kind::Unsupported, "use", path, format!("method {}: {reason}", method.name))
        .advise("name another method or leave the choice to --strategy auto")
}
