//! Pipes.

use std::os::fd::OwnedFd;

use super::super::Result;

/// A new pipe: its reading and its writing end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe()?;
    // macOS has no call that does both: a child that another thread starts in between inherits the pipe.
    for end in [&reader, &writer] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((reader, writer))
}

/// A new pipe whose ends do not wait.
pub fn pipe_nonblocking() -> Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe()?;
    for end in [&reader, &writer] {
        rustix::fs::fcntl_setfl(end, rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((reader, writer))
}
