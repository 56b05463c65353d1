//! Calls in forms that need nothing of the system. What it lacks fails with [`Code::UNSUPPORTED`].

use std::io::{IoSlice, IoSliceMut};
use std::path::{Component, Path};

use crate::sys::{
    AsHandle, Code, Handle, OpenFlags, PathArg, Result, Splice, TransferFlags, name_of, open_at,
    read_vectored_at, try_clone, write_vectored_at,
};

pub(crate) mod processor {
    use std::io;

    /// Returns the number of processors that this process may run on.
    pub(crate) fn allowed() -> io::Result<usize> {
        std::thread::available_parallelism().map(std::num::NonZeroUsize::get)
    }
}

/// Opens a path in a directory that symbolic links and `..` do not leave.
pub fn open_beneath(directory: impl AsHandle, path: impl PathArg, flags: OpenFlags) -> Result<Handle> {
    let path = name_of(path)?;
    let parts: Vec<Component<'_>> =
        Path::new(&path).components().filter(|part| *part != Component::CurDir).collect();
    if parts.iter().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(Code::CROSSES_DEVICES);
    }
    let Some((last, folders)) = parts.split_last() else {
        return open_at(directory, c".", flags, 0o666);
    };
    let mut at = try_clone(directory)?;
    for folder in folders {
        let flags = OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
        at = open_at(&at, folder.as_os_str(), flags, 0o666)?;
    }
    open_at(&at, last.as_os_str(), flags | OpenFlags::NOFOLLOW, 0o666)
}

/// No call opens a path only if the system knows its names already.
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
    if flags.is_empty() { read_vectored_at(file, parts, offset) } else { Err(Code::UNSUPPORTED) }
}

/// Writes from several buffers at an offset. No flag is supported.
pub fn write_vectored_flagged(
    file: impl AsHandle,
    parts: &[IoSlice<'_>],
    offset: u64,
    flags: TransferFlags,
) -> Result<usize> {
    if flags.is_empty() { write_vectored_at(file, parts, offset) } else { Err(Code::UNSUPPORTED) }
}

/// The capacity of a pipe is unknown.
pub fn pipe_capacity(_: impl AsHandle) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// The capacity of a pipe cannot be set.
pub fn set_pipe_capacity(_: impl AsHandle, _: usize) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported: transfers through pipes inside the kernel are Linux's.
pub fn splice(
    _: impl AsHandle,
    _: Option<&mut u64>,
    _: impl AsHandle,
    _: Option<&mut u64>,
    _: usize,
    _: Splice,
) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported, as [`splice`].
pub fn tee(_: impl AsHandle, _: impl AsHandle, _: usize) -> Result<usize> {
    Err(Code::UNSUPPORTED)
}

/// The precision of wake-ups cannot be set for a thread.
pub fn set_timer_slack(_: std::num::NonZeroU64) -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// There are no trace files.
pub fn mount_trace_files() -> Result<Handle> {
    Err(Code::UNSUPPORTED)
}
