//! Pipes, and transfers through them inside the kernel.

use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{PipeFlags, SpliceFlags};

use super::super::{Result, Splice};

/// A new pipe: its reading and its writing end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?)
}

/// A new pipe whose ends do not wait.
pub fn pipe_nonblocking() -> Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// The capacity of a pipe, in bytes.
pub fn pipe_capacity(pipe: impl AsFd) -> Result<usize> {
    Ok(rustix::pipe::fcntl_getpipe_size(pipe)?)
}

/// Sets the capacity of a pipe; returns the one that it got.
pub fn set_pipe_capacity(pipe: impl AsFd, bytes: usize) -> Result<usize> {
    Ok(rustix::pipe::fcntl_setpipe_size(pipe, bytes)?)
}

/// Moves bytes between a pipe and a file inside the kernel; an offset moves.
pub fn splice(
    from: impl AsFd,
    offset: Option<&mut u64>,
    to: impl AsFd,
    target: Option<&mut u64>,
    len: usize,
    how: Splice,
) -> Result<usize> {
    let flags = match how {
        Splice::Plain => SpliceFlags::empty(),
        Splice::Move => SpliceFlags::MOVE,
        Splice::NoWait => SpliceFlags::NONBLOCK,
    };
    Ok(rustix::pipe::splice(from, offset, to, target, len, flags)?)
}

/// Copies up to `len` bytes of a pipe to another; the first keeps them.
pub fn tee(from: impl AsFd, to: impl AsFd, len: usize) -> Result<usize> {
    Ok(rustix::pipe::tee(from, to, len, SpliceFlags::empty())?)
}
