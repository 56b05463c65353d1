//! The strategies with names: Hart's family of sequential file transformations (2010), as this system has them.

use super::{Completion, Model, StrategySpec};
use crate::engine::method;
use crate::probe;

/// A strategy with a name.
///
/// ```
/// let named = &fullbore::strategy::NAMED[0];
/// assert_eq!((named.name, named.summary), ("cci", "read, work, write: one worker, 64 KiB at a time"));
/// ```
#[derive(Debug)]
pub struct Named {
    /// The name `--strategy` takes.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    pub(super) spec: fn() -> StrategySpec,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// One access method both ways, one worker.
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

/// The same with a worker a processor, as Hart's striped programs ran best.
fn parallel(name: &str, model: Model) -> StrategySpec {
    StrategySpec {
        workers: Some(probe::processors()),
        model: Some(model),
        stripe: Some(64 << 10),
        ..serial(name)
    }
}

/// Asynchronous, as deep as Hart's four overlapped structures, twice (his read and write each had one).
fn asynchronous(completion: Completion) -> StrategySpec {
    StrategySpec { depth: Some(4), completion: Some(completion), ..serial("uring") }
}

/// Every strategy with a name but `auto`.
///
/// ```
/// use fullbore::strategy::{NAMED, StrategySpec};
/// for named in NAMED {
///     let spec: StrategySpec = named.name.parse()?;
///     assert_eq!(spec.named, Some(named));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub static NAMED: &[Named] = &[
    Named {
        name: "cci",
        summary: "read, work, write: one worker, 64 KiB at a time",
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
        summary: "64 KiB stripes dealt to threads that read and write",
        spec: || parallel("buffered", Model::Striped),
    },
    Named {
        name: "cci-tp",
        summary: "64 KiB stripes taken from a queue by threads that read and write",
        spec: || parallel("buffered", Model::Pool),
    },
    Named {
        name: "cci-ov",
        summary: "asynchronous, four in flight, the oldest waited for",
        spec: || asynchronous(Completion::Ordered),
    },
    Named {
        name: "cci-ex",
        summary: "asynchronous, four in flight, completions handled as they come",
        spec: || asynchronous(Completion::Any),
    },
    Named {
        name: "cci-mtmm",
        summary: "both files mapped whole, 64 KiB stripes dealt to threads",
        spec: || StrategySpec { window: Some(None), ..parallel("mmap", Model::Striped) },
    },
    Named {
        name: "cci-mmtp",
        summary: "both files mapped whole, 64 KiB stripes taken from a queue by threads",
        spec: || StrategySpec { window: Some(None), ..parallel("mmap", Model::Pool) },
    },
];
