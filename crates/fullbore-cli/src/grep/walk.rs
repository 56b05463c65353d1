//! Walks one directory with several threads before the search begins.

use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ignore::{WalkBuilder, WalkState};

use super::haystacks::{Item, items};
use fullbore::sys::{OsStrExt, is_separator};

/// Limits of the walk before the search: number of files, and duration.
const AT_ONCE: (usize, Duration) = (1 << 16, Duration::from_millis(100));

/// The thread that runs the walk.
const NAME: &str = "walk";

/// Lists everything below a directory with several threads, unless that would delay the search of the first file too
/// long, or the threads cannot be started. It also takes less work: a walk that returns entries one by one opens each
/// ignore file by name, this one finds them in the directory listings.
///
/// The walk of the crate `ignore` panics if it cannot start a thread, while the started ones already wait for it
/// forever. So it runs in a thread of its own, which is abandoned in that case.
pub(super) fn walk_at_once(
    builder: &WalkBuilder,
    implicit: bool,
) -> Option<impl Iterator<Item = Item> + Send + use<>> {
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
                    let key = entry.as_ref().map_or_else(|_| Vec::new(), |entry| key(entry.path()));
                    mine.items.extend(items(entry, implicit).map(|item| (key.clone(), item)));
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
    let mut all = Keyed::new();
    while started.is_ok() {
        match gathered.recv() {
            Ok(WalkMessage::Items(mut mine)) => all.append(&mut mine),
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
    // Each thread contributes a sorted run, which this sort takes advantage of.
    by_key(&mut all);
    Some(all.into_iter().map(|(_, item)| item))
}

/// Returns a sort key that orders paths as if directories were sorted by name, one after the other.
fn key(path: &Path) -> Vec<u8> {
    let mut key = path.as_os_str().as_bytes().to_vec();
    key.iter_mut().filter(|byte| is_separator(**byte)).for_each(|byte| *byte = 0);
    key
}

type Keyed = Vec<(Vec<u8>, Item)>;

/// Items without a path come first: they are errors.
fn by_key(items: &mut Keyed) {
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
}

/// The items found by one thread, sent when it ends.
struct WalkBatch {
    items: Keyed,
    sender: Sender<WalkMessage>,
}

/// A message of the walk.
enum WalkMessage {
    Items(Keyed),
    Done,
    Failed,
}

impl Drop for WalkBatch {
    fn drop(&mut self) {
        by_key(&mut self.items);
        // After a failure nothing receives any more.
        let _ = self.sender.send(WalkMessage::Items(std::mem::take(&mut self.items)));
    }
}

/// Sends panics of the walk's thread to `sender` instead of printing them.
fn on_panic(sender: Sender<WalkMessage>) {
    let (before, sender) = (panic::take_hook(), Mutex::new(sender));
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() == Some(NAME) {
            let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(WalkMessage::Failed);
        } else {
            before(info);
        }
    }));
}
