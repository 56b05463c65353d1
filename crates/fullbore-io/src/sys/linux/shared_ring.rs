//! An io_uring that many threads submit to: its owner queues transfers and takes completions under a lock of its own, and
//! one thread waits for completions without that lock.
//!
//! The ring owns file and buffer of a transfer from the moment it is queued until its completion is taken, so the kernel
//! never writes to memory that has another owner.
//!
//! The set-up flags are deliberately plain. `DEFER_TASKRUN` requires a single submitter; with `COOP_TASKRUN` a
//! completion would be delayed while the thread that submitted it computes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use crate::buf::{Direction, Loan};
use crate::sys::code::Result;
use crate::sys::types::{Completed, TransferFlags};
use crate::sys::unix::open::{Handle, OpenFlags};

pub(crate) const COMPLETION_PORT: bool = false;

/// User data of the completions of cancellations and wake-ups: no place has all bits set.
const NOBODY: u64 = u64::MAX;

struct InFlight<F> {
    key: u64,
    file: F,
    loan: Loan,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u32);

/// The ring, with the state that its owner and the waiting thread share.
struct Kernel {
    ring: IoUring,
    /// True after a permanent error of `io_uring_enter`: a filter of system calls forbids it, or the descriptor was closed. No further
    /// call is made.
    broken: AtomicBool,
    /// True while the thread that waits for completions may submit entries, without the lock.
    waiter_submits: AtomicBool,
}

pub(crate) struct SharedRing<F> {
    // `Drop` leaks the transfers in flight before the fields are dropped.
    kernel: Arc<Kernel>,
    /// Boxed: the kernel may read a list of pieces in its place until the transfer completes.
    #[allow(clippy::vec_box, reason = "the addresses must not change")]
    flight: Vec<Box<Option<InFlight<F>>>>,
    vacant: Vec<u32>,
    /// User data of the queued entries, oldest first; before it may be that of entries that the kernel has taken.
    pushed: VecDeque<u64>,
    /// Completions taken from the kernel's queue to make room there, and those of entries that the kernel will not take.
    collected: VecDeque<(u64, i32)>,
}

/// The part of a ring with which a thread waits for completions.
#[derive(Clone)]
pub(crate) struct RingWaiter {
    kernel: Arc<Kernel>,
}

/// True for errors after which the call is repeated: a signal, too little memory (`EAGAIN`, `ENOMEM`), or too many completions that
/// wait (`EBUSY`).
fn is_temporary(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::ENOMEM | libc::EBUSY))
}

impl<F: AsFd> SharedRing<F> {
    /// Creates a ring for about `depth` transfers, and tests it: a container may forbid it.
    pub(crate) fn new(depth: usize) -> io::Result<Self> {
        let depth = u32::try_from(depth).map_err(|_| io::ErrorKind::InvalidInput)?.next_power_of_two();
        // A transfer completes once and is cancelled at most once, and wake-ups are rare: four times the depth is enough
        // unless many transfers of pipes complete at once, which the kernel then keeps.
        let ring = IoUring::builder().setup_cqsize(depth.max(8) * 4).build(depth.max(8))?;
        // Since Linux 5.6, as the requests for reading and writing.
        if !ring.params().is_feature_rw_cur_pos() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let entries = ring.params().sq_entries() as usize;
        let kernel = Kernel { ring, broken: AtomicBool::new(false), waiter_submits: AtomicBool::new(false) };
        let mut ring = Self {
            kernel: Arc::new(kernel),
            flight: (0..depth).map(|_| Box::new(None)).collect(),
            vacant: (0..depth).rev().collect(),
            pushed: VecDeque::with_capacity(entries),
            collected: VecDeque::with_capacity(depth as usize),
        };
        ring.nudge();
        ring.kernel.ring.submit_and_wait(1)?;
        ring.collect();
        ring.collected.clear();
        Ok(ring)
    }

    pub(crate) fn waiter(&self) -> RingWaiter {
        RingWaiter { kernel: self.kernel.clone() }
    }

