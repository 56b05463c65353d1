//! Queries of the model: requests, and changes of the machine.

use fullbore::engine::{CachePolicy, METHODS, method};
use fullbore::error::ParseError;
use fullbore::size;
use fullbore::strategy::StrategySpec;

use super::path::{BYPASS, Requests, sends_direct_requests, touches_device};
use crate::document::{CacheState, FileState, Labels};

/// Limits of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceLimits {
    /// Requests per second.
    pub requests_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// Requests to predict, on the machine of the model or on a changed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// `read`, `write` or another operation of the cells.
    pub operation: String,
    /// Access method; `None`: any.
    pub method: Option<String>,
    /// Request size in bytes.
    pub request: u64,
    /// Requests that each worker keeps in flight.
    pub depth: u32,
    /// Workers.
    pub workers: u32,
    /// State of the page cache; requests that bypass it count as cold.
    pub cache: Option<CacheState>,
    /// Cache policy: `keep`, `drop`, `direct`.
    pub policy: Option<String>,
    /// `sequential` or `random`.
    pub order: String,
    /// Disks; each has workers and depth of its own, or holds a part of a striped file.
    pub disks: Option<u32>,
    /// Chunk of a file striped over the disks, in bytes.
    pub chunk: Option<u64>,
    /// Processors.
    pub cpus: Option<u32>,
    /// Limits of another device.
    pub device: Option<DeviceLimits>,
}

/// An error in the text of a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

impl Query {
    /// Creates a query from an operation and words such as `request=64K`: the fields `method`, `request`, `depth` and
    /// `workers` of a strategy, `cache` (`cold`, `warm`, or a strategy's `keep`, `drop`, `direct`), `order` and `chunk`.
    ///
    /// # Errors
    /// If a word has an unknown field or a wrong value.
    pub fn parse(operation: &str, words: &[String]) -> Result<Self, QueryError> {
        const FIELDS: &str = "method, request, depth, workers, cache, order, chunk";
        let mut query = Self { operation: operation.into(), ..Self::unchanged() };
        let mut fields = Vec::new();
        let mut given: Vec<&str> = Vec::new();
        for word in words.iter().flat_map(|word| word.split(',')) {
            let Some((name, value)) = word.split_once('=') else {
                return Err(QueryError(format!(
                    "{word:?} has no value: write field=value; the fields are {FIELDS}"
                )));
            };
            let field = match (name, value) {
                ("cache", "cold" | "warm") => "cache=cold or warm",
                ("cache", _) => "cache=keep, drop or direct",
                _ => name,
            };
            if given.contains(&field) {
                return Err(QueryError(format!("{word}: {field} is given twice")));
            }
            given.push(field);
            match (name, value) {
                ("cache", "cold") => query.cache = Some(CacheState::Cold),
                ("cache", "warm") => query.cache = Some(CacheState::Warm),
                ("cache", "keep" | "drop" | "direct") => query.policy = Some(value.into()),
                ("cache", _) => {
                    return Err(QueryError(format!("cache={value}: write cold, warm, keep, drop or direct")));
                }
                ("order", "sequential" | "random") => query.order = value.into(),
                ("order", _) => return Err(QueryError(format!("order={value}: write sequential or random"))),
                ("chunk", _) => {
                    let bytes = size::parse(value).map_err(|error| QueryError(format!("chunk: {error}")))?;
                    if bytes == 0 {
                        return Err(QueryError("chunk=0: a chunk has at least one byte".into()));
                    }
                    query.chunk = Some(bytes);
                }
                ("method" | "request" | "depth" | "workers", _) => fields.push(word),
                _ => return Err(QueryError(format!("no field {name:?}: the fields are {FIELDS}"))),
            }
        }
        if !fields.is_empty() {
            let spec: Result<StrategySpec, ParseError> = fields.join(",").parse();
            let spec = spec.map_err(|error| QueryError(error.to_string()))?;
            query.method = spec.read.map(|method| method.name.to_owned());
            query.request = spec.request.unwrap_or(0) as u64;
            query.depth = spec.depth.unwrap_or(1) as u32;
            query.workers = spec.workers.unwrap_or(1) as u32;
            if let Some(method) = spec.read {
                let (depth, most) = (query.depth, method.capabilities.depth.max(1));
                if depth as usize > most {
                    let text = format!("depth={depth}: the maximum of method {} is {most}", method.name);
                    return Err(QueryError(text));
                }
            }
        }
        let bypasses =
            |name: &String| method(name).is_some_and(|one| one.capabilities.passes_cache(CachePolicy::Keep));
        let direct = query.policy.as_deref() == Some("direct") || query.method.as_ref().is_some_and(bypasses);
        if direct && query.cache == Some(CacheState::Warm) {
            return Err(QueryError(
                "cache=warm: these requests bypass the page cache: use cache=cold".into(),
            ));
        }
        match query.request {
            0 => Err(QueryError("no request size: add request=SIZE, such as request=64K".into())),
            _ => Ok(query),
        }
    }

    pub(super) fn unchanged() -> Self {
        Self {
            operation: String::new(),
            method: None,
            request: 0,
            depth: 1,
            workers: 1,
            cache: None,
            policy: None,
            order: "sequential".into(),
            disks: None,
            chunk: None,
            cpus: None,
            device: None,
        }
    }

