//! Status, modes and times. Of the permission bits, the system has only the owner's right to write; owners and groups are part of
//! its security descriptors (`xattr`).

use std::io;
use std::path::{Path, PathBuf, is_separator};

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl::FILE_DEVICE_NAMED_PIPE;
use windows_sys::Win32::System::Pipes::WaitNamedPipeW;

use super::code::check;
use super::device;
use super::handle::{AsHandle, AtFlags, BorrowedHandle, CURRENT_DIRECTORY, Handle, raw};
use super::information::{attribute_bits, device_type, file_type, identity, query, set};
use super::open::{existing, is_link, named};
use super::path::{PathArg, handle_path, units};
use super::process::effective_user;
use super::volume::sector_of_volume;
use crate::sys::code::{Code, Result};
use crate::sys::types::{DirectAlignment, ExtendedStatus, FileKind, Status, Time};

/// 100 ns units between the beginnings of the calendars of Windows (1601) and Unix (1970).
const EPOCH: i64 = 116_444_736_000_000_000;

pub(super) fn time(units: i64) -> Time {
    let units = units - EPOCH;
    (units.div_euclid(10_000_000), units.rem_euclid(10_000_000) * 100)
}

pub(super) fn units_of((seconds, nanoseconds): Time) -> i64 {
    seconds.saturating_mul(10_000_000).saturating_add(nanoseconds / 100).saturating_add(EPOCH)
}

/// The status of a file of this kind that has no attributes.
fn bare(kind: FileKind, ino: u64) -> Status {
    let (mode, user) = (0o666 | kind.mode(), effective_user());
    Status { ino, mode, nlink: 1, uid: user, gid: user, blksize: 4096, ..Status::default() }
}

/// The path of a named pipe: of `\\.\pipe\NAME`, of a pipe of another machine, or of a name in the directory of pipes.
fn pipe_path(directory: &impl AsHandle, name: &impl PathArg) -> Option<PathBuf> {
    let name = name.to_path();
    let path = Path::new(&*name);
    let of_pipe = |path: &Path| {
        let bytes = path.as_os_str().as_encoded_bytes();
        let mut parts = bytes.split(|&byte| is_separator(byte.into())).skip(3);
        let root = bytes.len() > 2 && bytes[..2].iter().all(|&byte| is_separator(byte.into()));
        root && parts.next().is_some_and(|part| part.eq_ignore_ascii_case(b"pipe"))
            && parts.next().is_some_and(|part| !part.is_empty())
    };
    if raw(directory) == raw(&CURRENT_DIRECTORY) || path.has_root() {
        return of_pipe(path).then(|| path.to_owned());
    }
    let in_pipes =
        !name.is_empty() && *name != *"." && device_type(directory) == Some(FILE_DEVICE_NAMED_PIPE);
    in_pipes.then(|| Path::new(r"\\.\pipe").join(path))
}

fn pipe_exists(path: &Path) -> Result<()> {
    // Not the long form of the path: the call looks for `\\?\UNC\` among the local pipes.
    let mut name = units(path.as_os_str());
    name.push(0);
    // SAFETY: the name ends with a zero and lives through the call.
    match check(unsafe { WaitNamedPipeW(name.as_ptr(), 1) }) {
        Err(Code::NOT_FOUND) => Err(Code::NOT_FOUND),
        // All instances are in use, for example.
        _ => Ok(()),
    }
}

