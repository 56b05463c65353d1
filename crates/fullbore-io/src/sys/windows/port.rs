//! Completion ports.

use std::io;
use std::os::windows::io::{FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::System::IO as overlapped;

use super::handle::raw;
use super::{AsHandle, Code, Handle, Result};

/// A port that collects the completions of the files attached to it.
#[derive(Debug)]
pub(super) struct Port(Handle);

impl Port {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: a call without a file makes a new port.
        let port = unsafe {
            overlapped::CreateIoCompletionPort(w::INVALID_HANDLE_VALUE, std::ptr::null_mut(), 0, 0)
        };
        if port.is_null() {
            return Err(Code::last());
        }
        // SAFETY: the call succeeded, so the handle is open and nobody else has it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(port) }))
    }

    /// Attaches a file that was opened for overlapped transfers.
    pub(super) fn attach(&self, file: &impl AsHandle) -> Result<()> {
        // SAFETY: a call with two open handles.
        let attached = unsafe { overlapped::CreateIoCompletionPort(raw(file) as _, raw(&self.0) as _, 0, 0) };
        if attached.is_null() { Err(Code::last()) } else { Ok(()) }
    }

    /// Takes the available packets; waits for the first up to `time` milliseconds.
    pub(super) fn take<'a>(
        &self,
        time: u32,
        entries: &'a mut [overlapped::OVERLAPPED_ENTRY],
    ) -> io::Result<&'a [overlapped::OVERLAPPED_ENTRY]> {
        let mut count = 0;
        // SAFETY: the call writes at most the given number of entries, and their number.
        let found = unsafe {
            overlapped::GetQueuedCompletionStatusEx(
                raw(&self.0) as _,
                entries.as_mut_ptr(),
                entries.len() as u32,
                &raw mut count,
                time,
                0,
            )
        };
        if found == 0 {
            return match Code::last_number() {
                w::WAIT_TIMEOUT => Ok(&[]),
                error => Err(io::Error::from_raw_os_error(error as i32)),
            };
        }
        Ok(&entries[..count as usize])
    }

    /// Adds a packet.
    pub(super) fn post(&self, call: *const overlapped::OVERLAPPED) {
        // SAFETY: the system passes the address on without using it.
        unsafe { overlapped::PostQueuedCompletionStatus(raw(&self.0) as _, 0, 0, call) };
    }
}
