//! Handles of open files, which are file descriptors: opening, flags, paths, closing.

use std::ffi::CStr;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
pub use rustix::path::Arg as PathArg;

use crate::buf::Direction;
use crate::sys::code::{Code, Result};

/// An open file, closed when dropped.
pub use std::os::fd::OwnedFd as Handle;

/// A handle that another owns.
pub use std::os::fd::BorrowedFd as BorrowedHandle;

/// The number of a handle in this process.
pub use std::os::fd::RawFd as RawHandle;

/// A type with a handle: a file of this library, of std, or of any library with descriptors.
pub trait AsHandle: AsFd {
    /// Borrows the handle.
    fn as_handle(&self) -> BorrowedHandle<'_>;
}

impl<T: AsFd + ?Sized> AsHandle for T {
    #[inline]
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.as_fd()
    }
}

pub fn raw(file: &impl AsHandle) -> RawHandle {
    file.as_handle().as_raw_fd()
}

/// Returns a path by which this process can open the file of a handle.
pub fn handle_name(file: &impl AsHandle) -> String {
    format!("/dev/fd/{}", raw(file))
}

/// Implements the platform's traits of types that have a handle.
#[doc(hidden)]
#[macro_export]
macro_rules! as_handle {
    ($type:ty, $this:ident => $handle:expr) => {
        impl std::os::fd::AsFd for $type {
            #[inline]
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                let $this = self;
                $handle
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(self))
            }
        }
    };
}

/// The directory in which relative paths begin.
pub const CURRENT_DIRECTORY: BorrowedHandle<'static> = rustix::fs::CWD;

bitflags::bitflags! {
    /// Flags of `open(2)`. Every file is opened close-on-exec.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        const READ = OFlags::RDONLY.bits();
        const WRITE = OFlags::WRONLY.bits();
        const READ_WRITE = OFlags::RDWR.bits();
        const ACCESS = OFlags::RWMODE.bits();
        const APPEND = OFlags::APPEND.bits();
        const CREATE = OFlags::CREATE.bits();
        const EXCLUSIVE = OFlags::EXCL.bits();
        const TRUNCATE = OFlags::TRUNC.bits();
        const DIRECTORY = OFlags::DIRECTORY.bits();
        const NOFOLLOW = OFlags::NOFOLLOW.bits();
        const NONBLOCK = OFlags::NONBLOCK.bits();
        const NOCTTY = OFlags::NOCTTY.bits();
        const DATA_SYNC = OFlags::DSYNC.bits();
        const SYNC = OFlags::SYNC.bits();
        /// Bypasses the page cache.
        const DIRECT = system::DIRECT;
        /// Reads do not change the access time (Linux only).
        const NOATIME = system::NOATIME;
        /// The path alone, without access to the content.
        const PATH = system::PATH;
        /// A new file without a name, in the directory that is opened.
        const UNNAMED = system::UNNAMED;
        /// A hint that Windows takes when it opens a file.
        const SEQUENTIAL = 0;
        /// A hint that Windows takes when it opens a file.
        const RANDOM = 0;
        /// A share mode of Windows; locks exclude others here.
        const DENY_READ = 0;
        const DENY_WRITE = 0;
        const DENY_DELETE = 0;
        /// A right of handles on Windows.
        const REMOVABLE = 0;
        /// Windows removes such a file when its handle is closed.
        const DELETE_ON_CLOSE = 0;
        // Other flags of the system.
        const _ = !0;
    }
}

/// False: an open excludes nobody; locks do.
pub const SHARE_MODES: bool = false;

/// Flags that the systems have in forms of their own.
#[cfg(target_os = "linux")]
mod system {
    use rustix::fs::OFlags;

    pub(super) const DIRECT: u32 = OFlags::DIRECT.bits();
    pub(super) const NOATIME: u32 = OFlags::NOATIME.bits();
    pub(super) const PATH: u32 = OFlags::PATH.bits();
    pub(super) const UNNAMED: u32 = OFlags::TMPFILE.bits();
    /// Flags that are private to this module.
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
    /// Unlike `O_PATH` it opens the file, and would wait for the other end of a named pipe.
    pub(super) const PATH: u32 = (libc::O_EVTONLY | libc::O_NONBLOCK) as u32;
    pub(super) const UNNAMED: u32 = 1 << 31;
    pub(super) const OWN: u32 = DIRECT | UNNAMED;
}

impl OpenFlags {
    pub(in crate::sys) fn to_system(self) -> OFlags {
        OFlags::from_bits_retain(self.bits() & !system::OWN) | OFlags::CLOEXEC
    }
}

pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as _)
}

pub fn open(path: impl PathArg, flags: OpenFlags, mode: u32) -> Result<Handle> {
    open_at(CURRENT_DIRECTORY, path, flags, mode)
}

pub fn open_at(directory: impl AsFd, name: impl PathArg, flags: OpenFlags, mode: u32) -> Result<Handle> {
    #[cfg(not(target_os = "linux"))]
    if flags.contains(OpenFlags::UNNAMED) {
        return Err(Code::UNSUPPORTED);
    }
    let open = |name: &CStr| {
        rustix::io::retry_on_intr(|| {
            rustix::fs::openat(&directory, name, flags.to_system(), permissions(mode))
        })
    };
    let file = name.into_with_c_str(open);
    // FreeBSD has another error than POSIX for a symbolic link that is not followed.
    #[cfg(target_os = "freebsd")]
    let file = file.map_err(|error| match error {
        rustix::io::Errno::MLINK if flags.contains(OpenFlags::NOFOLLOW) => rustix::io::Errno::LOOP,
        error => error,
    });
    let file = file?;
    #[cfg(target_os = "macos")]
    if flags.contains(OpenFlags::DIRECT) {
        rustix::fs::fcntl_nocache(&file, true)?;
    }
    Ok(file)
}

