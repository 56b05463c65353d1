//! Cells whose figures are of comparable regimes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::document::{Cell, Regime};

/// Returns a function that is false for cells that have only samples of the regime that was not requested: figures never mix
/// regimes. Work that was measured in no other is comparable.
pub(crate) fn comparable<'a>(
    cells: impl IntoIterator<Item = &'a Cell>,
    requested: Regime,
) -> impl Fn(&Cell) -> bool {
    let other = requested.opposite();
    let known = cells.into_iter().filter(|cell| cell.regime().is_some_and(|regime| Some(regime) != other));
    let known: BTreeSet<String> = known.map(|cell| cell.labels.operation.to_string()).collect();
    move |cell| {
        let differs = other.is_some() && cell.regime() == other;
        !(differs && known.contains(&cell.labels.operation.to_string()))
    }
}

pub(crate) fn comparable_cells(cells: &[Cell], requested: Regime) -> Cow<'_, [Cell]> {
    let kept = comparable(cells, requested);
    if cells.iter().all(&kept) {
        return Cow::Borrowed(cells);
    }
    cells.iter().filter(|cell| kept(cell)).cloned().collect()
}
