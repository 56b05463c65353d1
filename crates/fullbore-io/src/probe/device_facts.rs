//! The few facts of an open file that decide the choice of a strategy: determined in microseconds, for every run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::kernel_files::KernelFiles;
use crate::sys::{self, AsHandle, BorrowedHandle, FileKind, FileSystemKind, Status};

/// Facts that decide the choice of a strategy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFacts {
    pub in_memory: bool,
    pub rotational: bool,
    /// Identity of this file system on this device, distinct from every other.
    pub key: String,
}

/// Determines the facts of an open file.
///
/// ```
/// let found = fullbore_io::probe::device_facts(std::fs::File::open("Cargo.toml")?)?;
/// assert!(!found.key.is_empty());
/// assert!(!(found.in_memory && found.rotational));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn device_facts(file: impl AsHandle) -> io::Result<DeviceFacts> {
    static LEARNED: Learned<FileSystemId, DeviceFacts> = Learned::new();
    let file = file.as_handle();
    let id = FileSystemId::of(file)?;
    Ok(LEARNED.get(id, || learn(file, id)))
}

/// Facts that are learned once per process.
pub struct Learned<K, V>(Mutex<BTreeMap<K, V>>);

impl<K: Ord, V: Clone> Learned<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The fact; two threads may learn it at the same time.
    pub(crate) fn get(&self, key: K, learn: impl FnOnce() -> V) -> V {
        self.get_if(key, || (learn(), true))
    }

    /// As [`get`](Self::get); `learn` also returns `false` if the fact may differ the next time.
    pub(crate) fn get_if(&self, key: K, learn: impl FnOnce() -> (V, bool)) -> V {
        let learned = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = learned().get(&key) {
            return found.clone();
        }
        let (found, lasts) = learn();
        if lasts {
            learned().insert(key, found.clone());
        }
        found
    }
}

/// Identifies a mounted file system within a process: a device number alone is reused after an unmount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileSystemId {
    device: u64,
    kind: u64,
    fsid: u64,
}

impl FileSystemId {
    pub(crate) fn of(file: impl AsHandle) -> io::Result<Self> {
        let device = sys::status(&file)?.dev;
        Self::on(device, file)
    }

    /// As [`of`](Self::of), for a file whose device number is known.
    pub(crate) fn on(device: u64, file: impl AsHandle) -> io::Result<Self> {
        let file = file.as_handle();
        let kind = sys::file_system_kind(file)?.number();
        Ok(Self { device, kind, fsid: sys::space(file)?.id })
    }
}

fn learn(file: BorrowedHandle<'_>, id: FileSystemId) -> DeviceFacts {
    let FileSystemId { device, kind, fsid } = id;
    let (major, minor) = sys::split_device(device);
    let directory = KernelFiles::running().sys.join(format!("dev/block/{major}:{minor}"));
    let setting =
        |name: &str| fs::read_to_string(directory.join(name)).ok().map(|text| text.trim().to_owned());
    // Queue and model of a partition are those of its disk.
    let of_disk = |name: &str| setting(name).or_else(|| setting(&format!("../{name}")));
    let parts = [
        Some(format!("{kind:x}")),
        Some(format!("{fsid:x}")),
        setting("size"),
        of_disk("device/model"),
        of_disk("device/serial").or_else(|| of_disk("serial")),
    ];
    DeviceFacts {
        in_memory: in_memory(file),
        rotational: match of_disk("queue/rotational") {
            Some(reported) => reported == "1" && !virtual_disk(&directory),
            None => seeks(file),
        },
        key: parts.into_iter().flatten().collect::<Vec<_>>().join(":"),
    }
}

fn seeks(file: BorrowedHandle<'_>) -> bool {
    let disks = sys::disks(&sys::handle_path(&file)).unwrap_or_default();
    disks.iter().any(|disk| disk.seek_penalty == Some(true))
}

/// True if a file's bytes are kept in memory only, as on tmpfs: no transfer waits for a device.
pub fn in_memory(file: impl AsHandle) -> bool {
    is_on(file, FileSystemKind::is_in_memory)
}

/// True if a file is on an overlay, whose inodes have no pages of their own: calls that use the inode's pages see none.
pub fn overlaid(file: impl AsHandle) -> bool {
    is_on(file, FileSystemKind::is_overlay)
}

/// True if a file has nothing on any device: in memory, or generated when read, as on procfs.
pub fn off_device(file: impl AsHandle) -> bool {
    is_on(file, FileSystemKind::is_off_device)
}

/// True if a file is on such a file system. A block device's name may be, in `/dev`, but its bytes are not.
fn is_on(file: impl AsHandle, such: impl Fn(FileSystemKind) -> bool) -> bool {
    let file = file.as_handle();
    let block = |found: Status| found.kind() == FileKind::BlockDevice;
    sys::file_system_kind(file).is_ok_and(such) && !sys::status(file).is_ok_and(block)
}

/// True for a device implemented in software, which often reports wrongly that it is rotational.
fn virtual_disk(device: &Path) -> bool {
    let Ok(link) = fs::read_link(device) else { return false };
    let place = link.to_string_lossy();
    ["/virtio", "/virtual/", "/vbd"].iter().any(|kind| place.contains(kind))
}

/// Returns the number of processors that this process may use, by its affinity and its control groups' quota, at least 1.
pub fn processors() -> usize {
    // Reading the control groups' files takes 33 µs.
    static LEARNED: OnceLock<usize> = OnceLock::new();
    *LEARNED.get_or_init(sys::usable_processors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;

    #[test]
    fn file_systems_are_distinguished() {
        let here = device_facts(tempfile::tempfile_in(build_directory()).unwrap()).unwrap();
        let again = device_facts(tempfile::tempfile_in(build_directory()).unwrap()).unwrap();
        assert_eq!(here, again);
        #[cfg(target_os = "linux")]
        match tempfile::tempfile_in("/dev/shm") {
            Ok(file) => {
                let memory = device_facts(file).unwrap();
                assert!(memory.in_memory);
                assert_ne!(memory.key, here.key);
            }
            Err(error) => println!("skipped: /dev/shm: {error}"),
        }
    }
}
