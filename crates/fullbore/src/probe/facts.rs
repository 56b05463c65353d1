//! All facts of a path, gathered.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::device::Device;
use super::device_number::DeviceNumber;
use super::direct::{Alignment, NoDirect, alignment_at};
use super::error::ProbeError;
use super::extents::{Layout, Provenance, layout, provenance};
use super::file_system::FileSystemFacts;
use super::kernel_files::KernelFiles;
use super::mounts::{self, Mount};
use super::residency::{Residency, residency};
use super::storage::Storage;
use crate::sys::statx::{self, Status};

/// Everything known of a path. What could not be found out is None or empty, with a line in `unknown`.
///
/// ```
/// let facts = fullbore::probe::facts("Cargo.toml".as_ref())?;
/// let json = serde_json::to_string(&facts)?;
/// assert_eq!(serde_json::from_str::<fullbore::probe::Facts>(&json)?, facts);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The path that the facts are of. Bytes that are not UTF-8 are shown replaced, here and below.
    pub path: String,
    /// The path that was asked for, where that one does not exist and the facts are of the folder it would be in.
    pub stands_for: Option<String>,
    /// What the path itself names, if it is a symbolic link.
    pub link_target: Option<String>,
    /// The path with all symbolic links followed.
    pub resolved: Option<String>,
    /// What is there, symbolic links followed.
    pub kind: PathKind,
    /// The file system that it stands in.
    pub file_system: Option<FileSystemFacts>,
    /// The devices that hold it; of a block device, the device itself.
    pub devices: Vec<Device>,
    /// Whether direct I/O works and what it wants; of a folder, for new files in it.
    pub direct: Direct,
    /// Of a regular file: size, layout, residency.
    pub file: Option<FileFacts>,
    /// Which engines work here; filled by whoever can try them, empty until then.
    pub engines: Vec<EngineFact>,
    /// What could not be found out, and why.
    pub unknown: Vec<Unknown>,
}

/// What a path leads to.
///
/// ```
/// use fullbore::probe::{PathKind, facts};
/// assert_eq!(facts("/".as_ref())?.kind, PathKind::Directory);
/// assert_eq!(facts("/dev/null".as_ref())?.kind, PathKind::CharacterDevice);
/// # Ok::<(), fullbore::probe::ProbeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A FIFO, or a pipe.
    Fifo,
    /// A socket.
    Socket,
    /// None of these.
    Other,
}

impl PathKind {
    fn of(status: &Status) -> Self {
        match FileType::from_raw_mode(status.mode) {
            FileType::RegularFile => Self::Regular,
            FileType::Directory => Self::Directory,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::CharacterDevice => Self::CharacterDevice,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            _ => Self::Other,
        }
    }
}

/// Whether direct I/O works.
///
/// ```
/// use fullbore::probe::{Direct, NoDirect};
/// let direct = Direct::from(Err(NoDirect::Refused("the file system is memory".into())));
/// assert_eq!((direct.works, direct.reason.as_deref()), (Some(false), Some("the file system is memory")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// None: it could not be found out.
    pub works: Option<bool>,
    /// What it wants, where it works.
    pub alignment: Option<Alignment>,
    /// Why it does not work, or why that is not known.
    pub reason: Option<String>,
}

impl From<Result<Alignment, NoDirect>> for Direct {
    fn from(found: Result<Alignment, NoDirect>) -> Self {
        match found {
            Ok(alignment) => Self { works: Some(true), alignment: Some(alignment), reason: None },
            Err(NoDirect::Refused(reason)) => {
                Self { works: Some(false), alignment: None, reason: Some(reason) }
            }
            Err(NoDirect::Unknown(reason)) => Self { works: None, alignment: None, reason: Some(reason) },
        }
    }
}

/// Facts that only regular files have.
///
/// ```
/// let file = fullbore::probe::facts("Cargo.toml".as_ref())?.file.unwrap();
/// assert_eq!(file.size, std::fs::metadata("Cargo.toml")?.len());
/// assert!(fullbore::probe::facts("/".as_ref())?.file.is_none(), "a directory has none");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// In bytes.
    pub size: u64,
    /// What it takes up, in bytes.
    pub allocated: u64,
    /// How much of it was really written.
    pub provenance: Option<Provenance>,
    /// Where it stands on the device.
    pub layout: Option<Layout>,
    /// How much of it the page cache holds.
    pub residency: Option<Residency>,
}

