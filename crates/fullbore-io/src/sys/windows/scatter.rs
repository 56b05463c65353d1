//! Scattered reads and gathered writes: `ReadFileScatter` and `WriteFileGather`, which move whole pages and bypass the page cache.

use std::io;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO as overlapped;

use super::handle::{AsHandle, Handle, OpenFlags, raw};
use super::information::call_at;
use super::open::reopen;
use super::overlapped::{Reset, moved, new_event};
use super::process::page_size;
use crate::buf::{Direction, Request};
use crate::sys::code::Code;

pub(crate) struct Scatter {
    file: Handle,
    event: Handle,
    page: usize,
}

impl Scatter {
    pub(crate) fn new(file: &impl AsHandle, write: bool) -> io::Result<Self> {
        let access = if write { OpenFlags::READ_WRITE } else { OpenFlags::READ };
        let file = reopen(file, access | OpenFlags::DIRECT | OpenFlags::OVERLAPPED)?;
        Ok(Self { file, event: new_event(Reset::ByHand)?, page: page_size() })
    }

    /// True if a request consists of whole pages.
    pub(crate) fn takes(&self, request: &Request) -> bool {
        let (start, len) = request.memory();
        len > 0 && start.addr().is_multiple_of(self.page) && (len as usize).is_multiple_of(self.page)
    }

    /// Moves a run of adjacent requests that it [takes](Self::takes), in one call. Returns the bytes moved; 0 at the end.
    pub(crate) fn transfer(&self, run: &mut [Request]) -> io::Result<usize> {
        let Some(first) = run.first() else { return Ok(0) };
        let (direction, offset) = (first.direction, first.offset);
        let mut pages = Vec::new();
        let mut bytes = 0;
        for request in run {
            let (start, len) = request.memory();
            bytes += len;
            pages.extend(
                (0..len as usize)
                    .step_by(self.page)
                    .map(|at| fs::FILE_SEGMENT_ELEMENT { Buffer: start.wrapping_add(at).cast() }),
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
