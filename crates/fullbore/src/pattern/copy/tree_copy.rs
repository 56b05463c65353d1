//! One run of a copy: its shared state, its workers, the facts of sources and targets, and the queue of tasks. Tasks
//! create further tasks; the work ends when all workers are idle.

use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::directory::{Directory, Entry};
use super::failure::CopyError;
use super::note::BegunDirectory;
use super::options::{CopyEvent, CopyOptions, CopySettings, CopyStats, Follow};
use crate::pattern::progress::Progress;
use fullbore_io::error::ErrorKind;
use fullbore_io::file::{HeldDir, PendingBackup, Temporary, is_cleaning_up};
use fullbore_io::lock::{Condvar, Mutex, RwLock};
use fullbore_io::sys::{self, Status};

pub(super) struct TreeCopy<'a> {
    pub(super) options: &'a CopyOptions,
    pub(super) settings: &'a CopySettings<'a>,
    pub(super) progress: &'a Progress,
    pub(super) report: &'a (dyn Fn(CopyEvent) + Sync),
    pub(super) turn: RwLock<()>,
    /// The umask at the start of the copy.
    pub(super) umask: u32,
    pub(super) links: Links,
    pub(super) several: bool,
    pub(super) seen: Seen,
    /// Names that are copied after the walk: their file was being copied when they were reached, or may have a name whose copy an
    /// earlier run began.
    pub(super) later: Mutex<Vec<(Arc<Directory>, CString, CString)>>,
    /// True after the walk, while the postponed names are copied.
    pub(super) walked: AtomicBool,
    /// Complete directories without a name yet, with their parents.
    pub(super) whole: Mutex<Vec<(Temporary, HeldDir, Arc<Directory>)>>,
    /// Notes of incomplete directories, which the next run needs if this one is stopped.
    pub(super) begun: Mutex<Vec<BegunDirectory>>,
    pub(super) queue: Queue<CopyTask>,
    /// Partly read directories that are pending.
    pub(super) rests: AtomicUsize,
    pub(super) total: Mutex<CopyStats>,
}

pub(super) enum CopyTask {
    /// A name: of a source, or of an entry below one.
    Name(Arc<Directory>, CString, CString),
    Rest(Arc<Directory>, sys::Directory),
}

#[derive(Default)]
pub(super) struct Worker {
    pub(super) memory: Vec<u8>,
    pub(super) stats: CopyStats,
}

impl TreeCopy<'_> {
    pub(super) fn follows(&self, directory: &Directory) -> bool {
        match self.options.follow {
            Follow::All => true,
            Follow::Sources => directory.outermost,
            Follow::None => false,
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.progress.is_cancelled() || is_cleaning_up()
    }

    pub(super) fn fail(&self, worker: &mut Worker, error: CopyError) {
        if is_cleaning_up() {
            // The cleanup removes it concurrently: the error is expected.
            return;
        }
        worker.stats.failed += 1;
        worker.stats.changed += u64::from(error.kind() == ErrorKind::Changed);
        (self.report)(CopyEvent::Failed(error));
    }

    /// Reports a copied name, if requested.
    pub(super) fn report_copied(
        &self,
        entry: &Entry<'_>,
        found: Option<&TargetState>,
        stats: Option<CopyStats>,
    ) {
        if !self.options.report_names {
            return;
        }
        let backup = match found {
            Some(TargetState::Replaced(Some(saved))) => Some(saved.path()),
            _ => None,
        };
        let (source, target) = (entry.source_path(), entry.target_path());
        (self.report)(CopyEvent::Copied { source, target, backup, stats });
    }
}

/// The result of a copy, with the identity of the file that it wrote.
pub(super) type Written<T> = (T, Option<(u64, u64)>);

pub(super) enum TargetState {
    /// The name is free.
    New,
    /// The name exists; its content is replaced, and a symbolic link is followed.
    There,
    /// The copy replaces the name in one step; links are not followed.
    Replaced(Option<PendingBackup>),
    Stays,
}

/// Sources and targets of a run with several sources, to recognise repeated ones.
#[derive(Default)]
pub(super) struct Seen {
    /// Sources by device, inode, directory and name.
    sources: Mutex<HashMap<(u64, u64), Vec<SourceName>>>,
    /// Targets created so far; true for symbolic links.
    pub(super) targets: Mutex<HashMap<PathBuf, bool>>,
}

/// The directory of a source, and its name there.
type SourceName = (Option<(u64, u64)>, Vec<u8>);

impl Seen {
    /// Notes a source; true if it was noted before.
    pub(super) fn source(&self, entry: &Entry<'_>, stat: &Status) -> bool {
        let name = (entry.source_directory(), entry.names().0.to_vec());
        let mut sources = self.sources.lock();
        let names = sources.entry(stat.identity()).or_default();
        let known = names.contains(&name);
        if !known {
            names.push(name);
        }
        known
    }

    pub(super) fn target(&self, entry: &Entry<'_>) -> Option<bool> {
        self.targets.lock().get(&entry.target_path()).copied()
    }
}

/// The copies of files with several names, by device and inode.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(u64, u64), Copy>>);

