//! Names for complete files: a file gets its name in one step, in a held directory, and a sync of the directory makes it durable.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cleanup::Temporary;
use super::held::{HeldDir, directory_of};
use super::inner::File;
use super::types::{Call, CommitReport, Durability, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::quote::Shown;
use crate::sys::{
    self, AsHandle, AtFlags, Code, FileKind, FileSystemKind, Handle, OpenFlags, OsStrExt, Status,
    is_separator,
};

#[derive(Debug, Clone)]
pub(crate) struct TargetName {
    pub(crate) directory: HeldDir,
    pub(crate) name: OsString,
}

/// The limit of symbolic links in a path, the same as the system's.
const LINKS: usize = 40;

impl TargetName {
    /// The mode that a file created under this name with `mode` gets.
    pub(super) fn usual_mode(&self, mode: u32, umask: u32) -> Result<u32> {
        let failed = |error| Error::io("set its mode", self.path(), error);
        let directory = self.directory.fd().map_err(failed)?;
        Ok(usual_mode(&directory, mode, umask))
    }

    pub(super) fn of(path: &Path) -> Result<Self> {
        if names_directory(path) {
            let code = sys::stat(path).err().unwrap_or(Code::IS_DIRECTORY);
            return Err(Error::io("write", path, code.into()));
        }
        match HeldDir::of(path) {
            Ok((directory, name)) => Ok(Self { directory, name }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let missing = format!("there is no directory {}", Shown(directory_of(path)));
                Err(Error::new(ErrorKind::NotFound, "create", path, missing))
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => match sys::stat(path) {
                // A device of Windows, `\\.\C:`, has no name in a directory.
                Ok(stat) if stat.kind() != FileKind::Directory => {
                    let directory = HeldDir::open("").map_err(|error| Error::io("inspect", path, error))?;
                    Ok(Self { directory, name: path.into() })
                }
                Ok(_) => Err(directory(path)),
                Err(_) => Err(Error::new(ErrorKind::Invalid, "write", path, "the path has no file name")),
            },
            Err(error) => Err(Error::io("inspect", path, error)),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Fails for the name of a stream of a file, which cannot be created beside others.
    pub(super) fn reject_stream(&self) -> Result<()> {
        if !sys::is_stream_name(&self.name) {
            return Ok(());
        }
        let what = "a name with a colon refers to a stream of another file";
        Err(Error::new(ErrorKind::Invalid, "write", self.path(), what)
            .advise("name a file, and copy streams with their files"))
    }

    pub(super) fn stat(&self, flags: AtFlags) -> Result<Option<Status>> {
        let found = self.directory.fd().and_then(|directory| Ok(sys::stat_at(directory, &self.name, flags)?));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("inspect", self.path(), error)),
        }
    }

    /// True if the kernel generates the file of this name.
    pub(super) fn is_generated(&self) -> bool {
        self.directory.fd().is_ok_and(|directory| {
            let path = sys::path_in(&directory, &self.name);
            sys::file_system_kind_of(path.as_path()).is_ok_and(FileSystemKind::is_generated)
        })
    }

    /// The place with symbolic links resolved, and the file that is there.
    pub(super) fn resolved(self) -> Result<(Self, Option<Status>)> {
        let mut place = self;
        for _ in 0..LINKS {
            let stat = place.stat(AtFlags::NOFOLLOW)?;
            if !stat.is_some_and(|stat| stat.kind() == FileKind::Symlink) {
                return Ok((place, stat));
            }
            let failed = |error| Error::io("resolve", place.path(), error);
            let directory = place.directory.fd().map_err(failed)?;
            let link = sys::read_link(&directory, &place.name).map_err(|error| failed(error.into()))?;
            let link = Path::new(OsStr::from_bytes(link.to_bytes()));
            let name = link.file_name().filter(|_| !names_directory(link));
            let name = name.ok_or_else(|| failed(Code::IS_DIRECTORY.into()))?.to_owned();
            let directory = match link.parent() {
                Some(parent) if parent.is_absolute() => HeldDir::open(parent),
                Some(parent) if !parent.as_os_str().is_empty() => place.directory.at(parent),
                _ => Ok(place.directory.clone()),
            };
            place = Self { directory: directory.map_err(failed)?, name };
        }
        Err(Error::io("resolve", place.path(), Code::LINK_LOOP.into()))
    }
}

/// True if a path that has a last name still ends in a separator or `.`, so that it can only name a directory.
pub fn names_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    path.file_name().is_some() && bytes.last().is_some_and(|&last| is_separator(last))
}

#[derive(Debug, Clone, Copy)]
enum Linking {
    /// The call names the file by its descriptor, which needs a capability of root.
    Descriptor,
    /// The call names the file by its path in `/proc`.
    Proc,
}

/// True if nameless files can be given a name here; tested with any descriptor.
pub fn linkable(fd: &Handle) -> bool {
    linking(fd).is_some()
}

/// True once a file system has refused to name a nameless file.
static REFUSED: AtomicBool = AtomicBool::new(false);

fn linking(fd: &Handle) -> Option<Linking> {
    static FOUND: OnceLock<Option<Linking>> = OnceLock::new();
    if REFUSED.load(Ordering::Relaxed) {
        return None;
    }
    *FOUND.get_or_init(|| {
        // The check for an existing name comes last, so `EEXIST` means that the rest works.
        let works = |&linking: &Linking| {
            call(linking, fd, sys::CURRENT_DIRECTORY, OsStr::new(".")) == Err(Code::EXISTS)
        };
        [Linking::Descriptor, Linking::Proc].into_iter().find(works)
    })
}

fn call(linking: Linking, fd: impl AsHandle, directory: impl AsHandle, name: &OsStr) -> sys::Result<()> {
    match linking {
        Linking::Descriptor => sys::hard_link(fd, c"", directory, name, AtFlags::EMPTY_PATH),
        Linking::Proc => {
            let source = sys::handle_path(&fd);
            sys::hard_link(sys::CURRENT_DIRECTORY, source, directory, name, AtFlags::FOLLOW)
        }
    }
}

/// Gives a nameless file a name. Returns `false` if this system cannot do so for any name; later files then get a name
/// at creation.
pub fn name_unnamed(fd: impl AsHandle, directory: &Handle, name: &OsStr) -> sys::Result<bool> {
    let named = match linking(directory).unwrap_or(Linking::Proc) {
        Linking::Descriptor => match call(Linking::Descriptor, &fd, directory, name) {
            // The process gave up its privileges meanwhile.
            Err(Code::NOT_FOUND | Code::NOT_PERMITTED) => call(Linking::Proc, fd, directory, name),
            other => other,
        },
        Linking::Proc => call(Linking::Proc, fd, directory, name),
    };
    match named {
        Ok(()) => Ok(true),
        Err(Code::NOT_PERMITTED | Code::NOT_IMPLEMENTED | Code::UNSUPPORTED) => {
            REFUSED.store(true, Ordering::Relaxed);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// The file has the name.
    Done,
    /// Another file has the name.
    Taken,
    /// The file cannot be given a name.
    Refused,
}

pub(super) fn link(file: &File, place: &TargetName) -> Result<Link> {
    let failed = |error: std::io::Error| Error::io("create", place.path(), error);
    let directory = place.directory.fd().map_err(failed)?;
    match name_unnamed(file, &directory, &place.name) {
        Ok(true) => {
            file.judge(Call::Link { name: &place.path() }).map_err(failed)?;
            Ok(Link::Done)
        }
        Ok(false) => Ok(Link::Refused),
        Err(Code::EXISTS) => Ok(Link::Taken),
        Err(error) => Err(failed(error.into())),
    }
}

/// A copy, under a temporary name, of a file that cannot be given one, with all its attributes.
pub(super) fn named_copy(file: &File, place: &TargetName) -> Result<(Temporary, File)> {
    let failed = |error: Code| Error::io("create", place.path(), error.into());
    let (temporary, fd) = create_named(place, OpenFlags::READ_WRITE)?;
    let copy = File::from_fd(fd, place.path())?;
    let stat = sys::status(file).map_err(failed)?;
    let len = stat.size;
    copy.set_len(len)?;
    let mut at = 0;
    while let Some(start) = file.seek_data(at)?.filter(|start| *start < len) {
        at = file.seek_hole(start)?.map_or(len, |hole| hole.clamp(start + 1, len));
        file.copy_range(start..at, &copy, start)?;
    }
    let made = sys::status(&copy).map_err(failed)?;
    if (made.uid, made.gid) != (stat.uid, stat.gid) {
        let (user, group) = (stat.uid, stat.gid);
        sys::change_owner(&copy, Some(user), Some(group)).map_err(failed)?;
    }
    let mut names = vec![0; 64 << 10];
    let mut value = vec![0; 64 << 10];
    // The directory's default list may have given the copy an access list.
    let _ = sys::remove_attribute(&copy, sys::ACCESS_LIST);
    let listed = sys::attributes(file, &mut names[..]).unwrap_or(0);
    for name in sys::attribute_names(&names[..listed]) {
        let len = sys::attribute(file, name, &mut value[..]).map_err(failed)?;
        sys::set_attribute(&copy, name, &value[..len]).map_err(failed)?;
    }
    sys::change_mode(&copy, stat.permissions()).map_err(failed)?;
    sys::set_times(&copy, &stat).map_err(failed)?;
    Ok((temporary, copy))
}

/// The status of the regular file of this name, if there is one; fails if something else has the name.
pub(super) fn only_regular(place: &TargetName) -> Result<Option<Status>> {
    let there = place.stat(AtFlags::empty())?;
    match there.map(|stat| stat.kind()) {
        None | Some(FileKind::Regular) => Ok(there),
        Some(kind) => {
            Err(Error::new(ErrorKind::Unsupported, "replace", place.path(), format!("it is a {kind}"))
                .advise("name a regular file"))
        }
    }
}

/// The place of a path, and the status of the regular file there, as [`only_regular`].
pub(super) fn regular(path: &Path) -> Result<(TargetName, Option<Status>)> {
    match path.file_name() {
        Some(_) => {
            let place = TargetName::of(path)?;
            let there = only_regular(&place)?;
            Ok((place, there))
        }
        None => Err(Error::new(ErrorKind::Unsupported, "replace", path, "it is a directory")
            .advise("name a regular file")),
    }
}

/// The error of an output that is a directory.
pub(super) fn directory(path: &Path) -> Error {
    Error::new(ErrorKind::Unsupported, "write", path, "it is a directory").advise("name a file in it")
}

/// Renames a file from its temporary name to `place`, replacing any file there.
pub(super) fn rename(
    file: &File,
    temporary: Temporary,
    place: &TargetName,
    only_new: bool,
    report: &mut CommitReport,
) -> Result<()> {
    rename_to(file, temporary.name(), place, only_new, report)?;
    temporary.keep();
    Ok(())
}

/// Renames a file from the name `part` in the directory to `place`, replacing any file there unless `only_new`.
///
/// The writeback of its bytes starts first, so that a power failure finds them on the device soon after the name. ext4 and
/// btrfs do the same at such a rename, but ext4 not for blocks that were allocated before, and XFS never.
pub(super) fn rename_to(
    file: &File,
    part: &OsStr,
    place: &TargetName,
    only_new: bool,
    report: &mut CommitReport,
) -> Result<()> {
    let target = place.path();
    // Synced bytes are on the device, and a new name replaces no old bytes.
    if !report.data() && place.stat(AtFlags::NOFOLLOW).is_ok_and(|there| there.is_some()) {
        // A length of 0 means to the end of the file. Errors of the writeback are reported by a later sync, as without it.
        let _ = sys::start_writeback(file.as_handle(), 0..0);
    }
    file.judge(Call::Rename { from: &target.with_file_name(part), to: &target })
        .and_then(|()| {
            let directory = place.directory.fd()?;
            let renamed = if only_new {
                rename_new(&directory, part, &place.name)
            } else {
                sys::rename(&directory, part, &directory, &place.name)
            };
            Ok(renamed?)
        })
        .map_err(|error| Error::io(if only_new { "create" } else { "replace" }, target, error))?;
    report.note(Step::Renamed);
    Ok(())
}

/// Renames a file or a directory to a free name in the same directory.
pub fn rename_new(directory: &Handle, part: &OsStr, name: &OsStr) -> sys::Result<()> {
    match sys::rename_new(directory, part, directory, name) {
        // A second name could be given, but the first one could not be removed.
        Err(Code::NOT_PERMITTED) if sys::inode_flags(directory).is_ok_and(|flags| flags.append_only) => {
            return Err(Code::NOT_PERMITTED);
        }
        // The file system does not support the flag, or a filter does not permit the call.
        Err(Code::INVALID | Code::NOT_IMPLEMENTED | Code::UNSUPPORTED | Code::NOT_PERMITTED) => {}
        other => return other,
    }
    match sys::hard_link(directory, part, directory, name, AtFlags::empty()) {
        Ok(()) => sys::remove(directory, part, AtFlags::empty()),
        Err(Code::EXISTS) => Err(Code::EXISTS),
        // It has no hard links either, or the name is that of a directory.
        Err(_) => match sys::stat_at(directory, name, AtFlags::NOFOLLOW) {
            Ok(_) => Err(Code::EXISTS),
            Err(Code::NOT_FOUND) => sys::rename(directory, part, directory, name),
            Err(error) => Err(error),
        },
    }
}

/// Syncs the directory of a name that `file` got, at level `Full`.
pub(super) fn sync_directory(
    file: &File,
    place: &TargetName,
    durability: Durability,
    report: &mut CommitReport,
) -> Result<()> {
    if durability != Durability::Full {
        return Ok(());
    }
    let target = place.path();
    let directory = directory_of(&target);
    let sync = || match sys::SYNCS_DIRECTORIES {
        true => place.directory.sync(),
        false => Ok(sys::sync_all(&file.inner.fd)?),
    };
    file.judge(Call::SyncDirectory(directory)).and_then(|()| sync()).map_err(|error| {
        Error::io("sync", directory, error)
            .advise(format!("{} is new, but a power failure may restore the old one", target.display()))
    })?;
    report.note(Step::SyncedDirectory);
    Ok(())
}

/// Returns the process's umask (`umask(2)`), which may change at any time: on Linux, reads a file of `/proc`.
pub fn umask() -> u32 {
    let mask = crate::probe::process_status("Umask");
    mask.and_then(|mask| u32::from_str_radix(&mask, 8).ok()).unwrap_or_else(sys::umask)
}

/// Returns the mode that a file created in the directory with `mode` gets: from the default access control list or,
/// without one, from the umask.
pub fn usual_mode(directory: &Handle, mode: u32, umask: u32) -> u32 {
    let mut list = [0; 4096];
    let len = sys::attribute(directory, "system.posix_acl_default", &mut list[..]).unwrap_or(0);
    by_list(&list[..len], mode).unwrap_or(mode & !umask)
}

/// As [`usual_mode`], from the value of the list's attribute: a version, then entries of tag, rights and user.
fn by_list(list: &[u8], mode: u32) -> Option<u32> {
    const USER: u16 = 1;
    const GROUP: u16 = 4;
    const MASK: u16 = 0x10;
    const OTHER: u16 = 0x20;
    let entries = list.get(4..).filter(|entries| !entries.is_empty())?;
    let rights = |tag: u16| {
        let two = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
        entries.chunks_exact(8).find(|entry| two(entry) == tag).map(|entry| u32::from(two(&entry[2..]) & 7))
    };
    let allowed = rights(USER)? << 6 | rights(MASK).or(rights(GROUP))? << 3 | rights(OTHER)?;
    Some(mode & (allowed | 0o7000))
}

/// Creates a file under a temporary name in the directory that only this user can open.
pub(super) fn create_named(place: &TargetName, flags: OpenFlags) -> Result<(Temporary, Handle)> {
    let flags = flags | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
    Temporary::create(&place.directory, &place.name, false, |directory, name| {
        sys::open_at(directory, name, flags, 0o600)
    })
    .map_err(|error| Error::io("create", place.path(), error))
}

/// The error for a name that no longer refers to the file that was found there.
pub(super) fn exchanged(doing: &'static str, place: &TargetName) -> Error {
    Error::new(ErrorKind::Changed, doing, place.path(), "another process replaced it meanwhile")
}

/// Opens the file whose status is `there`.
pub(super) fn open(place: &TargetName, there: &Status, flags: OpenFlags) -> Result<File> {
    let path = place.path();
    let directory = place.directory.fd().map_err(|error| Error::io("open", &path, error))?;
    let file = File::open_at(&directory, &place.name, &path, flags)?;
    let same = match there.kind() {
        FileKind::Regular | FileKind::BlockDevice => {
            let opened = file.stamp()?.identity;
            // In overlay file systems, a file may get another number when it is opened for writing.
            let is_named =
                || place.stat(AtFlags::empty()).map(|now| now.is_some_and(|now| now.identity() == opened));
            opened == there.identity() || is_named()?
        }
        // A device may be opened through a node of another file system.
        kind => file.kind() == kind,
    };
    if same { Ok(file) } else { Err(exchanged("open", place)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_list_overrides_the_umask() {
        let entry = |tag: u16, rights: u16| {
            [tag.to_le_bytes().as_slice(), &rights.to_le_bytes(), &u32::MAX.to_le_bytes()].concat()
        };
        let list = |entries: &[Vec<u8>]| [2u32.to_le_bytes().to_vec(), entries.concat()].concat();
        let plain = list(&[entry(1, 7), entry(4, 5), entry(0x20, 0)]);
        assert_eq!(by_list(&plain, 0o666), Some(0o640));
        assert_eq!(by_list(&plain, 0o1777), Some(0o1750));
        let masked = list(&[entry(1, 7), entry(2, 7), entry(4, 7), entry(0x10, 6), entry(0x20, 4)]);
        assert_eq!(by_list(&masked, 0o777), Some(0o764));
        assert_eq!((by_list(&[], 0o666), by_list(&[2, 0, 0, 0], 0o666)), (None, None));
    }
}
