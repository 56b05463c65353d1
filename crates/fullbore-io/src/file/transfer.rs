//! Reads and writes: at offsets, so that any number of threads can share a file; and in sequence, for files without offsets.

use std::io::{self, IoSlice};

use super::calls::cut;
use super::inner::{CacheMode, File};
use super::near_copy;
use crate::buf::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, Code, TransferFlags};

impl File {
    /// Reads into `data` at `offset`, in bytes; returns the number of bytes read, 0 at the end of the file.
    ///
    /// A read may return fewer bytes than requested; [`read_exact_at`](Self::read_exact_at) continues. The bytes of `data` after
    /// those read are unspecified.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for files without offsets (pipes, sockets, terminals): [`read_next`](Self::read_next) and
    /// [`FileStream`](crate::stream::FileStream) read them.
    #[inline]
    pub fn read_at(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        match self.inner.cache_mode {
            CacheMode::Plain => self.read_flagged(data, offset, TransferFlags::empty()),
            _ => self.read_by_mode(data, offset),
        }
    }

    /// Returns `Ok` if the call was only interrupted. Separate, so that the code around the call stays small: function returns are
    /// slow right after a system call.
    #[cold]
    pub(super) fn interrupted(&self, doing: &'static str, offset: u64, error: io::Error) -> Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            _ => Err(self.failed(doing, offset, error)),
        }
    }

    #[inline]
    pub(super) fn read_flagged(&self, data: &mut [u8], offset: u64, flags: TransferFlags) -> Result<usize> {
        match self.read_once(offset, data, flags) {
            Ok(count) => Ok(count),
            Err(error) => self.repeat("read", offset, error, move || self.read_once(offset, data, flags)),
        }
    }

    /// Repeats a call that was interrupted. Separate, so that the successful call runs straight through.
    #[cold]
    fn repeat(
        &self,
        doing: &'static str,
        offset: u64,
        mut error: io::Error,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Result<usize> {
        loop {
            self.interrupted(doing, offset, error)?;
            match call() {
                Ok(count) => return Ok(count),
                Err(next) => error = next,
            }
        }
    }

    /// Reads once at `offset` to the end of `bytes`, which have spare capacity for `most` bytes; returns the number of bytes read.
    /// The memory is not zeroed first: for a small file that would cost as much as the read.
    pub(crate) fn read_to_vec_at(&self, bytes: &mut Vec<u8>, most: usize, offset: u64) -> Result<usize> {
        let start = bytes.len();
        let place = bytes.spare_capacity_mut().as_ptr().addr();
        let slow = self.copies_slowly(most, place, offset);
        if slow || !matches!(self.inner.cache_mode, CacheMode::Plain) {
            // In pieces, so that the copy finds the zeros in the processor's cache.
            bytes.resize(start + if slow { most.min(near_copy::PIECE) } else { most }, 0);
            let read = self.read_at(&mut bytes[start..], offset);
            bytes.truncate(start + *read.as_ref().unwrap_or(&0));
            return read;
        }
        loop {
            let len = cut(most, self.inner.unit);
            let read = self
                .before(Direction::Read, offset, len, place)
                .and_then(|len| Ok(sys::read_into_spare(&self.inner.fd, bytes, len, offset)?));
            match read {
                Ok(count) => return Ok(count),
                Err(error) => self.interrupted("read", offset, error)?,
            }
        }
    }

    /// Fills `data` with the bytes at `offset`, repeating short reads.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"bytes", 0)?;
    /// let mut data = [0; 3];
    /// file.read_exact_at(&mut data, 2)?;
    /// assert_eq!(&data, b"tes");
    /// assert!(file.read_exact_at(&mut data, 3).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`read_at`](Self::read_at), and [`ErrorKind::UnexpectedEof`] if the file ends early.
    pub fn read_exact_at(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let mut read = 0;
        while read < data.len() {
            let at = offset + read as u64;
            match self.read_at(&mut data[read..], at)? {
                0 => return Err(self.ends_early(data.len() - read, at)),
                count => read += count,
            }
        }
        Ok(())
    }

    /// The error of a file of which `missing` bytes at `offset` are not there.
    #[cold]
    pub(super) fn ends_early(&self, missing: usize, offset: u64) -> Error {
        let what = format!("the file ends {missing} bytes early");
        Error::new(ErrorKind::UnexpectedEof, "read", self.path(), what).at(offset)
    }

    /// Writes `data` at `offset`, in bytes; returns the number of bytes written, which may be smaller than requested.
    /// [`write_all_at`](Self::write_all_at) writes all or fails.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for files without offsets (pipes, sockets, terminals):
    /// [`write_all_next`](Self::write_all_next) and [`FileStream`](crate::stream::FileStream) write them.
    #[inline]
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<usize> {
        match self.inner.cache_mode {
            CacheMode::Plain => self.write_flagged(data, offset, TransferFlags::empty()),
            _ => self.write_by_mode(data, offset),
        }
    }

    #[inline]
    pub(super) fn write_flagged(&self, data: &[u8], offset: u64, flags: TransferFlags) -> Result<usize> {
        match self.write_once(offset, data, flags) {
            Ok(count) => Ok(count),
            Err(error) => self.repeat("write", offset, error, move || self.write_once(offset, data, flags)),
        }
    }

    /// Writes all of `data` at `offset`, in bytes; after an error a part may have been written.
    ///
    /// # Errors
    /// As [`write_at`](Self::write_at).
    pub fn write_all_at(&self, data: &[u8], offset: u64) -> Result<()> {
        let mut written = 0;
        while written < data.len() {
            let at = offset + written as u64;
            match self.write_at(&data[written..], at)? {
                0 => {
                    return Err(Error::io("write", self.path(), io::ErrorKind::WriteZero.into()).at(at));
                }
                count => written += count,
            }
        }
        Ok(())
    }
}

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
                Err(error) => self.comes_again("read", Direction::Read, error)?,
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
                Err(error) => self.comes_again("write", Direction::Write, error)?,
            }
        }
    }

    /// Returns `Ok` if the call is to be repeated: at once after an interruption, or when a non-blocking file is ready.
    fn comes_again(&self, doing: &'static str, direction: Direction, error: io::Error) -> Result<()> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock => match sys::wait_any(&[(self.as_handle(), direction)], None) {
                Ok(_) | Err(Code::INTERRUPTED) => Ok(()),
                Err(error) => Err(Error::io("wait until ready", self.path(), error.into())),
            },
            _ => Err(Error::io(doing, self.path(), error)),
        }
    }
}
