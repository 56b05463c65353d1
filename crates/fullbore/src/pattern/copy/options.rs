//! What is asked of a copy.

use std::fmt;

use crate::file::Durability;
use crate::strategy::{Profile, Wish};

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
    /// It is replaced if the source was modified later.
    Update,
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
}

impl Preserve {
    /// All of it, as far as it can be had.
    pub const ALL: Self =
        Self { mode: true, owner: true, times: true, links: true, attributes: true, insist: false };
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
    /// Whether targets that may not be written are replaced too.
    pub force: bool,
    /// Whether blocks are shared.
    pub reflink: Reflink,
    /// Whether what was written is read back from the device and compared.
    pub verify: bool,
    /// Whether a copy that ended early is gone on with.
    pub resume: bool,
    /// How durable the copies are.
    pub durability: Durability,
    /// How the bytes of large files shall move.
    pub wish: Wish,
    /// The text of the wish, for the account.
    pub asked: Option<String>,
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
        let caches = (self.wish.read_cache, self.wish.write_cache);
        !self.verify && self.reflink != Reflink::Always && caches == (None, None)
    }
}

/// What is told of a copy while it goes on. Paths are those that were given, with names below them.
///
/// ```
/// use fullbore::pattern::CopyEvent;
/// let event = CopyEvent::Copied { source: "a".into(), target: "b".into() };
/// assert_eq!(event.to_string(), "a -> b");
/// ```
#[derive(Debug)]
pub enum CopyEvent {
    /// A file, link or directory has its copy; a directory's comes before what is in it.
    Copied {
        /// The source.
        source: std::path::PathBuf,
        /// The target.
        target: std::path::PathBuf,
    },
    /// How a large file will be copied.
    Planned {
        /// The source.
        source: std::path::PathBuf,
        /// The plan.
        plan: Box<crate::strategy::Plan>,
    },
    /// Something could not be copied; the others are, all the same.
    Failed(crate::Error),
}

impl fmt::Display for CopyEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copied { source, target } => write!(f, "{} -> {}", source.display(), target.display()),
            Self::Planned { plan, .. } => write!(f, "{plan}"),
            Self::Failed(error) => write!(f, "{error}"),
        }
    }
}
