//! The process: its user, limits, standard streams and the sizes of the system.

use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME};
use windows_sys::Win32::System::Console as console;
use windows_sys::Win32::System::SystemInformation as system;
use windows_sys::Win32::System::Threading as threading;

use super::super::{Limit, Resource};
use super::code::check;
use super::handle::raw;
use super::{AsHandle, BorrowedHandle, Code, Result};

/// A length of time in units of 100 ns.
pub(super) fn units(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// CPU time of the calling thread so far, in the kernel and in the program.
pub(super) fn thread_times() -> Result<(FILETIME, FILETIME)> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the call writes the four times.
    check(unsafe {
        threading::GetThreadTimes(
            threading::GetCurrentThread(),
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        )
    })?;
    Ok((kernel, user))
}

/// CPU time of the calling thread so far.
pub fn thread_cpu_time() -> Duration {
    thread_times()
        .map_or(Duration::ZERO, |(kernel, user)| Duration::from_nanos((units(kernel) + units(user)) * 100))
}

/// The system does not count the waits of a thread.
pub fn thread_waits() -> Option<u64> {
    None
}

/// There are no limits of resources.
pub fn limit(_: Resource) -> Limit {
    Limit { current: None, maximum: None }
}

/// There are no limits to set.
pub fn set_limit(_: Resource, _: Limit) -> Result<()> {
    Ok(())
}

/// The user: all files count as theirs, since owners are not numbers here.
pub fn effective_user() -> u32 {
    1
}

/// The permission bits that new files lack: none.
pub fn umask() -> u32 {
    0
}

/// Ends a process at once.
pub fn kill(process: u32) -> Result<()> {
    // SAFETY: calls with numbers, and with a handle that is open.
    unsafe {
        let process = threading::OpenProcess(threading::PROCESS_TERMINATE, 0, process);
        if process.is_null() {
            return Err(Code::last());
        }
        let ended = check(threading::TerminateProcess(process, 137));
        CloseHandle(process);
        ended
    }
}

fn standard(stream: console::STD_HANDLE) -> BorrowedHandle<'static> {
    // SAFETY: the handles of the standard streams stay open; one that is missing is null, and calls with it fail.
    unsafe { BorrowedHandle::borrow_raw(console::GetStdHandle(stream)) }
}

/// The standard input.
pub fn stdin() -> BorrowedHandle<'static> {
    standard(console::STD_INPUT_HANDLE)
}

/// The standard output.
pub fn stdout() -> BorrowedHandle<'static> {
    standard(console::STD_OUTPUT_HANDLE)
}

/// The width of a terminal in characters.
pub fn terminal_columns(terminal: impl AsHandle) -> Result<u16> {
    let mut found = console::CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the call writes the structure, which lives through it.
    check(unsafe { console::GetConsoleScreenBufferInfo(raw(&terminal) as _, &raw mut found) })?;
    u16::try_from(found.srWindow.Right - found.srWindow.Left + 1).map_err(|_| Code::INVALID)
}

/// The encoding that the console had before [`use_utf8_console`]; 0: it was not changed.
static ENCODING: AtomicU32 = AtomicU32::new(0);

/// Lets a console that is the standard output take UTF-8: it would take the bytes for those of its code page.
pub fn use_utf8_console() {
    const UTF_8: u32 = 65001;
    let mut mode = 0;
    // SAFETY: calls with numbers, and with a handle that stays open; the first writes the mode.
    unsafe {
        if console::GetConsoleMode(raw(&stdout()) as _, &raw mut mode) != 0 {
            let before = console::GetConsoleOutputCP();
            if before != UTF_8 && console::SetConsoleOutputCP(UTF_8) != 0 {
                ENCODING.store(before, Ordering::Relaxed);
            }
        }
    }
}

/// Restores the encoding of the console, which outlives the process.
pub fn restore_console() {
    let before = ENCODING.swap(0, Ordering::Relaxed);
    if before != 0 {
        // SAFETY: a call with a number.
        unsafe { console::SetConsoleOutputCP(before) };
    }
}

/// Calls a function, on a thread of its own, when the user or the system ends the process: by Ctrl-C or Ctrl-Break, by closing
/// the console, at the end of the session.
pub fn on_console_event(call: fn()) -> Result<()> {
    static CALL: OnceLock<fn()> = OnceLock::new();
    unsafe extern "system" fn handler(_: u32) -> windows_sys::core::BOOL {
        CALL.get().map_or(0, |call| {
            call();
            1
        })
    }
    let _ = CALL.set(call);
    // SAFETY: the handler reads a value that was set before, and calls a safe function.
    check(unsafe { console::SetConsoleCtrlHandler(Some(handler), 1) })
}

/// The size of a page of memory, in bytes.
pub fn page_size() -> usize {
    information().dwPageSize as usize
}

/// The unit of offsets of mappings, in bytes.
pub(super) fn mapping_unit() -> u64 {
    information().dwAllocationGranularity.into()
}

fn information() -> system::SYSTEM_INFO {
    let mut found = MaybeUninit::<system::SYSTEM_INFO>::zeroed();
    // SAFETY: the call fills the structure.
    unsafe {
        system::GetSystemInfo(found.as_mut_ptr());
        found.assume_init()
    }
}

/// The unit of times in the kernel's files, which do not exist here.
pub fn clock_ticks_per_second() -> u64 {
    100
}

/// The release of the system.
pub(crate) fn kernel_release() -> String {
    let mut found = windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<system::OSVERSIONINFOW>() as u32,
        ..Default::default()
    };
    // SAFETY: the call writes the structure, whose size it knows.
    unsafe { windows_sys::Wdk::System::SystemServices::RtlGetVersion(&raw mut found) };
    format!("{}.{}.{}", found.dwMajorVersion, found.dwMinorVersion, found.dwBuildNumber)
}

/// The memory of the machine, in bytes.
pub(crate) fn memory_total() -> Option<u64> {
    memory_status().map(|found| found.ullTotalPhys)
}

/// The memory that programs may use without swapping, in bytes.
pub(crate) fn memory_available() -> Option<u64> {
    memory_status().map(|found| found.ullAvailPhys)
}

fn memory_status() -> Option<system::MEMORYSTATUSEX> {
    let mut found =
        system::MEMORYSTATUSEX { dwLength: size_of::<system::MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the call writes the structure, whose size it knows.
    check(unsafe { system::GlobalMemoryStatusEx(&raw mut found) }).ok()?;
    Some(found)
}
