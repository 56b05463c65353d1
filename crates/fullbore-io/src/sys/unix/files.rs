//! Calls on open files and file systems that the Unix systems share.

use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FlockOperation;
pub use rustix::fs::SeekFrom;
use rustix::time::ClockId;

use super::code::calls;
use super::open::{BorrowedHandle, PathArg};
use crate::buf::Direction;
use crate::sys::code::{Code, Result};
use crate::sys::file_system::FileSystemKind;
#[cfg(not(target_os = "macos"))]
use crate::sys::types::Advice;
use crate::sys::types::{LockRequest, Space};

/// False: a transfer at an offset leaves the position of its file.
pub const TRANSFERS_MOVE_POSITION: bool = false;

/// False: calls through one open file run at the same time.
pub const HANDLES_SERIALIZE: bool = false;

/// False: pages are dropped through any open file.
pub const DROPS_BY_REOPENING: bool = false;

/// True on macOS, which has no `posix_fadvise`: a mapping of the pages drops them.
pub const DROPS_BY_MAPPING: bool = cfg!(target_os = "macos");

/// False on macOS, where only `F_FULLFSYNC` flushes the cache of the device.
pub const VIEWS_FLUSH_DEVICES: bool = !cfg!(target_os = "macos");

/// False on macOS, where `O_DSYNC` and `O_SYNC` leave the bytes in the cache of the device.
pub const WRITE_THROUGH_FLUSHES_DEVICES: bool = !cfg!(target_os = "macos");

/// False on macOS: APFS reports holes where bytes are not written back yet.
pub const HOLES_HAVE_NO_DATA: bool = !cfg!(target_os = "macos");

/// True if one call syncs all files of a file system, and waits for them: `sync(2)` of the other systems does not wait.
pub const SYNCS_FILE_SYSTEMS: bool = cfg!(target_os = "linux");

/// False: the owner of a file can always change its attributes.
pub const LISTS_RESTRICT_OWNERS: bool = false;

/// True: syncing a directory makes the names in it durable.
pub const SYNCS_DIRECTORIES: bool = true;

