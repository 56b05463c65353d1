//! A stream over an asynchronous file, for traits without offsets. The position is in memory.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};

use super::file::AsyncFile;
use super::transfer::Transfer;
use crate::error::Error;
use crate::file::inner::Unwritten;
use crate::lock::Mutex;
use crate::stream::{no_position, offset_from, report_loss};

/// Minimum number of bytes per read: callers that request fewer get copies from a buffer. Longer reads of cached bytes need no
/// buffer.
const ROOM: usize = 64 << 10;

/// Maximum number of bytes per operation, as in `tokio::fs`: a call that never waits must end soon.
const MOST: usize = 2 << 20;

/// Maximum number of writes in flight, of up to [`MOST`] bytes in all: more would leave the processor's cache before they are
/// written.
const WRITES: usize = 8;

/// A sequential reader and writer over an [`AsyncFile`]. With the features `tokio` and `futures` it implements their
/// `AsyncRead`, `AsyncBufRead`, `AsyncWrite` and `AsyncSeek`.
///
/// A write takes up to 2 MiB and returns once it has started; up to 8 writes, of 2 MiB in all, are in flight, and one if the file
/// appends or has no offsets. The position includes the ranges of writes in flight. If one fails, a later write, read, seek,
/// flush or shutdown returns the error, and the position is after the last byte written before the failure. Therefore **flush
/// before dropping the stream**: the writes of a dropped stream continue, but their failure only poisons the file and calls the
/// hook of [`on_loss`](crate::stream::on_loss), perhaps on a thread of the driver.
///
/// A read of a regular file reads up to 64 KiB ahead, a read of a pipe, socket or terminal no more than its slice takes; only
/// `AsyncBufRead` reads ahead there. If the future of a read is dropped, by a timeout for example, the stream keeps the bytes for
/// the next read. A seek to the current position keeps the bytes read ahead; another seek discards them.
///
/// ```
/// use fullbore_io::asynchronous::{AsyncFile, AsyncStream, Driver};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("f");
/// # std::fs::write(&path, "hello")?;
/// let file = fullbore_io::file::File::open(&path)?;
/// let stream = AsyncStream::new(AsyncFile::new(file, &Driver::shared()?));
/// assert_eq!(stream.position(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AsyncStream {
    file: AsyncFile,
    position: u64,
    /// True after an append: the position is then the end of the file.
    at_end: bool,
    buffer: Vec<u8>,
    /// Bytes read and not yet returned: `buffer[taken..]`.
    taken: usize,
    read: Option<Transfer<Vec<u8>>>,
    /// Writes in flight, in order of position.
    writes: VecDeque<StartedWrite>,
    /// The first failure of a write, and the position after its bytes.
    failed: Option<(Error, u64)>,
    /// The mark of the file while there are writes in flight or a failure.
    unwritten: Option<Unwritten>,
    spare: Vec<Vec<u8>>,
    waiters: Arc<Waiters>,
}

/// The tasks that wait for a write: that of the reader and that of the writer, if the stream was split. A transfer holds one waker.
#[derive(Debug, Default)]
struct Waiters(Mutex<[Option<Waker>; 2]>);

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *self.0.lock());
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}

/// The half of a stream that waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Half {
    Reader,
    Writer,
}

#[derive(Debug)]
struct StartedWrite {
    transfer: Transfer<Vec<u8>>,
    began: u64,
    len: usize,
}

impl From<AsyncFile> for AsyncStream {
    fn from(file: AsyncFile) -> Self {
        Self::new(file)
    }
}

impl AsyncStream {
    /// Creates a stream at the start of the file, or at the position of an adopted descriptor.
    pub fn new(file: AsyncFile) -> Self {
        Self {
            position: file.file().start(),
            file,
            at_end: false,
            buffer: Vec::new(),
            taken: 0,
            read: None,
            writes: VecDeque::new(),
            failed: None,
            unwritten: None,
            spare: Vec::new(),
            waiters: Arc::default(),
        }
    }

    /// Returns the offset of the next byte to read or write, in bytes from the start of the file. Appending moves it to the
    /// end of the file.
    pub fn position(&self) -> u64 {
        if self.at_end { self.end() } else { self.position }
    }

    /// Returns the end of the file, or the last known position if the system does not report it.
    fn end(&self) -> u64 {
        self.file.file().stamp().map_or(self.position, |stamp| stamp.len)
    }

    /// Returns the file. Bytes read ahead and writes in flight belong to the stream: flush first.
    pub fn file(&self) -> &AsyncFile {
        &self.file
    }

    /// Waits for the read in flight. Returns true if there was one, and it found the end.
    fn poll_read_in_flight(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Some(read) = &mut self.read else { return Poll::Ready(Ok(false)) };
        let Poll::Ready((result, buffer)) = Pin::new(read).poll(context) else {
            // A write ends the read.
            self.waiters.0.lock()[Half::Reader as usize] = Some(context.waker().clone());
            return Poll::Pending;
        };
        (self.read, self.buffer, self.taken) = (None, buffer, 0);
        if result.is_err() {
            self.buffer.clear();
        }
        Poll::Ready(result.map(|count| count == 0).map_err(io::Error::from))
    }

