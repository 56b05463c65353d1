//! Interfaces whose calls block: those with a position (`Read`, `Write` and `Seek`, the usual ones of programs), and those
//! with an offset per call: one call at a time, a thread per concurrent call, or several buffers per call.

use std::fs;
use std::io::{self, BufReader, BufWriter, IoSlice, IoSliceMut, Read, Seek, Write};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::file::File;
use fullbore::stream::FileStream;
use fullbore::sys;

use super::in_flight::PassIo;
use super::open::{Completion, Interface, OpenConfig, Pass, Payload, buffer, handle, standard};

/// Default buffer of std's readers and writers, in bytes.
const BUFFER: usize = 8 << 10;

struct CursorFile<S> {
    stream: S,
    buffer: Buf,
    config: OpenConfig,
}

/// Opens a `std::fs::File`: one system call per record.
pub(super) fn open_std(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    over(standard(config)?, |file| file.sync_data(), config, pool)
}

/// Opens a `std::fs::File` with `BufReader` or `BufWriter`.
pub(super) fn open_std_buffered(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let size = config.buffer.unwrap_or(BUFFER);
    let (file, buffer, config) = (standard(config)?, buffer(pool)?, config.clone());
    if config.bytes.writes() {
        let stream = BufWriter::with_capacity(size, file);
        let file = CursorFile { stream, buffer, config };
        return Ok(Box::new(CursorWriter { file, sync: |writer| writer.get_ref().sync_data() }));
    }
    let stream = BufReader::with_capacity(size, file);
    Ok(Box::new(CursorReader(CursorFile { stream, buffer, config })))
}

pub(super) fn open_stream(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let file = super::open::handle(config)?;
    let stream = match config.buffer {
        Some(size) => FileStream::with_buffer(file, size),
        None => FileStream::new(file),
    };
    over(stream, |stream| Ok(stream.sync_data()?), config, pool)
}

fn over<S: Read + Write + Seek + 'static>(
    stream: S,
    sync: fn(&mut S) -> io::Result<()>,
    config: &OpenConfig,
    pool: &mut Pool,
) -> Result<Box<dyn Interface>> {
    let file = CursorFile { stream, buffer: buffer(pool)?, config: config.clone() };
    Ok(match config.bytes.writes() {
        true => Box::new(CursorWriter { file, sync }),
        false => Box::new(CursorReader(file)),
    })
}

impl<S: Seek> CursorFile<S> {
    /// Calls `transfer` for each record with its offset, at its position and with a buffer of its length.
    fn records(
        &mut self,
        pass: &Pass,
        mut transfer: impl FnMut(&mut S, &mut Buf, &OpenConfig, u64) -> Result<()>,
    ) -> Result<()> {
        let Self { stream, buffer, config } = self;
        let mut here = None;
        for (offset, len) in pass.records() {
            if here != Some(offset) {
                stream.seek(pass.seek(offset)).map_err(|error| failed("seek in", config, error))?;
            }
            buffer.place(config.memory_offset, len);
            transfer(stream, buffer, config, offset)?;
            here = Some(offset + len as u64);
        }
        Ok(())
    }
}

struct CursorReader<S>(CursorFile<S>);

impl<S: Read + Seek> Interface for CursorReader<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        self.0.records(pass, |stream, buffer, config, offset| {
            let read = stream.read_exact(buffer.data_mut());
            read.map_err(|error| failed("read", config, error).at(offset))?;
            config.bytes.observe(offset, buffer.data());
            Ok(())
        })
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

struct CursorWriter<S> {
    file: CursorFile<S>,
    /// Flushes the written bytes to the device.
    sync: fn(&mut S) -> io::Result<()>,
}

impl<S: Write + Seek> Interface for CursorWriter<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        self.file.records(pass, |stream, buffer, config, offset| {
            config.bytes.make(offset, buffer.data_mut());
            stream.write_all(buffer.data()).map_err(|error| failed("write", config, error).at(offset))
        })?;
        self.file.stream.flush().map_err(|error| failed("write", &self.file.config, error))
    }

    fn flush(&mut self) -> Result<()> {
        (self.sync)(&mut self.file.stream).map_err(|error| failed("flush", &self.file.config, error))
    }
}

fn failed(doing: &'static str, config: &OpenConfig, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        // An error of the library, which already names path and operation.
        Ok(error) => error,
        Err(error) => Error::io(doing, &config.path, error),
    }
}

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

