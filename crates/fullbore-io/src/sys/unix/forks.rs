//! Number of forks between the start of the program and this process, without a system call: `getpid` is one.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns a number that differs in a forked child. Children created without the C library (a bare `clone`) are not
/// detected.
pub(crate) fn forks() -> u32 {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler is async-signal-safe. If registering it fails (no memory), a misuse goes unreported.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
    FORKS.load(Ordering::Relaxed)
}
