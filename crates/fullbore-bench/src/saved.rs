//! The profile's entries of a run: for each job the measured strategies, the best first.

use std::path::Path;

use fullbore::strategy::{Entry, FileSystem, Job, Measured};

use crate::analysis::candidates;
use crate::document::Document;

/// Returns the entries of a document. `strategies` has the full strategy of each cell by its id.
pub(crate) fn file_system(
    document: &Document,
    strategies: &[(String, String)],
    directory: &Path,
) -> FileSystem {
    let date = document.run.started.split('T').next().unwrap_or_default().to_owned();
    let candidates = candidates(&document.cells);
    let entries = Job::all()
        .filter_map(|(job, name)| {
            let (_, cells) = candidates.iter().find(|(known, _)| **known == name)?;
            let mut ranked: Vec<(&str, Measured)> = cells
                .iter()
                .filter_map(|cell| {
                    let rate = cell.summary.as_ref()?.rate;
                    let strategy = strategies.iter().find(|(id, _)| *id == cell.id)?.1.clone();
                    let measured = Measured { strategy, rate: rate.value, low: rate.low, high: rate.high };
                    Some((cell.id.as_str(), measured))
                })
                .collect();
            ranked.sort_by(|a, b| b.1.rate.total_cmp(&a.1.rate));
            // Among strategies of equal throughput, the choice is the simplest.
            let chosen = document.findings.choices.iter().find(|choice| choice.job == name)?;
            let context = ranked.iter().position(|(id, _)| *id == chosen.cell)?;
            let best = ranked.remove(context);
            ranked.insert(0, best);
            let ranked = ranked.into_iter().map(|(_, measured)| measured).collect();
            Some(Entry { job, measured: date.clone(), ranked })
        })
        .collect();
    FileSystem { directory: directory.to_owned(), entries }
}