/// Returns the status of an open file. The permission bits have the right to write alone, which the attribute READONLY
/// takes away.
pub fn status(file: impl AsHandle) -> Result<Status> {
    let number = raw(&file) as u64;
    match file_type(&file) {
        fs::FILE_TYPE_PIPE => return Ok(bare(FileKind::Fifo, number)),
        fs::FILE_TYPE_CHAR => return Ok(bare(FileKind::CharacterDevice, number)),
        fs::FILE_TYPE_DISK => {}
        _ => return Err(Code::BAD_HANDLE),
    }
    let basic: fs::FILE_BASIC_INFO = match query(&file, fs::FileBasicInfo) {
        Err(_) if device::is_device(&file) => {
            let device = device::number(&file);
            let rdev = device.unwrap_or(0);
            return Ok(Status { rdev, ..bare(FileKind::BlockDevice, device.unwrap_or(number)) });
        }
        found => found?,
    };
    let standard: fs::FILE_STANDARD_INFO = query(&file, fs::FileStandardInfo)?;
    let (dev, ino) = identity(&file)?;
    let kind = match () {
        () if is_link(&file) => FileKind::Symlink,
        () if standard.Directory => FileKind::Directory,
        () => FileKind::Regular,
    };
    let readonly = basic.FileAttributes & fs::FILE_ATTRIBUTE_READONLY != 0 && kind == FileKind::Regular;
    let permissions = match kind {
        FileKind::Directory => 0o777,
        _ if readonly => 0o444,
        _ => 0o666,
    };
    let (atime, atime_nsec) = time(basic.LastAccessTime);
    let (mtime, mtime_nsec) = time(basic.LastWriteTime);
    let (ctime, ctime_nsec) =
        time(if basic.ChangeTime == 0 { basic.LastWriteTime } else { basic.ChangeTime });
    Ok(Status {
        dev,
        mode: kind.mode() | permissions,
        nlink: standard.NumberOfLinks.into(),
        size: if kind == FileKind::Regular { standard.EndOfFile as u64 } else { 0 },
        blocks: standard.AllocationSize as u64 / 512,
        atime,
        atime_nsec,
        mtime,
        mtime_nsec,
        ctime,
        ctime_nsec,
        sparse: has_holes(basic.FileAttributes, standard.AllocationSize, standard.EndOfFile),
        ..bare(kind, ino)
    })
}

/// True for a file with the attribute of holes and fewer blocks than bytes. Compressed files and those of drivers have few blocks, too.
fn has_holes(attributes: u32, allocated: i64, len: i64) -> bool {
    let which = fs::FILE_ATTRIBUTE_SPARSE_FILE | fs::FILE_ATTRIBUTE_REPARSE_POINT;
    attributes & which == fs::FILE_ATTRIBUTE_SPARSE_FILE && allocated < len
}

pub fn stat(path: impl PathArg) -> Result<Status> {
    stat_at(CURRENT_DIRECTORY, path, AtFlags::empty())
}

/// Returns the status of a name. A named pipe is not opened: that would occupy the instance that waits for the next client.
pub fn stat_at(directory: impl AsHandle, name: impl PathArg, flags: AtFlags) -> Result<Status> {
    if let Some(path) = pipe_path(&directory, &name) {
        return pipe_exists(&path).map(|()| bare(FileKind::Fifo, 0));
    }
    status(named(&directory, &name, fs::FILE_READ_ATTRIBUTES, flags)?)
}

/// Fails if a file is protected against writing or removal, or is open without the permission to replace it.
pub fn writable_at(directory: impl AsHandle, name: impl PathArg) -> Result<()> {
    match existing(&directory, &name, fs::FILE_WRITE_DATA | fs::DELETE, 0) {
        // Open without the permission to write: that to delete it suffices for a rename.
        Err(Code::HELD) => {
            let file = existing(&directory, &name, fs::DELETE | fs::FILE_READ_ATTRIBUTES, 0)?;
            match attribute_bits(&file)? & fs::FILE_ATTRIBUTE_READONLY {
                0 => Ok(()),
                _ => Err(Code::ACCESS_DENIED),
            }
        }
        other => other.map(drop),
    }
}

pub fn birth_time(file: impl AsHandle) -> Option<Time> {
    let basic: fs::FILE_BASIC_INFO = query(&file, fs::FileBasicInfo).ok()?;
    (basic.CreationTime > 0).then(|| time(basic.CreationTime))
}

/// Returns the major and minor numbers of a device: of a volume, its serial number.
pub fn split_device(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}

