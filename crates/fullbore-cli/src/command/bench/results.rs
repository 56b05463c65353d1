//! The results folder: created at the start, updated after the first measurement, complete at the end.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fullbore::error::{Error, ErrorKind};
use fullbore::file::{Durability, FileKind, HeldDir, Output, Placement, Temporary};
use fullbore::quote::Shown;
use fullbore::stream::FileStream;
use fullbore::sys::{self, AtFlags};
use fullbore_bench::document::{DOCUMENT, Document, Run, document_file, rfc3339};
use fullbore_bench::{csv, report};
use fullbore_cli::progress::note_end;

use crate::exit::Exit;

/// The file of the samples as CSV.
const TABLE: &str = "results.csv";

/// The file of the report, an HTML page.
const REPORT: &str = "report.html";

pub(super) struct ResultsFolder {
    path: PathBuf,
    /// The folder, held open: another user may give its name to a directory of links.
    held: HeldDir,
    /// Removes the folder if a run fails or is interrupted before its first measurement.
    empty: Option<Temporary>,
    /// True while the report and the table are those of the run before it was resumed.
    stale: bool,
}

impl ResultsFolder {
    /// Creates the folder at the start of the run, so that an unusable path fails before anything is measured.
    pub(super) fn make(output: Option<PathBuf>) -> Result<Self, Exit> {
        let path = output.unwrap_or_else(|| PathBuf::from(format!("fullbore-results-{}", stamp())));
        if fs::symlink_metadata(&path).is_ok() {
            let exists =
                Error::new(ErrorKind::AlreadyExists, "make the results folder", &path, "it exists already");
            return Err(exists.advise("name another with --output").into());
        }
        let (folder, ()) = Temporary::make(path.clone(), |path| {
            fs::create_dir(path).map_err(|error| Error::io("make the results folder", path, error))
        })
        .map_err(|error| error.advise("name another with --output"))?;
        let open = HeldDir::of(&path).and_then(|(directory, name)| directory.child(name, false));
        let held = open.map_err(|error| Error::io("open the results folder", &path, error))?;
        Ok(Self { path, held, empty: Some(folder), stale: false })
    }

    /// Opens the folder of an interrupted run, and loads its measurements.
    pub(super) fn resume(path: PathBuf) -> Result<(Self, Document), Exit> {
        let place = document_file(&path);
        let advice = "name the results folder of an interrupted run";
        let file =
            fs::File::open(&place).map_err(|error| Error::io("resume", &place, error).advise(advice))?;
        let document = Document::read(file)
            .map_err(|error| Exit::failure(format!("{}: cannot resume: {error}", Shown(&place))))?;
        let held = HeldDir::open(&path).map_err(|error| Error::io("open", &path, error))?;
        Ok((Self { path, held, empty: None, stale: true }, document))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Saves the measurements so far.
    pub(super) fn keep(&mut self, document: &Document) -> Result<(), Exit> {
        // Before the first document appears: a signal may follow at once.
        let folder = Shown(&self.path);
        let resume = match measures_device(&document.run) {
            true => String::new(),
            false => format!(": fullbore bench run --resume {folder} continues"),
        };
        note_end(self.path.join(DOCUMENT), format!("the measurements so far are in {folder}{resume}"));
        self.replace(DOCUMENT, |file| document.write(file).map_err(|error| error.to_string()))?;
        if let Some(folder) = self.empty.take() {
            folder.keep();
        }
        if std::mem::take(&mut self.stale) {
            let directory = self.held.fd().map_err(|error| Error::io("open", &self.path, error))?;
            for name in [TABLE, REPORT] {
                let _ = sys::remove(&directory, OsStr::new(name), AtFlags::empty());
            }
        }
        Ok(())
    }

    /// Writes all files of the folder.
    pub(super) fn finish(&mut self, document: &Document) -> Result<(), Exit> {
        self.replace(TABLE, |file| csv::write(document, file).map_err(|error| error.to_string()))?;
        let html = report::html(document);
        self.replace(REPORT, |file| file.write_all(html.as_bytes()).map_err(|error| error.to_string()))?;
        self.stale = false;
        self.keep(document)
    }

    /// Writes a file under a temporary name and renames it over the old one.
    fn replace(
        &self,
        name: &str,
        fill: impl FnOnce(&mut FileStream) -> Result<(), String>,
    ) -> Result<(), Exit> {
        // An earlier file keeps its mode and owner; a link in the place of it is replaced.
        let name = OsStr::new(name);
        let directory = self.held.fd().map_err(|error| Error::io("open", &self.path, error))?;
        let earlier = sys::stat_at(&directory, name, AtFlags::NOFOLLOW);
        let output = match earlier.is_ok_and(|earlier| earlier.kind() == FileKind::Regular) {
            true => Output::create_at(&self.held, name, Placement::Replace, None)?,
            false => Output::create_entry_at(&self.held, name)?,
        };
        let mut stream = FileStream::new(output.file().clone());
        let filled = fill(&mut stream);
        // After an error too: it alone reports the loss of the pending bytes. The stream's error names the path.
        let written = stream.into_file().map_err(|error| error.to_string());
        filled.and(written).map_err(Exit::failure)?;
        output.commit(Durability::None)?;
        Ok(())
    }
}

/// Returns the paths that a run measured.
pub(super) fn directories(run: &Run) -> Vec<PathBuf> {
    match run.directories.as_slice() {
        [] => vec![PathBuf::from(&run.directory)],
        several => several.iter().map(PathBuf::from).collect(),
    }
}

/// True for a run of a whole block device, which cannot be resumed.
pub(super) fn measures_device(run: &Run) -> bool {
    directories(run).iter().any(|path| path.exists() && !path.is_dir())
}

/// Returns date and time in a form usable in a file name.
fn stamp() -> String {
    rfc3339(SystemTime::now()).replace(':', "").replace('T', "-").trim_end_matches('Z').to_owned()
}
