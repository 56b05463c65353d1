//! Transfers at offsets of an open file, of one buffer and of four.

use std::fs;
use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use fullbore::file::File;

use crate::case::{Case, each, exactly};
use crate::files::{LARGE, MIDDLE};

/// Buffers of a vectored transfer.
const BUFFERS: usize = 4;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [512, 4 << 10, 16 << 10, 64 << 10] {
        cases.push(read(size));
    }
    cases.push(random_read(4 << 10));
    for size in [512, 4 << 10, 16 << 10] {
        cases.push(write(size));
    }
    for size in [4 << 10, 16 << 10] {
        cases.push(read_vectored(size));
        cases.push(write_vectored(size));
    }
    cases
}

/// Consecutive offsets, from the start again at the end of the file.
#[derive(Clone, Copy)]
pub(super) struct Forward {
    next: u64,
    step: u64,
}

impl Forward {
    pub(super) fn by(step: usize) -> Self {
        Self { next: 0, step: step as u64 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let offset = self.next;
        self.next = (offset + self.step) % MIDDLE;
        offset
    }
}

/// Random offsets in the large file (linear congruential).
pub(super) struct Anywhere {
    state: u64,
    step: u64,
}

impl Anywhere {
    /// Offsets in multiples of `step`. Contenders need seeds of their own: on the same sequence, the later one would find in
    /// the processor's caches the bytes read by the earlier one.
    pub(super) fn of(step: usize, seed: u64) -> Self {
        Self { state: seed, step: step as u64 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
        (self.state >> 20) % (LARGE / self.step) * self.step
    }
}

fn read(size: usize) -> Case {
    Case::new(format!("read-at-{}", super::short(size as u64)), "a read at the next offset of 1 MiB")
        .moving(size as u64, size)
        .with("std", move |files| {
            let (file, mut at) = (fs::File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| exactly(file.read_at(buffer, at.next())?, size))
        })
        .with("raw", move |files| {
            let (file, mut at) = (fs::File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| exactly(rustix::io::pread(&file, buffer, at.next())?, size))
        })
        .with("fullbore", move |files| {
            let (file, mut at) = (File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| exactly(file.read_at(buffer, at.next())?, size))
        })
        .one_call("fullbore")
}

fn random_read(size: usize) -> Case {
    Case::new(format!("random-read-at-{}", super::short(size as u64)), "a read at a random offset of 100 MiB")
        .moving(size as u64, size)
        .with("std", move |files| {
            let (file, mut at) = (fs::File::open(files.source(LARGE))?, Anywhere::of(size, 1));
            each(move |buffer| exactly(file.read_at(buffer, at.next())?, size))
        })
        .with("raw", move |files| {
            let (file, mut at) = (fs::File::open(files.source(LARGE))?, Anywhere::of(size, 2));
            each(move |buffer| exactly(rustix::io::pread(&file, buffer, at.next())?, size))
        })
        .with("fullbore", move |files| {
            let (file, mut at) = (File::open(files.source(LARGE))?, Anywhere::of(size, 3));
            each(move |buffer| exactly(file.read_at(buffer, at.next())?, size))
        })
        .like_call("fullbore")
}

fn write(size: usize) -> Case {
    let open = |path| fs::File::options().write(true).open(path);
    Case::new(format!("write-at-{}", super::short(size as u64)), "a write at the next offset of 1 MiB")
        .moving(size as u64, size)
        .with("std", move |files| {
            let (file, mut at) = (open(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| exactly(file.write_at(buffer, at.next())?, size))
        })
        .with("raw", move |files| {
            let (file, mut at) = (open(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| exactly(rustix::io::pwrite(&file, buffer, at.next())?, size))
        })
        .with("fullbore", move |files| {
            let (file, mut at) = (File::open_write(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| exactly(file.write_at(buffer, at.next())?, size))
        })
        .one_call("fullbore")
}

/// The buffer in equal parts, to read into.
fn parts_mut(buffer: &mut [u8]) -> [IoSliceMut<'_>; BUFFERS] {
    let mut parts = buffer.chunks_exact_mut(buffer.len() / BUFFERS);
    std::array::from_fn(|_| IoSliceMut::new(parts.next().unwrap_or_default()))
}

/// The buffer in equal parts, to write.
fn parts(buffer: &[u8]) -> [IoSlice<'_>; BUFFERS] {
    let mut parts = buffer.chunks_exact(buffer.len() / BUFFERS);
    std::array::from_fn(|_| IoSlice::new(parts.next().unwrap_or_default()))
}

fn read_vectored(each_size: usize) -> Case {
    let size = BUFFERS * each_size;
    let name = format!("read-vectored-at-{BUFFERS}x{}", super::short(each_size as u64));
    Case::new(name, "a read into four buffers at the next offset of 1 MiB; std has to seek")
        .moving(size as u64, size)
        .with("std", move |files| {
            let (mut file, mut at) = (fs::File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| {
                file.seek(SeekFrom::Start(at.next()))?;
                exactly(file.read_vectored(&mut parts_mut(buffer))?, size)
            })
        })
        .with("raw", move |files| {
            let (file, mut at) = (fs::File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| exactly(rustix::io::preadv(&file, &mut parts_mut(buffer), at.next())?, size))
        })
        .with("fullbore", move |files| {
            let (file, mut at) = (File::open(files.source(MIDDLE))?, Forward::by(size));
            each(move |buffer| exactly(file.read_vectored_at(&mut parts_mut(buffer), at.next())?, size))
        })
        .one_call("fullbore")
}

fn write_vectored(each_size: usize) -> Case {
    let size = BUFFERS * each_size;
    let open = |path| fs::File::options().write(true).open(path);
    let name = format!("write-vectored-at-{BUFFERS}x{}", super::short(each_size as u64));
    Case::new(name, "a write of four buffers at the next offset of 1 MiB; std has to seek")
        .moving(size as u64, size)
        .with("std", move |files| {
            let (mut file, mut at) = (open(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| {
                file.seek(SeekFrom::Start(at.next()))?;
                exactly(file.write_vectored(&parts(buffer))?, size)
            })
        })
        .with("raw", move |files| {
            let (file, mut at) = (open(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| exactly(rustix::io::pwritev(&file, &parts(buffer), at.next())?, size))
        })
        .with("fullbore", move |files| {
            let (file, mut at) = (File::open_write(files.filled(MIDDLE)?)?, Forward::by(size));
            each(move |buffer| exactly(file.write_vectored_at(&parts(buffer), at.next())?, size))
        })
        .one_call("fullbore")
}