pub(crate) fn extended_stat(path: &Path) -> io::Result<ExtendedStatus> {
    extended_status(existing(&CURRENT_DIRECTORY, &path, fs::FILE_READ_ATTRIBUTES, 0)?.as_handle())
}

/// Returns the status of an open file, with the alignment for transfers that bypass the cache.
pub(crate) fn extended_status(file: BorrowedHandle<'_>) -> io::Result<ExtendedStatus> {
    let found = status(file)?;
    let storage = || query::<fs::FILE_STORAGE_INFO>(&file, fs::FileStorageInfo).ok();
    let stored = match found.kind() {
        FileKind::Regular => storage().map(|storage| storage.LogicalBytesPerSector),
        _ => None,
    };
    let sector = match (stored, found.kind()) {
        (None, FileKind::Regular) => sector_of_volume(&handle_path(&file)),
        (None, FileKind::BlockDevice) => device::sector(&file),
        (stored, _) => stored,
    };
    let direct = sector.map(|bytes| DirectAlignment {
        memory: bytes,
        offset: bytes,
        read_offset: None,
        by_geometry: stored.is_none(),
    });
    Ok(ExtendedStatus { direct, ..found.into() })
}

/// Opens a file, or an open file again, to change its attributes.
fn changing(directory: &impl AsHandle, name: &impl PathArg, flags: AtFlags) -> Result<Handle> {
    named(directory, name, fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES, flags)
}

pub fn change_mode(file: impl AsHandle, mode: u32) -> Result<()> {
    set_mode(&changing(&file, &"", AtFlags::empty())?, mode)
}

fn set_mode(file: &Handle, mode: u32) -> Result<()> {
    if attribute_bits(file)? & fs::FILE_ATTRIBUTE_DIRECTORY != 0 {
        return Ok(());
    }
    let readonly = if mode & 0o200 == 0 { fs::FILE_ATTRIBUTE_READONLY } else { 0 };
    change_attributes(file, fs::FILE_ATTRIBUTE_READONLY, readonly)
}

/// Sets the attributes in `which` to their values in `wanted`; leaves the others unchanged.
pub(super) fn change_attributes(file: &Handle, which: u32, wanted: u32) -> Result<()> {
    let attributes = mixed(attribute_bits(file)?, which, wanted);
    set(file, fs::FileBasicInfo, &fs::FILE_BASIC_INFO { FileAttributes: attributes, ..Default::default() })
}

/// The attributes of [`change_attributes`]. Zero would mean that they stay, so none is NORMAL.
fn mixed(found: u32, which: u32, wanted: u32) -> u32 {
    match (found & !(which | fs::FILE_ATTRIBUTE_NORMAL)) | (which & wanted) {
        0 => fs::FILE_ATTRIBUTE_NORMAL,
        attributes => attributes,
    }
}

/// Sets the mode of an entry that this process has just created in a directory; `STALE` if another file has taken the name.
pub fn change_mode_of_created(
    directory: impl AsHandle,
    name: impl PathArg,
    kind: FileKind,
    mode: u32,
) -> Result<()> {
    let entry = changing(&directory, &name, AtFlags::NOFOLLOW)?;
    match status(&entry)?.is_new(kind) {
        true => set_mode(&entry, mode),
        false => Err(Code::STALE),
    }
}

pub fn change_mode_at(directory: impl AsHandle, name: impl PathArg, mode: u32) -> Result<()> {
    change_mode(changing(&directory, &name, AtFlags::empty())?, mode)
}

/// Succeeds if the owner and group are those that every file has here.
pub fn change_owner(_: impl AsHandle, user: Option<u32>, group: Option<u32>) -> Result<()> {
    let own = |id: Option<u32>| id.is_none_or(|id| id == effective_user());
    if own(user) && own(group) { Ok(()) } else { Err(Code::NOT_PERMITTED) }
}

pub fn change_owner_of_created(
    directory: impl AsHandle,
    _: impl PathArg,
    _: FileKind,
    user: Option<u32>,
    group: Option<u32>,
) -> Result<()> {
    change_owner(directory, user, group)
}

