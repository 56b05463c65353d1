//! I/O rings: requests of one file in queues that the program and the kernel share. Windows 11 and Server 2025 have them, writes
//! since the second release; the functions are looked up in the running system.

use std::io;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Threading as threading;
use windows_sys::core::HRESULT;

use super::code::{Function, function};
use super::handle::{Handle, Reset, new_event, raw};
use super::overlapped::moved;
use crate::buf::{Completion, Direction, Request};
use crate::sys::code::Code;
use crate::sys::types::{RequestQueue, drain};

#[cfg(test)]
pub(crate) mod fake;

type BuildRead = unsafe extern "system" fn(
    fs::HIORING,
    fs::IORING_HANDLE_REF,
    fs::IORING_BUFFER_REF,
    u32,
    u64,
    usize,
    fs::IORING_SQE_FLAGS,
) -> HRESULT;

type BuildWrite = unsafe extern "system" fn(
    fs::HIORING,
    fs::IORING_HANDLE_REF,
    fs::IORING_BUFFER_REF,
    u32,
    u64,
    fs::FILE_WRITE_FLAGS,
    usize,
    fs::IORING_SQE_FLAGS,
) -> HRESULT;

type Query = unsafe extern "system" fn(*mut fs::IORING_CAPABILITIES) -> HRESULT;
type Create = unsafe extern "system" fn(
    fs::IORING_VERSION,
    fs::IORING_CREATE_FLAGS,
    u32,
    u32,
    *mut fs::HIORING,
) -> HRESULT;
type SetEvent = unsafe extern "system" fn(fs::HIORING, w::HANDLE) -> HRESULT;
type Submit = unsafe extern "system" fn(fs::HIORING, u32, u32, *mut u32) -> HRESULT;
type Pop = unsafe extern "system" fn(fs::HIORING, *mut fs::IORING_CQE) -> HRESULT;
type Close = unsafe extern "system" fn(fs::HIORING) -> HRESULT;

/// The functions of `ioringapi.h`.
#[derive(Clone, Copy)]
struct Functions {
    query: Query,
    create: Create,
    set_event: SetEvent,
    read: BuildRead,
    /// Missing from the first release.
    write: Option<BuildWrite>,
    submit: Submit,
    pop: Pop,
    close: Close,
}

impl Functions {
    fn of_system() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Functions>> = OnceLock::new();
        /// The function of a name, in the type that its header declares.
        macro_rules! function {
            ($type:ty, $name:literal) => {
                function("kernelbase.dll", $name).map(|found| {
                    // SAFETY: the function of that name has that type.
                    unsafe { std::mem::transmute::<Function, $type>(found) }
                })
            };
        }
        let find = || {
            Some(Self {
                query: function!(Query, c"QueryIoRingCapabilities")?,
                create: function!(Create, c"CreateIoRing")?,
                set_event: function!(SetEvent, c"SetIoRingCompletionEvent")?,
                read: function!(BuildRead, c"BuildIoRingReadFile")?,
                write: function!(BuildWrite, c"BuildIoRingWriteFile"),
                submit: function!(Submit, c"SubmitIoRing")?,
                pop: function!(Pop, c"PopIoRingCompletion")?,
                close: function!(Close, c"CloseIoRing")?,
            })
        };
        FOUND.get_or_init(find).as_ref()
    }
}

pub(crate) struct Ring {
    functions: Functions,
    ring: fs::HIORING,
    /// Set when a completion arrives in the empty queue.
    event: Handle,
    file: Handle,
    flight: Vec<Option<Request>>,
    vacant: Vec<usize>,
    /// Requests that are built and not submitted.
    built: usize,
    outstanding: usize,
    refused: Vec<Completion>,
}

// SAFETY: a ring may be used by any thread, one at a time.
unsafe impl Send for Ring {}

pub(crate) fn open(file: Handle, depth: usize, write: bool) -> io::Result<Ring> {
    match Functions::of_system() {
        Some(functions) => open_with(*functions, file, depth, write),
        None => Err(unsupported("this version of Windows has no I/O rings")),
    }
}

fn unsupported(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}

