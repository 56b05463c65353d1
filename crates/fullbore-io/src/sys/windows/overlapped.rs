//! Overlapped transfers of one file: owned buffers are queued and reaped, and one of three mechanisms reports completions.
//!
//! A buffer belongs to the queue from its start until its completion is reaped; dropping the queue cancels the transfers in
//! flight and waits for them.

use std::cell::Cell;
use std::io;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::{IO as overlapped, Threading as threading};

use super::code::check;
use super::handle::{AsHandle, Handle, Reset, new_event, owned, raw};
use super::information::call_at;
use super::process::page_size;
use crate::buf::{Completion, Direction, Request};
use crate::sys::code::{Code, Result as SystemResult};
use crate::sys::types::{RequestQueue, drain};

/// The notification of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A completion port collects them.
    Port,
    /// Each transfer signals an event of its own.
    Event,
    /// The system calls a routine while the thread waits for it.
    Routine,
}

/// Maximum number of events that one call waits for: `MAXIMUM_WAIT_OBJECTS`.
pub(crate) const MOST_EVENTS: usize = 64;

/// A place for a transfer. The system holds the address of its first field.
#[repr(C)]
struct Slot {
    call: overlapped::OVERLAPPED,
    request: Cell<Option<Request>>,
    /// Set by a routine: the error, or 0, and the number of bytes.
    ended: Cell<Option<(u32, u32)>>,
    event: Option<Handle>,
    /// Its index among the slots.
    index: usize,
    /// Its index among those in flight, if it is one.
    place: usize,
}

/// The transfers of one file. The queue stays on its thread (the slots are not `Send`): the system calls a routine on the thread
/// that started the transfer, so another thread would wait for ever, and the routine writes cells that only this one may use.
pub(crate) struct Queue {
    file: Handle,
    port: Option<Port>,
    notice: Notice,
    /// Boxed: the system keeps the addresses.
    #[allow(clippy::vec_box, reason = "the addresses must not change")]
    slots: Vec<Box<Slot>>,
    vacant: Vec<usize>,
    flying: Vec<usize>,
    refused: Vec<Completion>,
}

impl Queue {
    pub(crate) fn new(file: Handle, depth: usize, notice: Notice) -> io::Result<Self> {
        let port = match notice {
            Notice::Port => {
                let port = Port::new()?;
                port.attach(&file)?;
                Some(port)
            }
            Notice::Event | Notice::Routine => None,
        };
        let most = if notice == Notice::Event { MOST_EVENTS } else { usize::MAX };
        let depth = depth.clamp(1, most);
        let slots = (0..depth).map(|index| slot(notice, index)).collect::<SystemResult<Vec<_>>>()?;
        let vacant = (0..depth).rev().collect();
        Ok(Self { file, port, notice, slots, vacant, flying: Vec::with_capacity(depth), refused: Vec::new() })
    }

    fn complete(&mut self, index: usize, error: u32, bytes: u32, out: &mut Vec<Completion>) {
        let place = self.slots[index].place;
        self.flying.swap_remove(place);
        if let Some(&last) = self.flying.get(place) {
            self.slots[last].place = place;
        }
        self.vacant.push(index);
        if let Some(request) = self.slots[index].request.take() {
            out.push(Completion { request, result: moved(error, bytes) });
        }
    }

    fn take_from_port(&mut self, wait: bool, out: &mut Vec<Completion>) -> io::Result<usize> {
        let Some(port) = &self.port else { return Ok(0) };
        let mut entries = [overlapped::OVERLAPPED_ENTRY::default(); 64];
        let found = port.take(if wait { threading::INFINITE } else { 0 }, &mut entries)?;
        for entry in found {
            // SAFETY: the port has packets of this file alone, each with the first field of a slot, which lives.
            let index = unsafe { (*entry.lpOverlapped.cast_const().cast::<Slot>()).index };
            let (error, bytes) = self.outcome(index);
            self.complete(index, error, bytes, out);
        }
        Ok(found.len())
    }

    /// The result of a transfer that has ended: the error, or 0, and the number of bytes.
    fn outcome(&self, index: usize) -> (u32, u32) {
        let mut bytes = 0;
        let call = &raw const self.slots[index].call;
        // SAFETY: the structure is that of a transfer of this file; the call does not wait.
        match unsafe { overlapped::GetOverlappedResult(raw(&self.file) as _, call, &raw mut bytes, 0) } {
            0 => (Code::last_number(), bytes),
            _ => (0, bytes),
        }
    }

