//! Mappings of files that report a fault instead of killing the process.
//!
//! A page of a mapped file can vanish under its reader (the file was truncated), fail to be read, or find no space on
//! the disk when it is written. The kernel then raises SIGBUS. The handler here checks whether the address is in one of
//! our mappings; if so, it maps zero pages over the rest of that mapping, marks it and lets the access continue. The
//! user of the bytes calls [`Map::check`] before using a result. Faults at other addresses go to the previous handler.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Maximum number of simultaneous mappings: more than the number of workers can be.
const MOST_RANGES: usize = 2048;

/// A mapping that the handler recognises. `start == 0`: vacant; `start == 1`: being initialised.
struct MappedRange {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

static RANGES: [MappedRange; MOST_RANGES] = [const {
    MappedRange { start: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) }
}; MOST_RANGES];

/// The handler before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// The page size, for the handler, which must not query it.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// The place of the calling thread's error number.
fn errno_place() -> *mut libc::c_int {
    // SAFETY: the call has no preconditions.
    unsafe {
        #[cfg(target_os = "linux")]
        return libc::__errno_location();
        #[cfg(not(target_os = "linux"))]
        return libc::__error();
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to a handler installed with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    for window in &RANGES {
        let start = window.start.load(Ordering::Acquire);
        let end = window.end.load(Ordering::Relaxed);
        if start > 1 && (start..end).contains(&address) {
            window.faulted.store(true, Ordering::Release);
            let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
            // SAFETY: errno is thread-local and restored below; mmap is a bare system call here; the replaced range is
            // entirely within a mapping that a live `Map` owns, which remains readable and writable.
            unsafe {
                let errno = *errno_place();
                let placed = libc::mmap(
                    page as *mut libc::c_void,
                    end - page,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                );
                *errno_place() = errno;
                if placed != libc::MAP_FAILED {
                    return;
                }
            }
        }
    }
    // Not ours: the access faults again under the previous handler, or ends the process as it would have without ours.
    // SAFETY: restores a disposition that the system returned; calls a handler with the arguments it expects.
    unsafe {
        match PREVIOUS.get() {
            Some(previous)
                if previous.sa_sigaction != libc::SIG_DFL && previous.sa_sigaction != libc::SIG_IGN =>
            {
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(previous.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

/// Installs the handler, once per process.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Option<i32>> = OnceLock::new();
    let failed = INSTALLED.get_or_init(|| {
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        // SAFETY: a zeroed sigaction is valid; both structures live through the call; the handler uses only atomics and
        // bare system calls.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut previous: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction =
                on_bus_error as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) != 0 {
                return Some(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
            }
            let _ = PREVIOUS.set(previous);
        }
        None
    });
    failed.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
}

/// A mapped part of a file.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    len: usize,
    index: usize,
    writable: bool,
}

// SAFETY: a map is memory; shared access goes through `&self`, which only reads.
unsafe impl Send for Map {}
// SAFETY: `&self` only reads; changes of the bytes need `&mut self`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `fd` from `offset`, a multiple of the page size.
    pub(crate) fn new(fd: BorrowedFd<'_>, offset: u64, len: usize, writable: bool) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags};
        install()?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice aliases no memory of this process. The bytes can
        // change during a read if another process writes the file: the operations on them accept any value of each byte
        // and read it once.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, fd, offset)? };
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let address = start.as_ptr() as usize;
        for (index, window) in RANGES.iter().enumerate() {
            if window.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                window.end.store(address + len, Ordering::Relaxed);
                window.faulted.store(false, Ordering::Relaxed);
                window.start.store(address, Ordering::Release);
                return Ok(Self { start, len, index, writable });
            }
        }
        // SAFETY: the mapping is new and has no other user.
        let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), len) };
        Err(io::Error::other("too many mappings at a time"))
    }

    /// The bytes. They are valid only if [`check`](Self::check) returns `true` afterwards.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and readable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, mutable.
    ///
    /// # Panics
    /// If the mapping is read-only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.writable, "the mapping is read-only");
        // SAFETY: mapped and writable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Copies bytes out of the mapping, from `place` on. They are valid only if [`check`](Self::check) returns `true`
    /// afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping.
    pub(crate) fn copy_out(&self, place: usize, data: &mut [u8]) {
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: the range is within the mapping, which remains readable while `self` lives (the handler catches
        // faults); `data` is the caller's own memory. No reference to the mapped bytes exists, so concurrent changes
        // are harmless.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr().add(place), data.as_mut_ptr(), data.len());
        }
    }

    /// Copies `data` to `place` in the mapping. The copy is valid only if [`check`](Self::check) returns `true`
    /// afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping, or the mapping is read-only.
    pub(crate) fn copy_in(&mut self, place: usize, data: &[u8]) {
        assert!(self.writable, "the mapping is read-only");
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: as in `copy_out`, and the mapping is writable.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.start.as_ptr().add(place), data.len());
        }
    }

    /// Waits until all changes of the mapping are on the device (`msync`).
    pub(crate) fn flush(&self) -> io::Result<()> {
        // SAFETY: the range belongs to this map; writing it back does not change it.
        unsafe { Ok(rustix::mm::msync(self.start.as_ptr().cast(), self.len, rustix::mm::MsyncFlags::SYNC)?) }
    }

    /// True if no page was missing in any access so far.
    pub(crate) fn check(&self) -> bool {
        !RANGES[self.index].faulted.load(Ordering::Acquire)
    }

    /// Passes a hint on the use of the mapping to the kernel.
    pub(crate) fn advise(&self, random: bool) -> io::Result<()> {
        let advice = if random { rustix::mm::Advice::Random } else { rustix::mm::Advice::Sequential };
        // SAFETY: the range belongs to this map, and only advice that keeps the contents is passed.
        unsafe { Ok(rustix::mm::madvise(self.start.as_ptr().cast(), self.len, advice)?) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        RANGES[self.index].start.store(0, Ordering::Release);
        // SAFETY: the mapping belongs to this map, and no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_truncated_file_reads_as_zeros_and_is_reported() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 * 1024).unwrap();
        let map = Map::new(file.as_fd(), 0, 64 * 1024, false).unwrap();
        assert_eq!(map.bytes()[0], 0);
        assert!(map.check());
        file.set_len(0).unwrap();
        assert_eq!(map.bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>(), 0);
        assert!(!map.check());
    }
}
