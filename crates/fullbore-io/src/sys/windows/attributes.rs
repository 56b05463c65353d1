//! Modes, owners and times. Of the permission bits the system has the owner's right to write; owners and groups are part of its
//! security descriptors (`xattr`).

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Storage::FileSystem as fs;

use super::super::Status;
use super::information::{query, set};
use super::open::create;
use super::process::effective_user;
use super::status::units_of;
use super::{AsHandle, AtFlags, CURRENT_DIRECTORY, Code, Handle, PathArg, Result};

/// A handle that may change attributes, of an open file that may not.
fn changing(file: &impl AsHandle) -> Result<Handle> {
    named(file, "", AtFlags::empty())
}

fn named(directory: &impl AsHandle, name: impl PathArg, flags: AtFlags) -> Result<Handle> {
    let options = if flags.contains(AtFlags::NOFOLLOW) { nt::FILE_OPEN_REPARSE_POINT } else { 0 };
    let access = fs::FILE_READ_ATTRIBUTES | fs::FILE_WRITE_ATTRIBUTES;
    create(directory, &name.to_path(), access, 0, nt::FILE_OPEN, options)
}

/// Sets the permission bits of an open file.
pub fn change_mode(file: impl AsHandle, mode: u32) -> Result<()> {
    let file = changing(&file)?;
    let found: fs::FILE_BASIC_INFO = query(&file, fs::FileBasicInfo)?;
    if found.FileAttributes & fs::FILE_ATTRIBUTE_DIRECTORY != 0 {
        return Ok(());
    }
    let rest = found.FileAttributes & !(fs::FILE_ATTRIBUTE_READONLY | fs::FILE_ATTRIBUTE_NORMAL);
    let attributes = if mode & 0o200 == 0 { rest | fs::FILE_ATTRIBUTE_READONLY } else { rest };
    // Zero means that the attributes stay.
    let attributes = if attributes == 0 { fs::FILE_ATTRIBUTE_NORMAL } else { attributes };
    set(&file, fs::FileBasicInfo, &fs::FILE_BASIC_INFO { FileAttributes: attributes, ..Default::default() })
}

/// Sets the permission bits of a path's target.
pub fn change_mode_of(path: impl PathArg, mode: u32) -> Result<()> {
    change_mode(named(&CURRENT_DIRECTORY, path, AtFlags::empty())?, mode)
}

/// Sets the permission bits of the target of a name in a directory.
pub fn change_mode_at(directory: impl AsHandle, name: impl PathArg, mode: u32) -> Result<()> {
    change_mode(named(&directory, name, AtFlags::empty())?, mode)
}

/// Succeeds if the owner and group are those that every file has here.
pub fn change_owner(_: impl AsHandle, user: Option<u32>, group: Option<u32>) -> Result<()> {
    let own = |id: Option<u32>| id.is_none_or(|id| id == effective_user());
    if own(user) && own(group) { Ok(()) } else { Err(Code::NOT_PERMITTED) }
}

/// As [`change_owner`], for a name in a directory.
pub fn change_owner_at(
    directory: impl AsHandle,
    _: impl PathArg,
    user: Option<u32>,
    group: Option<u32>,
) -> Result<()> {
    change_owner(directory, user, group)
}

fn set_both(file: &Handle, accessed: i64, modified: i64) -> Result<()> {
    let times = fs::FILE_BASIC_INFO {
        LastAccessTime: accessed,
        LastWriteTime: modified,
        // Zero means that a value stays.
        ..Default::default()
    };
    set(file, fs::FileBasicInfo, &times)
}

/// Sets the times of an open file to those of `of`.
pub fn set_times(file: impl AsHandle, of: &Status) -> Result<()> {
    set_both(&changing(&file)?, units_of((of.atime, of.atime_nsec)), units_of((of.mtime, of.mtime_nsec)))
}

/// Sets the modification time of an open file to that of `of`.
pub fn set_modified(file: impl AsHandle, of: &Status) -> Result<()> {
    set_both(&changing(&file)?, 0, units_of((of.mtime, of.mtime_nsec)))
}

/// Sets the times of a name in a directory, which is not followed, to those of `of`.
pub fn set_times_at(directory: impl AsHandle, name: impl PathArg, of: &Status) -> Result<()> {
    set_times(named(&directory, name, AtFlags::NOFOLLOW)?, of)
}
