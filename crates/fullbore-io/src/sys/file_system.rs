//! Types of file systems, and the properties of each that decisions depend on.

/// A type of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystemKind {
    number: u64,
    name: &'static str,
}

/// Names in Linux's mount table, and numbers of `statfs(2)` (`linux/magic.h`). The first name of several with one number is used.
const KNOWN: [(&str, u64); 35] = [
    ("autofs", 0x0187),
    ("binfmt_misc", 0x4249_4e4d),
    ("bpf", 0xcafe_4a11),
    ("btrfs", 0x9123_683e),
    ("ceph", 0x00c3_6400),
    ("cgroup", 0x0027_e0eb),
    ("cgroup2", 0x6367_7270),
    ("cifs", 0xff53_4d42),
    ("configfs", 0x6265_6570),
    ("debugfs", 0x6462_6720),
    ("devpts", 0x1cd1),
    ("efivarfs", 0xde5e_81e4),
    ("exfat", 0x2011_bab0),
    // ext2 and ext3, too.
    ("ext4", 0xef53),
    ("f2fs", 0xf2f5_2010),
    ("fusectl", 0x6573_5543),
    ("hugetlbfs", 0x9584_58f6),
    ("mqueue", 0x1980_0202),
    ("nfs", 0x6969),
    ("nsfs", 0x6e73_6673),
    ("ntfs", 0x5346_544e),
    ("overlay", 0x794c_7630),
    ("proc", 0x9fa0),
    ("pstore", 0x6165_676c),
    ("ramfs", 0x8584_58f6),
    ("rootfs", 0x8584_58f6),
    ("securityfs", 0x7363_6673),
    ("smb3", 0xfe53_4d42),
    ("smbfs", 0x517b),
    ("sysfs", 0x6265_6572),
    ("tmpfs", 0x0102_1994),
    ("devtmpfs", 0x0102_1994),
    ("tracefs", 0x7472_6163),
    ("vfat", 0x4d44),
    ("xfs", 0x5846_5342),
];

/// The number of all FUSE file systems on Linux, which have names of their own.
const FUSE: u64 = 0x6573_5546;

impl FileSystemKind {
    /// Returns the type with this number on Linux.
    pub fn numbered(number: u64) -> Self {
        let known = KNOWN.iter().find(|(_, known)| *known == number);
        Self { number, name: known.map_or("", |known| known.0) }
    }

    /// Returns the type with this name in Linux's mount table; its number is 0 if it is unknown here.
    pub fn named(name: &str) -> Self {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        known.map_or(Self { number: 0, name: "" }, |&(name, number)| Self { number, name })
    }

    /// Returns the same type, with the number that this system has for it.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Returns the number of this type on this system.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Returns the name of this type on Linux; empty if it is unknown here.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// True if the files are kept in memory only.
    pub fn is_in_memory(self) -> bool {
        matches!(self.name, "devtmpfs" | "hugetlbfs" | "ramfs" | "rootfs" | "tmpfs")
    }

    /// True if files may be compressed, except for blocks that were allocated before they were written.
    pub fn compresses(self) -> bool {
        self.name == "btrfs"
    }

    /// True if no file is on a device: they are in memory, or the kernel generates them when they are read, possibly slowly.
    pub fn is_off_device(self) -> bool {
        self.is_in_memory()
            || self.has_nominal_lengths()
            || matches!(self.name, "autofs" | "binfmt_misc" | "bpf" | "devpts" | "fusectl")
            || matches!(self.name, "mqueue" | "nsfs" | "proc" | "pstore")
    }

    /// True if the kernel generates the files when they are read, and acts on what is written to them.
    pub fn is_generated(self) -> bool {
        self.is_off_device() && !self.is_in_memory()
    }

    /// True if files may have lengths that are only nominal, such as a page, because the kernel generates their bytes when they
    /// are read.
    pub fn has_nominal_lengths(self) -> bool {
        matches!(self.name, "cgroup" | "cgroup2" | "configfs" | "debugfs" | "efivarfs")
            || matches!(self.name, "securityfs" | "sysfs" | "tracefs")
    }

    /// True for an overlay, whose inodes have no pages of their own.
    pub fn is_overlay(self) -> bool {
        self.name == "overlay"
    }

    /// True for NFS and all versions of SMB.
    pub fn is_nfs_or_smb(self) -> bool {
        matches!(self.name, "cifs" | "nfs" | "smb3" | "smbfs")
    }

    /// True if the files are on a server that copies them locally on request (`copy_file_range`, which macOS lacks).
    pub fn copies_on_server(self) -> bool {
        cfg!(not(target_os = "macos")) && matches!(self.name, "ceph" | "cifs" | "nfs" | "smb3")
    }

    /// True for a FUSE file system. Its server reports the holes, without those pages that are still dirty, and never gets a
    /// sync of the whole file system.
    pub fn is_fuse(self) -> bool {
        self.number == FUSE
    }

    /// True if timestamps are those of this machine's clock.
    pub fn has_local_clock(self) -> bool {
        matches!(self.name, "btrfs" | "ext4" | "f2fs" | "tmpfs" | "xfs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        for (name, number) in KNOWN {
            let (named, numbered) = (FileSystemKind::named(name), FileSystemKind::numbered(number));
            assert_eq!((named.name(), named.number(), numbered.number()), (name, number, number));
            assert_eq!(named.is_off_device(), numbered.is_off_device(), "{name}");
            assert_eq!(named.is_in_memory(), numbered.is_in_memory(), "{name}");
        }
        assert_eq!(FileSystemKind::numbered(0x0102_1994).name(), "tmpfs");
        assert_eq!(FileSystemKind::numbered(0x8584_58f6).name(), "ramfs");
    }

    #[test]
    fn memory_has_no_device_and_disks_have_one() {
        let kind = FileSystemKind::named;
        assert!(kind("tmpfs").is_in_memory() && kind("tmpfs").is_off_device());
        assert!(!kind("proc").is_in_memory() && kind("proc").is_off_device());
        assert!(["btrfs", "ext4", "nfs", "overlay", "xfs"].iter().all(|name| !kind(name).is_off_device()));
        let unknown = [FileSystemKind::numbered(1), kind("fuse.sshfs").with_number(1)];
        assert!(unknown.iter().all(|kind| kind.name().is_empty() && !kind.is_off_device()));
        assert!(unknown.iter().all(|kind| !kind.is_nfs_or_smb() && !kind.has_local_clock()));
        assert_eq!(unknown[0], unknown[1]);
    }
}
