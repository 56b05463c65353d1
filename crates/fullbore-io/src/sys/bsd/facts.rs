//! Facts of a file: its status, and its extents with, on macOS, the place of the data on the device.

use std::io;
use std::path::Path;

use crate::sys::code::Code;
use crate::sys::types::extent::{LAST, RawExtent, UNKNOWN};
use crate::sys::types::{ExtendedStatus, Status};
use crate::sys::unix::attributes::{stat, status};
use crate::sys::unix::files::{SeekFrom, position, seek, split_device};
use crate::sys::unix::open::BorrowedHandle;

/// Returns the status of a path; follows symbolic links. The systems report no alignment for direct I/O.
pub(crate) fn extended_stat(path: &Path) -> io::Result<ExtendedStatus> {
    Ok(extended(stat(path)?))
}

pub(crate) fn extended_status(fd: BorrowedHandle<'_>) -> io::Result<ExtendedStatus> {
    Ok(extended(status(fd)?))
}

fn extended(found: Status) -> ExtendedStatus {
    ExtendedStatus {
        mode: found.mode,
        device: split_device(found.dev),
        special: split_device(found.rdev),
        size: found.size,
        blocks: found.blocks,
        mount: None,
        direct: None,
    }
}

/// Passes every extent of the file to `take`, in file order. The file's own position is restored.
pub(crate) fn each_extent(fd: BorrowedHandle<'_>, mut take: impl FnMut(&RawExtent)) -> io::Result<()> {
    let len = status(fd)?.size;
    let before = position(fd)?;
    let mut extents = Vec::new();
    let mut at = 0;
    let outcome = loop {
        let start = match seek(fd, SeekFrom::Data(at)) {
            Ok(start) if start < len => start,
            // No data behind.
            Ok(_) | Err(Code::NO_SUCH_ADDRESS) => break Ok(()),
            Err(error) => break Err(error.into()),
        };
        let end = seek(fd, SeekFrom::Hole(start)).unwrap_or(len).min(len);
        at = start;
        while at < end {
            let (physical, length, flags) = match place(fd, at) {
                Some((physical, run)) if run > 0 => (physical, run.min(end - at), 0),
                _ => (0, end - at, UNKNOWN),
            };
            extents.push(RawExtent::new(at, physical, length, flags));
            at += length;
        }
    };
    seek(fd, SeekFrom::Start(before))?;
    if let Some(last) = extents.last_mut() {
        last.flags |= LAST;
    }
    extents.iter().for_each(&mut take);
    outcome
}

/// The byte on the device that has the byte at `offset`, and the number of bytes from there on that follow each other.
#[cfg(target_os = "macos")]
fn place(fd: BorrowedHandle<'_>, offset: u64) -> Option<(u64, u64)> {
    use std::os::fd::AsRawFd;

    let offset = libc::off_t::try_from(offset).ok()?;
    let mut request = libc::log2phys { l2p_flags: 0, l2p_contigbytes: i64::MAX, l2p_devoffset: offset };
    // SAFETY: the command reads and writes this structure, which lives through the call.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_LOG2PHYS_EXT, &raw mut request) };
    let (place, run) = (request.l2p_devoffset, request.l2p_contigbytes);
    if result != 0 {
        return None;
    }
    Some((u64::try_from(place).ok()?, u64::try_from(run).ok()?))
}

#[cfg(not(target_os = "macos"))]
fn place(_: BorrowedHandle<'_>, _: u64) -> Option<(u64, u64)> {
    None
}
