//! Carries out [`OpenOptions`] in an order that is safe: open, lock, check the name again, truncate, reserve, hints.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use super::calls::in_environment;
use super::cleanup::{self, CleanupGuard};
use super::handle::refused;
use super::inner::{CacheMode, File, Inner};
use super::locks::lock_whole;
use super::on_close::{OnClose, release};
use super::options::{Access, Mode, OpenOptions, Share};
use super::sweep::{DeleteOnExit, Name};
use super::types::{CachePolicy, Durability, OptionSupport, Support};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, Code, FileKind, Handle, OpenFlags};

/// The number of times that a file is reopened if it is replaced between its opening and its locking.
const ATTEMPTS: usize = 16;

impl OpenOptions {
    /// Opens `path`. The kind of file is not checked: for a directory opened for reading, the first read fails.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the options contradict each other; [`ErrorKind::NoSpace`] if the space cannot be reserved;
    /// [`ErrorKind::Locked`] for a conflicting lock; [`ErrorKind::Changed`] if the file was replaced before each attempt to lock
    /// it; [`ErrorKind::Unsupported`] for a symbolic link that may not be followed, and with [`strict`](Self::strict) for every
    /// unsupported option; and if a system call fails.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        self.check(path)?;
        if self.asks_nothing_more() {
            let fd = self.plainly(path).map_err(|error| self.refusal(path, error))?;
            return Ok(File::opened(fd, path, self.flags()));
        }
        let mut report = Vec::new();
        for _ in 0..ATTEMPTS {
            report.clear();
            let found = if self.temporary {
                let fd = Arc::new(self.nameless(path, &mut report)?);
                OpenedFile { fd, created: None, delete_on_exit: None, by_system: false }
            } else {
                self.find(path).map_err(|error| self.refusal(path, error))?
            };
            let locked = self.lock(path, &found.fd, &mut report)?;
            if locked && !self.temporary && !leads_to(path, &found.fd) {
                continue;
            }
            let mut inner = Inner::shared(found.fd.clone(), path.to_owned(), self.flags());
            if self.cache != CachePolicy::Keep {
                inner = self.cached(inner, &mut report);
            }
            let reserved = match self.prepare(path, &found, &mut report) {
                Ok(reserved) => reserved,
                Err(error) => {
                    drop(inner);
                    found.undo_create();
                    return Err(error);
                }
            };
            let OpenedFile { fd, delete_on_exit, .. } = found;
            inner.on_close = (locked || delete_on_exit.is_some() || reserved > 0).then(|| {
                let forks = sys::forks();
                Arc::new(OnClose { fd, delete_on_exit, locked, duplicated: false.into(), reserved, forks })
            });
            inner.report = OnceLock::from(report);
            return Ok(File::of(inner));
        }
        Err(Error::new(ErrorKind::Changed, "open", path, "it was replaced before each attempt to lock it"))
    }

    fn asks_nothing_more(&self) -> bool {
        self.share.is_none()
            && self.hints.is_empty()
            && self.cache == CachePolicy::Keep
            && self.through == Durability::None
            && self.reserve == 0
            && self.follow
            && !(self.temporary || self.delete || self.strict)
    }

    /// Returns the file under its cache policy, which is determined by trying it and changes nothing in the file.
    fn cached(&self, inner: Inner, report: &mut Vec<OptionSupport>) -> Inner {
        let file = File::of(inner);
        let (cache_mode, support) = CacheMode::find(&file, self.cache);
        let option = if self.cache == CachePolicy::DontCache { "cache=drop" } else { "cache=direct" };
        report.push(OptionSupport { option, support });
        Inner { cache_mode, ..file.inner.derived() }
    }

    /// Makes the steps between the lock and the first use; those that can fail without a change come before the truncation, so
    /// that a strict open that fails has lost no bytes. Returns the number of bytes reserved.
    fn prepare(&self, path: &Path, found: &OpenedFile, report: &mut Vec<OptionSupport>) -> Result<u64> {
        let fd = &found.fd;
        self.advise(fd, report);
        self.note(path, found, report)?;
        self.reject_unsupported(path, report)?;
        if self.reserve == 0 {
            self.empty(path, fd)?;
            return Ok(0);
        }
        let new = found.created.is_some() || self.temporary;
        if new {
            self.empty(path, fd)?;
        }
        // An existing file keeps its bytes until the space is known to be available: what its own blocks do not provide is
        // allocated beside them.
        let support = self.reserve_space(path, fd).inspect_err(|_| {
            if !new {
                // Best effort: the caller reports the earlier error.
                let _ = release(fd, u64::MAX);
            }
        })?;
        let reserves = |support: &Support| if *support == Support::Native { self.reserve } else { 0 };
        let mut reserved = reserves(&support);
        let place = report.len();
        report.push(OptionSupport { option: "reserve", support });
        self.reject_unsupported(path, report)?;
        if new {
            return Ok(reserved);
        }
        self.empty(path, fd)?;
        if reserved > 0 {
            // Truncation freed all blocks of the file: at least as many as are needed now, unless others share them or they were
            // compressed.
            let support = self.reserve_space(path, fd).map_err(|error| {
                let _ = release(fd, u64::MAX);
                error.advise(
                    "the file was truncated and is now empty: its blocks did not suffice, because they were shared with \
                     other files or compressed, or another process took the space",
                )
            })?;
            // The old blocks may have sufficed without a call, which the file system refuses only now.
            reserved = reserves(&support);
            report[place].support = support;
            self.reject_unsupported(path, report)?;
        }
        Ok(reserved)
    }

    fn reject_unsupported(&self, path: &Path, report: &[OptionSupport]) -> Result<()> {
        match report.iter().find(|found| matches!(found.support, Support::Unsupported(_))) {
            Some(refused) if self.strict => {
                Err(Error::new(ErrorKind::Unsupported, "open", path, refused.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// True if a step between opening and truncation can fail: a lock, an unsupported option, a lack of space.
    pub(super) fn empties_late(&self) -> bool {
        self.share.is_some() || self.strict || self.reserve > 0
    }

    /// A nameless file in the directory `path`.
    fn nameless(&self, path: &Path, report: &mut Vec<OptionSupport>) -> Result<Handle> {
        let flags = OpenFlags::READ_WRITE | self.flags() & (OpenFlags::SYNC | OpenFlags::DATA_SYNC);
        let (fd, name) = cleanup::nameless(path, flags, self.permissions)
            .map_err(|error| Error::io("create a temporary file", path, error))?;
        let support = match name {
            Some(_) => Support::Emulated("it had a name for a moment and cannot be given another".to_owned()),
            None => Support::Native,
        };
        report.push(OptionSupport { option: "temporary", support });
        Ok(fd)
    }

    fn refusal(&self, path: &Path, error: Code) -> Error {
        match error {
            Code::LINK_LOOP if !self.follow => Error::new(
                ErrorKind::Unsupported,
                "open",
                path,
                "it is a symbolic link, and follow_symlinks is off",
            ),
            error => refused(path, error),
        }
    }

    fn lock(&self, path: &Path, fd: &Handle, report: &mut Vec<OptionSupport>) -> Result<bool> {
        let Some(share) = self.share else { return Ok(false) };
        let option = share.option_name();
        let support = if !self.locks() {
            Support::Unsupported("locks are switched off".to_owned())
        } else {
            lock_whole(fd, share, self.effective_access() != Access::Read).map_err(|error| {
                if error == Code::WOULD_BLOCK {
                    Error::new(
                        ErrorKind::Locked,
                        "lock",
                        path,
                        "it is open elsewhere with a conflicting lock",
                    )
                    .advise("try again when it is closed there")
                } else {
                    Error::io("lock", path, error.into())
                }
            })?
        };
        let locked = !matches!(support, Support::Unsupported(_));
        report.push(OptionSupport { option, support });
        Ok(locked)
    }

    /// The share mode as flags of the open; empty where locks exclude others.
    fn denials(&self) -> OpenFlags {
        let mut flags = OpenFlags::empty();
        let Some(share) = self.share.filter(|_| self.locks()) else { return flags };
        for (permitted, denial) in [
            (Share::READ, OpenFlags::DENY_READ),
            (Share::WRITE, OpenFlags::DENY_WRITE),
            (Share::DELETE, OpenFlags::DENY_DELETE),
        ] {
            if !share.contains(permitted) {
                flags |= denial;
            }
        }
        // No other handle could remove the file.
        if self.delete && !share.contains(Share::DELETE) {
            flags |= OpenFlags::REMOVABLE;
        }
        flags
    }

    fn locks(&self) -> bool {
        self.locking && !switched_off()
    }

    /// Truncates, unless the open has already done so.
    fn empty(&self, path: &Path, fd: &Handle) -> Result<()> {
        if !self.empties_late() || !matches!(self.mode, Mode::CreateOrTruncate | Mode::Truncate) {
            return Ok(());
        }
        match sys::truncate(fd, 0) {
            // Pipes and devices have no length; `O_TRUNC` has no effect on them either.
            Ok(()) | Err(Code::INVALID) => Ok(()),
            Err(error) => Err(Error::io("truncate", path, error.into())),
        }
    }
}

/// True if the environment turns share locks off; read once.
fn switched_off() -> bool {
    static OFF: LazyLock<bool> = LazyLock::new(|| in_environment("FULLBORE_NO_LOCKS"));
    *OFF
}

/// True if `path` still refers to the opened file.
fn leads_to(path: &Path, fd: &Handle) -> bool {
    match (sys::stat(path), sys::status(fd)) {
        (Ok(there), Ok(ours)) => there.identity() == ours.identity(),
        _ => false,
    }
}

#[derive(Debug)]
pub(super) struct OpenedFile {
    pub(super) fd: Arc<Handle>,
    /// The path of the file, if this open is known to have created it.
    created: Option<PathBuf>,
    /// The guard for the removal of its name, if requested.
    delete_on_exit: Option<CleanupGuard>,
    /// True if the system removes the name.
    pub(super) by_system: bool,
}

impl OpenedFile {
    fn undo_create(self) {
        let Self { fd, created, .. } = self;
        if let Some(created) = created
            && let Ok(name) = Name::of(&created)
            // The caller reports the earlier error.
            && name.remove(&fd) == Err(Code::HELD)
        {
            let _ = name.remove_closed(fd);
        }
    }
}

impl OpenOptions {
    fn find(&self, path: &Path) -> sys::Result<OpenedFile> {
        let more = self.mode_flags();
        match self.mode {
            Mode::CreateNew => self.new_file(path, path),
            Mode::CreateOrTruncate | Mode::OpenOrCreate | Mode::Append if self.must_detect_new() => {
                self.new_or_there(path, more - OpenFlags::CREATE)
            }
            _ => self.there(path, more),
        }
    }

    /// Opens `path` in one call.
    fn plainly(&self, path: &Path) -> sys::Result<Handle> {
        self.call(path, self.mode_flags())
    }

    fn mode_flags(&self) -> OpenFlags {
        let truncate = if self.empties_late() { OpenFlags::empty() } else { OpenFlags::TRUNCATE };
        match self.mode {
            Mode::Open => OpenFlags::empty(),
            Mode::Truncate => truncate,
            Mode::CreateNew => OpenFlags::CREATE | OpenFlags::EXCLUSIVE,
            Mode::CreateOrTruncate => OpenFlags::CREATE | truncate,
            Mode::OpenOrCreate | Mode::Append => OpenFlags::CREATE,
        }
    }

    /// True if the open must determine if the file is new.
    fn must_detect_new(&self) -> bool {
        self.strict || self.delete || self.reserve > 0
    }

    /// Opens in one call, which does not distinguish existing files from new ones.
    fn there(&self, path: &Path, more: OpenFlags) -> sys::Result<OpenedFile> {
        let fd = Arc::new(self.call(path, more)?);
        let delete_on_exit = if self.delete {
            let delete_on_exit = || Ok(DeleteOnExit { name: Name::of(path)?, fd: fd.clone() });
            Some(cleanup::register(delete_on_exit)?)
        } else {
            None
        };
        Ok(OpenedFile { fd, created: None, delete_on_exit, by_system: false })
    }

    /// Creates a file at `place`; `path` is the name to remove if the file is deleted on close.
    fn new_file(&self, path: &Path, place: &Path) -> sys::Result<OpenedFile> {
        // The system would remove the target of a link, and cannot remove a file that is read-only.
        let by_system = self.delete
            && !OpenFlags::DELETE_ON_CLOSE.is_empty()
            && place == path
            && self.permissions & 0o200 != 0;
        let mut flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        if by_system {
            flags |= OpenFlags::DELETE_ON_CLOSE;
        }
        let open = || -> sys::Result<_> { Ok(Arc::new(self.call(place, flags)?)) };
        let created = Some(place.to_owned());
        if !self.delete {
            return Ok(OpenedFile { fd: open()?, created, delete_on_exit: None, by_system });
        }
        // Opening a new file never blocks, so the list may be locked meanwhile.
        let guard = cleanup::register(|| Ok(DeleteOnExit { name: Name::of(path)?, fd: open()? }))?;
        let fd = guard.delete_on_exit().fd.clone();
        Ok(OpenedFile { fd, created, delete_on_exit: Some(guard), by_system })
    }

    /// Creates a file, or opens the existing one with `more`: alternates between the two calls until one succeeds. Dangling links
    /// are followed here, because `O_EXCL` does not follow them.
    fn new_or_there(&self, path: &Path, more: OpenFlags) -> sys::Result<OpenedFile> {
        let mut place = path.to_owned();
        for _ in 0..ATTEMPTS {
            match self.new_file(path, &place) {
                Err(Code::EXISTS) => {}
                found => return found,
            }
            match self.there(path, more) {
                Err(Code::NOT_FOUND) => {}
                // `O_CREAT` rejects a directory, even one that could be opened for reading.
                Ok(found) if is_directory(&found.fd) => return Err(Code::IS_DIRECTORY),
                found => return found,
            }
            // The file was removed between the two calls, or is a dangling link.
            place = match std::fs::read_link(&place) {
                Ok(link) if self.follow => place.parent().unwrap_or(Path::new("")).join(link),
                _ => path.to_owned(),
            };
        }
        Err(Code::NOT_FOUND)
    }

    fn call(&self, path: &Path, more: OpenFlags) -> sys::Result<Handle> {
        sys::open(path, self.flags() | self.denials() | more, self.permissions)
    }
}

fn is_directory(fd: &Handle) -> bool {
    sys::status(fd).is_ok_and(|found| found.kind() == FileKind::Directory)
}
