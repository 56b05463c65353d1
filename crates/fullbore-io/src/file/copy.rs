//! Copies of ranges, and their methods from block sharing down to reading and writing.
//!
//! Each method continues where the previous one stopped, so if a method fails after a part, only time is lost. Only the
//! last method, which reads, determines the end of the source, because to the others some files (of `/proc`) appear empty.

use std::collections::BTreeSet;
use std::io;
use std::ops::{Range, RangeBounds};

use super::calls::{LONGEST, cut};
use super::inner::{CacheMode, File};
use super::spans::{bounded, clonable};
use super::types::CopyReport;
use crate::buf::{Direction, Pool};
use crate::error::{Error, ErrorKind, Result};
use crate::lock::Mutex;
use crate::sys::{self, AsHandle, Code, FileKind, Handle, Splice};

impl File {
    /// Clones a range of this file to `offset` of `target` (all in bytes): the files share the blocks until one of them
    /// is written. Clones the whole range or returns an error.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the file system cannot share blocks, or the range does not consist of whole blocks (it
    /// may end with the source if the target ends there too); [`ErrorKind::Invalid`] if the range ends before it starts.
    pub fn clone_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<()> {
        let len = length("clone", self, &range)?;
        if len == 0 {
            return Ok(());
        }
        let refuse = |what: String| {
            Err(Error::new(ErrorKind::Unsupported, "clone", target.path(), what)
                .at(offset)
                .advise("copy_range copies what cannot be cloned"))
        };
        match clone_once(self, range.start, len, target, offset)? {
            Ok(()) => Ok(()),
            Err(Code::UNSUPPORTED | Code::INAPPROPRIATE | Code::NOT_IMPLEMENTED) => {
                refuse("the file system cannot share blocks".to_owned())
            }
            Err(Code::CROSSES_DEVICES) => refuse("the files are on different file systems".to_owned()),
            Err(Code::INVALID) => refuse(format!(
                "the range {}..{} is not in the file, not of whole blocks, or overlaps its target",
                range.start, range.end
            )),
            Err(error) => Err(Error::io("clone", target.path(), error.into()).at(offset)),
        }
    }

    /// Copies a range of this file to `offset` of `target` (all in bytes): by sharing blocks, in the kernel, through a
    /// pipe, or through memory. Each method continues where the previous one stopped.
    ///
    /// The copy ends where the source does, so `..` copies everything; the report counts the bytes copied.
    /// Sequential files (pipes, devices) have no offsets: 0 is required there. Holes may be filled. If one of the
    /// handles drops cached pages or bypasses the cache, the copy does so too.
    ///
    /// ```
    /// use fullbore_io::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("target");
    /// let source = File::open("/proc/self/status")?; // has length 0
    /// let target = File::create_new(&path)?;
    /// let report = source.copy_range(.., &target, 0)?;
    /// assert!(report.bytes() > 0 && report.through_memory == report.bytes());
    /// assert!(std::fs::read_to_string(&path)?.contains("Pid:"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::SameFile`] if both ranges are in one file and overlap, [`ErrorKind::Invalid`] for an offset in a file without
    /// offsets, and the error of the system call; a part may have been copied then.
    pub fn copy_range(&self, range: impl RangeBounds<u64>, target: &Self, offset: u64) -> Result<CopyReport> {
        self.copy_bounded(bounded(&range), target, offset)
    }

    fn copy_bounded(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<CopyReport> {
        let mut left = length("copy", self, &range)?;
        for (file, at) in [(self, range.start), (target, offset)] {
            if at != 0 && !positional(file) {
                let what = format!("a {} has no offsets", file.kind());
                return Err(Error::new(ErrorKind::Invalid, "copy", file.path(), what).at(at));
            }
        }
        target.sound().map_err(|error| Error::io("write", target.path(), error).at(offset))?;
        let (from, to) = (self.stamp()?, target.stamp()?);
        if from.identity == to.identity && positional(self) {
            // Bytes that the copy itself appends are not part of the range.
            left = left.min(from.len.saturating_sub(range.start));
            let apart =
                range.start.saturating_add(left) <= offset || offset.saturating_add(left) <= range.start;
            if left > 0 && !apart {
                let what = format!("{left} bytes from {} to {offset} of the same file overlap", range.start);
                return Err(Error::new(ErrorKind::SameFile, "copy", self.path(), what));
            }
        }
        let mut copying = Copying {
            source: self,
            target,
            from: range.start,
            to: offset,
            left,
            devices: (from.identity.0, to.identity.0),
            plain: matches!(
                (&self.inner.cache_mode, &target.inner.cache_mode),
                (CacheMode::Plain, CacheMode::Plain)
            ),
            report: CopyReport::default(),
        };
        // A regular file of length 0 may be one of `/proc`.
        if self.kind() == FileKind::Regular && from.len > 0 {
            copying.by_clone(from.len, to.len)?;
            copying.by_kernel()?;
        }
        if self.kind() != FileKind::Regular || from.len > 0 {
            copying.by_pipe()?;
        }
        copying.by_memory()?;
        Ok(copying.report)
    }
}

fn length(doing: &'static str, source: &File, range: &Range<u64>) -> Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        let what = format!("the range {}..{} ends before it starts", range.start, range.end);
        Error::new(ErrorKind::Invalid, doing, source.path(), what)
    })
}

