//! What has a position: `Read`, `Write` and `Seek`, as most programs use files.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::error::Error;
use fullbore::file::Sync;
use fullbore::stream::FileStream;

use super::pass::Pass;
use super::{Interface, Opening, buffer, standard};

/// The buffer of std's readers and writers unless told, in bytes: std's own default.
const BUFFER: usize = 8 << 10;

/// A file with a position.
struct Positioned<S> {
    stream: S,
    buffer: Buf,
    opening: Opening,
}

/// Something with a position, that can be brought to the device.
trait Stream {
    /// Brings written bytes to the device.
    fn sync(&mut self) -> io::Result<()>;
}

impl Stream for fs::File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Stream for BufReader<fs::File> {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for BufWriter<fs::File> {
    fn sync(&mut self) -> io::Result<()> {
        self.get_ref().sync_data()
    }
}

impl Stream for FileStream {
    fn sync(&mut self) -> io::Result<()> {
        Ok(FileStream::sync(self, Sync::Data)?)
    }
}

/// `std::fs::File`: a system call a record.
pub(super) fn open_std(opening: &Opening, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (stream, opening, buffer) = (standard(opening)?, opening.clone(), buffer(pool)?);
    Ok(match opening.bytes.writes() {
        true => Box::new(Writes(Positioned { stream, buffer, opening })),
        false => Box::new(Reads(Positioned { stream, buffer, opening })),
    })
}

/// The same through `BufReader` or `BufWriter`.
pub(super) fn open_std_buffered(opening: &Opening, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (file, opening, buffer) = (standard(opening)?, opening.clone(), buffer(pool)?);
    let size = opening.buffer.unwrap_or(BUFFER);
    Ok(match opening.bytes.writes() {
        true => {
            Box::new(Writes(Positioned { stream: BufWriter::with_capacity(size, file), buffer, opening }))
        }
        false => {
            Box::new(Reads(Positioned { stream: BufReader::with_capacity(size, file), buffer, opening }))
        }
    })
}

/// `fullbore::stream::FileStream`.
pub(super) fn open_stream(opening: &Opening, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let (file, opening, buffer) = (super::handle(opening)?, opening.clone(), buffer(pool)?);
    let stream = match opening.buffer {
        Some(size) => FileStream::with_buffer(file, size),
        None => FileStream::new(file),
    };
    Ok(match opening.bytes.writes() {
        true => Box::new(Writes(Positioned { stream, buffer, opening })),
        false => Box::new(Reads(Positioned { stream, buffer, opening })),
    })
}

/// One that is read.
struct Reads<S>(Positioned<S>);

impl<S: Stream + Read + Seek> Interface for Reads<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Positioned { stream, buffer, opening } = &mut self.0;
        let mut here = None;
        for (offset, len) in pass.records() {
            if here != Some(offset) {
                stream.seek(pass.seek(offset)).map_err(|error| failed("seek in", opening, error))?;
            }
            buffer.place(0, len);
            stream
                .read_exact(buffer.data_mut())
                .map_err(|error| failed("read", opening, error).at(offset))?;
            opening.bytes.seen(offset, buffer.data());
            here = Some(offset + len as u64);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// One that is written.
struct Writes<S>(Positioned<S>);

impl<S: Stream + Write + Seek> Interface for Writes<S> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Positioned { stream, buffer, opening } = &mut self.0;
        let mut here = None;
        for (offset, len) in pass.records() {
            if here != Some(offset) {
                stream.seek(pass.seek(offset)).map_err(|error| failed("seek in", opening, error))?;
            }
            buffer.place(0, len);
            opening.bytes.make(offset, buffer.data_mut());
            stream.write_all(buffer.data()).map_err(|error| failed("write", opening, error).at(offset))?;
            here = Some(offset + len as u64);
        }
        stream.flush().map_err(|error| failed("write", opening, error))
    }

    fn flush(&mut self) -> Result<()> {
        self.0.stream.sync().map_err(|error| failed("flush", &self.0.opening, error))
    }
}

fn failed(doing: &'static str, opening: &Opening, error: io::Error) -> Error {
    match error.downcast::<Error>() {
        // It comes from a file of the library and says all there is to say.
        Ok(error) => error,
        Err(error) => Error::io(doing, &opening.path, error),
    }
}