/// The directory and the name of a copy, and its device and inode.
type Named = (HeldDir, CString, (u64, u64));

struct Copy {
    /// The copy; none yet while it is being made.
    place: Option<Named>,
    /// Names that may still follow; `None` if followed links make the number unknown.
    left: Option<u64>,
}

pub(super) enum LinkAction {
    /// The caller has the first name: it copies the file, then calls [`Links::done`] or [`Links::failed`].
    First,
    /// The file has a copy here.
    Linked(Named),
    /// The file is being copied.
    Later,
}

impl Links {
    /// Claims a name of a file with `names` names, if the number is known.
    pub(super) fn claim(&self, identity: (u64, u64), names: Option<u64>) -> LinkAction {
        let mut copies = self.0.lock();
        match copies.get_mut(&identity) {
            None => {
                copies
                    .insert(identity, Copy { place: None, left: names.map(|names| names.saturating_sub(1)) });
                LinkAction::First
            }
            Some(Copy { place: None, .. }) => LinkAction::Later,
            Some(Copy { place: Some(place), left }) => {
                *left = left.map(|left| left.saturating_sub(1));
                let place = place.clone();
                if *left == Some(0) {
                    // The last name: the entry is not needed again.
                    copies.remove(&identity);
                }
                LinkAction::Linked(place)
            }
        }
    }

    /// True if the file is copied, or being copied.
    pub(super) fn contains(&self, identity: (u64, u64)) -> bool {
        self.0.lock().contains_key(&identity)
    }

    /// Notes that the copy under the first name is at `place`.
    pub(super) fn done(&self, identity: (u64, u64), place: Named) {
        let mut copies = self.0.lock();
        if let Some(copy) = copies.get_mut(&identity) {
            copy.place = Some(place);
        }
    }

    /// Closes the directories of the copies until they are needed.
    pub(super) fn release(&self) {
        self.0
            .lock()
            .values()
            .filter_map(|copy| copy.place.as_ref())
            .for_each(|(directory, ..)| directory.release());
    }

    /// Notes that the copy is gone, and that another one is being made.
    pub(super) fn restart(&self, identity: (u64, u64)) {
        self.0.lock().entry(identity).or_insert(Copy { place: None, left: None }).place = None;
    }

    /// Notes that copying the first name failed: the next one becomes the first.
    pub(super) fn failed(&self, identity: (u64, u64)) {
        self.0.lock().remove(&identity);
    }
}

/// Pending tasks, and the workers that wait for one.
pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    more: Condvar,
    waiting: AtomicUsize,
}

struct QueueState<T> {
    tasks: VecDeque<T>,
    workers: usize,
    over: bool,
}

impl<T> Queue<T> {
    /// A queue for a number of workers, each of which calls [`next`](Self::next) until it returns `None`.
    pub(super) fn new(workers: usize) -> Self {
        let state = QueueState { tasks: VecDeque::new(), workers, over: false };
        Self { state: Mutex::new(state), more: Condvar::new(), waiting: AtomicUsize::new(0) }
    }

    pub(super) fn push(&self, task: T) {
        let mut state = self.state.lock();
        state.tasks.push_back(task);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.more.notify_one();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().tasks.len()
    }

    /// True if a worker is idle.
    pub(super) fn has_idle_worker(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Returns the newest task, so that trees are copied branch by branch with few open directories; `None` if all work is done.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.tasks.pop_back() {
                return Some(task);
            }
            if state.over {
                return None;
            }
            let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
            if waiting == state.workers {
                state.over = true;
                self.more.notify_all();
                return None;
            }
            state = self.more.wait(state);
            if !state.over {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Removes the calling worker if it panics while the guard lives: the others do not wait for it.
    pub(super) fn leave_on_panic(&self) -> LeaveOnPanic<'_, T> {
        LeaveOnPanic(self)
    }

    /// Removes a worker whose thread could not start.
    pub(super) fn without_one(&self) {
        let mut state = self.state.lock();
        state.workers -= 1;
        if self.waiting.load(Ordering::Relaxed) >= state.workers {
            state.over = true;
            self.more.notify_all();
        }
    }
}

pub(super) struct LeaveOnPanic<'q, T>(&'q Queue<T>);

impl<T> Drop for LeaveOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.without_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_workers_end_after_a_panic_of_one() {
        let queue = Queue::new(2);
        queue.push(());
        std::thread::scope(|scope| {
            let one = scope.spawn(|| {
                let _leave = queue.leave_on_panic();
                assert!(queue.next().is_none(), "a task");
            });
            assert!(one.join().is_err());
            assert_eq!(queue.next(), None);
        });
    }

    #[test]
    fn every_task_is_done_once_and_all_workers_end() {
        for workers in 1..6 {
            let queue = Queue::new(workers);
            queue.push(12u32);
            let done = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        while let Some(depth) = queue.next() {
                            done.fetch_add(1, Ordering::Relaxed);
                            for _ in 0..if depth == 0 { 0 } else { 2 } {
                                queue.push(depth - 1);
                            }
                        }
                    });
                }
            });
            assert_eq!(done.into_inner(), (1 << 13) - 1);
        }
    }
}
