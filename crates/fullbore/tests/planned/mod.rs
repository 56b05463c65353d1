//! Transformations by a strategy, planned as the command plans them.

use fullbore::error::{ErrorKind, Result};
use fullbore::file::{Durability, File, Output};
use fullbore::operation::Transform;
use fullbore::pattern::{self, Progress};
use fullbore::strategy::{Planner, Purpose, StrategySpec};

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
            println!("skipped: {strategy}: {error}");
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    pattern::transform(operation, source, target, &planned.strategy, durability, &Progress::default())?;
    Ok(true)
}
