//! Transfers. Each makes one system call, or for several buffers one call per buffer.

use std::io::{self, IoSlice, IoSliceMut};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_MORE_DATA,
    ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED, ERROR_SECTOR_NOT_FOUND,
};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Ioctl::FILE_ALLOCATED_RANGE_BUFFER;
use windows_sys::core::BOOL;

use super::code::check;
use super::extents::allocated;
use super::handle::{AsHandle, BorrowedHandle, raw};
use super::information::{awaited_at, ended, file_type, seekable};
use super::pipe::is_pipe;
use super::status::status;
use super::{console, device};
use crate::buf::{Direction, Loan};
use crate::sys::code::{Code, Result};
use crate::sys::types::{FileKind, TransferFlags};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekFrom {
    Start(u64),
    End(i64),
    Current(i64),
    /// The next data at or after an offset.
    Data(u64),
    /// The next hole at or after an offset.
    Hole(u64),
}

/// True: the position of a file after a transfer at an offset is the end of that transfer.
pub const TRANSFERS_MOVE_POSITION: bool = true;

/// True: calls through one handle wait for each other.
pub const HANDLES_SERIALIZE: bool = true;

/// The place of a transfer. To the system, the largest offsets mean the end of the file and its own position.
fn at(offset: u64) -> Result<OVERLAPPED> {
    if offset > i64::MAX as u64 {
        return Err(Code::INVALID);
    }
    Ok(awaited_at(offset))
}

/// The bytes that one call moves of `len`: at most what its type holds, in whole blocks.
pub(super) fn call_length(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(!0xffff)
}

/// Reads into memory of `len` bytes; 0 at the end of the file or pipe. A device is read by whole sectors.
///
/// # Safety
/// The memory may be written.
unsafe fn read_raw(file: &impl AsHandle, start: *mut u8, len: usize, offset: Option<u64>) -> Result<usize> {
    // The system's read of no bytes from a pipe waits until there are some.
    if len == 0 && offset.is_none() && file_type(file) == fs::FILE_TYPE_PIPE {
        return Ok(0);
    }
    if offset.is_none() && console::is_console(file) {
        let mut memory = vec![0; len.min(4096)];
        let count = console::read(file, &mut memory)?;
        // SAFETY: guaranteed by the caller; there are at most `len` bytes.
        unsafe { start.copy_from_nonoverlapping(memory.as_ptr(), count) };
        return Ok(count);
    }
    // SAFETY: guaranteed by the caller.
    let outcome = unsafe { read_call(file, start, len, offset) };
    const SECTOR_NOT_FOUND: i32 = ERROR_SECTOR_NOT_FOUND as i32;
    match (outcome, offset) {
        (Err(error), Some(offset))
            if [ERROR_INVALID_PARAMETER as i32, SECTOR_NOT_FOUND].contains(&error.number())
                && status(file).is_ok_and(|found| found.kind() == FileKind::BlockDevice) =>
        {
            let mut memory = vec![0; len.min(device::BOUNCE)];
            let count = device::read_any(file, &mut memory, offset, |memory, at| {
                // SAFETY: the memory is borrowed mutably.
                unsafe { read_call(file, memory.as_mut_ptr(), memory.len(), Some(at)) }
            })?;
            // SAFETY: guaranteed by the caller; there are at most `len` bytes.
            unsafe { start.copy_from_nonoverlapping(memory.as_ptr(), count) };
            Ok(count)
        }
        (outcome, _) => outcome,
    }
}

/// As [`read_raw`], by one call.
///
/// # Safety
/// The memory may be written.
unsafe fn read_call(file: &impl AsHandle, start: *mut u8, len: usize, offset: Option<u64>) -> Result<usize> {
    let len = call_length(len);
    // SAFETY: guaranteed by the caller; the transfer is awaited.
    let call = |moved, place| unsafe { fs::ReadFile(raw(file) as _, start.cast(), len, moved, place) };
    match one_call(file, offset, call)? {
        // The other end of a pipe wrote nothing: more may come. A socket, which the system calls a pipe too, has ended.
        Ok(0) if len > 0 && offset.is_none() && is_pipe(file) => Err(Code::INTERRUPTED),
        Ok(moved) => Ok(moved),
        Err(ERROR_HANDLE_EOF | ERROR_BROKEN_PIPE | ERROR_PIPE_NOT_CONNECTED) => Ok(0),
        // A pipe that does not wait.
        Err(ERROR_NO_DATA) => Err(Code::WOULD_BLOCK),
        Err(ERROR_INVALID_FUNCTION)
            if status(file).is_ok_and(|found| found.kind() == FileKind::Directory) =>
        {
            Err(Code::IS_DIRECTORY)
        }
        Err(error) => Err(Code::from_number(error as i32)),
    }
}

