//! File system and devices of a path on systems whose calls report them.

use std::path::Path;

use super::device::{Device, Partition};
use super::error::Unknown;
use super::file_system::FileSystemFacts;
use super::queue::Queue;
use crate::sys::{self, Disk, Space, Volume};

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
    let Disk { model, serial, bus, size, read_only, seek_penalty, trim, sectors, .. } = disk;
    let Disk { write_cache, write_through, max_request, .. } = disk;
    let missing = [
        ("model", model.is_none()),
        ("serial number", serial.is_none()),
        ("bus", bus.is_none()),
        ("size", size.is_none()),
        ("protection against writing", read_only.is_none()),
        ("rotation", seek_penalty.is_none()),
        ("discard", trim.is_none()),
        ("sectors", sectors.is_none()),
        ("write cache", write_cache.is_none()),
        ("forced unit access", write_through.is_none()),
        ("largest request", max_request.is_none()),
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
        _ => match sys::disks(path) {
            Ok(disks) => {
                unknown.extend(disks.iter().filter_map(unreported));
                Ok(disks.into_iter().map(Device::from).collect())
            }
            Err(error) => Err(format!("the volume {} does not report its disks: {error}", volume.source)),
        },
    }
}

#[cfg(test)]
mod tests {
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
