//! Files and trees: workers that walk the sources and make the same beside them.
//!
//! A directory that is new is made under a hidden name beside its place and gets its name when all is in it, so what is in
//! it can be written straight to its own name, which is the fewest calls a file: nobody sees half of a file, and a run
//! that is killed leaves nothing under the name. In directories that are there already each file appears whole.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::account::{CopyAccount, Shared};
use super::attributes::{self, Place};
use super::content;
use super::directory::{Directory, path};
use super::links::{Claim, Links};
use super::options::{CopyEvent, CopyOptions, Existing, Follow};
use super::queue::Queue;
use crate::error::{Error, Kind, Result};
use crate::file::{Durability, Temporary, abandoned, temporary_name};
use crate::pattern::Monitor;

/// How many names of a directory are read at a time.
const BATCH: usize = 64;

/// More directories than this do not wait at once: then those that wait are done before more names are read.
const WAITING: usize = 1 << 12;

/// A run.
pub(super) struct Job<'a> {
    pub(super) options: &'a CopyOptions,
    pub(super) monitor: &'a Monitor,
    pub(super) tell: &'a (dyn Fn(CopyEvent) + Sync),
    pub(super) turn: Mutex<()>,
    links: Links,
    /// Names whose file was being copied when they were come to.
    later: Mutex<Vec<(Arc<Directory>, CString, CString)>>,
    /// Directories that are whole and have no name yet, with what they are in.
    whole: Mutex<Vec<(Temporary, PathBuf, Arc<Directory>)>>,
    queue: Queue<Task>,
    total: Shared,
}

enum Task {
    /// A name, of a source or of a directory in one.
    Name(Arc<Directory>, CString, CString),
    /// The rest of a directory.
    Rest(Arc<Directory>, Dir),
}

/// What a worker has of its own.
pub(super) struct Worker {
    pub(super) memory: Vec<u8>,
    pub(super) account: CopyAccount,
}

/// Copies each source to its target.
pub(super) fn copy(
    pairs: &[(PathBuf, PathBuf)],
    options: &CopyOptions,
    monitor: &Monitor,
    tell: &(dyn Fn(CopyEvent) + Sync),
) -> Result<CopyAccount> {
    let workers = content::workers(options);
    let job = Job {
        options,
        monitor,
        tell,
        turn: Mutex::new(()),
        links: Links::default(),
        later: Mutex::default(),
        whole: Mutex::default(),
        queue: Queue::new(workers),
        total: Shared::default(),
    };
    let outermost = Directory::outermost();
    for (source, target) in pairs.iter().rev() {
        let name = |path: &Path| {
            CString::new(path.as_os_str().as_bytes())
                .map_err(|_| Error::new(Kind::Invalid, "copy", path, "a path has no NUL bytes"))
        };
        job.queue.push(Task::Name(outermost.clone(), name(source)?, name(target)?));
    }
    // One file alone gets its workers where its bytes are.
    let single = pairs.len() == 1
        && rustix::fs::stat(&pairs[0].0)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::Directory);
    std::thread::scope(|scope| {
        for _ in 1..workers {
            if single || std::thread::Builder::new().spawn_scoped(scope, || job.work()).is_err() {
                job.queue.without_one();
            }
        }
        job.work();
    });
    job.finish(outermost)
}

