//! Operations on whole files: opening, locking, length, copying.

#![allow(unsafe_code)]

use super::*;

use fullbore::file::{RangeLock, Share};

/// Lengths set one after the other, as .NET's SetLength does.
const LENGTHS: u64 = 1024;

pub(crate) fn cases() -> Vec<Case> {
    let sizes = [SMALL, MIDDLE, LARGE];
    let mut cases = vec![open(), lock_range(), share(), length(), set_length()];
    cases.extend(sizes.map(read));
    cases.extend(sizes.map(copy));
    cases
}

fn open() -> Case {
    let path = |files: &BenchFiles| Ok(files.source(SMALL));
    Case::new("open-close", "opening a file for reading and closing it")
        .each("std", path, |path, _| closed(fs::File::open(path)?))
        .each("raw", path, |path, _| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            closed(rustix::fs::open(&*path, flags, rustix::fs::Mode::empty())?)
        })
        .each("fullbore", path, |path, _| closed(File::open(path)?))
        .each("fullbore options", path, |path, _| closed(OpenOptions::new().open(path)?))
        .like_std("fullbore")
        .like_std("fullbore options")
}

/// `FileStream.Lock` and `Unlock`: a range of an open file. std locks whole files only, by a cheaper system call; it is
/// shown for information.
fn lock_range() -> Case {
    let open =
        |files: &BenchFiles| Ok(fs::File::options().read(true).write(true).open(files.filled(SMALL)?)?);
    let ours = |files: &BenchFiles| Ok(File::open_write(files.filled(SMALL)?)?);
    Case::new("lock-range", "locking a range of an open file and unlocking it")
        .each("raw", open, |file, _| {
            ofd_lock(file, libc::F_WRLCK)?;
            Ok(ofd_lock(file, libc::F_UNLCK)?)
        })
        .each("std, whole file", open, |file, _| {
            file.lock()?;
            Ok(file.unlock()?)
        })
        .each("fullbore", ours, |file, _| closed(file.lock_range(0..SMALL, RangeLock::Exclusive)?))
        .demand(Demand::AtMost("fullbore", "raw", 1.05))
}

/// Locks or unlocks the range as an open file description.
fn ofd_lock(file: &fs::File, kind: i32) -> std::io::Result<()> {
    // SAFETY: zeros are a lock of nothing, and the fields that count are set below.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_whence, lock.l_len) = (kind as i16, libc::SEEK_SET as i16, SMALL as i64);
    // SAFETY: the lock lives through the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &lock) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// More than std does: the lock counts only if the path still leads to the locked file, which takes two system calls. Not
/// one of .NET's cases, so it has no bound.
fn share() -> Case {
    let what =
        "opening a file, locking it exclusively, checking that it was not replaced, unlocking and closing it";
    let path = |files: &BenchFiles| Ok(files.source(SMALL));
    Case::new("open-alone", what)
        .each("std, without looking", path, |path, _| {
            let file = fs::File::open(path)?;
            file.try_lock()?;
            Ok(file.unlock()?)
        })
        .each("std", path, |path, _| {
            use std::os::unix::fs::MetadataExt;
            let file = fs::File::open(&*path)?;
            file.try_lock()?;
            let (there, ours) = (fs::metadata(path)?, file.metadata()?);
            exactly((there.dev(), there.ino()) == (ours.dev(), ours.ino()), true)?;
            Ok(file.unlock()?)
        })
        .each("fullbore", path, |path, _| closed(OpenOptions::new().share(Share::NONE).open(path)?))
}

fn length() -> Case {
    let open = |files: &BenchFiles| Ok(fs::File::open(files.source(MIDDLE))?);
    let ours = |files: &BenchFiles| Ok(File::open(files.source(MIDDLE))?);
    let stream = |files: &BenchFiles| Ok(FileStream::new(File::open(files.source(MIDDLE))?));
    Case::new("length", "reading the length of an open file")
        .each("std", open, |file, _| exactly(file.metadata()?.len(), MIDDLE))
        .each("raw", open, |file, _| exactly(rustix::fs::fstat(&*file)?.st_size as u64, MIDDLE))
        .each("fullbore", ours, |file, _| exactly(file.stamp()?.len, MIDDLE))
        .each("fullbore stream", stream, |stream, _| exactly(stream.len()?, MIDDLE))
        .like_std("fullbore")
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore"))
        .demand(Demand::AllocatesNothing("fullbore stream"))
}

fn set_length() -> Case {
    fn next(len: &mut u64) -> u64 {
        *len = (*len + 1) % LENGTHS;
        *len
    }
    let create = |files: &BenchFiles| Ok((fs::File::create(files.target())?, 0));
    let ours =
        |files: &BenchFiles| Ok((OpenOptions::new().mode(Mode::CreateOrTruncate).open(files.target())?, 0));
    Case::new("set-length", "setting an open file's length, from 0 to 1023 bytes")
        .each("std", create, |(file, len), _| Ok(file.set_len(next(len))?))
        .each("raw", create, |(file, len), _| Ok(rustix::fs::ftruncate(&*file, next(len))?))
        .each("fullbore", ours, |(file, len), _| Ok(file.set_len(next(len))?))
        .like_std("fullbore")
        .demand(Demand::AllocatesNothing("fullbore"))
}

fn read(size: u64) -> Case {
    let path = move |files: &BenchFiles| Ok(files.source(size));
    Case::new(format!("read-whole-{}", super::short(size)), "reading a whole file into new memory")
        .moving(size, 0)
        .each("std", path, move |path, _| exactly(fs::read(path)?.len() as u64, size))
        .each("fullbore", path, move |path, _| exactly(fullbore::file::read(path)?.len() as u64, size))
        .each("fullbore stream", path, move |path, _| {
            let mut bytes = Vec::new();
            let count = FileStream::new(File::open(path)?).read_to_end(&mut bytes)?;
            exactly(count as u64, size)
        })
        .like_std("fullbore")
        .like_std("fullbore stream")
}

fn copy(size: u64) -> Case {
    let paths = move |files: &BenchFiles| Ok((files.source(size), files.target()));
    Case::new(format!("copy-{}", super::short(size)), "copying a file over another")
        .moving(size, 0)
        .each("std", paths, move |(from, to), _| exactly(fs::copy(from, to)?, size))
        .each("fullbore", paths, move |(from, to), _| {
            let to = OpenOptions::new().mode(Mode::CreateOrTruncate).open(to)?;
            exactly(File::open(from)?.copy_range(0..size, &to, 0)?.bytes(), size)
        })
        .each(
            "tokio",
            move |files| Ok((paths(files)?, tokio::runtime::Builder::new_multi_thread().build()?)),
            move |((from, to), runtime), _| exactly(runtime.block_on(tokio::fs::copy(&*from, &*to))?, size),
        )
        .like_std("fullbore")
}
