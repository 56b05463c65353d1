//! Directories held open, so that names in them are resolved once, independent of later changes to the paths.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use std::sync::atomic::{AtomicIsize, Ordering};

use std::sync::{Arc, LazyLock, Weak};

use crate::lock::Mutex;
use crate::sys::{self, Code, Handle, OpenFlags};

/// A directory that stays the same even if its path later refers to another one.
///
/// A directory opened [by path](Self::open) holds a descriptor for its lifetime. One opened [in another](Self::child)
/// releases its descriptor while too many are open. It is reopened when it is needed, by its name in its parent,
/// without following links, and only if that name still refers to the same directory.
#[derive(Debug, Clone)]
pub struct HeldDir(Arc<Held>);

#[derive(Debug)]
struct Held {
    /// The path for messages: whole if there is no parent, else the name in the parent.
    path: PathBuf,
    parent: Option<HeldDir>,
    /// True if the name may be a symbolic link.
    follow: bool,
    identity: (u64, u64),
    state: Mutex<OpenDir>,
}

#[derive(Debug)]
struct OpenDir {
    fd: Option<Arc<Handle>>,
    name: OsString,
}

/// The flags of the descriptor of a directory. Attributes are set through it, so `O_PATH` alone does not suffice.
const FLAGS: OpenFlags = OpenFlags::READ.union(OpenFlags::DIRECTORY);

/// The number of open descriptors that can be released; one that is released before it is counted may make it negative.
static OPEN: AtomicIsize = AtomicIsize::new(0);

/// The directories that may have a descriptor to release, oldest first.
static OLDEST: Mutex<VecDeque<Weak<Held>>> = Mutex::new(VecDeque::new());

/// The maximum number of open descriptors that can be released: half of the process's limit, less those that it has in any case.
static MOST: LazyLock<usize> = LazyLock::new(|| {
    let limit = sys::limit(sys::Resource::OpenFiles).current.unwrap_or(1 << 12);
    (limit.saturating_sub(12) / 2).clamp(4, 1 << 10) as usize
});

/// The directory of a path.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the number of descriptors that a walk may hold besides those of [`HeldDir`]s. It also limits the number of threads,
/// so that all have enough descriptors.
pub fn spare() -> usize {
    *MOST / 4
}

/// Opens a directory; one that may not be listed can still have names created in it.
pub fn even_unlisted(open: impl Fn(OpenFlags) -> sys::Result<Handle>) -> sys::Result<Handle> {
    match open(FLAGS) {
        Err(Code::ACCESS_DENIED) => open(FLAGS | OpenFlags::PATH),
        opened => opened,
    }
}

