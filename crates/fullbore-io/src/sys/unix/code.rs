//! The system's error codes.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// Result of a system call.
pub type Result<T> = std::result::Result<T, Code>;

/// An error code of the system, with constants for those that the program distinguishes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(i32);

macro_rules! codes {
    ($($name:ident = $errno:ident),+ $(,)?) => {
        #[allow(missing_docs, reason = "each has the meaning of its name")]
        impl Code {
            $(pub const $name: Self = Self(Errno::$errno.raw_os_error());)+
        }
    };
}

codes! {
    ACCESS_DENIED = ACCESS,
    BAD_HANDLE = BADF,
    BROKEN_PIPE = PIPE,
    CANCELLED = CANCELED,
    CROSSES_DEVICES = XDEV,
    EXECUTING = TXTBSY,
    EXISTS = EXIST,
    INAPPROPRIATE = NOTTY,
    INTERRUPTED = INTR,
    INVALID = INVAL,
    IO = IO,
    IS_DIRECTORY = ISDIR,
    LINK_LOOP = LOOP,
    NAME_TOO_LONG = NAMETOOLONG,
    NOT_DIRECTORY = NOTDIR,
    NOT_EMPTY = NOTEMPTY,
    NOT_FOUND = NOENT,
    NOT_IMPLEMENTED = NOSYS,
    NOT_PERMITTED = PERM,
    NOT_SEEKABLE = SPIPE,
    NO_DEVICE = NODEV,
    NO_SPACE = NOSPC,
    NO_SUCH_ADDRESS = NXIO,
    OUT_OF_MEMORY = NOMEM,
    OUT_OF_RANGE = RANGE,
    OVERFLOW = OVERFLOW,
    QUOTA = DQUOT,
    READ_ONLY = ROFS,
    STALE = STALE,
    TOO_LARGE = FBIG,
    TOO_MANY_NAMES = MLINK,
    TOO_MANY_OPEN = MFILE,
    TOO_MANY_OPEN_IN_ALL = NFILE,
    UNSUPPORTED = OPNOTSUPP,
    WOULD_BLOCK = AGAIN,
}

impl Code {
    /// The code of an error, if the system caused it.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(Self)
    }

    /// The code of a number of the system.
    pub fn from_number(number: i32) -> Self {
        Self(number)
    }

    /// The number of the system.
    pub fn number(self) -> i32 {
        self.0
    }
}

impl From<Errno> for Code {
    fn from(errno: Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

impl From<Code> for io::Error {
    fn from(code: Code) -> Self {
        Self::from_raw_os_error(code.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Code {}
