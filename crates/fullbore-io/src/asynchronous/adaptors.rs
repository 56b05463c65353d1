//! The traits of `tokio::io` and `futures::io` for a stream.

use std::io::{self, SeekFrom};
use std::pin::Pin;
#[cfg(feature = "tokio")]
use std::task::Waker;
use std::task::{Context, Poll, ready};

use super::stream::{AsyncStream, Half};
use crate::sys::{self, FileKind};

/// Implements `poll_write`, `poll_flush` and the method that closes, which are the same in both crates.
macro_rules! implement_write {
    ($written:path, $close:ident) => {
        impl $written for AsyncStream {
            fn poll_write(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                data: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.write(context, data)
            }

            fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                AsyncStream::poll_flush(&mut self, context, Half::Writer)
            }

            fn $close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                ready!(AsyncStream::poll_flush(&mut self, context, Half::Writer))?;
                if self.file().file().kind() == FileKind::Socket {
                    // The peer reads the end. A connection that is gone needs none.
                    sys::end_writes(self.file().file());
                }
                Poll::Ready(Ok(()))
            }
        }
    };
}

/// Implements `AsyncBufRead`, which is the same in both crates.
macro_rules! implement_buf_read {
    ($buffered:path) => {
        impl $buffered for AsyncStream {
            fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
                self.get_mut().fill_buf(context)
            }

            fn consume(self: Pin<&mut Self>, count: usize) {
                AsyncStream::consume(self.get_mut(), count);
            }
        }
    };
}

#[cfg(feature = "futures")]
implement_write!(futures_io::AsyncWrite, poll_close);

#[cfg(feature = "tokio")]
implement_write!(tokio::io::AsyncWrite, poll_shutdown);

#[cfg(feature = "futures")]
implement_buf_read!(futures_io::AsyncBufRead);

#[cfg(feature = "tokio")]
implement_buf_read!(tokio::io::AsyncBufRead);

#[cfg(feature = "futures")]
impl futures_io::AsyncRead for AsyncStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.read(context, out)
    }
}

#[cfg(feature = "futures")]
impl futures_io::AsyncSeek for AsyncStream {
    fn poll_seek(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        self.seek(context, to)
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncRead for AsyncStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(self.read(context, out.initialize_unfilled()))?;
        out.advance(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(feature = "tokio")]
impl tokio::io::AsyncSeek for AsyncStream {
    /// Fails while a transfer is in flight, whose end position is unknown; `poll_complete` waits for it.
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        match self.seek(&mut Context::from_waker(Waker::noop()), to) {
            Poll::Ready(result) => result.map(drop),
            Poll::Pending => Err(io::Error::other("a transfer is in flight: wait for it by poll_complete")),
        }
    }

    fn poll_complete(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        ready!(self.poll_transfers(context))?;
        Poll::Ready(Ok(self.position()))
    }
}
