//! What is asked of a copy.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure::CopyError;
use super::stats::CopyStats;
use crate::file::Durability;
use crate::strategy::{Profile, StrategySpec};

/// Whether blocks are shared instead of copied.
///
/// ```
/// use fullbore::pattern::{CopyOptions, Reflink};
/// let options = CopyOptions { reflink: Reflink::Never, ..CopyOptions::default() };
/// assert_ne!(options.reflink, Reflink::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reflink {
    /// Where the file system can.
    #[default]
    Auto,
    /// Or not at all: what cannot be shared is an error.
    Always,
    /// The bytes are copied.
    Never,
}

/// Which symbolic links are followed to what they lead to; the others are copied as links.
///
/// ```
/// use fullbore::pattern::{CopyOptions, Follow};
/// assert_eq!(CopyOptions::default().follow, Follow::All);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Follow {
    /// None.
    None,
    /// Those that are sources themselves, and none below them.
    Sources,
    /// All.
    #[default]
    All,
}

/// What becomes of a target that exists.
///
/// ```
/// use fullbore::pattern::Existing;
/// assert_eq!(Existing::default(), Existing::Replace);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// It is replaced, in one step.
    #[default]
    Replace,
    /// It stays as it is.
    Skip,
    /// It stays as it is, and that is an error.
    Refuse,
    /// It is replaced if the source was modified later.
    Update,
}

/// The kind of copy that a file gets.
///
/// ```
/// use fullbore::pattern::CopyKind;
/// assert_eq!(CopyKind::default(), CopyKind::Data);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyKind {
    /// A file with the same bytes.
    #[default]
    Data,
    /// The attributes alone: a target that exists keeps its bytes, a new one is empty.
    Attributes,
    /// A hard link to the source.
    HardLink,
    /// A symbolic link to the source.
    SymbolicLink,
}

/// The treatment of holes.
///
/// ```
/// use fullbore::pattern::Sparse;
/// assert_eq!(Sparse::default(), Sparse::Auto);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sparse {
    /// The holes of the source are holes of the copy.
    #[default]
    Auto,
    /// Blocks of zeros become holes too.
    Always,
    /// The copy has no holes.
    Never,
}

/// The naming of backups.
///
/// ```
/// use fullbore::pattern::BackupControl;
/// assert_ne!(BackupControl::Simple, BackupControl::Numbered);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupControl {
    /// The name with a suffix; an older backup is replaced.
    Simple,
    /// The name with the next free number: `name.~1~`.
    Numbered,
    /// Numbered where a numbered backup exists, else simple.
    Existing,
}

/// How a target that is replaced is kept.
///
/// ```
/// use fullbore::pattern::{Backup, BackupControl};
/// let backup = Backup { control: BackupControl::Simple, suffix: "~".into() };
/// assert_eq!(backup.suffix, "~");
/// ```
#[derive(Debug, Clone)]
pub struct Backup {
    /// How it is named.
    pub control: BackupControl,
    /// The suffix of simple backups.
    pub suffix: OsString,
}

/// A target that is about to be overwritten.
///
/// ```
/// use fullbore::pattern::Overwrite;
/// let overwrite = Overwrite { path: "file".as_ref(), mode: 0o644, writable: true };
/// assert!(overwrite.writable);
/// ```
#[derive(Debug)]
pub struct Overwrite<'a> {
    /// The target.
    pub path: &'a Path,
    /// Its mode bits.
    pub mode: u32,
    /// True if the user may write to it.
    pub writable: bool,
}

