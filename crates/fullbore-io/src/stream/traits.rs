//! The standard traits of a stream.

use std::io::{self, BufRead, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

use super::FileStream;

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
        if self.ahead.from(here).is_empty() && wanted >= self.size && self.ends.placed() {
            let count = self.ends.file.read_vectored_at(buffers, here)?;
            self.position += count as u64;
            return Ok(count);
        }
        let first = buffers.iter_mut().find(|buffer| !buffer.is_empty());
        first.map_or(Ok(0), |buffer| self.read(buffer))
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
        self.write_on(data)?;
        Ok(data.len())
    }

    #[inline]
    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        if self.pending.add(data) {
            self.wrote(data.len());
            return Ok(());
        }
        Ok(self.write_on(data)?)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let total: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        if total >= self.size && total > 0 {
            self.write_pending()?;
            if !self.ends.flows() {
                self.ahead.forget();
            }
            let count = self.ends.write_gathered(buffers, self.position)?;
            self.wrote(count);
            return Ok(count);
        }
        let mut written = 0;
        for buffer in buffers {
            match self.write_on(buffer) {
                Ok(()) => written += buffer.len(),
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
