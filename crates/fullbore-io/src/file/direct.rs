//! Direct I/O of one handle at any offset and length.
//!
//! Whole blocks in aligned memory are transferred directly between the caller and the device. Everything else goes
//! through a buffer that holds the whole blocks around it. A block that is written in part is read first, and a lock
//! per file keeps threads of this process from overwriting each other's bytes there. The block that contains the end of
//! the file is written through the page cache, so that the file is never longer than its bytes.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::{OnceLock, RwLockWriteGuard};

use super::bounce::{BOUNCE, Bounce};
use super::calls::BUFFERS;
use super::inner::{Direct, File};
use super::spans::{Piece, Rule, all_straight, widened};
use crate::buf::ALIGNMENT;
use crate::error::{Error, Result};
use crate::lock::RwLock;
use crate::probe::{self, Alignment, NoDirect};
use crate::sys::memory::IoVec;
use crate::sys::{self, Code, OpenFlags, TransferFlags};

/// Locks held while a part of a block is changed, and shared by writes of whole blocks; chosen by file number: several files may
/// share one.
static EDGES: [RwLock<()>; 64] = [const { RwLock::new(()) }; 64];

/// The length in bytes of which the offsets of transfers, or of reads alone, and their memory are multiples.
fn unit(alignment: &Alignment, write: bool) -> usize {
    let read = alignment.read_offset.filter(|_| !write);
    power_of_two(read.unwrap_or(alignment.offset).max(alignment.memory))
}

/// Returns the number, or the usual alignment if it is not a power of two of at least 512.
fn power_of_two(offset: u64) -> usize {
    match usize::try_from(offset) {
        Ok(offset) if offset.is_power_of_two() && offset >= 512 => offset,
        _ => ALIGNMENT,
    }
}

impl File {
    /// Returns the alignment of direct transfers in bytes. If the file system serves them through the page cache, or
    /// reports no alignment, the result is its block size, which is always valid: whether a file supports direct
    /// transfers can change at any time (btrfs moves small files into its tree and out of it). [`crate::engine::probe`]
    /// tests whether direct transfers work.
    pub fn direct_alignment(&self) -> usize {
        self.alignment_of(true)
    }

    /// The alignment of direct transfers, or of those that only read, which may be smaller.
    pub(crate) fn alignment_of(&self, write: bool) -> usize {
        match self.announced_alignment() {
            Ok(alignment) => unit(&alignment, write),
            Err(_) => power_of_two(sys::space(&self.inner.fd).map_or(0, |room| room.block)),
        }
    }

    /// As [`alignment_of`](Self::alignment_of), if the system reports it: without a trial.
    pub(crate) fn reported_alignment(&self, write: bool) -> Option<usize> {
        let reported = probe::reported_alignment(self)?.ok()?;
        Some(unit(&self.planned_alignment(reported), write))
    }

    /// The alignment of direct transfers that the file system, or a fault plan, announces.
    pub(super) fn announced_alignment(&self) -> std::result::Result<Alignment, NoDirect> {
        probe::direct_alignment(self).map(|found| self.planned_alignment(found))
    }

    /// The alignment under the fault plan of this file, if it has one.
    fn planned_alignment(&self, found: Alignment) -> Alignment {
        #[cfg(feature = "fault")]
        if let Some(size) = self.plan().and_then(crate::fault::plan::Plan::sectors) {
            let (memory, offset) = (found.memory.max(size), found.offset.max(size));
            return Alignment { memory, offset, read_offset: None, ..found };
        }
        found
    }

    /// The error of a transfer at `offset`, with the alignment if a direct one was rejected.
    pub(crate) fn failed(&self, doing: &'static str, offset: u64, error: io::Error) -> Error {
        let unit = self.inner.unit;
        let rejected = unit > 1 && Code::of(&error) == Some(Code::INVALID);
        let failed = Error::io(doing, self.path(), error).at(offset);
        if !rejected {
            return failed;
        }
        failed.advise(format!(
            "direct transfers are multiples of {unit} bytes, in the file and in memory: align them, or use the page cache"
        ))
    }
}

