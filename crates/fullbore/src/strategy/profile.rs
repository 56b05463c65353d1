//! What `fullbore bench` found out about a file system, kept for the commands that run later.

use crate::quote::{Shown, clipped};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::file::{DOCUMENT_LIMIT, File, read_text};

/// Whether the input was in the page cache.
///
/// ```
/// use fullbore::strategy::{Job, CacheState};
/// assert_eq!(Job::Read(CacheState::Cold).to_string(), "read, cold");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheState {
    /// It was.
    Warm,
    /// It was not.
    Cold,
}

/// A kind of job that strategies were measured for.
///
/// ```
/// use fullbore::strategy::{Job, CacheState};
/// assert_eq!("transform to a new file, warm".parse(), Ok(Job::TransformNew(CacheState::Warm)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Job {
    /// Reading a file.
    Read(CacheState),
    /// Transforming a file to a new one.
    TransformNew(CacheState),
    /// Transforming a file over an existing one.
    TransformExisting(CacheState),
}

impl Job {
    /// Every kind of job.
    ///
    /// ```
    /// use fullbore::strategy::Job;
    /// assert!(Job::ALL.iter().all(|job| job.to_string().parse() == Ok(*job)));
    /// ```
    pub const ALL: [Self; 6] = [
        Self::Read(CacheState::Warm),
        Self::Read(CacheState::Cold),
        Self::TransformExisting(CacheState::Warm),
        Self::TransformExisting(CacheState::Cold),
        Self::TransformNew(CacheState::Warm),
        Self::TransformNew(CacheState::Cold),
    ];
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (job, cache_state) = match self {
            Self::Read(cache_state) => ("read", cache_state),
            Self::TransformNew(cache_state) => ("transform to a new file", cache_state),
            Self::TransformExisting(cache_state) => ("transform over an existing file", cache_state),
        };
        let cache_state = match cache_state {
            CacheState::Warm => "warm",
            CacheState::Cold => "cold",
        };
        write!(f, "{job}, {cache_state}")
    }
}

impl From<Job> for String {
    fn from(job: Job) -> Self {
        job.to_string()
    }
}

impl FromStr for Job {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|job| job.to_string() == text)
            .ok_or_else(|| format!("no job {text:?} is known"))
    }
}

impl TryFrom<String> for Job {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// A strategy that was measured.
///
/// ```
/// use fullbore::strategy::{Measured, Strategy, StrategySpec};
/// let measured = Measured { strategy: "method=mmap".into(), rate: 9e9, low: 8e9, high: 1e10 };
/// let strategy = measured.strategy.parse::<StrategySpec>()?.apply(Strategy::plain());
/// assert_eq!(strategy.read.name, "mmap");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The strategy, as `--strategy` takes it.
    pub strategy: String,
    /// Median rate, bytes a second.
    pub rate: f64,
    /// Lower end of its 95% interval, bytes a second.
    pub low: f64,
    /// Upper end of its 95% interval, bytes a second.
    pub high: f64,
}

/// What was measured for one job.
///
/// ```
/// use fullbore::strategy::{Entry, Job, CacheState};
/// let entry = Entry { job: Job::Read(CacheState::Warm), measured: "2026-01-02".into(), ranked: vec![] };
/// assert!(entry.ranked.first().is_none(), "nothing was measured yet");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The job.
    pub job: Job,
    /// When, as a date.
    pub measured: String,
    /// The strategies, the best first.
    pub ranked: Vec<Measured>,
}

/// Everything that was measured, by file system.
///
/// ```
/// use fullbore::strategy::Profile;
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("profile.json");
/// assert_eq!(Profile::load(&path)?, Profile::default());
/// std::fs::write(&path, "{}")?;
/// assert!(Profile::load(&path).is_err(), "it says no version");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The version of this format.
    pub version: u32,
    /// The file systems, by [`key`].
    pub file_systems: BTreeMap<String, FileSystem>,
}

/// What was measured on one file system.
///
/// ```
/// use fullbore::strategy::{FileSystem, Profile};
/// let mut profile = Profile::default();
/// profile.file_systems.insert("key".into(), FileSystem { directory: "/data".into(), entries: vec![] });
/// assert!(profile.file_systems["key"].directory.is_absolute());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// The directory that was measured, for people.
    pub directory: PathBuf,
    /// The jobs.
    pub entries: Vec<Entry>,
}

/// The version written.
const VERSION: u32 = 1;

