//! Copying ranges from file to file: a ladder from sharing the blocks down to reading and writing.
//!
//! Each rung goes on where the one above it stopped, so one that fails after a part costs nothing but time. No
//! rung's end counts as the end of the source but the last one's, which reads: there are files (of `/proc`) that the
//! upper rungs find empty.

use std::collections::BTreeSet;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::sequential::{read_next, write_next};
use super::spans::clonable;
use super::way::Way;
use super::{File, FileKind, LONGEST, cut};
use crate::buf::Pool;
use crate::error::{Error, Kind, Result};
use crate::sys::clone;

/// The request of the last rung and the size of the pipe of the one above it, in bytes.
const REQUEST: usize = 256 << 10;

/// How the bytes of a copy went, in bytes.
///
/// ```
/// let report = fullbore::file::CopyReport { cloned: 4096, through_memory: 10, ..Default::default() };
/// assert_eq!(report.bytes(), 4106);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Blocks that both files have now (`FICLONERANGE`): nothing was moved.
    pub cloned: u64,
    /// Left to the file system (`copy_file_range`), which may have shared blocks too.
    pub in_kernel: u64,
    /// Moved through a pipe in the kernel (`splice`).
    pub spliced: u64,
    /// Read and written.
    pub through_memory: u64,
}

impl CopyReport {
    /// All bytes copied.
    ///
    /// ```
    /// assert_eq!(fullbore::file::CopyReport::default().bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        self.cloned + self.in_kernel + self.spliced + self.through_memory
    }
}

/// A rung that the system can lack between two devices, whatever the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rung {
    Clone,
    Kernel,
}

/// What was found lacking between which devices; it is not tried again.
static LACKING: Mutex<BTreeSet<(Rung, u64, u64)>> = Mutex::new(BTreeSet::new());

impl File {
    /// Makes `target` have the bytes of a range of this file at `offset`, all numbers in bytes, by sharing the
    /// blocks: later writes to either part them again. All of the range or an error.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let source = File::create_new(directory.path().join("source"))?;
    /// let target = File::create_new(directory.path().join("target"))?;
    /// source.write_all_at(&[7; 8192], 0)?;
    /// match source.clone_range(0..8192, &target, 0) {
    ///     Ok(()) => assert_eq!(target.snapshot()?.len, 8192),
    ///     Err(error) => assert_eq!(error.kind(), Kind::Unsupported), // ext4, tmpfs
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Unsupported`] if the file systems cannot, or the range is not one of whole blocks (it may end with
    /// the source, if the target ends there too); [`Kind::Invalid`] if the range ends before it starts.
    pub fn clone_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<()> {
        let len = length("clone", self, &range)?;
        if len == 0 {
            return Ok(());
        }
        let refuse = |what: String| {
            Err(Error::new(Kind::Unsupported, "clone to", target.path(), what)
                .at(offset)
                .advise("copy_range copies what cannot be cloned"))
        };
        match clone_once(self, range.start, len, target, offset) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) => {
                refuse("the file system shares no blocks".to_owned())
            }
            Err(Errno::XDEV) => refuse("the files are on two file systems".to_owned()),
            Err(Errno::INVAL) => refuse(format!(
                "the range {}..{} does not exist, is not of whole blocks, or overlaps its target",
                range.start, range.end
            )),
            Err(error) => Err(Error::io("clone to", target.path(), error.into()).at(offset)),
        }
    }

    /// Copies a range of this file to `offset` of `target`, all numbers in bytes: by sharing blocks, in the kernel,
    /// through a pipe, or through memory, whatever works, each going on where the last one stopped.
    ///
    /// The copy ends where the source does: what was copied is in the report, and `0..u64::MAX` is all there is. What is
    /// read or written from front to back (pipes, devices) has no offsets: they are 0 there. Holes may be filled.
    /// A handle that drops or passes by the cache keeps doing so.
    ///
    /// ```
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("target");
    /// let source = File::open("/proc/self/status")?; // says that it is empty
    /// let target = File::create_new(&path)?;
    /// let report = source.copy_range(0..u64::MAX, &target, 0)?;
    /// assert!(report.bytes() > 0 && report.through_memory == report.bytes());
    /// assert!(std::fs::read_to_string(&path)?.contains("Pid:"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::SameFile`] if both ranges lie in one file and overlap, [`Kind::Invalid`] for offsets where there are
    /// none, and the system's errors; then a part may be copied.
    pub fn copy_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<CopyReport> {
        let mut left = length("copy", self, &range)?;
        for (file, at) in [(self, range.start), (target, offset)] {
            if at != 0 && !positional(file) {
                let what = format!("a {} has no offsets", file.kind());
                return Err(Error::new(Kind::Invalid, "copy", file.path(), what).at(at));
            }
        }
        let (from, to) = (self.snapshot()?, target.snapshot()?);
        if from.identity == to.identity && positional(self) {
            // What the copy itself adds is no part of it.
            left = left.min(from.len.saturating_sub(range.start));
            let apart =
                range.start.saturating_add(left) <= offset || offset.saturating_add(left) <= range.start;
            if left > 0 && !apart {
                let what = format!("{left} bytes from {} to {offset} of the same file overlap", range.start);
                return Err(Error::new(Kind::SameFile, "copy", self.path(), what));
            }
        }
        let mut copying = Copying {
            source: self,
            target,
            from: range.start,
            to: offset,
            left,
            devices: (from.identity.0, to.identity.0),
            plain: matches!((&self.inner.way, &target.inner.way), (Way::Plain, Way::Plain)),
            report: CopyReport::default(),
        };
        // A regular file that says it is empty may be one of /proc.
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

/// A copy on its way.
struct Copying<'a> {
    source: &'a File,
    target: &'a File,
    from: u64,
    to: u64,
    left: u64,
    /// Of source and target.
    devices: (u64, u64),
    /// Whether both go through the page cache as it comes.
    plain: bool,
    report: CopyReport,
}

impl Copying<'_> {
    /// Shares the whole blocks, after the bytes before them went the other ways.
    fn by_clone(&mut self, source_end: u64, target_end: u64) -> Result<()> {
        if self.target.kind() != FileKind::Regular || self.lacks(Rung::Clone) {
            return Ok(());
        }
        let Ok(room) = rustix::fs::fstatvfs(self.target) else { return Ok(()) };
        let range = self.from..self.from.saturating_add(self.left);
        let Some((head, len)) = clonable(&range, self.to, room.f_bsize.max(1), source_end, target_end) else {
            return Ok(());
        };
        let after = self.left - head;
        self.left = head;
        self.by_kernel()?;
        self.by_memory()?;
        let whole = self.left == 0;
        self.left += after;
        if !whole {
            return Ok(()); // the source ended meanwhile
        }
        match clone_once(self.source, self.from, len, self.target, self.to) {
            Ok(()) => self.report.cloned += self.moved(len),
            Err(error) => self.falls(Rung::Clone, error)?,
        }
        Ok(())
    }