    fn take_signalled(&mut self, wait: bool, out: &mut Vec<Completion>) -> io::Result<usize> {
        let events: Vec<w::HANDLE> = self
            .flying
            .iter()
            .filter_map(|&index| self.slots[index].event.as_ref())
            .map(|event| raw(event) as w::HANDLE)
            .collect();
        let time = if wait { threading::INFINITE } else { 0 };
        // SAFETY: the handles are open, and at most as many as a call takes.
        let found =
            unsafe { threading::WaitForMultipleObjects(events.len() as u32, events.as_ptr(), 0, time) };
        match found {
            w::WAIT_TIMEOUT => return Ok(0),
            w::WAIT_FAILED => return Err(io::Error::last_os_error()),
            _ => {}
        }
        let mut count = 0;
        for index in self.flying.clone() {
            match self.outcome(index) {
                (w::ERROR_IO_INCOMPLETE, _) => {}
                (error, bytes) => {
                    self.complete(index, error, bytes, out);
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    fn take_ended(&mut self, wait: bool, out: &mut Vec<Completion>) -> usize {
        // Another queue of this thread may have waited, and so called the routines of this one.
        let ended = self.flying.iter().any(|&index| self.slots[index].ended.get().is_some());
        // SAFETY: a call without memory; the routines that it calls store their results in slots that live.
        unsafe { threading::SleepEx(if wait && !ended { threading::INFINITE } else { 0 }, 1) };
        let mut count = 0;
        for index in self.flying.clone() {
            if let Some((error, bytes)) = self.slots[index].ended.take() {
                self.complete(index, error, bytes, out);
                count += 1;
            }
        }
        count
    }
}

impl RequestQueue for Queue {
    /// Starts the transfer at once.
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        let Some(index) = self.vacant.pop() else { return Err(request) };
        let (start, len) = request.memory();
        let (write, offset) = (request.direction == Direction::Write, request.offset);
        let slot = &mut self.slots[index];
        slot.call = overlapped::OVERLAPPED {
            hEvent: slot.event.as_ref().map_or(std::ptr::null_mut(), |event| raw(event) as _),
            ..call_at(offset)
        };
        slot.ended.set(None);
        slot.request.set(Some(request));
        let file = raw(&self.file) as _;
        let call: *mut overlapped::OVERLAPPED = (&raw mut **slot).cast();
        let nothing = std::ptr::null_mut();
        // SAFETY: the slot owns the buffer, and keeps its address, until the completion is reaped.
        let started = unsafe {
            match (self.notice, write) {
                (Notice::Routine, false) => fs::ReadFileEx(file, start.cast(), len, call, Some(on_end)),
                (Notice::Routine, true) => fs::WriteFileEx(file, start.cast(), len, call, Some(on_end)),
                (_, false) => fs::ReadFile(file, start.cast(), len, nothing, call),
                (_, true) => fs::WriteFile(file, start.cast(), len, nothing, call),
            }
        };
        if started == 0 {
            let number = Code::last_number();
            if number != w::ERROR_IO_PENDING {
                self.vacant.push(index);
                if let Some(request) = self.slots[index].request.take() {
                    self.refused.push(Completion { request, result: moved(number, 0) });
                }
                return Ok(());
            }
        }
        self.slots[index].place = self.flying.len();
        self.flying.push(index);
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let least = least.saturating_sub(self.refused.len()).min(self.flying.len());
        done.append(&mut self.refused);
        let mut count = 0;
        while !self.flying.is_empty() {
            let found = match self.notice {
                Notice::Port => self.take_from_port(count < least, done)?,
                Notice::Event => self.take_signalled(count < least, done)?,
                Notice::Routine => self.take_ended(count < least, done),
            };
            count += found;
            if count >= least && found == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// A port that collects the completions of the files attached to it.
#[derive(Debug)]
pub(super) struct Port(Handle);

impl Port {
    pub(super) fn new() -> SystemResult<Self> {
        let (none, unused) = (w::INVALID_HANDLE_VALUE, std::ptr::null_mut());
        // SAFETY: a call without a file makes a new port, which nobody else has.
        Ok(Self(unsafe { owned(overlapped::CreateIoCompletionPort(none, unused, 0, 0)) }?))
    }

    pub(super) fn attach(&self, file: &impl AsHandle) -> SystemResult<()> {
        // SAFETY: a call with two open handles.
        let attached = unsafe { overlapped::CreateIoCompletionPort(raw(file) as _, raw(&self.0) as _, 0, 0) };
        if attached.is_null() { Err(Code::last()) } else { Ok(()) }
    }

    /// Takes the available packets; waits for the first up to `time` milliseconds.
    pub(super) fn take<'a>(
        &self,
        time: u32,
        entries: &'a mut [overlapped::OVERLAPPED_ENTRY],
    ) -> io::Result<&'a [overlapped::OVERLAPPED_ENTRY]> {
        let mut count = 0;
        // SAFETY: the call writes at most the given number of entries, and their number.
        let found = unsafe {
            overlapped::GetQueuedCompletionStatusEx(
                raw(&self.0) as _,
                entries.as_mut_ptr(),
                entries.len() as u32,
                &raw mut count,
                time,
                0,
            )
        };
        if found == 0 {
            return match Code::last_number() {
                w::WAIT_TIMEOUT => Ok(&[]),
                error => Err(io::Error::from_raw_os_error(error as i32)),
            };
        }
        Ok(&entries[..count as usize])
    }

    pub(super) fn post(&self, call: *const overlapped::OVERLAPPED) {
        // SAFETY: the system passes the address on without using it.
        unsafe { overlapped::PostQueuedCompletionStatus(raw(&self.0) as _, 0, 0, call) };
    }
}

fn slot(notice: Notice, index: usize) -> SystemResult<Box<Slot>> {
    let event = match notice {
        Notice::Event => Some(new_event(Reset::ByHand)?),
        Notice::Port | Notice::Routine => None,
    };
    Ok(Box::new(Slot {
        call: overlapped::OVERLAPPED::default(),
        request: Cell::new(None),
        ended: Cell::new(None),
        event,
        index,
        place: 0,
    }))
}

/// The bytes of a transfer: none at the end of the file.
pub(super) fn moved(error: u32, bytes: u32) -> io::Result<usize> {
    match error {
        0 => Ok(bytes as usize),
        w::ERROR_HANDLE_EOF => Ok(0),
        error => Err(io::Error::from_raw_os_error(error as i32)),
    }
}

unsafe extern "system" fn on_end(error: u32, bytes: u32, call: *mut overlapped::OVERLAPPED) {
    // SAFETY: the structure is the first field of a slot, which lives until its transfer is reaped; the system calls the routine
    // on the thread that started the transfer, on which the queue stays.
    let slot = unsafe { &*call.cast::<Slot>() };
    slot.ended.set(Some((error, bytes)));
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.flying.is_empty() {
            return;
        }
        // SAFETY: a call with an open handle.
        let _ = check(unsafe { overlapped::CancelIoEx(raw(&self.file) as _, std::ptr::null()) });
        if !drain(self, |queue| queue.flying.len()) {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

/// The number of the first transfers of these lengths that fit into one call, and their length.
fn in_one_call(lengths: impl Iterator<Item = u32>) -> (usize, u32) {
    lengths
        .scan(0u32, |total, len| {
            *total = total.checked_add(len)?;
            Some(*total)
        })
        .enumerate()
        .last()
        .map_or((0, 0), |(index, total)| (index + 1, total))
}

pub(crate) struct Scatter {
    file: Handle,
    event: Handle,
    page: usize,
}

impl Scatter {
    /// Creates the queue of a file that is open without buffering, for calls that do not wait.
    pub(crate) fn new(file: Handle) -> io::Result<Self> {
        Ok(Self { file, event: new_event(Reset::ByHand)?, page: page_size() })
    }

    /// True if a request consists of whole pages.
    pub(crate) fn takes(&self, request: &Request) -> bool {
        let (start, len) = request.memory();
        len > 0 && start.addr().is_multiple_of(self.page) && (len as usize).is_multiple_of(self.page)
    }

    /// Moves a run of adjacent requests that it [takes](Self::takes), in one call: as many of them as the length of a call permits.
    /// Returns the bytes moved; 0 at the end.
    pub(crate) fn transfer(&self, run: &mut [Request]) -> io::Result<usize> {
        let Some(first) = run.first() else { return Ok(0) };
        let (direction, offset) = (first.direction, first.offset);
        let (count, bytes) = in_one_call(run.iter().map(|request| request.memory().1));
        let mut pages = Vec::new();
        for request in &mut run[..count] {
            let (start, len) = request.memory();
            // The address as a number: the system reads all of its eight bytes.
            let address = |at| start.wrapping_add(at).expose_provenance() as u64;
            pages.extend(
                (0..len as usize)
                    .step_by(self.page)
                    .map(|at| fs::FILE_SEGMENT_ELEMENT { Alignment: address(at) }),
            );
        }
        // The list ends with a null address.
        pages.push(fs::FILE_SEGMENT_ELEMENT { Alignment: 0 });
        let mut call = overlapped::OVERLAPPED { hEvent: raw(&self.event) as _, ..call_at(offset) };
        let (file, none) = (raw(&self.file) as _, std::ptr::null());
        // SAFETY: the requests, which are borrowed mutably, own the pages; they, the list and the structure live until the wait
        // below ends.
        let started = unsafe {
            match direction {
                Direction::Read => fs::ReadFileScatter(file, pages.as_ptr(), bytes, none, &raw mut call),
                Direction::Write => fs::WriteFileGather(file, pages.as_ptr(), bytes, none, &raw mut call),
            }
        };
        let error = if started == 0 { Code::last_number() } else { 0 };
        if ![0, w::ERROR_IO_PENDING].contains(&error) {
            return moved(error, 0);
        }
        let mut bytes = 0;
        // SAFETY: the structure is that of the call above; the wait ends with it.
        let ended = unsafe { overlapped::GetOverlappedResult(file, &raw const call, &raw mut bytes, 1) };
        moved(if ended == 0 { Code::last_number() } else { 0 }, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_as_many_transfers_as_its_length_can_count() {
        assert_eq!(in_one_call([].into_iter()), (0, 0));
        assert_eq!(in_one_call([4096, 8192].into_iter()), (2, 12_288));
        assert_eq!(in_one_call([1 << 31; 3].into_iter()), (1, 1 << 31));
        assert_eq!(in_one_call([1 << 30, 1 << 30, 1 << 30, 1 << 30, 4096].into_iter()), (3, 3 << 30));
        assert_eq!(in_one_call([u32::MAX - 4095, 4095, 4096].into_iter()), (2, u32::MAX));
    }
}