    /// # Safety
    /// The memory of the entry lives, without another user, until its completion.
    unsafe fn push(&mut self, entry: &squeue::Entry) {
        while !self.is_broken() {
            // SAFETY: the mutable borrow makes this the only view of the queue; the caller guarantees the rest.
            if unsafe { self.kernel.ring.submission_shared().push(entry) }.is_ok() {
                self.pushed.push_back(entry.get_user_data());
                self.forget_taken();
                return;
            }
            self.submit();
        }
        self.collected.push_back((entry.get_user_data(), -libc::ECANCELED));
    }

    /// Removes the entries from `pushed` that the kernel has taken.
    fn forget_taken(&mut self) {
        let taken = self.pushed.len().saturating_sub(self.queued());
        self.pushed.drain(..taken);
    }

    /// Queues the selected part of `loan`. Without an offset, the file's own position is used.
    pub(crate) fn transfer(
        &mut self,
        key: u64,
        file: F,
        loan: Loan,
        offset: Option<u64>,
        flags: TransferFlags,
    ) -> Ticket {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.flight.push(Box::new(None));
            self.flight.len() as u32 - 1
        });
        let flying = self.flight[place as usize].insert(InFlight { key, file, loan });
        let (flags, offset) = (flags.bits() as i32, offset.unwrap_or(u64::MAX));
        let fd = types::Fd(flying.file.as_fd().as_raw_fd());
        let entry = match (flying.loan.pieces(), flying.loan.direction()) {
            ([one], Direction::Read) if one.iov_len <= u32::MAX as usize => {
                opcode::Read::new(fd, one.iov_base.cast(), one.iov_len as u32)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            ([one], Direction::Write) if one.iov_len <= u32::MAX as usize => {
                opcode::Write::new(fd, one.iov_base.cast(), one.iov_len as u32)
                    .offset(offset)
                    .rw_flags(flags)
                    .build()
            }
            (many, Direction::Read) => opcode::Readv::new(fd, many.as_ptr(), many.len() as u32)
                .offset(offset)
                .rw_flags(flags)
                .build(),
            (many, Direction::Write) => opcode::Writev::new(fd, many.as_ptr(), many.len() as u32)
                .offset(offset)
                .rw_flags(flags)
                .build(),
        };
        // SAFETY: `flight` owns file and memory, and keeps the list of pieces in its place, until the completion is taken.
        unsafe { self.push(&entry.user_data(u64::from(place))) };
        Ticket(place)
    }

    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        // SAFETY: the entry names no memory.
        unsafe { self.push(&opcode::AsyncCancel::new(u64::from(ticket.0)).build().user_data(NOBODY)) }
    }

    /// Queues an entry that completes at once, so that [`submit_and_wait`](RingWaiter::submit_and_wait) returns.
    pub(crate) fn nudge(&mut self) {
        // SAFETY: the entry names no memory.
        unsafe { self.push(&opcode::Nop::new().build().user_data(NOBODY)) }
    }

    /// Submits the queued entries, in as many calls as necessary: one left in the queue would never complete.
    pub(crate) fn submit(&mut self) {
        loop {
            let mut held = false;
            while !self.is_broken() && self.queued() > 0 {
                match self.kernel.ring.submit() {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if is_temporary(&error) => {
                        self.collect();
                        held = true;
                        std::thread::sleep(Duration::from_micros(100));
                    }
                    Err(_) => self.kernel.broken.store(true, Ordering::Release),
                }
            }
            if !held || self.is_broken() || self.collected.is_empty() {
                return;
            }
            // The thread that waits for completions may have missed those.
            self.nudge();
        }
    }

    /// True if the ring takes no more transfers. Those that the kernel has complete; the others return cancelled.
    pub(crate) fn is_broken(&self) -> bool {
        self.kernel.broken.load(Ordering::Acquire)
    }

    /// True if a wait can have a limit.
    pub(crate) fn waits_for_a_time(&self) -> bool {
        self.kernel.ring.params().is_feature_ext_arg()
    }

    pub(crate) fn queued(&self) -> usize {
        // SAFETY: views exist only within methods of this type, and those that change the queue borrow mutably.
        unsafe { self.kernel.ring.submission_shared().len() }
    }

    /// Returns the number of entries for the next [`submit_and_wait`](RingWaiter::submit_and_wait).
    pub(crate) fn queued_for_waiter(&mut self) -> usize {
        let queued = self.queued();
        self.kernel.waiter_submits.store(queued > 0, Ordering::Release);
        queued
    }

    fn collect(&mut self) {
        // SAFETY: the mutable borrow makes this the only view of the queue.
        let entries = unsafe { self.kernel.ring.completion_shared() };
        self.collected.extend(entries.map(|entry| (entry.user_data(), entry.result())));
        // The waiting thread checks first if the ring is broken, so no call will take them now.
        if self.is_broken() && !self.kernel.waiter_submits.load(Ordering::Acquire) {
            self.forget_taken();
            self.collected.extend(self.pushed.drain(..).map(|place| (place, -libc::ECANCELED)));
        }
    }

    pub(crate) fn completed(&mut self) -> Option<Completed<F>> {
        loop {
            if self.collected.is_empty() {
                self.collect();
            }
            let (place, code) = self.collected.pop_front()?;
            if place == NOBODY {
                continue;
            }
            let Some(InFlight { key, file, mut loan }) = self.flight[place as usize].take() else { continue };
            self.vacant.push(place as u32);
            let result = usize::try_from(code).map_err(|_| io::Error::from_raw_os_error(-code));
            if let Ok(moved) = result {
                // SAFETY: the kernel moved that many bytes from the start of the pieces.
                unsafe { loan.advance(moved) };
            }
            return Some(Completed { key, file, loan, result });
        }
    }
}

