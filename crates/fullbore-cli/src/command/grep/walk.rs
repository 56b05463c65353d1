//! Walks directories for haystacks. A single directory, if it is small, is walked by several threads before the
//! search begins.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{mem, panic, vec};

use fullbore::lock::Mutex;
use fullbore::sys::{OsStrExt, is_separator};
use fullbore_cli::values::is_stdio;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::Types;
use ignore::{WalkBuilder, WalkState};

use super::args::{GrepArgs, Listing, SortBy};
use super::haystacks::{Haystack, Item, SearchPaths, WalkKind, items, types};

/// Limits of the walk before the search: number of files, and duration.
const AT_ONCE: (usize, Duration) = (1 << 16, Duration::from_millis(100));

const NAME: &str = "walk";

/// The compiled flags that select files.
pub(crate) struct FileFilters {
    here: PathBuf,
    types: Types,
    globs: Override,
    /// Selects the files of a preprocessor.
    pub(crate) pre_globs: Override,
}

impl FileFilters {
    pub(crate) fn new(args: &GrepArgs) -> Result<Self, String> {
        let here = std::env::current_dir()
            .or_else(|error| std::env::var_os("PWD").map(PathBuf::from).ok_or(error))
            .map_err(|error| format!("failed to get current working directory: {error}"))?;
        let types = types(args)?;
        let compiled = |case_insensitive, globs: &[String], iglobs: &[String]| {
            let mut builder = OverrideBuilder::new(&here);
            for (case_insensitive, globs) in [(case_insensitive, globs), (true, iglobs)] {
                builder.case_insensitive(case_insensitive)?;
                for glob in globs {
                    builder.add(glob)?;
                }
            }
            builder.build()
        };
        let fail = |error: ignore::Error| error.to_string();
        let globs = compiled(args.glob_case_insensitive, &args.globs, &args.iglobs).map_err(fail)?;
        let pre_globs = compiled(false, &args.pre_globs, &[]).map_err(fail)?;
        Ok(Self { here, types, globs, pre_globs })
    }
}

/// Lists all haystacks in order, with messages. Up to `workers` threads walk a single directory before the search begins.
pub(crate) fn walk<'a>(
    args: &'a GrepArgs,
    search_paths: &SearchPaths,
    filters: FileFilters,
    workers: usize,
) -> Box<dyn Iterator<Item = Item> + Send + 'a> {
    let kind = WalkKind { implicit: search_paths.implicit, serial: search_paths.serial(args) };
    let (mut builder, notes) = builder(args, &filters, &search_paths.paths[..1]);
    let notes = notes.into_iter().map(Item::Remark);
    // Results are printed in file order, so a stable order costs nothing more.
    let sorted = args.sort.is_none_or(|sort| sort.by == SortBy::Path && !sort.reverse);
    if let ([root], true) = (search_paths.paths.as_slice(), sorted && workers > 1)
        && root.is_dir()
        && let Some(items) = walk_at_once(builder.threads(workers), kind)
    {
        return Box::new(notes.chain(items));
    }
    let walk = move |paths: &[PathBuf]| {
        let (mut builder, _) = self::builder(args, &filters, paths);
        if sorted {
            builder.sort_by_file_name(Ord::cmp);
        }
        builder.build().flat_map(move |entry| items(entry, kind))
    };
    let items =
        notes.chain(Roots { paths: search_paths.paths.clone().into_iter().peekable(), walk, open: None });
    match args.sort {
        Some(sort) if sort.by != SortBy::Path || sort.reverse => {
            let (mut haystacks, others): (Vec<_>, Vec<_>) =
                items.partition(|item| matches!(item, Item::Haystack(_)));
            order(&mut haystacks, sort.by, sort.reverse);
            Box::new(others.into_iter().chain(haystacks))
        }
        // All workers search a file that is known to be the only one.
        _ if search_paths.one_file => Box::new(items.collect::<Vec<_>>().into_iter()),
        _ => Box::new(items),
    }
}