impl Job<'_> {
    fn stopped(&self) -> bool {
        self.monitor.stopped() || abandoned()
    }

    fn work(&self) {
        let mut worker = Worker { memory: Vec::new(), account: CopyAccount::default() };
        while let Some(task) = self.queue.next() {
            if self.stopped() {
                continue;
            }
            match task {
                Task::Name(directory, source, target) => {
                    self.name(&mut worker, &directory, &source, &target, FileType::Unknown);
                    self.release(&mut worker, directory);
                }
                Task::Rest(directory, names) => {
                    self.scan(&mut worker, &directory, names);
                    self.release(&mut worker, directory);
                }
            }
        }
        self.total.add(&worker.account);
    }

    /// What is left when all has been walked: further names, and names for what is whole.
    fn finish(self, outermost: Arc<Directory>) -> Result<CopyAccount> {
        let mut worker = Worker { memory: Vec::new(), account: CopyAccount::default() };
        if abandoned() {
            // Whoever removes what was begun ends the process, and says with which code; nothing is entered after it.
            drop(crate::file::unfinished(Path::new("")));
        }
        if self.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", "the copy", "it was told to stop"));
        }
        let later = std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner));
        for (directory, source, target) in later {
            self.name(&mut worker, &directory, &source, &target, FileType::Unknown);
            self.release(&mut worker, directory);
        }
        loop {
            let Some((hidden, place, parent)) =
                self.whole.lock().unwrap_or_else(PoisonError::into_inner).pop()
            else {
                break;
            };
            if let Err(error) = self.unveil(hidden, &place) {
                self.fail(&mut worker, error);
            }
            self.release(&mut worker, parent);
        }
        self.release(&mut worker, outermost);
        self.total.add(&worker.account);
        Ok(self.total.into_inner())
    }

    /// Gives a directory that is whole its name.
    fn unveil(&self, hidden: Temporary, place: &Path) -> Result<()> {
        let failed = |doing: &'static str| move |error: Errno| Error::io(doing, place, error.into());
        let open = |path: &Path| {
            rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        };
        if self.options.durability != Durability::Process {
            // One call for the whole tree; a file at a time would wait for the device as often as there are files.
            open(hidden.path()).and_then(rustix::fs::syncfs).map_err(failed("sync"))?;
        }
        let cwd = rustix::fs::CWD;
        hidden
            .settle(|hidden| {
                match rustix::fs::renameat_with(cwd, hidden, cwd, place, RenameFlags::NOREPLACE) {
                    // The file system does not know the flag: an empty directory would be replaced, nothing else.
                    Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::rename(hidden, place),
                    other => other,
                }
            })
            .map_err(failed("create"))?;
        if self.options.durability == Durability::Full {
            open(crate::file::directory_of(place))
                .and_then(rustix::fs::fsync)
                .map_err(failed("sync the directory of"))?;
        }
        Ok(())
    }

    fn fail(&self, worker: &mut Worker, error: Error) {
        if abandoned() {
            // It is being removed under us: that is what was asked for.
            return;
        }
        worker.account.failed += 1;
        worker.account.changed += u64::from(error.kind() == Kind::Changed);
        (self.tell)(CopyEvent::Failed(error));
    }

    /// Copies what has a name, and tells if that fails.
    fn name(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
        kind: FileType,
    ) {
        if let Err(error) = self.entry(worker, directory, source, target, kind) {
            // Nobody knows the hidden name.
            let present = directory.present_path(target);
            let error = match directory.fresh && error.path() == present {
                true => error.naming(directory.target_path(target)),
                false => error,
            };
            self.fail(worker, error);
        }
    }

    fn entry(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
        mut kind: FileType,
    ) -> Result<()> {
        let outermost = directory.is_outermost();
        let follow = match self.options.follow {
            Follow::All => true,
            Follow::Sources => outermost,
            Follow::None => false,
        };
        if kind == FileType::Unknown || follow && kind == FileType::Symlink {
            let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
            let stat = rustix::fs::statat(directory.source(), source, flags)
                .map_err(|error| Error::io("stat", directory.source_path(source), error.into()))?;
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        match kind {
            FileType::Directory if !self.options.recursive => {
                let what = "it is a directory, and -r was not specified";
                Err(Error::new(Kind::Unsupported, "copy", directory.source_path(source), what))
            }
            FileType::Directory => self.enter(worker, directory, source, target, follow),
            FileType::RegularFile => self.regular(worker, directory, source, target, follow),
            FileType::Symlink => self.special(worker, directory, source, target),
            _ if self.options.recursive => self.special(worker, directory, source, target),
            // Without -r what comes out of a pipe or device is copied.
            _ => self.regular(worker, directory, source, target, follow),
        }
    }

    /// Makes a directory and copies what is in it.
    fn enter(
        &self,
        worker: &mut Worker,
        parent: &Arc<Directory>,
        source_name: &CStr,
        target_name: &CStr,
        follow: bool,
    ) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let once = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let of_source = |error: Errno| Error::io("open", parent.source_path(source_name), error.into());
        let of_target = |error: Errno| Error::io("create", parent.target_path(target_name), error.into());
        let source = rustix::fs::openat(parent.source(), source_name, flags | once, Mode::empty())
            .map_err(of_source)?;
        let stat = rustix::fs::fstat(&source).map_err(of_source)?;
        let identity = (stat.st_dev, stat.st_ino);
        let into_itself = || {
            let what = format!(
                "a directory cannot be copied into itself, {}",
                parent.target_path(target_name).display()
            );
            Error::new(Kind::Invalid, "copy", parent.source_path(source_name), what)
        };
        if parent.goes_to(identity) || parent.is_outermost() && stands_in(path(target_name), identity) {
            return Err(into_itself());
        }
        if follow && parent.is_in(identity) {
            let what = "the symbolic link leads to a directory that it is in";
            return Err(Error::new(Kind::Invalid, "copy", parent.source_path(source_name), what));
        }
        let kept = self.options.preserve.mode || self.options.preserve.owner;
        let mode = Mode::from_raw_mode(if kept { 0o700 } else { stat.st_mode & 0o1777 | 0o700 });
        let mut hidden = None;
        let mut new = true;
        let target = if parent.fresh {
            rustix::fs::mkdirat(parent.target(), target_name, mode).map_err(of_target)?;
            rustix::fs::openat(parent.target(), target_name, flags | OFlags::NOFOLLOW, Mode::empty())
        } else {
            match rustix::fs::statat(parent.target(), target_name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(there) if FileType::from_raw_mode(there.st_mode) == FileType::Directory => {
                    if (there.st_dev, there.st_ino) == identity {
                        let what = "source and target are the same directory";
                        let path = parent.source_path(source_name);
                        return Err(Error::new(Kind::SameFile, "copy", path, what));
                    }
                    new = false;
                    rustix::fs::openat(parent.target(), target_name, flags, Mode::empty())
                }
                Ok(_) => {
                    let what = format!(
                        "it is no directory, and {} is one",
                        parent.source_path(source_name).display()
                    );
                    let path = parent.target_path(target_name);
                    return Err(Error::new(Kind::Unsupported, "overwrite", path, what));
                }
                Err(Errno::NOENT) if self.options.resume => {
                    rustix::fs::mkdirat(parent.target(), target_name, mode).map_err(of_target)?;
                    rustix::fs::openat(parent.target(), target_name, flags, Mode::empty())
                }
                Err(Errno::NOENT) => {
                    let place = trimmed(parent.present_path(target_name));
                    let (temporary, fd) = Temporary::make_tree(temporary_name(&place), |path| {
                        rustix::fs::mkdir(path, mode).map_err(of_target)?;
                        Ok(rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()))
                    })?;
                    hidden = Some(temporary);
                    fd
                }
                Err(error) => return Err(of_target(error)),
            }
        }
        .map_err(of_target)?;
        let made = rustix::fs::fstat(&target).map_err(of_target)?;
        let names = Dir::read_from(&source).map_err(of_source)?;
        worker.account.directories += u64::from(new);
        let directory = Arc::new(Directory::new(
            parent.clone(),
            (source_name, target_name),
            source,
            target,
            hidden,
            stat,
            (made.st_dev, made.st_ino),
            !self.options.resume,
        ));
        if self.options.tell_names && new {
            let (source, target) = directory.own_paths();
            (self.tell)(CopyEvent::Copied { source, target });
        }
        self.scan(worker, &directory, names);
        self.release(worker, directory);
        Ok(())
    }

    /// Copies what is left in a directory.
    fn scan(&self, worker: &mut Worker, directory: &Arc<Directory>, mut names: Dir) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let mut more = true;
            let mut inner = Vec::new();
            while more && batch.len() + inner.len() < BATCH {
                match names.read() {
                    Some(Ok(entry)) => {
                        let name = entry.file_name();
                        match entry.file_type() {
                            _ if matches!(name.to_bytes(), b"." | b"..") => {}
                            FileType::Directory => inner.push(name.to_owned()),
                            kind => batch.push((name.to_owned(), kind)),
                        }
                    }
                    Some(Err(error)) => {
                        let (source, _) = directory.own_paths();
                        self.fail(worker, Error::io("read", source, error.into()));
                        more = false;
                    }
                    None => more = false,
                }
            }
            let mut rest = more.then_some(names);
            // With too many waiting, what waits comes first; and nobody shall have nothing to do.
            if (self.queue.hungry() || inner.len() + self.queue.len() > WAITING)
                && let Some(names) = rest.take()
            {
                self.queue.push(Task::Rest(directory.clone(), names));
            }
            for name in inner {
                self.queue.push(Task::Name(directory.clone(), name.clone(), name));
            }
            for (name, kind) in batch.drain(..) {
                if self.stopped() {
                    return;
                }
                self.name(worker, directory, &name, &name, kind);
            }
            match rest {
                Some(rest) => names = rest,
                None => return,
            }
        }
    }

    /// Lets go of a directory. Whoever is the last finishes it, and so what it is in.
    fn release(&self, worker: &mut Worker, directory: Arc<Directory>) {
        let mut next = Some(directory);
        while let Some(directory) = next.take().and_then(Arc::into_inner) {
            if let Err(error) = self.settle(&directory) {
                self.fail(worker, error);
            }
            let place = directory.own_paths().1;
            let Directory { parent, hidden, .. } = directory;
            let hidden = hidden.into_inner().unwrap_or_else(PoisonError::into_inner);
            match (hidden, parent) {
                (Some(hidden), Some(parent)) => {
                    let name = trimmed(place);
                    let place = match name.file_name() {
                        Some(name) => hidden.path().with_file_name(name),
                        None => name,
                    };
                    // It keeps its parent: that shall get its times after this got its name.
                    self.whole.lock().unwrap_or_else(PoisonError::into_inner).push((hidden, place, parent));
                }
                (_, parent) => next = parent,
            }
        }
    }

    /// Gives a directory its attributes, which changes in it would change again.
    fn settle(&self, directory: &Directory) -> Result<()> {
        let Some(stat) = &directory.stat else { return Ok(()) };
        let preserve = &self.options.preserve;
        let (source, target) = (directory.source(), directory.target());
        let paths = || directory.own_paths().1;
        if !preserve.mode && stat.st_mode & 0o700 != 0o700 {
            let now = rustix::fs::fstat(target).map_or(0, |now| now.st_mode & 0o7077);
            let mode = Mode::from_raw_mode(now | attributes::usual(stat) & 0o700);
            rustix::fs::fchmod(target, mode)
                .map_err(|error| Error::io("set the mode of", paths(), error.into()))?;
        }
        attributes::keep(preserve, Place::Open(source), stat, Place::Open(target), &paths, false)
    }

    /// Whether what exists at the target stays. An error if it cannot be replaced.
    pub(super) fn stays(
        &self,
        worker: &mut Worker,
        directory: &Directory,
        names: (&CStr, &CStr),
        stat: &Stat,
        there: &Stat,
    ) -> Result<bool> {
        let (source, target) = names;
        if self.options.existing == Existing::Skip {
            worker.account.skipped += 1;
            return Ok(true);
        }
        if FileType::from_raw_mode(there.st_mode) == FileType::Directory {
            let what = format!("it is a directory, and {} is none", directory.source_path(source).display());
            return Err(Error::new(Kind::Unsupported, "overwrite", directory.target_path(target), what));
        }
        let (ours, theirs) = ((stat.st_dev, stat.st_ino), (there.st_dev, there.st_ino));
        if ours == theirs && FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
            let what = format!("it and {} are the same file", directory.target_path(target).display());
            return Err(Error::new(Kind::SameFile, "copy", directory.source_path(source), what));
        }
        let (new, old) = ((stat.st_mtime, stat.st_mtime_nsec), (there.st_mtime, there.st_mtime_nsec));
        let whole = self.options.resume && new == old && stat.st_size == there.st_size;
        if whole || self.options.existing == Existing::Update && new <= old {
            worker.account.skipped += 1;
            return Ok(true);
        }
        Ok(false)
    }

    /// What to do for a name of a file that has several: whether it is to be copied.
    pub(super) fn linked(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        names: (&CStr, &CStr),
        stat: &Stat,
    ) -> Result<bool> {
        let place = match self.links.claim((stat.st_dev, stat.st_ino), stat.st_nlink) {
            Claim::First => return Ok(true),
            Claim::Later => {
                let later = (directory.clone(), names.0.to_owned(), names.1.to_owned());
                self.later.lock().unwrap_or_else(PoisonError::into_inner).push(later);
                return Ok(false);
            }
            Claim::Linked(place) => place,
        };
        let failed = |error: Errno| Error::io("link", directory.target_path(names.1), error.into());
        let link = |name: &CStr| {
            rustix::fs::linkat(rustix::fs::CWD, &place, directory.target(), name, AtFlags::empty())
        };
        match link(names.1) {
            Err(Errno::EXIST) => self.over(directory, names.1, link).map_err(failed)?,
            other => other.map_err(failed)?,
        }
        worker.account.hard_links += 1;
        self.told(directory, names);
        Ok(false)
    }

    /// Notes how it went with the first name of a file that has several.
    pub(super) fn first<T>(
        &self,
        directory: &Directory,
        target: &CStr,
        stat: &Stat,
        result: Result<T>,
    ) -> Result<T> {
        let identity = (stat.st_dev, stat.st_ino);
        match &result {
            Ok(_) => self.links.done(identity, directory.present_path(target)),
            Err(_) => self.links.failed(identity),
        }
        result
    }

    /// Whether other names of the file may come, which are to be of one file again.
    pub(super) fn has_names(&self, stat: &Stat) -> bool {
        self.options.preserve.links && stat.st_nlink > 1
    }

    /// Makes something under a name of our own and then over whatever has `target`.
    pub(super) fn over(
        &self,
        directory: &Directory,
        target: &CStr,
        make: impl Fn(&CStr) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<()> {
        let beside = temporary_name(path(target));
        let name = CString::new(beside.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        make(&name)?;
        let renamed = rustix::fs::renameat(directory.target(), &name, directory.target(), target);
        // After a rename of one name of a file over another both are there.
        match rustix::fs::unlinkat(directory.target(), &name, AtFlags::empty()) {
            _ if renamed.is_err() => renamed,
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Copies a symbolic link, pipe, socket or device as such.
    fn special(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
    ) -> Result<()> {
        let stat = rustix::fs::statat(directory.source(), source, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| Error::io("stat", directory.source_path(source), error.into()))?;
        let mut there = false;
        if !directory.fresh
            && let Ok(found) = rustix::fs::statat(directory.target(), target, AtFlags::SYMLINK_NOFOLLOW)
        {
            if self.stays(worker, directory, (source, target), &stat, &found)? {
                return Ok(());
            }
            there = true;
        }
        let several = self.has_names(&stat);
        if several && !self.linked(worker, directory, (source, target), &stat)? {
            return Ok(());
        }
        let result = self.made(directory, source, target, &stat, there);
        if several { self.first(directory, target, &stat, result) } else { result }?;
        worker.account.others += 1;
        self.told(directory, (source, target));
        Ok(())
    }

    fn made(
        &self,
        directory: &Directory,
        source: &CStr,
        target: &CStr,
        stat: &Stat,
        there: bool,
    ) -> Result<()> {
        let failed = |error: Errno| Error::io("create", directory.target_path(target), error.into());
        let kind = FileType::from_raw_mode(stat.st_mode);
        let link = kind == FileType::Symlink;
        let kept = self.options.preserve.mode || self.options.preserve.owner;
        let mode = Mode::from_raw_mode(stat.st_mode & if kept { 0o700 } else { 0o777 });
        let leads = if link {
            rustix::fs::readlinkat(directory.source(), source, Vec::new())
                .map_err(|error| Error::io("read", directory.source_path(source), error.into()))?
        } else {
            CString::default()
        };
        let make = |name: &CStr| {
            if link {
                rustix::fs::symlinkat(&leads, directory.target(), name)?;
            } else {
                rustix::fs::mknodat(directory.target(), name, kind, mode, stat.st_rdev)?;
            }
            Ok(())
        };
        if there {
            self.over(directory, target, make).map_err(failed)?;
        } else {
            make(target).map_err(failed)?;
        }
        let from = Place::Name(directory.source(), source);
        let to = Place::Name(directory.target(), target);
        attributes::keep(&self.options.preserve, from, stat, to, &|| directory.target_path(target), link)
    }

    /// Tells of a name that has its copy, if that is wanted.
    pub(super) fn told(&self, directory: &Directory, (source, target): (&CStr, &CStr)) {
        if self.options.tell_names {
            let (source, target) = (directory.source_path(source), directory.target_path(target));
            (self.tell)(CopyEvent::Copied { source, target });
        }
    }

    /// Opens a source's bytes.
    pub(super) fn open(&self, directory: &Directory, source: &CStr, follow: bool) -> Result<OwnedFd> {
        let once = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | once;
        rustix::fs::openat(directory.source(), source, flags, Mode::empty())
            .map_err(|error| Error::io("open", directory.source_path(source), error.into()))
    }
}

/// Whether a path will stand in the directory that is meant, or is it.
fn stands_in(place: &Path, identity: (u64, u64)) -> bool {
    let mut above = match trimmed(place.to_owned()).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut last = None;
    while let Ok(stat) = rustix::fs::stat(&above) {
        let found = (stat.st_dev, stat.st_ino);
        if found == identity {
            return true;
        }
        if last == Some(found) {
            return false;
        }
        last = Some(found);
        above.push("..");
    }
    false
}

/// The path without the slashes and dots at its end.
fn trimmed(path: PathBuf) -> PathBuf {
    path.components().collect()
}
