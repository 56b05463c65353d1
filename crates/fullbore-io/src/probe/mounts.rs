//! The mount table, `/proc/self/mountinfo`, and the file system of a path.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::device::DeviceNumber;
use crate::sys::{self, FileSystemKind, OsStringExt};

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    /// Device number in the table; for btrfs, overlay and similar ones not that of a real device.
    pub(crate) device: DeviceNumber,
    /// Directory of the file system that is mounted: not `/` for bind mounts and sub-volumes.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: Vec<String>,
    /// Type of the file system, with its subtype: `fuse.sshfs`.
    pub(crate) kind: String,
    /// Source of the mount: a device, a server, a word.
    pub(crate) source: String,
    pub(crate) super_options: Vec<String>,
}

/// Parses a mount table. Malformed lines are skipped.
pub(crate) fn parse(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    // Fields are separated by exactly one space: an empty source results in two adjacent spaces.
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    fields.next()?;
    let device = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let root = path(fields.next()?);
    let point = path(fields.next()?);
    let mount_options = options(fields.next()?);
    // Any number of optional fields precede the hyphen.
    fields.find(|field| *field == b"-")?;
    let kind = word(fields.next()?);
    let source = word(fields.next()?);
    let super_options = options(fields.next().unwrap_or_default());
    Some(Mount { id, device, root, point, options: mount_options, kind, source, super_options })
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(field)).into()
}

fn word(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

/// Options are cut at commas first: a comma inside a value is escaped.
fn options(field: &[u8]) -> Vec<String> {
    field.split(|byte| *byte == b',').filter(|option| !option.is_empty()).map(word).collect()
}

/// Replaces the kernel's escapes, such as `\040` for a space.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

/// Returns the mount of a path.
///
/// The kernel's mount number decides if it is known. Otherwise the candidates are the mounts of the path's device, else
/// all mounts (files of a btrfs sub-volume or an overlay have device numbers that are not in the table); the longest
/// mount point above the path wins, and among equals the last, which hides the others.
pub(crate) fn holding<'a>(
    mounts: &'a [Mount],
    id: Option<u64>,
    device: DeviceNumber,
    path: &Path,
) -> Option<&'a Mount> {
    if let Some(id) = id {
        return mounts.iter().find(|mount| mount.id == id);
    }
    let longest = |of_device: bool| {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point) && (!of_device || mount.device == device))
            .max_by_key(|mount| mount.point.components().count())
    };
    longest(true).or_else(|| longest(false))
}

/// A file system, its mount point and its space.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileSystemFacts {
    /// Type of the file system, with the subtype if there is one: `ext4`, `fuse.sshfs`.
    pub kind: String,
    pub mount_point: String,
    /// Directory of the file system that is mounted there: not `/` for bind mounts and sub-volumes.
    pub root: String,
    /// Source of the mount: a device, a server, a word.
    pub source: String,
    /// Options of this mount only.
    pub mount_options: Vec<String>,
    /// Options of the file system, common to all its mounts.
    pub super_options: Vec<String>,
    /// Capacity in bytes.
    pub total: u64,
    /// Free space in bytes, including that reserved for root.
    pub free: u64,
    /// Space available to this user in bytes.
    pub available: u64,
    /// Unit of allocation in bytes.
    pub block_size: u64,
    /// Hexadecimal identity among the file systems of this machine; `None` if it has none.
    pub id: Option<String>,
    /// True if its files are on a network; `None` for FUSE, whose program may use a network.
    pub network: Option<bool>,
    /// True if its files are in memory only, or generated by the kernel when read.
    pub in_memory: bool,
}

impl FileSystemFacts {
    pub(crate) fn of(mount: &Mount, path: &Path) -> io::Result<Self> {
        let room = sys::space_of(path)?;
        Ok(Self {
            kind: mount.kind.clone(),
            mount_point: mount.point.to_string_lossy().into_owned(),
            root: mount.root.to_string_lossy().into_owned(),
            source: mount.source.clone(),
            mount_options: mount.options.clone(),
            super_options: mount.super_options.clone(),
            total: room.total,
            free: room.free,
            available: room.available,
            block_size: room.unit,
            // The kernel's two words, the first one first, as other programs print it.
            id: (room.id != 0).then(|| format!("{:x}", room.id.rotate_left(32))),
            network: is_network(&mount.kind),
            in_memory: FileSystemKind::named(&mount.kind).is_off_device(),
        })
    }
}