calls! {
    fn read(file: impl AsFd, bytes: &mut [u8]) -> usize = rustix::io::read;

    fn write(file: impl AsFd, bytes: &[u8]) -> usize = rustix::io::write;

    fn write_vectored(file: impl AsFd, parts: &[IoSlice<'_>]) -> usize = rustix::io::writev;

    fn read_at(file: impl AsFd, bytes: &mut [u8], offset: u64) -> usize = rustix::io::pread;

    fn write_at(file: impl AsFd, bytes: &[u8], offset: u64) -> usize = rustix::io::pwrite;

    fn read_vectored_at(file: impl AsFd, parts: &mut [IoSliceMut<'_>], offset: u64) -> usize = rustix::io::preadv;

    fn write_vectored_at(file: impl AsFd, parts: &[IoSlice<'_>], offset: u64) -> usize = rustix::io::pwritev;

    fn seek(file: impl AsFd, to: SeekFrom) -> u64 = rustix::fs::seek;

    fn position(file: impl AsFd) -> u64 = rustix::fs::tell;

    fn truncate(file: impl AsFd, len: u64) -> () = rustix::fs::ftruncate;
}

/// Reads up to `most` bytes at an offset into the spare capacity of a vector; returns the number of bytes added.
pub fn read_into_spare(file: impl AsFd, bytes: &mut Vec<u8>, most: usize, offset: u64) -> Result<usize> {
    let spare = bytes.spare_capacity_mut();
    let most = most.min(spare.len());
    let count = rustix::io::pread(file, &mut spare[..most], offset)?.0.len();
    // SAFETY: the call wrote that many bytes after the others.
    unsafe { bytes.set_len(bytes.len() + count) };
    Ok(count)
}

/// False: [`wait_any`] sleeps until a file is ready.
pub const WAITS_BY_POLLING: bool = false;

/// Waits until one of the files is ready for a transfer in its direction, or failed, at most for `patience`; returns which are. Fails
/// with [`Code::INTERRUPTED`] after a signal.
pub fn wait_any(files: &[(BorrowedHandle<'_>, Direction)], patience: Option<Duration>) -> Result<Vec<bool>> {
    let wanted = |direction| match direction {
        Direction::Read => PollFlags::IN,
        Direction::Write => PollFlags::OUT,
    };
    /// Files that are polled as they are.
    const FEW: usize = 8;
    // One entry for each descriptor: the system refuses more entries than a process may have descriptors.
    let mut places = HashMap::new();
    let (mut of_files, mut events) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
    for &(file, direction) in files {
        let place = match files.len() {
            ..=FEW => events.len(),
            _ => *places.entry(file.as_raw_fd()).or_insert(events.len()),
        };
        match events.get_mut(place) {
            Some((_, events)) => *events |= wanted(direction),
            None => events.push((file, wanted(direction))),
        }
        of_files.push(place);
    }
    let polled = events.iter().map(|&(file, events)| PollFd::from_borrowed_fd(file, events));
    let mut polled: Vec<_> = polled.collect();
    let patience = patience.map(|time| Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    poll(&mut polled, patience.as_ref())?;
    let is_ready = |(place, &(_, direction)): (usize, &(BorrowedHandle<'_>, Direction))| {
        polled[place]
            .revents()
            .intersects(wanted(direction) | PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
    };
    Ok(of_files.into_iter().zip(files).map(is_ready).collect())
}

impl From<rustix::fs::StatVfs> for Space {
    fn from(found: rustix::fs::StatVfs) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Self {
            id: found.f_fsid,
            // Elsewhere this is the preferred length of a transfer (APFS: 1 MiB).
            block: if cfg!(target_os = "linux") { found.f_bsize } else { found.f_frsize },
            unit: found.f_frsize,
            total: bytes(found.f_blocks),
            free: bytes(found.f_bfree),
            available: bytes(found.f_bavail),
        }
    }
}

calls! {
    fn file_system_kind(file: impl AsFd) -> FileSystemKind = rustix::fs::fstatfs;

    fn file_system_kind_of(path: impl PathArg) -> FileSystemKind = rustix::fs::statfs;
}

#[cfg(not(target_os = "macos"))]
calls! {
    fn space(file: impl AsFd) -> Space = rustix::fs::fstatvfs;

    fn space_of(path: impl PathArg) -> Space = rustix::fs::statvfs;
}

#[cfg(target_os = "macos")]
pub fn space(file: impl AsFd) -> Result<Space> {
    Ok(Space::from(rustix::fs::fstatvfs(&file)?).counted_by(&rustix::fs::fstatfs(file)?))
}

#[cfg(target_os = "macos")]
pub fn space_of(path: impl PathArg) -> Result<Space> {
    let path = path.into_c_str()?;
    Ok(Space::from(rustix::fs::statvfs(&*path)?).counted_by(&rustix::fs::statfs(&*path)?))
}

#[cfg(target_os = "macos")]
impl Space {
    /// The numbers of blocks in `statvfs` have 32 bits: those of 16 TiB and more are wrong.
    fn counted_by(self, found: &rustix::fs::StatFs) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_bsize.into());
        Self {
            total: bytes(found.f_blocks),
            free: bytes(found.f_bfree),
            available: bytes(found.f_bavail),
            ..self
        }
    }
}

/// Ends the writes to a socket; does nothing if it has no connection.
pub fn end_writes(socket: impl AsFd) {
    // SAFETY: a call with numbers on a borrowed descriptor.
    unsafe { libc::shutdown(socket.as_fd().as_raw_fd(), libc::SHUT_WR) };
}

/// Locks a file, without waiting: `flock(2)`. Fails with [`Code::WOULD_BLOCK`] if another has a lock that conflicts.
pub fn lock_whole(file: impl AsFd, request: LockRequest) -> Result<()> {
    let operation = match request {
        LockRequest::Shared => FlockOperation::NonBlockingLockShared,
        LockRequest::Exclusive => FlockOperation::NonBlockingLockExclusive,
        LockRequest::None => FlockOperation::Unlock,
    };
    Ok(rustix::fs::flock(file, operation)?)
}

/// Announces to the kernel the expected access to a range; no length means to the end.
#[cfg(not(target_os = "macos"))]
pub fn advise(file: impl AsFd, offset: u64, len: Option<u64>, advice: Advice) -> Result<()> {
    use rustix::fs::Advice as System;
    let advice = match advice {
        Advice::Sequential => System::Sequential,
        Advice::Random => System::Random,
        Advice::WillNeed => System::WillNeed,
        Advice::DontNeed => System::DontNeed,
        Advice::NoReuse => System::NoReuse,
    };
    let len = match len {
        Some(0) => return Ok(()),
        len => len.and_then(std::num::NonZeroU64::new),
    };
    Ok(rustix::fs::fadvise(file, offset, len, advice)?)
}

pub fn split_device(number: u64) -> (u32, u32) {
    (rustix::fs::major(number as _), rustix::fs::minor(number as _))
}

/// Returns the time of the monotonic clock in nanoseconds.
pub fn monotonic_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets a file have holes; every file can.
pub fn make_sparse(_: impl AsFd) -> Result<()> {
    Ok(())
}

/// Unsupported: pages are dropped a file at a time, which needs no privilege.
pub fn purge_unused_pages() -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported: the file system tracks which blocks are written.
pub fn set_valid_length(_: impl AsFd, _: u64) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// FreeBSD has locks on ranges only for processes: another part of the program that closes the file releases them.
#[cfg(target_os = "freebsd")]
pub(crate) fn lock_range(_: BorrowedHandle<'_>, _: &Range<u64>, _: LockRequest, _: bool) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// Sets, changes or releases the lock of a range that is not empty (`man 2 fcntl_locking`). Without `wait`, fails with
/// [`Code::WOULD_BLOCK`] if another has a lock that conflicts.
#[cfg(not(target_os = "freebsd"))]
pub(crate) fn lock_range(
    fd: BorrowedHandle<'_>,
    range: &Range<u64>,
    request: LockRequest,
    wait: bool,
) -> Result<()> {
    use std::os::fd::AsRawFd;

    use crate::sys::code::uninterrupted;
    let start = i64::try_from(range.start).map_err(|_| Code::INVALID)?;
    let kind = match request {
        LockRequest::Shared => libc::F_RDLCK,
        LockRequest::Exclusive => libc::F_WRLCK,
        LockRequest::None => libc::F_UNLCK,
    };
    // SAFETY: a structure of numbers, for which zeros are valid; the process number must be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start;
    // An end above every offset means any later length; zero means "to the end of the file, wherever it moves".
    lock.l_len = i64::try_from(range.end).map_or(0, |end| end - start);
    let command = if wait { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK };
    uninterrupted(|| {
        // SAFETY: the command takes a pointer to this structure, which lives through the call, and the descriptor is
        // open as long as it is borrowed.
        match unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut lock) } {
            0 => Ok(()),
            _ => match Code::last() {
                Code::ACCESS_DENIED if !wait => Err(Code::WOULD_BLOCK),
                error => Err(error),
            },
        }
    })
}