    /// True if the query is about another machine than the measured one.
    pub(super) fn is_change(&self) -> bool {
        self.device.is_some() || self.cpus.is_some() || self.disks.is_some()
    }

    pub(super) fn requests(&self) -> Requests {
        let Self { request: bytes, depth, workers, chunk, .. } = *self;
        let method = self.method.as_deref().unwrap_or("");
        Requests { disks: self.disks.unwrap_or(1), chunk, ..Requests::new(method, bytes, depth, workers) }
    }

    /// True if the query is about a path. Unnamed distinctions are those of plain cells.
    pub(super) fn matches(&self, key: &Labels) -> bool {
        let bypass = key.bypasses_cache();
        let device = touches_device(key);
        // Without a method, any access method, but not the interfaces above them.
        let method = match self.method.as_deref() {
            None => METHODS.iter().any(|method| key.method == method.name),
            Some(method) if bypass && key.method == BYPASS => sends_direct_requests(method),
            Some(method) => key.method == method,
        };
        // A change of the device, or of the number of disks, is about requests that reach them.
        let changes_device = self.device.is_some() || self.disks.is_some();
        let mixed = key.cache == Some(CacheState::Mixed);
        let cache = match self.cache {
            Some(CacheState::Cold) => device && !mixed,
            Some(CacheState::Warm) => !device,
            Some(CacheState::Mixed) => mixed,
            None => !mixed && (device || !changes_device),
        };
        // Without a method, more than one request in flight means one that can have them.
        let deep = self.depth == 1 || bypass || self.method.is_some();
        method
            && cache
            && deep
            && key.operation == self.operation.as_str()
            && key.order.as_deref().unwrap_or("sequential") == self.order
            && self.policy.as_ref().is_none_or(|policy| key.cache_policy.as_ref() == Some(policy))
            && key.variant.is_none()
            && key.offset_bytes.is_none()
            && key.memory_limit_bytes.is_none()
            && key.file_bytes.is_none()
            // Operations other than writing may create their file.
            && (self.operation != "write" || key.file_state.as_ref().is_none_or(|state| *state == FileState::Overwritten))
    }

    /// Returns the reason why there is no prediction and the experiment that measures a base for one.
    pub(super) fn unmeasured(&self, known: bool) -> String {
        let what = if known { "too few cells" } else { "no cells" };
        let Self { operation, order, .. } = self;
        let method = self.method.as_ref().map_or_else(String::new, |method| format!(", method {method}"));
        let none = "no built-in experiment measures several sizes with it: write a file of experiments";
        let policy = self.policy.as_deref();
        let more = match (self.cache, order.as_str()) {
            _ if !["read", "write"].contains(&operation.as_str()) => {
                "a prediction needs several request sizes, which a run measures of reads and writes".into()
            }
            (cache, order)
                if operation == "write" && (order == "random" || cache == Some(CacheState::Warm)) =>
            {
                "no built-in experiment measures them: write a file of experiments".into()
            }
            _ if policy == Some("drop") => none.into(),
            (_, "random") => run("depth"),
            (Some(CacheState::Warm), _) => run("overhead"),
            _ if policy == Some("keep") => none.into(),
            _ if self.depth > 1 => run("depth"),
            _ if self.method.as_ref().is_none_or(|method| method == "direct") => run("unbuffered"),
            _ => none.into(),
        };
        format!("{what} of such requests ({operation}, {order}{method}) in the results: {more}")
    }
}

fn run(experiment: &str) -> String {
    format!("run fullbore bench run {experiment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Query, QueryError> {
        Query::parse("read", &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_those_of_a_strategy() {
        let query = parse(&["request=64K", "depth=8", "workers=2", "cache=cold", "method=uring"]).unwrap();
        assert_eq!((query.request, query.depth, query.workers), (65_536, 8, 2));
        assert_eq!((query.cache, query.method.as_deref()), (Some(CacheState::Cold), Some("uring")));
        assert_eq!(parse(&["request=4K,cache=direct"]).unwrap().policy.as_deref(), Some("direct"));
        assert!(parse(&["request=4K", "cache=cold", "cache=direct"]).is_ok());
        for wrong in ["request=8K", "cache=warm,cache=cold", "cache=warm,cache=direct", "chunk=0"] {
            assert!(parse(&["request=4K", wrong]).is_err(), "{wrong}");
        }
        for wrong in ["request", "request=0", "cache=hot", "order=up", "speed=9", "depth=0", "depth=8"] {
            assert!(parse(&[wrong]).is_err(), "{wrong}");
        }
        assert!(parse(&["request=4K", "method=direct", "depth=2"]).is_err());
    }

    #[test]
    fn changes_of_the_device_concern_requests_that_reach_it() {
        let key = |cache| Labels { cache: Some(cache), ..Labels::of("read", "buffered") };
        let [cold, warm, mixed] = [CacheState::Cold, CacheState::Warm, CacheState::Mixed].map(key);
        let query = parse(&["request=4K"]).unwrap();
        assert!(query.matches(&cold) && query.matches(&warm) && !query.matches(&mixed));
        assert!(!parse(&["request=4K", "cache=cold"]).unwrap().matches(&mixed));
        let limits = DeviceLimits { requests_per_s: 1.0, bytes_per_s: f64::INFINITY };
        for query in [Query { disks: Some(2), ..query.clone() }, Query { device: Some(limits), ..query }] {
            assert!(query.matches(&cold) && !query.matches(&warm));
        }
    }
}
