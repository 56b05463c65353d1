//! The file under a stream: read and written at offsets, or sequentially if it has none. If a dropped stream cannot write its
//! bytes, they are lost; no caller can receive the error, so a hook receives it.

use std::cell::Cell;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::file::inner::File;
use crate::file::spans::landed;
use crate::lock::Mutex;
use crate::sys::Code;
use crate::sys::FileKind;

/// A file and its seekability, which the first transfer detects at no cost.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) file: File,
    seekability: Seekability,
    appends: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seekability {
    /// Nothing was transferred yet.
    Unknown,
    /// The file has offsets.
    Seekable,
    /// The file has no offsets: it is a pipe, a socket or a terminal.
    Sequential,
}

impl Ends {
    pub(super) fn new(file: File) -> Self {
        let appends = file.appends();
        Self { file, seekability: Seekability::Unknown, appends }
    }

    /// True if the file is known to have no offsets.
    #[inline]
    pub(super) fn is_sequential(&self) -> bool {
        self.seekability == Seekability::Sequential
    }

    /// True if the file is known to have offsets.
    pub(super) fn is_seekable(&self) -> bool {
        self.seekability == Seekability::Seekable
    }

    #[inline]
    pub(super) fn appends(&self) -> bool {
        self.appends
    }

    pub(super) fn check_seekable(&mut self) -> Result<()> {
        if self.seekability == Seekability::Unknown {
            let has_offsets = matches!(self.file.kind(), FileKind::Regular | FileKind::BlockDevice);
            self.seekability = if has_offsets || self.file.seekable() {
                Seekability::Seekable
            } else {
                Seekability::Sequential
            };
        }
        if self.is_sequential() { Err(no_position(&self.file)) } else { Ok(()) }
    }

    /// Reads once.
    pub(super) fn read(&mut self, data: &mut [u8], offset: u64) -> Result<usize> {
        if !self.is_sequential() {
            let result = self.file.read_at(data, offset);
            if let Some(count) = self.learn(result)? {
                return Ok(count);
            }
        }
        self.file.read_next(data)
    }

    /// Reads once at an offset to the end of `bytes`, which have spare capacity for `most` bytes; `None` if the file has no offsets.
    pub(super) fn read_to_vec(
        &mut self,
        bytes: &mut Vec<u8>,
        most: usize,
        offset: u64,
    ) -> Result<Option<usize>> {
        let result = self.file.read_to_vec_at(bytes, most, offset);
        self.learn(result)
    }

    pub(super) fn write(&mut self, data: &[u8], offset: u64) -> Result<usize> {
        if !self.is_sequential() {
            let result = self.file.write_at(data, offset);
            if let Some(count) = self.learn(result)? {
                return self.some(count, offset);
            }
        }
        self.file.write_next(data)
    }

