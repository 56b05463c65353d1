//! Calls on files and file systems. Those that the system does not have fail with [`Code::UNSUPPORTED`].

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::IO_STATUS_BLOCK;
use windows_sys::Win32::System::Ioctl as ioctl;

use super::code::{Function, check, check_status, function};
use super::handle::{AsHandle, BorrowedHandle, CURRENT_DIRECTORY, Handle, OpenFlags, RawHandle, owned, raw};
use super::information::{
    attribute_bits, awaited_at, control, ended, on_disk, query, query_native, set, set_len,
};
use super::names::guards;
use super::open::{existing, reopen, status_flags};
use super::path::{PathArg, handle_path, wide};
use super::privilege::with_privilege;
use super::status::{stat, status};
use super::transfer::write_at;
use super::volume::{cluster, file_system};
use crate::sys::code::{Code, Result, unsupported};
use crate::sys::file_system::FileSystemKind;
use crate::sys::types::{Advice, Allocate, FileKind, InodeFlags, LockRequest, Space, Time};

/// A path that does not exist: the system has no files about processes and the machine.
pub const PROC: &str = r"\\.\no-proc";

pub const SYS: &str = r"\\.\no-sys";

pub fn space(file: impl AsHandle) -> Result<Space> {
    space_of(handle_path(&file))
}

pub fn space_of(path: impl PathArg) -> Result<Space> {
    let path = path.to_path();
    let given = std::path::Path::new(&*path);
    let path = match given.is_dir() {
        true => given.to_owned(),
        false => {
            given.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(".".as_ref()).to_owned()
        }
    };
    let wide = wide(&path.join(""))?;
    let (mut available, mut total, mut free) = (0, 0, 0);
    // SAFETY: the path ends with a zero; the call writes the three numbers.
    check(unsafe {
        fs::GetDiskFreeSpaceExW(wide.as_ptr(), &raw mut available, &raw mut total, &raw mut free)
    })?;
    // The target of a link may be on another volume.
    let serial = stat(given).or_else(|_| stat(&path)).map_or(0, |status| status.dev);
    let unit = cluster(&path).unwrap_or(4096);
    Ok(Space { id: serial, block: unit, unit, total, free, available })
}

/// Does nothing: sockets are not files here.
pub fn end_writes(_: impl AsHandle) {}

/// Sets or releases a lock of the whole file, without waiting. The lock covers a byte beyond the end of every file, so that it
/// binds no transfers.
pub fn lock_whole(file: impl AsHandle, request: LockRequest) -> Result<()> {
    let end = i64::MAX as u64;
    lock_range(file.as_handle(), &(end - 1..end), request, false)
}

/// Unsupported: Windows can copy only whole files.
pub fn copy_range(_: impl AsHandle, _: &mut u64, _: impl AsHandle, _: &mut u64, _: usize) -> Result<usize> {
    Err(Code::NOT_IMPLEMENTED)
}

/// Lets a file have holes: ranges that are not written take no space.
pub fn make_sparse(file: impl AsHandle) -> Result<()> {
    control(&file, ioctl::FSCTL_SET_SPARSE, &())
}

/// Declares the first bytes of a file as written, with the privilege for it if the user has it. A file that is open for this
/// process alone must have been opened with the privilege, because it cannot be opened again.
pub fn set_valid_length(file: impl AsHandle, len: u64) -> Result<()> {
    let len = i64::try_from(len).map_err(|_| Code::INVALID)?;
    // The system checks the privilege when the handle is opened.
    let declare = || {
        let own = match reopen(&file, OpenFlags::WRITE) {
            Ok(own) => Some(own),
            Err(Code::HELD) => None,
            Err(error) => return Err(error),
        };
        let file = own.as_ref().map_or(file.as_handle(), AsHandle::as_handle);
        // SAFETY: a call with an open handle.
        check(unsafe { fs::SetFileValidData(raw(&file) as _, len) })
    };
    match declare() {
        Err(Code::NOT_PERMITTED) => with_privilege("SeManageVolumePrivilege", declare),
        outcome => outcome,
    }
}

pub fn truncate(file: impl AsHandle, len: u64) -> Result<()> {
    writing(&file, |file| set_len(&file, len))
}

