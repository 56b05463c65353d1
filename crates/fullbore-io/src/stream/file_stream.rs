//! The stream: a position and a buffer over a file, with the traits of std.

use std::io::{self, BufRead, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use super::buffer::{Ahead, Pending};
use super::ends::{Ends, offset_from, report_loss};
use crate::buf::reserve_exact;
use crate::error::Result;
use crate::file::inner::File;
use crate::file::types::Durability;
use crate::quote::Shown;

/// Default size of the buffer in bytes: that of std's `BufReader` and `BufWriter`.
const BUFFER: usize = 8 << 10;

/// A file read and written at a position that is kept in memory: seeking makes no system call unless bytes are pending
/// or the distance is from the end, and streams over clones of one [`File`] have separate positions.
///
/// The buffer is allocated on first use. A read or write of at least the buffer's size bypasses it. A write moves
/// fewer bytes only if an error followed, which the next write returns. Files that are not seekable (pipes, sockets,
/// terminals) are read and written sequentially: a read requests no more bytes from the system than its caller requests, so
/// that the two ends of a pipe never wait for each other; only [`BufRead`] fills the buffer there. A file opened in append
/// mode is written at its end, whatever the position.
///
/// [`close`](Self::close) returns the error that a drop cannot return: a dropped stream writes its pending bytes, and if
/// that fails, the file is poisoned (no clone of it writes again) and the hook of [`on_loss`](super::on_loss) receives the error.
///
/// Every function may fail with an error of the system, with path and offset.
///
/// ```
/// use std::io::{BufRead, Read, Seek, SeekFrom, Write};
///
/// use fullbore_io::file::File;
/// use fullbore_io::stream::FileStream;
/// # let directory = tempfile::tempdir()?;
/// let mut stream = FileStream::new(File::create_new(directory.path().join("lines"))?);
/// writeln!(stream, "one")?;
/// writeln!(stream, "two")?;
/// assert_eq!(stream.len()?, 8, "pending bytes count");
/// stream.seek(SeekFrom::Start(4))?;
/// let mut line = String::new();
/// stream.read_line(&mut line)?;
/// assert_eq!(line, "two\n");
/// stream.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileStream {
    ends: Ends,
    /// Position of the next read or write. For a file that is not seekable: the number of bytes read.
    position: u64,
    /// True after an append: the position is then the end of the file.
    at_end: bool,
    /// Size of the buffer in bytes; 0 and 1 mean no buffer.
    size: usize,
    ahead: Ahead,
    pending: Pending,
}

impl FileStream {
    /// Creates a stream at the start of a file, with a buffer of 8 KiB. Over an existing descriptor ([`File::from_fd`],
    /// standard input and output) it starts at the descriptor's position.
    pub fn new(file: File) -> Self {
        Self::with_buffer(file, BUFFER)
    }

    /// As [`new`](Self::new), with a buffer of `size` bytes, at most 1 GiB; 0 and 1 mean no buffer.
    pub fn with_buffer(file: File, size: usize) -> Self {
        Self {
            position: file.start(),
            ends: Ends::new(file),
            at_end: false,
            size: size.min(1 << 30),
            ahead: Ahead::default(),
            pending: Pending::default(),
        }
    }

    /// Returns the file.
    pub fn file(&self) -> &File {
        &self.ends.file
    }

    /// Returns the length that the file has in bytes once the pending bytes are written.
    pub fn len(&self) -> Result<u64> {
        let len = self.ends.file.stamp()?.len;
        Ok(if self.ends.appends() {
            len + self.pending.bytes().len() as u64
        } else {
            len.max(self.pending.end().unwrap_or(0))
        })
    }

