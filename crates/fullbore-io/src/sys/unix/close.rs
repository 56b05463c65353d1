//! `close(2)` with its error, which a dropped [`OwnedFd`] discards.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

/// Closes `fd`. Linux, macOS and FreeBSD release the descriptor whatever it returns, so there is no second attempt, and an interruption
/// means that it is closed (`man 2 close`, "Dealing with error returns").
pub(crate) fn close(fd: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is owned, given away here, and not used afterwards.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        },
    }
}
