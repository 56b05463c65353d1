//! Error codes: numbers of `errno`.

use std::io;

use rustix::io::Errno;

use super::super::{Code, InUse};

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
    EXISTS = EXIST,
    // Every open file is shared: a code that no call on files returns.
    HELD = ADDRINUSE,
    INAPPROPRIATE = NOTTY,
    INTERRUPTED = INTR,
    INVALID = INVAL,
    IO = IO,
    IS_DIRECTORY = ISDIR,
    LINK_LOOP = LOOP,
    // Locks do not bind transfers: a code that no transfer returns.
    LOCKED = DEADLK,
    // Of mappings, only those of a running program prevent a call.
    MAPPED = TXTBSY,
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
    /// The use by others that the error reports.
    pub fn in_use(self) -> Option<InUse> {
        match self {
            Self::HELD => Some(InUse::Held),
            Self::LOCKED => Some(InUse::Locked),
            Self::MAPPED => Some(InUse::Running),
            _ => None,
        }
    }
}

/// The number by which the program knows an error: each has one.
pub(in crate::sys) fn canonical(number: i32) -> i32 {
    number
}

/// The error of std.
pub(in crate::sys) fn to_error(code: Code) -> io::Error {
    io::Error::from_raw_os_error(code.number())
}

impl From<Errno> for Code {
    fn from(errno: Errno) -> Self {
        Self(errno.raw_os_error())
    }
}
