//! Calls on files in the forms of macOS and FreeBSD. Calls that neither has fail with [`Code::UNSUPPORTED`].

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Range;
#[cfg(target_os = "macos")]
use std::os::fd::BorrowedFd;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::time::ClockId;

use crate::buf::{Direction, Loan};
use crate::sys::code::{Code, Result, unsupported};
use crate::sys::file_system::FileSystemKind;
#[cfg(target_os = "freebsd")]
use crate::sys::types::FileKind;
use crate::sys::types::extent::{LAST, RawExtent, UNKNOWN};
#[cfg(target_os = "macos")]
use crate::sys::types::{Advice, around_blocks};
use crate::sys::types::{Allocate, ExtendedStatus, InodeFlags, Time, TransferFlags};
#[cfg(target_os = "freebsd")]
use crate::sys::unix::attributes::stat_at;
use crate::sys::unix::attributes::{stat, status};
use crate::sys::unix::files::{SeekFrom, seek};
#[cfg(target_os = "macos")]
use crate::sys::unix::files::{truncate, write_at};
#[cfg(target_os = "freebsd")]
use crate::sys::unix::names::hard_link;
use crate::sys::unix::names::{AtFlags, remove};
#[cfg(target_os = "macos")]
use crate::sys::unix::open::CURRENT_DIRECTORY;
#[cfg(target_os = "freebsd")]
use crate::sys::unix::open::open_at;
use crate::sys::unix::open::{BorrowedHandle, Handle, OpenFlags, PathArg, handle_path, open};

/// A path that does not exist: these systems have no files about processes and the machine.
pub const PROC: &str = "/proc/none";

pub const SYS: &str = "/sys/none";

/// As on Linux; fails with [`Code::STALE`] if the path of the file leads to another file by now.
pub fn reopen(file: &impl AsFd, flags: OpenFlags) -> Result<Handle> {
    #[cfg(target_os = "freebsd")]
    if let Ok(again) = open_at(file, c"", flags | OpenFlags::from_bits_retain(libc::O_EMPTY_PATH as u32), 0) {
        return Ok(again);
    }
    let again = open(handle_path(file), flags, 0)?;
    match status(&again)?.identity() == status(file)?.identity() {
        true => Ok(again),
        false => Err(Code::STALE),
    }
}

pub(in crate::sys) fn name_of(path: impl PathArg) -> Result<OsString> {
    Ok(OsStr::from_bytes(path.into_c_str()?.to_bytes()).to_owned())
}

pub fn rename_new(from: impl AsFd, old: impl PathArg, to: impl AsFd, new: impl PathArg) -> Result<()> {
    #[cfg(target_os = "macos")]
    return Ok(rustix::fs::renameat_with(from, old, to, new, rustix::fs::RenameFlags::NOREPLACE)?);
    #[cfg(not(target_os = "macos"))]
    {
        let old = old.into_c_str()?;
        // Directories have one name: those cannot be renamed without the risk of a replacement.
        if stat_at(&from, &*old, AtFlags::NOFOLLOW)?.kind() == FileKind::Directory {
            return Err(Code::NOT_IMPLEMENTED);
        }
        hard_link(&from, &*old, to, new, AtFlags::empty())?;
        remove(from, &*old, AtFlags::empty())
    }
}

pub fn copy_range(
    from: impl AsFd,
    offset: &mut u64,
    to: impl AsFd,
    target: &mut u64,
    len: usize,
) -> Result<usize> {
    #[cfg(target_os = "freebsd")]
    {
        let invalid = |_| Code::INVALID;
        let mut source = libc::off_t::try_from(*offset).map_err(invalid)?;
        let mut sink = libc::off_t::try_from(*target).map_err(invalid)?;
        let (from, to) = (from.as_fd().as_raw_fd(), to.as_fd().as_raw_fd());
        // SAFETY: both offsets live through the call; the descriptors are borrowed.
        let copied = unsafe { libc::copy_file_range(from, &raw mut source, to, &raw mut sink, len, 0) };
        let copied = usize::try_from(copied).map_err(|_| Code::last())?;
        (*offset, *target) = (source as u64, sink as u64);
        Ok(copied)
    }
    #[cfg(not(target_os = "freebsd"))]
    {
        let _ = (from, offset, to, target, len);
        Err(Code::NOT_IMPLEMENTED)
    }
}

