//! Readiness of files that can block.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::{Interest, Result};

impl Interest {
    fn to_system(self) -> PollFlags {
        match self {
            Self::Read => PollFlags::IN,
            Self::Write => PollFlags::OUT,
        }
    }
}

/// Waits until one of the files is ready, or failed, at most for `patience`; says which are. Fails with
/// [`Code::INTERRUPTED`](crate::sys::Code::INTERRUPTED) after a signal.
pub fn wait_ready<const N: usize>(
    files: [BorrowedFd<'_>; N],
    interest: Interest,
    patience: Option<Duration>,
) -> Result<[bool; N]> {
    let mut polled = files.map(|file| PollFd::from_borrowed_fd(file, interest.to_system()));
    let patience = patience.map(|time| Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    });
    poll(&mut polled, patience.as_ref())?;
    Ok(polled.map(|file| !file.revents().is_empty()))
}

/// Waits until one of any number of files is ready, or failed; says which are. Fails as [`wait_ready`].
pub fn wait_any<'a>(files: &[(BorrowedFd<'a>, Interest)]) -> Result<Vec<bool>> {
    let polled =
        |&(file, interest): &(BorrowedFd<'a>, Interest)| PollFd::from_borrowed_fd(file, interest.to_system());
    let mut polled: Vec<_> = files.iter().map(polled).collect();
    poll(&mut polled, None)?;
    Ok(polled.iter().map(|file| !file.revents().is_empty()).collect())
}
