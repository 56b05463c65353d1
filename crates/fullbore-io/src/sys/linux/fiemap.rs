//! Extents of a file: the `FS_IOC_FIEMAP` ioctl, called in chunks, for any number of extents.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::super::extent::{LAST, RawExtent};

/// Maximum number of extents of one call: 28 KiB.
const CHUNK: usize = 512;

/// `struct fiemap` without its extents: the part that the size in the ioctl's number covers.
#[repr(C)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; CHUNK],
}

const FS_IOC_FIEMAP: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Header>(b'f', 11);

/// Passes every extent of the file to `take`, in file order. Nothing is flushed first, so data without a place on the
/// device appears as delayed allocation.
pub(crate) fn each_extent(fd: BorrowedFd<'_>, mut take: impl FnMut(&RawExtent)) -> io::Result<()> {
    let mut request = Box::new(Request {
        header: Header { start: 0, length: 0, flags: 0, mapped: 0, count: 0, reserved: 0 },
        extents: [RawExtent::default(); CHUNK],
    });
    let mut start = 0u64;
    loop {
        request.header =
            Header { start, length: u64::MAX - start, flags: 0, mapped: 0, count: CHUNK as u32, reserved: 0 };
        const { assert!(size_of::<RawExtent>() == 56 && size_of::<Header>() == 32) };
        // SAFETY: the pointer is to a live request whose `count` is the length of the array of extents after the
        // header; the kernel writes only into it.
        let result =
            unsafe { libc::ioctl(fd.as_raw_fd(), FS_IOC_FIEMAP as _, ptr::from_mut(request.as_mut())) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = (request.header.mapped as usize).min(CHUNK);
        for extent in &request.extents[..mapped] {
            take(extent);
        }
        let Some(last) = request.extents[..mapped].last() else { return Ok(()) };
        let next = last.logical.saturating_add(last.length);
        // A result that does not advance would cause an endless loop.
        if last.flags & LAST != 0 || next <= start {
            return Ok(());
        }
        start = next;
    }
}
