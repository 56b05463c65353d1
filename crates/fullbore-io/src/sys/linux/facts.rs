//! Facts of files and of the machine: status with alignments, extents, pages in the page cache, processors.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::ptr;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;

use crate::sys::types::extent::{LAST, RawExtent};
use crate::sys::types::{CachedPages, DirectAlignment, ExtendedStatus};
use crate::sys::unix::attributes::{stat, status};
use crate::sys::unix::open::BorrowedHandle;

/// `STATX_DIO_READ_ALIGN`, Linux 6.14.
const DIO_READ_ALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2_0000);

/// Returns the status of a path, from one call: `statx(2)`, or `stat(2)` if that is blocked. Follows symbolic links.
pub(crate) fn extended_stat(path: &Path) -> io::Result<ExtendedStatus> {
    statx(CWD, path, AtFlags::empty())
}

pub(crate) fn extended_status(fd: BorrowedHandle<'_>) -> io::Result<ExtendedStatus> {
    statx(fd, Path::new(""), AtFlags::EMPTY_PATH)
}

fn statx(at: BorrowedHandle<'_>, path: &Path, flags: AtFlags) -> io::Result<ExtendedStatus> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::DIOALIGN | DIO_READ_ALIGN;
    match rustix::fs::statx(at.as_fd(), path, flags, wanted) {
        Ok(found) => {
            let has = |flag: StatxFlags| found.stx_mask & flag.bits() != 0;
            Ok(ExtendedStatus {
                mode: u32::from(found.stx_mode),
                device: (found.stx_dev_major, found.stx_dev_minor),
                special: (found.stx_rdev_major, found.stx_rdev_minor),
                size: found.stx_size,
                blocks: found.stx_blocks,
                mount: has(StatxFlags::MNT_ID).then_some(found.stx_mnt_id),
                direct: has(StatxFlags::DIOALIGN).then(|| DirectAlignment {
                    memory: found.stx_dio_mem_align,
                    offset: found.stx_dio_offset_align,
                    read_offset: (has(DIO_READ_ALIGN) && found.stx_dio_read_offset_align != 0)
                        .then_some(found.stx_dio_read_offset_align),
                    by_geometry: false,
                }),
            })
        }
        // Seccomp filters older than the call return these errors.
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = if flags.contains(AtFlags::EMPTY_PATH) { status(at) } else { stat(path) }?;
            Ok(found.into())
        }
        Err(error) => Err(error.into()),
    }
}

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

/// Passes every extent to `take`, in file order, by the `FS_IOC_FIEMAP` ioctl. Nothing is flushed first: data without a place
/// appears as delayed allocation.
pub(crate) fn each_extent(fd: BorrowedHandle<'_>, mut take: impl FnMut(&RawExtent)) -> io::Result<()> {
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

/// The call's number on all architectures but MIPS, which adds an offset, returns `ENOSYS` and so uses `mincore(2)`.
const CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

pub(crate) fn cachestat(fd: BorrowedHandle<'_>, offset: u64, length: u64) -> io::Result<CachedPages> {
    let range = CachestatRange { offset, length };
    let mut pages = CachedPages::default();
    // SAFETY: both pointers are to live structs of the documented layout; the call writes only `pages`.
    let result = unsafe {
        libc::syscall(CACHESTAT, fd.as_raw_fd(), ptr::from_ref(&range), ptr::from_mut(&mut pages), 0u32)
    };
    if result == 0 { Ok(pages) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn allowed_processors() -> io::Result<usize> {
    // 8192 processors, the maximum of the kernel's configuration; the C library's fixed set ends at 1024.
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given number of bytes into the array.
    let written =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr()) };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(mask.iter().map(|word| word.count_ones() as usize).sum())
}
