//! Options of a run, and its events for the caller that shows its progress and keeps its results.

use std::path::PathBuf;
use std::time::Duration;

use crate::document::{Document, Regime};
use crate::stats::StopRule;

/// Directories, duration and experiments of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The measured directories, at least one: every trial uses the first, trials of several disks the others, too.
    pub directories: Vec<PathBuf>,
    /// A whole block device instead of directories, with the serial number that its owner typed. Everything on it is
    /// lost.
    pub device: Option<(PathBuf, String)>,
    /// Length of the test files in bytes; `None`: chosen by the meter.
    pub size: Option<u64>,
    /// Maximum duration of the run.
    pub time: Duration,
    /// Target half-width of a median's interval, as a share of the median.
    pub precision: f64,
    /// True if cells may be left out on slow storage: those of the quick run, which the user did not select individually.
    pub may_leave_out: bool,
    /// Regime of the figures where a device has two.
    pub regime: Regime,
    /// Seed of the data, the order of trials and the positions of random requests.
    pub seed: u64,
    /// The sets of experiments by name, as TOML, in order.
    pub sets: Vec<(String, String)>,
    /// Command line, for the document.
    pub command: Vec<String>,
    /// Document of an interrupted run: its samples are kept and the run continues.
    pub resume: Option<Document>,
    /// True if fio also runs every cell that it can.
    pub with_fio: bool,
    /// True if the caller saves no profile: for the document, because a resumed run saves none either.
    pub no_save: bool,
    /// Path of the program `fullbore` itself, which is compared with other commands; `None`: unknown.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    /// One minute, without directories and sets, which the caller adds.
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            device: None,
            size: None,
            time: Duration::from_secs(60),
            precision: StopRule::default().relative_half_width,
            may_leave_out: false,
            regime: Regime::Sustained,
            seed: 1,
            sets: Vec::new(),
            command: Vec::new(),
            resume: None,
            program: None,
            with_fio: false,
            no_save: false,
        }
    }
}

impl Options {
    /// Returns the measured directories, or the device.
    pub(super) fn measured_paths(&self) -> impl Iterator<Item = &PathBuf> {
        let device = self.device.iter().map(|(path, _)| path);
        device.chain(self.directories.iter().filter(|_| self.device.is_none()))
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunProgress<'a> {
    /// Elapsed share of the time, 0 to 1.
    pub share: f64,
    /// Current step: the id of a cell, or words.
    pub now: &'a str,
    /// Its rates measured so far, in bytes per second.
    pub rates: &'a [f64],
}

/// An event of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Progress of the run.
    Progress(RunProgress<'a>),
    /// A message before the measurement starts, in words: what the run is about to do to the storage.
    Announcement(&'a str),
    /// All results so far, complete and readable; to be kept in case the run is interrupted.
    Partial(&'a Document),
}
