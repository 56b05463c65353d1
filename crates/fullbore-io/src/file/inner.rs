//! The data of an open file, and its health. The types are in one module because they refer to one another: a direct handle is a
//! file, and a derived handle uses the descriptor of another.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use super::on_close::OnClose;
use super::spans::Rule;
use super::types::{FileStamp, OptionSupport};
use crate::error::reason;
#[cfg(feature = "fault")]
use crate::fault::plan::Plan;
use crate::lock::Mutex;
use crate::probe::FileSystemId;
use crate::sys::{self, Advice, AsHandle, BorrowedHandle, FileKind, Handle, OpenFlags};

/// An open file and its path. Clones refer to the same open file; the last one closes it.
///
/// Every function that returns a `Result` may fail with an error of the system, with path and offset. The section *Errors* of a
/// function lists the others.
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
    pub(super) file_system: OnceLock<FileSystemId>,
    /// True if a listing reported a regular file, so it was opened with `NONBLOCK`: something else may have its name by now.
    pub(super) listed: bool,
    /// The granularity of transfers in bytes: 1, or the alignment of direct I/O.
    pub(super) unit: usize,
    pub(super) cache_mode: CacheMode,
    /// The flags that a reopened file inherits.
    pub(super) status: OpenFlags,
    /// The initial position of an adopted descriptor, which others may move; `None` for files opened here, whose position never
    /// changes.
    pub(super) start: Option<u64>,
    pub(super) on_close: Option<Arc<OnClose>>,
    pub(super) report: OnceLock<Vec<OptionSupport>>,
    /// Last, because its drop may drop the pages of the file, whose handles must be closed first.
    pub(super) health: Health,
}

/// The flags that a reopened file inherits: append, write-through, and the hints of Windows.
const INHERITED: OpenFlags = OpenFlags::APPEND
    .union(OpenFlags::SYNC)
    .union(OpenFlags::DATA_SYNC)
    .union(OpenFlags::SEQUENTIAL)
    .union(OpenFlags::RANDOM);

impl Inner {
    /// Creates a newly opened file with these flags, about which nothing has been determined yet.
    pub(super) fn plain(fd: Handle, path: PathBuf, flags: OpenFlags) -> Self {
        Self::on(Descriptor::Own(fd), path, flags)
    }

    /// Creates a file as [`plain`](Self::plain) does, on a descriptor that others may hold too.
    pub(super) fn shared(fd: Arc<Handle>, path: PathBuf, flags: OpenFlags) -> Self {
        Self::on(Descriptor::Shared(fd), path, flags)
    }

    fn on(fd: Descriptor, path: PathBuf, flags: OpenFlags) -> Self {
        Self {
            fd,
            path,
            kind: OnceLock::new(),
            file_system: OnceLock::new(),
            listed: false,
            unit: 1,
            cache_mode: CacheMode::Plain,
            status: flags & INHERITED,
            start: None,
            on_close: None,
            report: OnceLock::new(),
            health: Health::default(),
        }
    }

    /// Returns a copy in plain mode, for a handle that differs in some fields.
    pub(super) fn derived(self: &Arc<Self>) -> Self {
        let fd = match &self.fd {
            Descriptor::Own(_) | Descriptor::Further(_) => Descriptor::Of(self.clone()),
            Descriptor::Shared(fd) => Descriptor::Shared(fd.clone()),
            Descriptor::Of(inner) => Descriptor::Of(inner.clone()),
        };
        Self {
            fd,
            path: self.path.clone(),
            kind: self.kind.clone(),
            file_system: self.file_system.clone(),
            listed: self.listed,
            unit: self.unit,
            cache_mode: CacheMode::Plain,
            status: self.status,
            start: self.start,
            on_close: self.on_close.clone(),
            report: self.report.clone(),
            health: self.health.shared(),
        }
    }

