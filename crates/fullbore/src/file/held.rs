//! Directories held open: names in them are resolved once, whatever others do to the paths meanwhile.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A directory that stays the same one, even if its path leads elsewhere later.
///
/// Those opened [by a path](Self::open) hold a descriptor as long as they live. Those opened [in another](Self::child) give
/// theirs back while too many are open, and are opened again when they are needed: by their name in their parent, links
/// not followed, and only if that leads to the same directory still.
///
/// ```
/// use fullbore::file::HeldDir;
/// let src = HeldDir::open("src")?;
/// let file = src.child("file", false)?;
/// assert_eq!(file.path(), std::path::Path::new("src/file"));
/// assert!(src.child("lib.rs", false).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HeldDir(Arc<Held>);

#[derive(Debug)]
struct Held {
    /// For messages: the path of those that have no parent, the name in it of the others.
    path: PathBuf,
    parent: Option<HeldDir>,
    /// Whether its name may be a symbolic link.
    follow: bool,
    /// The device and inode numbers.
    identity: (u64, u64),
    state: Mutex<OpenDir>,
}

#[derive(Debug)]
struct OpenDir {
    fd: Option<Arc<OwnedFd>>,
    /// Its name in the parent.
    name: OsString,
}

/// How its descriptor is opened: attributes are set through it, so a path alone (`O_PATH`) does not do.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How many descriptors are open that can be given back.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Those that may be open, oldest first.
static OLDEST: Mutex<VecDeque<Weak<Held>>> = Mutex::new(VecDeque::new());

/// How many descriptors that can be given back may be open at once: half of what the process may have, less what it has
/// anyway.
static MOST: LazyLock<usize> = LazyLock::new(|| {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 12);
    (limit.saturating_sub(12) / 2).clamp(4, 1 << 10) as usize
});

/// How many more descriptors of directories a walk may hold than those of [`HeldDir`]s, and how many threads find enough for
/// what each has open besides.
pub(crate) fn spare() -> usize {
    *MOST / 4
}

