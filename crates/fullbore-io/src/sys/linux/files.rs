//! Calls on files that only Linux has, or has in this form.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, MemfdFlags, Mode, RenameFlags, ResolveFlags};
use rustix::io::ReadWriteFlags;
use rustix::time::ClockId;

use super::super::{
    Allocate, CURRENT_DIRECTORY, InodeFlags, OpenFlags, PathArg, Result, Time, TransferFlags,
};

/// Mount point of the kernel's files about processes and the machine.
pub const PROC: &str = "/proc";

/// Mount point of the kernel's files about devices.
pub const SYS: &str = "/sys";

/// The path of an open file, through which it can be opened again or linked.
pub fn handle_path(file: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()).into()
}

/// The path of a name in an open directory, for calls that take no directory.
pub fn path_in(directory: impl AsFd, name: impl AsRef<Path>) -> PathBuf {
    if directory.as_fd().as_raw_fd() == CURRENT_DIRECTORY.as_raw_fd() {
        return name.as_ref().to_owned();
    }
    handle_path(&directory).join(name)
}

/// Opens a file again, with other flags and a position of its own.
pub fn reopen(file: &impl AsFd, flags: OpenFlags) -> Result<OwnedFd> {
    super::super::open(handle_path(file), flags, 0)
}

/// Opens a path in a directory that symbolic links and `..` do not leave.
pub fn open_beneath(directory: impl AsFd, path: impl PathArg, flags: OpenFlags) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(directory, path, flags.to_system(), Mode::empty(), resolve)?)
}

/// Opens a path if its names are in the kernel's cache, so that the call does not wait for a device.
pub fn open_cached(path: impl PathArg, flags: OpenFlags) -> Result<OwnedFd> {
    Ok(rustix::fs::openat2(CURRENT_DIRECTORY, path, flags.to_system(), Mode::empty(), ResolveFlags::CACHED)?)
}

/// Renames a file; fails if a file has the new name.
pub fn rename_new(from: impl AsFd, old: impl PathArg, to: impl AsFd, new: impl PathArg) -> Result<()> {
    Ok(rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE)?)
}

/// Reads into several buffers at an offset, with flags.
pub fn read_vectored_flagged(
    file: impl AsFd,
    parts: &mut [IoSliceMut<'_>],
    offset: u64,
    flags: TransferFlags,
) -> Result<usize> {
    Ok(rustix::io::preadv2(file, parts, offset, ReadWriteFlags::from_bits_retain(flags.bits()))?)
}

/// Writes from several buffers at an offset, with flags.
pub fn write_vectored_flagged(
    file: impl AsFd,
    parts: &[IoSlice<'_>],
    offset: u64,
    flags: TransferFlags,
) -> Result<usize> {
    Ok(rustix::io::pwritev2(file, parts, offset, ReadWriteFlags::from_bits_retain(flags.bits()))?)
}

/// Copies between two files inside the kernel; the offsets move.
pub fn copy_range(
    from: impl AsFd,
    offset: &mut u64,
    to: impl AsFd,
    target: &mut u64,
    len: usize,
) -> Result<usize> {
    Ok(rustix::fs::copy_file_range(from, Some(offset), to, Some(target), len)?)
}

/// Reserves, zeroes or releases the blocks of a range: `fallocate(2)`.
pub fn allocate(file: impl AsFd, what: Allocate, offset: u64, len: u64) -> Result<()> {
    let flags = match what {
        Allocate::Extend => FallocateFlags::empty(),
        Allocate::KeepLength => FallocateFlags::KEEP_SIZE,
        Allocate::Punch => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        Allocate::Zero => FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
    };
    Ok(rustix::fs::fallocate(file, flags, offset, len)?)
}

/// Makes the content of a file durable.
pub fn sync_data(file: impl AsFd) -> Result<()> {
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes the content and all metadata of a file durable.
pub fn sync_all(file: impl AsFd) -> Result<()> {
    Ok(rustix::fs::fsync(file)?)
}

/// Makes everything on the file system of a file durable.
pub fn sync_file_system(file: impl AsFd) -> Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// The kind of a file system: the number that identifies it in `statfs(2)`.
pub fn file_system_kind(file: impl AsFd) -> Result<u64> {
    // Some numbers are negative where the field is 32 bits wide.
    Ok(rustix::fs::fstatfs(file)?.f_type as u64 & 0xffff_ffff)
}

/// As [`file_system_kind`], for a path.
pub fn file_system_kind_of(path: impl PathArg) -> Result<u64> {
    Ok(rustix::fs::statfs(path)?.f_type as u64 & 0xffff_ffff)
}

/// A file in memory without a name.
pub fn memory_file(name: &str) -> Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?)
}

/// The flags of a file's inode.
pub fn inode_flags(file: impl AsFd) -> Result<InodeFlags> {
    let flags = rustix::fs::ioctl_getflags(file)?;
    Ok(InodeFlags {
        immutable: flags.contains(rustix::fs::IFlags::IMMUTABLE),
        append_only: flags.contains(rustix::fs::IFlags::APPEND),
    })
}

/// The time of birth of an open file, if the file system has it.
pub fn birth_time(file: impl AsFd) -> Option<Time> {
    use rustix::fs::{AtFlags, StatxFlags};
    let found = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    known.then(|| (found.stx_btime.tv_sec, found.stx_btime.tv_nsec.into()))
}

/// The clock that stamps files, exact only to the kernel's tick.
pub fn coarse_time() -> Time {
    let time = rustix::time::clock_gettime(ClockId::RealtimeCoarse);
    (time.tv_sec, time.tv_nsec)
}

/// Wakes the calling thread within nanoseconds of the time at which it asked to be woken, not in groups.
pub fn set_timer_slack(nanoseconds: std::num::NonZeroU64) -> Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(nanoseconds))?)
}

/// Mounts the kernel's trace files where no path leads; returns their directory.
pub fn mount_trace_files() -> Result<OwnedFd> {
    use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
    let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?)
}

/// Wakes a thread that waits for files.
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd);

impl Wake {
    pub(crate) fn new() -> Result<Self> {
        use rustix::event::EventfdFlags;
        Ok(Self(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The file to wait for: it is ready for reading after [`wake`](Self::wake).
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Wakes the thread, or the next that waits.
    pub(crate) fn wake(&self) {
        let _ = super::super::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Withdraws all calls so far.
    pub(crate) fn clear(&self) {
        let _ = super::super::read(&self.0, &mut [0; 8]);
    }
}
