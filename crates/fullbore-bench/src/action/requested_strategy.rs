//! The strategy that a grid asks for, and whether it was granted: a trial of another would be mislabelled.

use std::path::Path;

use fullbore::engine::Method;
use fullbore::error::{Error, Kind, Result};
use fullbore::size;
use fullbore::strategy::{Plan, Strategy, Wish};

/// A strategy asked for.
#[derive(Debug)]
pub(crate) struct RequestedStrategy {
    /// What it asks for.
    pub(crate) wish: Wish,
    /// As `--strategy` takes it.
    pub(crate) text: String,
}

impl RequestedStrategy {
    /// Reads a strategy with the request size and the depth of a grid.
    ///
    /// # Errors
    /// What is wrong with one of them.
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
        let wish = text.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { wish, text })
    }

    /// The strategy without knowledge of any file.
    pub(crate) fn plain(&self) -> Strategy {
        self.wish.apply(Strategy::plain())
    }

    /// Refuses a plan that replaced a method asked for.
    ///
    /// # Errors
    /// [`Kind::Unsupported`] with the plan's reasons.
    pub(crate) fn check_granted(&self, planned: &Plan, path: &Path) -> Result<()> {
        let kept = |spec: Option<&Method>, got: &Method| spec.is_none_or(|spec| spec == got);
        let read = kept(self.wish.read, planned.strategy.read) || planned.situation.len.is_none();
        if read && kept(self.wish.write, planned.strategy.write) {
            return Ok(());
        }
        Err(Error::new(Kind::Unsupported, "measure", path, planned.notes.join("; ")))
    }
}
