//! Locks on ranges of bytes that belong to the open file, not to the process (`man 2 fcntl_locking`, "Open file
//! description locks"). Threads with separate handles exclude one another, and closing another handle releases nothing.
//! POSIX record locks do neither, which makes them useless to libraries.

use std::io;
use std::ops::Range;

use super::File;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, LockRequest};

/// The level of a lock on a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeLock {
    /// Others may hold a shared lock too. The file must be open for reading.
    Shared,
    /// No other lock is possible. The file must be open for writing.
    Exclusive,
}

/// A held lock on a range, released on drop. See [`File::lock_range`].
#[derive(Debug)]
pub struct RangeGuard {
    file: File,
    range: Range<u64>,
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        // The only failure on release is one that the caller could not handle.
        let _ = sys::lock_range(self.file.as_handle(), &self.range, LockRequest::None);
    }
}

impl File {
    /// Locks a range of bytes; blocks while a conflicting lock is held. The lock is advisory: it affects only processes
    /// that request locks. On Windows it also binds transfers through every other handle, those of this process
    /// included ([reopened](Self::reopen) ones, direct ones): they fail with [`ErrorKind::Locked`]. The range may extend
    /// past the end of the file; an end above 2^63 means any later length. Handles that share one open file (clones,
    /// [`try_clone`](Self::try_clone)) are one owner: a second lock through them changes the first; on
    /// Windows it conflicts with the first, unless both are shared.
    ///
    /// ```
    /// use fullbore_io::file::{File, RangeLock};
    /// # fn main() -> fullbore_io::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("records");
    /// let one = File::create_new(&path)?;
    /// let two = File::open_write(&path)?;
    /// let guard = one.lock_range(0..100, RangeLock::Exclusive)?;
    /// assert!(two.try_lock_range(50..60, RangeLock::Shared)?.is_none());
    /// assert!(two.try_lock_range(100..200, RangeLock::Exclusive)?.is_some());
    /// drop(guard);
    /// assert!(two.try_lock_range(50..60, RangeLock::Shared)?.is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty range; if the file is not open for the access that the lock needs, and if the
    /// system call fails.
    pub fn lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<RangeGuard> {
        self.check_range(&range)?;
        sys::lock_range(self.as_handle(), &range, request(lock))
            .map_err(|error| self.refused(&range, error))?;
        Ok(RangeGuard { file: self.clone(), range })
    }

    /// As [`lock_range`](Self::lock_range) without waiting; `None` if a conflicting lock is held.
    ///
    /// # Errors
    /// As [`lock_range`](Self::lock_range).
    pub fn try_lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<Option<RangeGuard>> {
        self.check_range(&range)?;
        let taken = sys::try_lock_range(self.as_handle(), &range, request(lock));
        let taken = taken.map_err(|error| self.refused(&range, error))?;
        Ok(taken.then(|| RangeGuard { file: self.clone(), range }))
    }

    fn check_range(&self, range: &Range<u64>) -> Result<()> {
        if range.start < range.end && i64::try_from(range.start).is_ok() {
            return Ok(());
        }
        // The system takes a length of 0 as "to the end".
        let what = format!("{}..{} is not a range of bytes", range.start, range.end);
        Err(Error::new(ErrorKind::Invalid, "lock", self.path(), what).advise("give a start below the end"))
    }

    fn refused(&self, range: &Range<u64>, error: io::Error) -> Error {
        Error::io("lock", self.path(), error).at(range.start)
    }
}

fn request(lock: RangeLock) -> LockRequest {
    match lock {
        RangeLock::Shared => LockRequest::Shared,
        RangeLock::Exclusive => LockRequest::Exclusive,
    }
}
