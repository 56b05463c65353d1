//! Anonymous memory.

use std::io;
use std::ptr::NonNull;

use windows_sys::Win32::System::Memory as memory;

/// Maps `len` bytes of zeros at an address of the system's choice.
pub(crate) fn map(len: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: new memory at an address of the system's choice aliases nothing.
    let start = unsafe {
        memory::VirtualAlloc(
            std::ptr::null(),
            len,
            memory::MEM_RESERVE | memory::MEM_COMMIT,
            memory::PAGE_READWRITE,
        )
    };
    NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
}

/// Large pages need a privilege, and are not asked for.
///
/// # Safety
/// The range is within memory of the caller.
pub(crate) unsafe fn prefer_huge_pages(_: NonNull<u8>, _: usize) {}

/// Releases memory.
///
/// # Safety
/// The memory is the caller's, from [`map`], and nobody uses it afterwards.
pub(crate) unsafe fn unmap(start: NonNull<u8>, _: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe { memory::VirtualFree(start.as_ptr().cast(), 0, memory::MEM_RELEASE) };
}