/// Reserves or releases the blocks of a range. No range is zeroed in place.
pub fn allocate(file: impl AsFd, what: Allocate, offset: u64, len: u64) -> Result<()> {
    let invalid = |_| Code::INVALID;
    #[cfg(target_os = "freebsd")]
    let (start, count) =
        (libc::off_t::try_from(offset).map_err(invalid)?, libc::off_t::try_from(len).map_err(invalid)?);
    let fd = file.as_fd().as_raw_fd();
    match what {
        Allocate::Zero => Err(Code::UNSUPPORTED),
        #[cfg(target_os = "macos")]
        Allocate::Extend | Allocate::KeepLength => {
            let found = status(&file)?;
            let end = offset.checked_add(len).ok_or(Code::INVALID)?;
            // The call reserves after the end of the file; a sparse one has less than its length before it.
            let missing = end.saturating_sub(found.allocated().max(found.size));
            if missing > 0 {
                let mut request = libc::fstore_t {
                    fst_flags: libc::F_ALLOCATEALL,
                    fst_posmode: libc::F_PEOFPOSMODE,
                    fst_offset: 0,
                    fst_length: libc::off_t::try_from(missing).map_err(invalid)?,
                    fst_bytesalloc: 0,
                };
                // SAFETY: the command reads and writes this structure, which lives through the call.
                if unsafe { libc::fcntl(fd, libc::F_PREALLOCATE, &raw mut request) } != 0 {
                    return match Code::last() {
                        // APFS, for a file that has blocks after its end already.
                        Code::INVALID => Err(Code::UNSUPPORTED),
                        error => Err(error),
                    };
                }
            }
            match what == Allocate::Extend && end > found.size {
                true => truncate(file, end),
                false => Ok(()),
            }
        }
        #[cfg(target_os = "macos")]
        Allocate::Punch => punch(file.as_fd(), offset, offset.checked_add(len).ok_or(Code::INVALID)?),
        #[cfg(target_os = "freebsd")]
        Allocate::Extend => {
            // SAFETY: a call with numbers on a borrowed descriptor; it returns the error.
            match unsafe { libc::posix_fallocate(fd, start, count) } {
                0 => Ok(()),
                // ZFS has no reserved blocks.
                libc::EINVAL => Err(Code::UNSUPPORTED),
                error => Err(Code::from_number(error)),
            }
        }
        #[cfg(target_os = "freebsd")]
        Allocate::KeepLength => Err(Code::UNSUPPORTED),
        #[cfg(target_os = "freebsd")]
        Allocate::Punch => {
            let range = libc::spacectl_range { r_offset: start, r_len: count };
            // SAFETY: the call reads this structure, which lives through it, and reports nothing.
            let result = unsafe {
                libc::fspacectl(fd, libc::SPACECTL_DEALLOC, &raw const range, 0, std::ptr::null_mut())
            };
            if result == 0 { Ok(()) } else { Err(Code::last()) }
        }
    }
}

/// Makes a hole of the whole blocks between two offsets, which the command requires, and writes zeros around them.
#[cfg(target_os = "macos")]
fn punch(file: BorrowedHandle<'_>, start: u64, end: u64) -> Result<()> {
    let end = end.min(status(file)?.size);
    if start >= end {
        return Ok(());
    }
    let block = u64::from(rustix::fs::fstatfs(file)?.f_bsize).max(1);
    let [head, middle, tail] = around_blocks(start..end, block);
    if !middle.is_empty() {
        let number = |value: u64| libc::off_t::try_from(value).map_err(|_| Code::INVALID);
        let mut request = libc::fpunchhole_t {
            fp_flags: 0,
            reserved: 0,
            fp_offset: number(middle.start)?,
            fp_length: number(middle.end - middle.start)?,
        };
        // SAFETY: the command reads this structure, which lives through the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_PUNCHHOLE, &raw mut request) } != 0 {
            return Err(match Code::last() {
                // A file system without the command.
                Code::INAPPROPRIATE => Code::UNSUPPORTED,
                error => error,
            });
        }
    }
    for part in [head, tail] {
        let zeros = vec![0; (part.end - part.start) as usize];
        let mut done = 0;
        while done < zeros.len() {
            match write_at(file, &zeros[done..], part.start + done as u64)? {
                0 => return Err(Code::IO),
                moved => done += moved,
            }
        }
    }
    Ok(())
}

