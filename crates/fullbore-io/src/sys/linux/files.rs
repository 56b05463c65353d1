//! Calls on files that only Linux has, or has in this form.

use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

// glibc cuts the offsets of the plain calls where `off_t` has 32 bits; musl has 64 bits everywhere.
#[cfg(not(target_env = "gnu"))]
use libc::{preadv2, pwritev2};
#[cfg(target_env = "gnu")]
use libc::{preadv64v2 as preadv2, pwritev64v2 as pwritev2};
use rustix::fs::{FallocateFlags, MemfdFlags, Mode, RenameFlags, ResolveFlags};
use rustix::io::ReadWriteFlags;
use rustix::ioctl;
use rustix::pipe::{PipeFlags, SpliceFlags};
use rustix::time::ClockId;

use crate::buf::{Direction, Loan};
use crate::sys::code::{Code, Result};
use crate::sys::file_system::FileSystemKind;
use crate::sys::types::{Allocate, InodeFlags, Splice, Time, TransferFlags};
use crate::sys::unix::code::calls;
use crate::sys::unix::files::{file_system_kind, read_vectored_at, write_vectored_at};
use crate::sys::unix::open::{
    BorrowedHandle, CURRENT_DIRECTORY, Handle, OpenFlags, PathArg, handle_path, open,
};

pub const PROC: &str = "/proc";

pub const SYS: &str = "/sys";

pub fn reopen(file: &impl AsFd, flags: OpenFlags) -> Result<Handle> {
    open(handle_path(file), flags, 0)
}

/// Opens a path in a directory that symbolic links and `..` do not leave.
pub fn open_beneath(directory: impl AsFd, path: impl PathArg, flags: OpenFlags) -> Result<Handle> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(directory, path, flags.to_system(), Mode::empty(), resolve)?)
}

/// Opens a path if its names are in the kernel's cache, so that the call does not wait for a device. It may wait for a server.
pub fn open_cached(path: impl PathArg, flags: OpenFlags) -> Result<Handle> {
    Ok(rustix::fs::openat2(CURRENT_DIRECTORY, path, flags.to_system(), Mode::empty(), ResolveFlags::CACHED)?)
}

pub fn rename_new(from: impl AsFd, old: impl PathArg, to: impl AsFd, new: impl PathArg) -> Result<()> {
    Ok(rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE)?)
}

/// Reads into several buffers at an offset: `preadv2` if there are flags.
#[inline]
pub fn read_vectored_flagged(
    file: impl AsFd,
    parts: &mut [IoSliceMut<'_>],
    offset: u64,
    flags: TransferFlags,
) -> Result<usize> {
    match read_write_flags(flags, offset)? {
        None => read_vectored_at(file, parts, offset),
        Some(flags) => Ok(rustix::io::preadv2(file, parts, offset, flags)?),
    }
}

/// As [`read_vectored_flagged`], with `pwritev2`.
#[inline]
pub fn write_vectored_flagged(
    file: impl AsFd,
    parts: &[IoSlice<'_>],
    offset: u64,
    flags: TransferFlags,
) -> Result<usize> {
    match read_write_flags(flags, offset)? {
        None => write_vectored_at(file, parts, offset),
        Some(flags) => Ok(rustix::io::pwritev2(file, parts, offset, flags)?),
    }
}

/// Returns the flags, if any. Rejects offsets above `i64::MAX`: to `preadv2` and `pwritev2`, -1 means the file's own position.
fn read_write_flags(flags: TransferFlags, offset: u64) -> Result<Option<ReadWriteFlags>> {
    match flags.is_empty() {
        true => Ok(None),
        false if offset > i64::MAX as u64 => Err(Code::INVALID),
        false => Ok(Some(ReadWriteFlags::from_bits_retain(flags.bits()))),
    }
}

pub fn copy_range(
    from: impl AsFd,
    offset: &mut u64,
    to: impl AsFd,
    target: &mut u64,
    len: usize,
) -> Result<usize> {
    Ok(rustix::fs::copy_file_range(from, Some(offset), to, Some(target), len)?)
}

pub fn allocate(file: impl AsFd, what: Allocate, offset: u64, len: u64) -> Result<()> {
    let flags = match what {
        Allocate::Extend => FallocateFlags::empty(),
        Allocate::KeepLength => FallocateFlags::KEEP_SIZE,
        Allocate::Punch => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        Allocate::Zero => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
    };
    Ok(rustix::fs::fallocate(file, flags, offset, len)?)
}

calls! {
    fn sync_data(file: impl AsFd) -> () = rustix::fs::fdatasync;

    fn sync_all(file: impl AsFd) -> () = rustix::fs::fsync;

    fn sync_file_system(file: impl AsFd) -> () = rustix::fs::syncfs;

    fn pipe_capacity(pipe: impl AsFd) -> usize = rustix::pipe::fcntl_getpipe_size;

    /// Sets the capacity of a pipe; returns the one that it got.
    fn set_pipe_capacity(pipe: impl AsFd, bytes: usize) -> usize = rustix::pipe::fcntl_setpipe_size;
}

impl From<rustix::fs::StatFs> for FileSystemKind {
    fn from(found: rustix::fs::StatFs) -> Self {
        // Some numbers are negative where the field is 32 bits wide.
        Self::numbered(found.f_type as u64 & 0xffff_ffff)
    }
}

/// True if [`memory_file`] makes a file in memory, and not on a disk.
pub const MEMORY_FILES: bool = true;

pub fn memory_file(name: &str) -> Result<Handle> {
    Ok(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?)
}

pub fn inode_flags(file: impl AsFd) -> Result<InodeFlags> {
    let flags = rustix::fs::ioctl_getflags(file)?;
    Ok(InodeFlags {
        immutable: flags.contains(rustix::fs::IFlags::IMMUTABLE),
        append_only: flags.contains(rustix::fs::IFlags::APPEND),
    })
}

/// Returns the creation time of an open file, if the file system has it.
pub fn birth_time(file: impl AsFd) -> Option<Time> {
    use rustix::fs::{AtFlags, StatxFlags};
    let found = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| (found.stx_btime.tv_sec, found.stx_btime.tv_nsec.into()))
}

/// Returns the time of the clock that stamps files, exact only to the kernel's tick.
pub fn coarse_time() -> Time {
    let time = rustix::time::clock_gettime(ClockId::RealtimeCoarse);
    (time.tv_sec, time.tv_nsec)
}

/// Sets the timer slack of the calling thread: the time by which the kernel may delay a wake-up to group it with others.
pub fn set_timer_slack(nanoseconds: std::num::NonZeroU64) -> Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(nanoseconds))?)
}

