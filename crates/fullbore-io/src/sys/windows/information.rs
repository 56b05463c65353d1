//! Facts of open files as structures of the system.

use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Wdk::System::SystemServices::FILE_FS_DEVICE_INFORMATION;
use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_MORE_DATA, STATUS_PENDING};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::{
    DeviceIoControl, GetOverlappedResult, IO_STATUS_BLOCK, OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0,
};
use windows_sys::Win32::System::Ioctl::FILE_DEVICE_NULL;
use windows_sys::Win32::System::Threading::{INFINITE, WaitForSingleObject};
use windows_sys::core::BOOL;

use super::code::{check, check_naming, check_status};
use super::handle::{AsHandle, Handle, Reset, new_event, raw};
use crate::sys::code::{Code, Result};

/// A structure of numbers that the system fills.
///
/// # Safety
/// Zeros, and whatever the system writes, are valid values.
pub(super) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty),+ $(,)?) => {
        // SAFETY: structures of numbers.
        $(unsafe impl Plain for $type {})+
    };
}

plain!(
    fs::FILE_ATTRIBUTE_TAG_INFO,
    fs::FILE_BASIC_INFO,
    fs::FILE_ID_INFO,
    fs::FILE_STANDARD_INFO,
    fs::FILE_STORAGE_INFO,
    fs::BY_HANDLE_FILE_INFORMATION,
    nt::FILE_ACCESS_INFORMATION,
    nt::FILE_MODE_INFORMATION,
);

pub(super) fn query<T: Plain>(file: &impl AsHandle, class: fs::FILE_INFO_BY_HANDLE_CLASS) -> Result<T> {
    let mut found = MaybeUninit::<T>::zeroed();
    let (file, size) = (raw(file) as _, size_of::<T>() as u32);
    // SAFETY: the call writes at most the given number of bytes into the structure.
    check(unsafe { fs::GetFileInformationByHandleEx(file, class, found.as_mut_ptr().cast(), size) })?;
    // SAFETY: a plain structure, which the call filled.
    Ok(unsafe { found.assume_init() })
}

/// The `FILE_ATTRIBUTE_` bits of an open file.
pub(super) fn attribute_bits(file: &impl AsHandle) -> Result<u32> {
    Ok(query::<fs::FILE_BASIC_INFO>(file, fs::FileBasicInfo)?.FileAttributes)
}

/// The volume of an open file, and its number there. File systems without numbers report zero ([MS-FSCC] 2.4.21): there it is
/// computed from the path.
pub(super) fn identity(file: &impl AsHandle) -> Result<(u64, u64)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let (volume, number) = reported_identity(file)?;
    if number != 0 {
        return Ok((volume, number));
    }
    let mut hasher = DefaultHasher::new();
    super::path::handle_path(file).hash(&mut hasher);
    Ok((volume, hasher.finish()))
}

fn reported_identity(file: &impl AsHandle) -> Result<(u64, u64)> {
    if let Ok(found) = query::<fs::FILE_ID_INFO>(file, fs::FileIdInfo) {
        let (low, high) = found.FileId.Identifier.split_at(8);
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        // The upper half is zero except on ReFS.
        let number = number(low) ^ number(high).rotate_left(32);
        if number != 0 {
            return Ok((found.VolumeSerialNumber, number));
        }
    }
    let mut found = fs::BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the call writes the structure, which lives through it.
    check(unsafe { fs::GetFileInformationByHandle(raw(file) as _, &raw mut found) })?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    Ok((found.dwVolumeSerialNumber.into(), number))
}

pub(super) fn set<T: Copy>(
    file: &impl AsHandle,
    class: fs::FILE_INFO_BY_HANDLE_CLASS,
    fact: &T,
) -> Result<()> {
    let (file, size) = (raw(file) as _, size_of::<T>() as u32);
    // SAFETY: the call reads the structure, which lives through it.
    check(unsafe { fs::SetFileInformationByHandle(file, class, std::ptr::from_ref(fact).cast(), size) })
}

