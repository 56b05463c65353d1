//! Closing with its error, which a dropped handle discards.

use std::io;
use std::os::windows::io::IntoRawHandle;

use windows_sys::Win32::Foundation::CloseHandle;

use super::Handle;
use super::code::check;

/// Closes a handle. No call reports a failed write here: [`sync_all`](super::sync_all) does.
pub(crate) fn close(handle: Handle) -> io::Result<()> {
    // SAFETY: the handle is owned, given away here, and not used afterwards.
    Ok(check(unsafe { CloseHandle(handle.into_raw_handle()) })?)
}
