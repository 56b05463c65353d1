//! The user's specification of a strategy: some fields, nothing, or the name of one of Hart's programs (2010).

use std::fmt;
use std::str::FromStr;

use super::fields::{Allocation, Completion, Model, Strategy};
use fullbore_io::engine::{Availability, CachePolicy, Method, deep_method, method, methods};
use fullbore_io::error::ParseError;
use fullbore_io::probe;
use fullbore_io::size;

/// The specified fields; the planner chooses the others. Parses from a name (`cci-mt`), fields
/// (`method=mmap,workers=2,request=256K`), or a name and fields that change it (`cci-mt,workers=4`). The name of an access
/// method stands for `method=` (`mmap,workers=2`). With `auto` and fields (`auto,mmap`) a long run tries values of the other
/// fields; without `auto`, it keeps the strategy.
///
/// ```
/// use fullbore::strategy::StrategySpec;
/// let spec: StrategySpec = "read=uring,depth=8".parse()?;
/// assert_eq!((spec.read.map(|method| method.name), spec.depth, spec.workers), (Some("uring"), Some(8), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StrategySpec {
    /// The named strategy it is based on.
    #[doc(hidden)]
    pub named: Option<&'static Named>,
    /// `read=` or `method=`
    #[doc(hidden)]
    pub read: Option<&'static Method>,
    /// `write=` or `method=`
    #[doc(hidden)]
    pub write: Option<&'static Method>,
    /// `request=`, bytes
    #[doc(hidden)]
    pub request: Option<usize>,
    #[doc(hidden)]
    pub depth: Option<usize>,
    #[doc(hidden)]
    pub workers: Option<usize>,
    #[doc(hidden)]
    pub model: Option<Model>,
    /// `stripe=`, bytes
    #[doc(hidden)]
    pub stripe: Option<u64>,
    /// `window=`, bytes or `whole`
    #[doc(hidden)]
    pub window: Option<Option<usize>>,
    #[doc(hidden)]
    pub allocation: Option<Allocation>,
    /// `read-cache=` or `cache=`
    #[doc(hidden)]
    pub read_cache: Option<CachePolicy>,
    /// `write-cache=` or `cache=`
    #[doc(hidden)]
    pub write_cache: Option<CachePolicy>,
    #[doc(hidden)]
    pub completion: Option<Completion>,
    /// The memory budget of a run, in bytes.
    #[doc(hidden)]
    pub budget: Option<u64>,
    /// True if fields were given without `auto`: the run keeps the strategy.
    #[doc(hidden)]
    pub fixed: bool,
}

/// The largest request, in bytes. The default budget has room for requests of 16 MiB: each direction has a buffer.
pub const LARGEST_REQUEST: u64 = 32 << 20;
/// The most requests in flight (io_uring and native AIO accept more, without gain).
pub const DEEPEST: u64 = 1024;
/// The most workers of a run.
pub const WORKER_LIMIT: usize = 256;

/// The smallest memory budget, in bytes.
pub(crate) const LEAST_BUDGET: u64 = 1 << 20;

impl FromStr for StrategySpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut spec = Self { fixed: true, ..Self::default() };
        for (index, field) in text.split(',').map(str::trim).enumerate() {
            match field.split_once('=') {
                Some((name, value)) => spec.set(name.trim(), value.trim())?,
                None if index == 0 && field == "auto" => spec.fixed = false,
                None if method(field).is_some() => spec.set("method", field)?,
                None if index == 0 => spec = named(field)?,
                None => {
                    return Err(ParseError::new(format!(
                        "{field:?} in a strategy has no value: write field=value (a name goes first)"
                    )));
                }
            }
        }
        spec.check()?;
        Ok(spec)
    }
}

/// In the form that it parses from.
impl fmt::Display for StrategySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = self.named.map_or_else(Self::default, |named| (named.spec)());
        let mut fields = Vec::new();
        match self.named {
            Some(named) => fields.push(named.name.to_owned()),
            None if !self.fixed => fields.push("auto".to_owned()),
            None => {}
        }
        macro_rules! add {
            ($($field:ident $name:literal $text:expr),* $(,)?) => {
                $(if let Some(value) = &self.$field && self.$field != base.$field {
                    fields.push(format!("{}={}", $name, $text(value)));
                })*
            };
        }
        let name = |method: &&Method| method.name;
        add! {
            read "read" name,
            write "write" name,
            request "request" |&bytes: &usize| size::exact(bytes as u64),
            depth "depth" usize::to_string,
            workers "workers" usize::to_string,
            model "model" Model::to_string,
            stripe "stripe" |&bytes: &u64| size::exact(bytes),
            window "window" |window: &Option<usize>| window.map_or("whole".into(), |bytes| size::exact(bytes as u64)),
            allocation "alloc" Allocation::to_string,
            read_cache "read-cache" CachePolicy::to_string,
            write_cache "write-cache" CachePolicy::to_string,
            completion "completion" Completion::to_string,
            budget "budget" |&bytes: &u64| size::exact(bytes),
        }
        f.write_str(&fields.join(","))
    }
}