/// Makes a call that needs the right to write anywhere in the file: a handle that appends lacks it.
fn writing(file: &impl AsHandle, call: impl Fn(BorrowedHandle<'_>) -> Result<()>) -> Result<()> {
    match call(file.as_handle()) {
        Err(Code::ACCESS_DENIED)
            if status_flags(file).is_ok_and(|flags| flags.contains(OpenFlags::APPEND)) =>
        {
            call(reopen(file, OpenFlags::WRITE)?.as_handle())
        }
        outcome => outcome,
    }
}

pub fn allocate(file: impl AsHandle, what: Allocate, offset: u64, len: u64) -> Result<()> {
    writing(&file, |file| allocate_by(file, what, offset, len))
}

fn allocate_by(file: BorrowedHandle<'_>, what: Allocate, offset: u64, len: u64) -> Result<()> {
    if !on_disk(&file) {
        return Err(Code::UNSUPPORTED);
    }
    let end = offset.checked_add(len).and_then(|end| i64::try_from(end).ok()).ok_or(Code::INVALID)?;
    match what {
        Allocate::Extend | Allocate::KeepLength => {
            let found = status(file)?;
            // A sparse or compressed file has less than its length, and loses what follows an allocation that is set.
            if end as u64 > found.allocated().max(found.size) {
                let wanted = fs::FILE_ALLOCATION_INFO { AllocationSize: end };
                set(&file, fs::FileAllocationInfo, &wanted).map_err(|error| {
                    let more = end as u64 - found.allocated().min(end as u64);
                    match error {
                        // The answer to more than the volume can hold.
                        Code::INVALID if space(file).is_ok_and(|room| more > room.free) => Code::NO_SPACE,
                        error => error.or_unsupported(),
                    }
                })?;
                // Wine reports success, and on some file systems reserves nothing.
                // Not in blocks: a file in the file table has less than one.
                if query::<fs::FILE_STANDARD_INFO>(&file, fs::FileStandardInfo)?.AllocationSize < end {
                    return Err(Code::UNSUPPORTED);
                }
            }
            match what == Allocate::Extend && end as u64 > found.size {
                true => truncate(file, end as u64),
                false => Ok(()),
            }
        }
        Allocate::Punch | Allocate::Zero => {
            if what == Allocate::Punch {
                make_sparse(file).map_err(Code::or_unsupported)?;
            }
            let len = i64::try_from(status(file)?.size).map_err(|_| Code::INVALID)?;
            // To the system, a range that ends before it begins is an error.
            if offset >= len as u64 {
                return Ok(());
            }
            const WITH_HOLES: u32 = fs::FILE_ATTRIBUTE_SPARSE_FILE | fs::FILE_ATTRIBUTE_COMPRESSED;
            if what == Allocate::Zero && attribute_bits(&file)? & WITH_HOLES != 0 {
                return write_zeros(&file, offset..end.min(len) as u64);
            }
            let range = ioctl::FILE_ZERO_DATA_INFORMATION {
                FileOffset: offset as i64,
                BeyondFinalZero: end.min(len),
            };
            control(&file, ioctl::FSCTL_SET_ZERO_DATA, &range).map_err(Code::or_unsupported)
        }
    }
}

/// Writes zeros to a range of a file that would lose the blocks if the system zeroed the range.
fn write_zeros(file: &impl AsHandle, range: Range<u64>) -> Result<()> {
    // A handle that appends or bypasses the cache could not write there.
    let own = match status_flags(file)?.intersects(OpenFlags::APPEND | OpenFlags::DIRECT) {
        true => Some(reopen(file, OpenFlags::WRITE)?),
        false => None,
    };
    let file = own.as_ref().map_or(file.as_handle(), AsHandle::as_handle);
    let zeros = vec![0; (range.end - range.start).min(1 << 20) as usize];
    let mut at = range.start;
    while at < range.end {
        let len = (range.end - at).min(zeros.len() as u64) as usize;
        match write_at(file, &zeros[..len], at)? {
            0 => return Err(Code::IO),
            moved => at += moved as u64,
        }
    }
    Ok(())
}

/// True: the system drops the pages of a file when it is opened again without the cache, while nobody has it open with the cache.
pub const DROPS_BY_REOPENING: bool = true;

/// False: a mapping drops no pages.
pub const DROPS_BY_MAPPING: bool = false;

/// True: flushing a view flushes the cache of the device, too.
pub const VIEWS_FLUSH_DEVICES: bool = true;

/// True: `FILE_FLAG_WRITE_THROUGH` makes the system bypass or flush the cache of the device.
pub const WRITE_THROUGH_FLUSHES_DEVICES: bool = true;

/// True: a hole has no data.
pub const HOLES_HAVE_NO_DATA: bool = true;

/// Passes a hint to the system, which takes most hints only when it opens a file. But opening without buffering drops
/// the pages of the whole file, if all its handles are without buffering; whether they were dropped cannot be seen.
pub fn advise(file: impl AsHandle, _: u64, _: Option<u64>, advice: Advice) -> Result<()> {
    match advice {
        Advice::DontNeed if !status_flags(&file)?.contains(OpenFlags::DIRECT) => Err(Code::UNSUPPORTED),
        Advice::DontNeed => reopen(&file, OpenFlags::READ | OpenFlags::DIRECT).map(drop),
        Advice::Sequential => expect_sequential(&file).map_err(Code::or_unsupported),
        Advice::Random | Advice::WillNeed | Advice::NoReuse => Err(Code::UNSUPPORTED),
    }
}

/// Sets the mode of an open file that `FILE_FLAG_SEQUENTIAL_SCAN` sets when it is opened.
fn expect_sequential(file: &impl AsHandle) -> Result<()> {
    /// The parts of a mode that can be set, of which those that are not given are cleared.
    const SETTABLE: u32 = nt::FILE_WRITE_THROUGH
        | nt::FILE_SEQUENTIAL_ONLY
        | nt::FILE_SYNCHRONOUS_IO_ALERT
        | nt::FILE_SYNCHRONOUS_IO_NONALERT;
    let found: nt::FILE_MODE_INFORMATION = query_native(file, nt::FileModeInformation)?;
    let wanted = nt::FILE_MODE_INFORMATION { Mode: found.Mode & SETTABLE | nt::FILE_SEQUENTIAL_ONLY };
    let (mut block, size) = (IO_STATUS_BLOCK::default(), size_of_val(&wanted) as u32);
    // SAFETY: the call reads the structure and writes its block, which live through it.
    check_status(unsafe {
        let file = raw(file) as _;
        nt::NtSetInformationFile(
            file,
            &raw mut block,
            (&raw const wanted).cast(),
            size,
            nt::FileModeInformation,
        )
    })
}

/// Drops the system's standby list: file pages that no program uses. Needs a privilege of administrators; shows no failure.
pub fn purge_unused_pages() -> Result<()> {
    type SetInformation = unsafe extern "system" fn(i32, *const u32, u32) -> w::NTSTATUS;
    /// `SystemMemoryListInformation`, which the headers lack, and its command `MemoryPurgeStandbyList`.
    const MEMORY_LIST: i32 = 80;
    const PURGE_STANDBY_LIST: u32 = 4;
    let function = function("ntdll.dll", c"NtSetSystemInformation").ok_or(Code::NOT_IMPLEMENTED)?;
    with_privilege("SeProfileSingleProcessPrivilege", || {
        // SAFETY: the function has this type, and reads one command.
        check_status(unsafe {
            let set = std::mem::transmute::<Function, SetInformation>(function);
            set(MEMORY_LIST, &PURGE_STANDBY_LIST, size_of::<u32>() as u32)
        })
    })
}

/// Makes the content of a file durable, with the metadata needed to read it.
pub fn sync_data(file: impl AsHandle) -> Result<()> {
    flush(file, FLUSH_FLAGS_FILE_DATA_SYNC_ONLY)
}

/// Makes content and metadata durable. The journal covers names, so for a directory, which cannot be flushed, the call succeeds.
pub fn sync_all(file: impl AsHandle) -> Result<()> {
    flush(file, 0)
}

/// Flags of `NtFlushBuffersFileEx`, which the headers lack.
const FLUSH_FLAGS_NO_SYNC: u32 = 2;
const FLUSH_FLAGS_FILE_DATA_SYNC_ONLY: u32 = 4;

/// Flushes a file, everything where the flags of NTFS are missing. A file open for reading only is opened again, since flushing
/// needs the right to write. Pipes have nothing to flush: the system would wait for their reader.
fn flush(file: impl AsHandle, flags: u32) -> Result<()> {
    if !on_disk(&file) {
        return Err(Code::INVALID);
    }
    let whole = |file: RawHandle| {
        // SAFETY: a call with a borrowed handle.
        check(unsafe { fs::FlushFileBuffers(file as _) })
    };
    let once = |file: RawHandle| match flags {
        0 => whole(file),
        flags => match flush_with(file, flags) {
            Err(error) if error.is_absent() => whole(file),
            outcome => outcome,
        },
    };
    match once(raw(&file)) {
        Err(Code::ACCESS_DENIED | Code::INAPPROPRIATE) => match status(&file)?.kind() {
            FileKind::Directory => Ok(()),
            _ => once(raw(&writable(&file)?)),
        },
        outcome => outcome,
    }
}

/// Opens a file again for writing; clears the attribute READONLY for a moment if it is set.
fn writable(file: &impl AsHandle) -> Result<Handle> {
    match reopen(file, OpenFlags::WRITE) {
        Err(Code::ACCESS_DENIED) if guards(file, false)? => {
            let opened = reopen(file, OpenFlags::WRITE);
            guards(file, true)?;
            opened
        }
        opened => opened,
    }
}

fn flush_with(file: RawHandle, flags: u32) -> Result<()> {
    type Flush =
        unsafe extern "system" fn(w::HANDLE, u32, *const c_void, u32, *mut IO_STATUS_BLOCK) -> w::NTSTATUS;
    let function = function("ntdll.dll", c"NtFlushBuffersFileEx").ok_or(Code::NOT_IMPLEMENTED)?;
    let mut outcome = IO_STATUS_BLOCK::default();
    // SAFETY: the function has this type, and the call ends before `outcome` does.
    check_status(unsafe {
        let flush = std::mem::transmute::<Function, Flush>(function);
        flush(file as _, flags, std::ptr::null(), 0, &raw mut outcome)
    })
}

/// False: files are synced one by one.
pub const SYNCS_FILE_SYSTEMS: bool = false;

/// True: an access list can deny the file's owner other changes.
pub const LISTS_RESTRICT_OWNERS: bool = true;

/// False: a directory cannot be flushed. Flushing a file makes its name durable.
pub const SYNCS_DIRECTORIES: bool = false;

unsupported! {
    /// Flushing a volume needs a handle of the volume, which only administrators get.
    fn sync_file_system(impl AsHandle) -> ();
}

pub fn file_system_kind(file: impl AsHandle) -> Result<FileSystemKind> {
    let (name, _) = file_system(&file)?;
    Ok(FileSystemKind::named(match &*name.to_string_lossy() {
        "NTFS" => "ntfs",
        "FAT" | "FAT32" => "vfat",
        "exFAT" => "exfat",
        _ => "",
    }))
}

pub fn file_system_kind_of(path: impl PathArg) -> Result<FileSystemKind> {
    file_system_kind(existing(&CURRENT_DIRECTORY, &path, fs::FILE_READ_ATTRIBUTES, 0)?)
}

/// True if [`memory_file`] makes a file in memory, and not on a disk.
pub const MEMORY_FILES: bool = false;

/// Creates a file in the directory of temporary files that the system removes when it is closed.
pub fn memory_file(name: &str) -> Result<Handle> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!(".{name}-{}-{number}", std::process::id()));
    // SAFETY: the path ends with a zero and lives through the call, whose handle nobody else has.
    unsafe {
        owned(fs::CreateFileW(
            wide(&path)?.as_ptr(),
            fs::FILE_GENERIC_READ | fs::FILE_GENERIC_WRITE | fs::DELETE,
            fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE,
            std::ptr::null(),
            fs::CREATE_NEW,
            fs::FILE_ATTRIBUTE_TEMPORARY | fs::FILE_FLAG_DELETE_ON_CLOSE,
            std::ptr::null_mut(),
        ))
    }
}