/// Mounts the kernel's trace file system without a path to it; returns its directory.
pub fn mount_trace_files() -> Result<Handle> {
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

pub fn pipe() -> Result<(Handle, Handle)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

pub fn pipe_nonblocking() -> Result<(Handle, Handle)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// Moves bytes between a pipe and a file inside the kernel; an offset moves.
pub fn splice(
    from: impl AsFd,
    offset: Option<&mut u64>,
    to: impl AsFd,
    target: Option<&mut u64>,
    len: usize,
    how: Splice,
) -> Result<usize> {
    let flags = match how {
        Splice::Plain => SpliceFlags::empty(),
        Splice::Move => SpliceFlags::MOVE,
        Splice::NoWait => SpliceFlags::NONBLOCK,
    };
    Ok(rustix::pipe::splice(from, offset, to, target, len, flags)?)
}

/// Copies up to `len` bytes of a pipe to another; the first keeps them.
pub fn tee(from: impl AsFd, to: impl AsFd, len: usize) -> Result<usize> {
    Ok(rustix::pipe::tee(from, to, len, SpliceFlags::empty())?)
}

/// `struct file_clone_range` of `linux/fs.h` (`man 2 ioctl_ficlonerange`).
#[repr(C)]
struct CloneRange {
    source: i64,
    offset: u64,
    len: u64,
    target: u64,
}

const FICLONERANGE: ioctl::Opcode = ioctl::opcode::write::<CloneRange>(0x94, 13);

/// Shares `len` bytes (0: all to the end) from `offset` of `source` with offset `target` of `fd`, without a copy.
pub(crate) fn clone_range(
    source: BorrowedHandle<'_>,
    offset: u64,
    len: u64,
    fd: BorrowedHandle<'_>,
    target: u64,
) -> Result<()> {
    let range = CloneRange { source: i64::from(source.as_raw_fd()), offset, len, target };
    // SAFETY: this is the structure that the ioctl of this number reads, and it names an open descriptor.
    Ok(unsafe { ioctl::ioctl(fd, ioctl::Setter::<FICLONERANGE, CloneRange>::new(range)) }?)
}

/// Moves the selected memory of `loan`, initialised or not, by one `preadv2` or `pwritev2`; without an offset at the file's
/// position.
pub(crate) fn transfer_loan(
    loan: &mut Loan,
    fd: BorrowedHandle<'_>,
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    let (first, count) = (loan.pieces().as_ptr(), loan.pieces().len() as libc::c_int);
    let (fd, flags) = (fd.as_raw_fd(), flags.bits() as libc::c_int);
    let offset = offset.map_or(-1, |offset| offset as i64);
    // SAFETY: the loan, which is borrowed mutably, owns the buffer that the pieces belong to; the bytes to write are
    // initialised.
    let moved = unsafe {
        match loan.direction() {
            Direction::Read => preadv2(fd, first, count, offset, flags),
            Direction::Write => pwritev2(fd, first, count, offset, flags),
        }
    };
    let moved = usize::try_from(moved).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call moved that many bytes from the start of the pieces.
    unsafe { loan.advance(moved) };
    Ok(moved)
}

/// Starts writing the dirty pages of a range without waiting.
pub(crate) fn start_writeback(fd: BorrowedHandle<'_>, range: Range<u64>) -> Result<()> {
    sync_range(fd, range, libc::SYNC_FILE_RANGE_WRITE)
}

/// Writes the dirty pages of a range and waits until they are clean: for dropping them, not for durability.
pub(crate) fn finish_writeback(fd: BorrowedHandle<'_>, range: Range<u64>) -> Result<()> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_range(fd, range, flags)
}

/// Writes back the dirty pages of a file if its holes are reported by a server, which lacks those pages: FUSE.
pub fn show_dirty_pages(file: impl AsFd) -> Result<()> {
    if !file_system_kind(&file).is_ok_and(FileSystemKind::is_fuse) {
        return Ok(());
    }
    // A separate open file: an error that this one gets remains for the syncs of the other.
    let other = reopen(&file, OpenFlags::READ).ok();
    let fd = other.as_ref().map_or(file.as_fd(), AsFd::as_fd);
    finish_writeback(fd, 0..0)
}

fn sync_range(fd: BorrowedHandle<'_>, range: Range<u64>, flags: libc::c_uint) -> Result<()> {
    let too_large = |_| Code::INVALID;
    let start = i64::try_from(range.start).map_err(too_large)?;
    let len = i64::try_from(range.end.saturating_sub(range.start)).map_err(too_large)?;
    // SAFETY: a system call with numbers on a descriptor that is open as long as it is borrowed.
    match unsafe { libc::sync_file_range(fd.as_raw_fd(), start, len, flags) } {
        0 => Ok(()),
        _ => Err(Code::last()),
    }
}