    /// Writes all of `data`. Returns fewer bytes only if an error followed: a write of the rest returns that error.
    pub(super) fn write_most(&mut self, data: &[u8], offset: u64) -> Result<usize> {
        let mut written = 0;
        while written < data.len() {
            match self.write(&data[written..], offset + written as u64) {
                Ok(count) => written += count,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(written)
    }

    /// Writes all of `buffers` in few calls. Returns fewer bytes only if an error followed: a write of the rest returns that error.
    pub(super) fn write_gathered(&mut self, buffers: &[IoSlice<'_>], offset: u64) -> Result<usize> {
        let (mut next, mut place, mut written) = (0, 0, 0);
        while let Some(first) = buffers.get(next) {
            if place == first.len() {
                (next, place) = (next + 1, 0);
                continue;
            }
            let at = offset + written as u64;
            let result = match place {
                0 => self.write_vector(&buffers[next..], at),
                // The last call stopped within this buffer; its rest is written separately.
                _ => self.write(&first[place..], at),
            };
            let count = match result {
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
                Ok(count) => count,
            };
            written += count;
            let (whole, rest) = landed(buffers[next..].iter().map(|buffer| buffer.len()), place + count);
            (next, place) = (next + whole, rest);
        }
        Ok(written)
    }

    /// Writes buffers in one call; returns the number of bytes written. The first buffer is not empty.
    fn write_vector(&mut self, buffers: &[IoSlice<'_>], offset: u64) -> Result<usize> {
        if !self.is_sequential() {
            let result = self.file.write_vectored_at(buffers, offset);
            if let Some(count) = self.learn(result)? {
                return self.some(count, offset);
            }
        }
        self.file.write_vectored_next(buffers)
    }

    /// Turns a write of 0 bytes, for a request of more, into an error: a caller that repeats it would loop forever.
    fn some(&self, count: usize, offset: u64) -> Result<usize> {
        match count {
            0 => Err(Error::io("write", self.file.path(), io::ErrorKind::WriteZero.into()).at(offset)),
            count => Ok(count),
        }
    }

    /// Records the seekability that the result of a transfer at an offset implies.
    fn learn(&mut self, result: Result<usize>) -> Result<Option<usize>> {
        match result {
            Ok(count) => {
                self.seekability = Seekability::Seekable;
                Ok(Some(count))
            }
            Err(error) if error.code() == Some(Code::NOT_SEEKABLE) => {
                self.seekability = Seekability::Sequential;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The error of a seek in a file without offsets.
pub(crate) fn no_position(file: &File) -> Error {
    let what = format!("a {} has no position", file.kind());
    Error::new(ErrorKind::Unsupported, "seek", file.path(), what)
}

/// Returns the offset at a distance from another; fails if no file can have it.
pub(crate) fn offset_from(file: &File, from: u64, distance: i64) -> Result<u64> {
    let offset = from.checked_add_signed(distance).filter(|offset| i64::try_from(*offset).is_ok());
    offset.ok_or_else(|| {
        let what = format!("{distance} bytes from offset {from} is outside the range of file offsets");
        Error::new(ErrorKind::Invalid, "seek", file.path(), what).advise("give an offset from 0 to 2^63 - 1")
    })
}

type Hook = Arc<dyn Fn(&Error) + Send + Sync>;

static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

thread_local!(static IN_HOOK: Cell<bool> = const { Cell::new(false) });

/// Sets the function that receives the error when a dropped stream cannot write its pending bytes, for the whole
/// process. By default, the error is printed on standard error, as is the error of bytes that the hook itself loses.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static REPORTED: AtomicBool = AtomicBool::new(false);
/// fullbore_io::stream::on_loss(|_error| REPORTED.store(true, Ordering::Relaxed));
/// let full = fullbore_io::file::File::open_write("/dev/full")?;
/// let mut stream = fullbore_io::stream::FileStream::new(full);
/// std::io::Write::write_all(&mut stream, b"bytes")?;
/// drop(stream);
/// assert!(REPORTED.load(Ordering::Relaxed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn on_loss(hook: impl Fn(&Error) + Send + Sync + 'static) {
    let hook: Hook = Arc::new(hook);
    let before = HOOK.lock().replace(hook);
    // Dropped without the lock: it may own a stream whose loss is reported too.
    drop(before);
}

/// Reports `bytes` bytes of `file` that were not written, and poisons the file so that no clone of it continues.
pub(crate) fn report_loss(file: &File, bytes: usize, error: Error) {
    let kind = error.kind();
    let what = format!("{bytes} pending bytes are lost ({error})");
    file.lose(&match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error),
    });
    let error = Error::new(kind, "write", file.path(), what)
        .advise("close the stream and check the error before dropping it");
    // Called without the lock: a hook that writes a log to the same full device loses bytes too.
    let hook = HOOK.lock().clone();
    match hook {
        Some(hook) if !IN_HOOK.replace(true) => {
            let _returned = HookReturned;
            hook(&error);
        }
        // Not `eprintln`, which panics if standard error cannot be written: a drop must not panic.
        _ => drop(writeln!(io::stderr(), "fullbore: {error}")),
    }
}

/// Marks the end of the hook, whether it returns or panics.
struct HookReturned;

impl Drop for HookReturned {
    fn drop(&mut self) {
        IN_HOOK.set(false);
    }
}
