//! The options, the events and the statistics of a copy.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::CopyError;
use crate::strategy::{BUDGET, MOST_WORKERS, Plan, Planner};
#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::file::Durability;
use fullbore_io::probe::processors;

/// The sharing of blocks instead of copying them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reflink {
    /// Share where the file system can.
    #[default]
    Auto,
    /// Always share; fail where blocks cannot be shared.
    Always,
    /// Copy the bytes.
    Never,
}

/// The symbolic links that are followed; the others are copied as links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Follow {
    /// No links are followed.
    None,
    /// Links that are named sources are followed, and none below them.
    Sources,
    /// All links are followed.
    #[default]
    All,
}

/// The treatment of an existing target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Existing {
    /// Replace it in one step.
    #[default]
    Replace,
    /// Keep it.
    Skip,
    /// Keep it and report an error.
    Refuse,
    /// Replace it if the source was modified later.
    Update,
}

/// The kind of copy made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CopyKind {
    /// A file with the same bytes.
    #[default]
    Data,
    /// The attributes only: an existing target keeps its bytes, a new one is empty.
    Attributes,
    /// A hard link to the source.
    HardLink,
    /// A symbolic link to the source.
    SymbolicLink,
}

/// The treatment of holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sparse {
    /// The holes of the source are holes of the copy.
    #[default]
    Auto,
    /// Blocks of zeros become holes too. One worker reads and writes each file by plain calls: a strategy, a cache policy, shared
    /// blocks, verification and resumption are errors ([`ErrorKind::Unsupported`]).
    Always,
    /// The copy has no holes.
    Never,
}

/// The naming of backups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackupControl {
    /// The name with a suffix; an older backup is replaced.
    Simple,
    /// The name with the next free number: `name.~1~`.
    Numbered,
    /// Numbered where a numbered backup exists, else simple.
    Existing,
}

/// The backup of a target that is replaced.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The naming of the backup.
    pub control: BackupControl,
    /// The suffix of simple backups.
    pub suffix: OsString,
}

/// A target that is about to be overwritten.
#[derive(Debug)]
#[non_exhaustive]
pub struct Overwrite<'a> {
    /// The path of the target.
    pub path: &'a Path,
    /// The mode bits of the target.
    pub mode: u32,
    /// True if the user may write to it.
    pub writable: bool,
}

/// A function that decides on overwriting a target.
#[derive(Clone)]
pub struct Confirm(Arc<dyn Fn(&Overwrite<'_>) -> bool + Send + Sync>);

impl Confirm {
    /// Wraps a function that returns true to overwrite.
    pub fn new(decide: impl Fn(&Overwrite<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }

    /// Calls the function.
    pub fn confirms(&self, overwrite: &Overwrite<'_>) -> bool {
        (self.0)(overwrite)
    }
}

impl fmt::Debug for Confirm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Confirm")
    }
}

/// The attributes that a copy takes from its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preserve {
    /// The mode, with the access control lists.
    pub mode: bool,
    /// Owner and group, as far as the user may set them.
    pub owner: bool,
    /// The times of access and modification, in nanoseconds.
    pub times: bool,
    /// Hard links among the files copied.
    pub links: bool,
    /// The extended attributes.
    pub attributes: bool,
    /// True if failing to keep an extended attribute is an error.
    pub attributes_required: bool,
    /// True if new files get the default mode of the process instead of the source's mode reduced by the
    /// umask.
    pub default_mode: bool,
}

impl Preserve {
    /// All attributes, as far as possible.
    pub const ALL: Self = Self {
        mode: true,
        owner: true,
        times: true,
        links: true,
        attributes: true,
        attributes_required: false,
        default_mode: false,
    };
}

/// The options of a copy.
///
/// ```
/// use fullbore::pattern::{CopyOptions, Follow, Preserve};
/// // As `cp -a`:
/// let archive =
///     CopyOptions { recursive: true, follow: Follow::None, preserve: Preserve::ALL, ..CopyOptions::default() };
/// assert!(archive.preserve.links && archive.backup.is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// True to copy directories with their content, and pipes and devices as such.
    pub recursive: bool,
    /// The symbolic links that are followed.
    pub follow: Follow,
    /// The attributes that are kept.
    pub preserve: Preserve,
    /// The treatment of existing targets.
    pub existing: Existing,
    /// A function that is called before a target is overwritten.
    pub confirm: Option<Confirm>,
    /// True to replace targets without write permission too.
    pub force: bool,
    /// True to replace an existing target with a new file instead of writing to it.
    pub remove_destination: bool,
    /// True to create the file that a dangling symbolic link points to.
    pub follow_dangling_links: bool,
    /// Backups of replaced targets.
    pub backup: Option<Backup>,
    /// The kind of copy made of files.
    pub kind: CopyKind,
    /// True to copy the bytes of pipes and devices in trees.
    pub special_contents: bool,
    /// True to copy a directory as an empty one if its parent is on a different file system.
    pub one_file_system: bool,
    /// True to create the directories of a source's path in the target's directory.
    pub parents: bool,
    /// True to follow symbolic links to directories at targets.
    pub follow_directory_links: bool,
    /// The treatment of holes.
    pub sparse: Sparse,
    /// The sharing of blocks.
    pub reflink: Reflink,
    /// True to read the bytes written back from the device and compare them.
    pub verify: bool,
    /// True to continue a copy that ended early.
    pub resume: bool,
    /// True to emit a [`CopyEvent::Copied`] per name, which needs its path.
    pub report_names: bool,
    /// True to emit a [`CopyEvent::Planned`] per large file.
    pub report_plans: bool,
}

