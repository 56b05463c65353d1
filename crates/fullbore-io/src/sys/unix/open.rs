//! Opening, and the flags of open files.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
pub use rustix::path::Arg as PathArg;

use super::super::Result;

/// The directory in which relative paths begin.
pub const CURRENT_DIRECTORY: BorrowedFd<'static> = rustix::fs::CWD;

bitflags::bitflags! {
    /// Flags of `open(2)`. Every file is opened close-on-exec.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// For reading only.
        const READ = OFlags::RDONLY.bits();
        /// For writing only.
        const WRITE = OFlags::WRONLY.bits();
        /// For reading and writing.
        const READ_WRITE = OFlags::RDWR.bits();
        /// The bits of the three above.
        const ACCESS = OFlags::RWMODE.bits();
        /// Writes go to the end.
        const APPEND = OFlags::APPEND.bits();
        /// Creates a missing file.
        const CREATE = OFlags::CREATE.bits();
        /// Fails if the file exists.
        const EXCLUSIVE = OFlags::EXCL.bits();
        /// Discards the content.
        const TRUNCATE = OFlags::TRUNC.bits();
        /// Only a directory.
        const DIRECTORY = OFlags::DIRECTORY.bits();
        /// No symbolic link at the end.
        const NOFOLLOW = OFlags::NOFOLLOW.bits();
        /// Does not wait.
        const NONBLOCK = OFlags::NONBLOCK.bits();
        /// A terminal does not become the controlling one.
        const NOCTTY = OFlags::NOCTTY.bits();
        /// Writes return after the bytes are durable.
        const DATA_SYNC = OFlags::DSYNC.bits();
        /// Writes return after the bytes and all metadata are durable.
        const SYNC = OFlags::SYNC.bits();
        /// Bypasses the page cache.
        const DIRECT = system::DIRECT;
        /// Reads do not change the access time; elsewhere than on Linux they do.
        const NOATIME = system::NOATIME;
        /// The path alone, without access to the content.
        const PATH = system::PATH;
        /// A new file without a name, in the directory that is opened.
        const UNNAMED = system::UNNAMED;
        /// A hint that Windows takes when it opens a file.
        const SEQUENTIAL = 0;
        /// A hint that Windows takes when it opens a file.
        const RANDOM = 0;
        // Other flags of the system.
        const _ = !0;
    }
}

/// Flags that the systems have in forms of their own.
#[cfg(target_os = "linux")]
mod system {
    use rustix::fs::OFlags;

    pub(super) const DIRECT: u32 = OFlags::DIRECT.bits();
    pub(super) const NOATIME: u32 = OFlags::NOATIME.bits();
    pub(super) const PATH: u32 = OFlags::PATH.bits();
    pub(super) const UNNAMED: u32 = OFlags::TMPFILE.bits();
    /// Flags that only this module knows.
    pub(super) const OWN: u32 = 0;
}

#[cfg(target_os = "freebsd")]
mod system {
    pub(super) const DIRECT: u32 = libc::O_DIRECT as u32;
    pub(super) const NOATIME: u32 = 0;
    pub(super) const PATH: u32 = libc::O_PATH as u32;
    pub(super) const UNNAMED: u32 = 1 << 31;
    pub(super) const OWN: u32 = UNNAMED;
}

#[cfg(target_os = "macos")]
mod system {
    /// Set by `F_NOCACHE` after opening.
    pub(super) const DIRECT: u32 = 1 << 28;
    pub(super) const NOATIME: u32 = 0;
    pub(super) const PATH: u32 = libc::O_EVTONLY as u32;
    pub(super) const UNNAMED: u32 = 1 << 31;
    pub(super) const OWN: u32 = DIRECT | UNNAMED;
}

impl OpenFlags {
    pub(in crate::sys) fn to_system(self) -> OFlags {
        OFlags::from_bits_retain(self.bits() & !system::OWN) | OFlags::CLOEXEC
    }
}

/// Permission bits in the type of the system.
pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as _)
}

/// Opens a path; `mode` has the permission bits of a new file.
pub fn open(path: impl PathArg, flags: OpenFlags, mode: u32) -> Result<OwnedFd> {
    open_at(CURRENT_DIRECTORY, path, flags, mode)
}

/// Opens a name in a directory.
pub fn open_at(directory: impl AsFd, name: impl PathArg, flags: OpenFlags, mode: u32) -> Result<OwnedFd> {
    #[cfg(not(target_os = "linux"))]
    if flags.contains(OpenFlags::UNNAMED) {
        return Err(super::super::Code::UNSUPPORTED);
    }
    let file = rustix::fs::openat(directory, name, flags.to_system(), permissions(mode))?;
    #[cfg(target_os = "macos")]
    if flags.contains(OpenFlags::DIRECT) {
        rustix::fs::fcntl_nocache(&file, true)?;
    }
    Ok(file)
}

/// The access mode and status flags of an open file.
pub fn status_flags(file: impl AsFd) -> Result<OpenFlags> {
    Ok(OpenFlags::from_bits_retain(rustix::fs::fcntl_getfl(file)?.bits()))
}

/// Sets the status flags of an open file.
pub fn set_status_flags(file: impl AsFd, flags: OpenFlags) -> Result<()> {
    Ok(rustix::fs::fcntl_setfl(file, OFlags::from_bits_retain(flags.bits()))?)
}

/// Another descriptor of the same open file, above those of the standard streams.
pub fn try_clone(file: impl AsFd) -> Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(file, 3)?)
}

/// True if a descriptor is open.
pub fn is_open(file: impl AsFd) -> bool {
    rustix::io::fcntl_getfd(file).is_ok()
}
