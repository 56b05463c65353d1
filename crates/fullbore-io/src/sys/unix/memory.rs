//! Anonymous memory.

use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

/// Maps `len` bytes of zeros at an address of the system's choice.
pub(crate) fn map(len: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a new mapping at an address of the system's choice aliases nothing.
    let start = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            len,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )?
    };
    NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory.into())
}

/// Asks for huge pages; a hint.
///
/// # Safety
/// The range is within a mapping of the caller.
pub(crate) unsafe fn prefer_huge_pages(start: NonNull<u8>, len: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: guaranteed by the caller; the hint keeps the contents.
    let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), len, rustix::mm::Advice::LinuxHugepage) };
    #[cfg(not(target_os = "linux"))]
    let _ = (start, len);
}

/// Unmaps memory.
///
/// # Safety
/// The mapping is the caller's, and nobody uses it afterwards.
pub(crate) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: guaranteed by the caller.
    let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), len) };
}
