//! The profile: the measurements of `fullbore bench`, by file system, for the commands that run later.

use fullbore_io::quote::clipped;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::fields::Strategy;
use super::figure::{Format, open_document};
use super::job::ProfileJob;
use super::learned::Learned;
use super::spec::StrategySpec;
use fullbore_io::buf::BlockMemory;
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{DOCUMENT_LIMIT, Durability, File, Output, read_text};
use fullbore_io::probe::FileSystemId;
use fullbore_io::sys;

/// A measured strategy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredStrategy {
    /// The strategy, in the form that `--strategy` accepts.
    pub strategy: String,
    /// Median throughput, bytes per second.
    pub rate: f64,
    /// Lower end of its 95% interval, bytes per second.
    pub low: f64,
    /// Upper end of its 95% interval, bytes per second.
    pub high: f64,
}

/// The measurements for one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileEntry {
    /// The job.
    pub job: ProfileJob,
    /// The date of the measurements.
    pub measured: String,
    /// The strategies, best first.
    pub ranked: Vec<MeasuredStrategy>,
}

impl ProfileEntry {
    /// The measurements that hold for an operation that receives blocks in this memory: the meter uses blocks of a mapping in
    /// place, and other operations receive copies.
    pub(super) fn in_memory(mut self, memory: BlockMemory) -> Self {
        let maps = |spec: StrategySpec| {
            let strategy = spec.apply(Strategy::plain());
            strategy.read.capabilities.mapped || strategy.write.capabilities.mapped
        };
        let is_mapped = |one: &MeasuredStrategy| one.strategy.parse::<StrategySpec>().is_ok_and(maps);
        self.ranked.retain(|one| memory.may_be_mapping() || !is_mapped(one));
        self
    }
}

/// All measurements, by file system.
///
/// ```
/// use fullbore::strategy::Profile;
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("new/profile.json");
/// assert_eq!(Profile::load(&path)?, Profile::default());
/// Profile::default().save(&path)?;
/// assert_eq!(Profile::load(&path)?.version, 1);
/// std::fs::write(&path, "{}")?;
/// assert!(Profile::load(&path).is_err(), "the version is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The version of this format.
    #[doc(hidden)]
    pub version: u32,
    /// The file systems, by [`key`].
    #[doc(hidden)]
    pub file_systems: BTreeMap<String, FileSystem>,
    /// The figures that runs learned. They are stored in a separate document.
    #[doc(hidden)]
    #[serde(skip)]
    pub learned: Option<Learned>,
}

/// A profile that is loaded when the first decision needs it.
pub(crate) type LazyProfile = LazyLock<Profile, Box<dyn FnOnce() -> Profile + Send>>;

/// The measurements on one file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// The measured directory, for display.
    pub directory: PathBuf,
    /// The jobs.
    pub entries: Vec<ProfileEntry>,
}

/// The version that is written.
const VERSION: u32 = 1;

/// A profile without measurements.
impl Default for Profile {
    fn default() -> Self {
        Self { version: VERSION, file_systems: BTreeMap::new(), learned: None }
    }
}

impl Profile {
    /// Returns the path of the profile: `$XDG_CONFIG_HOME/fullbore/profile.json`, or under `%APPDATA%` on Windows and
    /// `~/.config` elsewhere.
    pub fn default_path() -> Option<PathBuf> {
        let absolute = |path: &PathBuf| path.is_absolute();
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(absolute);
        let config = config.or_else(|| sys::config_directory().filter(absolute))?;
        Some(config.join("fullbore").join("profile.json"))
    }

    /// Reads a profile; a missing one is empty.
    ///
    /// # Errors
    /// The system's; [`ErrorKind::Invalid`] if it is not a profile, or one of a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = match open_document(path).and_then(|file| read_text(file, DOCUMENT_LIMIT)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Error::io("read the profile", path, error)),
        };
        let refused = |what: String| Error::new(ErrorKind::Invalid, "use the profile", path, what);
        // A later format may differ in everything else.
        let version = serde_json::from_str::<Format>(&text).map_or(0, |format| format.version);
        if version > VERSION {
            let newer = "written by a newer version";
            let refusal = refused(format!("{newer} (format {version}); this one reads up to {VERSION}"));
            return Err(refusal.advise("use a newer fullbore"));
        }
        let mut profile: Self = serde_json::from_str(&text).map_err(|error| {
            let error = error.to_string();
            refused(format!("not a profile ({})", clipped(&error))).advise("delete it")
        })?;
        // A rate outside its interval, or none, is a damaged figure.
        let is_rate = |one: &MeasuredStrategy| 0.0 < one.low && one.low <= one.rate && one.rate <= one.high;
        for entry in profile.file_systems.values_mut().flat_map(|system| &mut system.entries) {
            entry.ranked.retain(is_rate);
        }
        Ok(profile)
    }

    /// Writes the profile, complete or not at all; creates its directory.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut text = serde_json::to_string_pretty(&Self { version: VERSION, ..self.clone() })
            .map_err(|error| Error::io("write the profile", path, error.into()))?;
        text.push('\n');
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
        }
        let output = Output::create(path)?;
        output.file().write_all_at(text.as_bytes(), 0)?;
        output.commit(Durability::Full).map(drop)
    }

    /// Returns the measurements for `job` on a file system or, if there are none, those for a job that moves the
    /// bytes in the same way.
    #[doc(hidden)]
    pub fn entry(&self, key: &str, job: ProfileJob) -> Option<&ProfileEntry> {
        let entries = &self.file_systems.get(key)?.entries;
        let of = |job: ProfileJob| entries.iter().find(|entry| entry.job == job);
        of(job).or_else(|| of(job.substitute()?))
    }
}