impl HeldDir {
    /// Opens the directory that a path leads to; the empty path is the working directory.
    ///
    /// ```
    /// assert!(fullbore::file::HeldDir::open("src").is_ok());
    /// assert!(fullbore::file::HeldDir::open("Cargo.toml").is_err());
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let place = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = match rustix::fs::open(place, FLAGS, Mode::empty()) {
            // Names can be made in a directory that may not be listed.
            Err(Errno::ACCESS) => rustix::fs::open(place, FLAGS | OFlags::PATH, Mode::empty())?,
            other => other?,
        };
        Ok(Self::opened(fd, path))
    }

    /// Takes over a descriptor of the directory that `path` leads to.
    pub(crate) fn opened(fd: OwnedFd, path: &Path) -> Self {
        let identity = rustix::fs::fstat(&fd).map_or((0, 0), |stat| (stat.st_dev, stat.st_ino));
        let state = Mutex::new(OpenDir { fd: Some(Arc::new(fd)), name: OsString::new() });
        Self(Arc::new(Held { path: path.to_owned(), parent: None, follow: true, identity, state }))
    }

    /// Opens the directory that a file's path names it in, with the name: the last one of the path.
    ///
    /// ```
    /// let (src, name) = fullbore::file::HeldDir::of("src/lib.rs")?;
    /// assert_eq!((src.path(), name.to_str()), ("src".into(), Some("lib.rs")));
    /// assert!(fullbore::file::HeldDir::of("src/..").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses; `EINVAL` if the path ends in no name.
    pub fn of(path: impl AsRef<Path>) -> io::Result<(Self, OsString)> {
        let path = path.as_ref();
        let name = path.file_name().ok_or(Errno::INVAL)?;
        Ok((Self::open(path.parent().unwrap_or(Path::new("")))?, name.to_owned()))
    }

    /// Opens the directory that has a name in this one. A symbolic link is followed if `follow` says so.
    ///
    /// ```
    /// let src = fullbore::file::HeldDir::open("src")?;
    /// assert!(src.child("file", false).is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses: `ELOOP` or `ENOTDIR` for a link that is not followed.
    pub fn child(&self, name: impl AsRef<OsStr>, follow: bool) -> io::Result<Self> {
        let name = name.as_ref();
        let fd = rustix::fs::openat(self.fd()?, name, FLAGS | unless(follow), Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        Ok(self.with(fd, (name, name), follow, (stat.st_dev, stat.st_ino)))
    }

    /// Opens the directory that a path leads to from this one, links followed.
    pub(super) fn at(&self, path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::openat(self.fd()?, path, FLAGS, Mode::empty())?;
        Ok(Self::opened(fd, &self.path().join(path)))
    }

    /// Syncs it: the names in it are durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let fd = self.fd()?;
        match rustix::fs::fsync(&fd) {
            // It could be opened as a path only.
            Err(Errno::BADF) => {
                rustix::fs::openat(&fd, ".", FLAGS, Mode::empty()).and_then(rustix::fs::fsync)?
            }
            other => other?,
        }
        Ok(())
    }

    /// Takes over a descriptor of the directory that has the first of the names in this one; messages show the second.
    pub(crate) fn with(
        &self,
        fd: OwnedFd,
        (name, shown): (&OsStr, &OsStr),
        follow: bool,
        identity: (u64, u64),
    ) -> Self {
        let state = Mutex::new(OpenDir { fd: Some(Arc::new(fd)), name: name.to_owned() });
        let parent = Some(self.clone());
        let held = Arc::new(Held { path: shown.into(), parent, follow, identity, state });
        note(&held);
        Self(held)
    }

    /// The descriptor. It stays open as long as somebody has it.
    ///
    /// ```
    /// use std::os::fd::{AsFd, AsRawFd};
    /// let src = fullbore::file::HeldDir::open("src")?;
    /// assert!(src.fd()?.as_fd().as_raw_fd() > 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Only where it was given back: those of opening it again, and `ESTALE` if its name leads to another directory now.
    pub fn fd(&self) -> io::Result<Arc<OwnedFd>> {
        if let Some(fd) = &self.0.state().fd {
            return Ok(fd.clone());
        }
        Ok(self.reopen()?)
    }

    fn reopen(&self) -> rustix::io::Result<Arc<OwnedFd>> {
        let mut closed = vec![self];
        let mut above = self.0.parent.as_ref();
        let mut fd = loop {
            // Those without a parent are always open.
            let held = above.ok_or(Errno::STALE)?;
            if let Some(fd) = &held.0.state().fd {
                break fd.clone();
            }
            closed.push(held);
            above = held.0.parent.as_ref();
        };
        let beneath = closed.iter().rev().map(|held| held.0.state().name.clone()).collect::<PathBuf>();
        let links = closed.iter().any(|held| held.0.follow);
        let at_once = if links { None } else { beneath_at_once(&fd, &beneath)? };
        let found = match at_once {
            Some(found) => Arc::new(found),
            None => {
                for held in closed.iter().rev() {
                    let name = held.0.state().name.clone();
                    let flags = FLAGS | unless(held.0.follow);
                    fd = Arc::new(rustix::fs::openat(&fd, name, flags, Mode::empty())?);
                    held.0.verify(&fd)?;
                }
                fd
            }
        };
        self.0.verify(&found)?;
        let mut state = self.0.state();
        if let Some(fd) = &state.fd {
            return Ok(fd.clone());
        }
        state.fd = Some(found.clone());
        drop(state);
        note(&self.0);
        Ok(found)
    }

    /// The path as it was given, with the names below it: for messages.
    ///
    /// ```
    /// let src = fullbore::file::HeldDir::open("src")?;
    /// assert_eq!(src.child("file", false)?.path().to_str(), Some("src/file"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn path(&self) -> PathBuf {
        match &self.0.parent {
            None => self.0.path.clone(),
            Some(parent) => parent.path().join(&self.0.path),
        }
    }

    /// Opens a file for reading by its name in this directory. A symbolic link is not followed, and nobody is waited for.
    ///
    /// ```
    /// let src = fullbore::file::HeldDir::open("src")?;
    /// assert_eq!(src.open_file("lib.rs")?.path().to_str(), Some("src/lib.rs"));
    /// assert!(src.open_file("missing").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> crate::Result<super::File> {
        let path = self.path().join(name.as_ref());
        let fail = |error| crate::Error::io("open", &path, error);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        // Of a pipe that somebody put there instead nobody may be the writer.
        let file =
            super::File::open_at(self.fd().map_err(fail)?, name.as_ref(), &path, flags | OFlags::NONBLOCK)?;
        rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(|error| fail(error.into()))?;
        Ok(file)
    }

    /// The device and inode numbers.
    ///
    /// ```
    /// let src = fullbore::file::HeldDir::open("src")?;
    /// assert_eq!(src.identity(), fullbore::file::HeldDir::open("./src")?.identity());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn identity(&self) -> (u64, u64) {
        self.0.identity
    }

    /// Its name in its parent is another now.
    pub(crate) fn renamed(&self, name: &OsStr) {
        self.0.state().name = name.to_owned();
    }
}

