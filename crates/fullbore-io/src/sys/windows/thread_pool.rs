//! The thread pool that the system keeps for each process.

use std::ffi::c_void;

use windows_sys::Win32::System::Threading::{
    CallbackMayRunLong, CloseThreadpoolWork, CreateThreadpoolWork, PTP_CALLBACK_INSTANCE, PTP_WORK,
    SubmitThreadpoolWork, WaitForThreadpoolWorkCallbacks,
};

use crate::sys::code::{Code, Result};

/// Calls `work` once on this thread and up to `more` times on threads of the pool; those not begun when the caller's own ends are
/// left out. Returns when all have ended. `work` must not panic.
pub fn call_on_pool(more: usize, work: &(dyn Fn() + Sync)) -> Result<()> {
    /// Ends the work even if the caller's own call panics: the others refer to its memory.
    struct Work(PTP_WORK);
    impl Drop for Work {
        fn drop(&mut self) {
            // SAFETY: the work is open; nothing uses it after the wait.
            unsafe {
                WaitForThreadpoolWorkCallbacks(self.0, 1);
                CloseThreadpoolWork(self.0);
            }
        }
    }
    unsafe extern "system" fn call(instance: PTP_CALLBACK_INSTANCE, work: *mut c_void, _: PTP_WORK) {
        // SAFETY: `call_on_pool` passes this pointer and waits for the calls.
        let work = unsafe { *work.cast::<&(dyn Fn() + Sync)>() };
        // The pool starts another thread for other work.
        // SAFETY: the instance is that of this call.
        unsafe { CallbackMayRunLong(instance) };
        work();
    }
    // SAFETY: the pointer is valid until the work is dropped, which waits for its calls.
    let pooled =
        unsafe { CreateThreadpoolWork(Some(call), (&raw const work).cast_mut().cast(), std::ptr::null()) };
    if pooled == 0 {
        return Err(Code::last());
    }
    let pooled = Work(pooled);
    for _ in 0..more {
        // SAFETY: the work is open.
        unsafe { SubmitThreadpoolWork(pooled.0) };
    }
    work();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Barrier, Mutex};

    use super::*;

    #[test]
    fn calls_run_at_once_on_different_threads() {
        let (barrier, threads) = (Barrier::new(4), Mutex::new(std::collections::HashSet::new()));
        call_on_pool(3, &|| {
            threads.lock().unwrap().insert(std::thread::current().id());
            barrier.wait();
        })
        .unwrap();
        assert_eq!(threads.into_inner().unwrap().len(), 4);
    }

    #[test]
    fn calls_that_have_begun_are_waited_for() {
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        for _ in 0..200 {
            call_on_pool(8, &|| {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::SeqCst);
            })
            .unwrap();
            assert_eq!(begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
        }
        assert!(begun.into_inner() >= 200);
    }
}
