//! Pipes, and waiting for them.

use std::time::{Duration, Instant};

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Pipes as pipes;

use super::code::check;
use super::handle::{AsHandle, BorrowedHandle, Handle, owned, raw};
use crate::buf::Direction;
use crate::sys::code::Result;

/// True: [`wait_any`] polls, because the system has no call that waits for pipes.
pub const WAITS_BY_POLLING: bool = true;

/// The interval of polling.
const PAUSE: Duration = Duration::from_millis(1);

pub fn pipe() -> Result<(Handle, Handle)> {
    let (mut reader, mut writer) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the call writes the two handles.
    check(unsafe { pipes::CreatePipe(&raw mut reader, &raw mut writer, std::ptr::null(), 64 << 10) })?;
    // SAFETY: the call succeeded, so the handles are open and nobody else has them.
    unsafe { Ok((owned(reader)?, owned(writer)?)) }
}

pub fn pipe_nonblocking() -> Result<(Handle, Handle)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        let mode = pipes::PIPE_NOWAIT;
        // SAFETY: the call reads the mode, which lives through it.
        check(unsafe {
            pipes::SetNamedPipeHandleState(raw(end) as _, &raw const mode, std::ptr::null(), std::ptr::null())
        })?;
    }
    Ok((reader, writer))
}

/// Creates a named pipe, and returns the handle of its server.
#[cfg(test)]
pub(super) fn named_pipe(
    name: &str,
    access: fs::FILE_FLAGS_AND_ATTRIBUTES,
    mode: pipes::NAMED_PIPE_MODE,
) -> Handle {
    let path = super::path::wide(name.as_ref()).unwrap();
    let security = std::ptr::null();
    // SAFETY: the name ends with a zero; nobody else has the handle.
    let server =
        unsafe { owned(pipes::CreateNamedPipeW(path.as_ptr(), access, mode, 1, 4096, 4096, 0, security)) };
    server.unwrap()
}

/// True if a transfer would not wait. Only the reading end of a pipe reports it; everything else counts as ready.
fn is_ready(file: BorrowedHandle<'_>, direction: Direction) -> bool {
    // SAFETY: a call with a borrowed handle.
    if direction == Direction::Write || unsafe { fs::GetFileType(raw(&file) as _) } != fs::FILE_TYPE_PIPE {
        return true;
    }
    let mut available = 0;
    let nothing = std::ptr::null_mut();
    // SAFETY: the call writes the number, which lives through it.
    let peeked = unsafe {
        pipes::PeekNamedPipe(
            raw(&file) as _,
            nothing,
            0,
            std::ptr::null_mut(),
            &raw mut available,
            std::ptr::null_mut(),
        )
    };
    match peeked {
        0 => true,
        _ => available > 0,
    }
}

/// True for an end of a pipe, whose file type sockets have too.
pub(super) fn is_pipe(file: &impl AsHandle) -> bool {
    let nothing = std::ptr::null_mut();
    // SAFETY: a call with a borrowed handle, which writes nothing.
    unsafe { pipes::GetNamedPipeInfo(raw(file) as _, nothing, nothing, nothing, nothing) != 0 }
}

pub fn wait_any(files: &[(BorrowedHandle<'_>, Direction)], patience: Option<Duration>) -> Result<Vec<bool>> {
    let start = Instant::now();
    let full = |&(file, direction): &(BorrowedHandle<'_>, Direction)| {
        direction == Direction::Write && is_pipe(&file)
    };
    // The caller has found a pipe full that does not wait, and tries again.
    if patience != Some(Duration::ZERO) && files.iter().any(full) {
        std::thread::sleep(PAUSE);
    }
    loop {
        let ready: Vec<bool> = files.iter().map(|&(file, direction)| is_ready(file, direction)).collect();
        if ready.contains(&true) || patience.is_some_and(|patience| start.elapsed() >= patience) {
            return Ok(ready);
        }
        std::thread::sleep(PAUSE);
    }
}
