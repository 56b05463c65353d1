//! The strategy that a grid requests. A planned strategy that differs would be mislabelled, so it is an error.

use std::path::Path;

use fullbore::engine::Method;
use fullbore::error::{Error, ErrorKind, Result};
use fullbore::size;
use fullbore::strategy::{Plan, Strategy, StrategySpec};

/// A requested strategy.
#[derive(Debug)]
pub(crate) struct RequestedStrategy {
    /// Parsed specification.
    pub(crate) spec: StrategySpec,
    /// Text in the syntax of `--strategy`.
    pub(crate) text: String,
}

impl RequestedStrategy {
    /// Parses a strategy with the request size and the depth of a grid.
    ///
    /// # Errors
    /// The error in one of them.
    pub(crate) fn new(
        strategy: &str,
        request: Option<&str>,
        depth: Option<u32>,
    ) -> std::result::Result<Self, String> {
        let mut text = strategy.to_owned();
        if let Some(request) = request {
            size::parse(request).map_err(|error| error.to_string())?;
            text.push_str(&format!(",request={request}"));
        }
        if let Some(depth) = depth {
            text.push_str(&format!(",depth={depth}"));
        }
        let spec = text.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { spec, text })
    }

    /// Returns the strategy without facts of any file.
    pub(crate) fn plain(&self) -> Strategy {
        self.spec.apply(Strategy::plain())
    }

    /// Refuses a plan that replaced a requested method.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] with the plan's reasons.
    pub(crate) fn check_granted(&self, planned: &Plan, path: &Path) -> Result<()> {
        let kept = |spec: Option<&Method>, got: &Method| spec.is_none_or(|spec| spec == got);
        let read = kept(self.spec.read, planned.strategy.read) || planned.plan_input.len.is_none();
        if read && kept(self.spec.write, planned.strategy.write) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, "measure", path, planned.notes.join("; ")))
    }
}