fn open_with(functions: Functions, file: Handle, depth: usize, write: bool) -> io::Result<Ring> {
    let mut capabilities = fs::IORING_CAPABILITIES::default();
    // SAFETY: the call fills the structure.
    check(unsafe { (functions.query)(&raw mut capabilities) })?;
    if capabilities.FeatureFlags & fs::IORING_FEATURE_SET_COMPLETION_EVENT == 0 {
        return Err(unsupported("the I/O rings of this version of Windows have no events"));
    }
    if write && (functions.write.is_none() || capabilities.MaxVersion < fs::IORING_VERSION_3) {
        return Err(unsupported("the I/O rings of this version of Windows do not write"));
    }
    let depth = depth.clamp(1, capabilities.MaxSubmissionQueueSize.max(1) as usize);
    let (version, entries) = (capabilities.MaxVersion.min(fs::IORING_VERSION_3), depth as u32);
    let event = new_event(Reset::ByWait)?;
    let mut ring = std::ptr::null_mut();
    // SAFETY: the call writes the handle.
    check(unsafe {
        (functions.create)(version, fs::IORING_CREATE_FLAGS::default(), entries, entries, &raw mut ring)
    })?;
    let ring = Ring {
        functions,
        ring,
        event,
        file,
        flight: (0..depth).map(|_| None).collect(),
        vacant: (0..depth).rev().collect(),
        built: 0,
        outstanding: 0,
        refused: Vec::new(),
    };
    // SAFETY: the ring and the event are open.
    check(unsafe { (functions.set_event)(ring.ring, raw(&ring.event) as _) })?;
    Ok(ring)
}

fn check(result: HRESULT) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(number(result) as i32)) } else { Ok(()) }
}

/// The error of Win32 that a result contains, or the result itself if it is none.
fn number(result: HRESULT) -> u32 {
    const OF_WIN32: u32 = 0x8007_0000;
    const OF_KERNEL: u32 = 0x1000_0000;
    let result = result as u32;
    match result {
        _ if result & 0xFFFF_0000 == OF_WIN32 => result & 0xFFFF,
        // A status of the kernel, with the bit that marks it or without.
        _ if result & OF_KERNEL != 0 || result >> 30 == 3 => {
            Code::of_status((result & !OF_KERNEL) as w::NTSTATUS).number() as u32
        }
        _ => result,
    }
}

impl Ring {
    fn pop(&mut self, done: &mut Vec<Completion>) -> io::Result<usize> {
        let mut count = 0;
        loop {
            let mut entry = fs::IORING_CQE::default();
            // SAFETY: the ring is open, and the call fills the structure.
            let popped = unsafe { (self.functions.pop)(self.ring, &raw mut entry) };
            check(popped)?;
            if popped != w::S_OK {
                return Ok(count);
            }
            let Some(request) = self.flight.get_mut(entry.UserData).and_then(Option::take) else { continue };
            self.vacant.push(entry.UserData);
            self.outstanding -= 1;
            count += 1;
            let error = if entry.ResultCode < 0 { number(entry.ResultCode) } else { 0 };
            done.push(Completion { request, result: moved(error, entry.Information as u32) });
        }
    }
}

impl RequestQueue for Ring {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        let Some(index) = self.vacant.pop() else { return Err(request) };
        let (start, len) = request.memory();
        let file = fs::IORING_HANDLE_REF {
            Kind: fs::IORING_REF_RAW,
            Handle: fs::IORING_HANDLE_REF_0 { Handle: raw(&self.file) as _ },
        };
        let memory = fs::IORING_BUFFER_REF {
            Kind: fs::IORING_REF_RAW,
            Buffer: fs::IORING_BUFFER_REF_0 { Address: start.cast() },
        };
        let (offset, none) = (request.offset, fs::IOSQE_FLAGS_NONE);
        // SAFETY: the ring and the file are open, and `flight` owns the buffer until the completion is reaped.
        let built = unsafe {
            match (request.direction, self.functions.write) {
                (Direction::Read, _) => {
                    (self.functions.read)(self.ring, file, memory, len, offset, index, none)
                }
                (Direction::Write, Some(write)) => {
                    let flags = fs::FILE_WRITE_FLAGS_NONE;
                    write(self.ring, file, memory, len, offset, flags, index, none)
                }
                (Direction::Write, None) => w::E_NOTIMPL,
            }
        };
        match check(built) {
            Ok(()) => {
                self.flight[index] = Some(request);
                self.built += 1;
                self.outstanding += 1;
            }
            Err(error) => {
                self.vacant.push(index);
                self.refused.push(Completion { request, result: Err(error) });
            }
        }
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        if self.built > 0 {
            // SAFETY: the ring is open; the number of entries is not requested.
            check(unsafe { (self.functions.submit)(self.ring, 0, 0, std::ptr::null_mut()) })?;
            self.built = 0;
        }
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        self.submit()?;
        let least = least.saturating_sub(self.refused.len()).min(self.outstanding);
        done.append(&mut self.refused);
        let mut count = self.pop(done)?;
        while count < least {
            // The queue was empty, so the next completion sets the event. SAFETY: a call with an open handle.
            if unsafe { threading::WaitForSingleObject(raw(&self.event) as _, threading::INFINITE) }
                == w::WAIT_FAILED
            {
                return Err(io::Error::last_os_error());
            }
            count += self.pop(done)?;
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !drain(self, |ring| ring.outstanding) {
            std::mem::forget(std::mem::take(&mut self.flight));
        }
        // SAFETY: the ring is open and not used again.
        unsafe { (self.functions.close)(self.ring) };
    }
}
