//! A completion port that many threads submit to, in the place of Linux's shared io_uring: its owner starts transfers and takes
//! completions under a lock of its own, and one thread waits for completions without that lock.
//!
//! The queue owns file and buffer of a transfer from its start until its completion is taken, so the system never writes to memory
//! that has another owner.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO as overlapped;
use windows_sys::Win32::System::Threading::INFINITE;

use super::handle::{AsHandle, Handle, OpenFlags, raw};
use super::information::{call_at, query, seekable};
use super::open::{reopen, status_flags};
use super::overlapped::Port;
use super::transfer::call_length;
use crate::buf::{Direction, Loan};
use crate::sys::code::{Code, Result};
use crate::sys::types::{Completed, TransferFlags};

pub(crate) const COMPLETION_PORT: bool = true;

/// A transfer that the system may be working on, one piece of its memory after the other.
struct InFlight<F> {
    key: u64,
    file: F,
    loan: Loan,
    offset: u64,
    /// Number of pieces that are complete.
    pieces: usize,
    /// Their bytes.
    moved: usize,
}

/// A place for a transfer. The system holds the address of its first field.
#[repr(C)]
struct TransferSlot<F> {
    call: overlapped::OVERLAPPED,
    index: u32,
    /// The error of a call that the system refused at its start, or 0.
    refused: u32,
    flying: Option<InFlight<F>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u32);

/// The address of a place whose transfer has ended; null in a packet that only wakes.
struct Packet(*mut overlapped::OVERLAPPED);

// SAFETY: the address is passed on; only the owner of the slots uses it.
unsafe impl Send for Packet {}

/// The port, and packets that were taken from it and whose transfers were not.
struct Packets {
    port: Port,
    taken: Mutex<VecDeque<Packet>>,
}

impl Packets {
    fn taken(&self) -> MutexGuard<'_, VecDeque<Packet>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes packets; waits for the first up to `time` milliseconds.
    fn wait(&self, time: u32) {
        let mut entries = [overlapped::OVERLAPPED_ENTRY::default(); 64];
        // A failure is that of a call without packets.
        let found = self.port.take(time, &mut entries).unwrap_or_default();
        self.taken().extend(found.iter().map(|entry| Packet(entry.lpOverlapped)));
    }
}

pub(crate) struct SharedRing<F> {
    packets: Arc<Packets>,
    /// Boxed: the system keeps the addresses. `Drop` leaks the transfers in flight.
    #[allow(clippy::vec_box, reason = "the addresses must not change")]
    slots: Vec<Box<TransferSlot<F>>>,
    vacant: Vec<u32>,
}

// SAFETY: the addresses in a place are used by the system and by the owner alone.
unsafe impl<F: Send> Send for SharedRing<F> {}

/// The part with which a thread waits for completions, and which attaches files.
#[derive(Clone)]
pub(crate) struct RingWaiter {
    packets: Arc<Packets>,
}

impl<F: AsHandle> SharedRing<F> {
    pub(crate) fn new(depth: usize) -> io::Result<Self> {
        let taken = Mutex::new(VecDeque::with_capacity(depth));
        let packets = Arc::new(Packets { port: Port::new()?, taken });
        Ok(Self { packets, slots: Vec::with_capacity(depth), vacant: Vec::with_capacity(depth) })
    }

    pub(crate) fn waiter(&self) -> RingWaiter {
        RingWaiter { packets: self.packets.clone() }
    }

    /// Starts a transfer of the selected part of `loan` at an offset of an [attached](RingWaiter::attach) file, without flags.
    pub(crate) fn transfer(
        &mut self,
        key: u64,
        file: F,
        loan: Loan,
        offset: Option<u64>,
        _: TransferFlags,
    ) -> Ticket {
        let index = self.vacant.pop().unwrap_or_else(|| {
            let index = self.slots.len() as u32;
            let call = overlapped::OVERLAPPED::default();
            self.slots.push(Box::new(TransferSlot { call, index, refused: 0, flying: None }));
            index
        });
        let place = &mut self.slots[index as usize];
        place.flying = Some(InFlight { key, file, loan, offset: offset.unwrap_or(0), pieces: 0, moved: 0 });
        if let Err(error) = start(place) {
            place.refused = error;
            self.packets.port.post(&raw const place.call);
        }
        Ticket(index)
    }

    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        let place = &self.slots[ticket.0 as usize];
        if let Some(flying) = &place.flying {
            // SAFETY: the structure is that of a transfer of this file. A transfer that has ended is not found.
            unsafe { overlapped::CancelIoEx(raw(&flying.file) as _, &raw const place.call) };
        }
    }

    /// Makes [`submit_and_wait`](RingWaiter::submit_and_wait) return.
    pub(crate) fn nudge(&mut self) {
        self.packets.port.post(std::ptr::null());
    }

    /// Transfers start when they are queued, so there is nothing to submit.
    pub(crate) fn submit(&mut self) {}

    /// Returns 0: transfers start when they are queued.
    pub(crate) fn queued(&self) -> usize {
        0
    }

    pub(crate) fn queued_for_waiter(&mut self) -> usize {
        0
    }

    pub(crate) fn is_broken(&self) -> bool {
        false
    }

    pub(crate) fn waits_for_a_time(&self) -> bool {
        false
    }

    pub(crate) fn completed(&mut self) -> Option<Completed<F>> {
        loop {
            let next = || self.packets.taken().pop_front();
            let packet = next().or_else(|| {
                if self.vacant.len() < self.slots.len() {
                    self.packets.wait(0);
                }
                next()
            })?;
            if packet.0.is_null() {
                continue;
            }
            // SAFETY: the address is that of a place of this queue: no other goes to its port, and slots live as long as it.
            let index = unsafe { (&raw const (*packet.0.cast::<TransferSlot<F>>()).index).read() };
            let place = &mut self.slots[index as usize];
            let Some(result) = end(place) else { continue };
            let Some(InFlight { key, file, mut loan, .. }) = place.flying.take() else { continue };
            self.vacant.push(index);
            if let Ok(moved) = result {
                // SAFETY: the system moved that many bytes from the start of the pieces.
                unsafe { loan.advance(moved) };
            }
            return Some(Completed { key, file, loan, result });
        }
    }
}