/// A function that decides whether a target is overwritten.
///
/// ```
/// use fullbore::pattern::{Confirm, Overwrite};
/// let never = Confirm::new(|_: &Overwrite| false);
/// assert!(!never.confirms(&Overwrite { path: "file".as_ref(), mode: 0o644, writable: true }));
/// ```
#[derive(Clone)]
pub struct Confirm(Arc<dyn Fn(&Overwrite<'_>) -> bool + Send + Sync>);

impl Confirm {
    /// Wraps the function.
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

/// What a copy takes over from its source besides its bytes.
///
/// ```
/// use fullbore::pattern::Preserve;
/// assert!(Preserve::ALL.links && !Preserve::default().times);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preserve {
    /// The mode, with the access control lists.
    pub mode: bool,
    /// Owner and group, as far as the user may give them.
    pub owner: bool,
    /// The times of access and modification, in nanoseconds.
    pub times: bool,
    /// Which names are of one file.
    pub links: bool,
    /// The extended attributes.
    pub attributes: bool,
    /// Whether an extended attribute that cannot be kept is an error.
    pub insist: bool,
    /// Whether new files get the mode that the process gives to new files, instead of the source's less the mask.
    pub default_mode: bool,
}

impl Preserve {
    /// All of it, as far as it can be had.
    pub const ALL: Self = Self {
        mode: true,
        owner: true,
        times: true,
        links: true,
        attributes: true,
        insist: false,
        default_mode: false,
    };
}

/// What is asked of a copy.
///
/// ```
/// use fullbore::pattern::{CopyOptions, Follow, Preserve};
/// // As `cp -a`:
/// let archive =
///     CopyOptions { recursive: true, follow: Follow::None, preserve: Preserve::ALL, ..CopyOptions::default() };
/// assert!(archive.workers.is_none());
/// ```
#[derive(Debug, Clone, Default)]
pub struct CopyOptions {
    /// Whether directories are copied with what is in them, and pipes and devices as such.
    pub recursive: bool,
    /// Which symbolic links are followed.
    pub follow: Follow,
    /// What is taken over.
    pub preserve: Preserve,
    /// What becomes of targets that exist.
    pub existing: Existing,
    /// Asked before a target is overwritten.
    pub confirm: Option<Confirm>,
    /// Whether targets that may not be written are replaced too.
    pub force: bool,
    /// Whether a target that exists gives way to a new file, instead of being written to.
    pub remove_destination: bool,
    /// Whether a file is made where a symbolic link to nothing leads.
    pub through_dangling: bool,
    /// How targets that are replaced are kept.
    pub backup: Option<Backup>,
    /// The kind of copy that files get.
    pub kind: CopyKind,
    /// Whether the bytes of pipes and devices in trees are copied.
    pub special_contents: bool,
    /// Whether directories on other file systems than their source are left empty.
    pub one_file_system: bool,
    /// Whether the directories of a source's path are made in the target's directory.
    pub parents: bool,
    /// Whether symbolic links to directories at targets are followed.
    pub follow_directory_links: bool,
    /// The treatment of holes.
    pub sparse: Sparse,
    /// Whether blocks are shared.
    pub reflink: Reflink,
    /// Whether what was written is read back from the device and compared.
    pub verify: bool,
    /// Whether a copy that ended early is gone on with.
    pub resume: bool,
    /// How durable the copies are.
    pub durability: Durability,
    /// How the bytes of large files shall move.
    pub spec: StrategySpec,
    /// The text of the specification, for the account.
    pub spec_text: Option<String>,
    /// What was measured on this machine.
    pub profile: Option<Profile>,
    /// How many files are copied at once; as many as there are processors, if nobody says.
    pub workers: Option<usize>,
    /// Whether a [`CopyEvent::Copied`] is told of each name. It costs a path.
    pub tell_names: bool,
    /// Whether a [`CopyEvent::Planned`] is told of each large file.
    pub tell_plans: bool,
}

impl CopyOptions {
    /// Whether there is nothing to do for a small file but to copy it.
    pub(super) fn plain(&self) -> bool {
        self.simple() && self.sparse == Sparse::Auto && !self.through_dangling
    }

    /// Whether it does not matter by which calls bytes are moved.
    pub(super) fn simple(&self) -> bool {
        let caches = (self.spec.read_cache, self.spec.write_cache);
        !self.verify && self.reflink != Reflink::Always && caches == (None, None)
    }
}

/// What is told of a copy while it goes on. Paths are those that were given, with names below them.
///
/// ```
/// use fullbore::pattern::CopyEvent;
/// let event = CopyEvent::Copied { source: "a".into(), target: "b".into(), backup: None, stats: None };
/// assert_eq!(event.to_string(), "a -> b");
/// ```
#[derive(Debug)]
pub enum CopyEvent {
    /// A file, link or directory has its copy; a directory's comes before what is in it.
    Copied {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
        /// The name that the file which had the target's name has now.
        backup: Option<PathBuf>,
        /// How its bytes were copied, if it has any.
        stats: Option<CopyStats>,
    },
    /// A directory of a source's path was made in the target's directory.
    Parent {
        /// The source.
        source: PathBuf,
        /// The target.
        target: PathBuf,
    },
    /// What had the name of a target gave way to the copy.
    Removed(PathBuf),
    /// A target stayed as it is.
    Skipped(PathBuf),
    /// A source was named before, and is copied once.
    Repeated {
        /// The source.
        source: PathBuf,
        /// True for a directory.
        directory: bool,
    },
    /// How a large file will be copied.
    Planned {
        /// The source.
        source: PathBuf,
        /// The plan.
        plan: Box<crate::strategy::Plan>,
    },
    /// Something could not be copied; the others are, all the same.
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