impl<F> Drop for SharedRing<F> {
    fn drop(&mut self) {
        if self.flight.iter().any(|place| place.is_some()) {
            // The kernel may still use the memory, so it is leaked.
            std::mem::forget(std::mem::take(&mut self.flight));
        }
    }
}

/// Time between two checks for completions of a broken ring.
const BROKEN_PATIENCE: Duration = Duration::from_millis(10);

/// `io_uring_getevents_arg`.
#[repr(C)]
struct Wait {
    mask: u64,
    mask_len: u32,
    min_wait_usec: u32,
    /// The address of a `__kernel_timespec`.
    time: u64,
}

impl RingWaiter {
    /// A ring takes every file as it is.
    pub(crate) fn attach(&self, _: &impl AsFd, _: OpenFlags) -> Result<Option<Handle>> {
        Ok(None)
    }

    /// Submits `queued` entries to the kernel and waits for a completion, at most for `patience`. May return early.
    pub(crate) fn submit_and_wait(&self, queued: usize, patience: Option<Duration>) {
        const GETEVENTS: u32 = 1;
        const EXT_ARG: u32 = 8;
        if self.kernel.broken.load(Ordering::Acquire) {
            self.kernel.waiter_submits.store(false, Ordering::Release);
            return std::thread::sleep(BROKEN_PATIENCE);
        }
        let submitter = self.kernel.ring.submitter();
        // The kernel takes entries one after the other for all callers, and never more than there are.
        let waited = match patience {
            // SAFETY: the ring owns what its entries refer to, queued or submitted; no argument is passed.
            None => unsafe { submitter.enter::<libc::sigset_t>(queued as u32, 1, GETEVENTS, None) },
            Some(time) => {
                let time = types::Timespec::from(time);
                let wait = Wait { mask: 0, mask_len: 0, min_wait_usec: 0, time: (&raw const time) as u64 };
                // SAFETY: as above; the argument is the structure that the flag announces, and outlives the call.
                unsafe { submitter.enter(queued as u32, 1, GETEVENTS | EXT_ARG, Some(&wait)) }
            }
        };
        match waited {
            Ok(_) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::ETIME)) => {}
            Err(error) if is_temporary(&error) => std::thread::sleep(Duration::from_micros(100)),
            Err(_) => self.kernel.broken.store(true, Ordering::Release),
        }
        self.kernel.waiter_submits.store(false, Ordering::Release);
    }
}