/// Sets the times through this open file, if it was opened with the right to do so: otherwise NTFS sets the modification time
/// again when the handle that wrote the bytes is closed.
fn set_both(file: &impl AsHandle, accessed: i64, modified: i64) -> Result<()> {
    let times = fs::FILE_BASIC_INFO {
        LastAccessTime: accessed,
        LastWriteTime: modified,
        // Zero means that a value stays.
        ..Default::default()
    };
    match set(file, fs::FileBasicInfo, &times) {
        Err(Code::ACCESS_DENIED) => set(&changing(file, &"", AtFlags::empty())?, fs::FileBasicInfo, &times),
        result => result,
    }
}

pub fn set_times(file: impl AsHandle, of: &Status) -> Result<()> {
    set_both(&file, units_of((of.atime, of.atime_nsec)), units_of((of.mtime, of.mtime_nsec)))
}

pub fn set_modified(file: impl AsHandle, of: &Status) -> Result<()> {
    set_both(&file, 0, units_of((of.mtime, of.mtime_nsec)))
}

pub fn set_times_at(directory: impl AsHandle, name: impl PathArg, of: &Status) -> Result<()> {
    set_times(changing(&directory, &name, AtFlags::NOFOLLOW)?, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_named_pipe_leaves_its_instance() {
        use super::super::handle::OpenFlags;
        use super::super::open::open;
        use super::super::pipe::named_pipe;
        use windows_sys::Win32::System::Pipes::PIPE_TYPE_BYTE;
        let name = format!(r"\\.\pipe\fullbore-{}-status", std::process::id());
        assert_eq!(stat(&name).map(|_| ()), Err(Code::NOT_FOUND));
        let server = named_pipe(&name, fs::PIPE_ACCESS_INBOUND, PIPE_TYPE_BYTE);
        for _ in 0..3 {
            assert_eq!(stat(&name).unwrap().kind(), FileKind::Fifo);
        }
        let client = open(&name, OpenFlags::WRITE, 0).unwrap();
        assert_eq!(stat(&name).unwrap().kind(), FileKind::Fifo, "in use");
        drop((client, server));
    }

    #[test]
    fn paths_of_pipes_are_recognised() {
        let is_pipe = |path: &str| pipe_path(&CURRENT_DIRECTORY, &path).is_some();
        for path in [r"\\.\pipe\name", "//./PIPE/name", r"\\?\pipe\a\b", r"\\server\pipe\name"] {
            assert!(is_pipe(path), "{path}");
        }
        for path in [r"\\.\pipe", r"\\.\pipe\", r"\\.\C:", r"C:\pipe\name", r"\pipe\name", "pipe/name", ""] {
            assert!(!is_pipe(path), "{path}");
        }
    }

    #[test]
    fn compressed_files_and_those_of_drivers_are_not_sparse() {
        let sparse = fs::FILE_ATTRIBUTE_SPARSE_FILE;
        assert!(has_holes(sparse, 4096, 8192));
        assert!(!has_holes(sparse, 8192, 8192));
        assert!(!has_holes(fs::FILE_ATTRIBUTE_COMPRESSED, 4096, 8192));
        assert!(!has_holes(sparse | fs::FILE_ATTRIBUTE_REPARSE_POINT, 0, 8192));
    }

    #[test]
    fn attributes_that_are_not_changed_stay() {
        let (readonly, normal) = (fs::FILE_ATTRIBUTE_READONLY, fs::FILE_ATTRIBUTE_NORMAL);
        let others = fs::FILE_ATTRIBUTE_HIDDEN | fs::FILE_ATTRIBUTE_SYSTEM | fs::FILE_ATTRIBUTE_ARCHIVE;
        assert_eq!(mixed(others | readonly, readonly, 0), others);
        assert_eq!(mixed(others, readonly, !0), others | readonly);
        assert_eq!(mixed(readonly, readonly, 0), normal);
        assert_eq!(mixed(normal, readonly, readonly), readonly);
    }
}
