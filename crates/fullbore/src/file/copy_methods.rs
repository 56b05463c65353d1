//! The methods of a copy, from sharing the blocks down to reading and writing.
//!
//! Each method goes on where the one above it stopped, so one that fails after a part costs nothing but time. No
//! method's end counts as the end of the source but the last one's, which reads: there are files (of `/proc`) that the
//! upper methods find empty.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::spans::clonable;
use super::{CopyReport, File, FileKind, LONGEST, cut};
use crate::buf::{Direction, Pool};
use crate::error::{Error, Result};
use crate::sys::clone;

/// The request of the last method and the size of the pipe of the one above it, in bytes.
const REQUEST: usize = 256 << 10;

/// A method that the system can lack between two devices, whatever the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CopyMethod {
    Clone,
    Kernel,
}

/// What was found lacking between which devices; it is not tried again.
static UNSUPPORTED: Mutex<BTreeSet<(CopyMethod, u64, u64)>> = Mutex::new(BTreeSet::new());

/// A copy on its way.
pub(super) struct Copying<'a> {
    pub(super) source: &'a File,
    pub(super) target: &'a File,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) left: u64,
    /// Of source and target.
    pub(super) devices: (u64, u64),
    /// Whether both go through the page cache as it comes.
    pub(super) plain: bool,
    pub(super) report: CopyReport,
}

impl Copying<'_> {
    /// Shares the whole blocks, after the bytes before them went the other ways.
    pub(super) fn by_clone(&mut self, source_end: u64, target_end: u64) -> Result<()> {
        if self.target.kind() != FileKind::Regular || self.lacks(CopyMethod::Clone) {
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
        match clone_once(self.source, self.from, len, self.target, self.to)? {
            Ok(()) => self.report.cloned += self.moved(len),
            Err(error) => self.falls(CopyMethod::Clone, error)?,
        }
        Ok(())
    }

    /// Leaves it to the file system.
    pub(super) fn by_kernel(&mut self) -> Result<()> {
        if !self.plain || self.target.kind() != FileKind::Regular || self.lacks(CopyMethod::Kernel) {
            return Ok(());
        }
        while self.left > 0 {
            let (mut from, mut to) = (self.from, self.to);
            let allowed = self.before_moving(LONGEST)?;
            match allowed.and_then(|len| {
                rustix::fs::copy_file_range(self.source, Some(&mut from), self.target, Some(&mut to), len)
            }) {
                Ok(0) => return Ok(()),
                Ok(count) => self.report.in_kernel += self.moved(count as u64),
                Err(Errno::INTR) => {}
                Err(error) => return self.falls(CopyMethod::Kernel, error),
            }
        }
        Ok(())
    }

    /// Moves pages through a pipe: the source's own, or one between the files. Files are not spliced into a pipe that
    /// somebody else reads: it would hold the file's own pages, and show what is written to them after the copy.
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
                    .and_then(|len| splice(self.source, None, self.target, place, len, SpliceFlags::empty()))
                {
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
            let allowed = self.source.before(Direction::Read, self.from, self.request(REQUEST));
            let allowed = plainly(self.source, allowed)?;
            let mut from = self.from;
            let place = positional(self.source).then_some(&mut from);
            match allowed.and_then(|len| splice(self.source, place, &entry, None, len, SpliceFlags::empty()))
            {
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
            let allowed = plainly(self.target, self.target.before(Direction::Write, self.to, inside))?;
            match allowed.and_then(|len| splice(exit, None, self.target, place, len, SpliceFlags::empty())) {
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
    pub(super) fn by_memory(&mut self) -> Result<()> {
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

    /// Writes bytes at the target's place, all of them.
    fn put(&self, data: &[u8]) -> Result<()> {
        if positional(self.target) {
            return self.target.write_all_at(data, self.to);
        }
        self.target.write_all_next(data)
    }

    /// How many bytes to ask a call for.
    fn request(&self, most: usize) -> usize {
        cut(self.left.min(most as u64) as usize, 1)
    }

    /// How many bytes a call that reads and writes may be asked for, at most `most`; or how it has failed.
    fn before_moving(&self, most: usize) -> Result<rustix::io::Result<usize>> {
        let allowed = self
            .target
            .sound()
            .and_then(|()| self.source.before(Direction::Read, self.from, self.request(most)))
            .and_then(|len| self.target.before(Direction::Write, self.to, len));
        plainly(self.target, allowed)
    }

    /// Goes on by `count` bytes, and returns them.
    fn moved(&mut self, count: u64) -> u64 {
        self.from += count;
        self.to += count;
        self.left -= count;
        count
    }

    fn lacks(&self, method: CopyMethod) -> bool {
        let lacking = lacking();
        lacking.contains(&(method, self.devices.0, self.devices.1))
    }

    /// As [`fails`](Self::fails); what no file of these devices can is remembered.
    fn falls(&self, method: CopyMethod, error: Errno) -> Result<()> {
        if matches!(error, Errno::XDEV | Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) {
            lacking().insert((method, self.devices.0, self.devices.1));
        }
        self.fails(error)
    }

    /// What an error of a method means: that the next one goes on, or the end.
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

/// Whether it is worth trying to share blocks between two devices: nobody has found yet that it cannot be done.
pub(crate) fn clones(devices: (u64, u64)) -> bool {
    devices.0 == devices.1 && !lacking().contains(&(CopyMethod::Clone, devices.0, devices.1))
}

/// Shares all blocks of a file of `len` bytes with a new one on the same device, if that can be done; and then `target` is
/// whole. For files of which there are many: no more calls than need be.
pub(crate) fn share_all(source: impl AsFd, target: impl AsFd, devices: (u64, u64)) -> bool {
    match clone::clone_range(source.as_fd(), 0, 0, target.as_fd(), 0) {
        Ok(()) => true,
        Err(error) => {
            if matches!(error, Errno::XDEV | Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) {
                lacking().insert((CopyMethod::Clone, devices.0, devices.1));
            }
            false
        }
    }
}

fn lacking() -> std::sync::MutexGuard<'static, BTreeSet<(CopyMethod, u64, u64)>> {
    UNSUPPORTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the file is read and written at offsets, not from front to back.
pub(super) fn positional(file: &File) -> bool {
    matches!(file.kind(), FileKind::Regular | FileKind::BlockDevice)
}

/// What was asked before a call on `file`, with a failure of the system's sort for the methods to judge.
fn plainly<T>(file: &File, allowed: io::Result<T>) -> Result<rustix::io::Result<T>> {
    match allowed {
        Ok(allowed) => Ok(Ok(allowed)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(error) => Ok(Err(error)),
            None => Err(Error::io("copy to", file.path(), error)),
        },
    }
}

/// Shares blocks, if the files let it.
pub(super) fn clone_once(
    source: &File,
    from: u64,
    len: u64,
    target: &File,
    to: u64,
) -> Result<rustix::io::Result<()>> {
    let all = usize::try_from(len).unwrap_or(usize::MAX);
    let allowed = target
        .sound()
        .and_then(|()| source.before_whole(Direction::Read, from, all))
        .and_then(|()| target.before_whole(Direction::Write, to, all));
    if let Err(error) = plainly(target, allowed)? {
        return Ok(Err(error));
    }
    Ok(loop {
        match clone::clone_range(source.as_fd(), from, len, target.as_fd(), to) {
            Err(Errno::INTR) => {}
            result => break result,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever share of a copy each method did before it stopped, the copy is whole and nothing stands twice.
    #[test]
    fn each_rung_goes_on_where_the_last_one_stopped() {
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
                // Of no device that is: nothing is known of what they lack.
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
