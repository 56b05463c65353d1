//! Special files.

use std::os::fd::AsFd;

use super::super::{FileKind, Result};
use super::PathArg;
use super::open::permissions;

/// Creates a pipe, a socket or a device of the number `device`.
pub fn make_special(
    directory: impl AsFd,
    name: impl PathArg,
    kind: FileKind,
    mode: u32,
    device: u64,
) -> Result<()> {
    use rustix::fs::FileType;
    let kind = match kind {
        FileKind::Fifo => FileType::Fifo,
        FileKind::Socket => FileType::Socket,
        FileKind::CharacterDevice => FileType::CharacterDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
        FileKind::Regular => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Other => FileType::Unknown,
    };
    Ok(rustix::fs::mknodat(directory, name, kind, permissions(mode), device as _)?)
}
