//! The length of a file, its allocated blocks and its holes.

use std::ops::Range;
use std::sync::RwLockWriteGuard;

use super::inner::{CacheMode, File};
use super::on_close::release;
use super::types::Call;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::Mutex;
use crate::sys::{self, Allocate, AsHandle, Code, FileKind, Handle, SeekFrom};

/// The system finds holes by moving the position, which [`File::seekable_len`] reads: it is restored under this lock.
pub(super) static POSITION: Mutex<()> = Mutex::new(());

/// Allocates or frees blocks. A call that a signal interrupts is repeated, but not for ever: tmpfs begins again each time (before
/// Linux 6.10), and a periodic signal may always come before the end.
pub(super) fn allocate(fd: impl AsHandle, what: Allocate, offset: u64, len: u64) -> sys::Result<()> {
    const ATTEMPTS: usize = 100;
    let mut attempts = (0..ATTEMPTS).map(|_| sys::allocate(&fd, what, offset, len));
    attempts.find(|done| *done != Err(Code::INTERRUPTED)).unwrap_or(Err(Code::INTERRUPTED))
}

impl File {
    /// Sets the length in bytes: bytes past a smaller length are lost, bytes up to a larger one read as zeros.
    ///
    /// # Errors
    /// If the system call fails: for a file opened for reading only, and for anything but a regular file.
    #[inline]
    pub fn set_len(&self, len: u64) -> Result<()> {
        let _edges = self.edges();
        self.sound()
            .and_then(|()| self.judge(Call::SetLen { len }))
            .and_then(|()| Ok(sys::uninterrupted(|| sys::truncate(&self.inner.fd, len))?))
            .map_err(|error| Error::io("set its length", &self.inner.path, error))
    }

    /// Declares the first `len` bytes of the file as written (Windows, `SetFileValidData`), so that a write after the last written
    /// byte does not first fill the bytes before it with zeros. Until these bytes are written, they read as the previous contents
    /// of the blocks, possibly of deleted files of other users. `len` is at most the length of the file.
    ///
    /// ```
    /// use fullbore_io::error::ErrorKind;
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// file.set_len(1 << 20)?;
    /// if let Err(error) = file.set_valid_len(1 << 20) {
    ///     assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without the privilege `SeManageVolumePrivilege`, which administrators have;
    /// [`ErrorKind::Unsupported`] on other systems, which track the written blocks, and on file systems other than NTFS.
    pub fn set_valid_len(&self, len: u64) -> Result<()> {
        sys::set_valid_length(&self.inner.fd, len).map_err(|error| {
            let path = &self.inner.path;
            match error {
                Code::UNSUPPORTED | Code::NOT_IMPLEMENTED | Code::INAPPROPRIATE => Error::new(
                    ErrorKind::Unsupported,
                    "set its valid length",
                    path,
                    "this system tracks the written blocks itself",
                ),
                Code::NOT_PERMITTED => Error::new(
                    ErrorKind::PermissionDenied,
                    "set its valid length",
                    path,
                    "it needs the privilege SeManageVolumePrivilege",
                )
                .advise("run as administrator, or write the file from front to back"),
                error => Error::io("set its valid length", path, error.into()),
            }
        })
    }

    /// Reserves blocks for a range, in bytes, so that later writes there do not run out of space. Content and length
    /// do not change; blocks past the end hold no bytes. The blocks stay until the length is set or an
    /// [output](super::Output) is committed; those of [`OpenOptions::reserve`](super::OpenOptions::reserve) stay only
    /// until the file is closed.
    ///
    /// ```
    /// use fullbore_io::error::ErrorKind;
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// match file.reserve(0..1 << 20) {
    ///     Ok(()) => assert_eq!(file.stamp()?.len, 0),
    ///     Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] if there is not enough space, [`ErrorKind::Unsupported`] if the file system cannot allocate,
    /// [`ErrorKind::Invalid`] if the range ends before it starts.
    pub fn reserve(&self, range: Range<u64>) -> Result<()> {
        let end = range.end;
        let reserved = self.fallocate("reserve space", Allocate::KeepLength, range);
        // A call that finds too little space may keep the blocks that it has reserved.
        if reserved.as_ref().map_or_else(|error| error.kind() == ErrorKind::NoSpace, |()| true) {
            self.inner.health.set_reserved(end);
        }
        reserved
    }