/// A file of std, and its path.
impl PositionalIo for (fs::File, PathBuf) {
    fn read(&self, data: &mut [u8], offset: u64) -> Result<()> {
        let done = self.0.read_exact_at(data, offset);
        done.map_err(|error| Error::io("read", &self.1, error).at(offset))
    }

    fn write(&self, data: &[u8], offset: u64) -> Result<()> {
        let done = self.0.write_all_at(data, offset);
        done.map_err(|error| Error::io("write", &self.1, error).at(offset))
    }

    fn sync(&self) -> Result<()> {
        self.0.sync_data().map_err(|error| Error::io("flush", &self.1, error))
    }
}

struct PositionalFile<F> {
    /// The handles, at least one. Each thread has its own where calls through one handle wait for each other.
    files: Vec<F>,
    buffers: Vec<Buf>,
    bytes: Payload,
    memory_offset: u64,
}

/// Opens a file for std's `FileExt`.
pub(super) fn open_std_positional(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    positional(vec![(standard(config)?, config.path.clone())], config, pool)
}

pub(super) fn open_file(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    if config.vectors > 1 {
        return open_vectored(config, pool);
    }
    let handles = if sys::HANDLES_SERIALIZE { threads(config) } else { 1 };
    let files = (0..handles).map(|_| handle(config)).collect::<Result<_>>()?;
    positional(files, config, pool)
}

fn threads(config: &OpenConfig) -> usize {
    if config.completion == Completion::Threads { config.depth } else { 1 }
}

fn positional<F: PositionalIo + 'static>(
    files: Vec<F>,
    config: &OpenConfig,
    pool: &mut Pool,
) -> Result<Box<dyn Interface>> {
    let buffers = (0..threads(config)).map(|_| buffer(pool)).collect::<Result<_>>()?;
    let (bytes, memory_offset) = (config.bytes.clone(), config.memory_offset);
    Ok(Box::new(PositionalFile { files, buffers, bytes, memory_offset }))
}

impl<F: PositionalIo> Interface for PositionalFile<F> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Self { files, buffers, bytes, memory_offset } = self;
        let (files, bytes) = (&*files, &*bytes);
        let one = |file: &F, buffer: &mut Buf, offset, len| {
            buffer.place(*memory_offset, len);
            transfer(file, buffer, bytes, offset)
        };
        if let [buffer] = &mut buffers[..] {
            return pass.records().try_for_each(|(offset, len)| one(&files[0], buffer, offset, len));
        }
        // Each thread takes the next record not yet taken.
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let (one, next) = (&one, &next);
            let workload = move |file: &F, buffer: &mut Buf| {
                pass.untaken(next).try_for_each(|(offset, len)| one(file, buffer, offset, len))
            };
            let start = |(buffer, file)| {
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || workload(file, buffer));
                thread.map_err(|error| Error::io("start a thread", "", error).without_path())
            };
            let threads: Vec<_> = buffers.iter_mut().zip(files.iter().cycle()).map(start).collect();
            threads.into_iter().try_for_each(|thread| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.files[0].sync()
    }
}

#[inline]
fn transfer<F: PositionalIo>(file: &F, buffer: &mut Buf, bytes: &Payload, offset: u64) -> Result<()> {
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
        let job = PassIo { pass, bytes: &self.bytes, each: self.each };
        let count = self.buffers.len();
        for record in pass.records() {
            job.prepare(&mut self.buffers, record);
            if self.bytes.writes() {
                let mut slices = [IoSlice::new(&[]); MOST_VECTORS];
                for (slice, buffer) in slices.iter_mut().zip(&self.buffers) {
                    *slice = IoSlice::new(buffer.data());
                }
                self.file.write_all_vectored_at(&slices[..count], record.0)?;
            } else {
                let mut slices: [IoSliceMut<'_>; MOST_VECTORS] =
                    std::array::from_fn(|_| IoSliceMut::new(&mut []));
                for (slice, buffer) in slices.iter_mut().zip(&mut self.buffers) {
                    *slice = IoSliceMut::new(buffer.data_mut());
                }
                self.file.read_exact_vectored_at(&mut slices[..count], record.0)?;
            }
            job.complete(&mut self.buffers, record.0);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync_data()
    }
}
