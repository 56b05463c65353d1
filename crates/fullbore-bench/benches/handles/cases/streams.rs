//! A position and a buffer over a file: seeking, single bytes, flushing.

use std::fs;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use fullbore::file::{File, Mode, OpenOptions};
use fullbore::stream::FileStream;

use crate::case::{Case, Demand, each};
use crate::files::{BenchFiles, MIDDLE};

/// .NET's default buffer in bytes; std's and fullbore's is 8 KiB.
pub(super) const BUFFER: usize = 4 << 10;

/// Distance of one seek in bytes: beyond the buffer.
const STRIDE: u64 = 2 * BUFFER as u64;

pub(crate) fn cases() -> Vec<Case> {
    vec![seek(true), seek(false), read_byte(), write_byte(), flush()]
}

/// A stream that replaces the target.
pub(super) fn create(files: &BenchFiles, buffer: usize) -> fullbore::Result<FileStream> {
    let file = OpenOptions::new().mode(Mode::CreateOrTruncate).open(files.target())?;
    Ok(FileStream::with_buffer(file, buffer))
}

fn seek(forward: bool) -> Case {
    let (name, what) = if forward { ("forward", "to the next") } else { ("backward", "to the one before") };
    let next = move |at: &mut u64| {
        *at = if forward { (*at + STRIDE) % MIDDLE } else { (*at + MIDDLE - STRIDE) % MIDDLE };
        SeekFrom::Start(*at)
    };
    Case::new(format!("seek-{name}"), format!("a seek {what} of the offsets of 1 MiB that lie 8 KiB apart"))
        .with("std", move |files| {
            let (mut file, mut at) = (fs::File::open(files.source(MIDDLE))?, 0);
            each(move |_| {
                file.seek(next(&mut at))?;
                Ok(())
            })
        })
        .with("std buffered", move |files| {
            let file = fs::File::open(files.source(MIDDLE))?;
            let (mut file, mut at) = (BufReader::with_capacity(BUFFER, file), 0);
            each(move |_| {
                file.seek(next(&mut at))?;
                Ok(())
            })
        })
        .with("fullbore stream", move |files| {
            let file = File::open(files.source(MIDDLE))?;
            let (mut stream, mut at) = (FileStream::with_buffer(file, BUFFER), 0);
            each(move |_| {
                stream.seek(std::hint::black_box(next(&mut at)))?;
                Ok(())
            })
        })
        .demand(Demand::Faster("fullbore stream", "std", 20.0))
        .demand(Demand::AllocatesNothing("fullbore stream"))
        .demand(Demand::Calls("fullbore stream", 0.0))
}

fn read_byte() -> Case {
    /// Reads the file repeatedly: the seek to the start is one operation in a million.
    fn reread(reader: &mut (impl Read + Seek), byte: &mut [u8]) -> std::io::Result<()> {
        if reader.read(byte)? == 0 {
            reader.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
    Case::new("read-byte", "a read of one byte through a buffer of 4 KiB")
        .moving(1, 1)
        .with("std", |files| {
            let mut file = BufReader::with_capacity(BUFFER, fs::File::open(files.source(MIDDLE))?);
            each(move |byte| Ok(reread(&mut file, byte)?))
        })
        .with("fullbore stream", |files| {
            let mut stream = FileStream::with_buffer(File::open(files.source(MIDDLE))?, BUFFER);
            each(move |byte| Ok(reread(&mut stream, byte)?))
        })
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore stream"))
}

fn write_byte() -> Case {
    fn reread(writer: &mut (impl Write + Seek), byte: &[u8], written: &mut u64) -> std::io::Result<()> {
        writer.write_all(byte)?;
        *written += 1;
        if *written == MIDDLE {
            *written = 0;
            writer.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
    Case::new("write-byte", "a write of one byte through a buffer of 4 KiB")
        .moving(1, 1)
        .with("std", |files| {
            let file = fs::File::options().write(true).open(files.filled(MIDDLE)?)?;
            let (mut file, mut written) = (BufWriter::with_capacity(BUFFER, file), 0);
            each(move |byte| Ok(reread(&mut file, byte, &mut written)?))
        })
        .with("fullbore stream", |files| {
            let file = File::open_write(files.filled(MIDDLE)?)?;
            let (mut stream, mut written) = (FileStream::with_buffer(file, BUFFER), 0);
            each(move |byte| Ok(reread(&mut stream, byte, &mut written)?))
        })
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore stream"))
}

fn flush() -> Case {
    fn reread(writer: &mut (impl Write + Seek), byte: &[u8]) -> std::io::Result<()> {
        writer.write_all(byte)?;
        writer.flush()
    }
    Case::new("flush", "a write of one byte and a flush")
        .moving(1, 1)
        .with("std", |files| {
            let mut file = BufWriter::with_capacity(BUFFER, fs::File::create(files.target())?);
            each(move |byte| Ok(reread(&mut file, byte)?))
        })
        .with("fullbore stream", |files| {
            let mut stream = create(files, BUFFER)?;
            each(move |byte| Ok(reread(&mut stream, byte)?))
        })
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore stream"))
        .demand(Demand::Calls("fullbore stream", 1.0))
}