impl Held {
    fn state(&self) -> MutexGuard<'_, OpenDir> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn verify(&self, fd: &OwnedFd) -> rustix::io::Result<()> {
        let stat = rustix::fs::fstat(fd)?;
        if (stat.st_dev, stat.st_ino) == self.identity { Ok(()) } else { Err(Errno::STALE) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.parent.is_some() && self.state().fd.is_some() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn unless(follow: bool) -> OFlags {
    if follow { OFlags::empty() } else { OFlags::NOFOLLOW }
}

/// Opens a directory some levels below another in one call; `None` where that call is missing or forbidden, or the path is
/// too long for it.
fn beneath_at_once(fd: &OwnedFd, path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match rustix::fs::openat2(fd, path, FLAGS, Mode::empty(), resolve) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::NAMETOOLONG | Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Notes that a directory has a descriptor, and has the oldest give theirs back if there are too many.
fn note(held: &Arc<Held>) {
    let mut oldest = OLDEST.lock().unwrap_or_else(PoisonError::into_inner);
    oldest.push_back(Arc::downgrade(held));
    let open = OPEN.fetch_add(1, Ordering::Relaxed) + 1;
    let mut back = Vec::new();
    let mut over = open.saturating_sub(*MOST);
    while over > 0
        && let Some(old) = oldest.pop_front()
    {
        let Some(old) = old.upgrade() else { continue };
        if Arc::ptr_eq(&old, held) {
            oldest.push_back(Arc::downgrade(held));
            break;
        }
        if old.state().fd.take().is_some() {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            over -= 1;
        }
        back.push(old);
    }
    if oldest.len() > 4 * *MOST {
        oldest.retain(|old| old.strong_count() > 0);
    }
    drop(oldest);
    // Whoever is the last to hold one lets go of its parents too, which may be noted themselves.
    drop(back);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// What a directory does whose descriptor was given back.
    fn closed(held: &HeldDir) -> bool {
        let closed = held.0.state().fd.take().is_some();
        OPEN.fetch_sub(usize::from(closed), Ordering::Relaxed);
        closed
    }

    #[test]
    fn a_directory_is_opened_again_only_if_it_is_the_same() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir_all(room.path().join("a/b/c")).unwrap();
        fs::create_dir_all(room.path().join("other/c")).unwrap();
        let top = HeldDir::open(room.path()).unwrap();
        let a = top.child("a", false).unwrap();
        let b = a.child("b", false).unwrap();
        let c = b.child("c", false).unwrap();
        assert_eq!(c.path(), room.path().join("a/b/c"));
        for held in [&a, &b, &c] {
            assert!(closed(held));
        }
        assert!(c.fd().is_ok() && !closed(&b) && closed(&c));
        // Another directory, and a link to the same, are not it.
        fs::rename(room.path().join("a/b"), room.path().join("moved")).unwrap();
        assert_eq!(c.fd().unwrap_err().raw_os_error(), Some(Errno::NOENT.raw_os_error()));
        fs::rename(room.path().join("other"), room.path().join("a/b")).unwrap();
        assert_eq!(c.fd().unwrap_err().raw_os_error(), Some(Errno::STALE.raw_os_error()));
        fs::rename(room.path().join("a/b"), room.path().join("other")).unwrap();
        symlink("../moved", room.path().join("a/b")).unwrap();
        assert!(c.fd().is_err());
        // It is known to have another name now.
        fs::remove_file(room.path().join("a/b")).unwrap();
        fs::rename(room.path().join("moved"), room.path().join("a/new")).unwrap();
        b.renamed(OsStr::new("new"));
        assert!(c.fd().is_ok());
    }

    #[test]
    fn links_are_not_followed_unless_that_is_wanted() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir(room.path().join("real")).unwrap();
        symlink("real", room.path().join("link")).unwrap();
        let top = HeldDir::open(room.path()).unwrap();
        assert!(top.child("link", false).is_err());
        let link = top.child("link", true).unwrap();
        assert!(closed(&link) && link.fd().is_ok());
    }

    #[test]
    fn a_deep_chain_needs_few_descriptors() {
        let room = tempfile::tempdir().unwrap();
        let mut chain = vec![HeldDir::open(room.path()).unwrap()];
        for _ in 0..3 * (*MOST).min(300) {
            let last = &chain[chain.len() - 1];
            rustix::fs::mkdirat(last.fd().unwrap(), "d", Mode::RWXU).unwrap();
            chain.push(last.child("d", false).unwrap());
        }
        for held in &chain {
            assert!(held.fd().is_ok());
            assert!(OPEN.load(Ordering::Relaxed) <= *MOST + 64);
        }
        super::super::sweep::remove_tree(&chain[0], OsStr::new("d"));
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