/// Whether one engine works on a path.
///
/// ```
/// use fullbore::engine::{CachePolicy, METHODS, probe};
/// use fullbore::probe::EngineFact;
/// let file = fullbore::file::File::open("Cargo.toml")?;
/// let fact = |method: &'static fullbore::engine::Method| {
///     let tried = probe(method, &file, None, false, CachePolicy::Keep);
///     EngineFact {
///         name: method.name.into(),
///         summary: method.summary.into(),
///         works: tried.is_ok(),
///         reason: tried.err().map(|unsupported| unsupported.reason),
///         note: None,
///     }
/// };
/// assert!(fact(METHODS[0]).works);
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFact {
    /// The access method's name.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// Whether it works here.
    pub works: bool,
    /// Why it does not.
    pub reason: Option<String>,
    /// What to know of it where it does.
    pub note: Option<String>,
}

/// Something that could not be found out.
///
/// ```
/// use fullbore::probe::{Unknown, facts, human};
/// let mut facts = facts("Cargo.toml".as_ref())?;
/// facts.unknown.push(Unknown { fact: "warranty".into(), reason: "nobody keeps the bill".into() });
/// assert!(human(&facts).contains("nobody keeps the bill"));
/// # Ok::<(), fullbore::probe::ProbeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// The field that is missing.
    pub fact: String,
    /// Why.
    pub reason: String,
}

/// All facts of a path, symbolic links followed.
///
/// Opens only regular files, for reading, and reads nothing of them unless the file system does not tell its
/// direct-I/O alignment: then see [`direct_alignment`](super::direct_alignment). In a folder of such a file
/// system a nameless file is made and written to find the alignment.
///
/// ```
/// use fullbore::probe::{PathKind, facts};
/// assert_eq!(facts("Cargo.toml".as_ref())?.kind, PathKind::Regular);
/// assert!(facts("/nowhere".as_ref()).is_err());
/// # Ok::<(), fullbore::probe::ProbeError>(())
/// ```
///
/// # Errors
/// [`ProbeError`] where the path does not exist or may not be looked at. Anything less is a line in
/// [`Facts::unknown`].
pub fn facts(path: &Path) -> Result<Facts, ProbeError> {
    survey(&KernelFiles::running(), path)
}

/// As [`facts`]; of a path that does not exist yet, those of the folder it would be made in.
///
/// # Errors
/// As [`facts`], also where that folder does not exist.
pub fn facts_of_target(path: &Path) -> Result<Facts, ProbeError> {
    match facts(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut found = facts(&folder_of(path))?;
            found.stands_for = Some(shown(path));
            Ok(found)
        }
        other => other,
    }
}

/// The folder in which opening a path that does not exist would make a file: a dangling link leads on.
fn folder_of(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many links as the kernel follows.
    for _ in 0..40 {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        match fs::read_link(&path) {
            Ok(target) => path = parent.join(target),
            Err(_) => return parent,
        }
    }
    path
}

fn survey(kernel: &KernelFiles, path: &Path) -> Result<Facts, ProbeError> {
    let status = statx::of_path(path).map_err(|error| ProbeError::new(path, "look at", error))?;
    let kind = PathKind::of(&status);
    let mut unknown = Vec::new();
    let resolved = keep(fs::canonicalize(path), "resolved", &mut unknown);
    let table = fs::read(kernel.proc.join("self/mountinfo"));
    let mounts = mounts::parse(&keep(table, "mount table", &mut unknown).unwrap_or_default());
    let own: DeviceNumber = status.device.into();
    let mount = mounts::holding(&mounts, status.mount, own, resolved.as_deref().unwrap_or(path));
    let file_system = match mount {
        Some(mount) => keep(FileSystemFacts::of(mount, path), "file_system", &mut unknown),
        None => {
            let reason = "its mount is not in this process' mount table (a pipe, a nameless file in memory, or \
                          another mount name space)";
            unknown.push(Unknown { fact: "file_system".to_owned(), reason: reason.to_owned() });
            None
        }
    };
    let storage = Storage { kernel, mounts: &mounts };
    let devices = keep(devices(&storage, kind, &status, mount), "devices", &mut unknown).unwrap_or_default();
    // Residency first: finding the alignment may drop pages.
    let file = if kind == PathKind::Regular { file_facts(path, &status, &mut unknown) } else { None };
    let direct: Direct = alignment_at(path, &status).into();
    Ok(Facts {
        path: shown(path),
        stands_for: None,
        link_target: fs::read_link(path).ok().map(|target| shown(&target)),
        resolved: resolved.map(|path| shown(&path)),
        kind,
        file_system,
        devices,
        direct,
        file,
        engines: Vec::new(),
        unknown,
    })
}

