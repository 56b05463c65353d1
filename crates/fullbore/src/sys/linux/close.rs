//! Closing a descriptor and hearing of it: `close(2)`, whose errors a dropped [`OwnedFd`] keeps to itself.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};

/// Closes `fd`. Linux has let go of the descriptor whatever is returned, so there is no second try, and an
/// interruption means that it is closed (`man 2 close`, "Dealing with error returns").
pub(crate) fn close(fd: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is owned, given away here, and used by nobody after this.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        },
    }
}
