//! A read or a write as a future.
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::file::AsyncFile;
use super::slots::{IoResult, Key};
use super::state::{How, Movement, Operation};
use crate::buf::{Buffer, Direction, Loan};
use crate::error::{Error, ErrorKind, Result};
use crate::file::inner::Unwritten;
use crate::sys::{self, AsHandle, Code, FileKind, TransferFlags};

/// A read or write that starts at its first poll. It returns the buffer together with the number of bytes moved or the
/// error.
///
/// It may be dropped at any time. The system completes the call of a write that has started, but the rest of a write that needs
/// several calls is not written; a read is cancelled where possible. The buffer and the file are freed when the system has
/// finished with them. An [`Output`](crate::file::Output) with a dropped write that did not write all of its bytes cannot be
/// committed.
///
/// A dropped read of a pipe, socket or terminal may have taken bytes already, which are lost. For reads with a timeout, use
/// [`cancel`](Self::cancel) or an `AsyncStream`, which keeps them for its next read.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited or polled"]
pub struct Transfer<B: Buffer> {
    file: AsyncFile,
    direction: Direction,
    offset: u64,
    /// True if all bytes are to be moved, by several calls if necessary.
    whole: bool,
    done: usize,
    cancelled: bool,
    /// True if the direct handle refused an aligned transfer, or a lock bound the ring's handle: the cache mode or a thread
    /// executes it.
    rerouted: bool,
    state: TransferState<B>,
}

impl AsyncFile {
    /// Reads once at `offset`, up to the capacity of the buffer: a `Vec<u8>` is filled up to its capacity. The read may be
    /// short; it returns 0 only at the end of the file. Bytes in the page cache are read in the first poll.
    pub fn read_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, false)
    }

    /// Reads at `offset` until the buffer is full. An earlier end of the file is an error. A `Vec<u8>` is full at its capacity, which
    /// may exceed its length; a `Box<[u8]>` and a [`Buf`](crate::buf::Buf) have a definite length.
    ///
    /// ```
    /// use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let (count, bytes) = file.read_exact_at(vec![0; 4], 1).await;
    /// assert_eq!((count?, &bytes[..]), (4, &b"ello"[..]));
    /// assert!(file.read_exact_at(vec![0; 4], 2).await.0.is_err());
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_exact_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Read, buffer, offset, true)
    }

    /// Writes the buffer's bytes to `offset` once. The write may be short.
    pub fn write_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, false)
    }

    /// Writes all of the buffer's bytes to `offset`.
    pub fn write_all_at<B: Buffer>(&self, buffer: B, offset: u64) -> Transfer<B> {
        Transfer::new(self.clone(), Direction::Write, buffer, offset, true)
    }
}

#[derive(Debug)]
enum TransferState<B> {
    Start(B),
    Flight(Key),
    Over,
}

// Nothing in it is pinned: the kernel accesses memory that the buffer owns elsewhere.
impl<B: Buffer> Unpin for Transfer<B> {}

impl<B: Buffer> Transfer<B> {
    pub(super) fn new(file: AsyncFile, direction: Direction, buffer: B, offset: u64, whole: bool) -> Self {
        Self {
            file,
            direction,
            offset,
            whole,
            done: 0,
            cancelled: false,
            rerouted: false,
            state: TransferState::Start(buffer),
        }
    }

