//! The traits of `futures::io` and `tokio::io` for the stream.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::AsyncStream;

#[cfg(feature = "futures")]
mod for_futures {
    use super::*;

    impl futures_io::AsyncRead for AsyncStream {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            out: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            self.read(context, out)
        }
    }

    impl futures_io::AsyncWrite for AsyncStream {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.write(context, data)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            AsyncStream::poll_flush(&mut self, context)
        }

        fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            AsyncStream::poll_flush(&mut self, context)
        }
    }

    impl futures_io::AsyncSeek for AsyncStream {
        fn poll_seek(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            to: SeekFrom,
        ) -> Poll<io::Result<u64>> {
            self.seek(context, to)
        }
    }
}

#[cfg(feature = "tokio")]
mod for_tokio {
    use super::*;
    use std::task::ready;

    use tokio::io::ReadBuf;

    impl tokio::io::AsyncRead for AsyncStream {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            out: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let count = ready!(self.read(context, out.initialize_unfilled()))?;
            out.advance(count);
            Poll::Ready(Ok(()))
        }
    }

    impl tokio::io::AsyncWrite for AsyncStream {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.write(context, data)
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            AsyncStream::poll_flush(&mut self, context)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            AsyncStream::poll_flush(&mut self, context)
        }
    }

    impl tokio::io::AsyncSeek for AsyncStream {
        /// Seeks at once, since the position is in memory. Fails while a transfer is in flight, whose end position is unknown;
        /// `poll_complete` waits for it.
        fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
            match self.seek(&mut Context::from_waker(std::task::Waker::noop()), to) {
                Poll::Ready(result) => result.map(drop),
                Poll::Pending => {
                    Err(io::Error::other("a transfer is in flight: wait for it by poll_complete"))
                }
            }
        }

        fn poll_complete(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<u64>> {
            ready!(self.poll_settled(context))?;
            Poll::Ready(Ok(self.position))
        }
    }
}
