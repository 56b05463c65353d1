//! Several buffers per call: a record is scattered over them or gathered from them.

use std::io::{IoSlice, IoSliceMut};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::file::File;

use super::entry::Interface;
use super::open::{OpenConfig, buffer, handle};
use super::pass::{Pass, Payload};

/// Maximum number of buffers per call.
pub(super) const MOST: usize = 64;

struct VectoredFile {
    file: File,
    buffers: Vec<Buf>,
    /// Length of a buffer in bytes.
    each: usize,
    bytes: Payload,
}

/// Opens a `fullbore::file::File` with `config.vectors` buffers per call.
pub(super) fn open(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let buffers = (0..config.vectors).map(|_| buffer(pool)).collect::<Result<_>>()?;
    let each = config.record / config.vectors;
    Ok(Box::new(VectoredFile { file: handle(config)?, buffers, each, bytes: config.bytes.clone() }))
}

impl Interface for VectoredFile {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        for (offset, len) in pass.records() {
            // The last record may be shorter.
            for (index, buffer) in self.buffers.iter_mut().enumerate() {
                buffer.place(0, len.saturating_sub(index * self.each).min(self.each));
            }
            if self.bytes.writes() { self.write(offset)? } else { self.read(offset)? }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync_data()
    }
}

impl VectoredFile {
    fn read(&mut self, offset: u64) -> Result<()> {
        let count = self.buffers.len();
        let mut slices: [IoSliceMut<'_>; MOST] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
        for (slice, buffer) in slices.iter_mut().zip(&mut self.buffers) {
            *slice = IoSliceMut::new(buffer.data_mut());
        }
        self.file.read_exact_vectored_at(&mut slices[..count], offset)?;
        let mut at = offset;
        for buffer in &self.buffers {
            self.bytes.observe(at, buffer.data());
            at += buffer.len() as u64;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64) -> Result<()> {
        let mut at = offset;
        for buffer in &mut self.buffers {
            self.bytes.make(at, buffer.data_mut());
            at += buffer.len() as u64;
        }
        let mut slices = [IoSlice::new(&[]); MOST];
        for (slice, buffer) in slices.iter_mut().zip(&self.buffers) {
            *slice = IoSlice::new(buffer.data());
        }
        self.file.write_all_vectored_at(&slices[..self.buffers.len()], offset)
    }
}
