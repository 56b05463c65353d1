//! Linux native asynchronous I/O (`io_setup`, `io_submit`, `io_getevents`): the interface before io_uring, asynchronous
//! with direct I/O only.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use crate::buf::{Completion, Direction, Request};
use crate::sys::types::RequestQueue;

/// `struct iocb` of `linux/aio_abi.h`, little-endian layout.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct ControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    #[cfg(target_endian = "little")]
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    rw_flags: u32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// A kernel context with the requests it owns from queueing until their completions are reaped; dropping waits for them.
pub(crate) struct Context<F: AsFd> {
    context: libc::c_ulong,
    file: F,
    blocks: Vec<ControlBlock>,
    flight: Vec<Option<Request>>,
    vacant: Vec<usize>,
    queued: Vec<usize>,
    submitted: usize,
    events: Vec<MaybeUninit<Event>>,
    refused: Vec<Completion>,
}

pub(crate) fn open<F: AsFd>(file: F, depth: usize) -> io::Result<Context<F>> {
    let depth = depth.max(1);
    let mut context: libc::c_ulong = 0;
    // SAFETY: io_setup writes one context id to the given place, which lives through the call.
    let code = unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_long, &raw mut context) };
    if code != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Context {
        context,
        file,
        blocks: vec![ControlBlock::default(); depth],
        flight: (0..depth).map(|_| None).collect(),
        vacant: (0..depth).rev().collect(),
        queued: Vec::with_capacity(depth),
        submitted: 0,
        events: vec![MaybeUninit::uninit(); depth],
        refused: Vec::new(),
    })
}

impl<F: AsFd> RequestQueue for Context<F> {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        let Some(slot) = self.vacant.pop() else { return Err(request) };
        let (start, len) = request.memory();
        self.blocks[slot] = ControlBlock {
            data: slot as u64,
            opcode: if request.direction == Direction::Write { PWRITE } else { PREAD },
            fd: self.file.as_fd().as_raw_fd() as u32,
            buffer: start as u64,
            bytes: u64::from(len),
            offset: request.offset as i64,
            ..ControlBlock::default()
        };
        self.flight[slot] = Some(request);
        self.queued.push(slot);
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        while !self.queued.is_empty() {
            let list: Vec<*mut ControlBlock> =
                self.queued.iter().map(|&slot| &raw mut self.blocks[slot]).collect();
            // SAFETY: each pointer is to a block of `self.blocks`, which is never reallocated, and each block names the
            // memory of a buffer that `flight` owns until its event is reaped.
            let count = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, list.len() as libc::c_long, list.as_ptr())
            };
            if count > 0 {
                self.queued.drain(..count as usize);
                self.submitted += count as usize;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN) if self.submitted > 0 => return Ok(()),
                _ => {
                    // The kernel refused the first of the list.
                    let slot = self.queued.remove(0);
                    self.vacant.push(slot);
                    if let Some(request) = self.flight[slot].take() {
                        self.refused.push(Completion { request, result: Err(error) });
                    }
                }
            }
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        self.submit()?;
        let least = least.saturating_sub(self.refused.len()).min(self.submitted);
        done.append(&mut self.refused);
        if self.submitted == 0 {
            return Ok(());
        }
        let count = loop {
            // SAFETY: the kernel writes at most `events.len()` events to the given place and returns their number.
            let count = unsafe {
                libc::syscall(
                    libc::SYS_io_getevents,
                    self.context,
                    least as libc::c_long,
                    self.events.len() as libc::c_long,
                    self.events.as_mut_ptr(),
                    std::ptr::null_mut::<libc::timespec>(),
                )
            };
            if count >= 0 {
                break count as usize;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        };
        for event in &self.events[..count] {
            // SAFETY: the kernel wrote the first `count` events.
            let event = unsafe { event.assume_init() };
            let slot = event.data as usize;
            if let Some(request) = self.flight[slot].take() {
                self.vacant.push(slot);
                self.submitted -= 1;
                let result = usize::try_from(event.result)
                    .map_err(|_| io::Error::from_raw_os_error(-event.result as i32));
                done.push(Completion { request, result });
            }
        }
        Ok(())
    }
}

impl<F: AsFd> Drop for Context<F> {
    fn drop(&mut self) {
        // io_destroy cancels the requests it can and waits for the rest (`man io_destroy`).
        // SAFETY: `self` owns the context, which is not used afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
