//! Walking one directory by several threads before anything is searched.

use std::os::unix::ffi::OsStrExt;
use std::panic;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ignore::{WalkBuilder, WalkState};

use super::haystacks::{Item, items};

/// How many files may be known before the first is searched, and how long that may take.
const AT_ONCE: (usize, Duration) = (1 << 16, Duration::from_millis(100));

/// The thread that runs the walk.
const NAME: &str = "walk";

/// All there is under one directory, by several threads at once, unless it is so much that it would be long before the first
/// file is searched, or the threads cannot be had. It is also less work: a walk that gives its entries one by one asks for
/// each ignore file by its name, this one sees them in the directories.
///
/// The walk of the crate `ignore` panics where it cannot start a thread, after those that started have begun to wait for it
/// for ever. So it runs in a thread of its own, which is left alone then.
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
                // Those that are still at it stop with the next entry.
                much.store(true, Relaxed);
                return None;
            }
        }
    }
    started.ok()?;
    if much.load(Relaxed) {
        return None;
    }
    // It consists of a sorted run a thread, which this sort makes use of.
    by_key(&mut all);
    Some(all.into_iter().map(|(_, item)| item))
}

/// Bytes in whose order paths stand as if directories were sorted by name, one after the other.
fn key(path: &Path) -> Vec<u8> {
    let mut key = path.as_os_str().as_bytes().to_vec();
    key.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = 0);
    key
}

type Keyed = Vec<(Vec<u8>, Item)>;

/// What has no path comes first: it is trouble.
fn by_key(items: &mut Keyed) {
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
}

/// What one thread came across, which is sent when it ends.
struct WalkBatch {
    items: Keyed,
    sender: Sender<WalkMessage>,
}

/// What the walk sends.
enum WalkMessage {
    Items(Keyed),
    Done,
    Failed,
}

impl Drop for WalkBatch {
    fn drop(&mut self) {
        by_key(&mut self.items);
        // After a failure nobody listens any more.
        let _ = self.sender.send(WalkMessage::Items(std::mem::take(&mut self.items)));
    }
}

/// Makes a panic of the walk's thread no message for anybody but for `sender`.
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
