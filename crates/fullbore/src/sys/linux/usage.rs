//! What this process and its children have used so far: `getrusage(2)`.

use std::io;
use std::mem::MaybeUninit;

/// Asks for the whole process, its threads included.
pub(crate) fn of_process() -> io::Result<libc::rusage> {
    of(libc::RUSAGE_SELF)
}

/// Asks for the children that ended and were waited for, and theirs.
pub(crate) fn of_children() -> io::Result<libc::rusage> {
    of(libc::RUSAGE_CHILDREN)
}

/// Asks for the thread that asks.
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

/// A `timeval` in seconds.
pub(crate) fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}
