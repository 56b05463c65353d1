//! The section on the model: cells that the other cells predict wrongly.

use super::phrases::spanned;
use crate::block::{Block, Section, Table, figures, words};
use crate::document::{CellPrediction, Document};
use crate::units;

/// Most rows of the table.
const MOST_ROWS: usize = 15;

/// The section, if cells were predicted.
pub(super) fn section(document: &Document) -> Option<Section> {
    let found = &document.findings.predictions;
    let surrounded = found.iter().filter(|one| !one.extrapolated).count();
    let mut wrong: Vec<&CellPrediction> = found.iter().filter(|one| one.wrong).collect();
    wrong.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    let missed = wrong.iter().filter(|one| !one.extrapolated).count();
    if found.is_empty() {
        return None;
    }
    let summary = format!(
        "Each of {} is predicted from the other cells of its path by one model of the machine. {} of {surrounded} \
         surrounded by other cells are wrong, and {} of {} that extrapolate: the measured and the predicted interval \
         do not overlap, and the rates differ by more than 15%. A cell that is faster or slower than its neighbours \
         explain is worth a look.",
        units::count(found.len(), "cell"),
        missed,
        wrong.len() - missed,
        found.len() - surrounded,
    );
    let mut blocks = vec![Block::Paragraph(summary)];
    if !wrong.is_empty() {
        let names = document.cell_names();
        let row = |one: &&CellPrediction| {
            let measured = document.cell(&one.cell).and_then(|cell| cell.summary.as_ref());
            vec![
                names.get(&one.cell).unwrap_or(&one.cell).clone(),
                measured.map_or_else(String::new, |summary| spanned(summary.rate, units::rate)),
                spanned(one.rate, units::rate),
                units::significant(one.ratio),
                one.limit.words().into(),
                if one.extrapolated { "extrapolated" } else { "" }.into(),
            ]
        };
        let columns = [
            words("cell"),
            figures("measured"),
            figures("predicted"),
            figures("measured ÷ predicted"),
            words("limit by the model"),
            words(""),
        ];
        let table = Table::new(columns, wrong.iter().take(MOST_ROWS).map(row).collect());
        blocks.push(Block::Table { label: "Wrong predictions".into(), table });
    }
    Some(Section::new("model", "Where the model is wrong", blocks))
}
