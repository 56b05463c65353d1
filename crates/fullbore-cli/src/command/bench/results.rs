//! The results folder: made at the start, holding what is measured as soon as anything is, whole at the end.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fullbore::Error;
use fullbore::file::{Durability, Output, Temporary};
use fullbore::stream::FileStream;
use fullbore_bench::document::{Document, rfc3339};
use fullbore_bench::{csv, report};

use crate::exit::Exit;

/// The name of the document in its folder.
const DOCUMENT: &str = "results.json";

/// A folder for the results of a run.
pub(super) struct ResultsFolder {
    path: PathBuf,
    /// Goes with a run that fails or is stopped before anything was measured.
    empty: Option<Temporary>,
}

impl ResultsFolder {
    /// Makes one, so that nobody learns after half an hour that the results have no place to go.
    pub(super) fn make(output: Option<PathBuf>) -> Result<Self, Exit> {
        let path = output.unwrap_or_else(|| PathBuf::from(format!("fullbore-results-{}", stamp())));
        let (folder, ()) = Temporary::make(path.clone(), |path| {
            fs::create_dir(path).map_err(|error| {
                Error::io("make the results folder", path, error).advise("name another with --output")
            })
        })?;
        Ok(Self { path, empty: Some(folder) })
    }

    /// Takes the folder of a run that did not end, and what it measured.
    pub(super) fn resume(path: PathBuf) -> Result<(Self, Document), Exit> {
        let place = path.join(DOCUMENT);
        let advice = "name the results folder of a run that was stopped";
        let file =
            fs::File::open(&place).map_err(|error| Error::io("go on with", &place, error).advise(advice))?;
        let document = Document::read(file)
            .map_err(|error| Exit::failure(format!("{}: cannot go on with: {error}", place.display())))?;
        Ok((Self { path, empty: None }, document))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps what is measured so far.
    pub(super) fn keep(&mut self, document: &Document) -> Result<(), Exit> {
        self.replace(DOCUMENT, |file| document.write(file).map_err(|error| error.to_string()))?;
        if let Some(folder) = self.empty.take() {
            folder.keep();
        }
        Ok(())
    }

    /// Writes everything.
    pub(super) fn finish(&mut self, document: &Document) -> Result<(), Exit> {
        self.replace("results.csv", |file| csv::write(document, file).map_err(|error| error.to_string()))?;
        let html = report::html(document);
        self.replace("report.html", |file| {
            file.write_all(html.as_bytes()).map_err(|error| error.to_string())
        })?;
        self.keep(document)
    }

    /// Writes a file beside the old one and puts it in its place.
    fn replace(
        &self,
        name: &str,
        fill: impl FnOnce(&mut FileStream) -> Result<(), String>,
    ) -> Result<(), Exit> {
        let path = self.path.join(name);
        let output = Output::replace(&path)?;
        let mut stream = FileStream::new(output.file().clone());
        fill(&mut stream)
            .and_then(|()| stream.flush().map_err(|error| error.to_string()))
            .map_err(|error| Exit::failure(format!("{}: cannot write: {error}", path.display())))?;
        drop(stream);
        output.commit(Durability::None)?;
        Ok(())
    }
}

/// Date and time as they can stand in a file name.
fn stamp() -> String {
    rfc3339(SystemTime::now()).replace(':', "").replace('T', "-").trim_end_matches('Z').to_owned()
}