/// Returns a builder of walks of `paths`, and the errors in ignore files of the command line.
fn builder(args: &GrepArgs, filters: &FileFilters, paths: &[PathBuf]) -> (WalkBuilder, Vec<String>) {
    let mut builder = WalkBuilder::new(&paths[0]);
    for path in &paths[1..] {
        builder.add(path);
    }
    let mut notes = Vec::new();
    if !args.no_ignore_files {
        let wrong = args.ignore_files.iter().filter_map(|path| builder.add_ignore(path));
        notes.extend(wrong.map(|error| error.to_string()));
    }
    builder
        .max_depth(args.max_depth)
        .follow_links(args.follow)
        .max_filesize(args.max_filesize)
        .same_file_system(args.one_file_system)
        .skip_stdout(args.listing != Some(Listing::Files))
        .overrides(filters.globs.clone())
        .types(filters.types.clone())
        .hidden(!args.hidden)
        .parents(!args.no_ignore_parent)
        .ignore(!args.no_ignore_dot)
        .git_global(!args.no_ignore_vcs && !args.no_ignore_global)
        .git_ignore(!args.no_ignore_vcs)
        .git_exclude(!args.no_ignore_vcs && !args.no_ignore_exclude)
        .require_git(!args.no_require_git)
        .ignore_case_insensitive(args.ignore_file_case_insensitive)
        .current_dir(filters.here.clone());
    if !args.no_ignore_dot {
        builder.add_custom_ignore_filename(".rgignore");
    }
    (builder, notes)
}

/// The haystacks of the named paths in order. No filter applies to a named file, so it is not walked: the walk takes three
/// inspections for it.
struct Roots<F, W> {
    paths: Peekable<vec::IntoIter<PathBuf>>,
    walk: F,
    open: Option<W>,
}

impl<F: Fn(&[PathBuf]) -> W, W: Iterator<Item = Item>> Iterator for Roots<F, W> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let is_file = |path: &PathBuf| !is_stdio(path) && path.is_file();
        loop {
            if let Some(item) = self.open.as_mut().and_then(Iterator::next) {
                return Some(item);
            }
            let path = self.paths.next()?;
            if is_file(&path) {
                return Some(Item::Haystack(Haystack { path, named: true, stdin: false }));
            }
            let mut others = vec![path];
            others.extend(std::iter::from_fn(|| self.paths.next_if(|path| !is_file(path))));
            self.open = Some((self.walk)(&others));
        }
    }
}

fn order(items: &mut [Item], by: SortBy, reverse: bool) {
    let path = |item: &Item| match item {
        Item::Haystack(haystack) => haystack.path.clone(),
        _ => PathBuf::new(),
    };
    if by == SortBy::Path {
        items.sort_by_cached_key(|item| Reverse(path(item)));
        return;
    }
    // Files without the time come last, in reverse order first.
    let key = |item: &Item| {
        let time = path(item).metadata().and_then(|metadata| match by {
            SortBy::Accessed => metadata.accessed(),
            SortBy::Created => metadata.created(),
            _ => metadata.modified(),
        });
        (time.is_err(), time.ok())
    };
    match reverse {
        true => items.sort_by_cached_key(|item| Reverse(key(item))),
        false => items.sort_by_cached_key(key),
    }
}