impl Direct {
    /// A direct handle of `file`, or the reason why there is none.
    pub(super) fn find(file: &File) -> std::result::Result<Box<Self>, String> {
        let flags = sys::status_flags(file).map_err(|error| format!("its flags cannot be read: {error}"))?;
        if flags.contains(OpenFlags::APPEND) {
            return Err("appended writes cannot be aligned to blocks".to_owned());
        }
        let identity = file.stamp().map_err(|error| error.to_string())?.identity;
        let access = flags & OpenFlags::ACCESS;
        let writable = access != OpenFlags::READ;
        // Blocks that are written in part must be read, so a writable handle needs both.
        let access = if writable { OpenFlags::READ_WRITE } else { OpenFlags::READ };
        let kept = flags & (OpenFlags::DATA_SYNC | OpenFlags::SYNC | OpenFlags::NOATIME);
        let reopened = |flags: OpenFlags| {
            file.reopen_fd_with(flags | kept).map_err(|error| match Code::of(&error) {
                Some(Code::INVALID | Code::UNSUPPORTED) => {
                    format!("the file system does not support it ({})", plainly(&error))
                }
                _ => format!("the file cannot be reopened for it ({})", plainly(&error)),
            })
        };
        let fd = reopened(access | OpenFlags::DIRECT)?;
        let cached = match flags.contains(OpenFlags::DIRECT) {
            true => Some(file.same(reopened(flags & OpenFlags::ACCESS)?, 1)),
            false => None,
        };
        let (read_unit, unit, memory) = match file.announced_alignment() {
            Ok(found) => (found.read_offset.unwrap_or(found.offset), found.offset, found.memory),
            Err(NoDirect::Refused(reason)) => return Err(reason),
            Err(NoDirect::Unknown(_)) => {
                let unit = file.direct_alignment() as u64;
                (unit, unit, unit)
            }
        };
        let rule = |unit: u64| Rule { unit: unit as usize, memory: memory as usize, bounce: BOUNCE };
        // Written blocks are at least a page: the page that contains the end of the file, which goes through the cache,
        // is then never written directly too.
        let (reads, writes) = (rule(read_unit), rule(unit.max(sys::page_size() as u64)));
        for Rule { unit, memory, .. } in [reads, writes] {
            if !unit.is_power_of_two() || !memory.is_power_of_two() || unit > BOUNCE || memory > ALIGNMENT {
                return Err(format!("it requires offsets aligned to {unit} bytes and memory to {memory}"));
            }
        }
        Ok(Box::new(Self {
            file: file.same(fd, reads.unit.max(unit as usize)),
            cached,
            reads,
            writes,
            readable: flags & OpenFlags::ACCESS != OpenFlags::WRITE,
            writable,
            gave_up: OnceLock::new(),
            identity,
        }))
    }

    /// The direct handle, if a read of these pieces satisfies its constraints.
    pub(super) fn straight(&self, pieces: &[IoVec], offset: u64) -> Option<&File> {
        let places = pieces.iter().map(|piece| (piece.iov_base.addr(), piece.iov_len));
        let bytes = pieces.iter().map(|piece| piece.iov_len).sum();
        let fits = all_straight(self.reads, offset, places) && !past_every_end(offset, bytes);
        (fits && self.readable && !self.gave_up()).then_some(&self.file)
    }