    /// Makes a range, in bytes, read as zeros, and frees the blocks that are completely inside it. The length stays.
    ///
    /// ```
    /// use fullbore_io::error::ErrorKind;
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(&[1; 10_000], 0)?;
    /// match file.punch_hole(1..9_999) {
    ///     Ok(()) => {
    ///         let mut read = [9; 10_000];
    ///         file.read_exact_at(&mut read, 0)?;
    ///         assert_eq!((read[0], read[1], read[9_998], read[9_999]), (1, 0, 0, 1));
    ///     }
    ///     Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn punch_hole(&self, range: Range<u64>) -> Result<()> {
        self.fallocate("punch a hole", Allocate::Punch, range)
    }

    /// Makes a range, in bytes, read as zeros, and keeps or allocates its blocks, without writing them if the file
    /// system can mark them. The length stays.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve); tmpfs does not support it.
    pub fn zero_range(&self, range: Range<u64>) -> Result<()> {
        self.fallocate("zero a range", Allocate::Zero, range)
    }

    /// Locks out direct writes of parts of blocks: a block must not be written back past a new end, or over a new hole.
    fn edges(&self) -> Option<RwLockWriteGuard<'static, ()>> {
        match &self.inner.cache_mode {
            CacheMode::Direct(direct) => Some(direct.edges()),
            _ => None,
        }
    }

    fn fallocate(&self, doing: &'static str, what: Allocate, range: Range<u64>) -> Result<()> {
        let path = &self.inner.path;
        let Some(len) = range.end.checked_sub(range.start) else {
            let what = format!("the range {}..{} ends before it starts", range.start, range.end);
            return Err(Error::new(ErrorKind::Invalid, doing, path, what));
        };
        if len == 0 {
            return Ok(());
        }
        let _edges = self.edges();
        let offset = range.start;
        let call = match what {
            Allocate::Punch => Call::Punch { offset, len },
            Allocate::Zero => Call::Zero { offset, len },
            Allocate::KeepLength => Call::Allocate { offset, len, extends: false },
            Allocate::Extend => Call::Allocate { offset, len, extends: true },
        };
        self.sound()
            .and_then(|()| self.judge(call))
            .map_err(|error| Error::io(doing, path, error).at(offset))?;
        match allocate(&self.inner.fd, what, offset, len) {
            Ok(()) => Ok(()),
            Err(Code::UNSUPPORTED | Code::NO_DEVICE | Code::NOT_SEEKABLE | Code::NOT_IMPLEMENTED) => {
                let what = match self.kind() {
                    FileKind::Regular => "the file system does not support it".to_owned(),
                    kind => format!("a {kind} has no blocks"),
                };
                Err(Error::new(ErrorKind::Unsupported, doing, path, what).at(offset))
            }
            Err(error) => Err(Error::io(doing, path, error.into()).at(offset)),
        }
    }

    /// Returns the offset of the next data at or after `offset`, in bytes; `None` if only a hole or the end follows.
    /// File systems without holes report everything as data, and others may report zeros as data. A hole is reported only after
    /// two equal answers from the system, because a single answer can report data as a hole while it is written back.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore_io::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"data", 1 << 20)?;
    /// let data = file.seek_data(0)?.expect("there is some");
    /// assert!(data <= 1 << 20);
    /// assert_eq!(file.seek_data(1 << 21)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for sequential files, and the error of the system call.
    pub fn seek_data(&self, offset: u64) -> Result<Option<u64>> {
        self.seek("find data", SeekFrom::Data(offset), offset)
    }

    /// Returns the offset of the next hole at or after `offset`, in bytes; the end counts as one. `None` if `offset` is
    /// at or past the end.
    pub fn seek_hole(&self, offset: u64) -> Result<Option<u64>> {
        self.seek("find a hole", SeekFrom::Hole(offset), offset)
    }

    fn seek(&self, doing: &'static str, to: SeekFrom, offset: u64) -> Result<Option<u64>> {
        match self.kind() {
            FileKind::Regular if sys::HOLES_HAVE_NO_DATA => {}
            FileKind::Regular | FileKind::BlockDevice => {
                // A device has no holes, and Linux does not query it.
                let len = self.stamp()?.len;
                let found = if matches!(to, SeekFrom::Data(_)) { offset } else { len };
                return Ok((offset < len).then_some(found));
            }
            kind => {
                let what = format!("a {kind} has no offsets");
                return Err(Error::new(ErrorKind::Unsupported, doing, self.path(), what));
            }
        }
        if offset > i64::MAX as u64 {
            return Ok(None);
        }
        let name = |error: Code| Error::io(doing, self.path(), error.into()).at(offset);
        sys::show_dirty_pages(self).map_err(name)?;
        let own = self.with_own_position();
        let handle = own.as_ref().map_or(self.as_handle(), AsHandle::as_handle);
        let _alone = POSITION.lock();
        let position = sys::position(handle).map_err(name)?;
        let mut found = sys::seek(handle, to);
        // Linux looks up the extent before the page cache. A page that is written and dropped between the two (`RWF_DONTCACHE`
        // in a reserved range; seen on 6.18) looks like a hole. The second answer has the new extent, so two equal answers are
        // right.
        while !(matches!(to, SeekFrom::Data(_)) && found == Ok(offset)) {
            let last = std::mem::replace(&mut found, sys::seek(handle, to));
            if found == last {
                break;
            }
        }
        sys::seek(handle, SeekFrom::Start(position)).map_err(name)?;
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Code::NO_SUCH_ADDRESS) => Ok(None),
            Err(error) => Err(name(error)),
        }
    }

    /// Returns another handle if others may use the position of this one.
    pub(super) fn with_own_position(&self) -> Option<Handle> {
        let shared = self.inner.start.is_some() || self.inner.health.given_away();
        if shared { self.reopen_fd(false).ok() } else { None }
    }

    /// Allocates blocks for the first `len` bytes, and extends a shorter file to that length, so that no later write has to
    /// allocate or extend.
    ///
    /// # Errors
    /// [`ErrorKind::NoSpace`] if there is not enough space, [`ErrorKind::Unsupported`] if the file system cannot allocate.
    pub fn allocate_and_extend(&self, len: u64) -> Result<()> {
        self.fallocate("allocate", Allocate::Extend, 0..len)
    }

    pub(super) fn release_reserved(&self) -> Result<()> {
        release(self, self.inner.health.reserved())
            .map_err(|error| Error::io("release its reserved space", self.path(), error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::CachePolicy;

    #[test]
    fn the_length_stays_while_a_direct_write_changes_a_part_of_a_block() {
        let directory = tempfile::tempdir_in(fullbore_testkit::ground::build_directory()).unwrap();
        let file = File::create_new(directory.path().join("file")).unwrap().with_cache(CachePolicy::Direct).0;
        let CacheMode::Direct(direct) = &file.inner.cache_mode else {
            println!("skipped: no direct transfers");
            return;
        };
        let edges = direct.edges();
        let len = std::thread::scope(|scope| {
            scope.spawn(|| file.set_len(1));
            scope.spawn(|| file.allocate_and_extend(5000));
            std::thread::sleep(std::time::Duration::from_millis(50));
            let len = file.len();
            drop(edges);
            len
        });
        assert_eq!(len.unwrap(), 0);
        file.allocate_and_extend(0).unwrap();
    }
}
