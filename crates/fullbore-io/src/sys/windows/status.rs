//! The status of files.

use windows_sys::Win32::Storage::FileSystem as fs;

use super::super::{Status, Time};
use super::information::query;
use super::open::{create, is_link};
use super::process::effective_user;
use super::{AsHandle, AtFlags, CURRENT_DIRECTORY, Code, PathArg, Result, handle::raw};

/// 100 ns units between the beginnings of the calendars of Windows (1601) and Unix (1970).
const EPOCH: i64 = 116_444_736_000_000_000;

/// A time of the system as seconds and nanoseconds.
pub(super) fn time(units: i64) -> Time {
    let units = units - EPOCH;
    (units.div_euclid(10_000_000), units.rem_euclid(10_000_000) * 100)
}

/// Seconds and nanoseconds as a time of the system.
pub(super) fn units_of((seconds, nanoseconds): Time) -> i64 {
    seconds.saturating_mul(10_000_000).saturating_add(nanoseconds / 100).saturating_add(EPOCH)
}

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;

/// The status of an open file. The permission bits have the right to write alone, which the attribute READONLY takes away.
pub fn status(file: impl AsHandle) -> Result<Status> {
    let user = effective_user();
    let nothing = Status {
        dev: 0,
        ino: raw(&file) as u64,
        mode: 0o666,
        nlink: 1,
        uid: user,
        gid: user,
        rdev: 0,
        size: 0,
        blocks: 0,
        blksize: 4096,
        atime: 0,
        atime_nsec: 0,
        mtime: 0,
        mtime_nsec: 0,
        ctime: 0,
        ctime_nsec: 0,
    };
    // SAFETY: a call with a borrowed handle.
    match unsafe { fs::GetFileType(raw(&file) as _) } {
        fs::FILE_TYPE_PIPE => return Ok(Status { mode: nothing.mode | FIFO, ..nothing }),
        fs::FILE_TYPE_CHAR => return Ok(Status { mode: nothing.mode | CHARACTER, ..nothing }),
        fs::FILE_TYPE_DISK => {}
        _ => return Err(Code::BAD_HANDLE),
    }
    let basic: fs::FILE_BASIC_INFO = query(&file, fs::FileBasicInfo)?;
    let standard: fs::FILE_STANDARD_INFO = query(&file, fs::FileStandardInfo)?;
    let (dev, ino) = identity(&file)?;
    let kind = match () {
        () if is_link(&file) => SYMLINK,
        () if standard.Directory => DIRECTORY,
        () => REGULAR,
    };
    let readonly = basic.FileAttributes & fs::FILE_ATTRIBUTE_READONLY != 0 && kind == REGULAR;
    let permissions = match kind {
        DIRECTORY => 0o777,
        _ if readonly => 0o444,
        _ => 0o666,
    };
    let (atime, atime_nsec) = time(basic.LastAccessTime);
    let (mtime, mtime_nsec) = time(basic.LastWriteTime);
    let (ctime, ctime_nsec) =
        time(if basic.ChangeTime == 0 { basic.LastWriteTime } else { basic.ChangeTime });
    Ok(Status {
        dev,
        ino,
        mode: kind | permissions,
        nlink: standard.NumberOfLinks.into(),
        size: if kind == REGULAR { standard.EndOfFile as u64 } else { 0 },
        blocks: standard.AllocationSize as u64 / 512,
        atime,
        atime_nsec,
        mtime,
        mtime_nsec,
        ctime,
        ctime_nsec,
        ..nothing
    })
}

/// Volume and number of a file.
fn identity(file: &impl AsHandle) -> Result<(u64, u64)> {
    if let Ok(found) = query::<fs::FILE_ID_INFO>(file, fs::FileIdInfo) {
        let (low, high) = found.FileId.Identifier.split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        // The upper half is zero but on ReFS.
        return Ok((found.VolumeSerialNumber, number(low) ^ number(high).rotate_left(32)));
    }
    let mut found = fs::BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the call writes the structure, which lives through it.
    super::code::check(unsafe { fs::GetFileInformationByHandle(raw(file) as _, &raw mut found) })?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok((found.dwVolumeSerialNumber.into(), number))
}

/// The status of a path's target.
pub fn stat(path: impl PathArg) -> Result<Status> {
    stat_at(CURRENT_DIRECTORY, path, AtFlags::empty())
}

/// The status of a name in a directory.
pub fn stat_at(directory: impl AsHandle, name: impl PathArg, flags: AtFlags) -> Result<Status> {
    use windows_sys::Wdk::Storage::FileSystem as nt;
    let options = if flags.contains(AtFlags::NOFOLLOW) { nt::FILE_OPEN_REPARSE_POINT } else { 0 };
    status(create(&directory, &name.to_path(), fs::FILE_READ_ATTRIBUTES, 0, nt::FILE_OPEN, options)?)
}

/// Fails unless the user may write to a name in a directory.
pub fn writable_at(directory: impl AsHandle, name: impl PathArg) -> Result<()> {
    use windows_sys::Wdk::Storage::FileSystem as nt;
    create(&directory, &name.to_path(), fs::FILE_WRITE_DATA, 0, nt::FILE_OPEN, 0).map(drop)
}

/// The time of birth of an open file.
pub fn birth_time(file: impl AsHandle) -> Option<Time> {
    let basic: fs::FILE_BASIC_INFO = query(&file, fs::FileBasicInfo).ok()?;
    (basic.CreationTime > 0).then(|| time(basic.CreationTime))
}
