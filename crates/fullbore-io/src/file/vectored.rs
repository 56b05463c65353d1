//! Scatter and gather: one range of the file, many buffers. Nothing is allocated: the caller's slices are passed to the
//! system unchanged, and after a short transfer the buffer in which it stopped is completed separately.

use std::io::{IoSlice, IoSliceMut};

use super::inner::File;
use super::spans::landed;
use crate::buf::Direction;
use crate::error::Result;

impl File {
    /// Reads the bytes at `offset` into `buffers`, in order; returns the number of bytes read, 0 at the end of the file
    /// or if all buffers are empty.
    ///
    /// A read may be short; if there are more buffers than one call accepts (`IOV_MAX`, 1024), only the first
    /// ones are filled. [`read_exact_vectored_at`](Self::read_exact_vectored_at) fills them all.
    #[inline]
    pub fn read_vectored_at(&self, buffers: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize> {
        // A call with empty buffers only would look like the end of the file.
        let (empty, _) = landed(buffers.iter().map(|buffer| buffer.len()), 0);
        let buffers = &mut buffers[empty..];
        if buffers.is_empty() {
            return Ok(0);
        }
        let cache_mode = &self.inner.cache_mode;
        let flags = match cache_mode.calls() {
            Ok(flags) => flags,
            Err(direct) => {
                return match direct.read_vectored(offset, buffers) {
                    Some(count) => Ok(count),
                    // Alignment is judged per buffer, so they are read one by one.
                    None => self.read_at(&mut buffers[0], offset),
                };
            }
        };
        loop {
            match self.readv_once(offset, buffers, flags) {
                Ok(count) => {
                    cache_mode.moved(Direction::Read, offset, count);
                    return Ok(count);
                }
                Err(error) => self.interrupted("read", offset, error)?,
            }
        }
    }

    /// Fills all of `buffers`, of any number and total length, from `offset`.
    ///
    /// ```
    /// use std::io::IoSliceMut;
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"headbody", 0)?;
    /// let (mut head, mut body) = ([0; 4], [0; 4]);
    /// file.read_exact_vectored_at(&mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut body)], 0)?;
    /// assert_eq!((&head, &body), (b"head", b"body"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`](crate::error::ErrorKind::UnexpectedEof) if the file ends early, and if the system call fails.
    pub fn read_exact_vectored_at(&self, buffers: &mut [IoSliceMut<'_>], offset: u64) -> Result<()> {
        let (mut next, mut at) = (0, offset);
        loop {
            let rest = &mut buffers[next..];
            let (empty, _) = landed(rest.iter().map(|buffer| buffer.len()), 0);
            next += empty;
            let rest = &mut rest[empty..];
            if rest.is_empty() {
                return Ok(());
            }
            let count = self.read_vectored_at(rest, at)?;
            let (full, place) = landed(rest.iter().map(|buffer| buffer.len()), count);
            at += count as u64;
            next += full;
            if full < rest.len() && (place > 0 || count == 0) {
                // The read stopped within this buffer; or it returned nothing, and this call reports the end of the
                // file.
                let missing = &mut rest[full][place..];
                self.read_exact_at(missing, at)?;
                at += missing.len() as u64;
                next += 1;
            }
        }
    }

    /// Writes `buffers` at `offset`, in order; returns the number of bytes written, which may be smaller than their
    /// total. [`write_all_vectored_at`](Self::write_all_vectored_at) writes all or fails.
    #[inline]
    pub fn write_vectored_at(&self, buffers: &[IoSlice<'_>], offset: u64) -> Result<usize> {
        let (empty, _) = landed(buffers.iter().map(|buffer| buffer.len()), 0);
        let buffers = &buffers[empty..];
        if buffers.is_empty() {
            return Ok(0);
        }
        let cache_mode = &self.inner.cache_mode;
        let flags = match cache_mode.calls() {
            Ok(flags) => flags,
            Err(direct) => {
                return match direct.write_vectored(offset, buffers) {
                    Some(count) => Ok(count),
                    // Alignment is judged per buffer, so they are written one by one.
                    None => self.write_at(&buffers[0], offset),
                };
            }
        };
        loop {
            match self.writev_once(offset, buffers, flags) {
                Ok(count) => {
                    cache_mode.moved(Direction::Write, offset, count);
                    return Ok(count);
                }
                Err(error) => self.interrupted("write", offset, error)?,
            }
        }
    }

    /// Writes all of `buffers`, of any number and total length, at `offset`.
    ///
    /// ```
    /// use std::io::IoSlice;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("file");
    /// let file = fullbore_io::file::File::create_new(&path)?;
    /// file.write_all_vectored_at(&[IoSlice::new(b"head"), IoSlice::new(b"body")], 0)?;
    /// assert_eq!(std::fs::read(&path)?, b"headbody");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system call fails; a part may have been written then.
    pub fn write_all_vectored_at(&self, buffers: &[IoSlice<'_>], offset: u64) -> Result<()> {
        let (mut next, mut at) = (0, offset);
        loop {
            let rest = &buffers[next..];
            let (empty, _) = landed(rest.iter().map(|buffer| buffer.len()), 0);
            next += empty;
            let rest = &rest[empty..];
            if rest.is_empty() {
                return Ok(());
            }
            let count = self.write_vectored_at(rest, at)?;
            let (full, place) = landed(rest.iter().map(|buffer| buffer.len()), count);
            at += count as u64;
            next += full;
            if full < rest.len() && (place > 0 || count == 0) {
                let left = &rest[full][place..];
                self.write_all_at(left, at)?;
                at += left.len() as u64;
                next += 1;
            }
        }
    }
}

#[cfg(all(test, feature = "fault"))]
mod tests {
    use super::*;
    use crate::fault::{Fault, Plan};
    use crate::sys::{Code, TransferFlags};

    /// A call with a flag that no system has fails.
    #[test]
    fn a_transfer_of_a_part_of_the_first_buffer_carries_the_flags() {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::new(1).with(Fault::Short { one_in: 1 });
        let file = File::create_new(directory.path().join("file")).unwrap().with_faults(&plan);
        let (unknown, error) = (TransferFlags::from_bits_retain(1 << 30), Code::UNSUPPORTED);
        let (mut long, mut short) = ([0; 1000], [0; 1]);
        for _ in 0..100 {
            let parts = [IoSlice::new(&long), IoSlice::new(&short)];
            assert_eq!(Code::of(&file.writev_once(0, &parts, unknown).unwrap_err()), Some(error));
            let mut parts = [IoSliceMut::new(&mut long), IoSliceMut::new(&mut short)];
            assert_eq!(Code::of(&file.readv_once(0, &mut parts, unknown).unwrap_err()), Some(error));
        }
    }
}
