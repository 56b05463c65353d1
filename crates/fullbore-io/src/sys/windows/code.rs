//! Error codes: those of Win32.

use std::ffi::CStr;
use std::io;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};

use crate::sys::code::{Code, Result, codes};

codes! {
    ACCESS_DENIED = w::ERROR_ACCESS_DENIED,
    BAD_HANDLE = w::ERROR_INVALID_HANDLE,
    BROKEN_PIPE = w::ERROR_BROKEN_PIPE,
    CANCELLED = w::ERROR_OPERATION_ABORTED,
    CROSSES_DEVICES = w::ERROR_NOT_SAME_DEVICE,
    EXISTS = w::ERROR_ALREADY_EXISTS,
    FAULT = w::ERROR_NOACCESS,
    HELD = w::ERROR_SHARING_VIOLATION,
    INAPPROPRIATE = w::ERROR_INVALID_FUNCTION,
    // No call is interrupted: a code that none returns.
    INTERRUPTED = w::ERROR_ALERTED,
    INVALID = w::ERROR_INVALID_PARAMETER,
    IO = w::ERROR_IO_DEVICE,
    IS_DIRECTORY = w::ERROR_DIRECTORY_NOT_SUPPORTED,
    LINK_LOOP = w::ERROR_STOPPED_ON_SYMLINK,
    LOCKED = w::ERROR_LOCK_VIOLATION,
    MAPPED = w::ERROR_USER_MAPPED_FILE,
    NAME_TOO_LONG = w::ERROR_FILENAME_EXCED_RANGE,
    NOT_DIRECTORY = w::ERROR_DIRECTORY,
    NOT_EMPTY = w::ERROR_DIR_NOT_EMPTY,
    NOT_FOUND = w::ERROR_FILE_NOT_FOUND,
    NOT_IMPLEMENTED = w::ERROR_CALL_NOT_IMPLEMENTED,
    NOT_PERMITTED = w::ERROR_PRIVILEGE_NOT_HELD,
    NOT_SEEKABLE = w::ERROR_SEEK_ON_DEVICE,
    NO_DEVICE = w::ERROR_DEV_NOT_EXIST,
    NO_SPACE = w::ERROR_DISK_FULL,
    NO_SUCH_ADDRESS = w::ERROR_NO_MORE_ITEMS,
    OUT_OF_MEMORY = w::ERROR_NOT_ENOUGH_MEMORY,
    OUT_OF_RANGE = w::ERROR_MORE_DATA,
    OVERFLOW = w::ERROR_ARITHMETIC_OVERFLOW,
    QUOTA = w::ERROR_DISK_QUOTA_EXCEEDED,
    READ_ONLY = w::ERROR_WRITE_PROTECT,
    STALE = w::ERROR_FILE_INVALID,
    TOO_LARGE = w::ERROR_FILE_TOO_LARGE,
    TOO_MANY_NAMES = w::ERROR_TOO_MANY_LINKS,
    TOO_MANY_OPEN = w::ERROR_TOO_MANY_OPEN_FILES,
    TOO_MANY_OPEN_IN_ALL = w::ERROR_NO_SYSTEM_RESOURCES,
    UNSUPPORTED = w::ERROR_NOT_SUPPORTED,
    // `WSAEWOULDBLOCK`, to which the standard library gives this meaning.
    WOULD_BLOCK = 10035,
}

/// Codes of the system, each with the one that the program distinguishes.
const SAME: [(u32, Code); 14] = [
    (w::ERROR_PATH_NOT_FOUND, Code::NOT_FOUND),
    (w::ERROR_INVALID_NAME, Code::NOT_FOUND),
    (w::ERROR_BAD_NETPATH, Code::NOT_FOUND),
    (w::ERROR_BAD_NET_NAME, Code::NOT_FOUND),
    // A removed file that another program has open keeps its name.
    (w::ERROR_DELETE_PENDING, Code::HELD),
    (w::ERROR_PIPE_BUSY, Code::HELD),
    (w::ERROR_FILE_EXISTS, Code::EXISTS),
    (w::ERROR_HANDLE_DISK_FULL, Code::NO_SPACE),
    (w::ERROR_NO_DATA, Code::BROKEN_PIPE),
    (w::ERROR_OUTOFMEMORY, Code::OUT_OF_MEMORY),
    (w::ERROR_COMMITMENT_LIMIT, Code::OUT_OF_MEMORY),
    (w::ERROR_WORKING_SET_QUOTA, Code::OUT_OF_MEMORY),
    (w::ERROR_IO_PENDING, Code::WOULD_BLOCK),
    (w::ERROR_CANT_RESOLVE_FILENAME, Code::LINK_LOOP),
];

