//! Devices and their underlying devices, from `/sys/dev/block`: including partitions, loop devices, dm and md.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::kernel_files::{KernelFiles, folders_above, names, text};
use super::queue::{self, Link, Queue};

/// The major and minor number of a device, written `254:0`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "String", try_from = "String")
)]
pub struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

impl From<(u32, u32)> for DeviceNumber {
    fn from((major, minor): (u32, u32)) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl From<DeviceNumber> for String {
    fn from(number: DeviceNumber) -> Self {
        number.to_string()
    }
}

impl FromStr for DeviceNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a device number: write MAJOR:MINOR, such as 8:16");
        let (major, minor) = text.split_once(':').ok_or_else(wrong)?;
        Ok(Self { major: major.parse().map_err(|_| wrong())?, minor: minor.parse().map_err(|_| wrong())? })
    }
}

impl TryFrom<String> for DeviceNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Maximum depth of a stack of devices; a deeper one is considered an error.
const DEEPEST: usize = 8;

/// A disk or a virtual device. `None` means that the system does not report the fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Device {
    /// The kernel's name, without `/dev/`.
    pub name: String,
    /// Number of the whole disk, even if the file system is in a partition.
    pub number: DeviceNumber,
    pub partition: Option<Partition>,
    pub model: Option<String>,
    /// The maker's serial number; often readable by root only, and empty for virtual disks.
    pub serial: Option<String>,
    /// Transport: `nvme/pcie`, `virtio`, `sata`, `usb`, `loop`, `dm`, `md` …
    pub transport: Option<String>,
    pub link: Option<Link>,
    /// Kind of a composed device: the dm name, or the md level.
    pub composition: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    pub read_only: Option<bool>,
    pub queue: Queue,
    /// Maximum number of requests that the device accepts at a time (multi-queue devices: per hardware queue).
    pub queue_depth: Option<u64>,
    pub hardware_queues: Option<u64>,
    pub numa_node: Option<u32>,
    /// The file of a loop device.
    pub backing_file: Option<String>,
    /// Underlying devices: the members of a dm or md device, the disk under a loop device's file.
    #[cfg_attr(feature = "serde", serde(alias = "stands_on"))]
    pub backed_by: Vec<Device>,
    /// Reason if `backed_by` is unknown although it should not be.
    #[cfg_attr(feature = "serde", serde(alias = "stands_on_unknown"))]
    pub backed_by_unknown: Option<String>,
}

/// Models of the disks that hypervisors emulate.
const EMULATED: [&str; 4] = ["Virtual disk", "Virtual Disk", "QEMU HARDDISK", "VBOX HARDDISK"];

impl Device {
    /// True if the device, or one that it is backed by, is a rotational disk. What a virtual disk reports is ignored:
    /// many report wrongly that they are rotational.
    pub(crate) fn is_rotational(&self) -> bool {
        match &*self.backed_by {
            [] => self.queue.rotational == Some(true) && !self.is_virtual(),
            members => members.iter().any(Self::is_rotational),
        }
    }

    /// True if software implements the device.
    fn is_virtual(&self) -> bool {
        let emulated = |model: &String| EMULATED.iter().any(|one| model.contains(one));
        self.transport.as_deref().is_some_and(|transport| {
            HYPERVISORS.contains(&transport) || BY_NAME.iter().any(|(_, kind)| *kind == transport)
        }) || self.model.as_ref().is_some_and(emulated)
    }
}

/// Transports of the disks of hypervisors, below which this machine has no other device.
const HYPERVISORS: [&str; 3] = ["virtio", "xen", "hyper-v"];

/// True if the queue of a device's disk, or the path to it, shows that it is not rotational. Sends no request to the disk.
pub(crate) fn is_known_to_be_random_access(kernel: &KernelFiles, number: DeviceNumber) -> bool {
    let link = kernel.sys.join("dev/block").join(number.to_string());
    let Ok(mut disk) = link.canonicalize() else { return false };
    if disk.join("partition").exists() {
        disk.pop();
    }
    let transport = transport(&disk, &name_of(&disk));
    text(&disk.join("queue/rotational")).as_deref() == Some("0")
        || transport.is_some_and(|transport| HYPERVISORS.contains(&&*transport))
}