/// The settings of a job that apply to a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopySettings<'a> {
    pub(crate) planner: Planner<'a>,
    pub(crate) durability: Durability,
}

impl CopySettings<'_> {
    /// The number of workers that copy the files of a tree.
    pub(super) fn workers(&self) -> usize {
        self.planner.spec().workers.unwrap_or_else(|| processors().min(MOST_WORKERS)).max(1)
    }

    /// The memory budget in bytes.
    pub(super) fn budget(&self) -> u64 {
        self.planner.spec().budget.unwrap_or(BUDGET)
    }

    /// The durability of the bytes of a copy that is resumed by its length and time.
    pub(super) fn resumable(&self) -> Durability {
        match self.durability {
            Durability::None => Durability::Data,
            durability => durability,
        }
    }

    /// True if nothing but the bytes of a small file must be handled.
    pub(super) fn plain(&self, options: &CopyOptions) -> bool {
        self.auto(options) && options.sparse == Sparse::Auto && !options.follow_dangling_links
    }

    /// True if any system call may move the bytes, and the user named no strategy.
    pub(super) fn auto(&self, options: &CopyOptions) -> bool {
        !self.planner.is_named() && self.simple(options)
    }

    /// True if any system call may move the bytes.
    fn simple(&self, options: &CopyOptions) -> bool {
        let spec = self.planner.spec();
        let caches = (spec.read_cache, spec.write_cache);
        !options.verify && options.reflink != Reflink::Always && caches == (None, None)
    }
}

/// Events of a copy in progress. Paths are as given, with names below them.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`source` and `target` are paths of the copy")]
pub enum CopyEvent {
    /// A file, link or directory was copied; a directory's event comes before those of its content. `backup` is the new name
    /// of the file that had the target's name; `stats` has the statistics of its bytes, if it has any.
    Copied { source: PathBuf, target: PathBuf, backup: Option<PathBuf>, stats: Option<CopyStats> },
    /// A directory of a source's path was created in the target's directory.
    Parent { source: PathBuf, target: PathBuf },
    /// An existing target was removed for the copy.
    Removed(PathBuf),
    /// A target was kept.
    Skipped(PathBuf),
    /// A source, possibly a `directory`, was named more than once; it is copied once.
    Repeated { source: PathBuf, directory: bool },
    /// A large file is about to be copied by a plan.
    Planned { source: PathBuf, plan: Box<Plan> },
    /// An entry could not be copied; the others are copied all the same.
    Failed(CopyError),
}

impl fmt::Display for CopyEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copied { source, target, .. } | Self::Parent { source, target } => {
                write!(f, "{} -> {}", source.display(), target.display())
            }
            Self::Removed(path) => write!(f, "removed {}", path.display()),
            Self::Skipped(path) => write!(f, "skipped {}", path.display()),
            Self::Repeated { source, .. } => write!(f, "{} specified more than once", source.display()),
            Self::Planned { plan, .. } => write!(f, "{plan}"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}

/// Declares counts, and their sum.
macro_rules! counts {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl $name {
            /// Adds another copy's statistics.
            pub fn add(&mut self, other: &Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        }
    };
}

counts! {
/// Files and bytes of a copy, by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[non_exhaustive]
CopyStats {
    /// Files with their own bytes.
    files,
    /// Directories created.
    directories,
    /// Further names of files already copied.
    hard_links,
    /// Symbolic links, pipes, sockets and devices.
    others,
    /// Targets that existed and stayed.
    skipped,
    /// Entries that could not be copied.
    failed,
    /// Inputs that changed while they were read; also counted in `failed`.
    changed,
    /// Bytes in blocks shared by both files.
    cloned,
    /// Bytes moved.
    copied,
    /// Bytes in holes.
    holes,
    /// Bytes copied by an earlier run.
    resumed,
    /// Bytes read back from the device and found equal.
    verified,
}
}

impl CopyStats {
    /// Returns the bytes of the files, including holes.
    pub fn bytes(&self) -> u64 {
        self.cloned + self.copied + self.holes + self.resumed
    }
}
