//! Sequential reads and writes of files without offsets: pipes, sockets and character devices.

use std::io::{self, IoSlice};

use super::calls::cut;
use super::inner::File;
use crate::buf::Direction;
use crate::error::{Error, Result};
use crate::sys::{self, AsHandle, Code, Interest};

impl File {
    /// Reads the next bytes of a file without offsets.
    pub fn read_next(&self, data: &mut [u8]) -> Result<usize> {
        loop {
            let allowed = self.before(Direction::Read, self.flowed(Direction::Read), cut(data.len(), 1), 0);
            match allowed.and_then(|len| Ok(sys::read(self, &mut data[..len])?)) {
                Ok(count) => {
                    self.flows(Direction::Read, count);
                    return Ok(count);
                }
                Err(error) => self.comes_again("read", Interest::Read, error)?,
            }
        }
    }

    /// Writes to a file without offsets; returns the number of bytes written, at least 1 unless `data` is empty.
    pub(crate) fn write_next(&self, data: &[u8]) -> Result<usize> {
        self.write_once_next(data.len(), |file| {
            let len = file.before(Direction::Write, file.flowed(Direction::Write), cut(data.len(), 1), 0)?;
            Ok(sys::write(file, &data[..len])?)
        })
    }

    /// Writes all of `data` to a file without offsets.
    pub fn write_all_next(&self, mut data: &[u8]) -> Result<()> {
        while !data.is_empty() {
            data = &data[self.write_next(data)?..];
        }
        Ok(())
    }

    /// Writes buffers, of which the first is not empty, by one call to a file without offsets; returns the number of bytes.
    pub(crate) fn write_vectored_next(&self, buffers: &[IoSlice<'_>]) -> Result<usize> {
        let most = &buffers[..cut(buffers.len().min(self.most_buffers()), 1)];
        let [first, _, ..] = most else { return self.write_next(&buffers[0]) };
        self.write_once_next(first.len(), |file| {
            let parts = most.iter().map(|one| &**one);
            Ok(match file.before_vector(Direction::Write, file.flowed(Direction::Write), parts)? {
                (0, part) => sys::write(file, &first[..part])?,
                (count, _) => sys::write_vectored(file, &most[..count])?,
            })
        })
    }

    /// Writes once, `len` bytes or more, repeated while interrupted.
    fn write_once_next(&self, len: usize, write: impl Fn(&Self) -> io::Result<usize>) -> Result<usize> {
        let fail = |error| Error::io("write", self.path(), error);
        self.sound().map_err(fail)?;
        loop {
            match write(self) {
                // A loop around it would never end.
                Ok(0) if len > 0 => return Err(fail(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.flows(Direction::Write, count);
                    return Ok(count);
                }
                Err(error) => self.comes_again("write", Interest::Write, error)?,
            }
        }
    }

    /// Returns `Ok` if the call is to be repeated: at once after an interruption, or when a non-blocking file is ready.
    fn comes_again(&self, doing: &'static str, interest: Interest, error: io::Error) -> Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => match sys::wait_ready([self.as_handle()], interest, None) {
                Ok(_) | Err(Code::INTERRUPTED) => Ok(()),
                Err(error) => Err(Error::io("wait for", self.path(), error.into())),
            },
            _ => Err(Error::io(doing, self.path(), error)),
        }
    }
}