    /// Reads at any offset; short at the end of the file, and after a short system call.
    pub(super) fn read(&self, plain: &File, data: &mut [u8], offset: u64) -> Result<usize> {
        let plain = self.cached.as_ref().unwrap_or(plain);
        // Impossible requests are left to the system to reject.
        if !self.readable || self.gave_up() || past_every_end(offset, data.len()) {
            return plain.read_flagged(data, offset, TransferFlags::empty());
        }
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let rest = &mut data[done..];
            let (requested, result) = match Piece::first(at, rest.len(), rest.as_ptr().addr(), self.reads) {
                Piece::Straight(count) => (count, retried(|| self.read_once(at, &mut rest[..count]))),
                Piece::Bounced(count) => (count, self.read_bounced(at, &mut rest[..count])),
            };
            match result {
                Ok(count) => {
                    done += count;
                    if count < requested {
                        break;
                    }
                }
                Err(_) if done > 0 => break,
                Err(error) if self.gives_up(&error) => {
                    return plain.read_flagged(data, offset, TransferFlags::empty());
                }
                Err(error) => return Err(Error::io("read", plain.path(), error).at(at)),
            }
        }
        Ok(done)
    }

    fn read_bounced(&self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let around = widened(offset, data.len(), self.reads.unit).ok_or(io::ErrorKind::InvalidInput)?;
        let mut bounce = Bounce::borrow()?;
        let blocks = &mut bounce.bytes()[..(around.end - around.start) as usize];
        let head = (offset - around.start) as usize;
        let mut read = 0;
        // A short read may stop before the requested bytes.
        while read <= head {
            match retried(|| self.read_once(around.start + read as u64, &mut blocks[read..]))? {
                0 => return Ok(0),
                count => read += count,
            }
            if !read.is_multiple_of(self.reads.unit) {
                break; // the end of the file
            }
        }
        let count = read.saturating_sub(head).min(data.len());
        data[..count].copy_from_slice(&blocks[head..head + count]);
        Ok(count)
    }

    pub(super) fn write(&self, plain: &File, data: &[u8], offset: u64) -> Result<usize> {
        let plain = self.cached.as_ref().unwrap_or(plain);
        if !self.writable || self.gave_up() || past_every_end(offset, data.len()) {
            return plain.write_flagged(data, offset, TransferFlags::empty());
        }
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let rest = &data[done..];
            let result = match Piece::first(at, rest.len(), rest.as_ptr().addr(), self.writes) {
                Piece::Straight(count) => {
                    let _whole = self.lock().read();
                    retried(|| self.file.write_once(at, &rest[..count], TransferFlags::empty()))
                        .map_err(|error| (at, error))
                }
                Piece::Bounced(count) => self.write_bounced(plain, at, &rest[..count]),
            };
            match result {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(_) if done > 0 => break,
                Err((_, error)) if self.gives_up(&error) => {
                    return plain.write_flagged(data, offset, TransferFlags::empty());
                }
                Err((at, error)) => return Err(Error::io("write", plain.path(), error).at(at)),
            }
        }
        Ok(done)
    }

    /// Writes blocks of which some belong to the caller only in part; returns the number of the caller's bytes, at least 1.
    fn write_bounced(
        &self,
        plain: &File,
        offset: u64,
        data: &[u8],
    ) -> std::result::Result<usize, (u64, io::Error)> {
        let unit = self.writes.unit as u64;
        let end = offset + data.len() as u64;
        let in_part = |at: u64| !at.is_multiple_of(unit);
        let parts = in_part(offset) || in_part(end);
        let (_edges, _whole) = (parts.then(|| self.edges()), (!parts).then(|| self.lock().read()));
        let size = plain.stamp().map_or(0, |found| found.len);
        // Writes the caller's bytes of a block that extends past the file's end.
        let cached = |from: u64, to: u64| {
            let part = &data[(from - offset) as usize..(to - offset) as usize];
            retried(|| plain.write_once(from, part, TransferFlags::empty())).map_err(|error| (from, error))
        };
        let after_first = (offset - offset % unit + unit).min(end);
        if in_part(offset) && offset - offset % unit + unit > size {
            return cached(offset, after_first);
        }
        let last = end - end % unit;
        let cut_short = in_part(end) && last + unit > size;
        if cut_short && last <= offset {
            return cached(offset, end);
        }
        let to = if cut_short { last } else { end };
        self.write_blocks(offset, &data[..(to - offset) as usize]).map_err(|error| (offset, error))
    }

    /// Writes whole blocks through a buffer, with the file's own bytes around `data` in the first and the last.
    fn write_blocks(&self, offset: u64, data: &[u8]) -> io::Result<usize> {
        let unit = self.writes.unit;
        let around = widened(offset, data.len(), unit).ok_or(io::ErrorKind::InvalidInput)?;
        let mut bounce = Bounce::borrow()?;
        let blocks = &mut bounce.bytes()[..(around.end - around.start) as usize];
        let (head, tail) = ((offset - around.start) as usize, blocks.len() - unit);
        let ends_within = head + data.len() < blocks.len();
        if head > 0 {
            self.fill(around.start, &mut blocks[..unit])?;
        }
        if ends_within && (tail > 0 || head == 0) {
            self.fill(around.start + tail as u64, &mut blocks[tail..])?;
        }
        blocks[head..head + data.len()].copy_from_slice(data);
        let mut written = 0;
        while written < blocks.len() {
            let at = around.start + written as u64;
            match retried(|| self.file.write_once(at, &blocks[written..], TransferFlags::empty())) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                // The bytes written are reported before the failure.
                Err(_) if written > head => break,
                Err(error) => return Err(error),
            }
        }
        Ok((written - head).min(data.len()))
    }

    /// Reads whole blocks into aligned buffers in one call; `None` if they are unaligned or the call fails.
    pub(super) fn read_vectored(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> Option<usize> {
        let places = buffers.iter().take(BUFFERS).map(|buffer| (buffer.as_ptr().addr(), buffer.len()));
        if !self.readable || self.gave_up() || !all_straight(self.reads, offset, places) {
            return None;
        }
        // Reading buffer by buffer reports the error.
        retried(|| self.file.readv_once(offset, buffers, TransferFlags::empty())).ok()
    }

    /// Writes whole blocks from aligned buffers in one call; `None` if they are unaligned or the call fails.
    pub(super) fn write_vectored(&self, offset: u64, buffers: &[IoSlice<'_>]) -> Option<usize> {
        let places = buffers.iter().take(BUFFERS).map(|buffer| (buffer.as_ptr().addr(), buffer.len()));
        if !self.writable || self.gave_up() || !all_straight(self.writes, offset, places) {
            return None;
        }
        let _whole = self.lock().read();
        retried(|| self.file.writev_once(offset, buffers, TransferFlags::empty())).ok()
    }

    fn fill(&self, offset: u64, block: &mut [u8]) -> io::Result<()> {
        let mut read = 0;
        while read < block.len() {
            match retried(|| self.read_once(offset + read as u64, &mut block[read..]))? {
                // The file was truncated at this moment: there are no bytes to keep.
                0 => {
                    block[read..].fill(0);
                    break;
                }
                count => read += count,
            }
        }
        Ok(())
    }

    /// Reads once, directly. A read past the end into blocks that are reserved and not allocated fails on XFS with `EIO`; it is
    /// repeated with no more bytes than the file has.
    fn read_once(&self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        match self.file.read_once(offset, data, TransferFlags::empty()) {
            Err(error) if Code::of(&error) == Some(Code::IO) => match self.up_to_the_end(offset) {
                Some(len) if len < data.len() => {
                    self.file.read_once(offset, &mut data[..len], TransferFlags::empty())
                }
                _ => Err(error),
            },
            result => result,
        }
    }

    /// The number of bytes of whole blocks from `offset`, the start of one, to the end of the file.
    fn up_to_the_end(&self, offset: u64) -> Option<usize> {
        let size = self.file.stamp().ok()?.len;
        let end = size.checked_next_multiple_of(self.reads.unit as u64)?;
        usize::try_from(end.checked_sub(offset)?).ok()
    }

    /// Locks out other threads that write blocks of this file, or change its length.
    pub(super) fn edges(&self) -> RwLockWriteGuard<'static, ()> {
        self.lock().write()
    }

    fn lock(&self) -> &'static RwLock<()> {
        let (device, inode) = self.identity;
        let number = (device.wrapping_mul(31) ^ inode) % EDGES.len() as u64;
        &EDGES[number as usize]
    }

    fn gave_up(&self) -> bool {
        self.gave_up.get().is_some()
    }

    /// True if the error means that direct I/O does not work here after all. The handle then uses the cache.
    fn gives_up(&self, error: &io::Error) -> bool {
        let no = matches!(Code::of(error), Some(Code::INVALID | Code::UNSUPPORTED));
        if no {
            self.gave_up.get_or_init(|| format!("an aligned transfer was rejected ({})", plainly(error)));
        }
        no
    }

    pub(super) fn why_not(&self) -> Option<String> {
        self.gave_up.get().cloned()
    }
}

