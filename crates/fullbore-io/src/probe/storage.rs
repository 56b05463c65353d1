//! From the file system of a path to the devices that hold it: by Linux's files, or by the volume of systems with calls for
//! these facts.

use std::path::{Path, PathBuf};

use super::device::{self, Device, DeviceNumber, Partition};
use super::kernel_files::{KernelFiles, names};
use super::mounts::{self, FileSystemFacts, Mount, is_network};
use super::queue::Queue;
use super::unknown::Unknown;
use crate::sys::{self, Disk, FileSystemKind, Space, Volume};

/// Maximum depth of nested overlays to follow.
const DEEPEST: usize = 8;

pub(crate) struct Storage<'a> {
    pub(crate) kernel: &'a KernelFiles,
    pub(crate) mounts: &'a [Mount],
}

impl Storage<'_> {
    /// Returns the devices under a mount, or the reason for their absence. `own` is the device number of the path itself.
    pub(crate) fn under(
        &self,
        mount: &Mount,
        own: DeviceNumber,
        level: usize,
    ) -> Result<Vec<Device>, String> {
        if level > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of nested file systems"));
        }
        match mount.kind.as_str() {
            "btrfs" => return self.of_btrfs(mount, level),
            "overlay" => return self.of_layers(mount, level),
            _ => {}
        }
        if let Some(number) = [own, mount.device].into_iter().find(|number| number.major != 0) {
            return Ok(vec![self.device(number, level)?]);
        }
        if mount.source.starts_with("/dev/") {
            // Several devices are separated by colons.
            return mount.source.split(':').map(|name| self.device(special(name)?, level)).collect();
        }
        Err(why_none(mount))
    }

    pub(crate) fn device(&self, number: DeviceNumber, level: usize) -> Result<Device, String> {
        device::of_number(self.kernel, number, &|file, level| self.under_path(file, level), level)
    }

    fn under_path(&self, path: &Path, level: usize) -> Result<Vec<Device>, String> {
        let status = sys::extended_stat(path)
            .map_err(|error| format!("{} is not accessible: {error}", path.display()))?;
        let own = status.device.into();
        let mount = mounts::holding(self.mounts, status.mount, own, path)
            .ok_or_else(|| format!("{} is in no mount of this process", path.display()))?;
        self.under(mount, own, level)
    }

    /// A btrfs has no device number of its own: `/sys/fs/btrfs/<uuid>/devices` lists the members, of which the mount table names
    /// one.
    fn of_btrfs(&self, mount: &Mount, level: usize) -> Result<Vec<Device>, String> {
        let folder = self.kernel.sys.join("fs/btrfs");
        let source = Path::new(&mount.source);
        let real = self.kernel.rooted(source).canonicalize();
        let name = real.as_deref().unwrap_or(source).file_name().unwrap_or_default().to_owned();
        for uuid in names(&folder) {
            let members = folder.join(uuid).join("devices");
            let listed = names(&members);
            if listed.contains(&name) {
                return listed
                    .iter()
                    .map(|member| {
                        let file = members.join(member).join("dev");
                        let number = super::kernel_files::text(&file)
                            .ok_or_else(|| format!("{} cannot be read", file.display()))?;
                        self.device(number.parse()?, level)
                    })
                    .collect();
            }
        }
        Err(format!("no btrfs in {} lists the device {}", folder.display(), mount.source))
    }

    /// The bytes of an overlay are in its layers: new and changed files in the upper one.
    fn of_layers(&self, mount: &Mount, level: usize) -> Result<Vec<Device>, String> {
        let mut devices: Vec<Device> = Vec::new();
        let mut reason = None;
        for layer in layers(&mount.super_options) {
            // The mount table keeps the arguments of the mount command, but not its working directory.
            let found = if layer.is_absolute() {
                self.under_path(&layer, level + 1)
            } else {
                Err(format!("{} is relative to an unknown directory", layer.display()))
            };
            match found {
                Ok(found) => {
                    for device in found {
                        if !devices.iter().any(|known| {
                            (known.number, &known.partition) == (device.number, &device.partition)
                        }) {
                            devices.push(device);
                        }
                    }
                }
                Err(why) => reason = Some(why),
            }
        }
        if devices.is_empty() {
            let why = reason.unwrap_or_else(|| "the mount table names none".to_owned());
            return Err(format!("an overlay is stored in its layers: {why}"));
        }
        Ok(devices)
    }
}

