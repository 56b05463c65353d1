//! Transfers at offsets of an open file, of one buffer and of four.

use super::*;

use std::io::{IoSlice, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::io::{pread, preadv, pwrite, pwritev};

pub(super) const BUFFERS: usize = 4;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = [512, 4 << 10, 16 << 10, 64 << 10, 1 << 20].map(read).into();
    cases.push(random_read(4 << 10));
    cases.extend([512, 4 << 10, 16 << 10].map(write));
    cases
        .extend([4 << 10, 16 << 10].into_iter().flat_map(|size| [read_vectored(size), write_vectored(size)]));
    cases
}

/// Consecutive offsets, from the start again at the end of the file.
pub(super) fn forward(step: usize) -> impl FnMut() -> u64 {
    let mut next = 0;
    move || {
        let offset = next;
        next = (offset + step as u64) % MIDDLE;
        offset
    }
}

/// Random offsets in the large file (linear congruential), in multiples of `step`. Contenders need seeds of their own: on
/// the same sequence, the later one would find in the processor's caches the bytes read by the earlier one.
pub(super) fn anywhere(step: usize, seed: u64) -> impl FnMut() -> u64 {
    let (mut state, step) = (seed, step as u64);
    move || {
        state = state.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(3_037_000_493);
        (state >> 20) % (LARGE / step) * step
    }
}

/// The path of the file, and true if it is written.
type Target = fn(&BenchFiles) -> Attempt<(PathBuf, bool)>;

const SOURCE: Target = |files| Ok((files.source(MIDDLE), false));
const FILLED: Target = |files| Ok((files.filled(MIDDLE)?, true));

/// A transfer of the whole buffer by std, by the raw call and by fullbore, at offsets that follow from a seed.
fn transfer<O: FnMut() -> u64 + 'static>(
    case: Case,
    target: Target,
    offsets: impl Fn(u64) -> O + Copy + 'static,
    std: impl Fn(&mut fs::File, &mut [u8], u64) -> std::io::Result<usize> + Copy + 'static,
    raw: impl Fn(&fs::File, &mut [u8], u64) -> rustix::io::Result<usize> + Copy + 'static,
    ours: impl Fn(&File, &mut [u8], u64) -> fullbore::Result<usize> + Copy + 'static,
) -> Case {
    let size = case.buffer;
    let open = move |files: &BenchFiles| -> Attempt<fs::File> {
        let (path, write) = target(files)?;
        Ok(fs::File::options().read(!write).write(write).open(path)?)
    };
    let open_ours = move |files: &BenchFiles| -> Attempt<File> {
        let (path, write) = target(files)?;
        Ok(if write { File::open_write(path)? } else { File::open(path)? })
    };
    case.each(
        "std",
        move |files| Ok((open(files)?, offsets(1))),
        move |(file, at), buffer| exactly(std(file, buffer, at())?, size),
    )
    .each(
        "raw",
        move |files| Ok((open(files)?, offsets(2))),
        move |(file, at), buffer| exactly(raw(file, buffer, at())?, size),
    )
    .each(
        "fullbore",
        move |files| Ok((open_ours(files)?, offsets(3))),
        move |(file, at), buffer| exactly(ours(file, buffer, at())?, size),
    )
}

fn named(name: &str, size: usize, operation: &str) -> Case {
    Case::new(format!("{name}-{}", super::short(size as u64)), operation).moving(size as u64, size)
}

fn vectored(name: &str, each_size: usize, operation: &str) -> Case {
    let name = format!("{name}-{BUFFERS}x{}", super::short(each_size as u64));
    Case::new(name, operation).moving((BUFFERS * each_size) as u64, BUFFERS * each_size)
}

fn read(size: usize) -> Case {
    let case = named("read-at", size, "a read at the next offset of 1 MiB");
    reads(case, SOURCE, move |_| forward(size)).one_call("fullbore")
}

fn random_read(size: usize) -> Case {
    let case = named("random-read-at", size, "a read at a random offset of 100 MiB");
    let large: Target = |files| Ok((files.source(LARGE), false));
    reads(case, large, move |seed| anywhere(size, seed)).like_call("fullbore")
}

fn reads<O: FnMut() -> u64 + 'static>(
    case: Case,
    target: Target,
    offsets: impl Fn(u64) -> O + Copy + 'static,
) -> Case {
    transfer(
        case,
        target,
        offsets,
        |file, buffer, at| file.read_at(buffer, at),
        |file, buffer, at| pread(file, buffer, at),
        |file, buffer, at| file.read_at(buffer, at),
    )
}

fn write(size: usize) -> Case {
    transfer(
        named("write-at", size, "a write at the next offset of 1 MiB"),
        FILLED,
        move |_| forward(size),
        |file, buffer, at| file.write_at(buffer, at),
        |file, buffer, at| pwrite(file, buffer, at),
        |file, buffer, at| file.write_at(buffer, at),
    )
    .one_call("fullbore")
}

fn parts_mut(buffer: &mut [u8]) -> [IoSliceMut<'_>; BUFFERS] {
    let mut parts = buffer.chunks_exact_mut(buffer.len() / BUFFERS);
    std::array::from_fn(|_| IoSliceMut::new(parts.next().unwrap_or_default()))
}

fn parts(buffer: &[u8]) -> [IoSlice<'_>; BUFFERS] {
    let mut parts = buffer.chunks_exact(buffer.len() / BUFFERS);
    std::array::from_fn(|_| IoSlice::new(parts.next().unwrap_or_default()))
}

fn read_vectored(each_size: usize) -> Case {
    let what = "a read into four buffers at the next offset of 1 MiB; std has to seek";
    transfer(
        vectored("read-vectored-at", each_size, what),
        SOURCE,
        move |_| forward(BUFFERS * each_size),
        |file, buffer, at| {
            file.seek(SeekFrom::Start(at))?;
            file.read_vectored(&mut parts_mut(buffer))
        },
        |file, buffer, at| preadv(file, &mut parts_mut(buffer), at),
        |file, buffer, at| file.read_vectored_at(&mut parts_mut(buffer), at),
    )
    .one_call("fullbore")
}

fn write_vectored(each_size: usize) -> Case {
    let what = "a write of four buffers at the next offset of 1 MiB; std has to seek";
    transfer(
        vectored("write-vectored-at", each_size, what),
        FILLED,
        move |_| forward(BUFFERS * each_size),
        |file, buffer, at| {
            file.seek(SeekFrom::Start(at))?;
            file.write_vectored(&parts(buffer))
        },
        |file, buffer, at| pwritev(file, &parts(buffer), at),
        |file, buffer, at| file.write_vectored_at(&parts(buffer), at),
    )
    .one_call("fullbore")
}
