//! Files and trees: workers that walk the sources and make the same beside them.
//!
//! A directory that is new is made under a hidden name beside its place and gets its name when all is in it, so what is in
//! it can be written straight to its own name, which is the fewest calls a file: nobody sees half of a file, and a run
//! that is killed leaves nothing under the name. In directories that are there already each file appears whole.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use super::account::{CopyAccount, Shared};
use super::content;
use super::directory::{Directory, split};
use super::links::Links;
use super::options::{CopyEvent, CopyOptions, Existing, Follow};
use super::queue::Queue;
use crate::error::{Error, Kind, Result};
use crate::file::{HeldDir, Temporary, abandoned};
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
    pub(super) links: Links,
    /// Names whose file was being copied when they were come to.
    pub(super) later: Mutex<Vec<(Arc<Directory>, CString, CString)>>,
    /// Directories that are whole and have no name yet, with what they are in.
    pub(super) whole: Mutex<Vec<(Temporary, HeldDir, Arc<Directory>)>>,
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
    job.begin(pairs)?;
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
    job.finish()
}

impl Job<'_> {
    /// Opens the directories that the targets are in, once and for all, and has the sources wait.
    fn begin(&self, pairs: &[(PathBuf, PathBuf)]) -> Result<()> {
        let mut worker = Worker { memory: Vec::new(), account: CopyAccount::default() };
        let mut outermost: Option<(&Path, Arc<Directory>)> = None;
        let mut tasks = Vec::with_capacity(pairs.len());
        for (source, target) in pairs {
            let name = |name: &OsStr| {
                CString::new(name.as_bytes())
                    .map_err(|_| Error::new(Kind::Invalid, "copy", name, "a path has no NUL bytes"))
            };
            let (within, last) = split(target);
            let directory = match outermost.take() {
                Some((path, directory)) if path == within => directory,
                _ => match HeldDir::open(within) {
                    Ok(held) => Directory::outermost(held),
                    Err(error) => {
                        self.fail(&mut worker, Error::io("create", target, error));
                        continue;
                    }
                },
            };
            outermost = Some((within, directory.clone()));
            tasks.push(Task::Name(directory, name(source.as_os_str())?, name(last)?));
        }
        tasks.into_iter().rev().for_each(|task| self.queue.push(task));
        self.total.add(&worker.account);
        Ok(())
    }

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
    fn finish(self) -> Result<CopyAccount> {
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
            let Some((hidden, target, parent)) =
                self.whole.lock().unwrap_or_else(PoisonError::into_inner).pop()
            else {
                break;
            };
            if let Err(error) = self.unveil(hidden, &target) {
                self.fail(&mut worker, error);
            }
            self.release(&mut worker, parent);
        }
        self.total.add(&worker.account);
        Ok(self.total.into_inner())
    }

    pub(super) fn fail(&self, worker: &mut Worker, error: Error) {
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
            let stat = rustix::fs::statat(directory.source()?, source, flags)
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

    /// Copies what is left in a directory.
    pub(super) fn scan(&self, worker: &mut Worker, directory: &Arc<Directory>, mut names: Dir) {
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
        rustix::fs::openat(directory.source()?, source, flags, Mode::empty())
            .map_err(|error| Error::io("open", directory.source_path(source), error.into()))
    }
}
