//! Completion of requests: short transfers are continued, interrupted ones are repeated, and the end of a file is distinguished
//! from a truncated file. The module also gives access to the bytes of mapped files in place, and copies inside the kernel.

use std::io;
use std::time::Instant;

use super::io_queue::{Done, IoQueue, PendingRequest, Stall};
use crate::buf::{ALIGNMENT, Buf, Completion, Direction, Pool, Request};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, FileStamp, LONGEST, cut};
use crate::sys::{Code, TransferFlags};

impl IoQueue {
    pub(super) fn send(
        &mut self,
        direction: Direction,
        pending: PendingRequest,
        offset: u64,
        buf: Buf,
    ) -> Result<()> {
        let refused = |kind, what| Error::new(kind, "queue a request", self.file.path(), what);
        if !self.transfers {
            return Err(refused(ErrorKind::Unsupported, "the method only copies in the kernel"));
        }
        let Some(slot) = self.vacant.pop() else {
            return Err(refused(ErrorKind::Invalid, "more requests in flight than the depth"));
        };
        self.pending[slot] = pending;
        if let Some(timing) = &mut self.timing {
            timing.since[slot] = Instant::now();
        }
        self.in_flight += 1;
        self.draining = false;
        let submitted =
            self.submit(Request { token: slot as u64, direction, offset, buf, from: 0, most: LONGEST });
        if submitted.is_err() {
            self.release(slot);
        }
        submitted
    }

    /// Ends the request of a slot.
    fn release(&mut self, slot: usize) {
        self.vacant.push(slot);
        self.in_flight -= 1;
    }

    /// Queues a request, unless a plan fails it; reaps completions first if the engine's queue is full.
    fn submit(&mut self, mut request: Request) -> Result<()> {
        self.stats.requests += 1;
        request.most = LONGEST;
        request.most = cut(request.len(), self.direct.as_ref().map_or(1, |(align, _)| *align));
        let (len, memory) = (request.len(), request.memory().0.addr());
        match self.handle().before(request.direction, request.offset, len, memory) {
            Ok(most) => request.most = most,
            Err(error) => {
                self.arrived.push(Completion { request, result: Err(error) });
                return Ok(());
            }
        }
        while let Err(full) = self.engine.queue(request) {
            request = full;
            self.collect(1)?;
        }
        Ok(())
    }

    /// Waits for `least` completions and handles all that are available. Fails with the first error of a request.
    pub(super) fn reap(&mut self, least: usize) -> Result<()> {
        if least > 0 && !self.draining {
            self.stats.waits += 1;
            self.stats.in_flight += self.in_flight as u64;
        }
        self.collect(least.saturating_sub(self.arrived.len()))?;
        let mut arrived = std::mem::take(&mut self.arrived);
        let mut result = Ok(());
        for completion in arrived.drain(..) {
            let slot = completion.request.token as usize;
            if let Err(error) = self.handle_completion(completion) {
                self.release(slot);
                result = result.and(Err(error));
            }
        }
        arrived.append(&mut self.arrived);
        self.arrived = arrived;
        result
    }

    pub(super) fn collect(&mut self, least: usize) -> Result<()> {
        self.engine
            .reap(least, &mut self.arrived)
            .map_err(|error| Error::io("wait for requests", self.file.path(), error))
    }

