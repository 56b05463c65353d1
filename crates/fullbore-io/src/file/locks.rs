//! Share locks of whole files, and locks on ranges of bytes. Both belong to the open file, not to the process (`man 2
//! fcntl_locking`, "Open file description locks"): threads with separate handles exclude one another, and closing one handle
//! does not release the locks of another. POSIX record locks guarantee neither, so libraries cannot use them.

use std::ops::Range;
use std::time::Duration;

use super::inner::File;
use super::options::Share;
use super::types::Support;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, Code, Handle, LockRequest};

/// The reason for not trying a lock on a file system of this type: on NFS and SMB a shared lock with write access succeeds and
/// writes are dropped (dotnet/runtime issues 44546, 53182).
fn skipped(share: Share, writes: bool, kind: sys::FileSystemKind) -> Option<String> {
    let drops_writes = share != Share::NONE && writes && kind.is_nfs_or_smb();
    drops_writes.then(|| format!("shared lock with write access skipped: {}", kind.name()))
}

/// Takes the share lock without waiting; `Err` if a conflicting one is held.
pub(super) fn lock_whole(fd: &Handle, share: Share, writes: bool) -> sys::Result<Support> {
    // The open has set the share mode, if the system has them.
    if sys::SHARE_MODES {
        return Ok(Support::Native);
    }
    let exclusive = share == Share::NONE;
    if !exclusive
        && writes
        && let Ok(kind) = sys::file_system_kind(fd)
        && let Some(why) = skipped(share, writes, kind)
    {
        return Ok(Support::Unsupported(why));
    }
    let operation = if exclusive { LockRequest::Exclusive } else { LockRequest::Shared };
    match sys::uninterrupted(|| sys::lock_whole(fd, operation)) {
        Ok(()) if exclusive => Ok(Support::Native),
        Ok(()) => Ok(Support::Emulated("one shared lock: it excludes exclusive locks only".to_owned())),
        Err(Code::WOULD_BLOCK) => Err(Code::WOULD_BLOCK),
        // The error of an SMB server for a conflict.
        Err(Code::ACCESS_DENIED) if sys::file_system_kind(fd).is_ok_and(|kind| kind.is_nfs_or_smb()) => {
            Err(Code::WOULD_BLOCK)
        }
        Err(error) => {
            let error = crate::error::reason(&error.into());
            Ok(Support::Unsupported(format!("the system cannot lock it: {error}")))
        }
    }
}

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
#[must_use = "the lock is released when its guard is dropped"]
pub struct RangeGuard {
    file: File,
    range: Range<u64>,
    /// Number of forks when the lock was taken.
    forks: u32,
}

impl RangeGuard {
    fn new(file: &File, range: Range<u64>) -> Self {
        Self { file: file.clone(), range, forks: sys::forks() }
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        // A forked child shares the lock with its parent.
        if sys::forks() != self.forks {
            return;
        }
        // The only failure on release is one that the caller could not handle.
        let _ = sys::lock_range(self.file.as_handle(), &self.range, LockRequest::None, true);
    }
}

/// Repeats `attempt` while the lock is held elsewhere, on a system where a call that waits would keep all other calls through the
/// handle waiting.
pub(super) fn until_taken<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::Locked => std::thread::sleep(pause),
            outcome => return outcome,
        }
        pause = (2 * pause).min(Duration::from_millis(50));
    }
}

impl File {
    /// Locks a range of bytes; blocks while a conflicting lock is held. The lock is advisory: it affects only processes
    /// that request locks. On Windows it also binds transfers through every other handle, including those of this
    /// process (a file that was opened again, a direct handle): such transfers fail with [`ErrorKind::Locked`]. The
    /// range may extend past the end of the file; an end above 2^63 means any later length. Handles that share one open
    /// file (clones, [`try_clone`](Self::try_clone)) are one owner: a second lock through them changes the first; on
    /// Windows it conflicts with the first, unless both are shared.
    ///
    /// ```
    /// use fullbore_io::file::{File, RangeLock};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("records");
    /// let one = File::create_new(&path)?;
    /// let two = File::open_write(&path)?;
    /// let guard = one.lock_range(0..100, RangeLock::Exclusive)?;
    /// assert!(two.try_lock_range(50..60, RangeLock::Shared).is_err());
    /// assert!(two.try_lock_range(100..200, RangeLock::Exclusive).is_ok());
    /// drop(guard);
    /// assert!(two.try_lock_range(50..60, RangeLock::Shared).is_ok());
    /// # Ok::<(), fullbore_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty range; if the file is not open for the access that the lock needs, and if the
    /// system call fails.
    pub fn lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<RangeGuard> {
        if sys::HANDLES_SERIALIZE {
            return until_taken(|| self.try_lock_range(range.clone(), lock));
        }
        self.check_range(&range)?;
        sys::lock_range(self.as_handle(), &range, request(lock), true)
            .map_err(|error| self.refused(&range, error))?;
        Ok(RangeGuard::new(self, range))
    }

    /// As [`lock_range`](Self::lock_range), but without waiting.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] if a conflicting lock is held.
    pub fn try_lock_range(&self, range: Range<u64>, lock: RangeLock) -> Result<RangeGuard> {
        self.check_range(&range)?;
        match sys::lock_range(self.as_handle(), &range, request(lock), false) {
            Ok(()) => Ok(RangeGuard::new(self, range)),
            Err(Code::WOULD_BLOCK | Code::LOCKED) => Err(self.locked_elsewhere().at(range.start)),
            Err(error) => Err(self.refused(&range, error)),
        }
    }

    pub(super) fn locked_elsewhere(&self) -> Error {
        Error::new(ErrorKind::Locked, "lock", self.path(), "a conflicting lock is held elsewhere")
            .advise("try again when it is released there")
    }

    fn check_range(&self, range: &Range<u64>) -> Result<()> {
        if range.start < range.end && i64::try_from(range.start).is_ok() {
            return Ok(());
        }
        // The system takes a length of 0 as "to the end".
        let what = format!("{}..{} is not a range of bytes", range.start, range.end);
        Err(Error::new(ErrorKind::Invalid, "lock", self.path(), what).advise("give a start below the end"))
    }

    fn refused(&self, range: &Range<u64>, error: Code) -> Error {
        Error::io("lock", self.path(), error.into()).at(range.start)
    }
}

fn request(lock: RangeLock) -> LockRequest {
    match lock {
        RangeLock::Shared => LockRequest::Shared,
        RangeLock::Exclusive => LockRequest::Exclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_lock_with_write_access_is_skipped_on_network_file_systems_only() {
        let [nfs, cifs, ext4] = ["nfs", "cifs", "ext4"].map(sys::FileSystemKind::named);
        assert!(skipped(Share::READ, true, nfs).unwrap().ends_with("skipped: nfs"));
        assert!(skipped(Share::READ, true, cifs).is_some());
        assert_eq!(skipped(Share::READ, false, nfs), None);
        assert_eq!(skipped(Share::NONE, true, nfs), None);
        assert_eq!(skipped(Share::READ, true, ext4), None);
    }
}
