//! Reads and writes of what has no offsets: pipes, sockets and character devices, from front to back.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::{File, cut};
use crate::error::{Error, Result};

impl File {
    /// Reads what comes next of a file without offsets.
    pub(crate) fn read_next(&self, data: &mut [u8]) -> Result<usize> {
        read_next(self, data)
    }

    /// Writes next to a file without offsets; how many bytes.
    pub(crate) fn write_next(&self, data: &[u8]) -> Result<usize> {
        self.sound().map_err(|error| Error::io("write", self.path(), error))?;
        let data = &data[..cut(data.len(), 1)];
        loop {
            match rustix::io::write(self, data) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait(self, PollFlags::OUT)?,
                Err(error) => return Err(Error::io("write", self.path(), error.into())),
            }
        }
    }
}

/// Reads what comes next of a file without offsets.
pub(super) fn read_next(file: &File, data: &mut [u8]) -> Result<usize> {
    let len = cut(data.len(), 1);
    loop {
        match rustix::io::read(file, &mut data[..len]) {
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
        data = &data[file.write_next(data)?..];
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
