//! A stream over an asynchronous file, for traits without offsets. The position is in memory.
#![forbid(unsafe_code)]

use std::future::Future;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::file::AsyncFile;
use super::transfer::Transfer;

/// Maximum number of bytes per operation: bytes that callers pass piecemeal are copied once.
const ROOM: usize = 64 << 10;

/// A sequential reader and writer over an [`AsyncFile`]. With the features `tokio` and `futures` it implements their
/// `AsyncRead`, `AsyncWrite` and `AsyncSeek`.
///
/// A write returns once it has started. Its range is reserved by then; its error is returned by the next write, read, seek,
/// flush or shutdown: **flush before dropping the stream**.
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
    /// Offset of the next byte to read or write.
    position: u64,
    buffer: Vec<u8>,
    /// Bytes read ahead and not yet returned: `buffer[taken..]`.
    taken: usize,
    busy: Option<Busy>,
}

#[derive(Debug)]
enum Busy {
    Read(Transfer<Vec<u8>>),
    /// With the offset of its first byte.
    Write(Transfer<Vec<u8>>, u64),
}

fn plain(error: crate::Error) -> io::Error {
    io::Error::other(error)
}

impl AsyncStream {
    /// Creates a stream at the start of the file.
    pub fn new(file: AsyncFile) -> Self {
        Self { file, position: 0, buffer: Vec::new(), taken: 0, busy: None }
    }

    /// Returns the offset of the next byte to read or write, in bytes from the start of the file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the file. Bytes read ahead and writes in flight belong to the stream: flush first.
    pub fn file(&self) -> &AsyncFile {
        &self.file
    }

    /// Waits for the transfer in flight.
    fn poll_pending(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.busy {
            None => Poll::Ready(Ok(())),
            Some(Busy::Read(read)) => {
                let (result, buffer) = ready!(Pin::new(read).poll(context));
                (self.busy, self.buffer, self.taken) = (None, buffer, 0);
                if result.is_err() {
                    self.buffer.clear();
                }
                Poll::Ready(result.map(drop).map_err(plain))
            }
            Some(Busy::Write(write, began)) => {
                let began = *began;
                let (result, buffer) = ready!(Pin::new(&mut *write).poll(context));
                if result.is_err() {
                    // The range was reserved; only the bytes written of it count.
                    self.position = began + write.moved() as u64;
                }
                (self.busy, self.buffer) = (None, buffer);
                self.buffer.clear();
                self.taken = 0;
                Poll::Ready(result.map(drop).map_err(plain))
            }
        }
    }

    /// Reads into `out`; returns 0 at the end.
    fn read(&mut self, context: &mut Context<'_>, out: &mut [u8]) -> Poll<io::Result<usize>> {
        if out.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(self.poll_pending(context))?;
        if self.taken == self.buffer.len() {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            buffer.reserve_exact(ROOM);
            self.taken = 0;
            self.busy = Some(Busy::Read(self.file.read_at(buffer, self.position)));
            ready!(self.poll_pending(context))?;
        }
        let left = &self.buffer[self.taken..];
        let count = left.len().min(out.len());
        out[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        self.position += count as u64;
        Poll::Ready(Ok(count))
    }

    /// Starts writing some of `data`.
    fn write(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(context))?;
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let count = data.len().min(ROOM);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.extend_from_slice(&data[..count]);
        self.taken = 0;
        let began = self.position;
        self.position += count as u64;
        self.busy = Some(Busy::Write(self.file.write_all_at(buffer, began), began));
        match self.poll_pending(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(count)),
        }
    }

    /// Moves the position.
    fn seek(&mut self, context: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        ready!(self.poll_pending(context))?;
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.file.file().stamp().map_err(plain)?.len.checked_add_signed(by),
        };
        let Some(position) = position else {
            return Poll::Ready(Err(io::ErrorKind::InvalidInput.into()));
        };
        self.buffer.clear();
        (self.taken, self.position) = (0, position);
        Poll::Ready(Ok(position))
    }
}

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
            self.poll_pending(context)
        }

        fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_pending(context)
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
            self.poll_pending(context)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_pending(context)
        }
    }

    impl tokio::io::AsyncSeek for AsyncStream {
        /// Seeks at once, since the position is in memory. Fails while a write is in flight, whose end position is unknown.
        fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
            match self.seek(&mut Context::from_waker(std::task::Waker::noop()), to) {
                Poll::Ready(result) => result.map(drop),
                Poll::Pending => Err(io::Error::other("a transfer is in flight: flush before seeking")),
            }
        }

        fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
            Poll::Ready(Ok(self.position))
        }
    }
}

#[cfg(all(test, not(fullbore_loom)))]
mod tests {
    use super::*;
    use crate::asynchronous::{Backend, Driver, DriverConfig};
    use crate::file::File;
    use futures_lite::future::{block_on, poll_fn};

    fn stream(file: File) -> AsyncStream {
        let config = DriverConfig { backend: Backend::Threads, ..DriverConfig::default() };
        AsyncStream::new(AsyncFile::new(file, &Driver::new(config).unwrap()))
    }

    /// Regression in the manner of tokio#6325: errors lost at flush.
    #[test]
    fn a_failed_write_is_reported_at_flush_and_its_range_released() {
        let mut full = stream(File::open_write("/dev/full").unwrap());
        let begun = block_on(poll_fn(|context| full.write(context, b"abc")));
        let flushed = block_on(poll_fn(|context| full.poll_pending(context)));
        assert!(begun.is_err() || flushed.is_err());
        assert_eq!(full.position(), 0);
    }

    #[test]
    fn a_seek_back_reads_the_written_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let mut stream = stream(File::create_new(dir.path().join("f")).unwrap());
        let data: Vec<u8> = (0..200_000u32).map(|i| (i / 7) as u8).collect();
        let mut sent = 0;
        while sent < data.len() {
            sent += block_on(poll_fn(|context| stream.write(context, &data[sent..]))).unwrap();
        }
        assert_eq!(stream.position(), 200_000);
        block_on(poll_fn(|context| stream.seek(context, SeekFrom::Current(-199_990)))).unwrap();
        let (mut got, mut piece) = (Vec::new(), [0; 1000]);
        loop {
            let count = block_on(poll_fn(|context| stream.read(context, &mut piece))).unwrap();
            if count == 0 {
                break;
            }
            got.extend_from_slice(&piece[..count]);
        }
        assert!(got == data[10..]);
        assert!(block_on(poll_fn(|context| stream.seek(context, SeekFrom::End(-300_000)))).is_err());
    }
}
