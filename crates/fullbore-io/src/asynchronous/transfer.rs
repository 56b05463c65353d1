//! A read or a write as a future.
#![allow(unsafe_code)]

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::file::AsyncFile;
use super::operation::{How, Movement, Operation};
use super::slots::{IoResult, Key};
use crate::buf::{Buffer, Direction, Loan};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{Code, TransferFlags};

/// A read or write that starts at its first poll. It returns the buffer together with the number of bytes moved or the
/// error.
///
/// It may be dropped at any time. A write that has started continues; a read is cancelled where possible. The buffer and the
/// file are freed when the system has finished with them.
#[derive(Debug)]
pub struct Transfer<B: Buffer> {
    file: AsyncFile,
    direction: Direction,
    offset: u64,
    /// True if all bytes are to be moved, by several calls if necessary.
    whole: bool,
    done: usize,
    cancelled: bool,
    /// True if the direct handle refused an aligned transfer, so that the file's cache mode executes it instead.
    bent: bool,
    state: TransferState<B>,
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
            bent: false,
            state: TransferState::Start(buffer),
        }
    }

    /// Cancels the transfer; await it to get the buffer back. A transfer that was not polled yet, or waits to start, never
    /// runs. A transfer in flight either completes with its result or fails with [`ErrorKind::Cancelled`]; one on a thread
    /// always completes.
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
        let error = if Code::of(&error) == Some(Code::CANCELLED) {
            Error::new(ErrorKind::Cancelled, self.doing(), path, "cancelled")
        } else {
            Error::io(self.doing(), path, error)
        };
        error.at(self.offset + self.done as u64)
    }

    /// Interprets the result of one call; `Some` ends the transfer.
    fn judge(&mut self, outcome: IoResult, wanted: usize, rest: bool) -> Option<Result<usize>> {
        let moved = match outcome {
            Ok(moved) => moved,
            Err(error) => return Some(Err(self.error(error))),
        };
        self.done += moved;
        if !self.whole || (moved == wanted && !rest) {
            return Some(Ok(self.done));
        }
        if moved == 0 {
            let (kind, what) = match self.direction {
                Direction::Read => (ErrorKind::Changed, "the file ends there"),
                Direction::Write => (ErrorKind::Io, "nothing more was written"),
            };
            let error = Error::new(kind, self.doing(), self.file.file().path(), what);
            return Some(Err(error.at(self.offset + self.done as u64)));
        }
        None
    }

    /// Executes one call of the transfer: at once if it does not wait, otherwise by the driver, which returns a key for
    /// polling.
    fn begin(&mut self, buffer: B, context: &mut Context<'_>) -> std::result::Result<(Loan, IoResult), Key> {
        let mut loan = Loan::new(buffer, self.direction, self.done);
        let file = self.file.file();
        let offset = self.file.seekable().then(|| self.offset.saturating_add(self.done as u64));
        if offset.is_some_and(|offset| offset > i64::MAX as u64) {
            return Ok((loan, Err(Code::INVALID.into())));
        }
        let straight = match (self.direction, offset, self.bent) {
            (Direction::Read, Some(offset), false) => file.straight(loan.pieces(), offset),
            _ => None,
        };
        let (file, flags) = (straight.unwrap_or(file), straight.unwrap_or(file).one_call());
        if flags.is_some() {
            match file.admitted(self.direction, offset.unwrap_or(self.done as u64), loan.bytes()) {
                Ok(most) => loan.shorten(file.most_buffers(), most),
                Err(error) => return Ok((loan, Err(error))),
            }
        }
        if let (None, Some(offset), Some(flags)) = (straight, offset, flags) {
            // SAFETY: the loan owns the pieces.
            if let Some(outcome) = unsafe { self.file.at_once(self.direction, loan.pieces(), offset, flags) }
            {
                return Ok((loan, outcome));
            }
        }
        let how = match flags {
            Some(_) if straight.is_some() || self.file.by_ring(self.direction) => How::Ring,
            Some(_) => How::Call,
            None => How::CacheMode,
        };
        let movement = Movement {
            direction: self.direction,
            file: file.clone(),
            offset,
            loan,
            how,
            flags: flags.unwrap_or(TransferFlags::empty()),
            cancelled: false,
        };
        match self.file.driver().dispatch().submit(Operation::Transfer(movement), context.waker()) {
            Ok(key) => Err(key),
            Err((Operation::Transfer(movement), error)) => Ok((movement.loan, Err(error))),
            Err((Operation::Blocking(_), _)) => unreachable!("a transfer was submitted"),
        }
    }

    /// True if the call is to be repeated: it was interrupted, or the direct handle refused an aligned transfer.
    fn refused(&mut self, outcome: &IoResult) -> bool {
        let Err(error) = outcome else { return false };
        match Code::of(error) {
            Some(Code::INTERRUPTED) => true,
            Some(Code::INVALID) if !self.bent && self.file.file().one_call().is_none() => {
                self.bent = true;
                true
            }
            _ => false,
        }
    }

    fn complete(&mut self, mut buffer: B, result: Result<usize>) -> Poll<(Result<usize>, B)> {
        self.state = TransferState::Over;
        if self.direction == Direction::Read && (self.done > 0 || result.is_ok()) {
            // SAFETY: the system filled `done` bytes from the start, in one call or several.
            unsafe { buffer.filled(self.done) };
        }
        Poll::Ready((result, buffer))
    }
}

/// Returns the number of bytes that the buffer can move in all.
fn total<B: Buffer>(buffer: &mut B, direction: Direction) -> usize {
    let mut total = 0;
    for index in 0..buffer.segments() {
        let segment = buffer.segment(index);
        total += if direction == Direction::Write { segment.len } else { segment.room };
    }
    total
}

impl<B: Buffer> Future for Transfer<B> {
    type Output = (Result<usize>, B);

    /// # Panics
    /// If it is polled after completion.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let (loan, outcome) = match std::mem::replace(&mut this.state, TransferState::Over) {
                TransferState::Start(buffer) => {
                    if this.cancelled {
                        let error = this.error(io::Error::from(Code::CANCELLED));
                        return this.complete(buffer, Err(error));
                    }
                    match this.begin(buffer, context) {
                        Ok(begun) => begun,
                        Err(key) => {
                            this.state = TransferState::Flight(key);
                            return Poll::Pending;
                        }
                    }
                }
                TransferState::Flight(key) => {
                    match this.file.driver().dispatch().poll(key, context.waker()) {
                        Poll::Pending => {
                            this.state = TransferState::Flight(key);
                            return Poll::Pending;
                        }
                        Poll::Ready((Operation::Transfer(movement), outcome)) => (movement.loan, outcome),
                        Poll::Ready((Operation::Blocking(_), _)) => unreachable!("a transfer was submitted"),
                    }
                }
                TransferState::Over => panic!("polled after completion"),
            };
            let wanted = loan.bytes();
            // SAFETY: every loan of this future was made from its `B`.
            let mut buffer: B = unsafe { loan.into() };
            if this.refused(&outcome) {
                this.state = TransferState::Start(buffer);
                continue;
            }
            let rest = this.whole && this.done + wanted < total(&mut buffer, this.direction);
            if let Some(result) = this.judge(outcome, wanted, rest) {
                return this.complete(buffer, result);
            }
            this.state = TransferState::Start(buffer);
        }
    }
}

impl<B: Buffer> Drop for Transfer<B> {
    fn drop(&mut self) {
        if let TransferState::Flight(key) = self.state {
            self.file.driver().dispatch().detach(key);
        }
    }
}