    /// Returns the kind, which `find` determines at first use. A listed regular file then loses its `NONBLOCK`, with which queued
    /// reads fail instead of waiting.
    pub(super) fn kind(&self, find: impl FnOnce() -> FileKind) -> FileKind {
        *self.kind.get_or_init(|| {
            let kind = find();
            if self.listed && kind == FileKind::Regular {
                let _ = sys::set_status_flags(&self.fd, OpenFlags::empty());
            }
            kind
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) stamp: FileStamp,
    /// True if the file has fewer blocks than bytes.
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
        let inner = Inner { fd: self.further(fd), unit, ..self.inner.derived() };
        Self { inner: Arc::new(inner), ..self.clone() }
    }

    /// Adopts a further descriptor of this file.
    pub(super) fn further(&self, fd: Handle) -> Descriptor {
        Descriptor::Further(FurtherHandle { fd: Some(fd), state: self.inner.health.state().clone() })
    }

    pub(super) fn under(&self, cache_mode: CacheMode) -> Self {
        Self { inner: Arc::new(Inner { cache_mode, ..self.inner.derived() }), ..self.clone() }
    }

    /// Returns the path at opening.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the kind of file: one system call at first use, unless opening has already determined it.
    pub fn kind(&self) -> FileKind {
        self.inner.kind(|| sys::status(&self.inner.fd).map_or(FileKind::Other, |stat| stat.kind()))
    }
}

crate::as_handle!(File, this => this.inner.fd.as_handle());

/// The descriptor of a handle. Most files have one handle, which owns its descriptor without a further allocation.
#[derive(Debug)]
pub(super) enum Descriptor {
    /// Owned by the handle alone.
    Own(Handle),
    /// The same, of a file that has others.
    Further(FurtherHandle),
    /// Also held by the guard that locks or removes the file.
    Shared(Arc<Handle>),
    /// The descriptor of the handle from which this one was derived.
    Of(Arc<Inner>),
}

crate::as_handle!(Descriptor, this => match this {
    Descriptor::Own(fd) => fd.as_handle(),
    _ => this.of_another(),
});

impl Descriptor {
    /// A function of its own, so that the code before the system call is short for most handles.
    #[cold]
    fn of_another(&self) -> BorrowedHandle<'_> {
        match self {
            Self::Own(fd) => fd.as_handle(),
            Self::Further(further) => further.fd.as_ref().expect("open until it is dropped").as_handle(),
            Self::Shared(fd) => fd.as_handle(),
            Self::Of(inner) => inner.fd.as_handle(),
        }
    }
}

/// A further descriptor of a file. NFS, SMB and FUSE report lost bytes when a descriptor is closed, perhaps once: the error is
/// recorded for all handles of the file.
#[derive(Debug)]
pub(super) struct FurtherHandle {
    /// `None` once it is closed.
    fd: Option<Handle>,
    state: Arc<SyncState>,
}

impl FurtherHandle {
    pub(super) fn close(&mut self) -> io::Result<()> {
        let closed = self.fd.take().map_or(Ok(()), sys::close);
        closed.inspect_err(|error| self.state.fails(Loss::Close, error))
    }
}

impl Drop for FurtherHandle {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[derive(Debug)]
pub(crate) enum CacheMode {
    /// Calls of `pread` and `pwrite`.
    Plain,
    /// Calls with `RWF_DONTCACHE`.
    Flagged,
    /// Plain calls; the pages are dropped after use.
    DropBehind(Box<DropBehind>),
    /// Calls that bypass the page cache.
    Direct(Box<Direct>),
}

#[derive(Debug)]
pub(crate) struct Direct {
    pub(super) file: File,
    /// The handle that uses the page cache, if the file was adopted and bypasses it.
    pub(super) cached: Option<File>,
    pub(super) reads: Rule,
    pub(super) writes: Rule,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The reason for which the system rejected a transfer that satisfies the constraints; all later transfers use the page cache.
    pub(super) gave_up: OnceLock<String>,
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
    /// A separate open file: waiting for writeback consumes the pending error of the open file that waits, and the user's must
    /// still report it at its sync (`man 2 sync_file_range`, errors).
    pub(super) fd: Descriptor,
    /// True if `fd` is the user's descriptor after all, on which writeback is never awaited.
    pub(super) shared: bool,
    /// True on an overlay, where ranges cannot be awaited: `sync_file_range` looks for dirty pages, which belong to another inode.
    pub(super) overlaid: bool,
    /// True if written bytes go to the end of the file, whatever their offset.
    pub(super) appends: bool,
    pub(super) state: Mutex<PendingDrops>,
}

/// The state that all handles derived from one file share: the failed sync, the reserved range, and a test's fault plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// Created when a handle is derived, a sync fails or a range is reserved; most files need none.
    state: OnceLock<Arc<SyncState>>,
    #[cfg(feature = "fault")]
    pub(super) plan: Option<Plan>,
    /// The bytes read and written under the fault plan, for a file without offsets.
    #[cfg(feature = "fault")]
    pub(super) flowed: Option<Arc<[AtomicU64; 2]>>,
}

impl Health {
    pub(super) fn shared(&self) -> Self {
        self.state();
        self.clone()
    }

    pub(super) fn state(&self) -> &Arc<SyncState> {
        self.state.get_or_init(Arc::default)
    }

    pub(super) fn set_reserved(&self, end: u64) {
        self.state().reserved.fetch_max(end, Ordering::Relaxed);
    }

    /// Returns the end of the ranges reserved through these handles, in bytes.
    pub(super) fn reserved(&self) -> u64 {
        self.state.get().map_or(0, |state| state.reserved.load(Ordering::Relaxed))
    }