/// As on Linux; pages are dropped through a mapping.
#[cfg(target_os = "macos")]
pub fn advise(file: impl AsFd, offset: u64, len: Option<u64>, advice: Advice) -> Result<()> {
    let read_ahead = |on: libc::c_int| {
        // SAFETY: a command with a number on a borrowed descriptor.
        match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_RDAHEAD, on) } {
            -1 => Err(Code::last()),
            _ => Ok(()),
        }
    };
    match advice {
        Advice::Sequential => read_ahead(1),
        Advice::Random => read_ahead(0),
        Advice::WillNeed => {
            let len = match len {
                Some(len) => len,
                None => status(&file)?.size.saturating_sub(offset),
            };
            // The command takes a length of 32 bits.
            Ok(rustix::fs::fcntl_rdadvise(&file, offset, len.min(i32::MAX as u64))?)
        }
        Advice::DontNeed => {
            let end = match len {
                Some(len) => offset.checked_add(len).ok_or(Code::INVALID)?,
                None => status(&file)?.size,
            };
            drop_pages(file.as_fd(), offset, end)
        }
        Advice::NoReuse => Err(Code::UNSUPPORTED),
    }
}

/// Drops the cached pages of a range, through a mapping: no call takes a descriptor.
#[cfg(target_os = "macos")]
fn drop_pages(file: BorrowedFd<'_>, offset: u64, end: u64) -> Result<()> {
    let start = offset - offset % crate::sys::unix::process::page_size() as u64;
    let Some(len) = end.checked_sub(start).filter(|&len| len > 0) else { return Ok(()) };
    let len = usize::try_from(len).map_err(|_| Code::INVALID)?;
    let start = libc::off_t::try_from(start).map_err(|_| Code::INVALID)?;
    let place = std::ptr::null_mut();
    // SAFETY: the system chooses the place of a new mapping, which nothing reads.
    let mapped =
        unsafe { libc::mmap(place, len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), start) };
    if mapped == libc::MAP_FAILED {
        return Err(Code::last());
    }
    // SAFETY: the mapping exists until the next call.
    let dropped = match unsafe { libc::msync(mapped, len, libc::MS_SYNC | libc::MS_INVALIDATE) } {
        0 => Ok(()),
        _ => Err(Code::last()),
    };
    // SAFETY: the mapping is this function's own, and ends here.
    unsafe { libc::munmap(mapped, len) };
    dropped
}

pub fn sync_data(file: impl AsFd) -> Result<()> {
    #[cfg(target_os = "macos")]
    return sync_all(file);
    #[cfg(not(target_os = "macos"))]
    return Ok(rustix::fs::fdatasync(file)?);
}

/// On macOS `fsync` leaves the content in the device's cache, so `F_FULLFSYNC` is used, and `fsync` on file systems that lack it.
pub fn sync_all(file: impl AsFd) -> Result<()> {
    #[cfg(target_os = "macos")]
    match rustix::fs::fcntl_fullfsync(&file).map_err(Code::from) {
        Err(Code::UNSUPPORTED | Code::INAPPROPRIATE | Code::INVALID) => {}
        outcome => return outcome,
    }
    Ok(rustix::fs::fsync(file)?)
}