/// Lists everything below a directory with several threads, unless that would delay the search of the first file too
/// long, or the threads cannot be started. It also takes less work: a walk that returns entries one by one opens each
/// ignore file by name, this one finds them in the directory listings.
///
/// The walk of the crate `ignore` panics if it cannot start a thread, while the started ones already wait for it
/// forever. So it runs in a thread of its own, which is abandoned in that case.
fn walk_at_once(builder: &WalkBuilder, kind: WalkKind) -> Option<impl Iterator<Item = Item> + Send + use<>> {
    let (sender, gathered) = channel();
    on_panic(sender.clone());
    let walk = builder.build_parallel();
    let count = Arc::new(AtomicUsize::new(0));
    let much = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let run = {
        let much = much.clone();
        move || {
            walk.run(|| {
                let mut mine = WalkBatch { items: Vec::new(), sender: sender.clone() };
                let (count, much) = (count.clone(), much.clone());
                Box::new(move |entry| {
                    let path = entry.as_ref().map_or_else(path_of, |entry| Some(entry.path()));
                    let key = path.map(key).unwrap_or_default();
                    mine.items.extend(items(entry, kind).map(|item| (key.clone(), item)));
                    let count = count.fetch_add(1, Relaxed);
                    if much.load(Relaxed)
                        || count >= AT_ONCE.0
                        || (count % 64 == 0 && start.elapsed() > AT_ONCE.1)
                    {
                        much.store(true, Relaxed);
                        return WalkState::Quit;
                    }
                    WalkState::Continue
                })
            });
            let _ = sender.send(WalkMessage::Done);
        }
    };
    let started = thread::Builder::new().name(NAME.into()).spawn(run);
    let mut runs = Vec::new();
    while started.is_ok() {
        match gathered.recv() {
            Ok(WalkMessage::Items(mine)) => runs.push(mine),
            Ok(WalkMessage::Done) => break,
            Ok(WalkMessage::Failed) | Err(_) => {
                // The threads still walking stop at their next entry.
                much.store(true, Relaxed);
                return None;
            }
        }
    }
    started.ok()?;
    if much.load(Relaxed) {
        return None;
    }
    Some(Merged(runs.into_iter().filter_map(Run::new).collect()))
}

/// The items of sorted runs in order, merged as they are taken: the search begins without waiting for a sort of all.
struct Merged(BinaryHeap<Run>);

/// A sorted run without its first item, which is ready.
struct Run {
    first: (Vec<u8>, Item),
    rest: vec::IntoIter<(Vec<u8>, Item)>,
}

impl Run {
    fn new(items: Keyed) -> Option<Self> {
        let mut rest = items.into_iter();
        Some(Self { first: rest.next()?, rest })
    }
}

impl Iterator for Merged {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut run = self.0.peek_mut()?;
        let (_, item) = match run.rest.next() {
            Some(next) => mem::replace(&mut run.first, next),
            None => PeekMut::pop(run).first,
        };
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.0.iter().map(|run| 1 + run.rest.len()).sum();
        (len, Some(len))
    }
}

/// The greatest run has the smallest key, since a heap returns its greatest element.
impl Ord for Run {
    fn cmp(&self, other: &Self) -> Ordering {
        other.first.0.cmp(&self.first.0)
    }
}

impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Run {}

/// Returns the path that an error of the walk concerns.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } | ignore::Error::Loop { child: path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(path_of),
        _ => None,
    }
}

/// Returns a sort key that orders paths as if directories were sorted by name, one after the other.
fn key(path: &Path) -> Vec<u8> {
    let mut key = path.as_os_str().as_bytes().to_vec();
    key.iter_mut().filter(|byte| is_separator(**byte)).for_each(|byte| *byte = 0);
    key
}

type Keyed = Vec<(Vec<u8>, Item)>;

/// The items found by one thread, sent when it ends.
struct WalkBatch {
    items: Keyed,
    sender: Sender<WalkMessage>,
}

enum WalkMessage {
    Items(Keyed),
    Done,
    Failed,
}

impl Drop for WalkBatch {
    fn drop(&mut self) {
        // Items without a path come first: they are errors.
        self.items.sort_by(|(one, _), (other, _)| one.cmp(other));
        // After a failure nothing receives any more.
        let _ = self.sender.send(WalkMessage::Items(mem::take(&mut self.items)));
    }
}

/// Sends panics of the walk's thread to `sender` instead of printing them.
fn on_panic(sender: Sender<WalkMessage>) {
    let (before, sender) = (panic::take_hook(), Mutex::new(sender));
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() == Some(NAME) {
            let _ = sender.lock().send(WalkMessage::Failed);
        } else {
            before(info);
        }
    }));
}
