//! Mappings of files, and the handler of the exception that the system raises for a page that cannot be read, for example from a
//! network or a device that was removed. The handler replaces one of this crate's mappings by zeros. The system refuses to truncate a
//! mapped file.

use std::io;
use std::ops::{Range, RangeInclusive};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{EXCEPTION_ACCESS_VIOLATION, EXCEPTION_IN_PAGE_ERROR};
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
use crate::sys::memory::{fault_at, is_faulted};

/// Set while a thread replaces a view: between its two calls the addresses belong to nobody.
static REPLACING: AtomicBool = AtomicBool::new(false);

/// The number of a read and of a write among the parameters of an access violation; a third kind is an execution.
const READ_OR_WRITE: RangeInclusive<usize> = 0..=1;

unsafe extern "system" fn on_exception(found: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system passes valid pointers.
    let record = unsafe { &*(*found).ExceptionRecord };
    let [kind, address, ..] = record.ExceptionInformation;
    let continues = match record.ExceptionCode {
        _ if record.NumberParameters < 2 => false,
        EXCEPTION_IN_PAGE_ERROR => {
            fault_at(address).is_some_and(|(view, _)| alone(|| replace(address, &view)))
        }
        // Another thread replaces the view, or has replaced it meanwhile.
        EXCEPTION_ACCESS_VIOLATION if READ_OR_WRITE.contains(&kind) && is_faulted(address) => {
            alone(|| state_at(address) == Some(memory::MEM_PRIVATE))
        }
        _ => false,
    };
    if continues { EXCEPTION_CONTINUE_EXECUTION } else { EXCEPTION_CONTINUE_SEARCH }
}

/// Calls a function while no other thread replaces a view. For the handler: an atomic and bare system calls.
fn alone(call: impl FnOnce() -> bool) -> bool {
    while REPLACING.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
    let result = call();
    REPLACING.store(false, Ordering::Release);
    result
}

/// The type of the committed memory at an address: of a file, or without one; `None` if nothing is there.
fn state_at(address: usize) -> Option<memory::PAGE_TYPE> {
    let mut found = memory::MEMORY_BASIC_INFORMATION::default();
    let size = size_of_val(&found);
    // SAFETY: the call writes the structure, whose size it is given.
    let bytes = unsafe { memory::VirtualQuery(address as *const _, &raw mut found, size) };
    (bytes == size && found.State == memory::MEM_COMMIT).then_some(found.Type)
}

/// Places zeros over a view, unless another thread did. True if memory without a file is there now. If a thread that allocates
/// memory takes the free addresses between the two calls, the second one fails, and the exception ends the process.
fn replace(address: usize, view: &Range<usize>) -> bool {
    if state_at(address) == Some(memory::MEM_PRIVATE) {
        return true;
    }
    let place = memory::MEMORY_MAPPED_VIEW_ADDRESS { Value: view.start as *mut _ };
    let kind = memory::MEM_RESERVE | memory::MEM_COMMIT;
    // SAFETY: the range is a view that a live `Map` owns, which remains readable and writable.
    let placed = unsafe {
        memory::UnmapViewOfFile(place);
        memory::VirtualAlloc(view.start as *const _, view.len(), kind, memory::PAGE_READWRITE)
    };
    !placed.is_null()
}

/// Maximum number of bytes that the system reads in advance. The call reads all that it is given: workers that each map a file
/// larger than memory would displace one another's pages.
const MOST_PREFETCHED: usize = 64 << 20;

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

    /// Lets the system read the start of a range in few large requests. It takes no hint of random accesses.
    pub(in crate::sys) fn advise(&self, range: Range<usize>, random: bool) -> Result<()> {
        if random {
            return Err(Code::UNSUPPORTED);
        }
        let range = memory::WIN32_MEMORY_RANGE_ENTRY {
            VirtualAddress: self.start().wrapping_add(range.start).cast(),
            NumberOfBytes: range.len().min(MOST_PREFETCHED),
        };
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

#[cfg(test)]
mod tests {
    use std::os::windows::io::AsHandle as _;
    use std::sync::Barrier;

    use windows_sys::Win32::Foundation::STATUS_IO_DEVICE_ERROR;
    use windows_sys::Win32::System::Diagnostics::Debug::RaiseException;

    use super::*;
    use crate::sys::map::Map;

    const LEN: usize = 300_000;

    fn mapped() -> (tempfile::NamedTempFile, Map) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; LEN]).unwrap();
        let map = Map::new(file.as_file().as_handle(), 0, LEN, false).unwrap();
        (file, map)
    }

    fn raise(code: i32, address: usize) {
        let parameters = [0, address, STATUS_IO_DEVICE_ERROR as usize];
        // SAFETY: the parameters live through the call, which returns if the handler continues.
        unsafe { RaiseException(code as u32, 0, parameters.len() as u32, parameters.as_ptr()) };
    }

    #[test]
    fn a_page_that_cannot_be_read_is_replaced_once() {
        let (_file, map) = mapped();
        assert!(map.bytes()[LEN - 1] == 7 && map.check());
        let address = map.bytes().as_ptr().addr() + 5000;
        raise(EXCEPTION_IN_PAGE_ERROR, address);
        assert!(map.bytes()[LEN - 1] == 0 && !map.check());
        // As for a thread that found the page missing at the same time, or the addresses free.
        raise(EXCEPTION_IN_PAGE_ERROR, address);
        raise(EXCEPTION_ACCESS_VIOLATION, address + 1);
        assert!(map.bytes().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn threads_that_find_pages_missing_at_once_all_continue() {
        for _ in 0..50 {
            let (_file, map) = mapped();
            let start = map.bytes().as_ptr().addr();
            let barrier = Barrier::new(6);
            std::thread::scope(|scope| {
                for thread in 0..6 {
                    let (map, barrier) = (&map, &barrier);
                    scope.spawn(move || {
                        // Memory that is allocated while the addresses are free may take them.
                        let mut bytes = vec![1; LEN];
                        barrier.wait();
                        // Half of the threads fault, and half read while the addresses are free.
                        if thread % 2 == 0 {
                            raise(EXCEPTION_IN_PAGE_ERROR, start + thread * 4096);
                        }
                        map.copy_out(0, &mut bytes);
                        assert!(bytes.iter().all(|byte| [0, 7].contains(byte)));
                    });
                }
            });
            assert!(!map.check() && map.bytes().iter().all(|&byte| byte == 0));
        }
    }
}