fn devices(
    storage: &Storage<'_>,
    kind: PathKind,
    status: &Status,
    mount: Option<&Mount>,
) -> Result<Vec<Device>, String> {
    match (kind, mount) {
        (PathKind::BlockDevice, _) => Ok(vec![storage.device(status.special.into(), 0)?]),
        (PathKind::CharacterDevice | PathKind::Fifo | PathKind::Socket, _) => {
            Err("its bytes are on no block device".to_owned())
        }
        (_, Some(mount)) => storage.under(mount, status.device.into(), 0),
        (_, None) => Err("its file system is not known".to_owned()),
    }
}

fn file_facts(path: &Path, status: &Status, unknown: &mut Vec<Unknown>) -> Option<FileFacts> {
    let mut facts = FileFacts {
        size: status.size,
        allocated: status.blocks.saturating_mul(512),
        provenance: None,
        layout: None,
        residency: None,
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(io::Error::from);
    let Some(file) = keep(opened, "layout, residency", unknown) else { return Some(facts) };
    facts.residency = keep(residency(&file, 0..u64::MAX), "residency", unknown);
    match keep(layout(&file), "layout", unknown) {
        Some((provenance, layout)) => {
            facts.provenance = Some(provenance);
            facts.layout = Some(layout);
        }
        None => facts.provenance = keep(provenance(&file), "provenance", unknown),
    }
    Some(facts)
}

/// The value, or else its reason noted.
fn keep<T, E: ToString>(found: Result<T, E>, fact: &str, unknown: &mut Vec<Unknown>) -> Option<T> {
    found.map_err(|error| unknown.push(Unknown { fact: fact.to_owned(), reason: error.to_string() })).ok()
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    #[test]
    fn each_kind_of_path_has_its_kind() {
        let folder = folder();
        let at = folder.path();
        fs::write(at.join("file"), "x").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at.join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
        let kind = |path: PathBuf| facts(&path).unwrap().kind;
        assert_eq!(kind(at.join("file")), PathKind::Regular);
        assert_eq!(kind(at.into()), PathKind::Directory);
        // Must not wait for a writer.
        assert_eq!(kind(at.join("fifo")), PathKind::Fifo);
        assert_eq!(kind(at.join("socket")), PathKind::Socket);
        assert_eq!(kind("/dev/null".into()), PathKind::CharacterDevice);
    }

    #[test]
    fn a_link_is_followed_and_told() {
        let folder = folder();
        let at = folder.path();
        fs::write(at.join("file"), "x").unwrap();
        symlink("file", at.join("link")).unwrap();
        let facts = facts(&at.join("link")).unwrap();
        assert_eq!(facts.link_target.as_deref(), Some("file"));
        assert!(facts.resolved.unwrap().ends_with("/file"));
        assert_eq!(facts.file.unwrap().size, 1);
    }

    #[test]
    fn what_does_not_exist_is_an_error_and_as_a_target_its_folder() {
        let folder = folder();
        let at = folder.path();
        let missing = at.join("missing");
        let error = facts(&missing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing"), "{error}");
        let found = facts_of_target(&missing).unwrap();
        assert_eq!((found.path, found.kind), (shown(at), PathKind::Directory));
        assert_eq!(found.stands_for, Some(shown(&missing)));
        assert!(facts_of_target(&missing.join("deeper")).is_err());
        fs::create_dir(at.join("deep")).unwrap();
        symlink("deep/later", at.join("dangling")).unwrap();
        assert_eq!(facts_of_target(&at.join("dangling")).unwrap().path, shown(&at.join("deep")));
        assert_eq!(folder_of(Path::new("name")), Path::new("."));
    }

    #[test]
    fn a_written_file_is_told_whole_and_survives_json() {
        let folder = folder();
        let path = folder.path().join("file");
        let file = fs::File::create(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[3; 100_000], 0).unwrap();
        file.sync_all().unwrap();
        let facts = facts(&path).unwrap();
        let told = facts.file.as_ref().unwrap();
        assert_eq!(told.size, 100_000);
        assert_eq!(told.provenance.unwrap().objection(), None);
        assert_eq!(told.residency.unwrap().share(), Some(1.0));
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    }

    #[test]
    fn a_pipe_is_in_no_mount_and_says_so() {
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let facts = facts(Path::new(&path)).unwrap();
        assert_eq!((facts.kind, facts.file_system), (PathKind::Fifo, None));
        assert!(facts.unknown.iter().any(|unknown| unknown.fact == "file_system"));
        assert_eq!(facts.direct.works, Some(false));
    }
}
