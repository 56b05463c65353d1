//! The functions of I/O rings as Windows documents them, for tests where the system lacks them: each submission is executed by a
//! thread, the last request first, and the event is set when a completion arrives in the empty queue.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::{GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading as threading;
use windows_sys::core::HRESULT;

use super::super::handle::{Handle, Reset, new_event, raw};
use super::super::information::call_at;
use super::{Functions, Ring};

pub(crate) fn open(file: Handle, depth: usize, write: bool) -> io::Result<Ring> {
    super::open_with(FUNCTIONS, file, depth, write)
}

const FUNCTIONS: Functions =
    Functions { query, create, set_event, read, write: Some(write), submit, pop, close };

/// The functions of the first release, which does not write.
fn first_release() -> Functions {
    unsafe extern "system" fn query(found: *mut fs::IORING_CAPABILITIES) -> HRESULT {
        let flags = fs::IORING_FEATURE_SET_COMPLETION_EVENT;
        // SAFETY: the caller passes a structure.
        unsafe { *found = capabilities(fs::IORING_VERSION_1, flags) };
        w::S_OK
    }
    Functions { query, write: None, ..FUNCTIONS }
}

fn capabilities(version: i32, flags: i32) -> fs::IORING_CAPABILITIES {
    fs::IORING_CAPABILITIES {
        MaxVersion: version,
        MaxSubmissionQueueSize: 64,
        MaxCompletionQueueSize: 128,
        FeatureFlags: flags,
    }
}

struct Built {
    write: bool,
    file: usize,
    memory: usize,
    len: u32,
    offset: u64,
    token: usize,
}

#[derive(Default)]
struct Queues {
    built: Mutex<Vec<Built>>,
    completed: Mutex<VecDeque<fs::IORING_CQE>>,
    event: Mutex<usize>,
    most: usize,
}

fn queues(ring: fs::HIORING) -> &'static Arc<Queues> {
    // SAFETY: `create` made the handle from this type; the ring is used until `close`.
    unsafe { &*ring.cast::<Arc<Queues>>() }
}

unsafe extern "system" fn query(found: *mut fs::IORING_CAPABILITIES) -> HRESULT {
    // SAFETY: the caller passes a structure.
    unsafe { *found = capabilities(fs::IORING_VERSION_3, fs::IORING_FEATURE_SET_COMPLETION_EVENT) };
    w::S_OK
}

unsafe extern "system" fn create(
    _: fs::IORING_VERSION,
    _: fs::IORING_CREATE_FLAGS,
    entries: u32,
    _: u32,
    ring: *mut fs::HIORING,
) -> HRESULT {
    let queues = Arc::new(Queues { most: entries as usize, ..Queues::default() });
    // SAFETY: the caller passes the place of a handle.
    unsafe { *ring = Box::into_raw(Box::new(queues)).cast() };
    w::S_OK
}

unsafe extern "system" fn set_event(ring: fs::HIORING, event: w::HANDLE) -> HRESULT {
    *queues(ring).event.lock().unwrap() = event as usize;
    w::S_OK
}

unsafe extern "system" fn read(
    ring: fs::HIORING,
    file: fs::IORING_HANDLE_REF,
    memory: fs::IORING_BUFFER_REF,
    len: u32,
    offset: u64,
    token: usize,
    _: fs::IORING_SQE_FLAGS,
) -> HRESULT {
    build(ring, false, file, memory, len, offset, token)
}

unsafe extern "system" fn write(
    ring: fs::HIORING,
    file: fs::IORING_HANDLE_REF,
    memory: fs::IORING_BUFFER_REF,
    len: u32,
    offset: u64,
    _: fs::FILE_WRITE_FLAGS,
    token: usize,
    _: fs::IORING_SQE_FLAGS,
) -> HRESULT {
    build(ring, true, file, memory, len, offset, token)
}