    /// Cancels the transfer; await it to get the buffer back. A transfer that was not polled yet, or waits to start, never
    /// runs. A transfer in flight either completes with its result or fails with [`ErrorKind::Cancelled`]; one that a
    /// thread executes always completes. The wait for a pipe, socket or terminal ends at once.
    /// ```
    /// # use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let mut read = file.read_at(vec![0; 5], 0);
    /// read.cancel();
    /// let (result, buffer) = read.await;
    /// assert_eq!(result.unwrap_err().kind(), fullbore_io::error::ErrorKind::Cancelled);
    /// assert_eq!(buffer.len(), 5);
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&mut self) {
        self.cancelled = true;
        if let TransferState::Flight(key) = self.state {
            self.file.driver().dispatch().cancel(key);
        }
    }

    /// Returns the number of bytes moved as far as the future has observed; after an error, the completed part.
    ///
    /// ```
    /// # use fullbore_io::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let mut read = file.read_exact_at(vec![0; 9], 0);
    /// assert!((&mut read).await.0.is_err());
    /// assert_eq!(read.moved(), 5);
    /// # Ok::<(), fullbore_io::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn moved(&self) -> usize {
        self.done
    }

    /// True if the driver has ended its part: the next poll does not have to wait for it.
    #[cfg(any(feature = "tokio", feature = "futures", test))]
    pub(super) fn is_done(&self) -> bool {
        match self.state {
            TransferState::Flight(key) => self.file.driver().dispatch().is_done(key),
            _ => false,
        }
    }

    fn doing(&self) -> &'static str {
        if self.direction == Direction::Read { "read" } else { "write" }
    }

    fn error(&self, error: io::Error) -> Error {
        let path = self.file.file().path();
        let error = match error.downcast::<Error>() {
            // An error from a file of this crate is complete.
            Ok(error) => return error,
            Err(error) => error,
        };
        if Code::of(&error) == Some(Code::CANCELLED) {
            return self.placed(Error::new(ErrorKind::Cancelled, self.doing(), path, "cancelled"));
        }
        let at = self.offset.saturating_add(self.done as u64);
        self.file.file().failed(self.doing(), at, error)
    }

    /// Adds the offset, if the file has offsets.
    fn placed(&self, error: Error) -> Error {
        match self.file.seekable() {
            true => error.at(self.offset.saturating_add(self.done as u64)),
            false => error,
        }
    }

    /// Interprets the result of one call; `Some` ends the transfer.
    fn judge(&mut self, loan: &Loan, outcome: IoResult) -> Option<Result<usize>> {
        self.done = loan.moved();
        let moved = match outcome {
            Ok(moved) => moved,
            Err(error) if self.repeats(&error) => return None,
            Err(error) => return Some(Err(self.error(error))),
        };
        if !self.whole || loan.is_whole() {
            return Some(Ok(self.done));
        }
        if moved == 0 {
            let (kind, what) = match self.direction {
                Direction::Read => (ErrorKind::UnexpectedEof, "the file ends there"),
                Direction::Write => (ErrorKind::Io, "nothing more was written"),
            };
            let error = Error::new(kind, self.doing(), self.file.file().path(), what);
            return Some(Err(self.placed(error)));
        }
        None
    }

    /// True if the call is to be repeated: it was interrupted, or the direct handle or the ring's handle cannot make it. A direct
    /// read past the end may fail with `EIO` on XFS, where the cache mode repeats it with fewer bytes.
    fn repeats(&mut self, error: &io::Error) -> bool {
        let is_direct = || self.file.file().one_call().is_none();
        let reroutes = match Code::of(error) {
            Some(Code::INTERRUPTED) => return true,
            _ if self.rerouted => false,
            // The ring's handle of a device takes whole sectors only.
            Some(Code::INVALID) => {
                is_direct() || self.file.has_two_handles() && self.file.file().kind() == FileKind::BlockDevice
            }
            Some(Code::IO) => self.direction == Direction::Read && is_direct(),
            Some(Code::LOCKED) => self.file.has_two_handles(),
            _ => false,
        };
        self.rerouted |= reroutes;
        reroutes
    }

    /// Makes one call of the transfer: at once if it does not wait, otherwise by the driver, which returns a key for polling.
    fn begin(
        &mut self,
        mut loan: Loan,
        context: &mut Context<'_>,
    ) -> std::result::Result<(Loan, IoResult), Key> {
        loan.select_rest();
        let file = self.file.file();
        let offset = self.file.seekable().then(|| self.offset.saturating_add(self.done as u64));
        if offset.is_some_and(|offset| offset > i64::MAX as u64) {
            return Ok((loan, Err(Code::INVALID.into())));
        }
        let straight = match (self.direction, offset, self.rerouted) {
            (Direction::Read, Some(offset), false) => file.straight(loan.pieces(), offset),
            _ => None,
        };
        let (file, flags) = (straight.unwrap_or(file), straight.unwrap_or(file).one_call());
        if flags.is_some() {
            let at = offset.unwrap_or(self.done as u64);
            match file.admitted(self.direction, at, loan.bytes(), loan.pieces()) {
                Ok(most) => loan.shorten(file.most_buffers(), most),
                Err(error) => return Ok((loan, Err(error))),
            }
        }
        if let (None, Some(offset), Some(flags)) = (straight, offset, flags) {
            let call = |more| sys::transfer_loan(&mut loan, file.as_handle(), Some(offset), flags | more);
            if let Some(outcome) = self.file.at_once(self.direction, call) {
                return Ok((loan, outcome));
            }
        }
        let in_turn = straight.is_none() && self.file.writes_in_turn(self.direction);
        // The ring would wait for a terminal in the call that submits the transfer.
        let fits = offset.is_some() || matches!(self.file.file().kind(), FileKind::Fifo | FileKind::Socket);
        let on_ring = (fits && !in_turn && !self.rerouted).then(|| self.file.on_ring(straight)).flatten();
        let how = match (flags, on_ring) {
            (None, _) => How::CacheMode,
            (Some(_), Some(_)) => How::Ring,
            (Some(_), None) if in_turn => How::InTurn,
            (Some(_), None) => How::Thread,
        };
        let file = on_ring.filter(|_| how == How::Ring).unwrap_or(file);
        let movement = Movement {
            direction: self.direction,
            owned: Some((file.clone(), loan)),
            offset,
            how,
            ticket: None,
            flags: flags.unwrap_or(TransferFlags::empty()),
            cancelled: false,
            unwritten: self.unwritten(),
        };
        match self.file.driver().dispatch().submit(Operation::Transfer(movement), context.waker()) {
            Ok(key) => Err(key),
            Err((operation, error)) => Ok((lent(operation), Err(error))),
        }
    }

    /// Marks the bytes of a write as unwritten.
    fn unwritten(&self) -> Option<Unwritten> {
        match self.direction {
            Direction::Read => None,
            Direction::Write => self.file.file().mark_unwritten(),
        }
    }

    fn complete(&mut self, loan: Loan, result: Result<usize>) -> Poll<(Result<usize>, B)> {
        let buffer = loan.into_buffer(result.is_ok());
        Poll::Ready((result, buffer))
    }
}

