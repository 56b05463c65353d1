//! Types that the platforms share.

#[cfg(any(target_os = "macos", test))]
use std::ops::Range;
use std::path::PathBuf;
use std::{fmt, io};

use crate::buf::{Completion, Loan, Request};

/// Name of the attribute that holds a file's access control list.
pub const ACCESS_LIST: &str = "system.posix_acl_access";

/// The kind of file that a path refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A pipe, named or not.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// Any other kind of the system.
    Other,
}

/// The kinds and their bits in a mode.
const KINDS: [(FileKind, u32); 7] = [
    (FileKind::Regular, 0o100_000),
    (FileKind::Directory, 0o040_000),
    (FileKind::Symlink, 0o120_000),
    (FileKind::Fifo, 0o010_000),
    (FileKind::Socket, 0o140_000),
    (FileKind::CharacterDevice, 0o020_000),
    (FileKind::BlockDevice, 0o060_000),
];

impl FileKind {
    /// Returns the kind in the bits of a mode.
    #[doc(hidden)]
    pub fn of_mode(mode: u32) -> Self {
        KINDS.iter().find(|(_, bits)| mode & 0o170_000 == *bits).map_or(Self::Other, |(kind, _)| *kind)
    }

    /// The bits in a mode; all of them for another kind.
    pub(in crate::sys) fn mode(self) -> u32 {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or(0o170_000, |(_, bits)| *bits)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Fifo => "pipe",
            Self::Socket => "socket",
            Self::CharacterDevice => "character device",
            Self::BlockDevice => "block device",
            Self::Other => "file of an unknown kind",
        })
    }
}

/// The status of a file, with the names and units of [`std::os::unix::fs::MetadataExt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "as in the standard library")]
pub struct Status {
    pub dev: u64,
    pub ino: u64,
    pub mode: u32,
    pub nlink: u64,
    pub uid: u32,
    pub gid: u32,
    pub rdev: u64,
    pub size: u64,
    pub blocks: u64,
    pub blksize: u64,
    pub atime: i64,
    pub atime_nsec: i64,
    pub mtime: i64,
    pub mtime_nsec: i64,
    pub ctime: i64,
    pub ctime_nsec: i64,
    /// True if the file may have holes: it has fewer blocks than bytes, for no other reason that the system reports.
    pub sparse: bool,
}

impl Status {
    pub fn kind(&self) -> FileKind {
        FileKind::of_mode(self.mode)
    }

    /// True for an entry as it was created: of this kind, and with one name, unless it is a directory.
    pub(in crate::sys) fn is_new(&self, kind: FileKind) -> bool {
        self.kind() == kind && (self.nlink == 1 || kind == FileKind::Directory)
    }

    /// Returns the permission bits, those of set-user-ID, set-group-ID and sticky included.
    pub fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    pub fn allocated(&self) -> u64 {
        self.blocks.saturating_mul(512)
    }
}

/// Change of the blocks of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocate {
    /// Blocks are reserved; the length grows to the end of the range.
    Extend,
    /// Blocks are reserved; the length stays.
    KeepLength,
    /// Blocks are released; the range reads as zeros.
    Punch,
    /// The range reads as zeros and keeps its blocks; the length stays.
    Zero,
}

bitflags::bitflags! {
    /// Flags of one transfer, as in Linux's `preadv2(2)`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct TransferFlags: u32 {
        /// The pages are dropped after use: `RWF_DONTCACHE`, Linux 6.14.
        const DONT_CACHE = 0x80;
        /// Only what is in the page cache: `RWF_NOWAIT`.
        const NO_WAIT = 0x08;
    }
}

/// Expected access to a file, or to a mapping of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    Sequential,
    Random,
    WillNeed,
    /// Not again: the pages may be dropped.
    DontNeed,
    NoReuse,
}

/// The whole blocks in a range of bytes, and the bytes before and after them.
#[cfg(any(target_os = "macos", test))]
pub(in crate::sys) fn around_blocks(range: Range<u64>, block: u64) -> [Range<u64>; 3] {
    let Range { start, end } = range;
    let first = start.checked_next_multiple_of(block).unwrap_or(end).min(end);
    let last = (end - end % block).max(first);
    [start..first, first..last, last..end]
}