    /// Waits for all writes in flight, and returns the first failure.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>, half: Half) -> Poll<io::Result<()>> {
        while !self.writes.is_empty() {
            ready!(self.poll_first_write(context, Some(half)));
        }
        let failed = self.failed.take();
        self.unwritten = None;
        if std::mem::take(&mut self.at_end) {
            self.position = self.end();
        } else if let Some((_, position)) = failed {
            // The ranges were reserved; only the bytes before the failure count.
            self.position = position;
        }
        Poll::Ready(failed.map_or(Ok(()), |(error, _)| Err(error.into())))
    }

    /// Moves the writes in flight and the failure to another stream.
    fn take_unflushed(&mut self) -> Option<Self> {
        if self.writes.is_empty() && self.failed.is_none() || self.file.driver().dispatch().is_foreign() {
            return None;
        }
        let mut rest = Self::new(self.file.clone());
        rest.position = self.position;
        rest.writes = std::mem::take(&mut self.writes);
        (rest.failed, rest.unwritten) = (self.failed.take(), self.unwritten.take());
        Some(rest)
    }

    /// Waits for the writes of a stream that was dropped, and reports the first failure.
    fn poll_unflushed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.writes.is_empty() {
            ready!(self.poll_first_write(context, None));
        }
        if let Some((error, position)) = self.failed.take() {
            report_loss(self.file.file(), self.position.saturating_sub(position) as usize, error);
        }
        self.unwritten = None;
        Poll::Ready(())
    }

    /// Waits for the first write in flight and notes its result. Without a half, nobody else waits for it.
    fn poll_first_write(&mut self, context: &mut Context<'_>, half: Option<Half>) -> Poll<()> {
        let Some(StartedWrite { transfer, began, .. }) = self.writes.front_mut() else {
            return Poll::Ready(());
        };
        let (result, buffer) = match half {
            None => ready!(Pin::new(&mut *transfer).poll(context)),
            Some(half) => {
                self.waiters.0.lock()[half as usize] = Some(context.waker().clone());
                let waker = Waker::from(self.waiters.clone());
                ready!(Pin::new(&mut *transfer).poll(&mut Context::from_waker(&waker)))
            }
        };
        let position = *began + transfer.moved() as u64;
        self.writes.pop_front();
        self.keep(buffer);
        if let Err(error) = result {
            self.fail(error, position);
        }
        if self.writes.is_empty() && self.failed.is_none() {
            self.unwritten = None;
        }
        Poll::Ready(())
    }

    /// Notes a failure, unless one at a smaller offset is noted already.
    fn fail(&mut self, error: Error, position: u64) {
        if self.failed.as_ref().is_none_or(|(_, first)| position < *first) {
            self.failed = Some((error, position));
        }
    }

    fn keep(&mut self, buffer: Vec<u8>) {
        let kept: usize = self.spare.iter().map(Vec::capacity).sum();
        if kept + buffer.capacity() <= MOST {
            self.spare.push(buffer);
        }
    }

    /// Reads into `out`; returns 0 at the end.
    pub(super) fn read(&mut self, context: &mut Context<'_>, out: &mut [u8]) -> Poll<io::Result<usize>> {
        if out.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let seekable = self.file.seekable();
        let ended = ready!(self.poll_idle(context, seekable))?;
        if !ended && self.taken == self.buffer.len() {
            if seekable && out.len() >= ROOM {
                let most = out.len().min(MOST);
                if let Some(count) = self.file.read_cached(&mut out[..most], self.position) {
                    self.position += count as u64;
                    return Poll::Ready(Ok(count));
                }
            }
            // Of a file without offsets, no other reader could read bytes that were read ahead.
            let most = out.len().clamp(if seekable { ROOM } else { 1 }, MOST);
            ready!(self.poll_fill(context, seekable, most))?;
        }
        let left = &self.buffer[self.taken..];
        let count = left.len().min(out.len());
        out[..count].copy_from_slice(&left[..count]);
        self.consume(count);
        Poll::Ready(Ok(count))
    }

    /// Returns the bytes read ahead, or reads some if there are none; empty at the end.
    pub(super) fn fill_buf(&mut self, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let seekable = self.file.seekable();
        let ended = ready!(self.poll_idle(context, seekable))?;
        if !ended && self.taken == self.buffer.len() {
            ready!(self.poll_fill(context, seekable, ROOM))?;
        }
        Poll::Ready(Ok(&self.buffer[self.taken..]))
    }

    /// Moves the position past `count` of the bytes read ahead, as far as no write has discarded them since.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.buffer.len() - self.taken);
        self.taken += count;
        self.position += count as u64;
    }

    /// Waits for the writes, whose bytes are to be read, and for a read in flight. Returns true if that read found the end.
    fn poll_idle(&mut self, context: &mut Context<'_>, seekable: bool) -> Poll<io::Result<bool>> {
        if seekable || self.failed.is_some() {
            ready!(self.poll_flush(context, Half::Reader))?;
        }
        self.poll_read_in_flight(context)
    }

    /// Reads once into the buffer, all bytes of which were returned: up to `most`, or of a file with offsets as many as fit.
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        seekable: bool,
        most: usize,
    ) -> Poll<io::Result<bool>> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        // A read fills the whole capacity.
        if !seekable && buffer.capacity() > most {
            buffer = Vec::new();
        }
        buffer.reserve_exact(most);
        self.taken = 0;
        self.read = Some(self.file.read_at(buffer, self.position));
        self.poll_read_in_flight(context)
    }

    pub(super) fn write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut unwatched = Context::from_waker(Waker::noop());
        while self.writes.front().is_some_and(|write| write.transfer.is_done()) {
            let _ = self.poll_first_write(&mut unwatched, None);
        }
        let data = &data[..data.len().min(MOST)];
        while self.is_full(data.len()) {
            ready!(self.poll_first_write(context, Some(Half::Writer)));
        }
        if self.failed.is_some() {
            ready!(self.poll_flush(context, Half::Writer))?;
        }
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let began = self.position;
        self.at_end |= self.file.seekable() && self.file.file().appends();
        if self.file.seekable() {
            // Bytes that were read ahead may be overwritten now.
            if self.read.take().is_some() {
                let reader = self.waiters.0.lock()[Half::Reader as usize].take();
                reader.into_iter().for_each(Waker::wake);
            }
            self.buffer.clear();
            self.taken = 0;
            if self.writes.is_empty()
                && let Some(count) = self.file.write_cached(data, began)
            {
                self.position += count as u64;
                return Poll::Ready(Ok(count));
            }
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.reserve_exact(data.len());
        buffer.extend_from_slice(data);
        let mut transfer = self.file.write_all_at(buffer, began);
        self.position += data.len() as u64;
        // Only a call that waits for this write needs to be woken.
        match Pin::new(&mut transfer).poll(&mut unwatched) {
            Poll::Pending => {
                self.unwritten = self.unwritten.take().or_else(|| self.file.file().mark_unwritten());
                self.writes.push_back(StartedWrite { transfer, began, len: data.len() });
                Poll::Ready(Ok(data.len()))
            }
            Poll::Ready((result, buffer)) => {
                self.keep(buffer);
                match result {
                    Ok(count) => Poll::Ready(Ok(count)),
                    Err(error) => {
                        self.fail(error, began + transfer.moved() as u64);
                        self.poll_flush(context, Half::Writer).map_ok(|()| 0)
                    }
                }
            }
        }
    }

    /// True if `len` more bytes must wait for a write in flight.
    fn is_full(&self, len: usize) -> bool {
        // Writes without offsets must keep their order.
        let most = if self.file.seekable() && !self.file.file().appends() { WRITES } else { 1 };
        let bytes: usize = self.writes.iter().map(|write| write.len).sum();
        self.writes.len() >= most || (bytes > 0 && bytes + len > MOST)
    }

    pub(super) fn poll_transfers(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(context, Half::Writer))?;
        self.poll_read_in_flight(context).map_ok(drop)
    }

    pub(super) fn seek(&mut self, context: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        if !self.file.seekable() {
            // Bytes that were read ahead could not be read again.
            return Poll::Ready(Err(no_position(self.file.file()).into()));
        }
        ready!(self.poll_transfers(context))?;
        let file = self.file.file();
        let (from, distance) = match to {
            SeekFrom::Start(offset) => (offset, 0),
            SeekFrom::Current(distance) => (self.position, distance),
            SeekFrom::End(distance) => (file.stamp().map_err(io::Error::from)?.len, distance),
        };
        let position = offset_from(file, from, distance).map_err(io::Error::from)?;
        // The bytes read ahead begin at the position.
        if position != self.position {
            self.buffer.clear();
            (self.taken, self.position) = (0, position);
        }
        Poll::Ready(Ok(position))
    }
}

/// The writes that a dropped stream has accepted: they continue, and a loss is reported. A task without an executor: the driver's
/// threads, which wake it, poll it.
struct UnflushedWrites {
    stream: Mutex<AsyncStream>,
    /// Wake-ups that no poll has seen to its end. The thread of the first one polls: a poll may wake its own task.
    wakes: AtomicUsize,
}

impl Wake for UnflushedWrites {
    fn wake(self: Arc<Self>) {
        if self.wakes.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        let waker = Waker::from(self.clone());
        loop {
            let seen = self.wakes.load(Ordering::Acquire);
            let _ = self.stream.lock().poll_unflushed(&mut Context::from_waker(&waker));
            if self.wakes.fetch_sub(seen, Ordering::AcqRel) == seen {
                return;
            }
        }
    }
}

impl Drop for AsyncStream {
    fn drop(&mut self) {
        if let Some(rest) = self.take_unflushed() {
            Arc::new(UnflushedWrites { stream: Mutex::new(rest), wakes: AtomicUsize::new(0) }).wake();
        }
    }
}
