//! Handles of open files, and the flags of calls on them.

pub use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle as Handle};

use std::io;
use std::mem::ManuallyDrop;
use std::os::windows::io::{AsRawHandle, FromRawHandle, IntoRawHandle};

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::CreateEventW;

use super::code::check;
use crate::sys::code::{Code, Result};

/// True: opening a file can exclude others by its share mode.
pub const SHARE_MODES: bool = true;

pub type RawHandle = isize;

pub fn raw(file: &impl AsHandle) -> RawHandle {
    file.as_handle().as_raw_handle() as RawHandle
}

/// Calls a function of std's file on a handle, which stays open.
pub(crate) fn by_std<T>(file: &impl AsHandle, call: impl FnOnce(&std::fs::File) -> T) -> T {
    // SAFETY: the handle is open as long as it is borrowed, and this file is not dropped.
    call(&ManuallyDrop::new(unsafe { std::fs::File::from_raw_handle(file.as_handle().as_raw_handle()) }))
}

/// Returns a name for the file of a handle, for messages.
pub fn handle_name(file: &impl AsHandle) -> String {
    format!("handle {}", raw(file))
}

#[doc(hidden)]
#[macro_export]
macro_rules! as_handle {
    ($type:ty, $this:ident => $handle:expr) => {
        impl std::os::windows::io::AsHandle for $type {
            #[inline]
            fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
                let $this = self;
                $handle
            }
        }

        impl std::os::windows::io::AsRawHandle for $type {
            fn as_raw_handle(&self) -> std::os::windows::io::RawHandle {
                std::os::windows::io::AsRawHandle::as_raw_handle(&std::os::windows::io::AsHandle::as_handle(
                    self,
                ))
            }
        }
    };
}

/// The new handle of a call that returns one, or the error of the call.
///
/// # Safety
/// A valid handle is open and has no other owner.
pub(super) unsafe fn owned(handle: HANDLE) -> Result<Handle> {
    match handle {
        INVALID_HANDLE_VALUE => Err(Code::last()),
        handle if handle.is_null() => Err(Code::last()),
        // SAFETY: guaranteed by the caller.
        handle => Ok(unsafe { Handle::from_raw_handle(handle) }),
    }
}

/// The end of the signalled state of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reset {
    /// By a call, or the next transfer with the event.
    ByHand,
    /// By the wait that it ends.
    ByWait,
}

pub(super) fn new_event(reset: Reset) -> Result<Handle> {
    let by_hand = i32::from(reset == Reset::ByHand);
    // SAFETY: a call without memory, whose handle nobody else has.
    unsafe { owned(CreateEventW(std::ptr::null(), by_hand, 0, std::ptr::null())) }
}

/// Closes a handle. No call reports a failed write here: [`sync_all`](super::sync_all) does.
pub(crate) fn close(handle: Handle) -> io::Result<()> {
    // SAFETY: the handle is owned, given away here, and not used afterwards.
    Ok(check(unsafe { CloseHandle(handle.into_raw_handle()) })?)
}

/// Does nothing: no file system reports a failed write only when a handle is closed.
pub fn close_duplicate(_: impl AsHandle) -> Result<()> {
    Ok(())
}

/// The directory in which relative paths begin: a number that no handle has.
// SAFETY: the handle is compared, and never passed to the system.
pub const CURRENT_DIRECTORY: BorrowedHandle<'static> =
    unsafe { BorrowedHandle::borrow_raw(std::ptr::without_provenance_mut(usize::MAX - 99)) };

bitflags::bitflags! {
    /// Flags of opening, with the meaning that they have on Unix.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        const READ = 0;
        const WRITE = 1;
        const READ_WRITE = 2;
        const ACCESS = 3;
        const APPEND = 1 << 2;
        const CREATE = 1 << 3;
        const EXCLUSIVE = 1 << 4;
        const TRUNCATE = 1 << 5;
        const DIRECTORY = 1 << 6;
        const NOFOLLOW = 1 << 7;
        /// Does not wait. Files here do not wait for another process.
        const NONBLOCK = 1 << 8;
        /// A terminal does not become the controlling one, which does not exist here.
        const NOCTTY = 1 << 9;
        /// Writes return after the bytes are durable: `FILE_FLAG_WRITE_THROUGH`.
        const DATA_SYNC = 1 << 10;
        /// Writes return after the bytes and all metadata are durable: the same.
        const SYNC = 1 << 11;
        /// Bypasses the page cache: `FILE_FLAG_NO_BUFFERING`.
        const DIRECT = 1 << 12;
        /// Reads do not change the access time; here they do if the volume keeps it.
        const NOATIME = 0;
        const PATH = 1 << 13;
        /// A new file without a name, which this system does not have.
        const UNNAMED = 1 << 14;
        /// Read in order: `FILE_FLAG_SEQUENTIAL_SCAN`.
        const SEQUENTIAL = 1 << 15;
        /// Read in no order: `FILE_FLAG_RANDOM_ACCESS`.
        const RANDOM = 1 << 16;
        /// Calls do not wait for their transfers: `FILE_FLAG_OVERLAPPED`.
        const OVERLAPPED = 1 << 17;
        /// Others cannot open the file for reading while it is open.
        const DENY_READ = 1 << 18;
        const DENY_WRITE = 1 << 19;
        /// Others cannot remove or rename the file while it is open.
        const DENY_DELETE = 1 << 20;
        /// The handle itself can remove the file.
        const REMOVABLE = 1 << 21;
        /// The system removes the file when the handle is closed, or its process ends.
        const DELETE_ON_CLOSE = 1 << 22;
    }
}

bitflags::bitflags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        const NOFOLLOW = 1;
        const FOLLOW = 1 << 1;
        const REMOVE_DIRECTORY = 1 << 2;
        const EMPTY_PATH = 1 << 3;
    }
}
