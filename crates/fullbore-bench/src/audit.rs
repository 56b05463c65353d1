//! The meter's own cost: a request of the null engine, and a reading of the clock.

use std::time::Instant;

use fullbore::Result;
use fullbore::buf::ALIGNMENT;
use fullbore::engine::method;
use fullbore::error::{Error, ErrorKind};
use fullbore::file::File;
use fullbore::pattern::{Order, Progress, Scope};
use fullbore::strategy::Strategy;

use crate::action::read_until;
use crate::document::{Audit, Cell};
use crate::stats::{Bootstrap, Estimate};
use crate::units;

#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnCost {
    /// Seconds per request of the null engine, in the same loop as the trials.
    pub(crate) request: Estimate,
    pub(crate) clock: f64,
}

/// Measures the meter's own cost. `file` gives the null engine a length; none of it is read.
pub(crate) fn own_cost(file: &File) -> Result<OwnCost> {
    const REQUESTS: u64 = 20_000;
    const SAMPLES: usize = 9;
    let null = method("null").ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "measure", file.path(), "the null method is missing")
    })?;
    let strategy = Strategy { read: null, request: ALIGNMENT, ..Strategy::plain() };
    let scope = Scope { range: 0..file.stamp()?.len, order: Order::Random { seed: 1, count: REQUESTS } };
    let mut seconds = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let clock = Instant::now();
        let stats = read_until(file, &scope, &strategy, &false.into(), &Progress::default())?;
        seconds.push(clock.elapsed().as_secs_f64() / stats.reads.requests.max(1) as f64);
    }
    let request = Bootstrap::default().median(&seconds).ok_or_else(|| {
        Error::new(ErrorKind::Io, "measure", file.path(), "the null method yielded no samples")
    })?;
    Ok(OwnCost { request, clock: clock_cost() })
}

fn clock_cost() -> f64 {
    const READINGS: u32 = 10_000;
    let start = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_secs_f64() / f64::from(READINGS)
}

impl OwnCost {
    pub(crate) fn account(&self, cells: &[Cell]) -> Audit {
        let summaries =
            || cells.iter().filter_map(|cell| cell.summary.as_ref().map(|summary| (cell, summary)));
        let tool_bound: Vec<String> =
            summaries().filter(|(_, summary)| summary.tool_bound).map(|(cell, _)| cell.id.clone()).collect();
        let mut findings = vec![format!(
            "The meter adds {:.0} ns to each request; one reading of the clock takes {:.0} ns.",
            self.request.value * 1e9,
            self.clock * 1e9
        )];
        let contradicted: usize = summaries().map(|(_, summary)| summary.contradicted).sum();
        if contradicted > 0 {
            findings.push(format!(
                "{} contradicted by counters: kept in the document, left out of the figures.",
                units::count(contradicted, "sample")
            ));
        }
        let empty = || cells.iter().filter(|cell| cell.skipped.is_none() && cell.summary.is_none());
        let unmeasured = empty().filter(|cell| cell.samples.is_empty()).count();
        if unmeasured > 0 {
            findings.push(format!(
                "Cells without a sample, for which there was no time: {unmeasured}. A run with --resume measures them."
            ));
        }
        let unusable = empty().count() - unmeasured;
        if unusable > 0 {
            findings.push(format!("Cells without a usable sample: {unusable}."));
        }
        if !tool_bound.is_empty() {
            findings.push(format!("Cells limited by the meter, not by the storage: {}.", tool_bound.len()));
        }
        Audit { null_request_s: Some(self.request), clock_s: Some(self.clock), findings, tool_bound }
    }
}