fn plainly(error: &io::Error) -> String {
    crate::error::reason(error)
}

/// True if the range extends past any possible file end; the system then decides the result.
fn past_every_end(offset: u64, len: usize) -> bool {
    offset.checked_add(len as u64).is_none_or(|end| end > i64::MAX as u64 - BOUNCE as u64)
}

/// Makes a call until no signal interrupts it.
pub(super) fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The device has larger sectors than it announces.
    #[cfg(feature = "fault")]
    #[test]
    fn a_rejected_transfer_falls_back_to_the_cache_for_the_rest_of_the_handle() {
        use crate::asynchronous::{AsyncFile, Driver};
        use crate::buf::{ALIGNMENT, Pool};
        use crate::fault::{Fault, Plan};
        use crate::file::{CachePolicy, Support};
        use futures_lite::future::block_on;

        const AT: usize = ALIGNMENT;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let content: Vec<u8> = (0..20_000u32).map(|value| (value % 251) as u8).collect();
        let read = |file: &File| {
            let mut read = [0; 99];
            file.read_exact_at(&mut read, 3).unwrap();
            assert_eq!(read, content[3..102]);
        };
        let write = |file: &File| {
            file.write_all_at(&content[3..102], 3).unwrap();
        };
        let vectored = |file: &File| {
            let (mut pool, mut read) = (Pool::new(1, ALIGNMENT).unwrap(), [0; 9]);
            let mut buf = pool.take().unwrap();
            buf.place(0, ALIGNMENT);
            let parts = &mut [IoSliceMut::new(buf.data_mut()), IoSliceMut::new(&mut read)];
            file.read_exact_vectored_at(parts, AT as u64).unwrap();
            assert!(buf.data() == &content[AT..][..ALIGNMENT] && read == content[AT + ALIGNMENT..][..9]);
        };
        let future = |file: &File| {
            let file = AsyncFile::new(file.clone(), &Driver::shared().unwrap());
            let mut buf = Pool::new(1, ALIGNMENT).unwrap().take().unwrap();
            buf.place(0, ALIGNMENT);
            let (read, buf) = block_on(file.read_exact_at(buf, AT as u64));
            assert!(read.unwrap() == ALIGNMENT && buf.data() == &content[AT..][..ALIGNMENT]);
        };
        type Case<'a> = (&'a str, &'a dyn Fn(&File));
        let cases: [Case<'_>; 4] =
            [("read", &read), ("write", &write), ("vectored", &vectored), ("future", &future)];
        for (name, case) in cases {
            std::fs::write(&path, &content).unwrap();
            let plan = Plan::new(1);
            let file = File::open_write(&path).unwrap().with_faults(&plan);
            let (file, support) = file.with_cache(CachePolicy::Direct);
            if support != Support::Native {
                return println!("skipped: {support}");
            }
            let plan = plan.with(Fault::Sectors { size: 2 * ALIGNMENT as u64 });
            case(&file);
            let (_, support) = file.cache_policy();
            let Support::Unsupported(reason) = support else { panic!("{name}: {support}") };
            assert!(reason.contains("an aligned transfer was rejected"), "{name}: {reason}");
            // Compression, or a few bytes within the inode, may be the reason: it says nothing of another file.
            assert_eq!(
                File::open(&path).unwrap().with_cache(CachePolicy::Direct).1,
                Support::Native,
                "{name}"
            );
            let counts = plan.counts();
            assert!(counts.refused > 0, "{name}: {counts:?}");
            case(&file);
            assert_eq!(plan.counts().refused, counts.refused, "{name}: tried again");
            assert!(std::fs::read(&path).unwrap() == content, "{name}");
        }
    }
}
