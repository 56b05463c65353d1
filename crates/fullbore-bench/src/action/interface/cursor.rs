//! Interfaces with a position: `Read`, `Write` and `Seek`, the usual ones of programs.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::stream::FileStream;

use super::open::{Interface, OpenConfig, buffer, standard};
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
    over(standard(config)?, config, pool)
}

/// Opens a `std::fs::File` with `BufReader` or `BufWriter`.
pub(super) fn open_std_buffered(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let size = config.buffer.unwrap_or(BUFFER);
    let (file, buffer, config) = (standard(config)?, buffer(pool)?, config.clone());
    if config.bytes.writes() {
        let stream = BufWriter::with_capacity(size, file);
        return Ok(Box::new(CursorWriter(CursorFile { stream, buffer, config })));
    }
    let stream = BufReader::with_capacity(size, file);
    Ok(Box::new(CursorReader(CursorFile { stream, buffer, config })))
}

/// Opens a `fullbore::stream::FileStream`.
pub(super) fn open_stream(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let file = super::open::handle(config)?;
    let stream = match config.buffer {
        Some(size) => FileStream::with_buffer(file, size),
        None => FileStream::new(file),
    };
    over(stream, config, pool)
}

fn over<S>(stream: S, config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>>
where
    S: SyncStream + Read + Write + Seek + 'static,
{
    let file = CursorFile { stream, buffer: buffer(pool)?, config: config.clone() };
    Ok(if config.bytes.writes() { Box::new(CursorWriter(file)) } else { Box::new(CursorReader(file)) })
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
            buffer.place(0, len);
            transfer(stream, buffer, config, offset)?;
            here = Some(offset + len as u64);
        }
        Ok(())
    }
}

struct CursorReader<S>(CursorFile<S>);

impl<S: SyncStream + Read + Seek> Interface for CursorReader<S> {
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

struct CursorWriter<S>(CursorFile<S>);

impl<S: SyncStream + Write + Seek> Interface for CursorWriter<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        self.0.records(pass, |stream, buffer, config, offset| {
            config.bytes.make(offset, buffer.data_mut());
            stream.write_all(buffer.data()).map_err(|error| failed("write", config, error).at(offset))
        })?;
        self.0.stream.flush().map_err(|error| failed("write", &self.0.config, error))
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