impl HeldDir {
    /// Opens a directory by path; the empty path is the working directory.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let place = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self::opened(even_unlisted(|flags| sys::open(place, flags, 0))?, path))
    }

    /// Adopts a descriptor of the directory that `path` refers to.
    pub fn opened(fd: Handle, path: &Path) -> Self {
        let identity = sys::status(&fd).map_or((0, 0), |stat| stat.identity());
        let state = Mutex::new(OpenDir { fd: Some(Arc::new(fd)), name: OsString::new() });
        Self(Arc::new(Held { path: path.to_owned(), parent: None, follow: true, identity, state }))
    }

    /// Opens the parent directory of `path`, and returns it with the last name of the path.
    ///
    /// # Errors
    /// If the system call fails; `EINVAL` if the path does not end in a name.
    pub fn of(path: impl AsRef<Path>) -> io::Result<(Self, OsString)> {
        let path = path.as_ref();
        let name = sys::last_name(path).ok_or(Code::INVALID)?;
        Ok((Self::open(path.parent().unwrap_or(Path::new("")))?, name))
    }

    /// Opens a subdirectory by name. A symbolic link is followed only if `follow` is set, else fails with `ELOOP` or `ENOTDIR`.
    pub fn child(&self, name: impl AsRef<OsStr>, follow: bool) -> io::Result<Self> {
        let name = name.as_ref();
        let fd = sys::open_at(self.fd()?, name, FLAGS | unless(follow), 0)?;
        let stat = sys::status(&fd)?;
        Ok(self.with(fd, (name, name), follow, stat.identity()))
    }

    /// Opens a directory by a path relative to this one, with links followed.
    pub(super) fn at(&self, path: &Path) -> io::Result<Self> {
        let within = self.fd()?;
        let fd = even_unlisted(|flags| sys::open_at(&within, path, flags, 0))?;
        Ok(Self::opened(fd, &self.path().join(path)))
    }

    /// Syncs the directory, which makes the names in it durable.
    pub fn sync(&self) -> io::Result<()> {
        let fd = self.fd()?;
        match sys::sync_all(&fd) {
            // It was opened with `O_PATH` only.
            Err(Code::BAD_HANDLE) => sys::open_at(&fd, ".", FLAGS, 0).and_then(sys::sync_all)?,
            other => other?,
        }
        Ok(())
    }

    /// Adopts a descriptor of the subdirectory `name`; messages use `shown`.
    pub fn with(
        &self,
        fd: Handle,
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

    /// Returns the descriptor, open as long as a caller holds it. If it was released and the name refers to another
    /// directory by now, fails with `ESTALE`.
    pub fn fd(&self) -> io::Result<Arc<Handle>> {
        if let Some(fd) = &self.0.state.lock().fd {
            return Ok(fd.clone());
        }
        Ok(self.reopen()?)
    }

    fn reopen(&self) -> sys::Result<Arc<Handle>> {
        let mut closed = vec![self];
        let mut above = self.0.parent.as_ref();
        let mut fd = loop {
            // A directory without a parent always has its descriptor.
            let held = above.ok_or(Code::STALE)?;
            if let Some(fd) = &held.0.state.lock().fd {
                break fd.clone();
            }
            closed.push(held);
            above = held.0.parent.as_ref();
        };
        while !closed.is_empty() {
            // As many levels as a path may name.
            let (mut beneath, mut first) = (PathBuf::new(), closed.len());
            while first > 0 && beneath.as_os_str().len() < LONG {
                first -= 1;
                beneath.push(&closed[first].0.state.lock().name);
            }
            let piece = closed.split_off(first);
            let links = piece.iter().any(|held| held.0.follow);
            match if links { None } else { beneath_at_once(&fd, &beneath)? } {
                Some(found) => fd = Arc::new(found),
                None => {
                    for held in piece.iter().rev() {
                        let name = held.0.state.lock().name.clone();
                        let flags = FLAGS | unless(held.0.follow);
                        fd = Arc::new(sys::open_at(&fd, name, flags, 0)?);
                        held.0.verify(&fd)?;
                    }
                }
            }
        }
        let found = fd;
        self.0.verify(&found)?;
        let mut state = self.0.state.lock();
        if let Some(fd) = &state.fd {
            return Ok(fd.clone());
        }
        state.fd = Some(found.clone());
        drop(state);
        note(&self.0);
        Ok(found)
    }

    /// Closes the descriptor of a directory opened in another, until it is needed: some systems rename no directory while one below
    /// it is open.
    pub fn release(&self) {
        self.0.release();
    }

    /// Returns the path as given, with the names below it, for messages.
    pub fn path(&self) -> PathBuf {
        // A loop, because a tree may be deeper than a stack.
        let way = std::iter::successors(Some(self), |held| held.0.parent.as_ref());
        let mut names: Vec<&PathBuf> = way.map(|held| &held.0.path).collect();
        names.reverse();
        names.into_iter().collect()
    }

    /// Returns the device and inode numbers.
    pub fn identity(&self) -> (u64, u64) {
        self.0.identity
    }

    /// Records the new name of the directory in its parent.
    pub fn renamed(&self, name: &OsStr) {
        self.0.state.lock().name = name.to_owned();
    }
}

impl Held {
    /// Closes the descriptor, if it can be reopened; true if there was one.
    fn release(&self) -> bool {
        let open = self.parent.is_some() && self.state.lock().fd.take().is_some();
        OPEN.fetch_sub(isize::from(open), Ordering::Relaxed);
        open
    }

