//! How often this process was forked on the way here, without a system call: `getpid` is one.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A number that differs in a forked child. Children that the C library knows nothing of (a bare `clone`) are not seen.
pub(crate) fn forks() -> u32 {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler is async-signal-safe. That it could not be noted (no memory) only means that a misuse
        // is not told.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
    FORKS.load(Ordering::Relaxed)
}
