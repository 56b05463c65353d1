//! Calls that are implemented by other calls, and the calls of Linux that the other systems have only in a simple form or lack.

use std::io;

use super::code::{Code, Result};
use super::types::{ExtendedStatus, Status};
#[cfg(unix)]
use super::unix as platform;
#[cfg(windows)]
use super::windows as platform;
use platform::{AsHandle, BorrowedHandle, Handle};
#[cfg(not(target_os = "macos"))]
use platform::{AtFlags, OpenFlags};

/// The facts of a system that reports no more than its `stat`.
impl From<Status> for ExtendedStatus {
    fn from(status: Status) -> Self {
        Self {
            mode: status.mode,
            device: platform::split_device(status.dev),
            special: platform::split_device(status.rdev),
            size: status.size,
            blocks: status.blocks,
            mount: None,
            direct: None,
        }
    }
}

pub fn read_exact_at(file: impl AsHandle, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match platform::read_at(&file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => done += count,
            Err(Code::INTERRUPTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the bytes that `read` returns, with memory of the first length, or up to the second where that is too
/// little: lists and values of extended attributes. macOS cuts a value without an error, so full memory is too little.
pub fn read_grown(
    (len, most): (usize, usize),
    read: impl Fn(&mut [u8]) -> super::code::Result<usize>,
) -> super::code::Result<Vec<u8>> {
    let mut memory = vec![0; len];
    loop {
        match read(&mut memory) {
            Err(Code::OUT_OF_RANGE) if memory.len() < most => {
                memory.resize((memory.len() * 8).min(most), 0);
            }
            Ok(len) if len >= memory.len() => match memory.len() < most {
                true => memory.resize((memory.len() * 8).min(most), 0),
                false => return Err(Code::OUT_OF_RANGE),
            },
            read => {
                memory.truncate(read?);
                return Ok(memory);
            }
        }
    }
}

/// Returns the names in a list of extended attributes, without one that macOS itself gives each file, and that programs
/// cannot set.
pub fn attribute_names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_copied = |name: &[u8]| !(cfg!(target_os = "macos") && name == b"com.apple.provenance");
    list.split(|&byte| byte == 0).filter(move |name| !name.is_empty() && is_copied(name))
}

/// Lengths of the memory for a list of extended attributes: the first, and the largest.
pub const ATTRIBUTE_LIST: (usize, usize) = (1 << 10, 1 << 20);

/// As [`ATTRIBUTE_LIST`], for a value: named streams of Windows are long ones.
pub const ATTRIBUTE_VALUE: (usize, usize) = (256, 64 << 20);

pub fn write_all_at(file: impl AsHandle, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match platform::write_at(&file, &bytes[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => done += count,
            Err(Code::INTERRUPTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Access control lists are extended attributes, which are copied as such.
#[cfg(not(target_os = "macos"))]
pub fn copy_access_list(_: BorrowedHandle<'_>, _: BorrowedHandle<'_>) -> Result<()> {
    Ok(())
}

/// Does nothing: holes are reported by the system itself, or by a server after a writeback.
#[cfg(not(target_os = "linux"))]
pub fn show_dirty_pages(_: impl AsHandle) -> Result<()> {
    Ok(())
}

/// Owner and access list are separate attributes.
#[cfg(not(windows))]
pub fn select_of_descriptor(_: &mut [u8], _list: bool, _owner: bool) {}

/// Creates `name` in a directory as a clone of `source`, for this user alone, that shares all blocks. Leaves nothing on failure.
#[cfg(not(target_os = "macos"))]
pub fn clone_to_name(
    source: BorrowedHandle<'_>,
    directory: BorrowedHandle<'_>,
    name: &std::ffi::OsStr,
) -> Result<Handle> {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::NOFOLLOW;
    let file = platform::open_at(directory, name, flags, 0o600)?;
    match platform::clone_range(source, 0, 0, file.as_handle(), 0) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = platform::remove(directory, name, AtFlags::empty());
            Err(error)
        }
    }
}

/// Fails: these systems copy ranges, or have no such call.
#[cfg(not(windows))]
pub fn copy_to_name(
    _: BorrowedHandle<'_>,
    _: BorrowedHandle<'_>,
    _: &std::ffi::OsStr,
    _may_share: bool,
    _go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Handle> {
    Err(Code::UNSUPPORTED)
}

/// Asks the processor for the cache line of a byte, where such an instruction is known; changes nothing else.
#[inline(always)]
pub fn prefetch(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction has no effect on memory, and no address faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}

/// A way to wake a thread that waits for files.
#[derive(Debug)]
pub(crate) struct Wake {
    reader: Handle,
    writer: Handle,
}

impl Wake {
    pub(crate) fn new() -> Result<Self> {
        let (reader, writer) = platform::pipe_nonblocking()?;
        Ok(Self { reader, writer })
    }

    /// The file to wait for: it is ready for reading after [`wake`](Self::wake).
    pub(crate) fn file(&self) -> BorrowedHandle<'_> {
        self.reader.as_handle()
    }

    /// Wakes the thread, or the next that waits. A full pipe has woken it already.
    pub(crate) fn wake(&self) {
        let _ = platform::write(&self.writer, &[1]);
    }

    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while platform::read(&self.reader, &mut bytes) == Ok(bytes.len()) {}
    }
}

#[cfg(not(target_os = "linux"))]
pub use simple::*;

#[cfg(not(target_os = "linux"))]
mod simple {
    #[cfg(not(windows))]
    use std::io;
    use std::io::{IoSlice, IoSliceMut};
    use std::path::{Component, Path};

    use crate::sys::code::{Code, Result, unsupported};
    use crate::sys::portable::platform::{self, AsHandle, Handle, OpenFlags, PathArg};
    use crate::sys::types::{Splice, TransferFlags};

    #[cfg(not(windows))]
    pub(crate) fn allowed_processors() -> io::Result<usize> {
        std::thread::available_parallelism().map(std::num::NonZeroUsize::get)
    }

    pub fn open_beneath(directory: impl AsHandle, path: impl PathArg, flags: OpenFlags) -> Result<Handle> {
        let path = platform::name_of(path)?;
        let parts: Vec<Component<'_>> =
            Path::new(&path).components().filter(|part| *part != Component::CurDir).collect();
        if parts.iter().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(Code::CROSSES_DEVICES);
        }
        let Some((last, folders)) = parts.split_last() else {
            return platform::open_at(directory, c".", flags, 0o666);
        };
        let mut at = platform::try_clone(directory)?;
        for folder in folders {
            let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
            at = platform::open_at(&at, folder.as_os_str(), flags, 0o666)?;
        }
        platform::open_at(&at, last.as_os_str(), flags | OpenFlags::NOFOLLOW, 0o666)
    }

    /// No call opens a path only if its names are in the system's cache.
    pub fn open_cached(_: impl PathArg, _: OpenFlags) -> Result<Handle> {
        Err(Code::WOULD_BLOCK)
    }

    /// Reads into several buffers at an offset. No flag is supported.
    pub fn read_vectored_flagged(
        file: impl AsHandle,
        parts: &mut [IoSliceMut<'_>],
        offset: u64,
        flags: TransferFlags,
    ) -> Result<usize> {
        if flags.is_empty() {
            platform::read_vectored_at(file, parts, offset)
        } else {
            Err(Code::UNSUPPORTED)
        }
    }

    /// Writes from several buffers at an offset. No flag is supported.
    pub fn write_vectored_flagged(
        file: impl AsHandle,
        parts: &[IoSlice<'_>],
        offset: u64,
        flags: TransferFlags,
    ) -> Result<usize> {
        if flags.is_empty() {
            platform::write_vectored_at(file, parts, offset)
        } else {
            Err(Code::UNSUPPORTED)
        }
    }

    unsupported! {
        fn pipe_capacity(impl AsHandle) -> usize;

        fn set_pipe_capacity(impl AsHandle, usize) -> usize;

        /// Only Linux has transfers through pipes inside the kernel.
        fn splice(impl AsHandle, Option<&mut u64>, impl AsHandle, Option<&mut u64>, usize, Splice) -> usize;

        fn tee(impl AsHandle, impl AsHandle, usize) -> usize;

        /// The precision of wake-ups cannot be set for a thread.
        fn set_timer_slack(std::num::NonZeroU64) -> ();

        /// There are no trace files.
        fn mount_trace_files() -> Handle;
    }
}
