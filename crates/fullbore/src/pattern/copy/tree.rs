//! Files and trees: workers walk the sources and create the copies.

use std::collections::HashSet;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[cfg(doc)]
use fullbore_io::error::ErrorKind;
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{HeldDir, is_cleaning_up, names_directory, open_regular, spare, umask, unfinished};
use fullbore_io::sys::{self, AtFlags, Code, FileKind, Handle, OpenFlags, Status};

use super::directory::{Directory, Entry, c_name, split};
use super::failure::{Copied, CopyError};
use super::note::BegunDirectory;
use super::options::{CopyEvent, CopyKind, CopyOptions, CopySettings, CopyStats, Follow};
use super::tree_copy::{CopyTask, Queue, TreeCopy, Worker};
use crate::pattern::progress::Progress;

/// Directory entries read at a time.
const BATCH: usize = 64;

/// Most directories pending at once: beyond it pending ones are copied before more names are read.
const WAITING: usize = 1 << 12;

/// Copies each source to the path of its target; a target that is an existing directory is not copied into. An entry
/// that cannot be copied is reported to `report` and counted in the result; the others are copied nevertheless.
///
/// Files appear complete. A new directory is created under a hidden name beside its target and renamed when its content is
/// complete. Its entries are written directly under their own names, which takes the fewest calls per file: no incomplete
/// file is visible, and a killed run leaves nothing under the target's name. In existing directories each file appears
/// complete.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if it was cancelled. Everything else is reported to `report` and counted.
pub(crate) fn copy(
    pairs: &[(PathBuf, PathBuf)],
    options: &CopyOptions,
    settings: &CopySettings<'_>,
    progress: &Progress,
    report: &(dyn Fn(CopyEvent) + Sync),
) -> Result<CopyStats> {
    let mut copy = TreeCopy {
        options,
        settings,
        progress,
        report,
        turn: Default::default(),
        umask: umask(),
        links: Default::default(),
        several: pairs.len() > 1,
        seen: Default::default(),
        later: Default::default(),
        walked: Default::default(),
        whole: Default::default(),
        begun: Default::default(),
        queue: Queue::new(1),
        rests: Default::default(),
        total: Default::default(),
    };
    for pairs in waves(pairs, options) {
        let workers = workers(pairs, options, settings);
        copy.queue = Queue::new(workers);
        copy.wave(pairs, workers)?;
    }
    let stats = copy.total.into_inner();
    if stats.failed == 0 {
        let begun = copy.begun.into_inner();
        begun.into_iter().try_for_each(BegunDirectory::end)?;
    }
    Ok(stats)
}

fn workers(pairs: &[(PathBuf, PathBuf)], options: &CopyOptions, settings: &CopySettings<'_>) -> usize {
    // Confirmations go in the order of the sources. A single file starts its own workers for its bytes.
    let is_file = |source: &Path| sys::stat(source).is_ok_and(|stat| stat.kind() != FileKind::Directory);
    if options.confirm.is_some() || matches!(pairs, [(source, _)] if is_file(source)) {
        return 1;
    }
    // Each worker has a directory and a file open, on both sides.
    settings.workers().min(spare())
}

/// Runs of sources that can be copied concurrently: no target is that of another one or inside it, a source whose target is a
/// symbolic link is alone, and the directories of the targets, which are open at once, are not too many.
fn waves<'p>(pairs: &'p [(PathBuf, PathBuf)], options: &CopyOptions) -> Vec<&'p [(PathBuf, PathBuf)]> {
    // Names are reported in order; targets without a last name (`.`) share a directory with the others.
    let nameless = pairs.iter().any(|(_, target)| split(target).1 == ".");
    if options.report_names || options.confirm.is_some() || options.parents || nameless {
        return pairs.chunks(1).collect();
    }
    let mut waves = Vec::new();
    let (mut targets, mut above) = (HashSet::new(), HashSet::new());
    let (mut directory, mut directories) = (None, 0);
    let (mut start, mut alone) = (0, false);
    for (at, (source, target)) in pairs.iter().enumerate() {
        let after = alone;
        alone = pairs.len() > 1 && goes_through_link(source, target, options);
        let within = split(target).0;
        directories += usize::from(directory.replace(within) != Some(within));
        let joins = !after
            && !alone
            && directories <= spare()
            && !above.contains(target.as_path())
            && !target.ancestors().any(|around| targets.contains(around));
        if at > start && !joins {
            waves.push(&pairs[start..at]);
            (targets, above) = Default::default();
            (start, directories) = (at, 1);
        }
        targets.insert(target.as_path());
        above.extend(target.ancestors());
    }
    waves.push(&pairs[start..]);
    waves
}

