//! Operations on whole files: opening, locking, length, copying.

#![allow(unsafe_code)]

use std::fs;
use std::os::fd::AsRawFd;

use fullbore::file::{File, Mode, OpenOptions, RangeLock, Share};
use rustix::fs::OFlags;

use crate::case::{Case, Demand, closed, each, exactly};
use crate::files::{MIDDLE, SMALL};

/// Lengths set one after the other, as .NET's SetLength does.
const LENGTHS: u64 = 1024;

pub(crate) fn cases() -> Vec<Case> {
    vec![open(), lock_range(), share(), length(), set_length(), copy(SMALL), copy(MIDDLE), copy(100 * MIDDLE)]
}

fn open() -> Case {
    Case::new("open-close", "opening a file for reading and closing it")
        .with("std", |files| {
            let path = files.source(SMALL);
            each(move |_| closed(fs::File::open(&path)?))
        })
        .with("raw", |files| {
            let path = files.source(SMALL);
            each(move |_| {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                closed(rustix::fs::open(&path, flags, rustix::fs::Mode::empty())?)
            })
        })
        .with("fullbore", |files| {
            let path = files.source(SMALL);
            each(move |_| closed(File::open(&path)?))
        })
        .with("fullbore options", |files| {
            let path = files.source(SMALL);
            each(move |_| closed(OpenOptions::new().open(&path)?))
        })
        .like_std("fullbore")
        .like_std("fullbore options")
}

/// `FileStream.Lock` and `Unlock`: a range of an open file. std locks whole files only, by a cheaper system call; it is
/// shown for information.
fn lock_range() -> Case {
    Case::new("lock-range", "locking a range of an open file and unlocking it")
        .with("raw", |files| {
            let file = fs::File::options().read(true).write(true).open(files.filled(SMALL)?)?;
            each(move |_| {
                ofd_lock(&file, libc::F_WRLCK)?;
                Ok(ofd_lock(&file, libc::F_UNLCK)?)
            })
        })
        .with("std, whole file", |files| {
            let file = fs::File::options().read(true).write(true).open(files.filled(SMALL)?)?;
            each(move |_| {
                file.lock()?;
                Ok(file.unlock()?)
            })
        })
        .with("fullbore", |files| {
            let file = File::open_write(files.filled(SMALL)?)?;
            each(move |_| {
                drop(file.lock_range(0..SMALL, RangeLock::Exclusive)?);
                Ok(())
            })
        })
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
    Case::new(
        "open-alone",
        "opening a file, locking it exclusively, checking that it was not replaced, unlocking and closing it",
    )
    .with("std, without looking", |files| {
        let path = files.source(SMALL);
        each(move |_| {
            let file = fs::File::open(&path)?;
            file.try_lock()?;
            Ok(file.unlock()?)
        })
    })
    .with("std", |files| {
        let path = files.source(SMALL);
        each(move |_| {
            use std::os::unix::fs::MetadataExt;
            let file = fs::File::open(&path)?;
            file.try_lock()?;
            let (there, ours) = (fs::metadata(&path)?, file.metadata()?);
            exactly((there.dev(), there.ino()) == (ours.dev(), ours.ino()), true)?;
            Ok(file.unlock()?)
        })
    })
    .with("fullbore", |files| {
        let path = files.source(SMALL);
        each(move |_| closed(OpenOptions::new().share(Share::NONE).open(&path)?))
    })
}

fn length() -> Case {
    Case::new("length", "reading the length of an open file")
        .with("std", |files| {
            let file = fs::File::open(files.source(MIDDLE))?;
            each(move |_| exactly(file.metadata()?.len(), MIDDLE))
        })
        .with("raw", |files| {
            let file = fs::File::open(files.source(MIDDLE))?;
            each(move |_| exactly(rustix::fs::fstat(&file)?.st_size as u64, MIDDLE))
        })
        .with("fullbore", |files| {
            let file = File::open(files.source(MIDDLE))?;
            each(move |_| exactly(file.stamp()?.len, MIDDLE))
        })
        .with("fullbore stream", |files| {
            let stream = fullbore::stream::FileStream::new(File::open(files.source(MIDDLE))?);
            each(move |_| exactly(stream.len()?, MIDDLE))
        })
        .like_std("fullbore")
        .like_std("fullbore stream")
        .demand(Demand::AllocatesNothing("fullbore"))
        .demand(Demand::AllocatesNothing("fullbore stream"))
}

fn set_length() -> Case {
    Case::new("set-length", "setting an open file's length, from 0 to 1023 bytes")
        .with("std", |files| {
            let file = fs::File::create(files.target())?;
            let mut len = 0;
            each(move |_| {
                len = (len + 1) % LENGTHS;
                Ok(file.set_len(len)?)
            })
        })
        .with("raw", |files| {
            let file = fs::File::create(files.target())?;
            let mut len = 0;
            each(move |_| {
                len = (len + 1) % LENGTHS;
                Ok(rustix::fs::ftruncate(&file, len)?)
            })
        })
        .with("fullbore", |files| {
            let file = OpenOptions::new().mode(Mode::CreateOrTruncate).open(files.target())?;
            let mut len = 0;
            each(move |_| {
                len = (len + 1) % LENGTHS;
                Ok(file.set_len(len)?)
            })
        })
        .like_std("fullbore")
        .demand(Demand::AllocatesNothing("fullbore"))
}

fn copy(size: u64) -> Case {
    Case::new(format!("copy-{}", super::short(size)), "copying a file over another")
        .moving(size, 0)
        .with("std", move |files| {
            let (from, to) = (files.source(size), files.target());
            each(move |_| exactly(fs::copy(&from, &to)?, size))
        })
        .with("fullbore", move |files| {
            let (from, to) = (files.source(size), files.target());
            each(move |_| {
                let to = OpenOptions::new().mode(Mode::CreateOrTruncate).open(&to)?;
                exactly(File::open(&from)?.copy_range(0..size, &to, 0)?.bytes(), size)
            })
        })
        .with("tokio", move |files| {
            let (from, to) = (files.source(size), files.target());
            let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
            each(move |_| exactly(runtime.block_on(tokio::fs::copy(&from, &to))?, size))
        })
        .like_std("fullbore")
}
