//! Whole transfers, for which calls are repeated until all bytes are moved, and whole clones.

use std::io;

use super::{AsHandle, Code, read_at, write_at};
#[cfg(not(target_os = "macos"))]
use super::{AtFlags, BorrowedHandle, Handle, OpenFlags, Result, clone, open_at, remove};

/// Reads all bytes of a buffer at an offset.
pub fn read_exact_at(file: impl AsHandle, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match read_at(&file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(Code::INTERRUPTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes all bytes at an offset.
pub fn write_all_at(file: impl AsHandle, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match write_at(&file, &bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(Code::INTERRUPTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Creates `name` in a directory as a clone of `source`: a file for this user alone that shares all blocks. Leaves nothing if it
/// fails.
#[cfg(not(target_os = "macos"))]
pub fn clone_to_name(
    source: BorrowedHandle<'_>,
    directory: BorrowedHandle<'_>,
    name: &std::ffi::OsStr,
) -> Result<Handle> {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
    let file = open_at(directory, name, flags, 0o600)?;
    match clone::clone_range(source, 0, 0, file.as_handle(), 0) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = remove(directory, name, AtFlags::empty());
            Err(error)
        }
    }
}