/// The space of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    pub id: u64,
    /// Preferred unit of transfers, in bytes.
    pub block: u64,
    /// Unit in which space is counted, in bytes.
    pub unit: u64,
    pub total: u64,
    /// Bytes that nobody uses.
    pub free: u64,
    /// Bytes that an ordinary user may use.
    pub available: u64,
}

/// Requested lock of a file or of a range, which belongs to the open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockRequest {
    Shared,
    Exclusive,
    None,
}

/// The flags of an inode: `FS_IOC_GETFLAGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InodeFlags {
    pub immutable: bool,
    pub append_only: bool,
}

/// Treatment of the pages by a transfer inside the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splice {
    Plain,
    Move,
    NoWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    OpenFiles,
    /// Locked memory, in bytes.
    LockedMemory,
}

/// A limit; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub current: Option<u64>,
    /// The highest that the process may set.
    pub maximum: Option<u64>,
}

/// Resources used by this process, including its threads, since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessUsage {
    /// CPU time in user mode, in seconds.
    pub user: f64,
    /// CPU time in the kernel on behalf of the process, in seconds.
    pub system: f64,
    /// Page faults served without the device.
    pub minor_faults: u64,
    /// Page faults that waited for the device.
    pub major_faults: u64,
    /// Bytes read from devices and charged to the process.
    pub read_bytes: u64,
    /// Bytes written to devices and charged to the process.
    pub written_bytes: u64,
    /// Number of times the process gave up the processor to wait.
    pub voluntary_switches: u64,
    /// Number of times the process was preempted.
    pub involuntary_switches: u64,
    /// Maximum resident memory so far, in bytes, even after [`ProcessUsage::since`]. The kernel includes that of the parent process
    /// at the start: see [`peak_memory`](crate::probe::peak_memory).
    pub max_resident: u64,
}

/// Number of pages of a range by state, as the kernel counts them.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CachedPages {
    pub(crate) cached: u64,
    pub(crate) dirty: u64,
    pub(crate) writeback: u64,
    pub(crate) evicted: u64,
    pub(crate) recently_evicted: u64,
}

/// Alignments in bytes that direct I/O requires; 0 means that the file does not support direct I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DirectAlignment {
    pub(crate) memory: u32,
    pub(crate) offset: u32,
    /// For reads only, if the system reports it separately.
    pub(crate) read_offset: Option<u32>,
    /// True if it is the sector in the geometry of the device.
    pub(crate) by_geometry: bool,
}

/// Status of a file, available without opening it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtendedStatus {
    /// Type and permission bits.
    pub(crate) mode: u32,
    /// Major and minor number of the file system's device.
    pub(crate) device: (u32, u32),
    /// Major and minor number of a device file's device.
    pub(crate) special: (u32, u32),
    /// Size in bytes.
    pub(crate) size: u64,
    /// Allocated blocks of 512 bytes.
    pub(crate) blocks: u64,
    /// Number of the mount in `/proc/self/mountinfo`.
    pub(crate) mount: Option<u64>,
    /// Alignment for direct I/O; `None` if the file system does not report it.
    pub(crate) direct: Option<DirectAlignment>,
}

/// The time of a clock: seconds and nanoseconds.
pub type Time = (i64, i64);

/// Treatment of the pages of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RingPages {
    /// No pages: the transfer bypasses the page cache.
    None,
    Kept,
    /// The system drops the pages at the end of the transfer.
    Dropped,
}

pub(crate) struct Completed<F> {
    pub(crate) key: u64,
    pub(crate) file: F,
    pub(crate) loan: Loan,
    pub(crate) result: io::Result<usize>,
}

/// Requests of one open file that the system executes. A buffer belongs to the queue until its completion is reaped; dropping
/// waits.
pub(crate) trait RequestQueue {
    /// Queues a request; returns it if the queue is full.
    fn queue(&mut self, request: Request) -> Result<(), Request>;

    /// Submits the queued requests. One that the system refuses is complete, with the error.
    fn submit(&mut self) -> io::Result<()>;

    /// Submits the queued requests, waits until `least` are complete (0: does not wait) and appends the complete ones to `done`.
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()>;
}