/// True if the target is a symbolic link, which may lead to the target of another source. A link that is copied as such takes its
/// place, unless a further name of it may be copied first.
fn goes_through_link(source: &Path, target: &Path, options: &CopyOptions) -> bool {
    let link = |path: &Path| {
        let stat = sys::stat_at(sys::CURRENT_DIRECTORY, path, AtFlags::NOFOLLOW).ok();
        stat.filter(|stat| stat.kind() == FileKind::Symlink)
    };
    let copied_as_link =
        || options.follow == Follow::None && link(source).is_some_and(|stat| stat.nlink == 1);
    link(target).is_some() && !copied_as_link()
}

/// Releases a directory that stays incomplete.
fn leave(directory: Arc<Directory>) {
    // A loop, because a tree may be deeper than a stack.
    let mut next = Some(directory);
    while let Some(directory) = next.and_then(Arc::into_inner) {
        next = directory.parent;
    }
}

impl TreeCopy<'_> {
    fn wave(&self, pairs: &[(PathBuf, PathBuf)], workers: usize) -> Result<()> {
        self.walked.store(false, Ordering::Relaxed);
        self.begin(pairs)?;
        std::thread::scope(|scope| {
            for _ in 1..workers {
                if std::thread::Builder::new().spawn_scoped(scope, || self.work()).is_err() {
                    self.queue.without_one();
                }
            }
            self.work();
        });
        self.finish()
    }

    /// Opens the directories of the targets, once, and queues the sources.
    fn begin(&self, pairs: &[(PathBuf, PathBuf)]) -> Result<()> {
        let mut worker = Worker::default();
        let mut outermost: Option<(&Path, Arc<Directory>)> = None;
        let mut tasks = Vec::with_capacity(pairs.len());
        for (source, target) in pairs {
            if self.options.parents {
                match self.parents(&mut worker, source, target) {
                    Ok((directory, from, to)) => {
                        tasks.push(CopyTask::Name(directory, c_name(&from)?, c_name(&to)?))
                    }
                    Err(error) => self.fail(&mut worker, error),
                }
                continue;
            }
            let (within, last) = split(target);
            let directory = match outermost.take() {
                Some((path, directory)) if path == within => directory,
                _ => match HeldDir::open(within) {
                    Ok(held) => Directory::outermost(held),
                    Err(error) => {
                        let error = self.nowhere(source, target, error);
                        self.fail(&mut worker, error);
                        continue;
                    }
                },
            };
            outermost = Some((within, directory.clone()));
            let name = if names_directory(target) { None } else { sys::last_name(target) };
            let name = name.unwrap_or_else(|| last.to_owned());
            tasks.push(CopyTask::Name(directory, c_name(source.as_os_str())?, c_name(&name)?));
        }
        tasks.into_iter().rev().for_each(|task| self.queue.push(task));
        self.total.lock().add(&worker.stats);
        Ok(())
    }

    /// The error of a source whose target's directory cannot be opened.
    fn nowhere(&self, source: &Path, target: &Path, error: std::io::Error) -> CopyError {
        let nofollow = if self.options.follow == Follow::None { AtFlags::NOFOLLOW } else { AtFlags::empty() };
        let kind = match sys::stat_at(sys::CURRENT_DIRECTORY, source, nofollow) {
            Ok(stat) => stat.kind(),
            Err(error) => return Error::io("stat", source, error.into()).into(),
        };
        let doing = match kind {
            _ if error.kind() != std::io::ErrorKind::NotFound => "stat",
            FileKind::Directory if !self.options.recursive => {
                return CopyError::DirectoryOmitted { source: source.to_owned() };
            }
            FileKind::Directory => "create directory",
            FileKind::Symlink => "create symbolic link",
            _ => "create regular file",
        };
        Error::io(doing, target, error).into()
    }

    fn work(&self) {
        let _leave = self.queue.leave_on_panic();
        let mut worker = Worker::default();
        while let Some(task) = self.queue.next() {
            if self.stopped() {
                let (CopyTask::Name(directory, ..) | CopyTask::Rest(directory, _)) = task;
                leave(directory);
                continue;
            }
            match task {
                CopyTask::Name(directory, source, target) => {
                    if let Some(kind) = self.unrepeated(&directory, &source, &target) {
                        self.name(&mut worker, &directory, &source, &target, kind);
                    }
                    self.release(&mut worker, directory);
                }
                CopyTask::Rest(directory, names) => {
                    self.rests.fetch_sub(1, Ordering::Relaxed);
                    self.scan(&mut worker, &directory, names);
                    self.release(&mut worker, directory);
                }
            }
        }
        self.total.lock().add(&worker.stats);
    }

    /// Finishes after the walk: postponed names, and names for complete directories.
    fn finish(&self) -> Result<()> {
        let mut worker = Worker::default();
        if is_cleaning_up() {
            // The cleanup ends the process with its exit code; waits for it, so that nothing is created afterwards.
            drop(unfinished(Path::new("")));
        }
        self.walked.store(true, Ordering::Relaxed);
        let later = std::mem::take(&mut *self.later.lock());
        for (directory, source, target) in later {
            if self.stopped() {
                leave(directory);
                continue;
            }
            self.name(&mut worker, &directory, &source, &target, FileKind::Other);
            self.release(&mut worker, directory);
        }
        if self.stopped() {
            return Err(Error::cancelled());
        }
        self.links.release();
        loop {
            let Some((hidden, target, parent)) = self.whole.lock().pop() else { break };
            if let Err(error) = self.publish(hidden, &target) {
                self.fail(&mut worker, error.into());
            }
            self.release(&mut worker, parent);
        }
        self.total.lock().add(&worker.stats);
        Ok(())
    }

    /// Returns the kind of a source, `Other` if it is not known; `None` if the source was named before.
    fn unrepeated(&self, directory: &Arc<Directory>, source: &CStr, target: &CStr) -> Option<FileKind> {
        if !self.several || !directory.outermost {
            return Some(FileKind::Other);
        }
        let entry = Entry { directory, source, target, follow: self.follows(directory) };
        match entry.stat() {
            Ok(stat) => (!self.is_repeated(&entry, &stat)).then(|| stat.kind()),
            Err(_) => Some(FileKind::Other),
        }
    }

    /// Copies an entry, and reports a failure.
    fn name(
        &self,
        worker: &mut Worker,
        directory: &Arc<Directory>,
        source: &CStr,
        target: &CStr,
        kind: FileKind,
    ) {
        let entry = Entry { directory, source, target, follow: self.follows(directory) };
        if let Err(error) = self.entry(worker, &entry, kind) {
            self.fail(worker, error);
        }
    }

    fn entry(&self, worker: &mut Worker, entry: &Entry<'_>, mut kind: FileKind) -> Copied<()> {
        if kind == FileKind::Other || entry.follow && kind == FileKind::Symlink {
            kind = entry.stat()?.kind();
        }
        if entry.follow && kind == FileKind::Symlink {
            // The path of a handle of a link itself leads to the link, as that of a closed standard stream.
            return Err(Error::io("stat", entry.source_path(), Code::LINK_LOOP.into()).into());
        }
        match (kind, self.options.kind) {
            (FileKind::Directory, _) if !self.options.recursive => {
                Err(CopyError::DirectoryOmitted { source: entry.source_path() })
            }
            (FileKind::Directory, _) => self.enter(worker, entry),
            (_, CopyKind::HardLink) => self.hard_link(worker, entry),
            (_, CopyKind::SymbolicLink) => self.symbolic_link(worker, entry),
            (FileKind::Regular, _) => self.regular(worker, entry, kind),
            (FileKind::Symlink, _) => self.special(worker, entry),
            (_, _) if self.options.recursive && !self.options.special_contents => self.special(worker, entry),
            // The content of a pipe or device is copied.
            _ => self.regular(worker, entry, kind),
        }
    }

    /// The kind of an entry that is listed as `listed`. Directories are recognised here and queued, because recursion would
    /// exhaust the stack in a deep tree.
    fn kind(&self, directory: &Arc<Directory>, name: &CStr, listed: FileKind) -> FileKind {
        let follow = self.follows(directory);
        if listed != FileKind::Other && !(follow && listed == FileKind::Symlink) {
            return listed;
        }
        let entry = Entry { directory, source: name, target: name, follow };
        entry.stat().map_or(listed, |stat| stat.kind())
    }

    pub(super) fn scan(&self, worker: &mut Worker, directory: &Arc<Directory>, mut names: sys::Directory) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let mut more = true;
            let mut inner = Vec::new();
            while more && batch.len() + inner.len() < BATCH {
                match names.next() {
                    Some(Ok(entry)) => {
                        let name = entry.file_name();
                        match self.kind(directory, name, entry.kind()) {
                            _ if matches!(name.to_bytes(), b"." | b"..") => {}
                            FileKind::Directory => inner.push(name.to_owned()),
                            kind => batch.push((name.to_owned(), kind)),
                        }
                    }
                    Some(Err(error)) => {
                        let (source, _) = directory.own_paths();
                        self.fail(worker, Error::io("read", source, error.into()).into());
                        more = false;
                    }
                    None => more = false,
                }
            }
            let mut rest = more.then_some(names);
            // If too many directories are pending, those come first; and no worker should be idle.
            if (self.queue.has_idle_worker() || inner.len() + self.queue.len() > WAITING)
                && self.rests.load(Ordering::Relaxed) < spare()
                && let Some(names) = rest.take()
            {
                self.rests.fetch_add(1, Ordering::Relaxed);
                self.queue.push(CopyTask::Rest(directory.clone(), names));
            }
            for name in inner {
                self.queue.push(CopyTask::Name(directory.clone(), name.clone(), name));
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

    /// Opens the source, whose kind was found before, and returns its status. For the content of a pipe it waits for a writer.
    pub(super) fn open(&self, entry: &Entry<'_>, kind: FileKind) -> Copied<(Handle, Status)> {
        let once = if entry.follow { OpenFlags::empty() } else { OpenFlags::NOFOLLOW };
        let flags = OpenFlags::READ | OpenFlags::NOCTTY | once;
        let directory = entry.directory.source()?;
        let regular = kind == FileKind::Regular;
        let opened = match regular {
            true => open_regular(directory, entry.source, flags),
            false => sys::open_at(directory, entry.source, flags, 0),
        };
        let fd = opened.map_err(|error| Error::io("open", entry.source_path(), error.into()))?;
        let stat = sys::status(&fd).map_err(|error| Error::io("stat", entry.source_path(), error.into()))?;
        if regular && stat.kind() != FileKind::Regular {
            let what = format!("replaced by a {} before it was opened", stat.kind());
            return Err(Error::changed(entry.source_path(), &what).into());
        }
        Ok((fd, stat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_with_the_same_target_are_copied_in_turn() {
        let pairs = |targets: &[&str]| -> Vec<_> {
            targets.iter().map(|target| (PathBuf::from("s"), PathBuf::from(target))).collect()
        };
        let options = CopyOptions::default();
        for (targets, wanted) in [
            (&["d/a"][..], &[1][..]),
            (&["d/a", "d/b", "d/c"], &[3]),
            (&["d/a", "d/b", "d/a", "d/c", "d/a"], &[2, 2, 1]),
            (&["d/.", "d/b", "d/c"], &[1, 1, 1]),
        ] {
            let pairs = pairs(targets);
            let sizes: Vec<_> = waves(&pairs, &options).iter().map(|wave| wave.len()).collect();
            assert_eq!(sizes, wanted, "{targets:?}");
        }
        let many: Vec<_> = (0..3 * spare())
            .map(|number| (PathBuf::from("s"), PathBuf::from(format!("d{number}/f"))))
            .collect();
        assert_eq!(waves(&many, &options).len(), 3, "their directories are open at once");
    }
}
