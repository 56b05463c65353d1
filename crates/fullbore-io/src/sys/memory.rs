//! Memory: anonymous, and the table of the mappings whose faults do not end the process.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(unix)]
use rustix::mm::{MapFlags, ProtFlags};
#[cfg(windows)]
use windows_sys::Win32::System::Memory as memory;

#[cfg(unix)]
pub(crate) type IoVec = libc::iovec;

#[cfg(windows)]
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct IoVec {
    pub(crate) iov_base: *mut core::ffi::c_void,
    pub(crate) iov_len: usize,
}

/// Maps `len` bytes of zeros at an address of the system's choice.
pub(crate) fn map(len: usize) -> io::Result<NonNull<u8>> {
    let anywhere = std::ptr::null_mut();
    // SAFETY: new memory at an address of the system's choice aliases nothing.
    #[cfg(unix)]
    let start = unsafe {
        rustix::mm::mmap_anonymous(anywhere, len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?
    };
    // SAFETY: as above.
    #[cfg(windows)]
    let start = unsafe {
        let kind = memory::MEM_RESERVE | memory::MEM_COMMIT;
        memory::VirtualAlloc(anywhere, len, kind, memory::PAGE_READWRITE)
    };
    NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
}

/// True if the system takes the hint of [`prefer_huge_pages`].
pub(crate) const HUGE_PAGES: bool = cfg!(target_os = "linux");

/// Asks for huge pages; a hint that Linux takes. Miri supports mappings but not `madvise`.
///
/// # Safety
/// The range is within a mapping of the caller.
pub(crate) unsafe fn prefer_huge_pages(start: NonNull<u8>, len: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: guaranteed by the caller; the hint keeps the contents.
    let _ = unsafe { rustix::mm::madvise(start.as_ptr().cast(), len, rustix::mm::Advice::LinuxHugepage) };
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, len);
}

/// Unmaps memory.
///
/// # Safety
/// The mapping is the caller's, from [`map`], and nobody uses it afterwards.
pub(crate) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: guaranteed by the caller.
    #[cfg(unix)]
    let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), len) };
    #[cfg(windows)]
    // SAFETY: guaranteed by the caller.
    let _ = (len, unsafe { memory::VirtualFree(start.as_ptr().cast(), 0, memory::MEM_RELEASE) });
}

/// Maximum number of simultaneous mappings: more than the number of workers can be.
const MOST_RANGES: usize = 2048;

/// A mapping that the handler recognises. `start == 0`: vacant; `start == 1`: being initialised.
pub(super) struct MappedRange {
    pub(super) start: AtomicUsize,
    pub(super) end: AtomicUsize,
    pub(super) writable: AtomicBool,
    pub(super) faulted: AtomicBool,
}

pub(super) static RANGES: [MappedRange; MOST_RANGES] = [const {
    MappedRange {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        writable: AtomicBool::new(false),
        faulted: AtomicBool::new(false),
    }
}; MOST_RANGES];

/// The mapping that contains an address, and its addresses. For the handler: only atomics.
fn range_at(address: usize) -> Option<(&'static MappedRange, Range<usize>)> {
    RANGES.iter().find_map(|range| {
        let start = range.start.load(Ordering::Acquire);
        let end = range.end.load(Ordering::Acquire);
        // Another thread may have given the place to another mapping between the two.
        let is_one = start > 1 && range.start.load(Ordering::Relaxed) == start;
        (is_one && (start..end).contains(&address)).then_some((range, start..end))
    })
}

/// Marks the mapping that contains an address, and returns its addresses, and `true` if it is writable. For the handler: only
/// atomics.
pub(super) fn fault_at(address: usize) -> Option<(Range<usize>, bool)> {
    let (range, addresses) = range_at(address)?;
    range.faulted.store(true, Ordering::Release);
    Some((addresses, range.writable.load(Ordering::Relaxed)))
}

/// True if the mapping that contains an address is marked. For the handler: only atomics.
#[cfg(windows)]
pub(super) fn is_faulted(address: usize) -> bool {
    range_at(address).is_some_and(|(range, _)| range.faulted.load(Ordering::Acquire))
}