/// Reaps the requests in flight of a queue that is being dropped. False: the system may still use their memory, which must be
/// leaked.
pub(crate) fn drain<Q: RequestQueue>(queue: &mut Q, in_flight: impl Fn(&Q) -> usize) -> bool {
    let mut done = Vec::new();
    while in_flight(queue) > 0 {
        if queue.reap(1, &mut done).is_err() {
            return false;
        }
        done.clear();
    }
    true
}

/// A volume: a file system with its mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(windows), allow(dead_code, reason = "made on Windows"))]
pub(crate) struct Volume {
    pub(crate) point: PathBuf,
    pub(crate) kind: String,
    /// The volume's unique name, or a server's.
    pub(crate) source: String,
    pub(crate) read_only: bool,
    pub(crate) features: Vec<&'static str>,
    /// Unit of allocation in bytes.
    pub(crate) cluster: u64,
    /// True if its files are on a network; `None` if unknown.
    pub(crate) network: Option<bool>,
    pub(crate) in_memory: bool,
}

/// A disk under a volume. `None` means that the system does not report the fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(windows), allow(dead_code, reason = "made on Windows"))]
pub(crate) struct Disk {
    pub(crate) number: u32,
    /// Number of the partition, if the volume is in one.
    pub(crate) partition: Option<u32>,
    /// Start of the volume on the disk and its length there, in bytes.
    pub(crate) extent: Option<(u64, u64)>,
    pub(crate) model: Option<String>,
    pub(crate) serial: Option<String>,
    pub(crate) bus: Option<&'static str>,
    /// Size in bytes.
    pub(crate) size: Option<u64>,
    pub(crate) read_only: Option<bool>,
    /// True if seeks take time: rotational media.
    pub(crate) seek_penalty: Option<bool>,
    /// True if blocks can be discarded.
    pub(crate) trim: Option<bool>,
    /// Logical and physical sector in bytes.
    pub(crate) sectors: Option<(u64, u64)>,
    /// True if the device acknowledges writes before they are durable.
    pub(crate) write_cache: Option<bool>,
    /// True if single writes can be forced past that cache.
    pub(crate) write_through: Option<bool>,
    /// Maximum size of a request, in bytes.
    pub(crate) max_request: Option<u64>,
}

/// Limits of the group of processes that this one is in; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct GroupLimits {
    /// Share of the CPU time of all processors, 0 to 1.
    pub(crate) cpu_share: Option<f64>,
    pub(crate) processors: Option<u64>,
    /// Memory in bytes.
    pub(crate) memory: Option<u64>,
}

/// Extents of files, in the form of Linux's `FIEMAP`.
pub(crate) mod extent {
    pub(crate) const LAST: u32 = 0x0001;
    pub(crate) const UNKNOWN: u32 = 0x0002;
    pub(crate) const DELALLOC: u32 = 0x0004;
    pub(crate) const ENCODED: u32 = 0x0008;
    pub(crate) const INLINE: u32 = 0x0200;
    pub(crate) const UNWRITTEN: u32 = 0x0800;
    pub(crate) const SHARED: u32 = 0x2000;

    #[repr(C)]
    #[derive(Debug, Default, Clone, Copy)]
    pub(crate) struct RawExtent {
        /// Offset in the file in bytes.
        pub(crate) logical: u64,
        /// Offset on the device in bytes.
        pub(crate) physical: u64,
        /// Length in bytes.
        pub(crate) length: u64,
        reserved64: [u64; 2],
        /// `FIEMAP_EXTENT_*`.
        pub(crate) flags: u32,
        reserved: [u32; 3],
    }

    impl RawExtent {
        /// An extent of a system that reports it in another form.
        #[cfg(not(target_os = "linux"))]
        pub(in crate::sys) fn new(logical: u64, physical: u64, length: u64, flags: u32) -> Self {
            Self { logical, physical, length, flags, ..Self::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_whole_blocks_and_the_bytes_around_them() {
        for start in 0..13 {
            for end in start..27 {
                let [head, middle, tail] = around_blocks(start..end, 4);
                assert_eq!((head.start, head.end, middle.end), (start, middle.start, tail.start));
                assert_eq!(tail.end, end);
                assert!(head.clone().count() < 4 && tail.clone().count() < 4, "{head:?} {tail:?}");
                assert!(middle.is_empty() || middle.start % 4 == 0 && middle.end % 4 == 0, "{middle:?}");
            }
        }
    }
}
