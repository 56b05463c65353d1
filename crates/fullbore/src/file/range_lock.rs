//! Locks on ranges of bytes, which belong to the open file and not to the process (`man 2 fcntl_locking`, "Open file
//! description locks"): threads with handles of their own exclude one another, and closing some other handle gives
//! nothing up, which made POSIX record locks useless to libraries.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use super::File;
use crate::error::{Error, Kind, Result};
use crate::sys::range_lock::{self, LockRequest};

/// What a lock on a range keeps others from.
///
/// [`File::lock_range`] shows it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::{File, RangeLock};
/// # let path = directory.path().join("file");
/// let (one, two) = (File::create_new(&path)?, File::open_write(&path)?);
/// let _one = one.lock_range(0..10, RangeLock::Shared)?;
/// assert!(two.try_lock_range(0..10, RangeLock::Shared)?.is_some());
/// assert!(two.try_lock_range(0..10, RangeLock::Exclusive)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeLock {
    /// Others may share it. The file must be open for reading.
    Shared,
    /// Nobody else may. The file must be open for writing.
    Exclusive,
}

/// A lock on a range, given up when this is dropped.
///
/// [`File::lock_range`] shows it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore::file::{File, RangeLock};
/// # let path = directory.path().join("file");
/// let (one, two) = (File::create_new(&path)?, File::open_write(&path)?);
/// let guard = one.lock_range(0..10, RangeLock::Exclusive)?;
/// assert!(two.try_lock_range(0..10, RangeLock::Shared)?.is_none());
/// drop(guard);
/// assert!(two.try_lock_range(0..10, RangeLock::Shared)?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RangeGuard {
    file: File,
    range: Range<u64>,
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        // Giving up what is held cannot fail in a way that anybody could mend.
        let _ = range_lock::set(self.file.as_fd(), &self.range, LockRequest::None);
    }
}

impl File {
    /// Locks a range of bytes, waiting for whoever holds one against it. Advisory: it binds those who ask. The range may
    /// lie past the end; an end past 2^63 means however far the file grows. Handles that share one open file
    /// (clones, [`try_clone`](Self::try_clone)) are one owner: for them a second lock changes the first.
    ///
    /// ```
    /// use fullbore::file::{File, RangeLock};
    /// # fn main() -> fullbore::Result<()> {
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
    /// [`Kind::Invalid`] for an empty range; if the file is not open for what the lock needs, and if the system refuses.
    pub fn lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<RangeGuard> {
        self.check_range(&range)?;
        range_lock::set(self.as_fd(), &range, request(lock)).map_err(|error| self.refused(&range, error))?;
        Ok(RangeGuard { file: self.clone(), range })
    }

    /// As [`lock_range`](Self::lock_range) without waiting; `None` if somebody holds a lock against it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore::file::{File, RangeLock};
    /// # let path = directory.path().join("file");
    /// let (one, two) = (File::create_new(&path)?, File::open_write(&path)?);
    /// let _one = one.lock_range(0..10, RangeLock::Exclusive)?;
    /// assert!(two.try_lock_range(5..6, RangeLock::Exclusive)?.is_none());
    /// assert!(two.try_lock_range(10..11, RangeLock::Exclusive)?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`lock_range`](Self::lock_range).
    pub fn try_lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<Option<RangeGuard>> {
        self.check_range(&range)?;
        let taken = range_lock::try_set(self.as_fd(), &range, request(lock));
        let taken = taken.map_err(|error| self.refused(&range, error))?;
        Ok(taken.then(|| RangeGuard { file: self.clone(), range }))
    }

    fn check_range(&self, range: &Range<u64>) -> Result<()> {
        if range.start < range.end && i64::try_from(range.start).is_ok() {
            return Ok(());
        }
        // For the system, a length of zero is "to the end".
        let what = format!("{}..{} is no range of bytes", range.start, range.end);
        Err(Error::new(Kind::Invalid, "lock", self.path(), what).advise("give a start below the end"))
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
