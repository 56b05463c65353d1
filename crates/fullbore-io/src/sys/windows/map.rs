//! Mappings of files that report a fault instead of ending the process.
//!
//! The system refuses to truncate a mapped file, but a page may fail to be read: from a network, or a device that was removed.
//! The access then raises an exception. The handler here checks whether the address is in one of our mappings; if so, it
//! replaces that mapping by zeros, marks it and lets the access continue. The user of the bytes calls [`Map::check`] before
//! using a result.

use std::io;
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use windows_sys::Win32::Foundation::EXCEPTION_IN_PAGE_ERROR;
use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;
use windows_sys::Win32::System::Diagnostics::Debug::{
    AddVectoredExceptionHandler, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
};
use windows_sys::Win32::System::Memory as memory;

use super::code::check;
use super::handle::raw;
use super::process::mapping_unit;
use super::{BorrowedHandle, Code, Handle, try_clone};

/// Maximum number of simultaneous mappings: more than the number of workers can be.
const MOST_RANGES: usize = 2048;

/// A mapping that the handler recognises. `start == 0`: vacant; `start == 1`: being initialised.
struct MappedRange {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

static RANGES: [MappedRange; MOST_RANGES] = [const {
    MappedRange { start: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) }
}; MOST_RANGES];

unsafe extern "system" fn on_exception(found: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system passes valid pointers.
    let record = unsafe { &*(*found).ExceptionRecord };
    if record.ExceptionCode != EXCEPTION_IN_PAGE_ERROR || record.NumberParameters < 2 {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    let address = record.ExceptionInformation[1];
    for range in &RANGES {
        let start = range.start.load(Ordering::Acquire);
        let end = range.end.load(Ordering::Relaxed);
        if start > 1 && (start..end).contains(&address) {
            range.faulted.store(true, Ordering::Release);
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
            if !placed.is_null() {
                return EXCEPTION_CONTINUE_EXECUTION;
            }
        }
    }
    EXCEPTION_CONTINUE_SEARCH
}

/// A mapped part of a file.
#[derive(Debug)]
pub(crate) struct Map {
    /// The start of the view, at a multiple of the system's unit.
    view: NonNull<u8>,
    /// The place of the first byte wanted in the view.
    skip: usize,
    len: usize,
    index: usize,
    /// The file of a writable mapping, to flush it.
    file: Option<Handle>,
}

// SAFETY: a map is memory; shared access goes through `&self`, which only reads.
unsafe impl Send for Map {}
// SAFETY: `&self` only reads; changes of the bytes need `&mut self`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `len` bytes of `file` from `offset`.
    pub(crate) fn new(file: BorrowedHandle<'_>, offset: u64, len: usize, writable: bool) -> io::Result<Self> {
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
        let address = view.as_ptr() as usize;
        for (index, range) in RANGES.iter().enumerate() {
            if range.start.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                range.end.store(address + whole, Ordering::Relaxed);
                range.faulted.store(false, Ordering::Relaxed);
                range.start.store(address, Ordering::Release);
                return Ok(Self { view, skip, len, index, file: copy });
            }
        }
        // SAFETY: the view is new and has no other user.
        unsafe {
            memory::UnmapViewOfFile(memory::MEMORY_MAPPED_VIEW_ADDRESS { Value: view.as_ptr().cast() })
        };
        Err(io::Error::other("too many mappings at a time"))
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the place is within the view.
        unsafe { self.view.as_ptr().add(self.skip) }
    }

    /// The bytes. They are valid only if [`check`](Self::check) returns `true` afterwards.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped and readable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }

    /// The bytes, mutable.
    ///
    /// # Panics
    /// If the mapping is read-only.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.file.is_some(), "the mapping is read-only");
        // SAFETY: mapped and writable for `len` bytes while `self` lives; the handler catches faults.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }

    /// Copies bytes out of the mapping, from `place` on. They are valid only if [`check`](Self::check) returns `true`
    /// afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping.
    pub(crate) fn copy_out(&self, place: usize, data: &mut [u8]) {
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: the range is within the mapping, which remains readable while `self` lives; `data` is the caller's own
        // memory. No reference to the mapped bytes exists, so concurrent changes are harmless.
        unsafe { std::ptr::copy_nonoverlapping(self.start().add(place), data.as_mut_ptr(), data.len()) }
    }

    /// Copies `data` to `place` in the mapping. The copy is valid only if [`check`](Self::check) returns `true`
    /// afterwards.
    ///
    /// # Panics
    /// If the range exceeds the mapping, or the mapping is read-only.
    pub(crate) fn copy_in(&mut self, place: usize, data: &[u8]) {
        assert!(self.file.is_some(), "the mapping is read-only");
        assert!(place.checked_add(data.len()).is_some_and(|end| end <= self.len), "outside the mapping");
        // SAFETY: as in `copy_out`, and the mapping is writable.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.start().add(place), data.len()) }
    }

    /// Waits until all changes of the mapping are on the device.
    pub(crate) fn flush(&self) -> io::Result<()> {
        // SAFETY: the range belongs to this map; writing it back does not change it.
        check(unsafe { memory::FlushViewOfFile(self.start().cast(), self.len) })?;
        match &self.file {
            // SAFETY: a call with an open handle.
            Some(file) => Ok(check(unsafe { FlushFileBuffers(raw(file) as _) })?),
            None => Ok(()),
        }
    }

    /// True if no page was missing in any access so far.
    pub(crate) fn check(&self) -> bool {
        !RANGES[self.index].faulted.load(Ordering::Acquire)
    }

    /// The system takes no hint of this kind.
    pub(crate) fn advise(&self, _: bool) -> io::Result<()> {
        Err(Code::UNSUPPORTED.into())
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let replaced = !self.check();
        RANGES[self.index].start.store(0, Ordering::Release);
        // SAFETY: the view, or the memory that replaced it, belongs to this map, and no reference into it outlives `self`.
        unsafe {
            if replaced {
                memory::VirtualFree(self.view.as_ptr().cast(), 0, memory::MEM_RELEASE);
            } else {
                let place = memory::MEMORY_MAPPED_VIEW_ADDRESS { Value: self.view.as_ptr().cast() };
                memory::UnmapViewOfFile(place);
            }
        }
    }
}