/// Returns the disks that devices are on, each once: the devices, or those that they are backed by.
pub fn disks(devices: &[Device]) -> Vec<&Device> {
    let mut found: Vec<&Device> = Vec::new();
    for device in devices {
        let below = if device.backed_by.is_empty() { vec![device] } else { disks(&device.backed_by) };
        for disk in below {
            if found.iter().all(|known| known.number != disk.number) {
                found.push(disk);
            }
        }
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Partition {
    pub name: String,
    pub number: DeviceNumber,
    /// Start on the disk in bytes.
    pub start: Option<u64>,
    /// Size in bytes.
    pub size: Option<u64>,
}

/// Returns the devices under a file of the host, for loop devices: implemented by a caller with the mount table.
pub(crate) type UnderFile<'a> = &'a dyn Fn(&Path, usize) -> Result<Vec<Device>, String>;

/// Returns the device of a number, with all underlying devices. The error is a reason as text.
pub(crate) fn of_number(
    kernel: &KernelFiles,
    number: DeviceNumber,
    under_file: UnderFile<'_>,
    level: usize,
) -> Result<Device, String> {
    let link = kernel.sys.join("dev/block").join(number.to_string());
    let folder = link
        .canonicalize()
        .map_err(|error| format!("the system has no block device {number} ({}: {error})", link.display()))?;
    of_folder(kernel, &folder, under_file, level)
}

fn of_folder(
    kernel: &KernelFiles,
    folder: &Path,
    under_file: UnderFile<'_>,
    level: usize,
) -> Result<Device, String> {
    if level > DEEPEST {
        return Err(format!("more than {DEEPEST} levels of underlying devices"));
    }
    let is_partition = folder.join("partition").exists();
    let disk = match folder.parent() {
        Some(parent) if is_partition => parent,
        _ => folder,
    };
    let number = number_of(disk)?;
    let partition = if is_partition {
        Some(Partition {
            name: name_of(folder),
            number: number_of(folder)?,
            start: sectors(folder, "start"),
            size: sectors(folder, "size"),
        })
    } else {
        None
    };
    let name = name_of(disk);
    let backing = text(&disk.join("loop/backing_file"));
    let (backed_by, backed_by_unknown) = below(kernel, disk, backing.as_deref(), under_file, level);
    Ok(Device {
        number,
        partition,
        model: text(&disk.join("device/model")),
        serial: serial(disk),
        transport: transport(disk, &name),
        link: queue::link_of_folder(disk, &kernel.sys),
        composition: text(&disk.join("dm/name")).or_else(|| text(&disk.join("md/level"))),
        size: sectors(disk, "size"),
        read_only: text(&disk.join("ro")).map(|flag| flag != "0"),
        queue: Queue::read(|setting| text(&disk.join("queue").join(setting))),
        queue_depth: text(&disk.join("device/queue_depth"))
            .or_else(|| text(&disk.join("mq/0/nr_tags")))
            .and_then(|count| count.parse().ok()),
        hardware_queues: Some(names(&disk.join("mq")).len() as u64).filter(|count| *count > 0),
        numa_node: numa_node(disk, &kernel.sys),
        backing_file: backing,
        backed_by,
        backed_by_unknown,
        name,
    })
}

fn below(
    kernel: &KernelFiles,
    disk: &Path,
    backing: Option<&str>,
    under_file: UnderFile<'_>,
    level: usize,
) -> (Vec<Device>, Option<String>) {
    if let Some(file) = backing {
        return match under_file(Path::new(file), level + 1) {
            Ok(devices) => (devices, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
    }
    let mut devices = Vec::new();
    let mut unknown = None;
    let slaves = disk.join("slaves");
    for name in names(&slaves) {
        let found = slaves
            .join(&name)
            .canonicalize()
            .map_err(|error| format!("{}: {error}", name.display()))
            .and_then(|folder| of_folder(kernel, &folder, under_file, level + 1));
        match found {
            Ok(device) => devices.push(device),
            Err(reason) => unknown = Some(reason),
        }
    }
    (devices, unknown)
}

fn number_of(folder: &Path) -> Result<DeviceNumber, String> {
    let file = folder.join("dev");
    text(&file).ok_or_else(|| format!("{} cannot be read", file.display()))?.parse()
}

/// The kernel writes `!` in a directory's name for `/` in the device's.
fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().replace('!', "/")).unwrap_or_default()
}

/// Sysfs counts in sectors of 512 bytes for every device.
fn sectors(folder: &Path, name: &str) -> Option<u64> {
    text(&folder.join(name))?.parse::<u64>().ok()?.checked_mul(512)
}

fn serial(disk: &Path) -> Option<String> {
    let plain = [disk.join("device/serial"), disk.join("serial")].iter().find_map(|file| text(file));
    plain.or_else(|| vital_product_serial(&std::fs::read(disk.join("device/vpd_pg80")).ok()?))
}

/// Parses the serial number in SCSI's page 80: four bytes of header, the last two its length, then the text.
fn vital_product_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = String::from_utf8_lossy(page.get(4..)?.get(..length)?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Transports of devices that software implements, by the start of their names.
const BY_NAME: [(&str, &str); 9] = [
    ("loop", "loop"),
    ("zram", "zram (compressed memory)"),
    ("ram", "memory"),
    ("dm-", "dm"),
    ("md", "md"),
    ("nbd", "nbd (network)"),
    ("rbd", "rbd (network)"),
    ("drbd", "drbd (network)"),
    ("bcache", "bcache"),
];

/// Determines the transport of a disk from its name and from the buses on its path from the root of the machine.
fn transport(disk: &Path, name: &str) -> Option<String> {
    if let Some((_, word)) = BY_NAME.iter().find(|(start, _)| name.starts_with(start)) {
        return Some((*word).to_owned());
    }
    if name.starts_with("nvme") {
        let way = text(&disk.join("device/transport"));
        return Some(way.map_or_else(|| "nvme".to_owned(), |way| format!("nvme/{way}")));
    }
    let parts: Vec<_> = disk.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let passes = |start: &str| {
        parts.iter().any(|part| {
            part.strip_prefix(start)
                .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
        })
    };
    let way = [
        ("usb", "usb"),
        ("ata", "sata"),
        ("session", "iscsi"),
        ("end_device-", "sas"),
        ("rport-", "fibre channel"),
        ("mmc", "mmc"),
        ("virtio", "virtio"),
        ("vbd-", "xen"),
        ("VMBUS:", "hyper-v"),
        ("vmbus_", "hyper-v"),
    ];
    if let Some((_, word)) = way.iter().find(|(start, _)| passes(start)) {
        return Some((*word).to_owned());
    }
    passes("target").then(|| "scsi".to_owned())
}

/// Returns the nearest NUMA node on the path up from the disk; -1 means none.
fn numa_node(disk: &Path, sys: &Path) -> Option<u32> {
    folders_above(disk, sys).iter().find_map(|folder| text(&folder.join("numa_node")))?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::kernel_files::put;
    use super::*;

    /// A machine with an NVMe disk with a partition, under a dm device; and a loop device.
    fn machine() -> (tempfile::TempDir, KernelFiles) {
        let (root, kernel) = KernelFiles::tree(&[]);
        let at = root.path();
        let disk = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        put(at, "sys/devices/pci0000:00/0000:01:00.0/numa_node", "1\n");
        put(at, "sys/devices/pci0000:00/0000:01:00.0/current_link_speed", "16.0 GT/s PCIe\n");
        put(at, "sys/devices/pci0000:00/0000:01:00.0/current_link_width", "4\n");
        put(at, &format!("{disk}/dev"), "259:0\n");
        put(at, &format!("{disk}/size"), "2000\n");
        put(at, &format!("{disk}/queue/scheduler"), "[none] mq-deadline\n");
        put(at, &format!("{disk}/mq/0/nr_tags"), "1023\n");
        put(at, &format!("{disk}/mq/1/nr_tags"), "1023\n");
        put(at, "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/model", "Quick Disk 1TB     \n");
        put(at, "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/serial", "S123\n");
        put(at, "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/transport", "pcie\n");
        put(at, &format!("{disk}/device"), "-> ../../nvme0");
        put(at, &format!("{disk}/nvme0n1p2/dev"), "259:2\n");
        put(at, &format!("{disk}/nvme0n1p2/partition"), "2\n");
        put(at, &format!("{disk}/nvme0n1p2/start"), "100\n");
        put(at, &format!("{disk}/nvme0n1p2/size"), "1900\n");
        put(at, "sys/devices/virtual/block/dm-0/dev", "253:0\n");
        put(at, "sys/devices/virtual/block/dm-0/dm/name", "vg-home\n");
        let member = format!("-> /{disk}/nvme0n1p2");
        put(at, "sys/devices/virtual/block/dm-0/slaves/nvme0n1p2", &member);
        put(at, "sys/devices/virtual/block/loop3/dev", "7:3\n");
        put(at, "sys/devices/virtual/block/loop3/loop/backing_file", "/images/disk one.img\n");
        put(at, "sys/dev/block/259:0", &format!("-> /{disk}"));
        put(at, "sys/dev/block/259:2", &member);
        put(at, "sys/dev/block/253:0", "-> /sys/devices/virtual/block/dm-0");
        put(at, "sys/dev/block/7:3", "-> /sys/devices/virtual/block/loop3");
        (root, kernel)
    }

    #[test]
    fn parses_its_display_form_and_rejects_others() {
        let number: DeviceNumber = "254:3".parse().unwrap();
        assert_eq!(number, DeviceNumber::from((254, 3)));
        assert_eq!(number.to_string(), "254:3");
        for wrong in ["", "254", "a:b", "1:2:3", "-1:0"] {
            assert!(wrong.parse::<DeviceNumber>().is_err(), "{wrong:?}");
        }
    }

    fn no_file(_: &Path, _: usize) -> Result<Vec<Device>, String> {
        Err("no mount table".to_owned())
    }

    #[test]
    fn a_partition_leads_to_its_disk() {
        let (_root, kernel) = machine();
        let device = of_number(&kernel, (259, 2).into(), &no_file, 0).unwrap();
        assert_eq!(device.name, "nvme0n1");
        assert_eq!(device.number, (259, 0).into());
        assert_eq!(device.model.as_deref(), Some("Quick Disk 1TB"));
        assert_eq!(device.serial.as_deref(), Some("S123"));
        assert_eq!(device.transport.as_deref(), Some("nvme/pcie"));
        assert_eq!(device.link.as_ref().map(|link| link.what.as_str()), Some("PCIe 4.0 x4"));
        assert_eq!(device.queue.scheduler.as_deref(), Some("none"));
        assert_eq!((device.queue_depth, device.hardware_queues), (Some(1023), Some(2)));
        assert_eq!(device.numa_node, Some(1));
        assert_eq!(device.size, Some(1_024_000));
        let partition = device.partition.unwrap();
        assert_eq!((partition.name.as_str(), partition.start), ("nvme0n1p2", Some(51_200)));
        assert_eq!(partition.number, (259, 2).into());
    }

    #[test]
    fn a_mapped_device_lists_its_members() {
        let (_root, kernel) = machine();
        let device = of_number(&kernel, (253, 0).into(), &no_file, 0).unwrap();
        assert_eq!((device.name.as_str(), device.composition.as_deref()), ("dm-0", Some("vg-home")));
        assert_eq!(device.backed_by.len(), 1);
        assert_eq!(device.backed_by[0].name, "nvme0n1");
        assert_eq!(device.link, None, "its members have links");
        assert_eq!(device.backed_by_unknown, None);
    }

    #[test]
    fn rotation_is_that_of_the_disks_below_and_not_of_virtual_ones() {
        let (root, kernel) = machine();
        let at = root.path();
        for (minor, disk, model, reported) in [
            (16, "sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "WDC WD40", "1"),
            (32, "sys/devices/pci0/virtio1/block/vda", "", "1"),
            (48, "sys/devices/pci0/host2/target2:0:0/2:0:0:0/block/sdb", "VBOX HARDDISK", "1"),
            (64, "sys/devices/pci0/ata2/host1/target1:0:0/1:0:0:0/block/sdc", "Quick SSD", "0"),
        ] {
            let name = disk.rsplit('/').next().unwrap();
            let mapped = format!("sys/devices/virtual/block/dm-{minor}");
            put(at, &format!("{disk}/device/model"), model);
            put(at, &format!("{mapped}/slaves/{name}"), &format!("-> /{disk}"));
            // The kernel derives the report of a mapped device from its members.
            for (folder, number) in [(disk, format!("8:{minor}")), (&*mapped, format!("253:{minor}"))] {
                put(at, &format!("{folder}/dev"), &number);
                put(at, &format!("{folder}/queue/rotational"), reported);
                put(at, &format!("sys/dev/block/{number}"), &format!("-> /{folder}"));
            }
            for number in [(8, minor), (253, minor)] {
                let device = of_number(&kernel, number.into(), &no_file, 0).unwrap();
                assert_eq!(device.is_rotational(), name == "sda", "{device:?}");
                // Of a mapped device, the queue alone can show it.
                let known = is_known_to_be_random_access(&kernel, number.into());
                assert_eq!(known, name == "sdc" || (name, number.0) == ("vda", 8), "{number:?}");
            }
        }
    }

    #[test]
    fn disks_of_several_devices_are_listed_once() {
        let disk = |minor| Device { number: (8, minor).into(), ..Device::default() };
        let volume = |members| Device { number: (253, 0).into(), backed_by: members, ..Device::default() };
        let devices = [volume(vec![disk(0), disk(16)]), disk(16), disk(32)];
        let found: Vec<u32> = disks(&devices).iter().map(|disk| disk.number.minor).collect();
        assert_eq!(found, [0, 16, 32]);
    }

    #[test]
    fn a_loop_device_resolves_its_file_or_reports_the_reason() {
        let (_root, kernel) = machine();
        let disk = of_number(&kernel, (259, 0).into(), &no_file, 0).unwrap();
        let under = |file: &Path, level: usize| {
            assert_eq!((file, level), (Path::new("/images/disk one.img"), 1));
            Ok(vec![disk.clone()])
        };
        let device = of_number(&kernel, (7, 3).into(), &under, 0).unwrap();
        assert_eq!(device.backing_file.as_deref(), Some("/images/disk one.img"));
        assert_eq!(device.backed_by, std::slice::from_ref(&disk));
        let device = of_number(&kernel, (7, 3).into(), &no_file, 0).unwrap();
        assert_eq!(device.backed_by_unknown.as_deref(), Some("no mount table"));
    }

    #[test]
    fn an_unknown_number_is_a_reason() {
        let (_root, kernel) = machine();
        let reason = of_number(&kernel, (9, 9).into(), &no_file, 0).unwrap_err();
        assert!(reason.contains("9:9"), "{reason}");
    }

    #[test]
    fn transport_is_derived_from_the_path_to_the_disk() {
        let way = |path: &str, name: &str| transport(Path::new(path), name);
        assert_eq!(way("/sys/devices/pci0/ata1/host0/target0:0:0/0:0:0:0/block/sda", "sda").unwrap(), "sata");
        assert_eq!(way("/sys/devices/pci0/usb1/1-2/host6/target6:0:0/block/sdb", "sdb").unwrap(), "usb");
        assert_eq!(way("/sys/devices/pci0/0000:00:02.0/virtio1/block/vda", "vda").unwrap(), "virtio");
        assert_eq!(way("/sys/devices/pci0/host0/target0:2:0/0:2:0:0/block/sda", "sda").unwrap(), "scsi");
        let azure =
            "/sys/devices/LNXSYSTM:00/ACPI0004:00/VMBUS:00/f8b3781b/host1/target1:0:1/1:0:1:0/block/sdb";
        assert_eq!(way(azure, "sdb").unwrap(), "hyper-v");
        assert_eq!(way("/sys/devices/platform/x/block/xda", "xda"), None);
    }

    #[test]
    fn parses_the_serial_of_page_80() {
        assert_eq!(vital_product_serial(b"\0\x80\0\x06  WD12 junk").as_deref(), Some("WD12"));
        assert_eq!(vital_product_serial(b"\0\x80\0\x20short"), None);
        assert_eq!(vital_product_serial(b"\0"), None);
    }
}