/// The bytes that a transfer moves, or the number of its error. `call` makes the transfer; it gets the addresses of the number of bytes
/// and of the place, of which one is null. With a place the transfer is awaited; without one, the call ends with it or is refused.
fn one_call(
    file: &impl AsHandle,
    offset: Option<u64>,
    call: impl FnOnce(*mut u32, *mut OVERLAPPED) -> BOOL,
) -> Result<std::result::Result<usize, u32>> {
    let place = match offset {
        Some(offset) => Some(at(offset)?),
        // A pipe has no places, but its handle may be one whose calls do not wait. Such a handle of another file has no position: the
        // system refuses the transfer.
        None => (file_type(file) == fs::FILE_TYPE_PIPE).then(|| awaited_at(0)),
    };
    Ok(match place {
        Some(mut place) => {
            let started = call(std::ptr::null_mut(), &raw mut place);
            match ended(file, started, &mut place) {
                // The first bytes of a longer message; the next call reads more of it.
                Err(ERROR_MORE_DATA) => Ok(place.InternalHigh),
                outcome => outcome,
            }
        }
        None => {
            let mut moved = 0;
            match call(&raw mut moved, std::ptr::null_mut()) {
                0 => Err(Code::last_number()),
                _ => Ok(moved as usize),
            }
        }
    })
}

/// Writes memory of `len` bytes.
///
/// # Safety
/// The memory may be read.
unsafe fn write_raw(
    file: &impl AsHandle,
    start: *const u8,
    len: usize,
    offset: Option<u64>,
) -> Result<usize> {
    let len = call_length(len);
    // SAFETY: guaranteed by the caller; the transfer is awaited.
    let call = |moved, place| unsafe { fs::WriteFile(raw(file) as _, start.cast(), len, moved, place) };
    match one_call(file, offset, call)? {
        // A full pipe that does not wait.
        Ok(0) if len > 0 && file_type(file) == fs::FILE_TYPE_PIPE => Err(Code::WOULD_BLOCK),
        outcome => outcome.map_err(|error| Code::from_number(error as i32)),
    }
}

pub fn read(file: impl AsHandle, bytes: &mut [u8]) -> Result<usize> {
    // SAFETY: the memory is borrowed mutably.
    unsafe { read_raw(&file, bytes.as_mut_ptr(), bytes.len(), None) }
}

pub fn write(file: impl AsHandle, bytes: &[u8]) -> Result<usize> {
    // SAFETY: the memory is borrowed.
    unsafe { write_raw(&file, bytes.as_ptr(), bytes.len(), None) }
}

