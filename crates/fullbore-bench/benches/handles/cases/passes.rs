//! Whole files in order: opened, read or written in pieces of the user's buffer, closed.

use super::*;

use super::streams::BUFFER;

/// Size of the file, of the user's buffer and of the stream's, in bytes.
type Pass = (u64, usize, usize);

/// The passes of .NET's benchmarks.
pub(super) const PASSES: &[Pass] = &[
    (SMALL, 1 << 10, BUFFER),
    (MIDDLE, 512, BUFFER),
    (MIDDLE, 4 << 10, BUFFER),
    (LARGE, 4 << 10, BUFFER),
    (MIDDLE, 16 << 10, 0),
    (LARGE, 16 << 10, 0),
];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(PASSES.iter().map(|pass| read(*pass)));
    cases.extend(PASSES.iter().map(|pass| write(*pass, false)));
    cases.extend([(MIDDLE, 16 << 10, 0), (LARGE, 16 << 10, 0)].iter().map(|pass| write(*pass, true)));
    cases.extend([(SMALL, 1 << 10, BUFFER), (MIDDLE, 4 << 10, BUFFER)].iter().map(|pass| append(*pass)));
    cases
}

pub(super) fn name(doing: &str, (size, piece, buffer): Pass) -> String {
    let unbuffered = if buffer == 0 { "-unbuffered" } else { "" };
    format!("{doing}-{}-by-{}{unbuffered}", super::short(size), super::short(piece as u64))
}

impl Case {
    /// Bounds of a pass: for a stream always, for a file if a buffer does nothing for std.
    fn demands(self, (_, piece, buffer): Pass) -> Self {
        let case = self.like_std("fullbore stream");
        if piece >= buffer { case.like_std("fullbore") } else { case }
    }
}

fn read_all(reader: &mut impl Read, piece: &mut [u8], size: u64) -> std::io::Result<()> {
    let mut read = 0;
    while read < size {
        match reader.read(piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => read += count as u64,
        }
    }
    Ok(())
}

fn write_all(writer: &mut impl Write, piece: &[u8], size: u64) -> std::io::Result<()> {
    for _ in 0..size / piece.len() as u64 {
        writer.write_all(piece)?;
    }
    writer.flush()
}

fn read(pass: Pass) -> Case {
    let (size, piece, buffer) = pass;
    let path = move |files: &BenchFiles| Ok(files.source(size));
    Case::new(name("read", pass), "opening a file, reading it in order, closing it")
        .moving(size, piece)
        .each("std", path, move |path, data| {
            let file = fs::File::open(path)?;
            match buffer {
                0 => read_all(&mut { file }, data, size)?,
                _ => read_all(&mut BufReader::with_capacity(buffer, file), data, size)?,
            }
            Ok(())
        })
        .each("raw", path, move |path, data| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let file = rustix::fs::open(&*path, flags, rustix::fs::Mode::empty())?;
            let mut read = 0;
            while read < size {
                read += rustix::io::read(&file, &mut *data)? as u64;
            }
            Ok(())
        })
        .each("fullbore", path, move |path, data| {
            let file = File::open(path)?;
            let mut read = 0;
            while read < size {
                read += file.read_at(data, read)? as u64;
            }
            Ok(())
        })
        .each("fullbore stream", path, move |path, data| {
            Ok(read_all(&mut FileStream::with_buffer(File::open(path)?, buffer), data, size)?)
        })
        .demands(pass)
}

/// Replaces a file by raw system calls, with `room` bytes allocated if that is not 0.
fn replace(path: &std::path::Path, room: u64) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o666))?;
    if room > 0 {
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, room)?;
    }
    Ok(file)
}

fn write(pass: Pass, preallocated: bool) -> Case {
    let (size, piece, buffer) = pass;
    let room = if preallocated { size } else { 0 };
    let doing = if preallocated { "write-preallocated" } else { "write" };
    let what = match preallocated {
        true => "replacing a file with space allocated, writing it in order, closing it",
        false => "replacing a file, writing it in order, closing it",
    };
    let path = |files: &BenchFiles| Ok(files.target());
    Case::new(name(doing, pass), what)
        .moving(size, piece)
        .each("std", path, move |path, data| {
            // std cannot allocate space.
            let file = if room > 0 { replace(path, room)?.into() } else { fs::File::create(path)? };
            match buffer {
                0 => write_all(&mut { file }, data, size)?,
                _ => write_all(&mut BufWriter::with_capacity(buffer, file), data, size)?,
            }
            Ok(())
        })
        .each("raw", path, move |path, data| {
            let file = replace(path, room)?;
            let mut written = 0;
            while written < size {
                written += rustix::io::write(&file, data)? as u64;
            }
            Ok(())
        })
        .each("fullbore", path, move |path, data| {
            let file = replacing(room).open(path)?;
            let mut written = 0;
            while written < size {
                written += file.write_at(data, written)? as u64;
            }
            Ok(())
        })
        .each("fullbore stream", path, move |path, data| {
            let mut stream = FileStream::with_buffer(replacing(room).open(path)?, buffer);
            write_all(&mut stream, data, size)?;
            Ok(stream.close()?)
        })
        .demands(pass)
}

fn replacing(room: u64) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(Mode::CreateOrTruncate).access(Access::Write).reserve(room);
    options
}

fn append(pass: Pass) -> Case {
    let (size, piece, buffer) = pass;
    let path = |files: &BenchFiles| Ok(files.target());
    let case = Case::new(name("append", pass), "opening a file at its end, appending to it, closing it");
    Case { from_empty: true, ..case }
        .moving(size, piece)
        .each("std", path, move |path, data| {
            let file = fs::File::options().append(true).open(path)?;
            Ok(write_all(&mut BufWriter::with_capacity(buffer, file), data, size)?)
        })
        .each("fullbore stream", path, move |path, data| {
            let file = OpenOptions::new().mode(Mode::Append).open(path)?;
            let mut stream = FileStream::with_buffer(file, buffer);
            write_all(&mut stream, data, size)?;
            Ok(stream.close()?)
        })
        .like_std("fullbore stream")
}