/// Returns the identity of a file system: its type, its own identifier and its device's, so that neither a copy of it
/// nor another disk in the same place uses its measurements.
///
/// # Errors
/// If the system does not report them.
pub fn key(file: &File) -> io::Result<String> {
    file.file_system().map(FileSystemId::identity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::InputState;

    #[test]
    fn profiles_of_earlier_builds_are_read() {
        let text = r#"{"version": 1, "file_systems": {"k": {"directory": "/", "entries": [
            {"job": "read, warm", "measured": "2026-01-02", "ranked": []},
            {"job": "transform over an existing file, cold", "measured": "2026-01-02", "ranked": []},
            {"job": "transform to a new file, warm", "measured": "2026-01-02", "ranked": []}]}}}"#;
        let profile: Profile = serde_json::from_str(text).unwrap();
        let job = |job: ProfileJob| profile.entry("k", job).map(|entry| entry.job);
        let warm = InputState::Warm;
        assert_eq!(job(ProfileJob::Read(warm)), Some(ProfileJob::Read(warm)));
        assert_eq!(job(ProfileJob::Copy(warm)), Some(ProfileJob::TransformNew(warm)));
        assert_eq!(
            (
                job(ProfileJob::Scan(warm)),
                job(ProfileJob::Hash(warm)),
                job(ProfileJob::Read(InputState::Cold))
            ),
            (None, None, None)
        );
    }

    #[test]
    fn a_missing_entry_is_replaced_by_one_of_the_same_kind() {
        let entry = |job| ProfileEntry { job, measured: "2026-01-02".into(), ranked: Vec::new() };
        let cold = InputState::Cold;
        let entries = vec![entry(ProfileJob::Scan(cold)), entry(ProfileJob::Hash(cold))];
        let system = FileSystem { directory: "/".into(), entries };
        let profile = Profile { file_systems: [("k".to_owned(), system)].into(), ..Profile::default() };
        let found = |job: ProfileJob| profile.entry("k", job).map(|entry| entry.job);
        assert_eq!(found(ProfileJob::Search(cold)), Some(ProfileJob::Scan(cold)));
        assert_eq!(found(ProfileJob::Hash(cold)), Some(ProfileJob::Hash(cold)));
        assert_eq!((found(ProfileJob::Read(cold)), found(ProfileJob::TransformNew(cold))), (None, None));
    }

    #[test]
    fn an_error_names_the_problem_and_the_command_that_removes_the_profile() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("no JSON");
        let error = Profile::load(&path).unwrap_err().to_string();
        assert!(error.contains("not a profile") && error.contains("delete"), "{error}");
    }

    #[test]
    fn damaged_figures_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.json");
        let ranked = [("0", "1", "2"), ("1", "2", "3"), ("2", "1", "3"), ("-3", "-2", "-1"), ("1", "2", "0")]
            .map(|(low, rate, high)| {
                format!(r#"{{"strategy": "method=mmap", "rate": {rate}, "low": {low}, "high": {high}}}"#)
            });
        let entry =
            format!(r#"{{"job": "read, warm", "measured": "2026-01-02", "ranked": [{}]}}"#, ranked.join(","));
        let text = format!(
            r#"{{"version": 1, "file_systems": {{"k": {{"directory": "/", "entries": [{entry}]}}}}}}"#
        );
        std::fs::write(&path, text).unwrap();
        let profile = Profile::load(&path).unwrap();
        let rates = |entry: &ProfileEntry| entry.ranked.iter().map(|one| one.rate).collect::<Vec<_>>();
        assert_eq!(profile.entry("k", ProfileJob::Read(InputState::Warm)).map(rates), Some(vec![2.0]));
    }

    #[test]
    fn a_profile_of_a_later_format_is_not_a_broken_one() {
        let (_directory, path) =
            fullbore_testkit::ground::temporary_file(r#"{"version": 2, "file_systems": []}"#);
        let error = Profile::load(&path).unwrap_err().to_string();
        assert!(error.contains("newer version (format 2)") && !error.contains("delete"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_no_profile() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile.json");
        fullbore_testkit::ground::fifo(&path);
        let error = Profile::load(&path).unwrap_err();
        assert!(error.path() == path && error.to_string().contains("not a regular file"), "{error}");
    }
}
