//! Mappings of files, and the handler of SIGBUS, which the kernel raises for a missing page. If the page belongs to one of this
//! crate's mappings, the handler maps zero pages over the rest of the mapping. Faults at other addresses go to the previous handler.
//! The module also finds the pages of a file in the page cache, with `mincore(2)` on a mapping.

use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{Access, AtFlags};
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags};

use super::open::{BorrowedHandle, handle_path};
use crate::sys::code::Result;
use crate::sys::memory::fault_at;

/// The handler before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// The page size, for the handler, which must not query it.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// The flag for pages that do not count towards the limit of committed memory, which other systems do not have.
#[cfg(target_os = "linux")]
const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
#[cfg(not(target_os = "linux"))]
const NO_RESERVE: libc::c_int = 0;

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
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // A signal that a process sent (`kill`), not an access: these codes are negative on Linux, and large on other systems.
    let sent = code <= 0 || code >= 0x1_0000;
    if let Some((Range { end, .. }, writable)) = fault_at(address).filter(|_| !sent) {
        let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
        // Writable pages count towards the limits of committed memory and of data: the rest of a large mapping may exceed them.
        let protection = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        // SAFETY: errno is thread-local and restored below; mmap is a bare system call here; the replaced range is entirely
        // within a mapping that a live `Map` owns, which keeps its protection.
        unsafe {
            let errno = *errno_place();
            let placed = libc::mmap(
                page as *mut libc::c_void,
                end - page,
                protection,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | NO_RESERVE,
                -1,
                0,
            );
            *errno_place() = errno;
            if placed != libc::MAP_FAILED {
                return;
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
            Some(previous) if sent && previous.sa_sigaction == libc::SIG_IGN => return,
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        // No instruction repeats a signal that was sent. The handler of std restores the default, too.
        let mut now: libc::sigaction = std::mem::zeroed();
        if sent
            && libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_DFL
        {
            libc::raise(signal);
        }
    }
}

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

#[derive(Debug)]
pub(in crate::sys) struct View {
    start: NonNull<u8>,
    len: usize,
}

impl View {
    /// Maps `len` bytes of `fd` from `offset`, a multiple of the page size.
    pub(in crate::sys) fn new(
        fd: BorrowedHandle<'_>,
        offset: u64,
        len: usize,
        writable: bool,
    ) -> io::Result<Self> {
        install()?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice aliases no memory of this process. The bytes can
        // change during a read if another process writes the file: the operations on them accept any value of each byte
        // and read it once.
        let start =
            unsafe { rustix::mm::mmap(ptr::null_mut(), len, protection, MapFlags::SHARED, fd, offset)? };
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }

    pub(in crate::sys) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(in crate::sys) fn addresses(&self) -> Range<usize> {
        let start = self.start.as_ptr().addr();
        start..start + self.len
    }

    /// Waits until all changes of the first `len` bytes are on the device (`msync`).
    pub(in crate::sys) fn flush(&self, len: usize) -> Result<()> {
        // SAFETY: the range belongs to this view; writing it back does not change it.
        unsafe { Ok(rustix::mm::msync(self.start.as_ptr().cast(), len, MsyncFlags::SYNC)?) }
    }

    /// Passes a hint on the accesses to the mapping, which begin with the range.
    pub(in crate::sys) fn advise(&self, range: Range<usize>, random: bool) -> Result<()> {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // SAFETY: the range belongs to this view, and only advice that keeps the contents is passed.
        unsafe { Ok(rustix::mm::madvise(self.start.as_ptr().cast(), range.end, advice)?) }
    }

    /// Ends the mapping. No reference into it may exist. Pages that the handler placed are part of it.
    pub(in crate::sys) fn unmap(&self, _: bool) {
        // SAFETY: the mapping belongs to this view, and the caller has no reference into it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Address space of one `mincore` call in bytes.
const WINDOW: u64 = 256 << 20;

/// Counts the resident pages of `length` bytes from `offset`, a multiple of the page size, with `mincore(2)`, in parts.
/// `PermissionDenied` if the kernel would report every page as resident: for a file that the caller neither owns nor may write.
pub(crate) fn resident_pages(fd: BorrowedHandle<'_>, offset: u64, length: u64) -> io::Result<u64> {
    if cfg!(target_os = "freebsd") {
        // By default (`vm.mincore_mapped`) it reports the pages of the process's own mappings alone.
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel reports mapped pages only"));
    }
    if !sees_residency(fd)? {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the kernel reports residency only to the file's owner or a user who may write it",
        ));
    }
    let page = rustix::param::page_size() as u64;
    let mut map = Vec::new();
    let mut resident = 0;
    let mut done = 0;
    while done < length {
        let window = WINDOW.min(length - done);
        resident += resident_in_window(fd, offset + done, window as usize, page as usize, &mut map)?;
        done += window;
    }
    Ok(resident)
}

fn resident_in_window(
    fd: BorrowedHandle<'_>,
    offset: u64,
    length: usize,
    page: usize,
    map: &mut Vec<u8>,
) -> io::Result<u64> {
    let at = libc::off_t::try_from(offset).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    map.clear();
    map.resize(length.div_ceil(page), 0);
    // SAFETY: a new mapping at an address of the kernel's choice replaces no memory of this process.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd(), at) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the range is the new mapping, and `map` has one byte for each of its pages. The mapping is never
    // dereferenced, so truncation of the file does no harm.
    let called = unsafe { libc::mincore(address, length, map.as_mut_ptr().cast()) };
    let called = if called == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: unmaps exactly the mapping made above, to which no reference exists.
    unsafe { libc::munmap(address, length) };
    called?;
    Ok(map.iter().filter(|byte| *byte & 1 == 1).count() as u64)
}

/// The kernel's own condition for correct results of `mincore`: owner, or permission to write.
fn sees_residency(fd: BorrowedHandle<'_>) -> io::Result<bool> {
    let user = rustix::process::geteuid();
    if user.is_root() || rustix::fs::fstat(fd)?.st_uid == user.as_raw() {
        return Ok(true);
    }
    let link = handle_path(&fd);
    Ok(rustix::fs::accessat(rustix::fs::CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok())
}
