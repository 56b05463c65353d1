//! Interfaces with an offset per call: one call at a time, a thread per concurrent call, or several buffers per call.

use std::fs;
use std::io::{IoSlice, IoSliceMut};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::file::File;

use super::open::{Completion, Interface, OpenConfig, buffer, handle, standard};
use super::pass::{Pass, Payload};

trait PositionalIo: Sync {
    fn read(&self, data: &mut [u8], offset: u64) -> Result<()>;

    fn write(&self, data: &[u8], offset: u64) -> Result<()>;

    fn sync(&self) -> Result<()>;
}

impl PositionalIo for File {
    fn read(&self, data: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(data, offset)
    }

    fn write(&self, data: &[u8], offset: u64) -> Result<()> {
        self.write_all_at(data, offset)
    }

    fn sync(&self) -> Result<()> {
        File::sync_data(self)
    }
}

/// The methods that Unix has, by those of std for Windows: each call may move fewer bytes.
#[cfg(windows)]
trait FileExt: std::os::windows::fs::FileExt {
    fn read_exact_at(&self, mut data: &mut [u8], mut offset: u64) -> std::io::Result<()> {
        while !data.is_empty() {
            match self.seek_read(data, offset)? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => {
                    data = &mut data[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut data: &[u8], mut offset: u64) -> std::io::Result<()> {
        while !data.is_empty() {
            match self.seek_write(data, offset)? {
                0 => return Err(std::io::ErrorKind::WriteZero.into()),
                count => {
                    data = &data[count..];
                    offset += count as u64;
                }
            }
        }
        Ok(())
    }
}

#[cfg(windows)]
impl FileExt for fs::File {}

/// A `std::fs::File` with its path for error messages.
struct StdFile {
    file: fs::File,
    config: OpenConfig,
}

impl PositionalIo for StdFile {
    fn read(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let done = self.file.read_exact_at(data, offset);
        done.map_err(|error| Error::io("read", &self.config.path, error).at(offset))
    }

    fn write(&self, data: &[u8], offset: u64) -> Result<()> {
        let done = self.file.write_all_at(data, offset);
        done.map_err(|error| Error::io("write", &self.config.path, error).at(offset))
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(|error| Error::io("flush", &self.config.path, error))
    }
}

struct PositionalFile<F> {
    file: F,
    buffers: Vec<Buf>,
    bytes: Payload,
}

/// Opens a file for std's `FileExt`.
pub(super) fn open_std(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let file = StdFile { file: standard(config)?, config: config.clone() };
    over(file, config, pool)
}

/// Opens a `fullbore::file::File`.
pub(super) fn open_file(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    if config.vectors > 1 {
        return open_vectored(config, pool);
    }
    over(handle(config)?, config, pool)
}

fn over<F: PositionalIo + 'static>(
    file: F,
    config: &OpenConfig,
    pool: &mut Pool,
) -> Result<Box<dyn Interface>> {
    let threads = if config.completion == Completion::Threads { config.depth } else { 1 };
    let buffers = (0..threads).map(|_| buffer(pool)).collect::<Result<_>>()?;
    Ok(Box::new(PositionalFile { file, buffers, bytes: config.bytes.clone() }))
}

impl<F: PositionalIo> Interface for PositionalFile<F> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Self { file, buffers, bytes } = self;
        if let [buffer] = &mut buffers[..] {
            return pass.records().try_for_each(|(offset, len)| one(file, buffer, bytes, offset, len));
        }
        // Each thread takes the next record not yet taken.
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let (file, bytes, next) = (&*file, &*bytes, &next);
            let workload = move |buffer: &mut Buf| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= pass.count() {
                        return Ok(());
                    }
                    let (offset, len) = pass.record(index);
                    one(file, buffer, bytes, offset, len)?;
                }
            };
            let start = |buffer| {
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || workload(buffer));
                thread.map_err(|error| Error::io("start a thread for", "a record", error))
            };
            let threads: Vec<_> = buffers.iter_mut().map(start).collect();
            threads.into_iter().try_for_each(|thread| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync()
    }
}

#[inline]
fn one<F: PositionalIo>(file: &F, buffer: &mut Buf, bytes: &Payload, offset: u64, len: usize) -> Result<()> {
    buffer.place(0, len);
    if bytes.writes() {
        bytes.make(offset, buffer.data_mut());
        return file.write(buffer.data(), offset);
    }
    file.read(buffer.data_mut(), offset)?;
    bytes.observe(offset, buffer.data());
    Ok(())
}

/// Maximum number of buffers per call.
pub(super) const MOST_VECTORS: usize = 64;

struct VectoredFile {
    file: File,
    buffers: Vec<Buf>,
    /// Length of a buffer in bytes.
    each: usize,
    bytes: Payload,
}

/// Opens a `fullbore::file::File` with `config.vectors` buffers per call.
fn open_vectored(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
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
        let mut slices: [IoSliceMut<'_>; MOST_VECTORS] = std::array::from_fn(|_| IoSliceMut::new(&mut []));
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
        let mut slices = [IoSlice::new(&[]); MOST_VECTORS];
        for (slice, buffer) in slices.iter_mut().zip(&self.buffers) {
            *slice = IoSlice::new(buffer.data());
        }
        self.file.write_all_vectored_at(&slices[..self.buffers.len()], offset)
    }
}