    /// True if the length is 0; see [`len`](Self::len).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Writes the pending bytes and sets the length in bytes. A position past the new end moves to the new
    /// end.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.write_pending()?;
        let position = self.here()?;
        self.ends.file.set_len(len)?;
        self.ahead.forget();
        self.position = position.min(len);
        Ok(())
    }

    /// Writes the pending bytes and syncs the file.
    pub fn sync(&mut self, durability: Durability) -> Result<()> {
        self.write_pending()?;
        self.ends.file.sync(durability)
    }

    /// [`sync`](Self::sync) with [`Durability::Data`].
    pub fn sync_data(&mut self) -> Result<()> {
        self.sync(Durability::Data)
    }

    /// [`sync`](Self::sync) with [`Durability::Full`].
    pub fn sync_all(&mut self) -> Result<()> {
        self.sync(Durability::Full)
    }

    /// Writes the pending bytes, closes the file, and returns the errors that a drop would hide.
    ///
    /// ```
    /// let full = fullbore_io::file::File::open_write("/dev/full")?;
    /// let mut stream = fullbore_io::stream::FileStream::new(full);
    /// std::io::Write::write_all(&mut stream, b"bytes")?;
    /// assert!(stream.close().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a system call fails. The pending bytes are then lost, and only this error reports the loss.
    pub fn close(mut self) -> Result<()> {
        let written = self.write_pending();
        self.pending.forget();
        let file = self.ends.file.clone();
        drop(self);
        let closed = file.close();
        written.and(closed)
    }

    /// Writes the pending bytes and returns the file. Bytes that were read ahead are dropped: those of a pipe are lost.
    ///
    /// # Errors
    /// If a system call fails. The pending bytes are then lost.
    pub fn into_file(mut self) -> Result<File> {
        let written = self.write_pending();
        self.pending.forget();
        written.map(|()| self.ends.file.clone())
    }

    /// The position. Appending moves it to the end of the file.
    fn here(&mut self) -> Result<u64> {
        if self.at_end {
            self.position = self.len()?;
            self.at_end = !self.pending.is_empty();
        }
        Ok(self.position)
    }

    /// Moves the position. The only system call is that for the length, for a distance from the end.
    fn go(&mut self, to: SeekFrom) -> Result<u64> {
        self.ends.check_seekable()?;
        if to == SeekFrom::Current(0) {
            return self.here();
        }
        self.write_pending()?;
        let (from, distance) = match to {
            SeekFrom::Start(offset) => (offset, 0),
            SeekFrom::Current(distance) => (self.here()?, distance),
            SeekFrom::End(distance) => (self.len()?, distance),
        };
        self.position = offset_from(self.file(), from, distance)?;
        self.at_end = false;
        Ok(self.position)
    }

    /// Reads more than the buffer holds.
    fn read_on(&mut self, data: &mut [u8]) -> Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        self.write_pending()?;
        let here = self.here()?;
        let held = self.ahead.take(here, data);
        self.position += held as u64;
        // A pipe may have no more bytes now, and its reader needs those that are available.
        if held == data.len() || held > 0 && self.ends.is_sequential() {
            return Ok(held);
        }
        match self.read_more(&mut data[held..]) {
            Ok(count) => Ok(held + count),
            // The error is not lost: the next read returns it.
            Err(_) if held > 0 => Ok(held),
            Err(error) => Err(error),
        }
    }

    /// Reads once, bypassing the buffer or through it.
    fn read_more(&mut self, data: &mut [u8]) -> Result<usize> {
        // A file without offsets is not read ahead; its seekability is known after the first attempt.
        if self.size > 1 && data.len() < self.size && !self.ends.is_sequential() && self.fill(false)? {
            let count = self.ahead.take(self.position, data);
            self.position += count as u64;
            return Ok(count);
        }
        let count = self.ends.read(data, self.position)?;
        self.position += count as u64;
        Ok(count)
    }

    /// Fills the buffer at the position. `false`: nothing was read, because the file has no offsets and `sequential` is false.
    fn fill(&mut self, sequential: bool) -> Result<bool> {
        let (ends, position) = (&mut self.ends, self.position);
        let (size, mut refused) = (self.size.max(1), false);
        self.ahead.fill(size, position, |memory| {
            if !ends.is_sequential() && ends.read_to_vec(memory, size, position)?.is_some() {
                return Ok(());
            }
            refused = !sequential;
            if sequential {
                memory.resize(size, 0);
                let count = ends.read(memory, position)?;
                memory.truncate(count);
            }
            Ok(())
        })?;
        Ok(!refused)
    }

    /// Writes all of `data`, now or when the buffer is full. Returns fewer bytes only if an error followed.
    fn write_on(&mut self, data: &[u8]) -> Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        if !self.ends.is_sequential() {
            self.ahead.forget();
        }
        if data.len() >= self.size || self.size <= 1 {
            self.write_pending()?;
            let count = self.ends.write_most(data, self.position)?;
            self.wrote(count);
            return Ok(count);
        }
        let mut room = self.size - self.pending.bytes().len();
        if data.len() > room && (self.ends.appends() || self.ends.is_sequential()) {
            // After an error the caller repeats the write: none of its bytes may have been written here.
            self.write_pending()?;
            room = self.size;
        }
        let (now, later) = data.split_at(data.len().min(room));
        self.hold(now);
        if !later.is_empty() {
            // Bytes in the buffer count as written: if they cannot be written, the rest was not.
            if let Err(error) = self.write_pending() {
                self.unhold(now.len());
                return Err(error);
            }
            self.hold(later);
        }
        Ok(data.len())
    }

    #[inline]
    fn hold(&mut self, data: &[u8]) {
        self.pending.push(self.size, &self.ends.file, self.position, data);
        self.wrote(data.len());
    }

    /// Removes the last held bytes, of a write that failed. The position goes back even if the system took some: a repeated write
    /// overwrites them with the same bytes.
    fn unhold(&mut self, len: usize) {
        self.pending.pull(len);
        if !self.ends.is_sequential() {
            self.position -= len as u64;
        }
    }

    #[inline]
    fn wrote(&mut self, len: usize) {
        // A pipe has neither a position nor an end to append to.
        if self.ends.is_sequential() {
            return;
        }
        match self.ends.appends() {
            true => self.at_end = true,
            false => self.position += len as u64,
        }
    }

    /// Writes the pending bytes. Those that the system did not take stay pending.
    fn write_pending(&mut self) -> Result<()> {
        while let Some((bytes, offset)) = self.pending.next() {
            let count = self.ends.write(bytes, offset)?;
            self.pending.written(count);
        }
        Ok(())
    }
}