    pub(super) fn given_away(&self) -> bool {
        self.state.get().is_some_and(|state| state.given_away.load(Ordering::Relaxed))
    }

    pub(super) fn failed(&self) -> Option<&Arc<Failure>> {
        self.state.get().and_then(|state| state.failed.get())
    }

    /// The reason why the bytes are not all written, and advice: streams hold bytes, a write is in progress, or one was dropped.
    pub(super) fn unfinished(&self) -> Option<(&'static str, &'static str)> {
        let state = self.state.get()?;
        if state.unwritten.load(Ordering::Acquire) > 0 {
            let what = "a stream over it holds bytes that are not written, or a write is in progress";
            return Some((what, "flush or close the stream, or await the write, first"));
        }
        let what = "an asynchronous write to it was dropped before all bytes were written";
        let advice = "await every write, and write the file again";
        state.incomplete.load(Ordering::Relaxed).then_some((what, advice))
    }
}

#[derive(Debug, Default)]
pub(super) struct SyncState {
    pub(super) failed: OnceLock<Arc<Failure>>,
    /// Held during a sync: the system reports a failure to one caller only, who must record it before a concurrent sync succeeds.
    pub(super) syncing: Mutex<()>,
    /// True if others have a descriptor of the open file, whose position they may move.
    pub(super) given_away: AtomicBool,
    reserved: AtomicU64,
    /// Number of streams, or of their writes, whose bytes are not written yet.
    unwritten: AtomicU64,
    incomplete: AtomicBool,
    dropped_at_close: OnceLock<Option<DroppedAtClose>>,
}

impl SyncState {
    /// Records an error of writing, of which only the first counts.
    pub(super) fn fails(&self, loss: Loss, error: &io::Error) {
        let error = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        let _ = self.failed.set(Arc::new(Failure { loss, error }));
    }

    /// Drops the pages of the file when its last handle is closed; `None` if the file cannot be opened for it.
    pub(super) fn drop_pages_at_close(&self, file: &File) -> Option<()> {
        let own = || file.reopen_fd_with(OpenFlags::READ | OpenFlags::DIRECT).ok().map(DroppedAtClose);
        self.dropped_at_close.get_or_init(own).as_ref().map(|_| ())
    }
}

/// Counts a stream's unwritten bytes in the state of their file until it is dropped.
#[derive(Debug)]
pub(crate) struct Unwritten(Arc<SyncState>);

impl Unwritten {
    /// Records that the bytes will not be written.
    pub(crate) fn lose(&self) {
        self.0.incomplete.store(true, Ordering::Relaxed);
    }
}

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.unwritten.fetch_sub(1, Ordering::Release);
    }
}

impl File {
    /// Marks that a stream holds bytes of this file. Only the file of an [`Output`](super::Output) has a state that counts them.
    pub(crate) fn mark_unwritten(&self) -> Option<Unwritten> {
        let state = self.inner.health.state.get()?;
        state.unwritten.fetch_add(1, Ordering::Relaxed);
        Some(Unwritten(state.clone()))
    }
}

/// A handle that bypasses the cache, through which the pages are dropped at the end.
#[derive(Debug)]
struct DroppedAtClose(Handle);

impl Drop for DroppedAtClose {
    fn drop(&mut self) {
        // Pages that remain cost memory, not correctness.
        let _ = sys::advise(&self.0, 0, None, Advice::DontNeed);
    }
}

/// The call that failed when bytes were lost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Loss {
    Sync,
    /// The end of one of several handles.
    Close,
    /// A write of a stream that was dropped.
    Stream,
}

#[derive(Debug)]
pub(super) struct Failure {
    loss: Loss,
    pub(super) error: io::Error,
}

#[derive(Debug)]
pub(super) struct Poisoned(pub(super) Arc<Failure>);

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = reason(&self.0.error);
        let (call, lost) = match self.0.loss {
            Loss::Sync => ("sync of this file", "data written before it may be lost"),
            Loss::Close => ("close of a handle of this file", "data written before it may be lost"),
            Loss::Stream => ("write of a stream that was dropped", "its pending data is lost"),
        };
        write!(f, "an earlier {call} failed ({cause}), and {lost}; write the file again from its source")
    }
}

impl std::error::Error for Poisoned {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handle_that_drops_the_pages_is_closed_with_the_last_one() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file([7; 8192]);
        let file = File::open_write(&path).unwrap();
        let Some(()) = file.inner.health.state().drop_pages_at_close(&file) else {
            return println!("skipped: {} has no direct handles", path.display());
        };
        let state = Arc::downgrade(file.inner.health.state.get().unwrap());
        let (worker, clone) = (file.reopen(true), file.clone());
        drop((file, clone));
        assert!(state.upgrade().is_some());
        drop(worker);
        assert!(state.upgrade().is_none());
    }
}
