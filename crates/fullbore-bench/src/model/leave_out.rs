//! Test of the model by cells left out: each cell predicted from the others, and halves of the cells from each other.

use super::machine::{Model, Path, Prediction};
use super::path::{Member, Requests, key};
use super::query::Query;
use crate::document::{Cell, CellPrediction};
use crate::stats::Xoshiro256;

/// A share of the rate within which a prediction counts as right.
const CLOSE: f64 = 0.15;

/// Predicts each cell from the other cells of its path, in the order of the cells. Cells whose path has too few others
/// are left out.
pub fn predictions(cells: &[Cell], processors: u32) -> Vec<CellPrediction> {
    let model = Model::fit(cells, processors);
    let of = |cell: &Cell| {
        let measured = cell.summary.as_ref()?.rate;
        let path = model.paths.iter().find(|path| path.members.iter().any(|m| m.cell == cell.id))?;
        let others = path.members.iter().filter(|member| member.cell != cell.id).cloned().collect();
        let others = Path::new(path.key.clone(), others, path.like, processors);
        let found = others.predict(&Requests::of(&cell.labels)?, &model.machine, &Query::unchanged())?;
        let Prediction { rate, limit, extrapolated, path } = found;
        let ratio = measured.value / rate.value;
        let apart = measured.low > rate.high || measured.high < rate.low;
        let wrong = apart && !is_close(rate.value, measured.value);
        Some(CellPrediction { cell: cell.id.clone(), path, rate, limit, extrapolated, ratio, wrong })
    };
    cells.iter().filter_map(of).collect()
}

fn is_close(predicted: f64, measured: f64) -> bool {
    (predicted / measured - 1.0).abs() <= CLOSE
}

/// A prediction of a cell that the model was not fitted to.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// Id of the cell.
    pub cell: String,
    /// The prediction.
    pub prediction: Prediction,
    /// Measured bytes per second.
    pub measured: f64,
    /// True if the prediction is within 15% of the measured rate, or inside its interval.
    pub right: bool,
}

/// The outcome of a test on cells left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// Cells predicted.
    pub outcomes: Vec<LeftOut>,
    /// Number of cells left out that cannot be predicted: too few of their path remain.
    pub unpredictable: usize,
}

/// Fits a model to one half of the cells, chosen at random, and predicts the other half.
pub fn validate(cells: &[Cell], processors: u32, seed: u64) -> Validation {
    let mut measured: Vec<&Cell> = cells.iter().filter(|cell| Member::of(cell).is_some()).collect();
    Xoshiro256::seeded(seed).shuffle(&mut measured);
    let (kept, left_out) = measured.split_at(measured.len() / 2);
    let model = Model::fit(kept.iter().copied(), processors);
    let mut found = Validation::default();
    for cell in left_out {
        let predicted = (|| {
            let shared = key(&cell.labels)?;
            let path = model.paths.iter().find(|path| path.key == shared)?;
            path.predict(&Requests::of(&cell.labels)?, &model.machine, &Query::unchanged())
        })();
        let (Some(prediction), Some(summary)) = (predicted, &cell.summary) else {
            found.unpredictable += 1;
            continue;
        };
        let (measured, value) = (summary.rate.value, prediction.rate.value);
        let right = is_close(value, measured) || summary.rate.contains(value);
        found.outcomes.push(LeftOut { cell: cell.id.clone(), prediction, measured, right });
    }
    found
}
