//! Resource use of this process and its children so far: `getrusage(2)`.

use std::io;
use std::mem::MaybeUninit;

use super::super::Usage;

/// Returns the use of the whole process, including its threads.
pub(crate) fn of_process() -> io::Result<Usage> {
    of(libc::RUSAGE_SELF)
}

/// Returns the use of the children that ended and were waited for, and of theirs.
pub(crate) fn of_children() -> io::Result<Usage> {
    of(libc::RUSAGE_CHILDREN)
}

/// Returns the use of the calling thread.
pub(crate) fn of_thread() -> io::Result<Usage> {
    #[cfg(not(target_os = "macos"))]
    return of(libc::RUSAGE_THREAD);
    #[cfg(target_os = "macos")]
    return Err(io::ErrorKind::Unsupported.into());
}

fn of(whom: libc::c_int) -> io::Result<Usage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live struct of the right type, which the call fills.
    if unsafe { libc::getrusage(whom, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and so filled the struct, which is also valid when all zero.
    let usage = unsafe { usage.assume_init() };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Usage {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        // Units of 512 bytes for every device.
        read_bytes: count(usage.ru_inblock) * 512,
        written_bytes: count(usage.ru_oublock) * 512,
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        max_resident: count(usage.ru_maxrss) * if cfg!(target_os = "macos") { 1 } else { 1024 },
    })
}
