//! Mappings of files, and the handler of the exception that the system raises for a page that cannot be read: from a network, or a
//! device that was removed. The handler replaces a mapping of ours by zeros. The system refuses to truncate a mapped file.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Once;

use windows_sys::Win32::Foundation::EXCEPTION_IN_PAGE_ERROR;
use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;
use windows_sys::Win32::System::Diagnostics::Debug::{
    AddVectoredExceptionHandler, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
};
use windows_sys::Win32::System::Memory as memory;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use super::code::check;
use super::handle::{BorrowedHandle, Handle, raw};
use super::open::try_clone;
use super::process::mapping_unit;
use crate::sys::code::{Code, Result};
use crate::sys::memory::fault_at;

unsafe extern "system" fn on_exception(found: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system passes valid pointers.
    let record = unsafe { &*(*found).ExceptionRecord };
    if record.ExceptionCode != EXCEPTION_IN_PAGE_ERROR || record.NumberParameters < 2 {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    let Some(Range { start, end }) = fault_at(record.ExceptionInformation[1]) else {
        return EXCEPTION_CONTINUE_SEARCH;
    };
    let place = memory::MEMORY_MAPPED_VIEW_ADDRESS { Value: start as *mut _ };
    // SAFETY: the range is a view that a live `Map` owns, which remains readable and writable.
    let placed = unsafe {
        memory::UnmapViewOfFile(place);
        memory::VirtualAlloc(
            start as *const _,
            end - start,
            memory::MEM_RESERVE | memory::MEM_COMMIT,
            memory::PAGE_READWRITE,
        )
    };
    if placed.is_null() { EXCEPTION_CONTINUE_SEARCH } else { EXCEPTION_CONTINUE_EXECUTION }
}

#[derive(Debug)]
pub(in crate::sys) struct View {
    /// The start of the memory, at a multiple of the system's unit.
    memory: NonNull<u8>,
    /// The place of the first byte wanted.
    skip: usize,
    whole: usize,
    /// The file of a writable mapping, to flush it.
    file: Option<Handle>,
}

impl View {
    pub(in crate::sys) fn new(
        file: BorrowedHandle<'_>,
        offset: u64,
        len: usize,
        writable: bool,
    ) -> io::Result<Self> {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            // SAFETY: the handler uses atomics and bare system calls alone.
            unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
        });
        let skip = (offset % mapping_unit()) as usize;
        let whole = skip.checked_add(len).ok_or(io::ErrorKind::InvalidInput)?;
        let from = offset - skip as u64;
        let (protection, access) = match writable {
            true => (memory::PAGE_READWRITE, memory::FILE_MAP_READ | memory::FILE_MAP_WRITE),
            false => (memory::PAGE_READONLY, memory::FILE_MAP_READ),
        };
        let copy = if writable { Some(try_clone(file)?) } else { None };
        // SAFETY: a new view at an address of the system's choice aliases no memory of this process. The bytes can change
        // during a read if another process writes the file: the operations on them accept any value of each byte and read
        // it once. The view keeps the mapping object.
        let view = unsafe {
            let object = memory::CreateFileMappingW(
                raw(&file) as _,
                std::ptr::null(),
                protection,
                0,
                0,
                std::ptr::null(),
            );
            if object.is_null() {
                return Err(Code::last().into());
            }
            let view = memory::MapViewOfFile(object, access, (from >> 32) as u32, from as u32, whole);
            let error = Code::last();
            windows_sys::Win32::Foundation::CloseHandle(object);
            NonNull::new(view.Value.cast::<u8>()).ok_or(error)?
        };
        Ok(Self { memory: view, skip, whole, file: copy })
    }

    pub(in crate::sys) fn start(&self) -> *mut u8 {
        self.memory.as_ptr().wrapping_add(self.skip)
    }

    pub(in crate::sys) fn addresses(&self) -> Range<usize> {
        let start = self.memory.as_ptr().addr();
        start..start + self.whole
    }

    pub(in crate::sys) fn flush(&self, len: usize) -> Result<()> {
        // SAFETY: the range belongs to this view; writing it back does not change it.
        check(unsafe { memory::FlushViewOfFile(self.start().cast(), len) })?;
        match &self.file {
            // SAFETY: a call with an open handle.
            Some(file) => check(unsafe { FlushFileBuffers(raw(file) as _) }),
            None => Ok(()),
        }
    }

    /// Lets the system read the first `len` bytes in few large requests. It takes no hint of random accesses.
    pub(in crate::sys) fn advise(&self, len: usize, random: bool) -> Result<()> {
        if random {
            return Err(Code::UNSUPPORTED);
        }
        let range =
            memory::WIN32_MEMORY_RANGE_ENTRY { VirtualAddress: self.start().cast(), NumberOfBytes: len };
        // SAFETY: the call reads one structure, which lives through it; it changes no byte.
        check(unsafe { memory::PrefetchVirtualMemory(GetCurrentProcess(), 1, &raw const range, 0) })
    }

    /// Ends the mapping. No reference into it may exist. `replaced`: the handler placed zeros there.
    pub(in crate::sys) fn unmap(&self, replaced: bool) {
        // SAFETY: the memory belongs to this view, and the caller has no reference into it.
        unsafe {
            if replaced {
                memory::VirtualFree(self.memory.as_ptr().cast(), 0, memory::MEM_RELEASE);
            } else {
                let place = memory::MEMORY_MAPPED_VIEW_ADDRESS { Value: self.memory.as_ptr().cast() };
                memory::UnmapViewOfFile(place);
            }
        }
    }
}
