//! The few facts of an open file that decide the choice of a strategy, and the identity of its file system.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::kernel_files::KernelFiles;
use crate::lock::Mutex;
use crate::sys::{self, AsHandle, FileKind, FileSystemKind, Status};

/// Returns the identity of an open file's file system on its device, distinct from every other.
pub fn identity(file: impl AsHandle) -> io::Result<String> {
    FileSystemId::of(file).map(FileSystemId::identity)
}

/// As [`identity`], for a path, which is not opened: it may be of any kind, and need not be readable.
pub fn identity_of(path: &Path) -> io::Result<String> {
    FileSystemId::at(path).map(FileSystemId::identity)
}

/// The directory of a device in sysfs.
struct DeviceDirectory(PathBuf);

impl DeviceDirectory {
    fn setting(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join(name)).ok().map(|text| text.trim().to_owned())
    }

    /// Returns a setting of the disk: queue and model of a partition are those of its disk.
    fn of_disk(&self, name: &str) -> Option<String> {
        self.setting(name).or_else(|| self.setting(&format!("../{name}")))
    }
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
        let learned = || self.0.lock();
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
        let status = sys::status(&file)?;
        Self::of_block_device(&status).map_or_else(|| Self::on(status.dev, file), Ok)
    }

    /// As [`of`](Self::of), for a file whose device number is known.
    pub(crate) fn on(device: u64, file: impl AsHandle) -> io::Result<Self> {
        let file = file.as_handle();
        let kind = sys::file_system_kind(file)?.number();
        Ok(Self { device, kind, fsid: sys::space(file)?.id })
    }

    /// The identity for a block device, which is not on the file system of its name.
    fn of_block_device(status: &Status) -> Option<Self> {
        (status.kind() == FileKind::BlockDevice).then_some(Self { device: status.rdev, kind: 0, fsid: 0 })
    }

    /// As [`of`](Self::of), for a path.
    fn at(path: &Path) -> io::Result<Self> {
        let status = sys::stat(path)?;
        if let Some(found) = Self::of_block_device(&status) {
            return Ok(found);
        }
        let kind = sys::file_system_kind_of(path)?.number();
        Ok(Self { device: status.dev, kind, fsid: sys::space_of(path)?.id })
    }

    /// Returns the identity of the file system on its device, which lasts beyond this process. A virtual disk may take milliseconds
    /// to answer with its serial number.
    pub fn identity(self) -> String {
        static LEARNED: Learned<FileSystemId, String> = Learned::new();
        LEARNED.get(self, || {
            let device = self.device();
            let parts = [
                Some(format!("{:x}", self.kind)),
                Some(format!("{:x}", self.fsid)),
                device.setting("size"),
                device.of_disk("device/model"),
                device.of_disk("device/serial").or_else(|| device.of_disk("serial")),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(":")
        })
    }

    fn device(self) -> DeviceDirectory {
        let (major, minor) = sys::split_device(self.device);
        DeviceDirectory(KernelFiles::running().sys.join(format!("dev/block/{major}:{minor}")))
    }
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
        let [here, again] = [(); 2].map(|()| tempfile::tempfile_in(build_directory()).unwrap());
        assert_eq!(identity(&here).unwrap(), identity(again).unwrap());
        let named = tempfile::NamedTempFile::new_in(build_directory()).unwrap();
        assert_eq!(identity_of(named.path()).unwrap(), identity(named.as_file()).unwrap());
        assert!(!(in_memory(&here) && crate::probe::rotational(&here)));
        #[cfg(target_os = "linux")]
        match tempfile::tempfile_in("/dev/shm") {
            Ok(file) => {
                assert!(in_memory(&file));
                assert_ne!(identity(file).unwrap(), identity(here).unwrap());
            }
            Err(error) => println!("skipped: /dev/shm: {error}"),
        }
    }
}