/// A fact of an open file, by the native interface.
pub(super) fn query_native<T: Plain>(file: &impl AsHandle, class: nt::FILE_INFORMATION_CLASS) -> Result<T> {
    let mut found = MaybeUninit::<T>::zeroed();
    let mut block = IO_STATUS_BLOCK::default();
    let (file, size) = (raw(file) as _, size_of::<T>() as u32);
    // SAFETY: the call writes at most the given number of bytes into the structure, and its own block.
    check_status(unsafe {
        nt::NtQueryInformationFile(file, &raw mut block, found.as_mut_ptr().cast(), size, class)
    })?;
    // SAFETY: a plain structure, which the call filled.
    Ok(unsafe { found.assume_init() })
}

/// Sets a fact of an open file that ends with a name, by the native interface: a new name or a further one.
pub(super) fn set_name(
    file: &impl AsHandle,
    class: nt::FILE_INFORMATION_CLASS,
    flags: u32,
    root: isize,
    name: &[u16],
) -> Result<()> {
    /// `FILE_RENAME_INFORMATION` and `FILE_LINK_INFORMATION` without the name.
    #[repr(C)]
    struct Head {
        flags: u32,
        root: isize,
        bytes: u32,
    }
    let at = std::mem::offset_of!(Head, bytes) + size_of::<u32>();
    let size = (at + size_of_val(name)).max(size_of::<Head>());
    // Units of eight bytes, so that the structure is aligned.
    let mut memory = vec![0u64; size.div_ceil(8)];
    let start: *mut u8 = memory.as_mut_ptr().cast();
    // SAFETY: the memory is as long as the structure with its name, and aligned for it.
    unsafe {
        start.cast::<Head>().write(Head { flags, root, bytes: size_of_val(name) as u32 });
        start.add(at).copy_from_nonoverlapping(name.as_ptr().cast(), size_of_val(name));
    }
    let mut block = IO_STATUS_BLOCK::default();
    // SAFETY: the call reads the memory, which lives through it.
    check_naming(unsafe {
        nt::NtSetInformationFile(raw(file) as _, &raw mut block, start.cast(), size as u32, class)
    })
}

pub(super) fn call_at(offset: u64) -> OVERLAPPED {
    let place = OVERLAPPED_0_0 { Offset: offset as u32, OffsetHigh: (offset >> 32) as u32 };
    OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: place }, ..Default::default() }
}

/// As [`call_at`], for a call whose end this thread [waits for](ended). The event is the thread's own: a handle is signalled at the end
/// of any of its calls, including those of other threads.
pub(super) fn awaited_at(offset: u64) -> OVERLAPPED {
    thread_local! {
        static EVENT: Option<Handle> = new_event(Reset::ByHand).ok();
    }
    // A thread that is ending has none any more.
    let event = EVENT.try_with(|event| event.as_ref().map(raw)).ok().flatten();
    // The lowest bit keeps the call from a completion port of the handle, whose owner does not know the structure.
    OVERLAPPED { hEvent: event.map_or(0, |event| event | 1) as _, ..call_at(offset) }
}