/// The request size of the last method and the size of the pipe of the one before it, in bytes.
const REQUEST: usize = 256 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CopyMethod {
    Clone,
    Kernel,
}

/// The methods found missing, with the devices; they are not tried again.
static UNSUPPORTED: Mutex<BTreeSet<(CopyMethod, u64, u64)>> = Mutex::new(BTreeSet::new());

pub(super) struct Copying<'a> {
    pub(super) source: &'a File,
    pub(super) target: &'a File,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) left: u64,
    pub(super) devices: (u64, u64),
    /// True if both use the page cache normally.
    pub(super) plain: bool,
    pub(super) report: CopyReport,
}

impl Copying<'_> {
    /// Shares the whole blocks, after the other methods have copied the bytes before them.
    pub(super) fn by_clone(&mut self, source_end: u64, target_end: u64) -> Result<()> {
        if self.target.kind() != FileKind::Regular || self.lacks(CopyMethod::Clone) {
            return Ok(());
        }
        let Ok(room) = sys::space(self.target) else { return Ok(()) };
        let range = self.from..self.from.saturating_add(self.left);
        let Some((head, len)) = clonable(&range, self.to, room.block.max(1), source_end, target_end) else {
            return Ok(());
        };
        let after = self.left - head;
        self.left = head;
        self.by_kernel()?;
        self.by_memory()?;
        let whole = self.left == 0;
        self.left += after;
        if !whole {
            return Ok(()); // the source was truncated meanwhile
        }
        match clone_once(self.source, self.from, len, self.target, self.to)? {
            Ok(()) => self.report.cloned += self.moved(len),
            Err(error) => self.falls(CopyMethod::Clone, error)?,
        }
        Ok(())
    }

    /// Copies in the kernel with `copy_file_range`.
    pub(super) fn by_kernel(&mut self) -> Result<()> {
        if !self.plain || self.target.kind() != FileKind::Regular || self.lacks(CopyMethod::Kernel) {
            return Ok(());
        }
        while self.left > 0 {
            let (mut from, mut to) = (self.from, self.to);
            let allowed = self.before_moving(LONGEST)?;
            match allowed.and_then(|len| sys::copy_range(self.source, &mut from, self.target, &mut to, len)) {
                Ok(0) => return Ok(()),
                Ok(count) => self.report.in_kernel += self.moved(count as u64),
                Err(Code::INTERRUPTED) => {}
                Err(error) => return self.falls(CopyMethod::Kernel, error),
            }
        }
        Ok(())
    }

    /// Moves pages through a pipe: the source itself, or one between the files. Not into a pipe that another process reads: it
    /// would hold the file's own pages, and show later writes to them.
    pub(super) fn by_pipe(&mut self) -> Result<()> {
        let stored = |file: &File| !matches!(file.kind(), FileKind::Fifo | FileKind::Socket);
        if !self.plain || self.left == 0 {
            return Ok(());
        }
        if self.source.kind() == FileKind::Fifo {
            while self.left > 0 {
                let mut to = self.to;
                let place = positional(self.target).then_some(&mut to);
                match self
                    .before_moving(REQUEST)?
                    .and_then(|len| sys::splice(self.source, None, self.target, place, len, Splice::Plain))
                {
                    Ok(0) => return Ok(()),
                    Ok(count) => self.report.spliced += self.moved(count as u64),
                    Err(Code::INTERRUPTED) => {}
                    Err(error) => return self.fails(error),
                }
            }
            return Ok(());
        }
        // Below this size a pipe costs more than the copy.
        if !stored(self.target) || !stored(self.source) || self.left <= REQUEST as u64 {
            return Ok(());
        }
        let Ok((exit, entry)) = sys::pipe() else { return Ok(()) };
        // A smaller pipe moves less per call and gives the same result.
        let _ = sys::set_pipe_capacity(&entry, REQUEST);
        while self.left > 0 {
            let allowed = self.source.before(Direction::Read, self.from, self.request(REQUEST), 0);
            let allowed = plainly(self.source, allowed)?;
            let mut from = self.from;
            let place = positional(self.source).then_some(&mut from);
            match allowed.and_then(|len| sys::splice(self.source, place, &entry, None, len, Splice::Plain)) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    if !self.empty(&exit, count)? {
                        return Ok(());
                    }
                }
                Err(Code::INTERRUPTED) => {}
                Err(error) => return self.fails(error),
            }
        }
        Ok(())
    }

    /// Moves the `count` bytes in a pipe to the target; `true` if splicing moved all. They have left the source, so the rest is
    /// read from the pipe.
    fn empty(&mut self, exit: &Handle, count: usize) -> Result<bool> {
        let mut inside = count;
        while inside > 0 {
            let mut to = self.to;
            let place = positional(self.target).then_some(&mut to);
            let allowed = plainly(self.target, self.target.before(Direction::Write, self.to, inside, 0))?;
            match allowed.and_then(|len| sys::splice(exit, None, self.target, place, len, Splice::Plain)) {
                Ok(0) => break,
                Ok(out) => {
                    inside -= out;
                    self.report.spliced += self.moved(out as u64);
                }
                Err(Code::INTERRUPTED) => {}
                Err(error) => {
                    self.fails(error)?;
                    break;
                }
            }
        }
        let mut rest = vec![0; inside];
        let mut read = 0;
        while read < rest.len() {
            match sys::read(exit, &mut rest[read..]) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(Code::INTERRUPTED) => {}
                Err(error) => return Err(Error::io("write", self.target.path(), error.into()).at(self.to)),
            }
        }
        self.put(&rest[..read])?;
        self.report.through_memory += self.moved(read as u64);
        Ok(inside == 0)
    }

    pub(super) fn by_memory(&mut self) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        let name = |error| Error::io("copy", self.source.path(), error);
        let request = self.left.min(REQUEST as u64) as usize;
        let mut pool = Pool::new(1, request).map_err(name)?;
        let Some(mut buf) = pool.take() else { return Ok(()) };
        while self.left > 0 {
            // At the same offset within a block as in the source, so that direct reads need no bounce buffer.
            buf.place(self.from, self.left.min(request as u64) as usize);
            let read = if positional(self.source) {
                self.source.read_at(buf.data_mut(), self.from)?
            } else {
                self.source.read_next(buf.data_mut())?
            };
            if read == 0 {
                return Ok(());
            }
            self.put(&buf.data()[..read])?;
            self.report.through_memory += self.moved(read as u64);
        }
        Ok(())
    }

    fn put(&self, data: &[u8]) -> Result<()> {
        if positional(self.target) {
            return self.target.write_all_at(data, self.to);
        }
        self.target.write_all_next(data)
    }

    fn request(&self, most: usize) -> usize {
        cut(self.left.min(most as u64) as usize, 1)
    }

    /// Returns the number of bytes, at most `most`, that a call that reads and writes may request.
    fn before_moving(&self, most: usize) -> Result<sys::Result<usize>> {
        let allowed = self
            .target
            .sound()
            .and_then(|()| self.source.before(Direction::Read, self.from, self.request(most), 0))
            .and_then(|len| self.target.before(Direction::Write, self.to, len, 0));
        plainly(self.target, allowed)
    }

    fn moved(&mut self, count: u64) -> u64 {
        self.from += count;
        self.to += count;
        self.left -= count;
        count
    }

    fn lacks(&self, method: CopyMethod) -> bool {
        let lacking = UNSUPPORTED.lock();
        lacking.contains(&(method, self.devices.0, self.devices.1))
    }

    /// As [`fails`](Self::fails); also records a method that these devices do not support for any file.
    fn falls(&self, method: CopyMethod, error: Code) -> Result<()> {
        note_error(method, self.devices, error);
        self.fails(error)
    }

    /// Classifies an error of a method: `Ok` if the next method continues, else the end of the copy.
    fn fails(&self, error: Code) -> Result<()> {
        match error {
            // Includes errors that may be due to the files (not open for this, a running program): then reading or
            // writing them fails too, and names the right file.
            Code::CROSSES_DEVICES
            | Code::INVALID
            | Code::UNSUPPORTED
            | Code::INAPPROPRIATE
            | Code::NOT_IMPLEMENTED
            | Code::NOT_PERMITTED
            | Code::ACCESS_DENIED
            | Code::BAD_HANDLE
            | Code::LOCKED
            | Code::MAPPED
            | Code::WOULD_BLOCK
            | Code::NOT_SEEKABLE
            | Code::OVERFLOW => Ok(()),
            error => {
                // The system does not tell which file failed.
                if positional(self.source) {
                    self.source.read_at(&mut [0], self.from)?;
                }
                Err(Error::io("write", self.target.path(), error.into()).at(self.to))
            }
        }
    }
}

