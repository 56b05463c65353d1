//! The job file of a cell of a results document, or of the strategy chosen for a kind of job.

use std::path::Path;

use super::job;
use super::job::Target;
use super::setting::Unsupported;
use crate::document::{Cell, Document};

/// Source of an exported job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSource<'a> {
    /// The cell with this id.
    Cell(&'a str),
    /// The strategy chosen for a kind of job: `read, cold`, or `read` for any measured cache state.
    Choice(&'a str),
}

/// Writes the job file of `wanted` from `document`, for a file in `directory`.
///
/// # Errors
/// If there is no such cell or choice (the message lists those that exist); if fio has no counterpart.
pub fn export(document: &Document, wanted: JobSource<'_>, directory: &Path) -> Result<String, Unsupported> {
    match wanted {
        JobSource::Cell(id) => one(document, cell(document, id)?, id, directory),
        JobSource::Choice(kind) => {
            let choices = &document.findings.choices;
            let fits =
                |job: &str| job == kind || job.strip_prefix(kind).is_some_and(|rest| rest.starts_with(", "));
            let fitting: Vec<_> = choices.iter().filter(|choice| fits(&choice.job)).collect();
            if fitting.is_empty() {
                let known: Vec<&str> = choices.iter().map(|choice| choice.job.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join("; ") };
                return Err(Unsupported(format!(
                    "no strategy was chosen for {kind:?}; kinds with one: {known}"
                )));
            }
            let mut text = String::new();
            for choice in fitting {
                let first = text.is_empty();
                text += if first { "" } else { "\n" };
                text += &one(document, cell(document, &choice.cell)?, &choice.job, directory)?;
                // Sequential, as they were measured.
                text += if first { "" } else { "stonewall\n" };
            }
            Ok(text)
        }
    }
}

fn cell<'d>(document: &'d Document, id: &str) -> Result<&'d Cell, Unsupported> {
    document.cell(id).ok_or_else(|| {
        let near: Vec<&str> = document
            .cells
            .iter()
            .map(|cell| cell.id.as_str())
            .filter(|known| known.contains(id))
            .take(5)
            .collect();
        let hint = match near.is_empty() {
            true => "the results document lists all cells".to_owned(),
            false => format!("similar: {}", near.join(" and ")),
        };
        Unsupported(format!("no cell {id:?}; {hint}"))
    })
}

fn one(document: &Document, cell: &Cell, name: &str, directory: &Path) -> Result<String, Unsupported> {
    let file = directory.join("fullbore-fio-test");
    let size = cell.labels.file_bytes.unwrap_or(document.run.file_bytes);
    job(&cell.labels, &Target { name, file: &file, size, seconds: 10 })
        .map_err(|Unsupported(why)| Unsupported(format!("{}: fio has no counterpart: {why}", cell.id)))
}