/// As [`sync_data`](super::sync_data), but before all later writes and without a wait for the device: `F_BARRIERFSYNC`. File
/// systems that lack it wait.
#[cfg(target_os = "macos")]
pub fn sync_ordered(file: impl AsFd) -> Result<()> {
    // SAFETY: a command with a number on a borrowed descriptor.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_BARRIERFSYNC, 0) } {
        -1 => match Code::last() {
            Code::UNSUPPORTED | Code::INAPPROPRIATE | Code::INVALID => sync_all(file),
            error => Err(error),
        },
        _ => Ok(()),
    }
}

unsupported! {
    /// The systems have no call for one file system, and that for all does not wait.
    fn sync_file_system(impl AsFd) -> ();
}

/// The type by its name: numbers depend on the system and on the order in which it loads the types.
impl From<rustix::fs::StatFs> for FileSystemKind {
    fn from(found: rustix::fs::StatFs) -> Self {
        let name = found.f_fstypename.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
        let name = String::from_utf8(name).unwrap_or_default();
        let kind = Self::named(match name.as_str() {
            "linprocfs" | "procfs" => "proc",
            "linsysfs" => "sysfs",
            "msdos" | "msdosfs" => "vfat",
            same => same,
        });
        kind.with_number(found.f_type.into())
    }
}

/// True if [`memory_file`] makes a file in memory, and not on a disk.
pub const MEMORY_FILES: bool = cfg!(target_os = "freebsd");

/// Creates a file without a name: in memory on FreeBSD, in the directory of temporary files on macOS.
pub fn memory_file(name: &str) -> Result<Handle> {
    #[cfg(target_os = "freebsd")]
    return Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?);
    #[cfg(target_os = "macos")]
    {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(".{name}-{}-{number}", std::process::id()));
        let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
        let file = open(&path, flags, 0o600)?;
        remove(CURRENT_DIRECTORY, &path, AtFlags::empty())?;
        Ok(file)
    }
}

#[allow(clippy::unnecessary_cast, reason = "the flags have 32 bits on macOS")]
pub fn inode_flags(file: impl AsFd) -> Result<InodeFlags> {
    let flags = rustix::fs::fstat(file)?.st_flags as u64;
    let has = |wanted: u64| flags & wanted != 0;
    Ok(InodeFlags {
        immutable: has(libc::UF_IMMUTABLE as u64 | libc::SF_IMMUTABLE as u64),
        append_only: has(libc::UF_APPEND as u64 | libc::SF_APPEND as u64),
    })
}

pub fn birth_time(file: impl AsFd) -> Option<Time> {
    let found = rustix::fs::fstat(file).ok()?;
    (found.st_birthtime > 0).then_some((found.st_birthtime, found.st_birthtime_nsec))
}

pub fn coarse_time() -> Time {
    let time = rustix::time::clock_gettime(ClockId::Realtime);
    (time.tv_sec, time.tv_nsec)
}

#[cfg(not(target_os = "macos"))]
pub fn pipe() -> Result<(Handle, Handle)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// macOS has no call that does both: a child that another thread starts in between inherits the pipe.
#[cfg(target_os = "macos")]
pub fn pipe() -> Result<(Handle, Handle)> {
    let (reader, writer) = rustix::pipe::pipe()?;
    for end in [&reader, &writer] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((reader, writer))
}

pub fn pipe_nonblocking() -> Result<(Handle, Handle)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((reader, writer))
}

/// Moves the selected memory of `loan` by one call; without an offset at the file's own position. No flag is supported.
pub(crate) fn transfer_loan(
    loan: &mut Loan,
    fd: BorrowedHandle<'_>,
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    if !flags.is_empty() {
        return Err(Code::UNSUPPORTED.into());
    }
    let (first, count) = (loan.pieces().as_ptr(), loan.pieces().len() as libc::c_int);
    let fd = fd.as_raw_fd();
    let offset = offset.map(libc::off_t::try_from).transpose().map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the loan, which is borrowed mutably, owns the buffer that the pieces belong to; the bytes to write are
    // initialised.
    let moved = unsafe {
        match (loan.direction(), offset) {
            (Direction::Read, Some(offset)) => libc::preadv(fd, first, count, offset),
            (Direction::Write, Some(offset)) => libc::pwritev(fd, first, count, offset),
            (Direction::Read, None) => libc::readv(fd, first, count),
            (Direction::Write, None) => libc::writev(fd, first, count),
        }
    };
    let moved = usize::try_from(moved).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call moved that many bytes from the start of the pieces.
    unsafe { loan.advance(moved) };
    Ok(moved)
}

