//! A small io_uring for one file: reads and writes of owned buffers, queued, submitted and reaped.
//!
//! The ring owns every buffer from the moment it is queued until its completion is reaped, and waits for the requests
//! in flight when it is dropped: the kernel never writes to memory that has another owner.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::{IoUring, opcode, types};

use crate::buf::{Completion, Direction, Pool, Request};
use crate::sys::types::{RequestQueue, RingPages, TransferFlags, drain};

pub(crate) struct Ring<F: AsFd> {
    // `Drop` drains the ring before the fields are dropped.
    ring: IoUring,
    flight: Vec<Option<Request>>,
    vacant: Vec<u32>,
    file: F,
    registered_file: bool,
    registered_buffers: bool,
    rw_flags: i32,
    /// True if requests go to the device itself: each is then submitted at once.
    at_once: bool,
    depth: usize,
    queued: usize,
    /// Requests submitted since the last wait.
    submitted: usize,
    outstanding: usize,
}

/// Builds the submission of a transfer. A macro, because registered and plain descriptors have no common type.
macro_rules! entry {
    ($fd:expr, $fixed:expr, $write:expr, $start:expr, $len:expr, $offset:expr, $flags:expr) => {
        match ($fixed, $write) {
            (true, false) => {
                opcode::ReadFixed::new($fd, $start, $len, 0).offset($offset).rw_flags($flags).build()
            }
            (true, true) => {
                opcode::WriteFixed::new($fd, $start, $len, 0).offset($offset).rw_flags($flags).build()
            }
            (false, false) => opcode::Read::new($fd, $start, $len).offset($offset).rw_flags($flags).build(),
            (false, true) => opcode::Write::new($fd, $start, $len).offset($offset).rw_flags($flags).build(),
        }
    };
}

/// Creates a ring for `file` with room for `depth` requests; registers the file and the buffers of `pool` where the kernel permits
/// it.
pub(crate) fn open<F: AsFd>(
    file: F,
    depth: usize,
    pool: Option<&Pool>,
    pages: RingPages,
) -> io::Result<Ring<F>> {
    let entries = u32::try_from(depth.max(1)).map_err(|_| io::ErrorKind::InvalidInput)?.next_power_of_two();
    // The task-run flag reports completions that become visible only in a call: without it a check that does not
    // wait sees none.
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    let ring = match builder.build(entries) {
        Ok(ring) => ring,
        // Older kernels lack these flags; only the error of the plain set-up counts.
        Err(_) => IoUring::builder().build(entries)?,
    };
    // Linux 5.1 to 5.5 transfer registered memory alone, and may refuse to register that of a run.
    if !ring.params().is_feature_rw_cur_pos() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let registered_file = ring.submitter().register_files(&[file.as_fd().as_raw_fd()]).is_ok();
    let registered_buffers = pool.is_some_and(|pool| {
        let (start, len) = pool.memory();
        let memory = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: the memory stays mapped as long as a buffer of the pool lives; requests of the ring name only
        // buffers that it owns, and registration alone reads and writes nothing.
        unsafe { ring.submitter().register_buffers(&[memory]) }.is_ok()
    });
    Ok(Ring {
        ring,
        flight: (0..entries).map(|_| None).collect(),
        vacant: (0..entries).rev().collect(),
        file,
        registered_file,
        registered_buffers,
        rw_flags: if pages == RingPages::Dropped { TransferFlags::DONT_CACHE.bits() as i32 } else { 0 },
        at_once: pages == RingPages::None,
        depth,
        queued: 0,
        submitted: 0,
        outstanding: 0,
    })
}

impl<F: AsFd> Ring<F> {
    fn enter(&mut self, least: usize) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(least) {
                Ok(_) => {
                    self.submitted += self.queued;
                    self.queued = 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl<F: AsFd> RequestQueue for Ring<F> {
    /// Completions arrive in batches, so after a wait the device may be idle. With bypass each request is submitted at
    /// once, because a request that waits for a batch is missing from the device's queue (random 4 KiB reads at depth
    /// 32 are 2 to 8% faster than in batches, for a tenth more CPU time). Through the page cache, where a submission
    /// may copy the bytes immediately, the first request is submitted at once, and then each time as many more as were
    /// submitted before, so that few calls submit many. The last requests are submitted by the call that waits.
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        let Some(slot) = self.vacant.pop() else { return Err(request) };
        let (start, len) = request.memory();
        let fixed = self.registered_buffers;
        let write = request.direction == Direction::Write;
        let entry = if self.registered_file {
            entry!(types::Fixed(0), fixed, write, start, len, request.offset, self.rw_flags)
        } else {
            let fd = types::Fd(self.file.as_fd().as_raw_fd());
            entry!(fd, fixed, write, start, len, request.offset, self.rw_flags)
        };
        let entry = entry.user_data(u64::from(slot));
        // SAFETY: the entry names the memory of a buffer that `flight` owns until the completion is reaped, and a file
        // that `self` keeps open.
        match unsafe { self.ring.submission().push(&entry) } {
            Ok(()) => {
                self.flight[slot as usize] = Some(request);
                self.queued += 1;
                self.outstanding += 1;
                let batch = if self.at_once { 1 } else { self.submitted.max(1) };
                if self.outstanding < self.depth && self.queued >= batch {
                    // If the system refuses, the requests stay queued, and the wait for them returns the error.
                    let _ = self.submit();
                }
                Ok(())
            }
            Err(_) => {
                self.vacant.push(slot);
                Err(request)
            }
        }
    }

    fn submit(&mut self) -> io::Result<()> {
        if self.queued > 0 { self.enter(0) } else { Ok(()) }
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let least = least.min(self.outstanding);
        // One call does both. Without `DEFER_TASKRUN` completions may be available already.
        if self.queued > 0 || self.ring.completion().len() < least {
            self.enter(least)?;
        } else if least == 0 && self.outstanding > 0 && self.ring.completion().is_empty() {
            self.enter(0)?;
        }
        if least > 0 {
            self.submitted = 0;
        }
        for entry in self.ring.completion() {
            let slot = entry.user_data() as u32;
            if let Some(request) = self.flight[slot as usize].take() {
                self.vacant.push(slot);
                self.outstanding -= 1;
                done.push(Completion { request, result: result(entry.result()) });
            }
        }
        Ok(())
    }
}

fn result(code: i32) -> io::Result<usize> {
    usize::try_from(code).map_err(|_| io::Error::from_raw_os_error(-code))
}

impl<F: AsFd> Drop for Ring<F> {
    fn drop(&mut self) {
        if !drain(self, |ring| ring.outstanding) {
            std::mem::forget(std::mem::take(&mut self.flight));
            return;
        }
        // The kernel tears down a closed ring later: for some 40 ms, the file would be open and the memory in use.
        if self.registered_file {
            let _ = self.ring.submitter().unregister_files();
        }
        if self.registered_buffers {
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}