impl Code {
    /// Returns the code of a number of the system: one for those that mean the same.
    pub fn from_number(number: i32) -> Self {
        let same = SAME.iter().find(|(other, _)| *other as i32 == number);
        same.map_or(Self(number), |(_, code)| *code)
    }

    pub(in crate::sys) fn last_number() -> u32 {
        // SAFETY: the call has no preconditions.
        unsafe { w::GetLastError() }
    }

    pub(in crate::sys) fn of_status(status: w::NTSTATUS) -> Self {
        match status {
            w::STATUS_FILE_IS_A_DIRECTORY => Self::IS_DIRECTORY,
            w::STATUS_NOT_A_DIRECTORY => Self::NOT_DIRECTORY,
            w::STATUS_INVALID_INFO_CLASS | w::STATUS_NOT_IMPLEMENTED => Self::NOT_IMPLEMENTED,
            // SAFETY: the call has no preconditions.
            status => Self::from_number(unsafe { w::RtlNtStatusToDosError(status) } as i32),
        }
    }

    /// True for the answer of a file system that does not have a facility.
    pub(super) fn is_absent(self) -> bool {
        [Self::UNSUPPORTED, Self::NOT_IMPLEMENTED, Self::INAPPROPRIATE, Self::INVALID].contains(&self)
    }

    /// [`UNSUPPORTED`](Self::UNSUPPORTED) for such an answer.
    pub(super) fn or_unsupported(self) -> Self {
        if self.is_absent() { Self::UNSUPPORTED } else { self }
    }
}

/// The error of std, in which the kind alone marks an interruption.
impl From<Code> for io::Error {
    fn from(code: Code) -> Self {
        match code {
            Code::INTERRUPTED => io::ErrorKind::Interrupted.into(),
            code => Self::from_raw_os_error(code.number()),
        }
    }
}

/// The result of a call of Win32: zero means failure.
pub(super) fn check(result: windows_sys::core::BOOL) -> Result<()> {
    if result == 0 { Err(Code::last()) } else { Ok(()) }
}

/// The result of a call of the native interface that gives a file a name: an invalid name is not reported as a missing one.
pub(super) fn check_naming(status: w::NTSTATUS) -> Result<()> {
    match status {
        w::STATUS_OBJECT_NAME_INVALID => Err(Code(w::ERROR_INVALID_NAME as i32)),
        status => check_status(status),
    }
}

/// The result of a call of the native interface: a negative status means failure.
pub(super) fn check_status(status: w::NTSTATUS) -> Result<()> {
    if status < 0 { Err(Code::of_status(status)) } else { Ok(()) }
}

/// A function of a type that the caller supplies.
pub(super) type Function = unsafe extern "system" fn() -> isize;

/// The function of a library that every program has loaded; `None` if the library lacks it.
pub(super) fn function(library: &str, name: &CStr) -> Option<Function> {
    let library: Vec<u16> = library.encode_utf16().chain([0]).collect();
    // SAFETY: both names end with a zero, and the library stays loaded.
    unsafe {
        let library = GetModuleHandleW(library.as_ptr());
        if library.is_null() { None } else { GetProcAddress(library, name.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_mean_the_same_have_one_code() {
        for (number, code) in [
            (w::ERROR_BAD_NET_NAME, Code::NOT_FOUND),
            (w::ERROR_DELETE_PENDING, Code::HELD),
            (w::ERROR_COMMITMENT_LIMIT, Code::OUT_OF_MEMORY),
            (w::ERROR_ACCESS_DENIED, Code::ACCESS_DENIED),
        ] {
            assert_eq!(Code::from_number(number as i32), code, "{number}");
        }
    }
}