    /// Ends a complete request, or queues the rest of an incomplete one.
    fn handle_completion(&mut self, Completion { mut request, result }: Completion) -> Result<()> {
        let pending = self.pending[request.token as usize];
        let writes = request.direction == Direction::Write;
        let doing = if writes { "write" } else { "read" };
        let at = request.offset;
        let result = match result {
            Err(error) if Code::of(&error) == Some(Code::CANCELLED) => self.repeated(&mut request),
            result => result,
        };
        let count = match result {
            Ok(count) => count,
            Err(error) if is_retryable(&error) => return self.submit(request),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(self.judged().fault(doing, at, error));
            }
            Err(error) => return Err(self.failed(doing, at, error)),
        };
        self.stats.bytes += count as u64;
        let had = request.from + count;
        // The request is complete once the data reaches its end, or the end of the file if that is nearer.
        let start = request.offset - request.from as u64;
        let wanted = if writes {
            request.buf.len()
        } else {
            let end = pending.offset + pending.len as u64;
            self.limit.map_or(end, |limit| end.min(limit)).saturating_sub(start) as usize
        };
        // With direct I/O, only the end of the file stops a read in the middle of a block.
        let ended = !writes
            && (count == 0 || self.direct.as_ref().is_some_and(|(align, _)| !had.is_multiple_of(*align)));
        if had >= wanted || ended {
            if !writes {
                let whole = had.min(pending.head + pending.len);
                if had < wanted && self.limit.is_some() {
                    return Err(shortened(&self.file, start + had as u64));
                }
                request.buf.shift(pending.head as isize, whole.saturating_sub(pending.head));
            }
            let since = self.timing.as_ref().map(|timing| timing.since[request.token as usize]);
            self.release(request.token as usize);
            self.done
                .push_back((Done { token: pending.token, offset: pending.offset, buf: request.buf }, since));
            return Ok(());
        }
        if count == 0 {
            return Err(Error::io(doing, self.file.path(), io::ErrorKind::WriteZero.into()).at(at));
        }
        self.stats.short += 1;
        let from = match self.direct {
            Some((align, _)) => had / align * align,
            None => had,
        };
        if from == request.from && self.pending[request.token as usize].stall.is_final(had) {
            let error = stalled(self.handle(), start + had as u64, &request.buf.data()[had..]);
            return Err(self.failed(doing, start + had as u64, error));
        }
        request.from = from;
        request.offset = start + from as u64;
        self.submit(request)
    }

    /// Makes the call of a request that the system cancelled, as Linux does if it cannot start a thread for it.
    fn repeated(&self, request: &mut Request) -> io::Result<usize> {
        let (handle, at) = (self.handle(), request.offset);
        match request.direction {
            Direction::Read => retry(|| handle.read_once(at, request.data_mut(), TransferFlags::empty())),
            Direction::Write => retry(|| handle.write_once(at, request.data(), TransferFlags::empty())),
        }
    }

    /// The file, or its direct handle.
    fn handle(&self) -> &File {
        self.direct.as_ref().map_or(&self.file, |(_, handle)| handle)
    }

    fn failed(&self, doing: &'static str, offset: u64, error: io::Error) -> Error {
        self.handle().failed(doing, offset, error)
    }

    /// Changes a part of one block by reading and writing the block. Beyond the end it is filled with zeros; the commit sets the
    /// length.
    pub(super) fn edge(&mut self, offset: u64, part: &[u8], align: usize) -> Result<()> {
        let Some((_, handle)) = &self.direct else { return Ok(()) };
        let fail = |doing, error: io::Error| handle.failed(doing, offset, error);
        let mut bounce = match self.bounce.take() {
            Some(bounce) => bounce,
            None => Pool::new(1, align.max(ALIGNMENT))
                .and_then(|mut pool| pool.take().ok_or_else(|| io::ErrorKind::OutOfMemory.into()))
                .map_err(|error| fail("buffer a write", error))?,
        };
        let block = offset / align as u64 * align as u64;
        let place = (offset - block) as usize;
        bounce.place(0, align);
        let held = retry(|| handle.read_once(block, bounce.data_mut(), TransferFlags::empty()))
            .map_err(|error| fail("read", error))?;
        bounce.data_mut()[held..].fill(0);
        bounce.data_mut()[place..place + part.len()].copy_from_slice(part);
        let mut stall = Stall::default();
        loop {
            let count = retry(|| handle.write_once(block, bounce.data(), TransferFlags::empty()))
                .map_err(|error| fail("write", error))?;
            if count == align {
                break;
            }
            if count == 0 || stall.is_final(count) {
                return Err(fail("write", stalled(handle, block + count as u64, &bounce.data()[count..])));
            }
            // A short write is repeated from the start of the block: the bytes are the same.
        }
        self.stats.requests += 2;
        self.stats.bytes += part.len() as u64;
        self.bounce = Some(bounce);
        Ok(())
    }
}

pub(super) fn is_retryable(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if is_retryable(&error) => {}
            other => return other,
        }
    }
}

/// The error of a direct write that ends at `at` each time: that of writing the rest.
fn stalled(handle: &File, at: u64, rest: &[u8]) -> io::Error {
    let next = handle.write_once(at, rest, TransferFlags::empty());
    next.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into())
}

fn shortened(file: &File, at: u64) -> Error {
    Error::changed(file.path(), "truncated while being read").at(at)
}

/// Bytes from the start of a request that are searched for a page that cannot be read: few requests are longer.
const SEARCHED: u64 = 64 << 20;

/// A file and its state before the transfers, to classify a missing page.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    pub(super) file: &'a File,
    pub(super) limit: Option<u64>,
    pub(super) before: Option<FileStamp>,
}

impl Judged<'_> {
    /// Classifies a missing page: the file is shorter or was shorter for a moment, the device failed, or there was no space.
    pub(super) fn fault(&self, doing: &'static str, offset: u64, error: io::Error) -> Error {
        let system = |error: io::Error| Error::io(doing, self.file.path(), error).at(offset);
        if error.kind() != io::ErrorKind::UnexpectedEof {
            return system(error);
        }
        let now = self.file.stamp().ok();
        let Some(limit) = self.limit else {
            return match now.filter(|now| now.len < offset) {
                Some(now) => {
                    let what = "truncated while being written";
                    Error::new(ErrorKind::Changed, doing, self.file.path(), what).at(now.len)
                }
                None => self.read_error(offset).unwrap_or_else(|| system(Code::NO_SPACE.into())),
            };
        };
        let len = now.map_or(0, |now| now.len);
        if len < limit {
            return shortened(self.file, len);
        }
        // The length is back but the stamp differs: the file was modified, the device did not fail.
        if self.before.is_some() && now != self.before {
            let what = "modified while being read";
            return Error::new(ErrorKind::Changed, doing, self.file.path(), what).at(offset);
        }
        system(Code::IO.into())
    }

    /// Returns the error of a read of the bytes from `offset` on: a page that cannot be read is missing like one for which there
    /// is no space.
    fn read_error(&self, offset: u64) -> Option<Error> {
        let (mut block, mut at) = (vec![0; 1 << 20], offset);
        while at - offset < SEARCHED {
            match self.file.read_at(&mut block, at) {
                Ok(0) => return None,
                Ok(count) => at += count as u64,
                Err(error) => return Some(error),
            }
        }
        None
    }
}

