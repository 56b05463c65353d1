//! A device's request queue, `/sys/block/*/queue`, and its link with the nominal rate: PCI Express and SATA, from sysfs.

use std::path::Path;

use super::kernel_files::{folders_above, text};

/// Settings of the kernel's request queue for one device. `None` means that the system does not report the setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Queue {
    /// True if the device reports that it is rotational. Virtual disks often report so wrongly.
    pub rotational: Option<bool>,
    /// The request scheduler in use; `none` is one of them.
    pub scheduler: Option<String>,
    /// Maximum read-ahead in bytes.
    pub read_ahead: Option<u64>,
    /// Maximum size of a request that the kernel sends, in bytes.
    pub max_request: Option<u64>,
    /// Maximum size of a request that the hardware accepts, in bytes.
    pub max_hardware_request: Option<u64>,
    /// Maximum number of requests that the kernel queues (multi-queue devices: per hardware queue).
    pub requests: Option<u64>,
    /// Smallest addressable unit of the device in bytes.
    pub logical_block: Option<u64>,
    /// Smallest unit that the device can write without reading first, in bytes.
    pub physical_block: Option<u64>,
    /// Preferred minimum request of the device in bytes.
    pub minimum_io: Option<u64>,
    /// Preferred request of the device for sustained transfer, in bytes; `None` also if it reports none.
    pub optimal_io: Option<u64>,
    /// `write back` (the device has a cache that must be flushed) or `write through`.
    pub write_cache: Option<String>,
    /// True if single writes can be forced past the device's cache (FUA).
    pub forced_unit_access: Option<bool>,
    /// True if blocks can be discarded (trimmed).
    pub discard: Option<bool>,
    /// Unit of discarding in bytes.
    pub discard_granularity: Option<u64>,
    /// True if pages under writeback must not change (checksums on the path to the device).
    pub stable_writes: Option<bool>,
    /// `none`, or the model of a zoned device.
    pub zoned: Option<String>,
    /// Latency target in microseconds: the kernel throttles buffered writeback so that reads stay below it; 0 is off.
    pub write_back_latency: Option<u64>,
}

impl Queue {
    /// Reads the settings; `setting` returns the text of the file with the given name.
    pub(crate) fn read(setting: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| setting(name)?.trim().parse::<u64>().ok();
        let kibibytes = |name: &str| number(name)?.checked_mul(1024);
        let flag = |name: &str| number(name).map(|value| value != 0);
        let positive = |name: &str| number(name).filter(|value| *value > 0);
        Self {
            rotational: flag("rotational"),
            scheduler: setting("scheduler").and_then(|text| chosen(&text)),
            read_ahead: kibibytes("read_ahead_kb"),
            max_request: kibibytes("max_sectors_kb"),
            max_hardware_request: kibibytes("max_hw_sectors_kb"),
            requests: number("nr_requests"),
            logical_block: positive("logical_block_size"),
            physical_block: positive("physical_block_size"),
            minimum_io: positive("minimum_io_size"),
            optimal_io: positive("optimal_io_size"),
            write_cache: setting("write_cache"),
            forced_unit_access: flag("fua"),
            discard: flag("discard_max_bytes"),
            discard_granularity: positive("discard_granularity"),
            stable_writes: flag("stable_writes"),
            zoned: setting("zoned"),
            write_back_latency: number("wbt_lat_usec"),
        }
    }
}

/// Returns the entry in brackets of a list of choices, or the only entry.
fn chosen(choices: &str) -> Option<String> {
    let mut words = choices.split_whitespace();
    let bracketed =
        words.clone().find_map(|word| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned));
    bracketed.or_else(|| {
        let only = words.next()?;
        words.next().is_none().then(|| only.to_owned())
    })
}

/// A link as negotiated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link {
    /// Kind, generation and width of the link: `PCIe 4.0 x4`, `SATA 6.0 Gbps`.
    pub what: String,
    /// Signalling rate less the line code, in bytes per second, with packet headers included.
    pub rate: u64,
    /// The best link that the device supports, if it is faster.
    pub best: Option<String>,
    /// Folder of the link's port in sysfs, which is the same for all disks on one link.
    #[cfg_attr(feature = "serde", serde(default))]
    pub port: String,
}