fn build(
    ring: fs::HIORING,
    write: bool,
    file: fs::IORING_HANDLE_REF,
    memory: fs::IORING_BUFFER_REF,
    len: u32,
    offset: u64,
    token: usize,
) -> HRESULT {
    let mut built = queues(ring).built.lock().unwrap();
    if built.len() == queues(ring).most {
        return w::E_FAIL;
    }
    // SAFETY: the program passes handles and addresses, of the documented kinds.
    let (file, memory) = unsafe { (file.Handle.Handle as usize, memory.Buffer.Address as usize) };
    built.push(Built { write, file, memory, len, offset, token });
    w::S_OK
}

unsafe extern "system" fn submit(ring: fs::HIORING, _: u32, _: u32, _: *mut u32) -> HRESULT {
    let queues = queues(ring).clone();
    let batch = std::mem::take(&mut *queues.built.lock().unwrap());
    std::thread::spawn(move || {
        for one in batch.into_iter().rev() {
            let completion = execute(&one);
            let mut completed = queues.completed.lock().unwrap();
            completed.push_back(completion);
            if completed.len() == 1 {
                // SAFETY: the event is open while requests are in flight.
                unsafe { threading::SetEvent(*queues.event.lock().unwrap() as w::HANDLE) };
            }
        }
    });
    w::S_OK
}

fn execute(one: &Built) -> fs::IORING_CQE {
    let (file, nothing) = (one.file as w::HANDLE, std::ptr::null_mut());
    let event = new_event(Reset::ByHand).unwrap();
    let mut call = OVERLAPPED { hEvent: raw(&event) as _, ..call_at(one.offset) };
    let mut bytes = 0;
    // SAFETY: the ring keeps the file and the memory until the completion; this thread waits for the transfer.
    let error = unsafe {
        let started = match one.write {
            true => fs::WriteFile(file, one.memory as *const u8, one.len, nothing, &raw mut call),
            false => fs::ReadFile(file, one.memory as *mut u8, one.len, nothing, &raw mut call),
        };
        match (started, w::GetLastError()) {
            (0, error) if error != w::ERROR_IO_PENDING => error,
            _ => match GetOverlappedResult(file, &raw const call, &raw mut bytes, 1) {
                0 => w::GetLastError(),
                _ => 0,
            },
        }
    };
    let code = if error == 0 { w::S_OK } else { (0x8007_0000 | error) as HRESULT };
    fs::IORING_CQE { UserData: one.token, ResultCode: code, Information: bytes as usize }
}

unsafe extern "system" fn pop(ring: fs::HIORING, entry: *mut fs::IORING_CQE) -> HRESULT {
    match queues(ring).completed.lock().unwrap().pop_front() {
        Some(found) => {
            // SAFETY: the caller passes a structure.
            unsafe { *entry = found };
            w::S_OK
        }
        None => w::S_FALSE,
    }
}

unsafe extern "system" fn close(ring: fs::HIORING) -> HRESULT {
    // SAFETY: `create` made the handle, and it is not used again.
    drop(unsafe { Box::from_raw(ring.cast::<Arc<Queues>>()) });
    w::S_OK
}

#[test]
fn results_are_errors_of_win32() {
    for (result, expected) in [
        (0x8007_0026, w::ERROR_HANDLE_EOF),
        (0xD000_0011, w::ERROR_HANDLE_EOF),
        (0xC000_0011, w::ERROR_HANDLE_EOF),
        (0xD000_007F, w::ERROR_DISK_FULL),
        (0x8007_0021, w::ERROR_LOCK_VIOLATION),
        (0x8046_0004_u32, 0x8046_0004),
    ] {
        assert_eq!(super::number(result as HRESULT), expected, "{result:x}");
    }
}

#[test]
fn the_first_release_reads_and_does_not_write() {
    let file = || Handle::from(tempfile::tempfile().unwrap());
    assert!(super::open_with(first_release(), file(), 4, false).is_ok());
    let error = super::open_with(first_release(), file(), 4, true).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    assert!(error.to_string().contains("do not write"), "{error}");
}

#[test]
fn the_running_system_has_rings_or_says_that_it_has_none() {
    let file = Handle::from(tempfile::tempfile().unwrap());
    if let Err(error) = super::open(file, 4, true) {
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        println!("skipped: the system's own rings: {error}");
    }
}