pub fn status_flags(file: impl AsFd) -> Result<OpenFlags> {
    Ok(OpenFlags::from_bits_retain(rustix::fs::fcntl_getfl(file)?.bits()))
}

pub fn set_status_flags(file: impl AsFd, flags: OpenFlags) -> Result<()> {
    Ok(rustix::fs::fcntl_setfl(file, OFlags::from_bits_retain(flags.bits()))?)
}

/// Another descriptor of the same open file, above those of the standard streams.
pub fn try_clone(file: impl AsFd) -> Result<Handle> {
    Ok(rustix::io::fcntl_dupfd_cloexec(file, 3)?)
}

/// Calls a function of std's file on a handle, which stays open. A duplicate would have to be closed: the error of a failed write
/// would be lost with it, and the process would lose its POSIX locks of the file.
pub(crate) fn by_std<T>(file: &impl AsFd, call: impl FnOnce(&std::fs::File) -> T) -> T {
    // SAFETY: the descriptor is open as long as it is borrowed, and this file is not dropped.
    call(&ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(file.as_fd().as_raw_fd()) }))
}

pub fn is_open(file: impl AsFd) -> bool {
    rustix::io::fcntl_getfd(file).is_ok()
}

/// Takes the lowest free number for a handle that behaves as a closed one: reads and writes fail with "Bad file descriptor", as in
/// gnulib's `stdopen`, and its path (`/dev/stdin`, `/dev/fd/0`) cannot be opened. It is that of a symbolic link itself; without
/// `/proc`, and on other systems, it is `/dev/null` opened for the other direction.
pub fn open_as_closed(direction: Direction) -> Result<Handle> {
    let other = match direction {
        Direction::Read => OpenFlags::WRITE,
        Direction::Write => OpenFlags::READ,
    };
    let null = || open("/dev/null", other, 0);
    match cfg!(target_os = "linux") {
        true => open("/proc/self/exe", OpenFlags::PATH | OpenFlags::NOFOLLOW, 0).or_else(|_| null()),
        false => null(),
    }
}

/// Returns the path of an open file, through which it can be opened again or linked.
#[cfg(target_os = "linux")]
pub fn handle_path(file: &impl AsFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()).into()
}

/// Returns the path of an open file: the name by which it was opened or last renamed, where the system reports it.
#[cfg(not(target_os = "linux"))]
pub fn handle_path(file: &impl AsFd) -> PathBuf {
    known_path(file).unwrap_or_else(|| handle_name(file).into())
}

#[cfg(target_os = "macos")]
fn known_path(file: &impl AsFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    let path = rustix::fs::getpath(file).ok()?;
    Some(std::ffi::OsStr::from_bytes(path.to_bytes()).into())
}

#[cfg(target_os = "freebsd")]
fn known_path(file: &impl AsFd) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    // SAFETY: a structure of numbers and bytes, for which zeros are valid.
    let mut found: libc::kinfo_file = unsafe { std::mem::zeroed() };
    found.kf_structsize = size_of::<libc::kinfo_file>() as libc::c_int;
    // SAFETY: the command writes at most the size that the structure states.
    if unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_KINFO, &raw mut found) } != 0 {
        return None;
    }
    let path: Vec<u8> = found.kf_path.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    (!path.is_empty()).then(|| std::ffi::OsStr::from_bytes(&path).into())
}

/// Returns the path of a name in an open directory, for calls that take no directory.
pub fn path_in(directory: impl AsFd, name: impl AsRef<Path>) -> PathBuf {
    if directory.as_fd().as_raw_fd() == CURRENT_DIRECTORY.as_raw_fd() {
        return name.as_ref().to_owned();
    }
    handle_path(&directory).join(name)
}

/// Closes `fd`. Linux, macOS and FreeBSD release the descriptor whatever it returns, so there is no second attempt, and an
/// interruption means that it is closed (`man 2 close`, "Dealing with error returns").
pub(crate) fn close(fd: Handle) -> io::Result<()> {
    match close_once(fd) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        closed => closed,
    }
}

fn close_once(fd: Handle) -> io::Result<()> {
    // SAFETY: the descriptor is owned, given away here, and not used afterwards.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes a duplicate of a descriptor, and returns the error of the file system: NFS, SMB and FUSE report a full disk, a quota or
/// a failed upload only when a descriptor is closed. A signal may end an upload, so it is repeated. Without a free descriptor
/// nothing is reported.
pub fn close_duplicate(fd: impl AsFd) -> Result<()> {
    const ATTEMPTS: usize = 16;
    for _ in 0..ATTEMPTS {
        let Ok(duplicate) = try_clone(&fd) else { return Ok(()) };
        match close_once(duplicate) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            closed => return closed.map_err(|error| Code::of(&error).unwrap_or(Code::IO)),
        }
    }
    Err(Code::INTERRUPTED)
}