/// Returns the nearest link between a disk and the root of the machine. Virtual functions and virtual disks have none.
pub(crate) fn link_of_folder(disk: &Path, sys: &Path) -> Option<Link> {
    folders_above(disk, sys).iter().find_map(|folder| sata(folder).or_else(|| pcie(folder)))
}

/// Returns the link of an ATA port, whose directory is `ata1` with `link1/ata_link/link1/sata_spd` in it.
fn sata(folder: &Path) -> Option<Link> {
    let number = folder.file_name()?.to_str()?.strip_prefix("ata")?.parse::<u32>().ok()?;
    let link = format!("link{number}");
    let speed = text(&folder.join(&link).join("ata_link").join(&link).join("sata_spd"))?;
    let gigabits: f64 = speed.strip_suffix(" Gbps")?.parse().ok()?;
    // Eight bits of data in ten on the wire.
    let rate = (gigabits * 1e9 / 10.0).round() as u64;
    Some(Link { what: format!("SATA {speed}"), rate, best: None, port: port(folder) })
}

fn pcie(folder: &Path) -> Option<Link> {
    let read =
        |speed: &str, width: &str| generation(&text(&folder.join(speed))?, &text(&folder.join(width))?);
    let (what, rate) = read("current_link_speed", "current_link_width")?;
    let best =
        read("max_link_speed", "max_link_width").filter(|(_, most)| *most > rate).map(|(what, _)| what);
    Some(Link { what, rate, best, port: port(folder) })
}

fn port(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}

