//! Transfers, one system call each.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

pub use rustix::fs::SeekFrom;

use super::super::Result;

/// False: a transfer at an offset leaves the position of its file.
pub const TRANSFERS_MOVE_POSITION: bool = false;

/// Reads at the file's own position.
pub fn read(file: impl AsFd, bytes: &mut [u8]) -> Result<usize> {
    Ok(rustix::io::read(file, bytes)?)
}

/// Writes at the file's own position.
pub fn write(file: impl AsFd, bytes: &[u8]) -> Result<usize> {
    Ok(rustix::io::write(file, bytes)?)
}

/// Writes from several buffers at the file's own position.
pub fn write_vectored(file: impl AsFd, parts: &[IoSlice<'_>]) -> Result<usize> {
    Ok(rustix::io::writev(file, parts)?)
}

/// Reads at an offset.
pub fn read_at(file: impl AsFd, bytes: &mut [u8], offset: u64) -> Result<usize> {
    Ok(rustix::io::pread(file, bytes, offset)?)
}

/// Writes at an offset.
pub fn write_at(file: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize> {
    Ok(rustix::io::pwrite(file, bytes, offset)?)
}

/// Reads into several buffers at an offset.
pub fn read_vectored_at(file: impl AsFd, parts: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize> {
    Ok(rustix::io::preadv(file, parts, offset)?)
}

/// Writes from several buffers at an offset.
pub fn write_vectored_at(file: impl AsFd, parts: &[IoSlice<'_>], offset: u64) -> Result<usize> {
    Ok(rustix::io::pwritev(file, parts, offset)?)
}

/// Reads at an offset into the spare capacity of a vector; returns the number of bytes added.
pub fn read_into_spare(file: impl AsFd, bytes: &mut Vec<u8>, offset: u64) -> Result<usize> {
    Ok(rustix::io::pread(file, rustix::buffer::spare_capacity(bytes), offset)?)
}

/// Moves the file's own position; returns the new one.
pub fn seek(file: impl AsFd, to: SeekFrom) -> Result<u64> {
    Ok(rustix::fs::seek(file, to)?)
}

/// The file's own position.
pub fn position(file: impl AsFd) -> Result<u64> {
    Ok(rustix::fs::tell(file)?)
}

/// A part of memory, for the calls that take several: `struct iovec`.
pub(crate) type IoVec = libc::iovec;
