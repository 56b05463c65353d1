//! Fits a plan: combines the chosen strategy with the user's fields, and adapts the result so that it works on these files.

use std::path::Path;

use super::contender::{Contenders, common};
use super::fields::{Model, Strategy, buffered};
use super::plan::Plan;
use super::plan_input::{Purpose, Target};
use super::spec::{cannot, inherent, with_policy};
use fullbore_io::buf::ALIGNMENT;
use fullbore_io::engine::{self, CachePolicy, Method};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{File, FileKind, Output};
use fullbore_io::size;

/// Stripes in flight while a copy is read back, if the user sets no number of workers: enough to keep the device busy,
/// whatever the number of processors.
const WAITERS: usize = 4;

impl Plan {
    pub(super) fn fit(&mut self, input: Option<&File>, output: Option<&Output>) -> Result<()> {
        self.strategy = self.spec.apply(self.strategy.clone());
        self.fit_methods(input, output)?;
        self.fit_sizes();
        self.fit_units();
        Ok(())
    }

    fn fit_methods(&mut self, input: Option<&File>, output: Option<&Output>) -> Result<()> {
        let without_length = self.is_without_length(input, output);
        let (strategy, spec) = (&mut self.strategy, &self.spec);
        let named = spec.named.is_some();
        let path = input.map(File::path).or_else(|| output.map(|output| output.file().path()));
        let path = path.map(ToOwned::to_owned);
        for method in [strategy.read, strategy.write] {
            if !method.capabilities.storage {
                return Err(refused(method, path.as_deref(), "it moves no bytes: it is for measuring only"));
            }
        }
        if strategy.read.capabilities.copies_in_kernel || strategy.write.capabilities.copies_in_kernel {
            let copy_in_kernel =
                if strategy.read.capabilities.copies_in_kernel { strategy.read } else { strategy.write };
            let works = match (input, output.filter(|output| output.seekable()), self.plan_input.len) {
                (Some(_), Some(output), Some(_)) if copy_in_kernel.capabilities.copies_whole => {
                    let is_new = output.is_replaceable();
                    is_new.then_some(()).ok_or_else(|| "it copies whole files to new files only".into())
                }
                (Some(input), Some(output), Some(_)) => {
                    engine::probe(copy_in_kernel, output.file(), Some(input), true, CachePolicy::Keep)
                }
                _ => Err("it works only from file to file".into()),
            };
            let insists = named || [spec.read, spec.write].contains(&Some(copy_in_kernel));
            let method = match works {
                Ok(()) => copy_in_kernel,
                // An empty file, or one that the kernel generates when it is read.
                Err(_) if insists && without_length => {
                    self.notes.push(format!(
                        "buffered instead of {}: the input has no length",
                        copy_in_kernel.name
                    ));
                    buffered()
                }
                Err(reason) if insists => return Err(refused(copy_in_kernel, path.as_deref(), &reason)),
                Err(reason) => {
                    self.notes.push(format!("buffered instead of {}: {reason}", copy_in_kernel.name));
                    buffered()
                }
            };
            (strategy.read, strategy.write) = (method, method);
            if method == copy_in_kernel {
                if method.capabilities.copies_whole && strategy.workers > 1 {
                    self.notes.push(format!("workers=1: {} copies whole files", method.name));
                    strategy.workers = 1;
                }
                return Ok(());
            }
        }
        for (method, requested) in [(strategy.read, spec.read_cache), (strategy.write, spec.write_cache)] {
            if requested.is_some_and(|requested| inherent(method, requested) != requested) {
                let cache = inherent(method, CachePolicy::Keep);
                return Err(refused(method, path.as_deref(), &format!("its cache policy is always {cache}")));
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
            let side = (&mut strategy.read, &mut strategy.read_cache);
            self.notes.extend(fit_side(side, input, false, insists)?);
        }
        if let Some(output) = output.filter(|output| output.seekable()) {
            let insists = spec.write.is_some() && !named || spec.write_cache.is_some() && named;
            let side = (&mut strategy.write, &mut strategy.write_cache);
            self.notes.extend(fit_side(side, output.file(), true, insists)?);
        }
        Ok(())
    }

    /// True if a regular file without a length is copied to a file.
    fn is_without_length(&self, input: Option<&File>, output: Option<&Output>) -> bool {
        self.plan_input.len.is_none()
            && input.is_some_and(|input| input.kind() == FileKind::Regular)
            && output.is_some_and(Output::seekable)
    }

    /// Adapts the sizes to each other and to the memory budget.
    fn fit_sizes(&mut self) {
        let strategy = &mut self.strategy;
        strategy.request = (strategy.request / self.plan_input.unit).max(1) * self.plan_input.unit;
        let deepest = strategy.read.capabilities.depth.max(strategy.write.capabilities.depth);
        if strategy.depth > deepest {
            if self.spec.depth.is_some() {
                self.notes.push(format!("depth={deepest}: the maximum of the methods used"));
            }
            strategy.depth = deepest;
        }
        if self.plan_input.target == Target::Stream {
            strategy.stripe = strategy.request as u64;
        }
        strategy.stripe = whole_stripe(strategy.stripe, strategy.request);
        if strategy.workers > 1 && strategy.model == Model::Serial {
            self.notes.push("workers=1: model=serial uses one worker".into());
            strategy.workers = 1;
        }
        if let Some(reason) = self.plan_input.serial.filter(|_| strategy.workers > 1) {
            self.notes.push(format!("workers=1: {reason}"));
            strategy.workers = 1;
        }
        if self.plan_input.purpose == Purpose::Compare && strategy.model == Model::Striped {
            self.notes.push(
                "model=pool instead of striped: the search for the first difference starts at the front"
                    .into(),
            );
            strategy.model = Model::Pool;
        }
        self.fit_memory();
        let strategy = &mut self.strategy;
        if strategy.workers == 1 {
            strategy.model = Model::Serial;
        }
    }

    /// Replaces the methods by plain calls under the same cache policies if units are hashed or verified.
    fn fit_units(&mut self) {
        let Some(units) = self.plan_input.units else { return };
        let strategy = &mut self.strategy;
        let plain = |cache| with_policy(buffered(), cache);
        let (read, write) = (plain(strategy.read_cache), plain(strategy.write_cache));
        let replaced = [(strategy.read, read), (strategy.write, write)];
        let mut notes: Vec<_> = (replaced.iter().filter(|(method, plain)| method.name != plain.name))
            .map(|(method, plain)| {
                format!("{} instead of {}: stripes are hashed or read back", plain.name, method.name)
            })
            .collect();
        notes.dedup();
        self.notes.extend(notes);
        (strategy.read, strategy.write) = (read, write);
        strategy.depth = 1;
        strategy.stripe = units.len;
        if units.read_back && self.spec.workers.is_none() && strategy.workers < WAITERS {
            self.notes.push(format!("workers={WAITERS}: each waits until a stripe is read back"));
            strategy.workers = WAITERS;
        }
        let most = (strategy.budget / units.memory()).max(1) as usize;
        if strategy.workers > most {
            self.notes.push(format!(
                "workers={most}: more would exceed {} of memory",
                size::exact(strategy.budget)
            ));
            strategy.workers = most;
        }
        strategy.model = if strategy.workers > 1 { Model::Pool } else { Model::Serial };
    }

    /// Gives both sides of a comparison the settings that suit both: the smaller number of workers, the longer requests for which
    /// the memory suffices, the shorter stripes, and the contenders that both have.
    pub(super) fn pair(&mut self, other: &mut Self) {
        let settings = |plan: &Self| (plan.strategy.workers, plan.strategy.request);
        let own = [&*self, &*other].map(settings);
        for plan in [&mut *self, &mut *other] {
            plan.strategy.workers = own[0].0.min(own[1].0);
            plan.strategy.request = own[0].1.max(own[1].1);
            plan.fit_memory();
        }
        let workers = self.strategy.workers.min(other.strategy.workers);
        let request = self.strategy.request.min(other.strategy.request);
        let stripe = self.strategy.stripe.min(other.strategy.stripe).next_multiple_of(request as u64);
        let (one, two) = (&self.contenders, &other.contenders);
        let contenders = Contenders {
            cached: common(&one.cached, &two.cached),
            uncached: common(&one.uncached, &two.uncached),
        };
        let alike = self.plan_input.is_cached() == other.plan_input.is_cached()
            && self.plan_input.is_uncached() == other.plan_input.is_uncached();
        for (plan, own) in [self, other].into_iter().zip(own) {
            if own != (workers, request) {
                let request = size::exact(request as u64);
                plan.notes.push(format!("workers={workers}, request={request}: as for the other file"));
            }
            let strategy = &mut plan.strategy;
            let model = if workers == 1 { Model::Serial } else { strategy.model };
            *strategy = Strategy { workers, request, stripe, model, ..strategy.clone() };
            // Files in different states of the page cache have different contenders.
            plan.contenders = if alike { contenders.clone() } else { Contenders::default() };
        }
    }

    /// Keeps the memory budget: by smaller mapped parts, then by fewer workers or less depth, whichever is larger, and finally by
    /// smaller requests.
    fn fit_memory(&mut self) {
        let strategy = &mut self.strategy;
        if strategy.memory() <= strategy.budget {
            return;
        }
        let (specified, unit) = (strategy.request, self.plan_input.unit);
        let mapped = strategy.read.capabilities.mapped || strategy.write.capabilities.mapped;
        while strategy.memory() > strategy.budget {
            match &mut strategy.window {
                Some(window) if mapped && *window > strategy.request => {
                    *window = (*window / 2).max(strategy.request)
                }
                _ if strategy.workers > strategy.depth => strategy.workers -= 1,
                _ if strategy.depth > 1 => strategy.depth /= 2,
                _ if strategy.request / 2 >= unit.max(ALIGNMENT) => {
                    strategy.request = strategy.request / 2 / unit * unit;
                }
                _ => break,
            }
        }
        let request = match strategy.request {
            reduced if reduced < specified => format!("request={}, ", size::exact(reduced as u64)),
            _ => String::new(),
        };
        strategy.stripe = whole_stripe(strategy.stripe, strategy.request);
        let window = match strategy.window {
            Some(window) if mapped => format!("window={}, ", size::exact(window as u64)),
            _ => String::new(),
        };
        let (depth, workers, budget) = (strategy.depth, strategy.workers, size::exact(strategy.budget));
        let note = format!(
            "{request}{window}depth={depth}, workers={workers}: more would exceed {budget} of memory"
        );
        self.notes.push(note);
    }
}

/// The length of a stripe that ends at a request boundary, and at one of the blocks that direct I/O writes whole.
fn whole_stripe(stripe: u64, request: usize) -> u64 {
    let unit = request.saturating_mul(parts_of_blocks(request)) as u64;
    stripe.max(1).checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

/// The number of parts of `len` bytes that end with a whole block: direct writes rewrite blocks, and two workers must not do so with
/// one block at the same time.
pub(crate) fn parts_of_blocks(len: usize) -> usize {
    ALIGNMENT >> len.trailing_zeros().min(ALIGNMENT.trailing_zeros())
}

/// Replaces a method by `buffered` if it does not work on this file and is not required; returns notes.
fn fit_side(
    (method, cache): (&mut &'static Method, &mut CachePolicy),
    file: &File,
    write: bool,
    insists: bool,
) -> Result<Vec<String>> {
    let (fitting, note) = fitting(method, *cache, file, write, insists)?;
    *method = fitting;
    if note.is_some() {
        *cache = CachePolicy::Keep;
    }
    let how = (*cache == CachePolicy::DontCache).then(|| engine::drop_emulated(file)).flatten();
    let way = if write { "write" } else { "read" };
    let emulated = how.map(|how| format!("{way}: cache=drop is emulated: {how}"));
    Ok(note.into_iter().chain(emulated).collect())
}

/// The method, or `buffered` if the method does not work on this file and is not required.
fn fitting(
    requested: &'static Method,
    cache: CachePolicy,
    file: &File,
    write: bool,
    insists: bool,
) -> Result<(&'static Method, Option<String>)> {
    let method = with_policy(requested, cache);
    let way = if write { "write" } else { "read" };
    let reason = match cannot(method, cache) {
        Some(reason) => reason.to_owned(),
        // Plain buffered calls work on every file that is open.
        None if method == buffered() && cache == CachePolicy::Keep => return Ok((method, None)),
        None => match engine::probe_once(method, file, write, cache) {
            Ok(()) => return Ok((method, None)),
            Err(reason) => reason,
        },
    };
    if insists {
        return Err(refused(method, Some(file.path()), &reason));
    }
    let instead = buffered();
    if file.kind() != FileKind::Regular && file.kind() != FileKind::BlockDevice {
        return Ok((instead, None));
    }
    Ok((instead, Some(format!("{way}={} instead of {}: {reason}", instead.name, method.name))))
}

/// The error of a method that does not work on the file at `path`, or on any if there is none.
fn refused(method: &Method, path: Option<&Path>, reason: &str) -> Error {
    let what = format!("method {}: {reason}", method.name);
    let error = match path {
        Some(path) => Error::new(ErrorKind::Unsupported, "use", path, what),
        None => Error::new(ErrorKind::Unsupported, "use", "", what).without_path(),
    };
    error.advise("name another method or leave the choice to the planner")
}