/// Returns name and bytes per second of a link such as `16.0 GT/s PCIe` and `4`; kernels report `Unknown` and `0` or `63` for none.
fn generation(speed: &str, width: &str) -> Option<(String, u64)> {
    let transfers: f64 = speed.split_once(" GT/s")?.0.trim().parse().ok()?;
    let lanes: u32 = width.parse().ok().filter(|lanes| (1..=32).contains(lanes))?;
    // PCI Express Base Specification: 8b/10b, then 128b/130b, then flits of 256 bytes with 242 of packets.
    let (name, code) = match (transfers * 10.0).round() as u32 {
        25 => ("1.0", 0.8),
        50 => ("2.0", 0.8),
        80 => ("3.0", 128.0 / 130.0),
        160 => ("4.0", 128.0 / 130.0),
        320 => ("5.0", 128.0 / 130.0),
        640 => ("6.0", 242.0 / 256.0),
        _ => return None,
    };
    let rate = transfers * 1e9 / 8.0 * code * f64::from(lanes);
    Some((format!("PCIe {name} x{lanes}"), rate as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> Option<String> {
        let text = match name {
            "rotational" => "0",
            "scheduler" => "none mq-deadline [kyber] bfq",
            "read_ahead_kb" => "128",
            "max_sectors_kb" => "1280",
            "max_hw_sectors_kb" => "2147483647",
            "nr_requests" => "1023",
            "logical_block_size" => "512",
            "physical_block_size" => "4096",
            "optimal_io_size" => "0",
            "write_cache" => "write back",
            "fua" => "1",
            "discard_max_bytes" => "0",
            "minimum_io_size" => "many",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn settings_are_in_bytes_and_unknown_if_absent_or_malformed() {
        let queue = Queue::read(fixture);
        assert_eq!(queue.rotational, Some(false));
        assert_eq!(queue.scheduler.as_deref(), Some("kyber"));
        assert_eq!(queue.read_ahead, Some(128 << 10));
        assert_eq!(queue.max_request, Some(1280 << 10));
        assert_eq!(queue.max_hardware_request, Some(2_147_483_647 * 1024));
        assert_eq!(queue.requests, Some(1023));
        assert_eq!(queue.physical_block, Some(4096));
        assert_eq!(queue.optimal_io, None);
        assert_eq!(queue.write_cache.as_deref(), Some("write back"));
        assert_eq!(queue.forced_unit_access, Some(true));
        assert_eq!(queue.discard, Some(false));
        assert_eq!(queue.minimum_io, None);
        assert_eq!(queue.zoned, None);
    }

    #[test]
    fn the_scheduler_is_the_one_in_brackets_or_alone() {
        assert_eq!(chosen("[none] mq-deadline").as_deref(), Some("none"));
        assert_eq!(chosen("none").as_deref(), Some("none"));
        assert_eq!(chosen("a b"), None);
        assert_eq!(chosen(""), None);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod link_tests {
    use super::super::kernel_files::put;
    use super::*;

    /// Writes a link's speed and width: `kind` is `current` or `max`.
    fn put_link(at: &Path, folder: &str, kind: &str, speed: &str, width: u32) {
        put(at, &format!("{folder}/{kind}_link_speed"), &format!("{speed}\n"));
        put(at, &format!("{folder}/{kind}_link_width"), &format!("{width}\n"));
    }

    #[test]
    fn an_nvme_disk_uses_its_own_pci_link_and_not_that_of_the_bridge() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let bridge = "devices/pci0000:00/0000:00:01.0";
        put_link(at, bridge, "current", "32.0 GT/s PCIe", 16);
        let card = format!("{bridge}/0000:01:00.0");
        put_link(at, &card, "current", "8.0 GT/s PCIe", 4);
        put_link(at, &card, "max", "16.0 GT/s PCIe", 4);
        let disk = at.join(&card).join("nvme/nvme0/nvme0n1");
        put(&disk, "device", "-> ../../nvme0");
        let link = link_of_folder(&disk, at).unwrap();
        assert_eq!((link.what.as_str(), link.best.as_deref()), ("PCIe 3.0 x4", Some("PCIe 4.0 x4")));
        assert_eq!(link.rate, 3_938_461_538);
    }

    #[test]
    fn a_sata_disk_uses_its_port_and_not_the_controller() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        let controller = "devices/pci0000:00/0000:00:1f.2";
        put_link(at, controller, "current", "8.0 GT/s PCIe", 4);
        put(at, &format!("{controller}/ata3/link3/ata_link/link3/sata_spd"), "6.0 Gbps\n");
        let disk = at.join(controller).join("ata3/host2/target2:0:0/2:0:0:0/block/sda");
        put(&disk, "device", "-> ../..");
        let link = link_of_folder(&disk, at).unwrap();
        assert_eq!((link.what.as_str(), link.rate, link.best), ("SATA 6.0 Gbps", 600_000_000, None));
        put(at, &format!("{controller}/ata3/link3/ata_link/link3/sata_spd"), "<unknown>\n");
        // The port reports no speed, but the bytes also pass the controller's link.
        assert_eq!(link_of_folder(&disk, at).unwrap().what, "PCIe 3.0 x4");
    }

    #[test]
    fn a_virtual_disk_has_no_link() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        put_link(at, "devices/pci0000:00/0000:00:02.0", "current", "Unknown", 0);
        let disk = at.join("devices/pci0000:00/0000:00:02.0/virtio1/block/vda");
        put(&disk, "device", "-> ../..");
        assert_eq!(link_of_folder(&disk, at), None);
        // Directories outside the system's tree are ignored.
        put_link(at, ".", "current", "8.0 GT/s PCIe", 4);
        assert_eq!(link_of_folder(&disk, &at.join("devices")), None);
    }

    #[test]
    fn the_rates_are_those_of_the_specifications() {
        let rate = |speed: &str, width: &str| generation(speed, width).map(|(_, rate)| rate / 1_000_000);
        assert_eq!(rate("2.5 GT/s PCIe", "1"), Some(250));
        assert_eq!(rate("5.0 GT/s PCIe", "4"), Some(2000));
        assert_eq!(rate("8 GT/s", "1"), Some(984));
        assert_eq!(rate("16.0 GT/s PCIe", "4"), Some(7876));
        assert_eq!(rate("32.0 GT/s PCIe", "4"), Some(15_753));
        assert_eq!(rate("64.0 GT/s PCIe", "4"), Some(30_250));
        assert_eq!((rate("Unknown", "4"), rate("8.0 GT/s PCIe", "63")), (None, None));
        assert_eq!((rate("99.0 GT/s PCIe", "1"), rate("8.0 GT/s PCIe", "0")), (None, None));
    }
}
