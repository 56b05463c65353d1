//! Windows of a file mapped into memory that report a fault instead of killing the process.
//!
//! A page of a mapped file can vanish under its reader (the file was truncated), fail to be read, or find no
//! room on the disk when it is written. The kernel says so by SIGBUS. The handler here looks whether the
//! address lies in one of our windows; if so it puts zero pages under the rest of the window, marks the
//! window and lets the access go on. Whoever used the window asks [`Map::check`] before the bytes count.
//! Faults at other addresses go to whichever handler was there before.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many windows can be mapped at a time: more than workers can be.
const MOST_RANGES: usize = 2048;

/// A window that the handler knows. `start == 0`: vacant; `start == 1`: being taken.
struct MappedRange {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

static RANGES: [MappedRange; MOST_RANGES] = [const {
    MappedRange { start: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) }
}; MOST_RANGES];

/// The handler that was there before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// The page size, for the handler, which may not ask.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo to a handler installed with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    for window in &RANGES {
        let start = window.start.load(Ordering::Acquire);
        let end = window.end.load(Ordering::Relaxed);
        if start > 1 && (start..end).contains(&address) {
            window.faulted.store(true, Ordering::Release);
            let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
            // SAFETY: errno is thread-local and is put back below; mmap is a bare system call here; the range
            // replaced lies wholly within a window that a live `Map` owns, which stays readable and writable.
            unsafe {
                let errno = *libc::__errno_location();
                let placed = libc::mmap(
                    page as *mut libc::c_void,
                    end - page,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                );
                *libc::__errno_location() = errno;
                if placed != libc::MAP_FAILED {
                    return;
                }
            }
        }
    }
    // Not ours: the access faults again under the previous handler, or kills as it would have.
    // SAFETY: restoring a disposition that the system gave us; calling a handler with the arguments it expects.
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

/// Installs the handler, once a process.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Option<i32>> = OnceLock::new();
    let failed = INSTALLED.get_or_init(|| {
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        // SAFETY: a zeroed sigaction is valid; both structures live through the call; the handler touches
        // atomics and makes bare system calls only.
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

/// A mapped window of a file.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    len: usize,
    index: usize,
    writable: bool,
}

// SAFETY: a map is memory; shared use goes through `&self`, which only reads.
unsafe impl Send for Map {}
// SAFETY: what `&self` allows only reads; what changes the bytes takes `&mut self`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `fd` from `offset`, a multiple of the page size.
    pub(crate) fn new(fd: BorrowedFd<'_>, offset: u64, len: usize, writable: bool) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags};
        install()?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice aliases no memory of this process. The
        // bytes can change while they are looked at, if another process writes the file: the operations that
        // are given them treat each byte as any value and read it once.
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
        // SAFETY: the mapping was made just now and nobody knows of it.
        let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), len) };
        Err(io::Error::other("too many mapped windows at a time"))
    }

    /// The bytes. What they say counts only if [`check`](Self::check) is `true` afterwards.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and readable for `len` bytes while `self` lives; faults are caught by the handler.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to be changed.
    ///
    /// # Panics
    /// If the window was mapped for reading only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.writable, "the window was mapped for reading");
        // SAFETY: mapped and writable for `len` bytes while `self` lives; faults are caught by the handler.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Copies bytes from `place` of the window out. They count only if [`check`](Self::check) is `true` afterwards.
    ///
    /// # Panics
    /// If that reaches out of the window.
    pub(crate) fn copy_out(&self, place: usize, data: &mut [u8]) {
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside of the window");
        // SAFETY: the range lies within the mapping, which stays readable while `self` lives (faults are caught by
        // the handler); `data` is memory of the caller's own. No reference to the mapped bytes is made, so it is
        // no matter who changes them meanwhile.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr().add(place), data.as_mut_ptr(), data.len());
        }
    }

    /// Copies `data` to `place` of the window. It counts only if [`check`](Self::check) is `true` afterwards.
    ///
    /// # Panics
    /// If that reaches out of the window or it was mapped for reading only.
    pub(crate) fn copy_in(&mut self, place: usize, data: &[u8]) {
        assert!(self.writable, "the window was mapped for reading");
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside of the window");
        // SAFETY: as in `copy_out`, and the mapping is writable.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.start.as_ptr().add(place), data.len());
        }
    }

    /// Waits until what was changed in the window is on the device (`msync`).
    pub(crate) fn flush(&self) -> io::Result<()> {
        // SAFETY: the range is this map's own; writing it back changes nothing of it.
        unsafe { Ok(rustix::mm::msync(self.start.as_ptr().cast(), self.len, rustix::mm::MsyncFlags::SYNC)?) }
    }

    /// Whether every access so far met the file: no page was missing.
    pub(crate) fn check(&self) -> bool {
        !RANGES[self.index].faulted.load(Ordering::Acquire)
    }

    /// Tells the kernel how the window will be used.
    pub(crate) fn advise(&self, advice: rustix::mm::Advice) -> io::Result<()> {
        // SAFETY: the range is this map's own, and only advice that keeps the contents is passed.
        unsafe { Ok(rustix::mm::madvise(self.start.as_ptr().cast(), self.len, advice)?) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        RANGES[self.index].start.store(0, Ordering::Release);
        // SAFETY: the mapping is this map's own, and no reference into it outlives `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_truncated_file_reads_as_zeros_and_says_so() {
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