fn lent(operation: Operation) -> Loan {
    match operation {
        Operation::Transfer(Movement { owned: Some((_, loan)), .. }) => loan,
        _ => unreachable!("no transfer that has ended"),
    }
}

impl<B: Buffer> Future for Transfer<B> {
    type Output = (Result<usize>, B);

    /// # Panics
    /// If it is polled after completion.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // An output must not be committed between two calls of one write.
        let _unwritten = this.unwritten();
        let mut loan = match std::mem::replace(&mut this.state, TransferState::Over) {
            TransferState::Start(buffer) => Loan::new(buffer, this.direction),
            TransferState::Flight(key) => match this.file.driver().dispatch().poll(key, context.waker()) {
                Poll::Pending => {
                    this.state = TransferState::Flight(key);
                    return Poll::Pending;
                }
                Poll::Ready((operation, outcome)) => {
                    let loan = lent(operation);
                    if let Some(result) = this.judge(&loan, outcome) {
                        return this.complete(loan, result);
                    }
                    loan
                }
            },
            TransferState::Over => panic!("polled after completion"),
        };
        loop {
            if this.cancelled {
                let error = this.error(io::Error::from(Code::CANCELLED));
                return this.complete(loan, Err(error));
            }
            let (back, outcome) = match this.begin(loan, context) {
                Ok(ended) => ended,
                Err(key) => {
                    this.state = TransferState::Flight(key);
                    return Poll::Pending;
                }
            };
            if let Some(result) = this.judge(&back, outcome) {
                return this.complete(back, result);
            }
            loan = back;
        }
    }
}

impl<B: Buffer> Drop for Transfer<B> {
    fn drop(&mut self) {
        match self.state {
            TransferState::Flight(key) => self.file.driver().dispatch().detach(key),
            // An output must not be committed without bytes that were to be written.
            TransferState::Start(_) => {
                if let Some(unwritten) = self.unwritten() {
                    unwritten.lose();
                }
            }
            TransferState::Over => {}
        }
    }
}
