//! Events of a run, for the caller that shows its progress and keeps its results.

use crate::document::Document;

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
