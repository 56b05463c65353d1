//! The file system that a path stands in.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mounts::Mount;

/// A file system, where it is mounted and how much room it has.
///
/// ```
/// let facts = fullbore::probe::facts("Cargo.toml".as_ref())?;
/// if let Some(system) = facts.file_system {
///     assert!(system.available <= system.free && system.free <= system.total);
/// }
/// # Ok::<(), fullbore::probe::ProbeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemFacts {
    /// Its type, with the subtype where there is one: `ext4`, `fuse.sshfs`.
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// The folder of the file system that stands there: not `/` for bind mounts and sub-volumes.
    pub root: String,
    /// What is mounted: a device, a server, a word.
    pub source: String,
    /// Options of this mount alone.
    pub mount_options: Vec<String>,
    /// Options of the file system, common to all its mounts.
    pub super_options: Vec<String>,
    /// All room, in bytes.
    pub total: u64,
    /// Room not in use, in bytes, with that kept for root.
    pub free: u64,
    /// Room that this user may fill, in bytes.
    pub available: u64,
    /// The unit of allocation, in bytes.
    pub block_size: u64,
    /// The number that tells it from the other file systems of this machine, hexadecimal; None where it has none.
    pub id: Option<String>,
    /// Whether its files come over a network. None: they come from a program (FUSE) that may use one.
    pub network: Option<bool>,
    /// Whether its files live in memory alone, or are made by the kernel as they are read.
    pub in_memory: bool,
}

impl FileSystemFacts {
    /// Joins what the mount table and the file system itself say.
    pub(crate) fn of(mount: &Mount, path: &Path) -> io::Result<Self> {
        let room = rustix::fs::statvfs(path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(room.f_frsize);
        Ok(Self {
            kind: mount.kind.clone(),
            mount_point: mount.point.to_string_lossy().into_owned(),
            root: mount.root.to_string_lossy().into_owned(),
            source: mount.source.clone(),
            mount_options: mount.options.clone(),
            super_options: mount.super_options.clone(),
            total: bytes(room.f_blocks),
            free: bytes(room.f_bfree),
            available: bytes(room.f_bavail),
            block_size: room.f_frsize,
            // The kernel's two words, the first one foremost, as other programs print it.
            id: (room.f_fsid != 0).then(|| format!("{:x}", room.f_fsid.rotate_left(32))),
            network: is_network(&mount.kind),
            in_memory: is_in_memory(&mount.kind),
        })
    }
}

/// Whether a type of file system brings its files over a network.
pub(crate) fn is_network(kind: &str) -> Option<bool> {
    const NETWORK: [&str; 25] = [
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.juicefs",
        "fuse.moosefs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "pvfs2",
        "smb3",
        "smbfs",
        "wekafs",
    ];
    const LOCAL_FUSE: [&str; 5] =
        ["fuse.exfat", "fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.mergerfs", "fuse.ntfs-3g"];
    if NETWORK.contains(&kind) {
        Some(true)
    } else if (kind == "fuse" || kind.starts_with("fuse.")) && !LOCAL_FUSE.contains(&kind) {
        None
    } else {
        Some(false)
    }
}

/// What a file system has that has nothing on any device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// The bytes that were written, in memory.
    Bytes,
    /// What the system makes up when it is read, which may take it a while.
    Answers,
}

/// The types of file system that keep nothing on any device: as mount tables name them, as `statfs(2)` numbers them
/// (`linux/magic.h`), and what they have.
const MEMORY: [(&str, u64, Memory); 22] = [
    ("autofs", 0x0187, Memory::Answers),
    ("binfmt_misc", 0x4249_4e4d, Memory::Answers),
    ("bpf", 0xcafe_4a11, Memory::Answers),
    ("cgroup", 0x0027_e0eb, Memory::Answers),
    ("cgroup2", 0x6367_7270, Memory::Answers),
    ("configfs", 0x6265_6570, Memory::Answers),
    ("debugfs", 0x6462_6720, Memory::Answers),
    ("devpts", 0x1cd1, Memory::Answers),
    ("devtmpfs", 0x0102_1994, Memory::Bytes),
    ("efivarfs", 0xde5e_81e4, Memory::Answers),
    ("fusectl", 0x6573_5543, Memory::Answers),
    ("hugetlbfs", 0x9584_58f6, Memory::Bytes),
    ("mqueue", 0x1980_0202, Memory::Answers),
    ("nsfs", 0x6e73_6673, Memory::Answers),
    ("proc", 0x9fa0, Memory::Answers),
    ("pstore", 0x6165_676c, Memory::Answers),
    ("ramfs", 0x8584_58f6, Memory::Bytes),
    ("rootfs", 0x8584_58f6, Memory::Bytes),
    ("securityfs", 0x7363_6673, Memory::Answers),
    ("sysfs", 0x6265_6572, Memory::Answers),
    ("tmpfs", 0x0102_1994, Memory::Bytes),
    ("tracefs", 0x7472_6163, Memory::Answers),
];

/// Whether a type of file system keeps nothing on any device.
pub(crate) fn is_in_memory(kind: &str) -> bool {
    MEMORY.iter().any(|(name, ..)| *name == kind)
}

/// What a file system of that number has instead of a device; `None` if it has one.
pub(super) fn memory(number: u64) -> Option<Memory> {
    let found = MEMORY.iter().find(|(_, magic, _)| *magic == number & 0xffff_ffff)?;
    Some(found.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_local_and_unknowable() {
        assert_eq!(is_network("nfs4"), Some(true));
        assert_eq!(is_network("fuse.sshfs"), Some(true));
        assert_eq!(is_network("fuse.something"), None);
        assert_eq!(is_network("fuse"), None);
        assert_eq!(is_network("fuseblk"), Some(false));
        assert_eq!(is_network("ext4"), Some(false));
        assert!(is_in_memory("tmpfs") && !is_in_memory("xfs"));
    }

    #[test]
    fn names_and_numbers_agree_on_every_mount_here() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mut seen = 0;
        for line in mounts.lines() {
            let mut words = line.split(' ').skip(1);
            let (place, kind) = (words.next().unwrap(), words.next().unwrap());
            // Looking at such a mount may wait for a server.
            if kind == "autofs" || is_network(kind) != Some(false) {
                continue;
            }
            if let Ok(found) = rustix::fs::statfs(place) {
                // What is mounted over it is what is looked at; the last line of a place counts.
                let last = mounts.lines().rfind(|line| line.split(' ').nth(1) == Some(place));
                if last == Some(line) {
                    assert_eq!(memory(found.f_type as u64).is_some(), is_in_memory(kind), "{line}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 1, "{mounts}");
    }
}
