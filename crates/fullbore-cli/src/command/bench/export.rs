//! `fullbore bench export`: writes a measured cell as another program's job.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use fullbore::quote::Shown;
use fullbore_bench::document::document_file;
use fullbore_bench::fio::{self, JobSource};

use crate::command::report::{name, read};
use crate::exit::Exit;

/// Write a cell, or the strategy chosen for a kind of job, as a job file of another program
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Write a fio job file to standard output
    #[arg(long, required = true)]
    fio: bool,

    /// Id of the cell in the results document
    #[arg(value_name = "CELL", required_unless_present = "job", conflicts_with = "job")]
    cell: Option<String>,

    /// Kind of job whose chosen strategy is exported: `read, cold`, or `read` for both cache states
    #[arg(long, value_name = "KIND")]
    job: Option<String>,

    /// Results document or folder of a run; - is standard input [default: the latest run below the current directory]
    #[arg(long, value_name = "FILE|FOLDER")]
    from: Option<PathBuf>,

    /// Directory of the file that the job reads or writes
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

impl Export {
    pub(crate) fn run(self) -> Result<(), Exit> {
        let from = match self.from {
            Some(from) => from,
            None => latest(Path::new("."), "--from")?,
        };
        let document = read(&from)?;
        let failure = |error: &dyn std::fmt::Display| Exit::failure(format!("{}: {error}", name(&from)));
        let wanted = match (&self.cell, &self.job) {
            (Some(id), _) => JobSource::Cell(id),
            (None, Some(kind)) => JobSource::Choice(kind),
            (None, None) => return Err(Exit::failure("name a cell, or a kind of job with --job")),
        };
        let directory = std::path::absolute(&self.dir).map_err(|error| failure(&error))?;
        let text = fio::export(&document, wanted, &directory).map_err(|error| failure(&error))?;
        Exit::print(&text)
    }
}

/// Returns the document of the most recently modified results folder. `flag` names a document instead.
pub(crate) fn latest(directory: &Path, flag: &str) -> Result<PathBuf, Exit> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| Exit::failure(format!("{}: {error}", Shown(directory))))?;
    let folders = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let path = document_file(&entry.path());
        let changed: SystemTime = path.metadata().ok()?.modified().ok()?;
        name.to_string_lossy().starts_with("fullbore-results-").then_some((changed, path))
    });
    let newest = folders.max_by_key(|(changed, _)| *changed);
    newest.map(|(_, path)| path).ok_or_else(|| {
        Exit::failure(format!(
            "no folder fullbore-results-… in this directory: name the results document with {flag}, or measure with \
             fullbore bench"
        ))
    })
}
