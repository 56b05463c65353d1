//! A position and a buffer over a file: seeking, single bytes, flushing.

use super::*;

/// .NET's default buffer in bytes; std's and fullbore's is 8 KiB.
pub(super) const BUFFER: usize = 4 << 10;

/// Distance of one seek in bytes: beyond the buffer.
const STRIDE: u64 = 2 * BUFFER as u64;

pub(crate) fn cases() -> Vec<Case> {
    vec![seek(true), seek(false), read_byte(), write_byte(), flush()]
}

fn read(files: &BenchFiles) -> Attempt<BufReader<fs::File>> {
    Ok(BufReader::with_capacity(BUFFER, fs::File::open(files.source(MIDDLE))?))
}

fn read_ours(files: &BenchFiles) -> Attempt<FileStream> {
    Ok(FileStream::with_buffer(File::open(files.source(MIDDLE))?, BUFFER))
}

fn seek(forward: bool) -> Case {
    let (name, what) = if forward { ("forward", "to the next") } else { ("backward", "to the one before") };
    let step = if forward { STRIDE } else { MIDDLE - STRIDE };
    /// Seeks by a step; at the end of the file, from its start again.
    fn next((file, at, step): &mut (impl Seek, u64, u64), _: &mut [u8]) -> Attempt<()> {
        *at = (*at + *step) % MIDDLE;
        file.seek(std::hint::black_box(SeekFrom::Start(*at)))?;
        Ok(())
    }
    Case::new(format!("seek-{name}"), format!("a seek {what} of the offsets of 1 MiB that lie 8 KiB apart"))
        .each("std", move |files| Ok((fs::File::open(files.source(MIDDLE))?, 0, step)), next)
        .each("std buffered", move |files| Ok((read(files)?, 0, step)), next)
        .each("fullbore stream", move |files| Ok((read_ours(files)?, 0, step)), next)
        .demand(Demand::Faster("fullbore stream", "std", 20.0))
        .demand(Demand::AllocatesNothing("fullbore stream"))
        .demand(Demand::Calls("fullbore stream", 0.0))
}

/// A case of single bytes: std's contender and fullbore's.
fn bytes<S: 'static, F: 'static>(
    name: &str,
    operation: &str,
    std: impl Fn(&BenchFiles) -> Attempt<S> + 'static,
    ours: impl Fn(&BenchFiles) -> Attempt<F> + 'static,
    once: (
        impl Fn(&mut S, &mut [u8]) -> Attempt<()> + Copy + 'static,
        impl Fn(&mut F, &mut [u8]) -> Attempt<()> + Copy + 'static,
    ),
) -> Case {
    Case::new(name, operation)
        .moving(1, 1)
        .each("std", std, once.0)
        .each("fullbore stream", ours, once.1)
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore stream"))
}

fn read_byte() -> Case {
    /// Reads the file repeatedly: the seek to the start is one operation in a million.
    fn reread(reader: &mut (impl Read + Seek), byte: &mut [u8]) -> Attempt<()> {
        if reader.read(byte)? == 0 {
            reader.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
    bytes("read-byte", "a read of one byte through a buffer of 4 KiB", read, read_ours, (reread, reread))
}

fn write_byte() -> Case {
    fn rewrite((writer, written): &mut (impl Write + Seek, u64), byte: &mut [u8]) -> Attempt<()> {
        writer.write_all(byte)?;
        *written += 1;
        if *written == MIDDLE {
            *written = 0;
            writer.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
    let std = |files: &BenchFiles| {
        let file = fs::File::options().write(true).open(files.filled(MIDDLE)?)?;
        Ok((BufWriter::with_capacity(BUFFER, file), 0))
    };
    let ours = |files: &BenchFiles| {
        Ok((FileStream::with_buffer(File::open_write(files.filled(MIDDLE)?)?, BUFFER), 0))
    };
    bytes("write-byte", "a write of one byte through a buffer of 4 KiB", std, ours, (rewrite, rewrite))
}

fn flush() -> Case {
    fn once(writer: &mut impl Write, byte: &mut [u8]) -> Attempt<()> {
        writer.write_all(byte)?;
        Ok(writer.flush()?)
    }
    let std = |files: &BenchFiles| Ok(BufWriter::with_capacity(BUFFER, fs::File::create(files.target())?));
    let ours = |files: &BenchFiles| {
        let file = OpenOptions::new().mode(Mode::CreateOrTruncate).open(files.target())?;
        Ok(FileStream::with_buffer(file, BUFFER))
    };
    bytes("flush", "a write of one byte and a flush", std, ours, (once, once))
        .demand(Demand::Calls("fullbore stream", 1.0))
}