fn named(name: &str) -> Result<StrategySpec, ParseError> {
    let named = NAMED.iter().find(|named| named.name == name).ok_or_else(|| {
        let names = NAMED.iter().map(|named| named.name);
        let names: Vec<_> = names.chain(method_names()).collect();
        ParseError::new(format!(
            "there is no strategy {name:?}: name one of auto, {}, or give fields such as method=buffered,request=256K",
            names.join(", ")
        ))
    })?;
    Ok(StrategySpec { named: Some(named), fixed: true, ..(named.spec)() })
}

impl StrategySpec {
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "method" => {
                let method = a_method(value)?;
                self.read = Some(method);
                self.write = Some(method);
            }
            "read" => self.read = Some(a_method(value)?),
            "write" => self.write = Some(a_method(value)?),
            "request" => self.request = Some(bytes(name, value, 1, LARGEST_REQUEST)? as usize),
            "depth" => self.depth = Some(count(name, value, DEEPEST)?),
            "workers" => self.workers = Some(count(name, value, WORKER_LIMIT as u64)?),
            "stripe" => self.stripe = Some(bytes(name, value, 1, u64::MAX / 2)?),
            "window" if value == "whole" => self.window = Some(None),
            "window" => self.window = Some(Some(bytes(name, value, 1, 1 << 40)? as usize)),
            "model" => self.model = Some(one_of(name, value)?),
            // The name in results and profiles of earlier builds.
            "alloc" if value == "preallocate" => self.allocation = Some(Allocation::Fallocate),
            "alloc" => self.allocation = Some(one_of(name, value)?),
            "cache" => {
                let cache = one_of(name, value)?;
                self.read_cache = Some(cache);
                self.write_cache = Some(cache);
            }
            "read-cache" => self.read_cache = Some(one_of(name, value)?),
            "write-cache" => self.write_cache = Some(one_of(name, value)?),
            "completion" => self.completion = Some(one_of(name, value)?),
            "budget" => self.budget = Some(bytes(name, value, LEAST_BUDGET, u64::MAX / 2)?),
            _ => {
                return Err(ParseError::new(format!(
                    "a strategy has no field {name:?}: it has method, read, write, request, depth, workers, \
                     model, stripe, window, alloc, cache, read-cache, write-cache, completion, budget"
                )));
            }
        }
        Ok(())
    }

    /// Fails if a method and a cache policy exclude each other on every file.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), ParseError> {
        for (method, cache) in [(self.read, self.read_cache), (self.write, self.write_cache)] {
            if let (Some(method), Some(cache)) = (method, cache)
                && let Some(reason) = contradiction(method, cache)
            {
                let name = method.name;
                let advice = "name another method or another cache policy";
                return Err(ParseError::new(format!(
                    "method {name} with cache={cache}: it {reason}: {advice}"
                )));
            }
        }
        Ok(())
    }

    /// Replaces the fields of a chosen strategy by the specified ones.
    ///
    /// ```
    /// use fullbore::strategy::{Model, Strategy, StrategySpec};
    /// let strategy = "workers=4".parse::<StrategySpec>()?.apply(Strategy::plain());
    /// assert_eq!((strategy.workers, strategy.model), (4, Model::Striped), "several workers need stripes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(hidden)]
    pub fn apply(&self, mut strategy: Strategy) -> Strategy {
        // Fields chosen for one method do not suit another.
        if self.read.is_some_and(|method| method != strategy.read)
            || self.write.is_some_and(|method| method != strategy.write)
        {
            strategy.depth = 1;
            strategy.read_cache = CachePolicy::Keep;
            strategy.write_cache = CachePolicy::Keep;
        }
        macro_rules! take {
            ($($field:ident),*) => { $(strategy.$field = self.$field.unwrap_or(strategy.$field);)* };
        }
        take!(read, write, request, depth, model, stripe, window, allocation);
        take!(read_cache, write_cache, completion, budget);
        match (self.workers, self.model) {
            (Some(workers), _) => strategy.workers = workers,
            (None, Some(Model::Serial)) => strategy.workers = 1,
            _ => {}
        }
        if self.workers.is_some_and(|workers| workers > 1)
            && self.model.is_none()
            && strategy.model == Model::Serial
        {
            strategy.model = Model::Striped;
        }
        strategy
    }
}