/// Records a method that two devices do not support for any file, by its error.
fn note_error(method: CopyMethod, devices: (u64, u64), error: Code) {
    if matches!(
        error,
        Code::CROSSES_DEVICES | Code::UNSUPPORTED | Code::INAPPROPRIATE | Code::NOT_IMPLEMENTED
    ) {
        UNSUPPORTED.lock().insert((method, devices.0, devices.1));
    }
}

/// True if sharing blocks between two devices may work: it has not failed for them so far. Subvolumes of one file system have
/// different devices.
pub fn clones(devices: (u64, u64)) -> bool {
    !UNSUPPORTED.lock().contains(&(CopyMethod::Clone, devices.0, devices.1))
}

/// Shares all blocks of a file with a new one; `true` if `target` is complete. It makes few calls, because it is used
/// for many files.
pub fn share_all(source: impl AsHandle, target: impl AsHandle, devices: (u64, u64)) -> bool {
    sys::clone_range(source.as_handle(), 0, 0, target.as_handle(), 0)
        .inspect_err(|error| note_error(CopyMethod::Clone, devices, *error))
        .is_ok()
}

pub(super) fn positional(file: &File) -> bool {
    matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice)
}

/// The result of a check before a call on `file`, with system errors passed on for the methods to classify.
fn plainly<T>(file: &File, allowed: io::Result<T>) -> Result<sys::Result<T>> {
    match allowed {
        Ok(allowed) => Ok(Ok(allowed)),
        Err(error) => match Code::of(&error) {
            Some(error) => Ok(Err(error)),
            None => Err(Error::io("write", file.path(), error)),
        },
    }
}

