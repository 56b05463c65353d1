//! Transformations by a strategy, planned as the command plans them.

use fullbore::error::{ErrorKind, Result};
use fullbore::file::{Durability, File, Output};
use fullbore::operation::Transform;
use fullbore::pattern::{self, Progress};
use fullbore::strategy::{Planner, Purpose, StrategySpec};
use fullbore_testkit::ground::supported_or_skip;

/// Transforms a file into an output; false if the strategy is unavailable.
pub(crate) fn transform(
    operation: &dyn Transform,
    strategy: &str,
    source: &File,
    target: Output,
    durability: Durability,
) -> Result<bool> {
    let spec: StrategySpec = strategy.parse().unwrap();
    let len = source.seekable_len()?;
    let planned = match Planner::new(&spec).plan(Purpose::Transform, Some(source), len, Some(&target)) {
        Ok(planned) => planned,
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let what = format!("{strategy}: {error}");
            return Ok(supported_or_skip::<()>(source.path(), true, &what, Err(error)).is_some());
        }
        Err(error) => return Err(error),
    };
    pattern::transform(operation, source, target, &planned.strategy, durability, &Progress::default())?;
    Ok(true)
}