/// The cache policy of a method that supports only one; else the requested policy.
pub(super) fn inherent(method: &Method, requested: CachePolicy) -> CachePolicy {
    match (method.capabilities.direct, method.capabilities.drops) {
        (Availability::Always, _) => CachePolicy::Direct,
        (_, Availability::Always) => CachePolicy::DontCache,
        _ => requested,
    }
}

/// The method that makes a method's calls under a cache policy: the same calls with another flag are separate methods.
pub(super) fn with_policy(requested: &'static Method, cache: CachePolicy) -> &'static Method {
    match (requested.name, cache) {
        ("buffered", CachePolicy::Direct) => method("direct").unwrap_or(requested),
        ("buffered", CachePolicy::DontCache) => method("uncached").unwrap_or(requested),
        _ => requested,
    }
}

/// The reason why a method does not follow a cache policy on any file, if there is one.
pub(super) fn cannot(method: &Method, cache: CachePolicy) -> Option<&'static str> {
    match cache {
        CachePolicy::Direct if method.capabilities.direct == Availability::Never => {
            Some("cannot bypass the page cache")
        }
        CachePolicy::DontCache if method.capabilities.drops == Availability::Never => {
            Some("cannot drop what it cached")
        }
        _ => None,
    }
}

/// As [`cannot`], also for a method that has another policy of its own.
fn contradiction(method: &'static Method, cache: CachePolicy) -> Option<String> {
    match inherent(method, cache) {
        own if own != cache => Some(format!("always has the policy {own}")),
        _ => cannot(with_policy(method, cache), cache).map(str::to_owned),
    }
}

/// The names of the methods that move bytes.
fn method_names() -> impl Iterator<Item = &'static str> {
    methods().filter(|method| method.capabilities.storage).map(|method| method.name)
}

fn a_method(name: &str) -> Result<&'static Method, ParseError> {
    method(name).ok_or_else(|| {
        let names: Vec<_> = method_names().collect();
        ParseError::new(format!("there is no access method {name:?}: name one of {}", names.join(", ")))
    })
}

fn bytes(field: &str, value: &str, least: u64, most: u64) -> Result<u64, ParseError> {
    let bytes = size::parse(value).map_err(|error| ParseError::new(format!("{field}={value}: {error}")))?;
    if (least..=most).contains(&bytes) {
        return Ok(bytes);
    }
    Err(ParseError::new(format!("{field}={value}: must be {} to {}", size::exact(least), size::exact(most))))
}

fn count(field: &str, value: &str, most: u64) -> Result<usize, ParseError> {
    match value.parse::<u64>() {
        Ok(count) if (1..=most).contains(&count) => Ok(count as usize),
        _ => Err(ParseError::new(format!("{field}={value}: must be 1 to {most}"))),
    }
}

fn one_of<T: FromStr<Err = ParseError>>(field: &str, value: &str) -> Result<T, ParseError> {
    value.parse().map_err(|error| ParseError::new(format!("{field}={value}: {error}")))
}