pub(super) fn clone_once(
    source: &File,
    from: u64,
    len: u64,
    target: &File,
    to: u64,
) -> Result<sys::Result<()>> {
    let all = usize::try_from(len).unwrap_or(usize::MAX);
    let allowed = target
        .sound()
        .and_then(|()| source.before_whole(Direction::Read, from, all))
        .and_then(|()| target.before_whole(Direction::Write, to, all));
    if let Err(error) = plainly(target, allowed)? {
        return Ok(Err(error));
    }
    let clone = || sys::clone_range(source.as_handle(), from, len, target.as_handle(), to);
    Ok(sys::uninterrupted(clone))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The copy is complete and nothing is duplicated for any part that each method copies before it stops.
    #[test]
    fn each_method_continues_where_the_previous_one_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let data: Vec<u8> = (0..3_000_000u32).map(|value| (value % 251) as u8).collect();
        let source = File::create_new(directory.path().join("source")).unwrap();
        source.write_all_at(&data, 0).unwrap();
        for (index, shares) in
            [[0, 0], [1, 1], [4096, 600_000], [700_001, 1], [1_000_000, 999_999], [1, 2_000_000]]
                .into_iter()
                .enumerate()
        {
            let path = directory.path().join(format!("target-{index}"));
            let target = File::create_new(&path).unwrap();
            let mut copying = Copying {
                source: &source,
                target: &target,
                from: 3,
                to: 5,
                left: 0,
                // A device that does not exist, so no method is recorded as missing.
                devices: (u64::MAX, u64::MAX),
                plain: true,
                report: CopyReport::default(),
            };
            copying.left = shares[0];
            copying.by_kernel().unwrap();
            copying.left += shares[1];
            copying.by_pipe().unwrap();
            copying.left = u64::MAX - copying.from;
            copying.by_memory().unwrap();
            let copied = data.len() - 3;
            assert_eq!(copying.report.bytes(), copied as u64);
            let found = std::fs::read(&path).unwrap();
            assert!(found[..5] == [0; 5] && found[5..] == data[3..], "{shares:?}: {:?}", copying.report);
        }
    }
}
