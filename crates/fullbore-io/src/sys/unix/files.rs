//! Calls on files and file systems that the Unix systems share.

use std::os::fd::AsFd;

use rustix::fs::FlockOperation;
use rustix::time::ClockId;

#[cfg(not(target_os = "macos"))]
use super::super::Advice;
use super::super::{Code, Result, Space, WholeLock};
use super::PathArg;

/// Sets the length.
pub fn truncate(file: impl AsFd, len: u64) -> Result<()> {
    Ok(rustix::fs::ftruncate(file, len)?)
}

impl From<rustix::fs::StatVfs> for Space {
    fn from(found: rustix::fs::StatVfs) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Self {
            id: found.f_fsid,
            block: found.f_bsize,
            unit: found.f_frsize,
            total: bytes(found.f_blocks),
            free: bytes(found.f_bfree),
            available: bytes(found.f_bavail),
        }
    }
}

/// The space of the file system of an open file.
pub fn space(file: impl AsFd) -> Result<Space> {
    Ok(rustix::fs::fstatvfs(file)?.into())
}

/// The space of the file system of a path.
pub fn space_of(path: impl PathArg) -> Result<Space> {
    Ok(rustix::fs::statvfs(path)?.into())
}

/// Locks a file, without waiting: `flock(2)`. Fails with [`Code::WOULD_BLOCK`](super::super::Code::WOULD_BLOCK) if another has a lock that conflicts.
pub fn lock_whole(file: impl AsFd, lock: WholeLock) -> Result<()> {
    let operation = match lock {
        WholeLock::Shared => FlockOperation::NonBlockingLockShared,
        WholeLock::Exclusive => FlockOperation::NonBlockingLockExclusive,
        WholeLock::Unlocked => FlockOperation::Unlock,
    };
    Ok(rustix::fs::flock(file, operation)?)
}

/// Announces to the kernel the expected access to a range; no length means to the end.
#[cfg(not(target_os = "macos"))]
pub fn advise(file: impl AsFd, offset: u64, len: Option<u64>, advice: Advice) -> Result<()> {
    use rustix::fs::Advice as System;
    let advice = match advice {
        Advice::Sequential => System::Sequential,
        Advice::Random => System::Random,
        Advice::WillNeed => System::WillNeed,
        Advice::DontNeed => System::DontNeed,
        Advice::NoReuse => System::NoReuse,
    };
    let len = match len {
        Some(0) => return Ok(()),
        len => len.and_then(std::num::NonZeroU64::new),
    };
    Ok(rustix::fs::fadvise(file, offset, len, advice)?)
}

/// The major and minor numbers of a device.
pub fn split_device(number: u64) -> (u32, u32) {
    (rustix::fs::major(number as _), rustix::fs::minor(number as _))
}

/// Nanoseconds of the clock that never jumps.
pub fn monotonic_nanoseconds() -> u64 {
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets a file have holes; every file can.
pub fn make_sparse(_: impl AsFd) -> Result<()> {
    Ok(())
}

/// Unsupported: pages are dropped a file at a time, which needs no privilege.
pub fn purge_unused_pages() -> Result<()> {
    Err(Code::UNSUPPORTED)
}

/// Unsupported: every block keeps account of its bytes.
pub fn set_valid_length(_: impl AsFd, _: u64) -> Result<()> {
    Err(Code::UNSUPPORTED)
}