/// True if a type of file system uses a network; `None` if unknown.
pub(crate) fn is_network(kind: &str) -> Option<bool> {
    const NETWORK: &str = "afs beegfs ceph cifs coda davfs fuse.ceph fuse.davfs fuse.gcsfuse \
                           fuse.glusterfs fuse.juicefs fuse.moosefs fuse.rclone fuse.s3fs fuse.sshfs gpfs \
                           lustre ncpfs nfs nfs4 orangefs pvfs2 smb3 smbfs wekafs";
    const LOCAL_FUSE: [&str; 5] =
        ["fuse.exfat", "fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.mergerfs", "fuse.ntfs-3g"];
    if NETWORK.split(' ').any(|known| known == kind) {
        Some(true)
    } else if (kind == "fuse" || kind.starts_with("fuse.")) && !LOCAL_FUSE.contains(&kind) {
        None
    } else {
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
24 1 8:2 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
30 24 0:27 / /dev/shm rw,nosuid shared:4 master:2 - tmpfs tmpfs rw,size=1024k
41 24 0:38 /home /home rw,noatime - btrfs /dev/sda3 rw,space_cache=v2,subvolid=256,subvol=/home
42 24 0:38 /snap /home/my\\040old\\011files rw - btrfs /dev/sda3 rw,subvol=/snap
50 24 0:51 / /merged rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/with\\054comma,workdir=/w
51 24 8:2 /srv/data /data ro,relatime - ext4 /dev/root rw
52 24 8:2 /srv/other /data rw - ext4 /dev/root rw
60 24 0:60 / /empty rw -  - 
61 24 0:61 / /nothing rw - tmpfs  rw
not a line
";

    fn at(id: Option<u64>, device: (u32, u32), path: &str) -> Option<u64> {
        holding(&parse(TABLE), id, device.into(), Path::new(path)).map(|mount| mount.id)
    }

    #[test]
    fn reads_fields_optional_fields_and_escapes() {
        let mounts = parse(TABLE);
        let shm = mounts.iter().find(|mount| mount.id == 30).unwrap();
        assert_eq!(shm.kind, "tmpfs");
        assert_eq!(shm.device, DeviceNumber::from((0, 27)));
        assert_eq!(shm.options, ["rw", "nosuid"]);
        assert_eq!(shm.super_options, ["rw", "size=1024k"]);
        let snap = mounts.iter().find(|mount| mount.id == 42).unwrap();
        assert_eq!(snap.point, Path::new("/home/my old\tfiles"));
        assert_eq!(snap.root, Path::new("/snap"));
        let overlay = mounts.iter().find(|mount| mount.id == 50).unwrap();
        assert_eq!(overlay.super_options[2], "upperdir=/with,comma");
        let nothing = mounts.iter().find(|mount| mount.id == 61).unwrap();
        assert_eq!((nothing.kind.as_str(), nothing.source.as_str()), ("tmpfs", ""));
        assert_eq!(mounts.len(), 9);
    }

    #[test]
    fn text_that_is_not_an_escape_is_kept_and_only_bare_commas_cut() {
        assert_eq!(unescape(b"a\\134b\\9c\\777\\04"), b"a\\b\\9c\\777\\04");
        assert_eq!(options(b"upperdir=/x\\134\\054y\\134,rw"), ["upperdir=/x\\,y\\", "rw"]);
        assert_eq!(options(b""), Vec::<String>::new());
    }

    #[test]
    fn the_kernels_number_decides() {
        assert_eq!(at(Some(51), (8, 2), "/data/x"), Some(51));
        assert_eq!(at(Some(999), (0, 12), "/data/x"), None);
    }

    #[test]
    fn without_it_the_longest_mount_point_of_the_device_then_of_all_wins() {
        assert_eq!(at(None, (8, 2), "/etc/fstab"), Some(24));
        assert_eq!(at(None, (8, 2), "/data/x"), Some(52), "the later mount hides the earlier");
        assert_eq!(at(None, (8, 2), "/database"), Some(24), "components, not characters");
        assert_eq!(at(None, (0, 99), "/home/me/x"), Some(41), "a sub-volume's own number");
        assert_eq!(at(None, (0, 99), "/home/my old\tfiles/x"), Some(42));
        assert_eq!(at(None, (0, 99), "/merged/x"), Some(50));
    }

    #[test]
    fn network_local_and_unknown() {
        assert_eq!(is_network("nfs4"), Some(true));
        assert_eq!(is_network("fuse.sshfs"), Some(true));
        assert_eq!(is_network("fuse.something"), None);
        assert_eq!(is_network("fuse"), None);
        assert_eq!(is_network("fuseblk"), Some(false));
        assert_eq!(is_network("ext4"), Some(false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_and_numbers_agree_on_every_mount_here() {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mut seen = 0;
        for line in mounts.lines() {
            let mut words = line.split(' ').skip(1);
            let (place, kind) = (words.next().unwrap(), words.next().unwrap());
            // Access to such a mount may wait for a server.
            if kind == "autofs" || is_network(kind) != Some(false) {
                continue;
            }
            if let Ok(found) = sys::file_system_kind_of(place) {
                // `statfs` reports the topmost mount, which is the last line of its mount point.
                let last = mounts.lines().rfind(|line| line.split(' ').nth(1) == Some(place));
                if last == Some(line) {
                    assert_eq!(found.is_off_device(), FileSystemKind::named(kind).is_off_device(), "{line}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 1, "{mounts}");
    }
}
