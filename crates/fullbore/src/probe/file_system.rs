//! The file system that a path stands in.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mounts::Mount;

/// A file system, where it is mounted and how much room it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
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

impl FileSystem {
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

/// Whether a type of file system keeps nothing on any device.
pub(crate) fn is_in_memory(kind: &str) -> bool {
    const MEMORY: [&str; 22] = [
        "autofs",
        "binfmt_misc",
        "bpf",
        "cgroup",
        "cgroup2",
        "configfs",
        "debugfs",
        "devpts",
        "devtmpfs",
        "efivarfs",
        "fusectl",
        "hugetlbfs",
        "mqueue",
        "nsfs",
        "proc",
        "pstore",
        "ramfs",
        "rootfs",
        "securityfs",
        "sysfs",
        "tmpfs",
        "tracefs",
    ];
    MEMORY.contains(&kind)
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
}
