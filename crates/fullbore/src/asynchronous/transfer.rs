//! A read or a write as a future.
#![allow(unsafe_code)]

use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::file::AsyncFile;
use super::operation::{Movement, Operation};
use super::slots::{Key, Outcome};
use crate::buf::{Buffer, Direction, Loan};
use crate::error::{Error, Kind, Result};
use crate::sys::transfer;

/// A read or a write that begins when it is first polled. It gives the buffer back with the result: bytes
/// moved, or the error.
///
/// Dropping it is safe at any time. A write that has begun goes on; a read is cancelled where that can be done. The
/// buffer and the file are freed when the system is done with them.
#[derive(Debug)]
pub struct Transfer<B: Buffer> {
    file: AsyncFile,
    direction: Direction,
    offset: u64,
    /// Until all bytes are moved, not only the first some.
    whole: bool,
    done: usize,
    cancelled: bool,
    state: State<B>,
}

#[derive(Debug)]
enum State<B> {
    Start(B),
    Flight(Key),
    Over,
}

// Nothing in it is pinned: what the system is shown is memory that the buffer owns elsewhere.
impl<B: Buffer> Unpin for Transfer<B> {}

impl<B: Buffer> Transfer<B> {
    pub(super) fn new(file: AsyncFile, direction: Direction, buffer: B, offset: u64, whole: bool) -> Self {
        Self { file, direction, offset, whole, done: 0, cancelled: false, state: State::Start(buffer) }
    }

    /// Asks for the transfer's end; await it to have the buffer back. Before the first poll, or while it waits for its
    /// turn, it never runs. In flight, it either completes all the same, with its result, or fails with
    /// [`Kind::Interrupted`]; one that a thread carries out completes.
    ///
    /// ```
    /// # use fullbore::asynchronous::AsyncFile;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("f");
    /// # std::fs::write(&path, "hello")?;
    /// # futures_lite::future::block_on(async {
    /// let file = AsyncFile::open(&path).await?;
    /// let mut read = file.read_at(vec![0; 5], 0);
    /// read.cancel();
    /// let (result, buffer) = read.await;
    /// assert_eq!(result.unwrap_err().kind(), fullbore::error::Kind::Interrupted);
    /// assert_eq!(buffer.len(), 5);
    /// # Ok::<(), fullbore::Error>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancel(&mut self) {
        self.cancelled = true;
        if let State::Flight(key) = self.state {
            self.file.driver().dispatch().cancel(key);
        }
    }

    /// How many bytes were moved so far, as far as the future has seen.
    pub fn moved(&self) -> usize {
        self.done
    }

    fn doing(&self) -> &'static str {
        if self.direction == Direction::Read { "read" } else { "write" }
    }

    fn error(&self, error: io::Error) -> Error {
        let path = self.file.file().path();
        let error = if error.raw_os_error() == Some(libc::ECANCELED) {
            Error::new(Kind::Interrupted, self.doing(), path, "it was cancelled")
        } else {
            Error::io(self.doing(), path, error)
        };
        error.at(self.offset + self.done as u64)
    }

    /// What the outcome of one call means: `Some` is the end.
    fn judge(&mut self, outcome: Outcome, wanted: usize, rest: bool) -> Option<Result<usize>> {
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
                Direction::Read => (Kind::Io, "the file ends there"),
                Direction::Write => (Kind::Io, "nothing more was written"),
            };
            let error = Error::new(kind, self.doing(), self.file.file().path(), what);
            return Some(Err(error.at(self.offset + self.done as u64)));
        }
        None
    }

    fn settle(&mut self, mut buffer: B, result: Result<usize>) -> Poll<(Result<usize>, B)> {
        self.state = State::Over;
        if self.direction == Direction::Read && (self.done > 0 || result.is_ok()) {
            // SAFETY: the system filled `done` bytes from the start on, in one call or in several.
            unsafe { buffer.filled(self.done) };
        }
        Poll::Ready((result, buffer))
    }
}

/// How many bytes the buffer moves in all.
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
    /// If it is polled after its end.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let dispatch = this.file.driver().dispatch().clone();
        loop {
            let (loan, outcome) = match std::mem::replace(&mut this.state, State::Over) {
                State::Start(buffer) => {
                    if this.cancelled {
                        let error = this.error(io::Error::from_raw_os_error(libc::ECANCELED));
                        return this.settle(buffer, Err(error));
                    }
                    let offset = this.file.seekable().then(|| this.offset.saturating_add(this.done as u64));
                    if offset.is_some_and(|offset| offset > i64::MAX as u64) {
                        let error = this.error(io::Error::from_raw_os_error(libc::EINVAL));
                        return this.settle(buffer, Err(error));
                    }
                    let loan = Loan::new(buffer, this.direction, this.done);
                    let tried = match this.direction {
                        // SAFETY: the loan owns the pieces.
                        Direction::Read if this.file.may_be_cached() => Some(unsafe {
                            transfer::read(this.file.file().as_fd(), loan.pieces(), offset, true)
                        }),
                        _ => None,
                    };
                    match tried {
                        Some(Ok(moved)) => (loan, Ok(moved)),
                        tried => {
                            if let Some(Err(error)) = tried {
                                this.file.not_cached(&error);
                            }
                            let movement = Movement {
                                direction: this.direction,
                                file: this.file.file().clone(),
                                offset,
                                loan,
                                ring: this.file.by_ring(this.direction),
                                cancelled: false,
                            };
                            match dispatch.submit(Operation::Transfer(movement), context.waker()) {
                                Ok(key) => {
                                    this.state = State::Flight(key);
                                    return Poll::Pending;
                                }
                                Err((Operation::Transfer(movement), error)) => (movement.loan, Err(error)),
                                Err((Operation::Task(_), _)) => unreachable!("a transfer was submitted"),
                            }
                        }
                    }
                }
                State::Flight(key) => match dispatch.poll(key, context.waker()) {
                    Poll::Pending => {
                        this.state = State::Flight(key);
                        return Poll::Pending;
                    }
                    Poll::Ready((Operation::Transfer(movement), outcome)) => (movement.loan, outcome),
                    Poll::Ready((Operation::Task(_), _)) => unreachable!("a transfer was submitted"),
                },
                State::Over => panic!("polled after its end"),
            };
            let wanted = loan.bytes();
            // SAFETY: every loan of this future was made from its `B`.
            let mut buffer: B = unsafe { loan.into() };
            let rest = this.whole && this.done + wanted < total(&mut buffer, this.direction);
            if let Some(result) = this.judge(outcome, wanted, rest) {
                return this.settle(buffer, result);
            }
            this.state = State::Start(buffer);
        }
    }
}

impl<B: Buffer> Drop for Transfer<B> {
    fn drop(&mut self) {
        if let State::Flight(key) = self.state {
            self.file.driver().dispatch().detach(key);
        }
    }
}
