//! The data of an open file. The types refer to one another: a direct handle is a file, and a derived handle has another's descriptor.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use super::health::Health;
use super::on_close::OnClose;
use super::spans::Rule;
use super::types::{FileStamp, OptionSupport};
use crate::sys::{self, AsHandle, BorrowedHandle, FileKind, Handle, OpenFlags};

/// An open file and its path. Clones refer to the same open file; the last one closes it.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// use fullbore_io::file::File;
/// let file = File::create_new(directory.path().join("file"))?;
/// let other = file.clone();
/// other.write_all_at(b"bytes", 0)?;
/// assert_eq!(file.len()?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct File {
    pub(super) inner: Arc<Inner>,
    /// The state at the start of the runs over this handle, once determined.
    pub(super) before: Option<Before>,
    /// True if workers may share the open file, because no read-ahead is needed.
    pub(super) shared: bool,
}

/// The data that the clones of a [`File`] share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) fd: Descriptor,
    pub(super) path: PathBuf,
    pub(super) kind: OnceLock<FileKind>,
    /// The granularity of transfers in bytes: 1, or the alignment of direct I/O.
    pub(super) unit: usize,
    pub(super) cache_mode: CacheMode,
    pub(super) health: Health,
    /// The flags that a reopened file inherits: append and write-through.
    pub(super) status: OpenFlags,
    /// The initial position of an adopted descriptor, which others may move; `None` for files opened here, whose position never
    /// changes.
    pub(super) start: Option<u64>,
    pub(super) on_close: Option<Arc<OnClose>>,
    pub(super) report: OnceLock<Vec<OptionSupport>>,
}

impl Inner {
    /// A newly opened file with these flags, about which nothing has been determined yet.
    pub(super) fn plain(fd: Handle, path: PathBuf, flags: OpenFlags) -> Self {
        Self::on(Descriptor::Own(fd), path, flags)
    }

    /// As [`plain`](Self::plain), on a descriptor that others may hold too.
    pub(super) fn shared(fd: Arc<Handle>, path: PathBuf, flags: OpenFlags) -> Self {
        Self::on(Descriptor::Shared(fd), path, flags)
    }

    fn on(fd: Descriptor, path: PathBuf, flags: OpenFlags) -> Self {
        Self {
            fd,
            path,
            kind: OnceLock::new(),
            unit: 1,
            cache_mode: CacheMode::Plain,
            health: Health::default(),
            status: flags & (OpenFlags::APPEND | OpenFlags::SYNC | OpenFlags::DATA_SYNC),
            start: None,
            on_close: None,
            report: OnceLock::new(),
        }
    }

    /// A copy in plain mode, for a handle that differs in some fields.
    pub(super) fn kin(self: &Arc<Self>) -> Self {
        let fd = match &self.fd {
            Descriptor::Own(_) => Descriptor::Of(self.clone()),
            Descriptor::Shared(fd) => Descriptor::Shared(fd.clone()),
            Descriptor::Of(inner) => Descriptor::Of(inner.clone()),
        };
        Self {
            fd,
            path: self.path.clone(),
            kind: self.kind.clone(),
            unit: self.unit,
            cache_mode: CacheMode::Plain,
            health: self.health.shared(),
            status: self.status,
            start: self.start,
            on_close: self.on_close.clone(),
            report: self.report.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) stamp: FileStamp,
    /// True if it has fewer blocks than bytes.
    pub(super) sparse: bool,
}

impl File {
    pub(super) fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), before: None, shared: false }
    }

    pub(super) fn opened(fd: Handle, path: &Path, flags: OpenFlags) -> Self {
        Self::of(Inner::plain(fd, path.to_owned(), flags))
    }

    pub(super) fn same(&self, fd: Handle, unit: usize) -> Self {
        Self { inner: Arc::new(Inner { fd: Descriptor::Own(fd), unit, ..self.inner.kin() }), ..self.clone() }
    }

    pub(super) fn under(&self, cache_mode: CacheMode) -> Self {
        Self { inner: Arc::new(Inner { cache_mode, ..self.inner.kin() }), ..self.clone() }
    }

    /// The path at opening.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The kind of file: one system call at first use, unless opening has already determined it.
    pub fn kind(&self) -> FileKind {
        *self
            .inner
            .kind
            .get_or_init(|| sys::status(&self.inner.fd).map_or(FileKind::Other, |stat| stat.kind()))
    }
}

crate::as_handle!(File, this => this.inner.fd.as_handle());

/// The descriptor of a handle. Most files have one handle, which owns its descriptor without a further allocation.
#[derive(Debug)]
pub(super) enum Descriptor {
    /// Owned by the handle alone.
    Own(Handle),
    /// Also held by the guard that locks or removes the file.
    Shared(Arc<Handle>),
    /// That of the handle from which this one was derived.
    Of(Arc<Inner>),
}

crate::as_handle!(Descriptor, this => match this {
    Descriptor::Own(fd) => fd.as_handle(),
    _ => this.of_another(),
});

impl Descriptor {
    /// Separate, so that the code before the system call is short for most handles.
    #[cold]
    fn of_another(&self) -> BorrowedHandle<'_> {
        match self {
            Self::Own(fd) => fd.as_handle(),
            Self::Shared(fd) => fd.as_handle(),
            Self::Of(inner) => inner.fd.as_handle(),
        }
    }
}

#[derive(Debug)]
pub(super) enum CacheMode {
    /// `pread` and `pwrite`.
    Plain,
    /// With `RWF_DONTCACHE`.
    Flagged,
    /// Plain, with the pages dropped after use.
    DropBehind(Box<DropBehind>),
    /// Bypass.
    Direct(Box<Direct>),
}

#[derive(Debug)]
pub(super) struct Direct {
    pub(super) file: File,
    pub(super) reads: Rule,
    pub(super) writes: Rule,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// True once the system has rejected a transfer that satisfied the constraints: then all go through the cache.
    pub(super) gave_up: AtomicBool,
    pub(super) identity: (u64, u64),
}

#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    pub(super) range: Option<Range<u64>>,
}

#[derive(Debug, Default)]
pub(super) struct PendingDrops {
    pub(super) read: Moved,
    pub(super) written: Moved,
    pub(super) in_writeback: Option<Range<u64>>,
}

#[derive(Debug)]
pub(crate) struct DropBehind {
    /// A separate open file: waiting for writeback consumes the error report of the one that waits, and the user's must still
    /// receive it at its sync (`man 2 sync_file_range`, errors).
    pub(super) fd: Descriptor,
    /// True if `fd` is the user's descriptor after all, on which writeback is never awaited.
    pub(super) shared: bool,
    /// True on an overlay, where ranges cannot be awaited: `sync_file_range` looks for dirty pages, which belong to another inode.
    pub(super) overlaid: bool,
    pub(super) state: Mutex<PendingDrops>,
}
