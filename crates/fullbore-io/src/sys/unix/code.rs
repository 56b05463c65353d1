//! Error codes: numbers of `errno`.

use std::io;

use rustix::io::Errno;

use crate::sys::code::{Code, codes};

codes! {
    ACCESS_DENIED = libc::EACCES,
    BAD_HANDLE = libc::EBADF,
    BROKEN_PIPE = libc::EPIPE,
    CANCELLED = libc::ECANCELED,
    CROSSES_DEVICES = libc::EXDEV,
    EXISTS = libc::EEXIST,
    FAULT = libc::EFAULT,
    // Every open file is shared: a code that no call on files returns.
    HELD = libc::EADDRINUSE,
    INAPPROPRIATE = libc::ENOTTY,
    INTERRUPTED = libc::EINTR,
    INVALID = libc::EINVAL,
    IO = libc::EIO,
    IS_DIRECTORY = libc::EISDIR,
    LINK_LOOP = libc::ELOOP,
    // Locks do not bind transfers: a code that no transfer returns.
    LOCKED = libc::EDEADLK,
    MAPPED = libc::ETXTBSY,
    NAME_TOO_LONG = libc::ENAMETOOLONG,
    NOT_DIRECTORY = libc::ENOTDIR,
    NOT_EMPTY = libc::ENOTEMPTY,
    NOT_FOUND = libc::ENOENT,
    NOT_IMPLEMENTED = libc::ENOSYS,
    NOT_PERMITTED = libc::EPERM,
    NOT_SEEKABLE = libc::ESPIPE,
    NO_DEVICE = libc::ENODEV,
    NO_SPACE = libc::ENOSPC,
    NO_SUCH_ADDRESS = libc::ENXIO,
    OUT_OF_MEMORY = libc::ENOMEM,
    OUT_OF_RANGE = libc::ERANGE,
    OVERFLOW = libc::EOVERFLOW,
    QUOTA = libc::EDQUOT,
    READ_ONLY = libc::EROFS,
    STALE = libc::ESTALE,
    TOO_LARGE = libc::EFBIG,
    TOO_MANY_NAMES = libc::EMLINK,
    TOO_MANY_OPEN = libc::EMFILE,
    TOO_MANY_OPEN_IN_ALL = libc::ENFILE,
    UNSUPPORTED = libc::EOPNOTSUPP,
    WOULD_BLOCK = libc::EAGAIN,
}

impl Code {
    /// Returns the code of a number of the system: one for `ENOTSUP` and `EOPNOTSUPP`, which are two numbers on macOS.
    pub fn from_number(number: i32) -> Self {
        if number == libc::ENOTSUP { Self::UNSUPPORTED } else { Self(number) }
    }
}

impl From<Code> for io::Error {
    fn from(code: Code) -> Self {
        Self::from_raw_os_error(code.number())
    }
}

impl From<Errno> for Code {
    fn from(errno: Errno) -> Self {
        Self::from_number(errno.raw_os_error())
    }
}

/// Defines calls that pass their arguments on to a function of rustix.
macro_rules! calls {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $call:path;)+) => {
        $($(#[$about])*
        pub fn $name($($argument: $type),*) -> crate::sys::code::Result<$result> {
            Ok($call($($argument),*)?.into())
        })+
    };
}
pub(in crate::sys) use calls;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_of_a_missing_facility_have_one_code() {
        for errno in [Errno::NOTSUP, Errno::OPNOTSUPP] {
            assert_eq!(Code::from(errno), Code::UNSUPPORTED);
            assert_eq!(Code::from_number(errno.raw_os_error()), Code::UNSUPPORTED);
        }
    }
}