    /// Leaves it to the file system.
    fn by_kernel(&mut self) -> Result<()> {
        if !self.plain || self.target.kind() != FileKind::Regular || self.lacks(Rung::Kernel) {
            return Ok(());
        }
        while self.left > 0 {
            let (mut from, mut to, len) = (self.from, self.to, self.request(LONGEST));
            match rustix::fs::copy_file_range(self.source, Some(&mut from), self.target, Some(&mut to), len) {
                Ok(0) => return Ok(()),
                Ok(count) => self.report.in_kernel += self.moved(count as u64),
                Err(Errno::INTR) => {}
                Err(error) => return self.falls(Rung::Kernel, error),
            }
        }
        Ok(())
    }

    /// Moves pages through a pipe: the source's own, or one between the files. Files are not spliced into a pipe that
    /// somebody else reads: it would hold the file's own pages, and show what is written to them after the copy.
    fn by_pipe(&mut self) -> Result<()> {
        let stored = |file: &File| !matches!(file.kind(), FileKind::Fifo | FileKind::Socket);
        if !self.plain || self.left == 0 {
            return Ok(());
        }
        if self.source.kind() == FileKind::Fifo {
            while self.left > 0 {
                let (mut to, len) = (self.to, self.request(REQUEST));
                let place = positional(self.target).then_some(&mut to);
                match splice(self.source, None, self.target, place, len, SpliceFlags::empty()) {
                    Ok(0) => return Ok(()),
                    Ok(count) => self.report.spliced += self.moved(count as u64),
                    Err(Errno::INTR) => {}
                    Err(error) => return self.fails(error),
                }
            }
            return Ok(());
        }
        // A pipe costs more than a small copy.
        if !stored(self.target) || !stored(self.source) || self.left <= REQUEST as u64 {
            return Ok(());
        }
        let Ok((exit, entry)) = pipe_with(PipeFlags::CLOEXEC) else { return Ok(()) };
        // A smaller pipe moves less a call and is right all the same.
        let _ = fcntl_setpipe_size(&entry, REQUEST);
        while self.left > 0 {
            let (mut from, len) = (self.from, self.request(REQUEST));
            let place = positional(self.source).then_some(&mut from);
            match splice(self.source, place, &entry, None, len, SpliceFlags::empty()) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    if !self.empty(&exit, count)? {
                        return Ok(());
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return self.fails(error),
            }
        }
        Ok(())
    }

