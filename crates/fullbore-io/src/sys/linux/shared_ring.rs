//! An io_uring that many threads submit to: transfers are queued under the owner's lock, one thread waits for
//! completions without it.
//!
//! The set-up flags are deliberately plain. `DEFER_TASKRUN` requires a single submitter; with `COOP_TASKRUN` a
//! completion would be delayed while the thread that submitted it computes.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::TransferFlags;
use crate::sys::IoVec;
use io_uring::{IoUring, opcode, squeue, types};

/// User data of the completions of cancellations and wake-ups: no key has all bits set.
const NOBODY: u64 = u64::MAX;

pub(crate) struct SharedRing {
    ring: IoUring,
}

impl std::fmt::Debug for SharedRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedRing").finish_non_exhaustive()
    }
}

impl SharedRing {
    /// Creates a ring for `depth` transfers. Tests it with an empty request: a container may forbid what the kernel
    /// supports.
    pub(crate) fn new(depth: usize) -> io::Result<Self> {
        let depth = u32::try_from(depth).map_err(|_| io::ErrorKind::InvalidInput)?.next_power_of_two();
        // A transfer completes once and is cancelled at most once, and wake-ups are rare: four times the depth never
        // overflows.
        let ring = IoUring::builder().setup_cqsize(depth.max(8) * 4).build(depth.max(8))?;
        let ring = Self { ring };
        // SAFETY: the ring has no other user yet.
        unsafe {
            ring.push(&opcode::Nop::new().build().user_data(NOBODY));
            ring.ring.submit_and_wait(1)?;
            ring.reap(|_, _| ());
        }
        Ok(ring)
    }

    /// # Safety
    /// The owner's lock is held; the memory and descriptor of the entry live until its completion.
    unsafe fn push(&self, entry: &squeue::Entry) {
        loop {
            // SAFETY: the lock makes this the only view of the queue; the caller guarantees the rest.
            if unsafe { self.ring.submission_shared().push(entry) }.is_ok() {
                return;
            }
            // SAFETY: as above.
            unsafe { self.submit() };
        }
    }

    /// Queues a transfer. Without an offset, the file's own position is used.
    ///
    /// # Safety
    /// The owner's lock is held. The descriptor and the memory of the pieces live, without another user, until the
    /// completion of `key` is reaped, and the list of pieces keeps its address until [`submit`](Self::submit) returns.
    pub(crate) unsafe fn transfer(
        &self,
        key: u64,
        fd: BorrowedFd<'_>,
        pieces: &[IoVec],
        offset: Option<u64>,
        write: bool,
        flags: TransferFlags,
    ) {
        let flags = flags.bits() as i32;
        let (fd, offset) = (types::Fd(fd.as_raw_fd()), offset.unwrap_or(u64::MAX));
        let entry = match (pieces, write) {
            ([one], false) if one.iov_len <= u32::MAX as usize => {
                opcode::Read::new(fd, one.iov_base.cast(), one.iov_len as u32)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            ([one], true) if one.iov_len <= u32::MAX as usize => {
                opcode::Write::new(fd, one.iov_base.cast(), one.iov_len as u32)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            (many, false) => opcode::Readv::new(fd, many.as_ptr(), many.len() as u32)
                .offset(offset)
                .rw_flags(flags)
                .build(),
            (many, true) => opcode::Writev::new(fd, many.as_ptr(), many.len() as u32)
                .offset(offset)
                .rw_flags(flags)
                .build(),
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.push(&entry.user_data(key)) }
    }

    /// Queues the cancellation of a transfer.
    ///
    /// # Safety
    /// The owner's lock is held.
    pub(crate) unsafe fn cancel(&self, key: u64) {
        // SAFETY: the entry names no memory.
        unsafe { self.push(&opcode::AsyncCancel::new(key).build().user_data(NOBODY)) }
    }

    /// Queues an entry that completes at once, so that [`wait`](Self::submit_and_wait) returns.
    ///
    /// # Safety
    /// The owner's lock is held.
    pub(crate) unsafe fn nudge(&self) {
        // SAFETY: the entry names no memory.
        unsafe { self.push(&opcode::Nop::new().build().user_data(NOBODY)) }
    }

    /// Submits the queued entries to the kernel, in as many calls as necessary: an entry left in the queue would never
    /// complete.
    ///
    /// # Safety
    /// The owner's lock is held.
    pub(crate) unsafe fn submit(&self) {
        // SAFETY: the lock makes this the only view of the queue.
        while !unsafe { self.ring.submission_shared() }.is_empty() {
            if self.ring.submit().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
                // Temporarily out of memory (`EAGAIN`, `ENOMEM`, `EBUSY`): only waiting helps.
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }

    /// Returns the number of queued entries not yet submitted to the kernel.
    ///
    /// # Safety
    /// The owner's lock is held.
    pub(crate) unsafe fn queued(&self) -> usize {
        // SAFETY: the lock makes this the only view of the queue.
        unsafe { self.ring.submission_shared().len() }
    }

    /// Submits `queued` entries to the kernel and waits for a completion. May return early.
    ///
    /// # Safety
    /// The memory of the queued entries lives and keeps its address, although the owner's lock is not held: no entry
    /// points to a list of pieces.
    pub(crate) unsafe fn submit_and_wait(&self, queued: usize) {
        const GETEVENTS: u32 = 1;
        // The kernel takes entries one after the other for all callers, and never more than there are.
        // SAFETY: guaranteed by the caller; no argument is passed.
        let waited =
            unsafe { self.ring.submitter().enter::<libc::sigset_t>(queued as u32, 1, GETEVENTS, None) };
        if waited.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            // Temporarily out of memory (`EAGAIN`, `ENOMEM`, `EBUSY`): only waiting helps.
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Passes all available completions to `each`.
    ///
    /// # Safety
    /// The owner's lock is held.
    pub(crate) unsafe fn reap(&self, mut each: impl FnMut(u64, io::Result<usize>)) {
        // SAFETY: the lock makes this the only view of the queue.
        for entry in unsafe { self.ring.completion_shared() } {
            if entry.user_data() != NOBODY {
                let code = entry.result();
                each(
                    entry.user_data(),
                    usize::try_from(code).map_err(|_| io::Error::from_raw_os_error(-code)),
                );
            }
        }
    }
}