/// There are no such flags: the attribute READONLY is that of the mode, and a file with it can be replaced.
pub fn inode_flags(_: impl AsHandle) -> Result<InodeFlags> {
    Ok(InodeFlags { immutable: false, append_only: false })
}

pub fn coarse_time() -> Time {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as i64, now.subsec_nanos().into())
}

pub fn monotonic_nanoseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// Writeback cannot be started without waiting.
pub(crate) fn start_writeback(_: BorrowedHandle<'_>, _: Range<u64>) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// Writes the dirty pages of the file, since the system writes back whole files only, and waits until they are clean. The cache of the
/// device may still hold them then.
pub(crate) fn finish_writeback(file: BorrowedHandle<'_>, _: Range<u64>) -> Result<()> {
    flush(file, FLUSH_FLAGS_NO_SYNC)
}

/// Sets or releases the lock of a range, which belongs to the open file and here binds the transfers of others, too. Without `wait`,
/// fails with [`Code::WOULD_BLOCK`] if another has a lock that conflicts.
pub(crate) fn lock_range(
    file: BorrowedHandle<'_>,
    range: &Range<u64>,
    request: LockRequest,
    wait: bool,
) -> Result<()> {
    let mut at = awaited_at(range.start);
    // No file is longer.
    let end = range.end.min(i64::MAX as u64).max(range.start + 1);
    let len = end - range.start;
    let (low, high, handle) = (len as u32, (len >> 32) as u32, raw(&file) as _);
    let kind = match request {
        // SAFETY: the structure lives through the call.
        LockRequest::None => return check(unsafe { fs::UnlockFileEx(handle, 0, low, high, &raw mut at) }),
        LockRequest::Shared => 0,
        LockRequest::Exclusive => fs::LOCKFILE_EXCLUSIVE_LOCK,
    };
    // The system takes any lock of any file; elsewhere a shared lock needs the right to read, an exclusive one that to write.
    let lacking = if kind == 0 { OpenFlags::WRITE } else { OpenFlags::READ };
    let flags = status_flags(file)?;
    // A handle that only appends has neither right.
    if flags & OpenFlags::ACCESS == lacking
        || flags & OpenFlags::ACCESS == OpenFlags::WRITE && flags.contains(OpenFlags::APPEND)
    {
        return Err(Code::ACCESS_DENIED);
    }
    let waiting = if wait { 0 } else { fs::LOCKFILE_FAIL_IMMEDIATELY };
    // SAFETY: the structure lives until the call has ended.
    let started = unsafe { fs::LockFileEx(handle, kind | waiting, 0, low, high, &raw mut at) };
    match ended(&file, started, &mut at).map_err(|error| Code::from_number(error as i32)) {
        Ok(_) => Ok(()),
        // A transfer that fails for a lock is another matter: nobody waits.
        Err(Code::LOCKED) => Err(Code::WOULD_BLOCK),
        Err(error) => Err(error),
    }
}

/// No call shows the pages of a file in the page cache.
pub(crate) fn resident_pages(_: BorrowedHandle<'_>, _: u64, _: u64) -> io::Result<u64> {
    let what = "no call of this system shows which pages of a file are cached";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

#[cfg(test)]
mod tests {
    use super::super::open::open;
    use super::*;

    #[test]
    fn zeros_are_written_at_their_place_by_handles_of_any_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for flags in [OpenFlags::empty(), OpenFlags::APPEND, OpenFlags::DIRECT] {
            std::fs::write(&path, [7; 10_000]).unwrap();
            let file = open(&path, OpenFlags::READ_WRITE | flags, 0).unwrap();
            write_zeros(&file, 3..9_001).unwrap();
            let found = std::fs::read(&path).unwrap();
            let zero = |index| (3..9_001).contains(&index);
            assert!(found.len() == 10_000, "{flags:?}");
            assert!(found.iter().enumerate().all(|(index, &byte)| (byte == 0) == zero(index)), "{flags:?}");
        }
    }

    #[test]
    fn blocks_of_existing_bytes_and_holes_behind_the_end_leave_a_file_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = open(&path, OpenFlags::READ_WRITE | OpenFlags::CREATE, 0o666).unwrap();
        // Without blocks, as a sparse file.
        truncate(&file, 1 << 20).unwrap();
        for what in [Allocate::KeepLength, Allocate::Extend] {
            allocate(&file, what, 0, 4096).unwrap();
            allocate(&file, what, 4096, (1 << 20) - 4096).unwrap();
        }
        for offset in [1 << 20, 1 << 30] {
            allocate(&file, Allocate::Zero, offset, 4096).unwrap();
            // A system without holes returns an error.
            let punched = allocate(&file, Allocate::Punch, offset, 4096);
            assert!(matches!(punched, Ok(()) | Err(Code::UNSUPPORTED)), "{punched:?}");
        }
        assert_eq!(status(&file).unwrap().size, 1 << 20);
    }
}
