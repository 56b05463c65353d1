//! Locks on ranges of bytes that belong to an open file. Here they bind the transfers of others, too.

use std::io;
use std::ops::Range;

use windows_sys::Win32::Storage::FileSystem as fs;

use super::super::LockRequest;
use super::code::{check, check_lock};
use super::files::WHOLE_LOCK;
use super::handle::raw;
use super::information::call_at;
use super::{BorrowedHandle, Code, OpenFlags, Result, status_flags};

fn call(file: BorrowedHandle<'_>, range: &Range<u64>, request: LockRequest, waiting: u32) -> Result<()> {
    let mut at = call_at(range.start);
    // The byte behind has the lock of the whole file, which is independent. No file is longer.
    let end = range.end.min(WHOLE_LOCK).max(range.start + 1);
    let len = end - range.start;
    let (low, high, handle) = (len as u32, (len >> 32) as u32, raw(&file) as _);
    let kind = match request {
        // SAFETY: the structure lives through the call.
        LockRequest::None => return check(unsafe { fs::UnlockFileEx(handle, 0, low, high, &raw mut at) }),
        LockRequest::Shared => 0,
        LockRequest::Exclusive => fs::LOCKFILE_EXCLUSIVE_LOCK,
    };
    // The system takes any lock of any file; elsewhere a shared one needs the right to read, another that to write.
    let lacking = if kind == 0 { OpenFlags::WRITE } else { OpenFlags::READ };
    if status_flags(file)? & OpenFlags::ACCESS == lacking {
        return Err(Code::ACCESS_DENIED);
    }
    // SAFETY: the structure lives through the call; the handle is synchronous, so the call ends with the lock.
    check_lock(unsafe { fs::LockFileEx(handle, kind | waiting, 0, low, high, &raw mut at) })
}

/// Sets or releases the lock of a range; waits for conflicting locks.
pub(crate) fn set(file: BorrowedHandle<'_>, range: &Range<u64>, request: LockRequest) -> io::Result<()> {
    Ok(call(file, range, request, 0)?)
}

/// Like [`set`] without waiting; returns true on success.
pub(crate) fn try_set(
    file: BorrowedHandle<'_>,
    range: &Range<u64>,
    request: LockRequest,
) -> io::Result<bool> {
    match call(file, range, request, fs::LOCKFILE_FAIL_IMMEDIATELY) {
        Ok(()) => Ok(true),
        Err(Code::LOCKED | Code::WOULD_BLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
