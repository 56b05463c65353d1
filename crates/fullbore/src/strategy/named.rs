//! Named strategies: Hart's family of sequential file transformations (2010), on this system.

use super::{Completion, Model, StrategySpec};
use fullbore_io::engine::method;
use fullbore_io::probe;

/// A strategy with a name.
#[derive(Debug)]
pub struct Named {
    /// The name for `--strategy`.
    pub name: &'static str,
    /// One line on it.
    pub summary: &'static str,
    pub(super) spec: fn() -> StrategySpec,
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

/// The same with one worker per processor, the best number for Hart's striped programs.
fn parallel(name: &str, model: Model) -> StrategySpec {
    StrategySpec {
        workers: Some(probe::processors()),
        model: Some(model),
        stripe: Some(64 << 10),
        ..serial(name)
    }
}

/// Asynchronous, depth 4 as in Hart's programs (four overlapped structures each for reading and writing). `overlapped` is the
/// method of his program; where it is missing, io_uring takes its place.
fn asynchronous(overlapped: &str, completion: Completion) -> StrategySpec {
    let name = if method(overlapped).is_some() { overlapped } else { "uring" };
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
