//! Pages of a file in the page cache: `mincore(2)`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use rustix::fs::{Access, AtFlags};

/// Address space of one `mincore` call in bytes.
const WINDOW: u64 = 256 << 20;

/// Counts the resident pages of `length` bytes from `offset` with `mincore(2)`, in parts.
///
/// `offset` must be a multiple of the page size, and the descriptor open for reading. Fails with `PermissionDenied` if
/// the kernel would report every page as resident: for a file that the caller neither owns nor may write.
pub(crate) fn mincore(fd: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<u64> {
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
        resident += mincore_window(fd, offset + done, window as usize, page as usize, &mut map)?;
        done += window;
    }
    Ok(resident)
}

fn mincore_window(
    fd: BorrowedFd<'_>,
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
fn sees_residency(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let user = rustix::process::geteuid();
    if user.is_root() || rustix::fs::fstat(fd)?.st_uid == user.as_raw() {
        return Ok(true);
    }
    let link = super::super::handle_path(&fd);
    Ok(rustix::fs::accessat(rustix::fs::CWD, link, Access::WRITE_OK, AtFlags::EACCESS).is_ok())
}
