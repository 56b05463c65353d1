//! Whole transfers: calls repeated until all bytes are moved.

use std::io;

use super::{AsHandle, Code, read_at, write_at};

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