pub fn write_vectored(file: impl AsHandle, parts: &[IoSlice<'_>]) -> Result<usize> {
    each(parts.iter().map(|part| &**part), |part, _| Ok((write(&file, part)?, part.len())))
}

pub fn read_at(file: impl AsHandle, bytes: &mut [u8], offset: u64) -> Result<usize> {
    seekable(&file)?;
    // SAFETY: the memory is borrowed mutably.
    unsafe { read_raw(&file, bytes.as_mut_ptr(), bytes.len(), Some(offset)) }
}

pub fn write_at(file: impl AsHandle, bytes: &[u8], offset: u64) -> Result<usize> {
    seekable(&file)?;
    // SAFETY: the memory is borrowed.
    unsafe { write_raw(&file, bytes.as_ptr(), bytes.len(), Some(offset)) }
}

pub fn read_into_spare(file: impl AsHandle, bytes: &mut Vec<u8>, most: usize, offset: u64) -> Result<usize> {
    seekable(&file)?;
    let spare = bytes.spare_capacity_mut();
    let most = most.min(spare.len());
    // SAFETY: the memory is borrowed mutably, and the call writes bytes.
    let moved = unsafe { read_raw(&file, spare.as_mut_ptr().cast(), most, Some(offset)) }?;
    // SAFETY: the call wrote that many bytes.
    unsafe { bytes.set_len(bytes.len() + moved) };
    Ok(moved)
}

/// Applies a transfer to one part after the other until one moves fewer bytes than it has.
fn each<T>(
    parts: impl Iterator<Item = T>,
    mut transfer: impl FnMut(T, u64) -> Result<(usize, usize)>,
) -> Result<usize> {
    let mut done = 0;
    for part in parts {
        match transfer(part, done as u64) {
            Ok((moved, len)) => {
                done += moved;
                if moved < len {
                    break;
                }
            }
            Err(_) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

pub fn read_vectored_at(file: impl AsHandle, parts: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize> {
    each(parts.iter_mut(), |part, done| Ok((read_at(&file, part, offset + done)?, part.len())))
}

pub fn write_vectored_at(file: impl AsHandle, parts: &[IoSlice<'_>], offset: u64) -> Result<usize> {
    each(parts.iter(), |part, done| Ok((write_at(&file, part, offset + done)?, part.len())))
}

/// Moves the selected memory of `loan`, one call a piece; without an offset at the file's own position, and for a read into the first
/// piece only: after the bytes that have arrived, a pipe would wait for more. No flag is supported.
pub(crate) fn transfer_loan(
    loan: &mut Loan,
    file: BorrowedHandle<'_>,
    offset: Option<u64>,
    flags: TransferFlags,
) -> io::Result<usize> {
    if !flags.is_empty() {
        return Err(Code::UNSUPPORTED.into());
    }
    if offset.is_some() {
        seekable(&file)?;
    }
    let direction = loan.direction();
    let most = if direction == Direction::Read && offset.is_none() { 1 } else { usize::MAX };
    let moved = each(loan.pieces().iter().take(most), |piece, done| {
        let place = offset.map(|offset| offset + done);
        // SAFETY: the loan, which is borrowed mutably, owns the buffer that the pieces belong to; the bytes to write are
        // initialised.
        let moved = unsafe {
            match direction {
                Direction::Read => read_raw(&file, piece.iov_base.cast(), piece.iov_len, place),
                Direction::Write => write_raw(&file, piece.iov_base.cast(), piece.iov_len, place),
            }
        }?;
        Ok((moved, piece.iov_len))
    })?;
    // SAFETY: the calls moved that many bytes from the start of the pieces.
    unsafe { loan.advance(moved) };
    Ok(moved)
}

/// The next data at or after an offset, or the next hole, of a file of `len` bytes: data to its end if no ranges are reported.
fn data_or_hole(file: &impl AsHandle, offset: u64, len: u64, data: bool) -> Result<u64> {
    let number = |value: u64| i64::try_from(value).map_err(|_| Code::INVALID);
    let mut at = offset;
    loop {
        let mut first = [FILE_ALLOCATED_RANGE_BUFFER::default()];
        let (start, end) = match allocated(file, number(at)?, number(len)?, &mut first) {
            Ok((0, _)) => (len, len),
            Ok(_) => (first[0].FileOffset as u64, (first[0].FileOffset + first[0].Length) as u64),
            Err(error) if error.is_absent() => (at, len),
            Err(error) => return Err(error),
        };
        match data {
            true if start >= len => return Err(Code::NO_SUCH_ADDRESS),
            true => return Ok(start.max(offset)),
            false if start > at || at >= len => return Ok(at.min(len)),
            // Adjacent ranges can be reported one by one.
            false => at = end.max(at + 1),
        }
    }
}

pub fn seek(file: impl AsHandle, to: SeekFrom) -> Result<u64> {
    seekable(&file)?;
    let (offset, method) = match to {
        SeekFrom::Start(offset) => (i64::try_from(offset).map_err(|_| Code::INVALID)?, fs::FILE_BEGIN),
        SeekFrom::End(offset) => (offset, fs::FILE_END),
        SeekFrom::Current(offset) => (offset, fs::FILE_CURRENT),
        SeekFrom::Data(offset) | SeekFrom::Hole(offset) => {
            let found = status(&file)?;
            if found.kind() != FileKind::Regular || offset >= found.size {
                return Err(Code::NO_SUCH_ADDRESS);
            }
            let place = data_or_hole(&file, offset, found.size, matches!(to, SeekFrom::Data(_)))?;
            (i64::try_from(place).map_err(|_| Code::INVALID)?, fs::FILE_BEGIN)
        }
    };
    let mut position = 0;
    // SAFETY: the call writes the position, which lives through it.
    let moved = check(unsafe { fs::SetFilePointerEx(raw(&file) as _, offset, &raw mut position, method) });
    match (moved, to) {
        // The system does not report the end of a device.
        (Err(error), SeekFrom::End(distance)) if device::is_device(&file) => {
            let end = device::length(&file).map_err(|_| error)?;
            seek(file, SeekFrom::Start(end.checked_add_signed(distance).ok_or(Code::INVALID)?))
        }
        (moved, _) => moved.map(|()| position as u64),
    }
}

pub fn position(file: impl AsHandle) -> Result<u64> {
    seek(file, SeekFrom::Current(0))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use windows_sys::Win32::System::Pipes::{
        NAMED_PIPE_MODE, PIPE_READMODE_MESSAGE, PIPE_TYPE_BYTE, PIPE_TYPE_MESSAGE,
    };

    use super::super::handle::{Handle, OpenFlags};
    use super::super::open::open;
    use super::super::pipe::{named_pipe, pipe};
    use super::super::process::thread_cpu_time;
    use super::*;

    /// A pipe whose reader has a handle for overlapped transfers.
    fn overlapped_pipe(what: &str, mode: NAMED_PIPE_MODE) -> (Handle, Handle) {
        let name = format!(r"\\.\pipe\fullbore-{}-{what}", std::process::id());
        let reader = named_pipe(&name, fs::PIPE_ACCESS_INBOUND | fs::FILE_FLAG_OVERLAPPED, mode);
        (reader, open(&name, OpenFlags::WRITE, 0).unwrap())
    }

    #[test]
    fn transfers_of_overlapped_handles_end_before_their_calls_return() {
        let (reader, writer) = overlapped_pipe("transfer", PIPE_TYPE_BYTE);
        let (sender, results) = channel();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (sender, reader) = (sender.clone(), &reader);
                scope.spawn(move || {
                    let mut bytes = [0; 3];
                    let count = read(reader, &mut bytes).unwrap();
                    sender.send((bytes[..count].to_vec(), thread_cpu_time())).unwrap();
                });
            }
            for message in [b"one", b"two"] {
                // The end of one transfer neither ends the call of the other nor makes it poll.
                std::thread::sleep(Duration::from_millis(300));
                assert_eq!(write(&writer, message), Ok(3));
                let (bytes, used) = results.recv().unwrap();
                assert!(bytes == message && used < Duration::from_millis(50), "{bytes:?} after {used:?}");
            }
        });
        drop(writer);
        assert_eq!(read(&reader, &mut [0; 3]), Ok(0));
    }

    #[test]
    fn a_message_longer_than_the_memory_is_read_in_parts() {
        let (reader, writer) = overlapped_pipe("message", PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE);
        assert_eq!(write(&writer, b"message"), Ok(7));
        let mut bytes = [0; 4];
        assert_eq!((read(&reader, &mut bytes), &bytes), (Ok(4), b"mess"));
        assert_eq!((read(&reader, &mut bytes), &bytes[..3]), (Ok(3), &b"age"[..]));
    }

    #[test]
    fn a_read_of_no_bytes_from_a_pipe_does_not_wait() {
        let (reader, _writer) = pipe().unwrap();
        let (sender, done) = channel();
        std::thread::spawn(move || sender.send(read(&reader, &mut [])));
        assert_eq!(done.recv_timeout(Duration::from_secs(5)), Ok(Ok(0)));
    }

    #[test]
    fn a_scattered_read_of_a_pipe_waits_for_no_more_than_has_arrived() {
        let (reader, writer) = pipe().unwrap();
        assert_eq!(write(&writer, b"one"), Ok(3));
        let mut loan = Loan::new(vec![Vec::new(), vec![0; 3], vec![0; 3]], Direction::Read);
        // A read into the second piece would end only with the pipe.
        let delayed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            drop(writer);
        });
        let start = Instant::now();
        let moved = transfer_loan(&mut loan, reader.as_handle(), None, TransferFlags::empty());
        assert!(moved.unwrap() == 3 && start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
        delayed.join().unwrap();
    }

    #[test]
    fn overlapped_files_are_read_and_written_at_offsets() {
        let directory = tempfile::tempdir().unwrap();
        let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE | OpenFlags::OVERLAPPED;
        let file = open(directory.path().join("file"), flags, 0o666).unwrap();
        assert_eq!(write_at(&file, b"bytes", 3), Ok(5));
        let mut bytes = [0; 8];
        assert_eq!(read_at(&file, &mut bytes, 0), Ok(8));
        assert_eq!(&bytes, b"\0\0\0bytes");
        assert_eq!(read_at(&file, &mut bytes, 8), Ok(0));
    }
}
