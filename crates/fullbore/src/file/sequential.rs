//! Reads and writes of what has no offsets: pipes, sockets and character devices, from front to back.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::File;
use crate::error::{Error, Result};

/// Reads what comes next of a file without offsets.
pub(super) fn read_next(file: &File, data: &mut [u8]) -> Result<usize> {
    loop {
        match rustix::io::read(file, &mut *data) {
            Ok(count) => return Ok(count),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(file, PollFlags::IN)?,
            Err(error) => return Err(Error::io("read", file.path(), error.into())),
        }
    }
}

/// Writes all of `data` next to a file without offsets.
pub(super) fn write_next(file: &File, mut data: &[u8]) -> Result<()> {
    while !data.is_empty() {
        match rustix::io::write(file, data) {
            Ok(count) => data = &data[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait(file, PollFlags::OUT)?,
            Err(error) => return Err(Error::io("write", file.path(), error.into())),
        }
    }
    Ok(())
}

/// Waits until a file that does not wait by itself is ready.
fn wait(file: &File, what: PollFlags) -> Result<()> {
    match poll(&mut [PollFd::new(file, what)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Error::io("wait for", file.path(), error.into())),
    }
}