    fn verify(&self, fd: &Handle) -> sys::Result<()> {
        let stat = sys::status(fd)?;
        if stat.identity() == self.identity { Ok(()) } else { Err(Code::STALE) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
        // As for the path.
        let mut next = self.parent.take();
        while let Some(mut held) = next.and_then(|held| Arc::into_inner(held.0)) {
            next = held.parent.take();
        }
    }
}

/// The greatest length in bytes of a path to which another name is added: a path may have 4,096.
const LONG: usize = 3 << 10;

fn unless(follow: bool) -> OpenFlags {
    if follow { OpenFlags::empty() } else { OpenFlags::NOFOLLOW }
}

/// Opens a directory some levels below another in one call; `None` if the call is missing or forbidden, or the path too long.
fn beneath_at_once(fd: &Handle, path: &Path) -> sys::Result<Option<Handle>> {
    match sys::open_beneath(fd, path, FLAGS) {
        Ok(found) => Ok(Some(found)),
        Err(
            Code::NOT_IMPLEMENTED
            | Code::NOT_PERMITTED
            | Code::INVALID
            | Code::NAME_TOO_LONG
            | Code::WOULD_BLOCK,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Records that a directory has a descriptor, and releases the oldest ones if there are too many.
fn note(held: &Arc<Held>) {
    let mut oldest = OLDEST.lock();
    oldest.push_back(Arc::downgrade(held));
    let open = OPEN.fetch_add(1, Ordering::Relaxed) + 1;
    let mut back = Vec::new();
    let mut over = usize::try_from(open).unwrap_or(0).saturating_sub(*MOST);
    while over > 0
        && let Some(old) = oldest.pop_front()
    {
        let Some(old) = old.upgrade() else { continue };
        if Arc::ptr_eq(&old, held) {
            oldest.push_back(Arc::downgrade(held));
            break;
        }
        over -= usize::from(old.release());
        back.push(old);
    }
    if oldest.len() > 4 * *MOST {
        let mut listed = HashSet::new();
        oldest.retain(|old| old.strong_count() > 0 && listed.insert(old.as_ptr()));
    }
    drop(oldest);
    // Dropping the last reference to a directory drops its parents too, which may be in the list themselves.
    drop(back);
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_same_directory_is_reopened() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir_all(room.path().join("a/b/c")).unwrap();
        fs::create_dir_all(room.path().join("other/c")).unwrap();
        let top = HeldDir::open(room.path()).unwrap();
        let a = top.child("a", false).unwrap();
        let b = a.child("b", false).unwrap();
        let c = b.child("c", false).unwrap();
        assert_eq!(c.path(), room.path().join("a/b/c"));
        for held in [&a, &b, &c] {
            assert!(held.0.release());
        }
        assert!(c.fd().is_ok() && !b.0.release() && c.0.release());
        // Neither another directory nor a link to the same one is accepted.
        fs::rename(room.path().join("a/b"), room.path().join("moved")).unwrap();
        assert_eq!(c.fd().unwrap_err().raw_os_error(), Some(Code::NOT_FOUND.number()));
        fs::rename(room.path().join("other"), room.path().join("a/b")).unwrap();
        assert_eq!(c.fd().unwrap_err().raw_os_error(), Some(Code::STALE.number()));
        fs::rename(room.path().join("a/b"), room.path().join("other")).unwrap();
        symlink("../moved", room.path().join("a/b")).unwrap();
        assert!(c.fd().is_err());
        // Its new name is recorded now.
        fs::remove_file(room.path().join("a/b")).unwrap();
        fs::rename(room.path().join("moved"), room.path().join("a/new")).unwrap();
        b.renamed(OsStr::new("new"));
        assert!(c.fd().is_ok());
    }

    #[test]
    fn links_are_followed_only_on_request() {
        let room = tempfile::tempdir().unwrap();
        fs::create_dir(room.path().join("real")).unwrap();
        symlink("real", room.path().join("link")).unwrap();
        let top = HeldDir::open(room.path()).unwrap();
        assert!(top.child("link", false).is_err());
        let link = top.child("link", true).unwrap();
        assert!(link.0.release() && link.fd().is_ok());
        assert!(HeldDir::of(room.path().join("real/..")).is_err(), "it does not end in a name");
    }

    #[test]
    fn a_deep_chain_needs_few_descriptors() {
        let room = tempfile::tempdir().unwrap();
        let mut chain = vec![HeldDir::open(room.path()).unwrap()];
        for _ in 0..3 * (*MOST).min(300) {
            let last = &chain[chain.len() - 1];
            sys::make_directory(last.fd().unwrap(), "d", 0o700).unwrap();
            chain.push(last.child("d", false).unwrap());
        }
        for held in &chain {
            assert!(held.fd().is_ok());
            assert!(OPEN.load(Ordering::Relaxed) <= *MOST as isize + 64);
        }
        let top = crate::file::sweep::identity(chain[1].fd().unwrap()).unwrap();
        crate::file::sweep::remove_tree(&chain[0], OsStr::new("d"), Some(top));
        assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
    }
}