/// Writeback cannot be started without waiting.
pub(crate) fn start_writeback(_: BorrowedHandle<'_>, _: Range<u64>) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

pub(crate) fn finish_writeback(fd: BorrowedHandle<'_>, _: Range<u64>) -> Result<()> {
    Ok(rustix::fs::fsync(fd)?)
}

/// FreeBSD shares blocks by `copy_file_range` alone, and macOS clones whole files to new names.
pub(crate) fn clone_range(
    _: BorrowedHandle<'_>,
    _: u64,
    _: u64,
    _: BorrowedHandle<'_>,
    _: u64,
) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// Returns the status of a path; follows symbolic links. The systems report no alignment for direct I/O.
pub(crate) fn extended_stat(path: &Path) -> io::Result<ExtendedStatus> {
    Ok(stat(path)?.into())
}

pub(crate) fn extended_status(fd: BorrowedHandle<'_>) -> io::Result<ExtendedStatus> {
    Ok(status(fd)?.into())
}

/// Passes every extent of the file to `take`, in file order. It uses a separate descriptor, whose position it moves.
pub(crate) fn each_extent(fd: BorrowedHandle<'_>, mut take: impl FnMut(&RawExtent)) -> io::Result<()> {
    let len = status(fd)?.size;
    let fd = reopen(&fd, OpenFlags::READ | OpenFlags::NONBLOCK)?;
    let fd = fd.as_fd();
    let mut extents = Vec::new();
    let mut at = 0;
    let outcome = loop {
        let start = match seek(fd, SeekFrom::Data(at)) {
            Ok(start) if start < len => start,
            // No data follows.
            Ok(_) | Err(Code::NO_SUCH_ADDRESS) => break Ok(()),
            Err(error) => break Err(error.into()),
        };
        // At least one byte: a hole may have been made there meanwhile.
        let end = seek(fd, SeekFrom::Hole(start)).unwrap_or(len).clamp(start + 1, len);
        at = start;
        while at < end {
            let (physical, length, flags) = match place(fd, at, end) {
                Some((physical, run)) if run > 0 => (physical, run.min(end - at), 0),
                _ => (0, end - at, UNKNOWN),
            };
            extents.push(RawExtent::new(at, physical, length, flags));
            at += length;
        }
    };
    if let Some(last) = extents.last_mut() {
        last.flags |= LAST;
    }
    extents.iter().for_each(&mut take);
    outcome
}

/// Returns the offset on the device of the byte at `offset`, and the number of contiguous bytes from there, up to `end`.
#[cfg(target_os = "macos")]
fn place(fd: BorrowedHandle<'_>, offset: u64, end: u64) -> Option<(u64, u64)> {
    use std::os::fd::AsRawFd;

    let len = libc::off_t::try_from(end.checked_sub(offset)?).ok()?;
    let offset = libc::off_t::try_from(offset).ok()?;
    let mut request = libc::log2phys { l2p_flags: 0, l2p_contigbytes: len, l2p_devoffset: offset };
    // SAFETY: the command reads and writes this structure, which lives through the call.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_LOG2PHYS_EXT, &raw mut request) };
    let (place, run) = (request.l2p_devoffset, request.l2p_contigbytes);
    if result != 0 {
        return None;
    }
    Some((u64::try_from(place).ok()?, u64::try_from(run).ok()?))
}

#[cfg(not(target_os = "macos"))]
fn place(_: BorrowedHandle<'_>, _: u64, _: u64) -> Option<(u64, u64)> {
    None
}
