//! Values that files take and report: policies, levels, support of options, steps, stamps.

use std::fmt;
use std::path::Path;

use crate::sys::Status;

/// The durability level at which bytes count as written; `docs/durability.md` states the promise of each level for an
/// output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Durability {
    /// In the page cache: every process sees the bytes, even if this one is killed; the system writes them back at a
    /// time of its choice.
    #[default]
    None,
    /// The bytes and the metadata needed to read them, including the length, are on the device (`fdatasync`,
    /// `O_DSYNC`). An output is synced before it gets its name: after a power failure the file is the old or the new
    /// one, complete. On macOS the bytes of an output reach the device before its name does, and perhaps after the call.
    Data,
    /// The bytes and all attributes are on the device (`fsync`, `O_SYNC`), and so is an output's name in its directory:
    /// after a power failure the file is the new one.
    Full,
}

crate::names!(Durability { None = "none", Data = "data", Full = "full" });

/// The page-cache policy of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum CachePolicy {
    /// The system decides how long pages stay cached.
    #[default]
    Keep,
    /// Pages are dropped after use (`RWF_DONTCACHE`, or `POSIX_FADV_DONTNEED` as drop-behind).
    #[cfg_attr(feature = "serde", serde(rename = "drop"))]
    DontCache,
    /// Transfers bypass the page cache (`O_DIRECT`).
    Direct,
}

crate::names!(CachePolicy { Keep = "keep", DontCache = "drop", Direct = "direct" });

/// A call about to be made on a file, for a fault plan; offsets and lengths are in bytes.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the fields are explained above")]
#[cfg_attr(not(feature = "fault"), allow(dead_code, unreachable_pub, reason = "only plans read it"))]
#[non_exhaustive]
pub enum Call<'a> {
    /// A read.
    Read { offset: u64, len: usize },
    /// A write.
    Write { offset: u64, len: usize },
    /// An all-or-nothing read: of mapped bytes, or of blocks to be shared with another file.
    View { offset: u64, len: usize },
    /// An all-or-nothing change: of mapped bytes, or by sharing another file's blocks.
    Change { offset: u64, len: usize },
    /// A hole is punched, up to the end of the file.
    Punch { offset: u64, len: u64 },
    /// A range becomes zeros with allocated blocks. The file's length stays.
    Zero { offset: u64, len: u64 },
    /// A range gets blocks. Its bytes stay.
    Allocate {
        offset: u64,
        len: u64,
        /// True if the file is extended to the end of the range.
        extends: bool,
    },
    /// The length is set.
    SetLen { len: u64 },
    /// The file is synced, at [`Durability::Data`] or [`Durability::Full`].
    Sync(Durability),
    /// The dirty pages of the file are written to the device, whose cache is not flushed.
    WriteBack,
    /// A range of the file is synced, as for mapped bytes, with the file length needed to reach it.
    SyncRange { offset: u64, len: u64 },
    /// The file is linked to an unused name.
    Link { name: &'a Path },
    /// The file is renamed, possibly over another file.
    Rename { from: &'a Path, to: &'a Path },
    /// A directory is synced.
    SyncDirectory(&'a Path),
}

/// The support of an option: native, emulated or none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// Supported by the system.
    Native,
    /// Emulated; the text names the means and the difference.
    Emulated(String),
    /// Not available; the text gives the reason.
    Unsupported(String),
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Emulated(how) => write!(f, "emulated: {how}"),
            Self::Unsupported(why) => write!(f, "unsupported: {why}"),
        }
    }
}

/// A requested option and its support; displayed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionSupport {
    /// The option, as `name=value`.
    pub option: &'static str,
    /// The support of the option.
    pub support: Support,
}

impl fmt::Display for OptionSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.option, self.support)
    }
}

/// One step of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The file was synced to [`Durability::Data`] or [`Durability::Full`].
    Synced(Durability),
    /// The file got a name (`linkat`).
    Linked,
    /// The file was renamed to its destination (`renameat`).
    Renamed,
    /// The destination's directory was synced (`fsync`).
    SyncedDirectory,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Synced(Durability::None) => "no sync",
            Self::Synced(Durability::Data) => "fdatasync",
            Self::Synced(Durability::Full) => "fsync",
            Self::Linked => "linkat",
            Self::Renamed => "renameat",
            Self::SyncedDirectory => "fsync of the directory",
        })
    }
}

/// The steps of a [commit](super::Output::commit): syncs and renames, by system call and in order.
///
/// ```
/// # let directory = tempfile::tempdir().unwrap();
/// use fullbore_io::file::{Durability, Output, Step};
///
/// let output = Output::replace(directory.path().join("settings"))?;
/// output.file().write_all_at(b"colour = blue\n", 0)?;
/// let report = output.commit(Durability::Full)?;
/// assert!(report.data() && report.metadata() && report.directory());
/// assert_eq!(report.steps().first(), Some(&Step::Synced(Durability::Full)));
/// # Ok::<(), fullbore_io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CommitReport {
    steps: Vec<Step>,
}

impl CommitReport {
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// True if the bytes were synced.
    pub fn data(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Synced(_)))
    }

    /// True if mode, owner and times were synced too.
    pub fn metadata(&self) -> bool {
        self.steps.contains(&Step::Synced(Durability::Full))
    }

    /// True if the directory with the new name was synced. It is not synced if no name changed, as for a file
    /// overwritten in place.
    pub fn directory(&self) -> bool {
        self.steps.contains(&Step::SyncedDirectory)
    }

    /// Returns the steps in the order in which they were performed.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for CommitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("nothing synced or renamed");
        }
        for (index, step) in self.steps.iter().enumerate() {
            write!(f, "{}{step}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The bytes of a copy, by method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CopyReport {
    /// Bytes in blocks that both files share now (`FICLONERANGE`); none were moved.
    pub cloned: u64,
    /// Bytes copied by the file system (`copy_file_range`), which may have shared blocks too.
    pub in_kernel: u64,
    /// Bytes moved through a pipe in the kernel (`splice`).
    pub spliced: u64,
    /// Bytes read into memory and written.
    pub through_memory: u64,
}

impl CopyReport {
    /// Returns the sum of all bytes copied.
    pub fn bytes(&self) -> u64 {
        self.cloned + self.in_kernel + self.spliced + self.through_memory
    }
}

/// The identity, length and modification time of a file at one moment. Different stamps mean a changed file; equal
/// identities mean the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FileStamp {
    /// The device and inode numbers.
    pub identity: (u64, u64),
    /// The length in bytes; for anything but a regular file, the value that the system reports.
    pub len: u64,
    /// The time of the last modification: seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl FileStamp {
    #[doc(hidden)]
    pub fn of(stat: &Status) -> Self {
        Self { identity: stat.identity(), len: stat.size, modified: (stat.mtime, stat.mtime_nsec) }
    }
}