impl From<File> for FileStream {
    fn from(file: File) -> Self {
        Self::new(file)
    }
}

impl Drop for FileStream {
    fn drop(&mut self) {
        if let Err(error) = self.write_pending() {
            report_loss(&self.ends.file, self.pending.bytes().len(), error);
        }
    }
}

impl Read for FileStream {
    #[inline]
    fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        // If bytes are pending, none are read ahead.
        let held = self.ahead.from(self.position);
        if data.len() <= held.len() && !data.is_empty() {
            let count = data.len();
            match data {
                [one] => *one = held[0],
                data => data.copy_from_slice(&held[..count]),
            }
            self.position += count as u64;
            return Ok(count);
        }
        Ok(self.read_on(data)?)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.write_pending()?;
        let here = self.here()?;
        let wanted: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        if self.ahead.from(here).is_empty() && wanted >= self.size && self.ends.is_seekable() {
            let count = self.ends.file.read_vectored_at(buffers, here)?;
            self.position += count as u64;
            return Ok(count);
        }
        let first = buffers.iter_mut().find(|buffer| !buffer.is_empty());
        first.map_or(Ok(0), |buffer| self.read(buffer))
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let Some(len) = self.file().measure()?.1 else { return self.take(u64::MAX).read_to_end(bytes) };
        let start = bytes.len();
        self.write_pending()?;
        let here = self.here()?;
        // A byte more, for the read that finds the end.
        let left = len.saturating_sub(here).saturating_add(1);
        reserve_exact(bytes, usize::try_from(left).unwrap_or(usize::MAX))?;
        let held = self.ahead.from(here);
        bytes.extend_from_slice(held);
        self.position += held.len() as u64;
        loop {
            if bytes.len() == bytes.capacity() {
                bytes.try_reserve(BUFFER)?;
            }
            let room = bytes.capacity() - bytes.len();
            match self.ends.file.read_to_vec_at(bytes, room, self.position)? {
                0 => return Ok(bytes.len() - start),
                count => self.position += count as u64,
            }
        }
    }

    fn read_to_string(&mut self, text: &mut String) -> io::Result<usize> {
        let mut bytes = Vec::new();
        let count = self.read_to_end(&mut bytes)?;
        let more = String::from_utf8(bytes).map_err(|_| {
            let what = format!("{}: not UTF-8 text", Shown(self.file().path()));
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        if text.is_empty() {
            *text = more
        } else {
            text.push_str(&more)
        }
        Ok(count)
    }
}

impl Write for FileStream {
    #[inline]
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        // If bytes are pending, none are read ahead and the position is their end.
        if self.pending.add(data) {
            self.wrote(data.len());
            return Ok(data.len());
        }
        Ok(self.write_on(data)?)
    }

    #[inline]
    fn write_all(&mut self, mut data: &[u8]) -> io::Result<()> {
        if self.pending.add(data) {
            self.wrote(data.len());
            return Ok(());
        }
        while !data.is_empty() {
            data = &data[self.write_on(data)?..];
        }
        Ok(())
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let total: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        if total >= self.size && total > 0 {
            self.write_pending()?;
            if !self.ends.is_sequential() {
                self.ahead.forget();
            }
            let count = self.ends.write_gathered(buffers, self.position)?;
            self.wrote(count);
            return Ok(count);
        }
        let mut written = 0;
        for buffer in buffers {
            match self.write_on(buffer) {
                Ok(count) if count < buffer.len() => return Ok(written + count),
                Ok(count) => written += count,
                Err(error) if written == 0 => return Err(error.into()),
                // Returns the bytes taken; a write of the rest returns the error.
                Err(_) => return Ok(written),
            }
        }
        Ok(total)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.write_pending()?)
    }
}

