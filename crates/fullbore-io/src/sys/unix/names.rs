//! Names in directories.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use rustix::fs::Dir;

use super::code::calls;
#[cfg(target_os = "macos")]
use super::open::path_in;
use super::open::{Handle, PathArg, permissions, try_clone};
#[cfg(not(target_os = "linux"))]
use crate::sys::code::Code;
use crate::sys::code::Result;
use crate::sys::types::FileKind;

#[cfg(target_os = "linux")]
const EMPTY_PATH: u32 = rustix::fs::AtFlags::EMPTY_PATH.bits();

/// It is private to this module.
#[cfg(not(target_os = "linux"))]
const EMPTY_PATH: u32 = 1 << 31;

bitflags::bitflags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// The name itself, even if it is a symbolic link.
        const NOFOLLOW = rustix::fs::AtFlags::SYMLINK_NOFOLLOW.bits();
        /// The target of a symbolic link.
        const FOLLOW = rustix::fs::AtFlags::SYMLINK_FOLLOW.bits();
        const REMOVE_DIRECTORY = rustix::fs::AtFlags::REMOVEDIR.bits();
        /// The descriptor itself, with an empty name.
        const EMPTY_PATH = EMPTY_PATH;
    }
}

impl AtFlags {
    pub(in crate::sys) fn to_system(self) -> rustix::fs::AtFlags {
        rustix::fs::AtFlags::from_bits_retain(self.bits())
    }
}

pub fn remove(directory: impl AsFd, name: impl PathArg, flags: AtFlags) -> Result<()> {
    Ok(rustix::fs::unlinkat(directory, name, flags.to_system())?)
}

/// Removes the name of an open file.
pub(crate) fn remove_open(_: &Handle, directory: impl AsFd, name: impl PathArg) -> Result<()> {
    remove(directory, name, AtFlags::empty())
}

/// Cancels the deletion on close, which only Windows has.
pub(crate) fn cancel_delete(_: &Handle) {}

pub fn hard_link(
    from: impl AsFd,
    old: impl PathArg,
    to: impl AsFd,
    new: impl PathArg,
    flags: AtFlags,
) -> Result<()> {
    #[cfg(not(target_os = "linux"))]
    if flags.contains(AtFlags::EMPTY_PATH) {
        return Err(Code::UNSUPPORTED);
    }
    Ok(rustix::fs::linkat(from, old, to, new, flags.to_system())?)
}

calls! {
    fn rename(from: impl AsFd, old: impl PathArg, to: impl AsFd, new: impl PathArg) -> () = rustix::fs::renameat;

    fn symbolic_link(target: impl PathArg, directory: impl AsFd, name: impl PathArg) -> () = rustix::fs::symlinkat;
}

/// Creates a symbolic link to `target`, the target of the link `old`.
pub fn copy_link(
    _: impl AsFd,
    _: impl PathArg,
    target: impl PathArg,
    directory: impl AsFd,
    name: impl PathArg,
) -> Result<()> {
    symbolic_link(target, directory, name)
}

pub fn read_link(directory: impl AsFd, name: impl PathArg) -> Result<CString> {
    Ok(rustix::fs::readlinkat(directory, name, Vec::new())?)
}

pub fn make_directory(directory: impl AsFd, name: impl PathArg, mode: u32) -> Result<()> {
    Ok(rustix::fs::mkdirat(directory, name, permissions(mode))?)
}

#[derive(Debug)]
pub struct Directory(Dir);

#[derive(Debug)]
pub struct Entry(rustix::fs::DirEntry);

impl Directory {
    pub fn new(file: Handle) -> Result<Self> {
        Ok(Self(Dir::new(file)?))
    }

    /// Reads an open directory through a descriptor of its own. If the directory may be read but not entered, the position
    /// is that of `file`.
    pub fn read_from(file: impl AsFd) -> Result<Self> {
        match Dir::read_from(&file) {
            Err(rustix::io::Errno::ACCESS) => Self::new(try_clone(file.as_fd())?),
            read => Ok(Self(read?)),
        }
    }

    pub fn handle(&self) -> Result<Handle> {
        try_clone(self.0.fd()?)
    }
}

impl Iterator for Directory {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(Entry).map_err(Into::into))
    }
}

impl Entry {
    pub fn file_name(&self) -> &CStr {
        self.0.file_name()
    }

    /// Returns the kind; [`FileKind::Other`] if the file system does not report it.
    pub fn kind(&self) -> FileKind {
        self.0.file_type().into()
    }
}

/// Creates a pipe, a socket or a device of the number `device`.
#[cfg(not(target_os = "macos"))]
pub fn make_special(
    directory: impl AsFd,
    name: impl PathArg,
    kind: FileKind,
    mode: u32,
    device: u64,
) -> Result<()> {
    let kind = rustix::fs::FileType::from_raw_mode(kind.mode() as _);
    Ok(rustix::fs::mknodat(directory, name, kind, permissions(mode), device as _)?)
}

/// Creates a pipe, or a device of the number `device`; the call takes a path.
#[cfg(target_os = "macos")]
pub fn make_special(
    directory: impl AsFd,
    name: impl PathArg,
    kind: FileKind,
    mode: u32,
    device: u64,
) -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let name = name.into_c_str()?;
    let path = path_in(directory, std::ffi::OsStr::from_bytes(name.to_bytes()));
    let path = path.as_path().into_c_str()?;
    if !matches!(kind, FileKind::Fifo | FileKind::CharacterDevice | FileKind::BlockDevice) {
        return Err(Code::UNSUPPORTED);
    }
    // SAFETY: the path is a C string that lives through the call.
    match unsafe { libc::mknod(path.as_ptr(), (kind.mode() | mode) as libc::mode_t, device as libc::dev_t) } {
        0 => Ok(()),
        _ => Err(Code::last()),
    }
}

/// False: a colon is a character like any other.
pub fn is_stream_name(_: &std::ffi::OsStr) -> bool {
    false
}

/// Returns the last name of a path, if it ends in one.
pub fn last_name(path: &std::path::Path) -> Option<std::ffi::OsString> {
    path.file_name().map(std::ffi::OsStr::to_owned)
}
