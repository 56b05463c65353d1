//! Sharing of blocks between ranges of two files: the `FICLONERANGE` ioctl (`man 2 ioctl_ficlonerange`).

use std::os::fd::{AsRawFd, BorrowedFd};

use super::super::Result;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// `struct file_clone_range` of `linux/fs.h`.
#[repr(C)]
struct Range {
    source: i64,
    offset: u64,
    len: u64,
    target: u64,
}

const FICLONERANGE: Opcode = opcode::write::<Range>(0x94, 13);

/// Shares `len` bytes (0: all to the end) from `offset` of `source` with offset `target` of `fd`, without a copy.
pub(crate) fn clone_range(
    source: BorrowedFd<'_>,
    offset: u64,
    len: u64,
    fd: BorrowedFd<'_>,
    target: u64,
) -> Result<()> {
    let range = Range { source: i64::from(source.as_raw_fd()), offset, len, target };
    // SAFETY: this is the structure that the ioctl of this number reads, and it names an open descriptor.
    Ok(unsafe { ioctl(fd, Setter::<FICLONERANGE, Range>::new(range)) }?)
}
