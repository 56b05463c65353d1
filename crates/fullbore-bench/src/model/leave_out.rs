//! Test of the model by cells left out: each cell predicted from the others, and halves of the cells from each other.

use super::machine::{Model, Path, Prediction};
use super::path::{Member, Requests, key};
use super::query::Query;
use crate::document::{Cell, CellPrediction};
use crate::stats::Xoshiro256;

/// A share of the rate within which a prediction is not wrong.
const CLOSE: f64 = 0.15;

/// Predicts each cell from the other cells of its path, in the order of the cells. Cells whose path has too few others
/// are left out.
pub fn predictions(cells: &[Cell], processors: u32) -> Vec<CellPrediction> {
    let model = Model::fit(cells, processors);
    let of = |cell: &Cell| {
        let path = model.paths.iter().find(|path| path.members.iter().any(|m| m.cell == cell.id))?;
        let others = path.members.iter().filter(|member| member.cell != cell.id).cloned().collect();
        let others = Path::new(path.key.clone(), others, path.like, &model.machine);
        prediction(&model, &others, cell)
    };
    cells.iter().filter_map(of).collect()
}

/// The outcome of a test on cells left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// Cells predicted.
    pub predictions: Vec<CellPrediction>,
    /// Number of cells left out that cannot be predicted: too few of their path remain.
    pub unpredictable: usize,
}

/// Fits a model to one half of the cells, chosen at random, and predicts the other half. Cells that are on no path, such as
/// those of memory, are known.
pub fn validate(cells: &[Cell], processors: u32, seed: u64) -> Validation {
    let (mut measured, known): (Vec<&Cell>, Vec<&Cell>) =
        cells.iter().partition(|cell| Member::of(cell).is_some());
    Xoshiro256::seeded(seed).shuffle(&mut measured);
    let (kept, left_out) = measured.split_at(measured.len() / 2);
    let model = Model::fit(kept.iter().copied().chain(known), processors);
    let of = |cell: &&Cell| {
        let shared = key(&cell.labels)?;
        let path = model.paths.iter().find(|path| path.key == shared)?;
        prediction(&model, path, cell)
    };
    let predictions: Vec<CellPrediction> = left_out.iter().filter_map(of).collect();
    Validation { unpredictable: left_out.len() - predictions.len(), predictions }
}

fn prediction(model: &Model, path: &Path, cell: &Cell) -> Option<CellPrediction> {
    let measured = cell.summary.as_ref()?.rate;
    let requests = Requests::of(&cell.labels)?;
    let experiment = Some(cell.experiment.as_str());
    if path.leaves_open(&requests, experiment, &model.machine) {
        return None;
    }
    let found = path.predict(&requests, experiment, &model.machine, &Query::unchanged())?;
    let Prediction { rate, limit, extrapolated, path } = found;
    let apart = measured.low > rate.high || measured.high < rate.low;
    let wrong = apart && (rate.value / measured.value - 1.0).abs() > CLOSE;
    let ratio = measured.value / rate.value;
    Some(CellPrediction { cell: cell.id.clone(), path, rate, limit, extrapolated, ratio, wrong })
}