impl IoQueue {
    /// Gives access to `len` bytes at `offset` in place; a result computed from them is valid only after [`check`](Self::check).
    /// Fails with [`ErrorKind::Changed`] if the file became shorter.
    pub fn view(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        self.reachable("read", offset, len)?;
        self.stats.bytes += len as u64;
        self.stats.requests += 1;
        let judged = Judged { file: &self.file, limit: self.limit, before: self.before };
        let fail = |error| judged.fault("read", offset, error);
        self.file.before_whole(Direction::Read, offset, len).map_err(fail)?;
        self.engine.view(offset, len).map_err(fail)
    }

    /// Gives access to `len` bytes at `offset` for writing, as [`view`](Self::view).
    pub fn view_mut(&mut self, offset: u64, len: usize) -> Result<&mut [u8]> {
        self.reachable("write", offset, len)?;
        self.stats.bytes += len as u64;
        self.stats.requests += 1;
        self.sound(offset)?;
        let judged = Judged { file: &self.file, limit: self.limit, before: self.before };
        let fail = |error| judged.fault("write", offset, error);
        self.file.before_whole(Direction::Write, offset, len).map_err(fail)?;
        self.engine.view_mut(offset, len).map_err(fail)
    }

    pub(super) fn judged(&self) -> Judged<'_> {
        Judged { file: &self.file, limit: self.limit, before: self.before }
    }

    /// Checks that all bytes accessed in place so far, up to `offset`, were bytes of the file; `doing` is the verb of the
    /// message. Fails with [`ErrorKind::Changed`] for a truncated file, [`ErrorKind::NoSpace`] for a write without space.
    pub fn check(&self, doing: &'static str, offset: u64) -> Result<()> {
        self.engine.check().map_err(|error| self.judged().fault(doing, offset, error))
    }

    /// Copies exactly `len` bytes at `offset`, in bytes, from the source to the same offset. Fails with [`ErrorKind::Changed`] if
    /// the source ends sooner.
    pub fn copy_in_kernel(&mut self, offset: u64, len: usize) -> Result<()> {
        self.reachable("write", offset, len)?;
        self.sound(offset)?;
        let mut moved = 0;
        while moved < len {
            let at = offset + moved as u64;
            self.stats.requests += 1;
            match self.copy_once(at, len - moved) {
                Ok(0) => {
                    let source = self.from.as_ref().unwrap_or(&self.file).path();
                    return Err(Error::new(ErrorKind::Changed, "read", source, "it became shorter").at(at));
                }
                Ok(count) => {
                    moved += count;
                    self.stats.bytes += count as u64;
                }
                Err((_, error)) if is_retryable(&error) => {}
                Err((Direction::Write, error)) => {
                    return Err(Error::io("write", self.file.path(), error).at(at));
                }
                Err((Direction::Read, error)) => {
                    let source = self.from.as_ref().unwrap_or(&self.file).path();
                    return Err(Error::io("read", source, error).at(at));
                }
            }
        }
        Ok(())
    }

    /// Copies up to `len` bytes, or as many as the plans permit. An error has the direction that failed.
    fn copy_once(
        &mut self,
        offset: u64,
        mut len: usize,
    ) -> std::result::Result<usize, (Direction, io::Error)> {
        if let Some(from) = &self.from {
            len = from.before(Direction::Read, offset, len, 0).map_err(|error| (Direction::Read, error))?;
        }
        let write_failed = |error| (Direction::Write, error);
        len = self.file.before(Direction::Write, offset, len, 0).map_err(write_failed)?;
        self.engine.copy_in_kernel(offset, offset, len).map_err(|error| {
            // The system does not tell which file failed.
            let cannot_read = |from: &File| from.read_at(&mut [0], offset).is_err();
            let read = self.from.as_ref().is_some_and(cannot_read);
            (if read { Direction::Read } else { Direction::Write }, error)
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::engine::{EngineConfig, method};
    use crate::file::File;

    /// The file has its old length again when the queue determines the cause of the missing page.
    #[test]
    fn a_mapped_file_truncated_and_extended_again_has_changed() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file(vec![b'x'; 64 << 10]);
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        let file = File::open(&path).unwrap();
        let config = EngineConfig::reading(&file);
        let mut queue = IoQueue::open(method("mmap").unwrap(), &config, Some(64 << 10)).unwrap();
        let bytes = queue.view(0, 64 << 10).unwrap();
        writer.set_len(0).unwrap();
        assert_eq!(bytes[5000], 0);
        writer.set_len(64 << 10).unwrap();
        let error = queue.check("read", 64 << 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}