/// Why a profile cannot be used or kept.
///
/// ```
/// use fullbore::strategy::Profile;
/// # let directory = tempfile::tempdir()?;
/// let path = directory.path().join("profile.json");
/// std::fs::write(&path, "no JSON")?;
/// let error = Profile::load(&path).unwrap_err().to_string();
/// assert!(error.contains("not a profile") && error.ends_with("`fullbore profile forget` removes it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ProfileError {
    path: PathBuf,
    what: String,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Shown(&self.path), self.what)
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Where the profile is kept: `$XDG_CONFIG_HOME/fullbore/profile.json`, or under `~/.config`.
    ///
    /// ```
    /// let path = fullbore::strategy::Profile::path();
    /// assert!(path.is_none_or(|path| path.ends_with("fullbore/profile.json")));
    /// ```
    pub fn path() -> Option<PathBuf> {
        let absolute =
            |name| std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
        let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
        Some(config.join("fullbore").join("profile.json"))
    }

    /// Reads a profile; one that is not there is empty.
    ///
    /// ```
    /// use fullbore::strategy::Profile;
    /// let none = Profile::load("/nowhere/profile.json".as_ref())?;
    /// assert!(none.file_systems.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it cannot be read or understood, with what to do about it.
    pub fn load(path: &Path) -> Result<Self, ProfileError> {
        let fail = |what: String| ProfileError { path: path.to_owned(), what };
        let text = match std::fs::File::open(path).and_then(|file| read_text(file, DOCUMENT_LIMIT)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(fail(format!("cannot read the profile: {error}"))),
        };
        let profile: Self = serde_json::from_str(&text).map_err(|error| {
            fail(format!(
                "not a profile ({}); `fullbore profile forget` removes it",
                clipped(&error.to_string())
            ))
        })?;
        if profile.version > VERSION {
            return Err(fail(format!(
                "written by a newer version (format {}); this one reads up to {VERSION}",
                profile.version
            )));
        }
        Ok(profile)
    }

    /// Writes the profile whole or not at all, making its directory.
    ///
    /// ```
    /// use fullbore::strategy::Profile;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("new/profile.json");
    /// Profile::default().save(&path)?;
    /// assert_eq!(Profile::load(&path)?.version, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn save(&self, path: &Path) -> Result<(), ProfileError> {
        use std::io::Write;
        let fail = |what: String| ProfileError { path: path.to_owned(), what };
        let mut text = serde_json::to_string_pretty(&Self { version: VERSION, ..self.clone() })
            .map_err(|error| fail(format!("cannot write the profile: {error}")))?;
        text.push('\n');
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)
                .map_err(|error| fail(format!("cannot make its directory: {error}")))?;
        }
        let output = crate::file::Output::create(path, crate::file::Placement::Replace, None)
            .map_err(|error| fail(error.to_string()))?;
        let mut file = std::fs::File::from(
            output
                .file()
                .reopen_fd(true)
                .map_err(|error| fail(format!("cannot write the profile: {error}")))?,
        );
        file.write_all(text.as_bytes())
            .map_err(|error| fail(format!("cannot write the profile: {error}")))?;
        output.commit(crate::file::Durability::Full).map(drop).map_err(|error| fail(error.to_string()))
    }

    /// What was measured for `job` on the file system of that key.
    ///
    /// ```
    /// use fullbore::strategy::{Entry, FileSystem, Job, Profile, CacheState};
    /// let job = Job::Read(CacheState::Warm);
    /// let entry = Entry { job, measured: "2026-01-02".into(), ranked: vec![] };
    /// # let system = FileSystem { directory: "/data".into(), entries: vec![entry.clone()] };
    /// # let profile = Profile { version: 1, file_systems: [("key".into(), system)].into() };
    /// assert_eq!(profile.entry("key", job), Some(&entry));
    /// assert_eq!(profile.entry("key", Job::Read(CacheState::Cold)), None);
    /// ```
    pub fn entry(&self, key: &str, job: Job) -> Option<&Entry> {
        self.file_systems.get(key)?.entries.iter().find(|entry| entry.job == job)
    }
}

/// What tells a file system from every other: its type, its own identity and its device's, so that neither a
/// copy of it nor another disk in the same place uses its measurements.
///
/// ```
/// use fullbore::file::File;
/// use fullbore::strategy::key;
/// assert_eq!(key(&File::open("Cargo.toml")?)?, key(&File::open("src/lib.rs")?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the system does not say.
pub fn key(file: &File) -> io::Result<String> {
    crate::probe::device_facts(file).map(|device_facts| device_facts.key)
}
