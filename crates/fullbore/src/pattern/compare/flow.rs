//! Sequential comparison: for pipes, devices, inputs without a length, and inputs smaller than a request.
//!
//! Each side has its own reader, so that a slow side does not delay the other: the comparing thread reads the left side,
//! and a second thread reads the right. Available bytes are compared at once; no reader waits for a full block.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::result::Which;
use crate::pattern::progress::{Progress, Stats};
use crate::pattern::stream_reader::{PATIENCE, enlarge_pipe, wait_readable};
use fullbore_io::buf::{Buf, Direction, Pool};
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{File, FileKind};
use fullbore_io::sys::{self, AsHandle, Code, Handle};

pub(super) struct Flow<'a> {
    file: &'a File,
    /// Offset of the next byte, if the file has offsets.
    at: Option<u64>,
    skip: u64,
    /// Bytes that may be read after that.
    left: u64,
    ended: bool,
}

impl<'a> Flow<'a> {
    /// Reads `file` from the position at which it starts, or from its current position if it has no offsets; at most `limit`
    /// bytes after `skip`.
    pub(super) fn of(file: &'a File, skip: u64, limit: Option<u64>) -> Self {
        enlarge_pipe(file);
        let placed = matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice);
        let at = placed.then_some(file.start().saturating_add(skip));
        let skip = if placed { 0 } else { skip };
        // Offsets that no file reaches are an error to the system; here they are the end.
        let most = at.map_or(u64::MAX, |at| (i64::MAX as u64).saturating_sub(at));
        let left = limit.unwrap_or(u64::MAX).min(most);
        Self { file, at, skip, left, ended: most == 0 }
    }

    /// Reads the next bytes into `buf`; none at the end, nor if it stops waiting.
    fn read(&mut self, buf: &mut Buf, request: usize, until: Until<'_>) -> Result<()> {
        while self.skip > 0 && !self.ended {
            let len = self.skip.min(request as u64) as usize;
            buf.place(0, len);
            match self.once(&mut buf.data_mut()[..len], until)? {
                None | Some(0) => self.ended = true,
                Some(count) => self.skip -= count as u64,
            }
        }
        let len = self.left.min(request as u64) as usize;
        buf.place(0, len);
        let mut held = 0;
        // Bytes that have arrived are compared before waiting for more.
        while held < len && !self.ended {
            let until = if held == 0 { until } else { Until::Now };
            match self.once(&mut buf.data_mut()[held..], until)? {
                None if held > 0 => break,
                None | Some(0) => self.ended = true,
                Some(count) => held += count,
            }
        }
        self.left -= held as u64;
        self.ended |= self.left == 0;
        buf.truncate(held);
        Ok(())
    }

    /// Reads once; `None` if `until` comes before bytes or the end.
    fn once(&mut self, data: &mut [u8], until: Until<'_>) -> Result<Option<usize>> {
        if let Some(at) = &mut self.at {
            let count = self.file.read_at(data, *at)?;
            *at += count as u64;
            return Ok(Some(count));
        }
        let readable = match until {
            Until::Now => self.ready(Some(Duration::ZERO), None),
            Until::Cancelled(progress) => wait_readable(self.file, &|| !progress.is_cancelled()),
            Until::Closed(stop) => self.ready(None, Some(stop)),
        };
        readable.then(|| self.file.read_next(data)).transpose()
    }

    /// True if a read would not block; false if `stop` closes first.
    fn ready(&self, patience: Option<Duration>, stop: Option<&Handle>) -> bool {
        let files = std::iter::once(self.file.as_handle()).chain(stop.map(AsHandle::as_handle));
        let files: Vec<_> = files.map(|file| (file, Direction::Read)).collect();
        loop {
            match sys::wait_any(&files, patience) {
                Err(Code::INTERRUPTED) => {}
                // The read reports the error.
                Err(_) => return true,
                Ok(ready) => return ready[0] && ready.get(1) != Some(&true),
            }
        }
    }
}

/// The end of a wait for bytes.
#[derive(Clone, Copy)]
enum Until<'a> {
    /// No wait: bytes that have not arrived yet are left out.
    Now,
    /// The cancellation of the run, which the comparing thread detects within [`PATIENCE`].
    Cancelled(&'a Progress),
    /// The closing of the write end of this pipe, which the second thread detects at once.
    Closed(&'a Handle),
}

/// The right side in the comparing thread: a block and the bytes of it already compared.
struct Right<'a> {
    block: Option<Buf>,
    used: usize,
    ended: bool,
    reader: Reader<'a>,
}

enum Reader<'a> {
    /// Never blocks for long: read on demand by the comparing thread.
    Here(Flow<'a>),
    /// Read by a second thread: free blocks go there, filled ones come back; an empty one marks the end.
    Beside { free: SyncSender<Buf>, given: Receiver<Result<Buf>> },
}