/// Returns the directories of an overlay, the writable one first.
fn layers(options: &[String]) -> Vec<PathBuf> {
    let value = |name: &str| {
        options
            .iter()
            .filter_map(move |option| option.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut folders = value("upperdir");
    for name in ["lowerdir", "lowerdir+", "datadir+"] {
        for list in value(name) {
            folders.extend(split_colons(&list));
        }
    }
    folders.into_iter().map(PathBuf::from).collect()
}

/// Splits at colons that are not escaped by a backslash; two in a row only mark data layers.
fn split_colons(list: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => part.extend(characters.next()),
            ':' => parts.push(std::mem::take(&mut part)),
            other => part.push(other),
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn special(name: &str) -> Result<DeviceNumber, String> {
    let status =
        sys::extended_stat(Path::new(name)).map_err(|error| format!("{name}: cannot stat: {error}"))?;
    Ok(status.special.into())
}

fn why_none(mount: &Mount) -> String {
    let kind = &mount.kind;
    let known = FileSystemKind::named(kind);
    if known.is_in_memory() {
        format!("{kind} keeps its files in memory, on no device")
    } else if known.is_off_device() {
        format!("the kernel generates the files of {kind} when they are read; they are on no device")
    } else if is_network(kind) == Some(true) {
        format!("{kind} reads its files over a network from {}", mount.source)
    } else if kind.starts_with("fuse") {
        format!("the files of {kind} come from a program; their storage is unknown")
    } else if matches!(kind.as_str(), "9p" | "virtiofs") {
        format!("{kind} reads its files from the host of this virtual machine")
    } else {
        format!("{kind} does not report its devices (source {:?})", mount.source)
    }
}

/// `FILE_DEVICE_DISK`: the number of the driver of disks.
const DISK: u32 = 7;

impl FileSystemFacts {
    pub(crate) fn on(volume: &Volume, room: &Space) -> Self {
        Self {
            kind: volume.kind.clone(),
            mount_point: volume.point.to_string_lossy().into_owned(),
            root: "/".to_owned(),
            source: volume.source.clone(),
            mount_options: vec![if volume.read_only { "read-only" } else { "read-write" }.to_owned()],
            super_options: volume.features.iter().map(|&feature| feature.to_owned()).collect(),
            total: room.total,
            free: room.free,
            available: room.available,
            block_size: volume.cluster,
            id: (room.id != 0).then(|| format!("{:x}", room.id)),
            network: volume.network,
            in_memory: volume.in_memory,
        }
    }
}

impl From<Disk> for Device {
    fn from(disk: Disk) -> Self {
        let queue = Queue {
            rotational: disk.seek_penalty,
            max_request: disk.max_request,
            logical_block: disk.sectors.map(|(logical, _)| logical),
            physical_block: disk.sectors.map(|(_, physical)| physical),
            write_cache: disk
                .write_cache
                .map(|on| if on { "write back" } else { "write through" }.to_owned()),
            forced_unit_access: disk.write_through,
            discard: disk.trim,
            ..Queue::default()
        };
        let name = name(&disk);
        Self {
            number: (DISK, disk.number).into(),
            partition: disk.partition.map(|number| Partition {
                name: format!("partition {number} of {name}"),
                number: (disk.number, number).into(),
                start: disk.extent.map(|(start, _)| start),
                size: disk.extent.map(|(_, size)| size),
            }),
            model: disk.model,
            serial: disk.serial,
            transport: disk.bus.map(str::to_owned),
            size: disk.size,
            read_only: disk.read_only,
            queue,
            name,
            ..Self::default()
        }
    }
}

fn unreported(disk: &Disk) -> Option<Unknown> {
    let missing = [
        ("model", disk.model.is_none()),
        ("serial number", disk.serial.is_none()),
        ("bus", disk.bus.is_none()),
        ("size", disk.size.is_none()),
        ("protection against writing", disk.read_only.is_none()),
        ("rotation", disk.seek_penalty.is_none()),
        ("discard", disk.trim.is_none()),
        ("sectors", disk.sectors.is_none()),
        ("write cache", disk.write_cache.is_none()),
        ("forced unit access", disk.write_through.is_none()),
        ("largest request", disk.max_request.is_none()),
    ];
    let names: Vec<&str> =
        missing.into_iter().filter(|(_, missing)| *missing).map(|(name, _)| name).collect();
    let reason = format!("its drivers do not report: {}", names.join(", "));
    (!names.is_empty()).then(|| Unknown { fact: name(disk), reason })
}

fn name(disk: &Disk) -> String {
    format!("PhysicalDrive{}", disk.number)
}

/// The devices under a path, and an entry for what they do not report; the error is the reason for their absence, as text.
pub(crate) fn devices(
    path: &Path,
    volume: &Volume,
    unknown: &mut Vec<Unknown>,
) -> Result<Vec<Device>, String> {
    match (volume.network, volume.in_memory) {
        (Some(true), _) => Err(format!("{} reads its files over a network", volume.point.display())),
        (_, true) => Err(format!("{} keeps its files in memory, on no device", volume.point.display())),
        _ => disks(path, unknown)
            .map_err(|error| format!("the volume {} does not report its disks: {error}", volume.source)),
    }
}

/// The disks of a volume, or of a path that names a device.
pub(crate) fn disks(path: &Path, unknown: &mut Vec<Unknown>) -> sys::Result<Vec<Device>> {
    let disks = sys::disks(path)?;
    unknown.extend(disks.iter().filter_map(unreported));
    Ok(disks.into_iter().map(Device::from).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::kernel_files::put;
    use super::*;

    #[test]
    fn layers_are_cut_at_bare_colons_upper_first() {
        let options: Vec<String> =
            ["rw", "lowerdir=/a:/b\\:c::/d", "upperdir=/u", "workdir=/w", "lowerdir+=/e"]
                .map(str::to_owned)
                .into();
        let folders: Vec<_> = layers(&options).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(folders, ["/u", "/a", "/b:c", "/d", "/e"]);
    }

    #[test]
    fn relative_layers_of_an_overlay_are_not_guessed() {
        let mounts = mounts::parse(b"1 0 0:51 / /m rw - overlay overlay rw,lowerdir=src:.,upperdir=src\n");
        let kernel = KernelFiles::running();
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let reason = storage.under(&mounts[0], mounts[0].device, 0).unwrap_err();
        assert!(reason.contains("relative"), "{reason}");
    }

    #[test]
    fn a_btrfs_lists_all_its_members() {
        let (root, kernel) = KernelFiles::tree(&[]);
        let at = root.path();
        for (name, number, uuid) in [("sda", "8:0", "1111"), ("sdb", "8:16", "2222"), ("sdc", "8:32", "2222")]
        {
            let folder = format!("-> /sys/devices/block/{name}");
            put(at, &format!("sys/devices/block/{name}/dev"), &format!("{number}\n"));
            put(at, &format!("sys/dev/block/{number}"), &folder);
            put(at, &format!("sys/fs/btrfs/{uuid}/devices/{name}"), &folder);
        }
        put(at, "sys/fs/btrfs/features/raid1c34", "0\n");
        // A device-mapper name leads to the member through its link.
        put(at, "dev/sdb", "");
        put(at, "dev/mapper/pool", "-> /dev/sdb");

        let mounts = mounts::parse(
            b"1 0 0:40 /home /home rw - btrfs /dev/mapper/pool rw\n2 0 0:41 / /x rw - btrfs /dev/sdz rw\n",
        );
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let devices = storage.under(&mounts[0], (0, 77).into(), 0).unwrap();
        let found: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(found, ["sdb", "sdc"]);
        let reason = storage.under(&mounts[1], (0, 78).into(), 0).unwrap_err();
        assert!(reason.contains("/dev/sdz"), "{reason}");
    }

    #[test]
    fn no_device_has_a_reason() {
        let mounts = mounts::parse(
            b"1 0 0:40 / /shm rw - tmpfs tmpfs rw\n2 0 0:41 / /n rw - nfs4 server:/x rw\n3 0 0:42 / /p rw - proc proc rw\n",
        );
        let kernel = KernelFiles::running();
        let storage = Storage { kernel: &kernel, mounts: &mounts };
        let reason = |index: usize| storage.under(&mounts[index], mounts[index].device, 0).unwrap_err();
        assert!(reason(0).contains("memory"));
        assert!(reason(1).contains("server:/x"));
        assert!(reason(2).contains("kernel"));
    }
}

#[cfg(test)]
mod volume_tests {
    use super::*;

    #[test]
    fn a_disk_becomes_a_device_and_unknown_facts_stay_unknown() {
        let disk = Disk {
            number: 1,
            partition: Some(2),
            extent: Some((1 << 20, 1 << 30)),
            model: Some("Quick Disk".to_owned()),
            bus: Some("nvme"),
            seek_penalty: Some(false),
            sectors: Some((512, 4096)),
            write_cache: Some(true),
            ..Disk::default()
        };
        let unknown = unreported(&disk).unwrap();
        assert_eq!(unknown.fact, "PhysicalDrive1");
        assert!(unknown.reason.contains("serial number") && !unknown.reason.contains("model"), "{unknown:?}");
        let device = Device::from(disk);
        assert_eq!((device.name.as_str(), device.number.to_string()), ("PhysicalDrive1", "7:1".to_owned()));
        let partition = device.partition.unwrap();
        assert_eq!((partition.start, partition.size), (Some(1 << 20), Some(1 << 30)));
        let queue = device.queue;
        assert_eq!((queue.rotational, queue.write_cache.as_deref()), (Some(false), Some("write back")));
        assert_eq!((queue.logical_block, queue.physical_block), (Some(512), Some(4096)));
        assert_eq!((device.serial, queue.discard, queue.forced_unit_access), (None, None, None));
    }

    #[test]
    fn a_volume_on_a_network_has_no_devices_and_says_so() {
        let volume = Volume {
            point: r"\\server\share".into(),
            kind: "NTFS".to_owned(),
            source: r"\\server\share".to_owned(),
            read_only: true,
            features: vec!["sparse files"],
            cluster: 65_536,
            network: Some(true),
            in_memory: false,
        };
        assert!(devices(Path::new("."), &volume, &mut Vec::new()).unwrap_err().contains("over a network"));
        let room = Space { id: 0xabcd, block: 4096, unit: 4096, total: 100, free: 50, available: 40 };
        let found = FileSystemFacts::on(&volume, &room);
        assert_eq!((found.kind.as_str(), found.block_size), ("NTFS", 65_536));
        assert_eq!((found.id.as_deref(), found.mount_options), (Some("abcd"), vec!["read-only".to_owned()]));
        assert_eq!((found.total, found.available, found.network), (100, 40, Some(true)));
    }

    #[cfg(windows)]
    #[test]
    fn the_volume_of_a_path_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let facts = super::super::facts(directory.path()).unwrap();
        let found = facts.file_system.as_ref().unwrap();
        assert!(!found.kind.is_empty() && found.total > 0 && found.block_size.is_power_of_two(), "{found:?}");
        let unknown = |fact: &str| facts.unknown.iter().any(|unknown| unknown.fact == fact);
        assert!(unknown("devices") == facts.devices.is_empty(), "{:?}", facts.unknown);
        assert!(!unknown("mount table") && !unknown("file_system"), "{:?}", facts.unknown);
    }
}
