//! Processors that this thread may run on: `sched_getaffinity(2)`, for machines of any size.

use std::io;

/// Returns the number of processors in the affinity mask of the calling thread.
pub(crate) fn allowed() -> io::Result<usize> {
    // 8192 processors, the maximum of the kernel's configuration; the C library's fixed set ends at 1024.
    let mut mask = [0u64; 128];
    // SAFETY: the kernel writes at most the given number of bytes into the array.
    let written =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr()) };
    if written < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(mask.iter().map(|word| word.count_ones() as usize).sum())
}