/// A strategy with a name.
#[derive(Debug)]
pub struct Named {
    /// The name for `--strategy`.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    spec: fn() -> StrategySpec,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// One access method for reading and writing, one worker.
fn serial(name: &str) -> StrategySpec {
    StrategySpec {
        read: method(name),
        write: method(name),
        request: Some(64 << 10),
        depth: Some(1),
        workers: Some(1),
        model: Some(Model::Serial),
        ..StrategySpec::default()
    }
}

/// One access method for reading and writing, one worker per processor: the best number for Hart's striped programs.
fn parallel(name: &str, model: Model) -> StrategySpec {
    StrategySpec {
        workers: Some(probe::processors()),
        model: Some(model),
        stripe: Some(64 << 10),
        ..serial(name)
    }
}

/// Asynchronous, depth 4 as in Hart's programs (four overlapped structures each for reading and writing). `overlapped` is the
/// method of his program; where it is missing, the system's deep method takes its place.
fn asynchronous(overlapped: &str, completion: Completion) -> StrategySpec {
    let name = if method(overlapped).is_some() { overlapped } else { deep_method().name };
    StrategySpec { depth: Some(4), completion: Some(completion), ..serial(name) }
}

/// Every named strategy except `auto`.
pub static NAMED: &[Named] = &[
    Named {
        name: "cci",
        summary: "read, transform, write: one worker, 64 KiB requests",
        spec: || serial("buffered"),
    },
    Named { name: "cci-stdio", summary: "the same with the C library's FILE*", spec: || serial("stdio") },
    Named {
        name: "cci-mm",
        summary: "both files mapped whole, one worker",
        spec: || StrategySpec { window: Some(None), ..serial("mmap") },
    },
    Named {
        name: "cci-mt",
        summary: "64 KiB stripes assigned round-robin to threads that read and write",
        spec: || parallel("buffered", Model::Striped),
    },
    Named {
        name: "cci-tp",
        summary: "64 KiB stripes taken from a queue by threads that read and write",
        spec: || parallel("buffered", Model::Pool),
    },
    Named {
        name: "cci-ov",
        summary: "asynchronous, four in flight, completions handled in order",
        spec: || asynchronous("event", Completion::Ordered),
    },
    Named {
        name: "cci-ex",
        summary: "asynchronous, four in flight, completions handled as they arrive",
        spec: || asynchronous("routine", Completion::Any),
    },
    Named {
        name: "cci-mtmm",
        summary: "both files mapped whole, 64 KiB stripes assigned round-robin to threads",
        spec: || StrategySpec { window: Some(None), ..parallel("mmap", Model::Striped) },
    },
    Named {
        name: "cci-mmtp",
        summary: "both files mapped whole, 64 KiB stripes taken from a queue by threads",
        spec: || StrategySpec { window: Some(None), ..parallel("mmap", Model::Pool) },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_override_a_name() {
        let spec: StrategySpec = "cci-mt,workers=7,request=8K".parse().unwrap();
        let strategy = spec.apply(Strategy::plain());
        assert_eq!((strategy.workers, strategy.request, strategy.model), (7, 8192, Model::Striped));
    }

    #[test]
    fn a_strategy_parses_back_from_its_text() {
        for text in [
            "method=mmap,workers=2,model=pool,window=whole",
            "read=uring,write=buffered,depth=32,cache=keep",
            "workers=2,budget=8M",
            "cci-ov",
            "auto",
        ] {
            let strategy = text.parse::<StrategySpec>().unwrap().apply(Strategy::plain());
            let again = strategy.to_string().parse::<StrategySpec>().unwrap().apply(Strategy::plain());
            assert_eq!(strategy, again, "{strategy}");
        }
    }

    #[test]
    fn a_spec_parses_back_from_its_text() {
        for text in [
            "auto",
            "auto,read=mmap",
            "cci-mm",
            "cci-mt,write=uring,request=8K,workers=7",
            "request=64K,depth=4,model=pool,stripe=1M,window=whole,alloc=fallocate",
            "read-cache=direct,write-cache=drop,completion=ordered,budget=8M",
        ] {
            let spec: StrategySpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }

    #[test]
    fn the_name_of_a_method_stands_for_the_field() {
        for (short, long) in
            [("mmap,window=64M", "method=mmap,window=64M"), ("auto,buffered", "auto,method=buffered")]
        {
            assert_eq!(short.parse::<StrategySpec>(), long.parse());
        }
        assert!("request=4K,floppy".parse::<StrategySpec>().is_err());
    }

    #[test]
    fn profiles_of_earlier_builds_are_read() {
        let old: StrategySpec = "workers=2,alloc=preallocate".parse().unwrap();
        assert_eq!(old, "workers=2,alloc=fallocate".parse().unwrap());
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, part) in [
            ("fast", "no strategy \"fast\""),
            ("method=floppy", "no access method \"floppy\""),
            ("depth=0", "1 to 1024"),
            ("workers=many", "1 to 256"),
            ("request=1T", "request=1T: must be 1 to 32M"),
            ("colour=red", "no field \"colour\""),
            ("request=4K,cci", "has no value"),
            ("alloc=maybe", "\"maybe\" is not one of extend, size, fallocate"),
            ("", "no strategy \"\""),
        ] {
            let error = text.parse::<StrategySpec>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
