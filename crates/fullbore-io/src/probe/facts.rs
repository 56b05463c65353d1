//! Collection of all facts of a path.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::device::{self, Device, DeviceNumber};
use super::direct::{Alignment, NoDirect, alignment_at};
use super::extents::{Layout, Provenance, layout, provenance};
use super::identity::{FileSystemId, Learned};
use super::kernel_files::KernelFiles;
use super::mounts::{self, FileSystemFacts, Mount};
use super::residency::{Residency, residency};
use super::storage::{self, Storage};
use super::unknown::{Unknown, keep};
use crate::error::Error;
use crate::sys::{self, AsHandle, ExtendedStatus, FileKind, OpenFlags};

/// All facts of a path. A fact that could not be determined is `None` or empty, with an entry in `unknown`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Facts {
    /// The path that the facts describe. Bytes that are not UTF-8 are replaced, here and below.
    pub path: String,
    /// Target of the path itself, if it is a symbolic link.
    pub link_target: Option<String>,
    /// The path with all symbolic links resolved.
    pub resolved: Option<String>,
    /// Kind of the file, symbolic links followed.
    pub kind: FileKind,
    pub file_system: Option<FileSystemFacts>,
    /// The devices that hold the file; for a block device, the device itself.
    pub devices: Vec<Device>,
    /// Direct I/O and its requirements; for a directory, those of new files in it.
    pub direct: Direct,
    /// Size, layout and residency of a regular file.
    pub file: Option<FileFacts>,
    /// Engines and their usability here; filled by a caller that can try them, otherwise empty.
    pub engines: Vec<EngineFact>,
    pub unknown: Vec<Unknown>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Direct {
    /// True if direct I/O works; `None` if unknown.
    pub works: Option<bool>,
    /// Requirements of direct I/O, if it works.
    pub alignment: Option<Alignment>,
    /// Reason if it does not work or is unknown.
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

/// Facts of regular files only.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileFacts {
    /// Size in bytes.
    pub size: u64,
    /// Allocated bytes.
    pub allocated: u64,
    /// Share of the bytes that was really written.
    pub provenance: Option<Provenance>,
    pub layout: Option<Layout>,
    pub residency: Option<Residency>,
}

/// Usability of one engine on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EngineFact {
    pub name: String,
    /// Description of the engine in one line.
    pub summary: String,
    /// True if the engine works on the path.
    pub works: bool,
    pub reason: Option<String>,
    /// Note on its use if it works.
    pub note: Option<String>,
}

/// Collects all facts of a path; follows symbolic links.
///
/// Opens only regular files, for reading, and reads nothing of them unless the file system does not report the
/// direct-I/O alignment: see [`direct_alignment`](super::direct_alignment). In a directory of such a file system a
/// nameless file is created and written to determine the alignment.
///
/// # Errors
/// If the path does not exist or may not be accessed. Any lesser problem is an entry in [`Facts::unknown`].
pub fn facts(path: &Path) -> crate::Result<Facts> {
    survey(&KernelFiles::running(), path)
}

