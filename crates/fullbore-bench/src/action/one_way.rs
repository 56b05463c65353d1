//! A trial that only reads or only writes: direction, strategy, written data.

use fullbore::Result;
use fullbore::engine::{CachePolicy, Method};
use fullbore::file::{Durability, File, Output, Placement};
use fullbore::operation::generate::Stamped;
use fullbore::strategy::{Planner, Purpose, Strategy};
use serde::Deserialize;

use super::requested_strategy::RequestedStrategy;
use crate::document::Labels;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Read,
    Write,
}

impl Direction {
    pub(super) fn writes(self) -> bool {
        self == Self::Write
    }

    pub(super) fn word(self) -> &'static str {
        if self.writes() { "write" } else { "read" }
    }

    /// Returns the method and the cache policy of a strategy for this direction.
    pub(super) fn of(self, strategy: &Strategy) -> (&'static Method, CachePolicy) {
        match self {
            Self::Read => (strategy.read, strategy.read_cache),
            Self::Write => (strategy.write, strategy.write_cache),
        }
    }
}

/// Strategy of a trial that only reads or only writes: as requested, and as planned once known.
#[derive(Debug)]
pub(super) struct OneWayIo {
    pub(super) direction: Direction,
    requested: RequestedStrategy,
    planned: Option<Strategy>,
    data: Option<Stamped>,
}

impl OneWayIo {
    pub(super) fn new(direction: Direction, requested: RequestedStrategy) -> Self {
        Self { direction, requested, planned: None, data: None }
    }

    /// Returns the planned strategy, or the requested one before planning.
    pub(super) fn strategy(&self) -> Strategy {
        self.planned.clone().unwrap_or_else(|| self.requested.plain())
    }

    /// Returns the full strategy as the profile stores it, once it is known.
    pub(super) fn planned(&self) -> Option<String> {
        self.planned.as_ref().map(ToString::to_string)
    }

    pub(super) fn writes(&self) -> bool {
        self.direction.writes()
    }

    /// True if it bypasses the page cache.
    pub(super) fn direct(&self) -> bool {
        let (method, cache) = self.direction.of(&self.strategy());
        cache == CachePolicy::Direct || method.capabilities.passes_cache(cache)
    }

    /// Returns the generator of the written data; `None` for reads, and before [`set_strategy`](Self::set_strategy).
    pub(super) fn data(&self) -> Option<&Stamped> {
        self.data.as_ref()
    }

    /// Plans the strategy for the first `len` bytes of a file.
    pub(super) fn plan(&self, file: &File, len: u64) -> Result<Strategy> {
        let RequestedStrategy { spec, text } = &self.requested;
        let planner = Planner::new(spec).with_text(Some(text));
        let planned = if self.writes() {
            let output = Output::create(file.path(), Placement::Overwrite, None)?;
            let planned = planner.plan(Purpose::Generate, None, Some(len), Some(&output))?;
            output.commit_len(len, Durability::None)?;
            planned
        } else {
            planner.plan(Purpose::Read, Some(file), Some(len), None)?
        };
        self.requested.check_granted(&planned, file.path())?;
        Ok(planned.strategy)
    }

    /// Sets the strategy of the trial; `seed` determines the written data.
    pub(super) fn set_strategy(&mut self, strategy: Strategy, seed: u64) {
        self.data = self.writes().then(|| Stamped::new(seed, strategy.request));
        self.planned = Some(strategy);
    }

    pub(super) fn labels(&self) -> Labels {
        let strategy = self.strategy();
        let (method, cache) = self.direction.of(&strategy);
        Labels {
            operation: self.direction.word().into(),
            method: method.name.into(),
            request_bytes: Some(strategy.request as u64),
            depth: Some(strategy.depth as u32),
            workers: Some(strategy.workers as u32),
            model: Some(strategy.model.to_string()),
            cache_policy: Some(cache.to_string()),
            file_state: self.writes().then(|| "overwritten".into()),
            strategy: Some(self.requested.text.clone()),
            ..Labels::default()
        }
    }
}
