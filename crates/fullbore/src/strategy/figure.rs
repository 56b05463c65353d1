//! Figures of contenders in earlier runs, and the document that keeps them beside the profile.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::plan_input::{Purpose, Target};
use fullbore_io::file::{Durability, Output, read_text};

/// The largest document, in bytes.
pub(super) const LARGEST: u64 = 64 << 10;
/// Figures older than this are ignored.
const OLD: Duration = Duration::from_secs(90 * 24 * 3600);
/// The least time between two writes of the document.
const PAUSE: Duration = Duration::from_secs(1);
/// The version that is written.
const VERSION: u32 = 2;

/// The circumstances of the runs to which a figure applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The identity of the file system, as in the profile.
    pub file_system: String,
    /// The purpose of the run.
    pub purpose: Purpose,
    /// The destination of the run.
    pub target: Target,
    /// True if the run can have only one worker.
    pub serial: bool,
    /// True for parts in the page cache; `None` if the system does not report them.
    pub cached: Option<bool>,
}

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = match self.target {
            Target::Nowhere => "",
            Target::Stream => " to a stream",
            Target::New => " to a new file",
            Target::Existing => " over an existing file",
        };
        let workers = if self.serial { ", one worker" } else { "" };
        let state = match self.cached {
            Some(true) => ", warm",
            Some(false) => ", cold",
            None => "",
        };
        write!(f, "{}{target}{workers}{state}, on {}", self.purpose, self.file_system)
    }
}

/// The figures of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedFigure {
    /// The circumstances.
    #[serde(flatten)]
    pub circumstances: Circumstances,
    /// The strategy, as `--strategy` takes it.
    pub strategy: String,
    /// Share of the best rate of the same trial, 0 to 1: an average in which later trials count more.
    pub share: f64,
    /// Throughput in bytes per second, averaged in the same way.
    pub rate: f64,
    /// CPU time per byte in seconds, averaged in the same way.
    pub cpu: f64,
    /// The number of trials.
    pub count: u32,
    /// The time of the last trial, in seconds since 1970.
    pub updated: u64,
}

/// The document beside the profile.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Document {
    version: u32,
    figures: Vec<LearnedFigure>,
}

/// The version of a document, regardless of the rest.
#[derive(Deserialize)]
pub(super) struct Format {
    pub(super) version: u32,
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The time since the last trial of a contender, in seconds.
pub(super) fn age(figure: &LearnedFigure) -> u64 {
    now().saturating_sub(figure.updated)
}

pub(super) fn is_old(figure: &LearnedFigure) -> bool {
    age(figure) > OLD.as_secs()
}

/// Opens a regular file: a pipe would wait for a writer.
pub(super) fn open_document(path: &Path) -> io::Result<std::fs::File> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::File::open(path),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// The figures of a document; none if it cannot be read or is not this user's.
pub(super) fn read(path: &Path) -> Vec<LearnedFigure> {
    let Some(file) = open_document(path).ok().filter(is_ours) else { return Vec::new() };
    let document =
        read_text(file, LARGEST).ok().and_then(|text| serde_json::from_str::<Document>(&text).ok());
    let document = document.filter(|document| document.version == VERSION).unwrap_or_default();
    let sound = |figure: &LearnedFigure| {
        [figure.share, figure.rate, figure.cpu].iter().all(|value| value.is_finite() && *value >= 0.0)
            && figure.share <= 1.0
    };
    // A clock that was wrong once does not make a figure last.
    let now = now();
    let dated = |figure: LearnedFigure| LearnedFigure { updated: figure.updated.min(now), ..figure };
    document.figures.into_iter().filter(sound).map(dated).collect()
}

fn is_ours(file: &std::fs::File) -> bool {
    fullbore_io::sys::status(file).is_ok_and(|status| {
        status.uid == fullbore_io::sys::effective_user()
            && status.kind() == fullbore_io::file::FileKind::Regular
    })
}

/// True for a document of a later version.
fn is_newer(file: std::fs::File) -> bool {
    let text = read_text(file, LARGEST).ok();
    let format = text.and_then(|text| serde_json::from_str::<Format>(&text).ok());
    format.is_some_and(|format| format.version > VERSION)
}

/// True unless the document was written just now or by a later version, or the place is another user's.
pub(super) fn may_write(path: &Path) -> bool {
    let Some((directory, root)) = path.parent().and_then(|directory| Some((directory, directory.parent()?)))
    else {
        return false;
    };
    // A place that the environment names must be there; `~/.config` is made.
    let is_config = root.file_name().is_some_and(|name| name == ".config");
    let makes = root.is_dir() || is_config && root.parent().is_some_and(Path::is_dir);
    if !makes || std::fs::create_dir_all(directory).is_err() {
        return false;
    }
    let user = fullbore_io::sys::effective_user();
    let ours = fullbore_io::sys::stat(directory).is_ok_and(|status| status.uid == user);
    match std::fs::symlink_metadata(path) {
        Err(error) => ours && error.kind() == std::io::ErrorKind::NotFound,
        Ok(metadata) => {
            let rested =
                metadata.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age >= PAUSE);
            ours && rested && open_document(path).is_ok_and(|file| is_ours(&file) && !is_newer(file))
        }
    }
}

pub(super) fn write(path: &Path, mut figures: Vec<LearnedFigure>) -> std::io::Result<()> {
    figures.retain(|figure| !is_old(figure));
    // The newest first, of those of one second too.
    figures.reverse();
    figures.sort_by_key(|figure| std::cmp::Reverse(figure.updated));
    let text = loop {
        let document = Document { version: VERSION, figures };
        let text = serde_json::to_string_pretty(&document).map_err(std::io::Error::other)? + "\n";
        if text.len() as u64 <= LARGEST {
            break text;
        }
        // The oldest go.
        figures = document.figures;
        figures.truncate(figures.len() * 3 / 4);
    };
    let output = Output::create(path)?;
    output.file().write_all_at(text.as_bytes(), 0)?;
    output.commit_len(text.len() as u64, Durability::None)?;
    Ok(())
}