fn survey(kernel: &KernelFiles, path: &Path) -> crate::Result<Facts> {
    let status = sys::extended_stat(path).map_err(|error| Error::io("stat", path, error))?;
    let kind = FileKind::of_mode(status.mode);
    let mut unknown = Vec::new();
    let resolved = keep(fs::canonicalize(path), "resolved", &mut unknown);
    let (file_system, devices) = located(kernel, path, resolved.as_deref(), &status, &mut unknown);
    let devices = keep(devices, "devices", &mut unknown).unwrap_or_default();
    // Residency first: determining the alignment may drop pages.
    let file = if kind == FileKind::Regular { file_facts(path, &status, &mut unknown) } else { None };
    let direct: Direct = alignment_at(path, &status).into();
    Ok(Facts {
        path: shown(path),
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

/// True if a disk that holds an open file is rotational: requests far apart make it seek.
pub fn rotational(file: impl AsHandle) -> bool {
    static LEARNED: Learned<FileSystemId, bool> = Learned::new();
    let learn = || {
        let path = sys::handle_path(&file);
        let Ok(status) = sys::extended_stat(&path) else { return false };
        if device::is_known_to_be_random_access(&KernelFiles::running(), status.device.into()) {
            return false;
        }
        let (_, devices) = located(&KernelFiles::running(), &path, None, &status, &mut Vec::new());
        devices.is_ok_and(|devices| devices.iter().any(Device::is_rotational))
    };
    FileSystemId::of(&file).is_ok_and(|id| LEARNED.get(id, learn))
}

/// Returns the file system and the devices of a path.
fn located(
    kernel: &KernelFiles,
    path: &Path,
    resolved: Option<&Path>,
    status: &ExtendedStatus,
    unknown: &mut Vec<Unknown>,
) -> (Option<FileSystemFacts>, Result<Vec<Device>, String>) {
    let kind = FileKind::of_mode(status.mode);
    if let Ok(volume) = sys::volume(path) {
        let room = keep(sys::space_of(path), "file_system", unknown);
        let file_system = room.map(|room| FileSystemFacts::on(&volume, &room));
        return (file_system, storage::devices(path, &volume, unknown));
    }
    if sys::REPORTS_DISKS && kind == FileKind::BlockDevice {
        return (None, storage::disks(path, unknown).map_err(|error| error.to_string()));
    }
    let table = fs::read(kernel.proc.join("self/mountinfo"));
    let mounts = mounts::parse(&keep(table, "mount table", unknown).unwrap_or_default());
    let own: DeviceNumber = status.device.into();
    let mount = mounts::holding(&mounts, status.mount, own, resolved.unwrap_or(path));
    let file_system = match mount {
        Some(mount) => keep(FileSystemFacts::of(mount, path), "file_system", unknown),
        None => {
            let reason = "its mount is not in this process' mount table (a pipe, a nameless file in memory, or \
                          another mount namespace)";
            unknown.push(Unknown { fact: "file_system".to_owned(), reason: reason.to_owned() });
            None
        }
    };
    (file_system, under(&Storage { kernel, mounts: &mounts }, kind, status, mount))
}

fn under(
    storage: &Storage<'_>,
    kind: FileKind,
    status: &ExtendedStatus,
    mount: Option<&Mount>,
) -> Result<Vec<Device>, String> {
    match (kind, mount) {
        (FileKind::BlockDevice, _) => Ok(vec![storage.device(status.special.into(), 0)?]),
        (FileKind::CharacterDevice | FileKind::Fifo | FileKind::Socket, _) => {
            Err("its bytes are on no block device".to_owned())
        }
        (_, Some(mount)) => storage.under(mount, status.device.into(), 0),
        (_, None) => Err("its file system is unknown".to_owned()),
    }
}

fn file_facts(path: &Path, status: &ExtendedStatus, unknown: &mut Vec<Unknown>) -> Option<FileFacts> {
    let mut facts = FileFacts {
        size: status.size,
        allocated: status.blocks.saturating_mul(512),
        provenance: None,
        layout: None,
        residency: None,
    };
    let flags = OpenFlags::READ | OpenFlags::NONBLOCK | OpenFlags::NOCTTY;
    let opened = sys::open(path, flags, 0).map(File::from).map_err(io::Error::from);
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

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in(build_directory()).unwrap()
    }

    #[test]
    fn each_kind_of_path_has_its_kind() {
        let folder = folder();
        let at = folder.path();
        fs::write(at.join("file"), "x").unwrap();
        sys::make_special(sys::CURRENT_DIRECTORY, at.join("fifo"), FileKind::Fifo, 0o600, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at.join("socket")).unwrap();
        let kind = |path: PathBuf| facts(&path).unwrap().kind;
        assert_eq!(kind(at.join("file")), FileKind::Regular);
        assert_eq!(kind(at.into()), FileKind::Directory);
        // Opening must not wait for a writer.
        assert_eq!(kind(at.join("fifo")), FileKind::Fifo);
        assert_eq!(kind(at.join("socket")), FileKind::Socket);
        assert_eq!(kind("/dev/null".into()), FileKind::CharacterDevice);
    }

    #[test]
    fn a_link_is_followed_and_reported() {
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
    fn a_missing_path_is_an_error() {
        let folder = folder();
        let error = facts(&folder.path().join("missing")).unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::NotFound);
        assert!(error.to_string().ends_with("/missing: cannot stat: No such file or directory"), "{error}");
    }

    #[test]
    fn a_written_file_has_all_facts_and_survives_json() {
        let folder = folder();
        let path = folder.path().join("file");
        let file = fs::File::create(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[3; 100_000], 0).unwrap();
        file.sync_all().unwrap();
        let facts = facts(&path).unwrap();
        let reported = facts.file.as_ref().unwrap();
        assert_eq!(reported.size, 100_000);
        assert_eq!(reported.provenance.unwrap().measurement_problem(), None);
        assert_eq!(reported.residency.unwrap().share(), Some(1.0));
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    }

    #[test]
    fn a_pipe_has_no_mount_and_an_entry_in_unknown() {
        let (reader, _writer) = sys::pipe().unwrap();
        let path = sys::handle_path(&reader);
        let facts = facts(Path::new(&path)).unwrap();
        assert_eq!((facts.kind, facts.file_system), (FileKind::Fifo, None));
        assert!(facts.unknown.iter().any(|unknown| unknown.fact == "file_system"));
        assert_eq!(facts.direct.works, Some(false));
    }
}
