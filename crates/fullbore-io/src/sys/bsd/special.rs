//! Special files on macOS, whose calls take a path.

use std::os::fd::AsFd;

use super::super::{Code, FileKind, PathArg, Result, path_in};

/// Creates a pipe, or a device of the number `device`.
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
    let kind = match kind {
        FileKind::Fifo => libc::S_IFIFO,
        FileKind::CharacterDevice => libc::S_IFCHR,
        FileKind::BlockDevice => libc::S_IFBLK,
        _ => return Err(Code::UNSUPPORTED),
    };
    // SAFETY: the path is a string of C that lives through the call.
    match unsafe { libc::mknod(path.as_ptr(), kind | mode as libc::mode_t, device as libc::dev_t) } {
        0 => Ok(()),
        _ => Err(Code::last()),
    }
}
