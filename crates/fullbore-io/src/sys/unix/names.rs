//! Names in directories.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::Dir;

use super::super::{FileKind, Result};
use super::PathArg;
use super::open::permissions;

#[cfg(target_os = "linux")]
const EMPTY_PATH: u32 = rustix::fs::AtFlags::EMPTY_PATH.bits();

/// Only this module knows it.
#[cfg(not(target_os = "linux"))]
const EMPTY_PATH: u32 = 1 << 31;

bitflags::bitflags! {
    /// Flags of the calls that take a directory and a name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        /// The name itself, even if it is a symbolic link.
        const NOFOLLOW = rustix::fs::AtFlags::SYMLINK_NOFOLLOW.bits();
        /// The target of a symbolic link.
        const FOLLOW = rustix::fs::AtFlags::SYMLINK_FOLLOW.bits();
        /// A directory is removed.
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

/// Removes a name.
pub fn remove(directory: impl AsFd, name: impl PathArg, flags: AtFlags) -> Result<()> {
    Ok(rustix::fs::unlinkat(directory, name, flags.to_system())?)
}

/// Renames a file; a file of the new name is replaced.
pub fn rename(from: impl AsFd, old: impl PathArg, to: impl AsFd, new: impl PathArg) -> Result<()> {
    Ok(rustix::fs::renameat(from, old, to, new)?)
}

/// Gives a file a further name.
pub fn hard_link(
    from: impl AsFd,
    old: impl PathArg,
    to: impl AsFd,
    new: impl PathArg,
    flags: AtFlags,
) -> Result<()> {
    #[cfg(not(target_os = "linux"))]
    if flags.contains(AtFlags::EMPTY_PATH) {
        return Err(super::super::Code::UNSUPPORTED);
    }
    Ok(rustix::fs::linkat(from, old, to, new, flags.to_system())?)
}

/// Creates a symbolic link.
pub fn symbolic_link(target: impl PathArg, directory: impl AsFd, name: impl PathArg) -> Result<()> {
    Ok(rustix::fs::symlinkat(target, directory, name)?)
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

/// The target of a symbolic link.
pub fn read_link(directory: impl AsFd, name: impl PathArg) -> Result<CString> {
    Ok(rustix::fs::readlinkat(directory, name, Vec::new())?)
}

/// Creates a directory.
pub fn make_directory(directory: impl AsFd, name: impl PathArg, mode: u32) -> Result<()> {
    Ok(rustix::fs::mkdirat(directory, name, permissions(mode))?)
}

/// The names in an open directory.
#[derive(Debug)]
pub struct Directory(Dir);

/// A name in a directory.
#[derive(Debug)]
pub struct Entry(rustix::fs::DirEntry);

impl Directory {
    /// Reads the open directory `file`, from its start.
    pub fn new(file: OwnedFd) -> Result<Self> {
        Ok(Self(Dir::new(file)?))
    }

    /// Reads an open directory through a descriptor of its own.
    pub fn read_from(file: impl AsFd) -> Result<Self> {
        Ok(Self(Dir::read_from(file)?))
    }

    /// A further descriptor of the directory.
    pub fn handle(&self) -> Result<OwnedFd> {
        super::try_clone(self.0.fd()?)
    }
}

impl Iterator for Directory {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(Entry).map_err(Into::into))
    }
}

impl Entry {
    /// The name.
    pub fn file_name(&self) -> &CStr {
        self.0.file_name()
    }

    /// The kind; [`FileKind::Other`] if the file system does not say.
    pub fn kind(&self) -> FileKind {
        self.0.file_type().into()
    }
}