impl Seek for FileStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        Ok(self.go(to)?)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.go(SeekFrom::Current(0))?)
    }
}

impl BufRead for FileStream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.write_pending()?;
        let here = self.here()?;
        if self.ahead.from(here).is_empty() {
            self.fill(true)?;
        }
        Ok(self.ahead.from(here))
    }

    fn consume(&mut self, count: usize) {
        self.position += count.min(self.ahead.from(self.position).len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in .NET; no public function shows it.
    #[test]
    fn the_buffer_is_allocated_lazily() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create_new(directory.path().join("file")).unwrap();
        let mut stream = FileStream::with_buffer(file, 4096);
        let held = |stream: &FileStream| (stream.ahead.room(), stream.pending.room());
        let large = [7; 5000];
        stream.write_all(&large).unwrap();
        stream.rewind().unwrap();
        assert!(stream.read(&mut [0; 5000]).unwrap() > 0);
        assert_eq!(stream.len().unwrap(), 5000);
        assert_eq!(held(&stream), (0, 0), "large requests bypass the buffer");
        stream.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(stream.fill_buf().unwrap()[0], 7);
        assert_eq!(held(&stream), (4096, 0));
        stream.write_all(&[1]).unwrap();
        assert_eq!(held(&stream), (4096, 4096));
        // A buffer larger than any memory takes none until it is used.
        let huge = FileStream::with_buffer(stream.file().clone(), usize::MAX);
        assert_eq!(held(&huge), (0, 0));
    }
}
