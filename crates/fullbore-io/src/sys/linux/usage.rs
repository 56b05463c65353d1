//! Resource use of this process and its children so far: `getrusage(2)`.

use std::io;
use std::mem::MaybeUninit;

/// Returns the use of the whole process, including its threads.
pub(crate) fn of_process() -> io::Result<libc::rusage> {
    of(libc::RUSAGE_SELF)
}

/// Returns the use of the children that ended and were waited for, and of theirs.
pub(crate) fn of_children() -> io::Result<libc::rusage> {
    of(libc::RUSAGE_CHILDREN)
}

/// Returns the use of the calling thread.
pub(crate) fn of_thread() -> io::Result<libc::rusage> {
    of(libc::RUSAGE_THREAD)
}

fn of(whom: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live struct of the right type, which the call fills.
    if unsafe { libc::getrusage(whom, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and so filled the struct, which is also valid when all zero.
    Ok(unsafe { usage.assume_init() })
}

/// Converts a `timeval` to seconds.
pub(crate) fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
