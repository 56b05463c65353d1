//! Actions: what a trial does. One file an action, one line in the registry.
//!
//! An action is data in an experiment's grid and a [`Workload`] here: it says what it needs, makes itself ready, and does
//! the work that [`sample`](crate::sample) times and proves.

mod access;
mod command;
mod concurrent;
mod devices;
mod interface;
mod latency;
mod memory;
mod one_way;
mod phases;
mod precondition;
mod requested_strategy;
mod reread;
mod streams;
mod striped;
mod target;
mod transform;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use fullbore::Result;
use fullbore::file::File;
use fullbore::pattern::Order;

use crate::document::{CacheState, Labels, Latency, Phases};
use crate::sample::RunContext;
use crate::test_files::Needs;

/// What a grid says of one trial: a value for each of its keys.
pub(crate) type Settings = toml::Table;

/// An action that experiments may name.
#[derive(Debug)]
pub(crate) struct Action {
    /// Its name in a grid.
    pub(crate) name: &'static str,
    /// Makes the work of one trial; fails with what is wrong with the settings.
    pub(crate) parse: fn(Settings) -> ParsedWorkload,
}

/// The work of a trial, or what is wrong with its settings.
pub(crate) type ParsedWorkload = std::result::Result<Box<dyn Workload>, String>;

/// Every action.
pub(crate) const ACTIONS: &[Action] = &[
    Action { name: "read", parse: access::read },
    Action { name: "write", parse: access::write },
    Action { name: "transform", parse: transform::parse },
    Action { name: "memory", parse: memory::parse },
    Action { name: "interface", parse: interface::parse },
    Action { name: "latency", parse: latency::parse },
    Action { name: "phases", parse: phases::parse },
    Action { name: "reread", parse: reread::parse },
    Action { name: "command", parse: command::parse },
    Action { name: "devices", parse: devices::parse },
    Action { name: "streams", parse: streams::parse },
];

/// Reads settings into an action's own type, which names what it does not know.
pub(crate) fn settings<T: serde::de::DeserializeOwned>(settings: Settings) -> std::result::Result<T, String> {
    settings.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Which turn of a trial is to be taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Iteration {
    /// About how many bytes the sample should move; whole-file works take no notice.
    pub(crate) span: u64,
    /// Counts the samples of the run: another turn is at another place of the file.
    pub(crate) number: u64,
}

/// The work of one trial.
pub(crate) trait Workload: fmt::Debug {
    /// The files it wants to be there.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What tells the trial from others. Before [`open`](Self::open): as far as the settings say.
    fn labels(&self) -> Labels;

    /// Makes sure that it can be done here, and makes what is made once.
    ///
    /// # Errors
    /// The reason why it cannot be: the cell is skipped with it.
    fn open(&mut self, context: &RunContext<'_>) -> Result<()>;

    /// The strategy in full, for the profile.
    fn strategy(&self) -> Option<String> {
        None
    }

    /// Whether a sample takes longer the more bytes it is asked for.
    fn elastic(&self) -> bool {
        true
    }

    /// Brings everything into the state that the trial asks for, out of the time taken.
    ///
    /// # Errors
    /// The system's.
    fn prepare(&mut self, iteration: Iteration, context: &RunContext<'_>) -> Result<ExpectedState>;

    /// Does the same for `seconds` before the clock starts, so that what a device gives at first is not taken for what
    /// it goes on giving.
    ///
    /// # Errors
    /// Those of the work.
    fn ramp_up(&mut self, seconds: f64, context: &RunContext<'_>) -> Result<()>;

    /// The work that is timed.
    ///
    /// # Errors
    /// Those of the work.
    fn run(&mut self, context: &RunContext<'_>) -> Result<RunResult>;

    /// Adds to what the last run did what is only found out afterwards, when the clock and the counters have stopped.
    ///
    /// # Errors
    /// The system's.
    fn finish_measurement(&mut self, _done: &mut RunResult) -> Result<()> {
        Ok(())
    }

    /// What the next run covers, for a peer that is to do the same in its place; `None`: nothing that a peer could do.
    fn covered_range(&self, _context: &RunContext<'_>) -> Option<CoveredRange> {
        None
    }

    /// The same work, not opened yet, for a peer to do beside it; `None` if none could.
    fn unopened_copy(&self) -> Option<Box<dyn Workload>> {
        None
    }

    /// Clears away what the last run left, out of the time taken.
    ///
    /// # Errors
    /// The system's.
    fn clean_up(&mut self, _context: &RunContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// What a run covers.
#[derive(Debug, Clone)]
pub(crate) struct CoveredRange {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its bytes.
    pub(crate) range: Range<u64>,
    /// The order of the requests.
    pub(crate) order: Order,
    /// Whether each request's time is taken, which costs two looks at the clock.
    pub(crate) timed: bool,
}

/// What a sample claims, and where to look for the proof.
#[derive(Debug, Default)]
pub(crate) struct ExpectedState {
    /// Whose pages are looked at.
    pub(crate) ranges: Vec<(File, Range<u64>)>,
    /// How much of them the page cache is to hold when the clock starts.
    pub(crate) cache: Option<CacheState>,
    /// What must come from the device or go there.
    pub(crate) device: DeviceIo,
}

/// What the device must have done for a sample to be what it is labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DeviceIo {
    /// Nothing in particular.
    #[default]
    Any,
    /// Reads of the bytes.
    Reads,
    /// Writes of the bytes.
    Writes,
}

/// What a run of a work did.
#[derive(Debug, Default)]
pub(crate) struct RunResult {
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// How long it took in seconds, where the work knows better than the clock around it.
    pub(crate) seconds: Option<f64>,
    /// Requests made.
    pub(crate) requests: u64,
    /// Mean number of requests in flight a worker.
    pub(crate) depth: Option<f64>,
    /// How long requests took.
    pub(crate) latency: Option<Latency>,
    /// Where their time went.
    pub(crate) phases: Option<Phases>,
    /// Bytes a second of each stream or target.
    pub(crate) streams: Vec<f64>,
    /// Processor time of child processes in seconds, user and system, where they did the work.
    pub(crate) children: Option<(f64, f64)>,
    /// Processor time in seconds, user and system, that is no part of the work, as its seconds are none: opening and closing.
    pub(crate) setup_cpu: (f64, f64),
}