/// Starts the transfer of the next piece, or returns the error with which the system refused it.
fn start<F: AsHandle>(place: &mut TransferSlot<F>) -> std::result::Result<(), u32> {
    let Some(flying) = &place.flying else { return Ok(()) };
    let piece = flying.loan.pieces().get(flying.pieces);
    let (start, len) = piece.map_or((std::ptr::dangling_mut(), 0), |piece| (piece.iov_base, piece.iov_len));
    // The longest length that a sector size divides.
    let len = call_length(len);
    let offset = flying.offset + flying.moved as u64;
    place.call = call_at(offset);
    place.refused = 0;
    let (file, nothing, call) = (raw(&flying.file) as _, std::ptr::null_mut(), &raw mut place.call);
    // SAFETY: the place owns file and memory, and keeps its address, until the completion is taken.
    let started = unsafe {
        match flying.loan.direction() {
            Direction::Read => fs::ReadFile(file, start.cast(), len, nothing, call),
            Direction::Write => fs::WriteFile(file, start.cast(), len, nothing, call),
        }
    };
    match Code::last_number() {
        _ if started != 0 => Ok(()),
        w::ERROR_IO_PENDING => Ok(()),
        error => Err(error),
    }
}

/// The result of a transfer whose packet arrived; `None` if its next piece has started.
fn end<F: AsHandle>(place: &mut TransferSlot<F>) -> Option<io::Result<usize>> {
    let flying = place.flying.as_mut()?;
    let mut moved = 0;
    let error = match place.refused {
        // SAFETY: the structure is that of a transfer of this file, which has ended; the call does not wait.
        0 => match unsafe {
            overlapped::GetOverlappedResult(raw(&flying.file) as _, &raw const place.call, &raw mut moved, 0)
        } {
            0 => Code::last_number(),
            _ => 0,
        },
        refused => refused,
    };
    match error {
        // At the end of the file.
        0 | w::ERROR_HANDLE_EOF => {}
        _ if flying.moved > 0 => return Some(Ok(flying.moved)),
        error => return Some(Err(io::Error::from_raw_os_error(error as i32))),
    }
    let whole = flying.loan.pieces().get(flying.pieces).is_some_and(|piece| piece.iov_len == moved as usize);
    flying.moved += moved as usize;
    flying.pieces += 1;
    let (total, more) = (flying.moved, whole && flying.pieces < flying.loan.pieces().len());
    if more && start(place).is_ok() {
        return None;
    }
    Some(Ok(total))
}

impl<F> Drop for SharedRing<F> {
    fn drop(&mut self) {
        if self.vacant.len() < self.slots.len() {
            // The system may still use the memory, so it is leaked.
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

impl RingWaiter {
    /// Opens a file again, with the flags that it inherits, for transfers that the port reports. Fails for pipes, devices without
    /// offsets and directories.
    pub(crate) fn attach(&self, file: &impl AsHandle, inherited: OpenFlags) -> Result<Option<Handle>> {
        seekable(file)?;
        if query::<fs::FILE_STANDARD_INFO>(file, fs::FileStandardInfo).is_ok_and(|found| found.Directory) {
            return Err(Code::IS_DIRECTORY);
        }
        let file = reopen(file, status_flags(file)? | inherited | OpenFlags::OVERLAPPED)?;
        self.packets.port.attach(&file)?;
        Ok(Some(file))
    }

    pub(crate) fn submit_and_wait(&self, _: usize, _: Option<Duration>) {
        self.packets.wait(INFINITE);
    }
}