/// The number of bytes that a call with this structure moved, or the number of its error. On a handle whose calls do not wait, the
/// call may run on: until it has ended, the system writes to the structure and to the memory of the call.
pub(super) fn ended(
    file: &impl AsHandle,
    started: BOOL,
    call: &mut OVERLAPPED,
) -> std::result::Result<usize, u32> {
    let number = if started == 0 { Code::last_number() } else { 0 };
    match number {
        0 => return Ok(call.InternalHigh),
        ERROR_IO_PENDING => {}
        error => return Err(error),
    }
    let event = if call.hEvent.is_null() { raw(file) as _ } else { call.hEvent };
    let call = &raw const *call;
    // SAFETY: the structure lives; the system changes its state once, when the call ends, and signals the event then.
    while unsafe { (&raw const (*call).Internal).read_volatile() } == STATUS_PENDING as usize {
        // SAFETY: a call with an open handle.
        unsafe { WaitForSingleObject(event, INFINITE) };
    }
    fence(Ordering::Acquire);
    let mut moved = 0;
    // SAFETY: the structure is that of a call of this file, which has ended.
    match unsafe { GetOverlappedResult(raw(file) as _, call, &raw mut moved, 0) } {
        0 => Err(Code::last_number()),
        _ => Ok(moved as usize),
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Makes a request of a driver that it answers without data.
pub(super) fn control<T: ?Sized>(file: &impl AsHandle, request: u32, input: &T) -> Result<()> {
    answer(file, request, input, 0).map(drop)
}

/// The answer of a driver to a request, with at most `most` bytes; true if there is more.
pub(super) fn answer<T: ?Sized>(
    file: &impl AsHandle,
    request: u32,
    input: &T,
    most: usize,
) -> Result<(Vec<u8>, bool)> {
    // Units of eight bytes, so that structures are aligned.
    let mut memory = vec![0u64; most.div_ceil(8)];
    let mut call = awaited_at(0);
    // SAFETY: the call reads the input, and writes the structure and at most the given number of bytes, until it has ended.
    let started = unsafe {
        DeviceIoControl(
            raw(file) as _,
            request,
            if size_of_val(input) == 0 { std::ptr::null() } else { std::ptr::from_ref(input).cast() },
            size_of_val(input) as u32,
            if most == 0 { std::ptr::null_mut() } else { memory.as_mut_ptr().cast() },
            most as u32,
            std::ptr::null_mut(),
            &raw mut call,
        )
    };
    let (returned, more) = match ended(file, started, &mut call) {
        Ok(returned) => (returned, false),
        // As much as fits.
        Err(ERROR_MORE_DATA) => (call.InternalHigh, true),
        Err(error) => return Err(Code::from_number(error as i32)),
    };
    let mut bytes: Vec<u8> = memory.iter().flat_map(|unit| unit.to_ne_bytes()).collect();
    bytes.truncate(returned.min(most));
    Ok((bytes, more))
}

pub(super) fn set_len(file: &impl AsHandle, len: u64) -> Result<()> {
    if !on_disk(file) {
        return Err(Code::INVALID);
    }
    let len = i64::try_from(len).map_err(|_| Code::INVALID)?;
    set(file, fs::FileEndOfFileInfo, &fs::FILE_END_OF_FILE_INFO { EndOfFile: len })
}

/// Fails for files without offsets, as the calls of Unix do: those of this system ignore the offset.
pub(super) fn seekable(file: &impl AsHandle) -> Result<()> {
    if on_disk(file) || is_null(file) { Ok(()) } else { Err(Code::NOT_SEEKABLE) }
}

/// False for pipes, consoles and other devices.
pub(super) fn on_disk(file: &impl AsHandle) -> bool {
    !matches!(file_type(file), fs::FILE_TYPE_PIPE | fs::FILE_TYPE_CHAR)
}

pub(super) fn file_type(file: &impl AsHandle) -> fs::FILE_TYPE {
    // SAFETY: a call with a borrowed handle.
    unsafe { fs::GetFileType(raw(file) as _) }
}

/// True for the device that is empty and discards what is written, at any offset.
fn is_null(file: &impl AsHandle) -> bool {
    device_type(file) == Some(FILE_DEVICE_NULL)
}

/// The type of the device that an open file is, or is on.
pub(super) fn device_type(file: &impl AsHandle) -> Option<u32> {
    let mut found = FILE_FS_DEVICE_INFORMATION::default();
    let mut block = IO_STATUS_BLOCK::default();
    let size = size_of_val(&found) as u32;
    // SAFETY: the call writes at most the given number of bytes into the structure, and its own block.
    let status = unsafe {
        nt::NtQueryVolumeInformationFile(
            raw(file) as _,
            &raw mut block,
            (&raw mut found).cast(),
            size,
            nt::FileFsDeviceInformation,
        )
    };
    (status >= 0).then_some(found.DeviceType)
}