    /// Brings the `count` bytes in a pipe to the target; whether splicing did. They have left the source, so what
    /// cannot be spliced is read from the pipe.
    fn empty(&mut self, exit: &OwnedFd, count: usize) -> Result<bool> {
        let mut inside = count;
        while inside > 0 {
            let mut to = self.to;
            let place = positional(self.target).then_some(&mut to);
            match splice(exit, None, self.target, place, inside, SpliceFlags::empty()) {
                Ok(0) => break,
                Ok(out) => {
                    inside -= out;
                    self.report.spliced += self.moved(out as u64);
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.fails(error)?;
                    break;
                }
            }
        }
        let mut rest = vec![0; inside];
        let mut read = 0;
        while read < rest.len() {
            match rustix::io::read(exit, &mut rest[read..]) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(Error::io("copy to", self.target.path(), error.into()).at(self.to)),
            }
        }
        self.put(&rest[..read])?;
        self.report.through_memory += self.moved(read as u64);
        Ok(inside == 0)
    }

    /// Reads and writes, until the source ends.
    fn by_memory(&mut self) -> Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        let name = |error| Error::io("copy", self.source.path(), error);
        let request = self.left.min(REQUEST as u64) as usize;
        let mut pool = Pool::new(1, request).map_err(name)?;
        let Some(mut buf) = pool.take() else { return Ok(()) };
        while self.left > 0 {
            // At the same place in a block as in the source, so that direct reads go straight.
            buf.place(self.from, self.left.min(request as u64) as usize);
            let read = if positional(self.source) {
                self.source.read_at(buf.data_mut(), self.from)?
            } else {
                read_next(self.source, buf.data_mut())?
            };
            if read == 0 {
                return Ok(());
            }
            self.put(&buf.data()[..read])?;
            self.report.through_memory += self.moved(read as u64);
        }
        Ok(())
    }

    /// Writes bytes at the target's place, all of them.
    fn put(&self, data: &[u8]) -> Result<()> {
        if positional(self.target) {
            return self.target.write_all_at(data, self.to);
        }
        write_next(self.target, data)
    }

    /// How many bytes to ask a call for.
    fn request(&self, most: usize) -> usize {
        cut(self.left.min(most as u64) as usize, 1)
    }

    /// Goes on by `count` bytes, and returns them.
    fn moved(&mut self, count: u64) -> u64 {
        self.from += count;
        self.to += count;
        self.left -= count;
        count
    }

    fn lacks(&self, rung: Rung) -> bool {
        let lacking = LACKING.lock().unwrap_or_else(PoisonError::into_inner);
        lacking.contains(&(rung, self.devices.0, self.devices.1))
    }

    /// As [`fails`](Self::fails); what no file of these devices can is remembered.
    fn falls(&self, rung: Rung, error: Errno) -> Result<()> {
        if matches!(error, Errno::XDEV | Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) {
            let mut lacking = LACKING.lock().unwrap_or_else(PoisonError::into_inner);
            lacking.insert((rung, self.devices.0, self.devices.1));
        }
        self.fails(error)
    }

    /// What an error of a rung means: that the next one goes on, or the end.
    fn fails(&self, error: Errno) -> Result<()> {
        match error {
            // Also what may be wrong with the files themselves (not open for this, a running program): if it is, reading
            // or writing them says so, and of which.
            Errno::XDEV
            | Errno::INVAL
            | Errno::OPNOTSUPP
            | Errno::NOTTY
            | Errno::NOSYS
            | Errno::PERM
            | Errno::ACCESS
            | Errno::BADF
            | Errno::TXTBSY
            | Errno::AGAIN
            | Errno::SPIPE
            | Errno::OVERFLOW => Ok(()),
            error => Err(Error::io("copy to", self.target.path(), error.into()).at(self.to)),
        }
    }
}

/// The length of a range.
fn length(doing: &'static str, source: &File, range: &Range<u64>) -> Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        let what = format!("the range {}..{} ends before it starts", range.start, range.end);
        Error::new(Kind::Invalid, doing, source.path(), what)
    })
}

/// Whether the file is read and written at offsets, not from front to back.
fn positional(file: &File) -> bool {
    matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice)
}

fn clone_once(source: &File, from: u64, len: u64, target: &File, to: u64) -> rustix::io::Result<()> {
    loop {
        match clone::clone_range(source.as_fd(), from, len, target.as_fd(), to) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
