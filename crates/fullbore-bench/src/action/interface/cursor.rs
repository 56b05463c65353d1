//! Interfaces with a position: `Read`, `Write` and `Seek`, the usual ones of programs.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::stream::FileStream;

use super::open::Interface;
use super::open::{OpenConfig, buffer, standard};
use super::pass::Pass;

/// Default buffer of std's readers and writers, in bytes.
const BUFFER: usize = 8 << 10;

struct CursorFile<S> {
    stream: S,
    buffer: Buf,
    config: OpenConfig,
}

/// A stream with a position whose written bytes can be flushed to the device.
trait SyncStream {
    fn sync(&mut self) -> io::Result<()>;
}

impl SyncStream for fs::File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl SyncStream for BufReader<fs::File> {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SyncStream for BufWriter<fs::File> {
    fn sync(&mut self) -> io::Result<()> {
        self.get_ref().sync_data()
    }
}

impl SyncStream for FileStream {
    fn sync(&mut self) -> io::Result<()> {
        Ok(FileStream::sync_data(self)?)
    }
}

/// Opens a `std::fs::File`: one system call per record.
pub(super) fn open_std(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (stream, config, buffer) = (standard(config)?, config.clone(), buffer(pool)?);
    Ok(match config.bytes.writes() {
        true => Box::new(CursorWriter(CursorFile { stream, buffer, config })),
        false => Box::new(CursorReader(CursorFile { stream, buffer, config })),
    })
}

/// Opens a `std::fs::File` with `BufReader` or `BufWriter`.
pub(super) fn open_std_buffered(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (file, config, buffer) = (standard(config)?, config.clone(), buffer(pool)?);
    let size = config.buffer.unwrap_or(BUFFER);
    Ok(match config.bytes.writes() {
        true => Box::new(CursorWriter(CursorFile {
            stream: BufWriter::with_capacity(size, file),
            buffer,
            config,
        })),
        false => Box::new(CursorReader(CursorFile {
            stream: BufReader::with_capacity(size, file),
            buffer,
            config,
        })),
    })
}

/// Opens a `fullbore::stream::FileStream`.
pub(super) fn open_stream(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (file, config, buffer) = (super::open::handle(config)?, config.clone(), buffer(pool)?);
    let stream = match config.buffer {
        Some(size) => FileStream::with_buffer(file, size),
        None => FileStream::new(file),
    };
    Ok(match config.bytes.writes() {
        true => Box::new(CursorWriter(CursorFile { stream, buffer, config })),
        false => Box::new(CursorReader(CursorFile { stream, buffer, config })),
    })
}

struct CursorReader<S>(CursorFile<S>);

impl<S: SyncStream + Read + Seek> Interface for CursorReader<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let CursorFile { stream, buffer, config } = &mut self.0;
        let mut here = None;
        for (offset, len) in pass.records() {
            if here != Some(offset) {
                stream.seek(pass.seek(offset)).map_err(|error| failed("seek in", config, error))?;
            }
            buffer.place(0, len);
            stream.read_exact(buffer.data_mut()).map_err(|error| failed("read", config, error).at(offset))?;
            config.bytes.observe(offset, buffer.data());
            here = Some(offset + len as u64);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

struct CursorWriter<S>(CursorFile<S>);

impl<S: SyncStream + Write + Seek> Interface for CursorWriter<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let CursorFile { stream, buffer, config } = &mut self.0;
        let mut here = None;
        for (offset, len) in pass.records() {
            if here != Some(offset) {
                stream.seek(pass.seek(offset)).map_err(|error| failed("seek in", config, error))?;
            }
            buffer.place(0, len);
            config.bytes.make(offset, buffer.data_mut());
            stream.write_all(buffer.data()).map_err(|error| failed("write", config, error).at(offset))?;
            here = Some(offset + len as u64);
        }
        stream.flush().map_err(|error| failed("write", config, error))
    }

    fn flush(&mut self) -> Result<()> {
        self.0.stream.sync().map_err(|error| failed("flush", &self.0.config, error))
    }
}

fn failed(doing: &'static str, config: &OpenConfig, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        // An error of the library, which already names path and operation.
        Ok(error) => error,
        Err(error) => Error::io(doing, &config.path, error),
    }
}