impl Right<'_> {
    fn data(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| &block.data()[self.used..])
    }

    /// Reads until data or the end is there.
    fn fill(&mut self, request: usize, progress: &Progress) -> Result<()> {
        if self.ended || !self.data().is_empty() {
            return Ok(());
        }
        self.used = 0;
        match &mut self.reader {
            Reader::Here(flow) => {
                if let Some(block) = &mut self.block {
                    flow.read(block, request, Until::Cancelled(progress))?;
                }
                self.ended = flow.ended;
            }
            Reader::Beside { free, given } => {
                if let Some(block) = self.block.take() {
                    // The reader may have ended; then the block is not needed.
                    let _ = free.send(block);
                }
                let given = loop {
                    match given.recv_timeout(PATIENCE) {
                        Err(RecvTimeoutError::Timeout) => progress.check()?,
                        given => break given.ok(),
                    }
                };
                self.block = given.transpose()?;
                self.ended = self.data().is_empty();
            }
        }
        Ok(())
    }
}

/// Blocks that the second thread may read ahead.
const BLOCKS: usize = 4;

/// Compares two flows: passes runs of both sides at the same offset to `block`, which returns true to continue.
/// Returns the side that ended before the other, if one did.
pub(super) fn flow(
    mut left: Flow<'_>,
    right: Flow<'_>,
    request: usize,
    progress: &Progress,
    mut block: impl FnMut(u64, &[u8], &[u8]) -> Result<bool>,
) -> Result<(Stats, Option<Which>)> {
    let start = Instant::now();
    let path = left.file.path().to_owned();
    let nothing = |error| Error::io("allocate buffers for", &path, error);
    let buffer = || Pool::new(1, request).map(|mut pool| pool.take()).map_err(nothing);
    let mut buf = buffer()?.ok_or_else(|| nothing(io::ErrorKind::OutOfMemory.into()))?;
    let mut offset = 0u64;
    let shorter = std::thread::scope(|scope| -> Result<Option<Which>> {
        // Write end of the pipe; closing it ends a wait of the second thread.
        let _needed;
        let mut right = if right.at.is_some() {
            let block = buffer()?.map(|mut block| {
                block.truncate(0);
                block
            });
            Right { block, used: 0, ended: false, reader: Reader::Here(right) }
        } else {
            let (stop, other) =
                sys::pipe().map_err(|error| Error::io("make a pipe for", right.file.path(), error.into()))?;
            _needed = other;
            let (free, taken) = sync_channel(BLOCKS);
            let (give, given) = sync_channel(BLOCKS);
            let mut pool = Pool::new(BLOCKS, request).map_err(nothing)?;
            while let Some(block) = pool.take() {
                let _ = free.send(block);
            }
            let path = right.file.path().to_owned();
            std::thread::Builder::new()
                .spawn_scoped(scope, move || read_beside(right, request, &taken, &give, &stop))
                .map_err(|error| Error::io("start a thread for", path, error))?;
            Right { block: None, used: 0, ended: false, reader: Reader::Beside { free, given } }
        };
        buf.truncate(0);
        let mut used = 0;
        loop {
            if used == buf.len() && !left.ended {
                left.read(&mut buf, request, Until::Cancelled(progress))?;
                used = 0;
            }
            right.fill(request, progress)?;
            // Bytes may be missing because the wait for them ended.
            progress.check()?;
            let (ours, theirs) = (&buf.data()[used..], right.data());
            let len = ours.len().min(theirs.len());
            if len > 0 {
                progress.add(len as u64);
                if !block(offset, &ours[..len], &theirs[..len])? {
                    return Ok(None);
                }
                used += len;
                right.used += len;
                offset += len as u64;
                continue;
            }
            match (ours.is_empty(), theirs.is_empty()) {
                (true, true) if left.ended && right.ended => return Ok(None),
                (true, false) if left.ended => return Ok(Some(Which::Left)),
                (false, true) if right.ended => return Ok(Some(Which::Right)),
                _ => {}
            }
        }
    })?;
    let mut stats = Stats { bytes: offset, elapsed: start.elapsed(), ..Stats::default() };
    stats.reads.bytes = offset * 2;
    Ok((stats, shorter))
}

fn read_beside(
    mut right: Flow<'_>,
    request: usize,
    taken: &Receiver<Buf>,
    give: &SyncSender<Result<Buf>>,
    stop: &Handle,
) {
    while let Ok(mut buf) = taken.recv() {
        let block = right.read(&mut buf, request, Until::Closed(stop)).map(|()| buf);
        let last = block.as_ref().map_or(true, Buf::is_empty);
        if give.send(block).is_err() || last {
            return;
        }
    }
}
