//! Volumes, and the disks under them.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::{Ioctl as io, SystemServices as features};

use super::code::check;
use super::device::{is_device_name, sector};
use super::handle::{AsHandle, BorrowedHandle, Handle, owned, raw};
use super::information::{answer, control, i64_at, u32_at};
use super::path::wide;
use crate::sys::code::{Code, Result};
use crate::sys::types::{Disk, Volume};

/// The call that reports the alignment of direct transfers.
pub(crate) const ALIGNMENT_CALL: &str = "FileStorageInfo";

/// `IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS` of `ntddvol.h`.
const VOLUME_DISK_EXTENTS: u32 = 0x0056_0000;

/// Results of `GetDriveTypeW` (`winbase.h`).
const REMOVABLE: u32 = 2;
const FIXED: u32 = 3;
const REMOTE: u32 = 4;
const CD: u32 = 5;
const MEMORY: u32 = 6;

/// Features that programs can use, by the flag of the file system.
const FEATURES: [(u32, &str); 8] = [
    (features::FILE_SUPPORTS_SPARSE_FILES, "sparse files"),
    (features::FILE_SUPPORTS_BLOCK_REFCOUNTING, "shared blocks"),
    (features::FILE_FILE_COMPRESSION, "compression"),
    (features::FILE_VOLUME_IS_COMPRESSED, "compressed volume"),
    (features::FILE_SUPPORTS_ENCRYPTION, "encryption"),
    (features::FILE_NAMED_STREAMS, "named streams"),
    (features::FILE_SUPPORTS_HARD_LINKS, "hard links"),
    (features::FILE_SUPPORTS_POSIX_UNLINK_RENAME, "POSIX rename"),
];

/// The text before the first zero.
fn text(units: &[u16]) -> OsString {
    OsString::from_wide(&units[..units.iter().position(|&unit| unit == 0).unwrap_or(units.len())])
}

/// The root of the volume of a path, with a backslash and a zero at its end.
fn root_of(path: &Path) -> Result<Vec<u16>> {
    let path = wide(path)?;
    let mut root = vec![0u16; path.len().max(261) + 1];
    // SAFETY: the path ends with a zero; the call writes at most the given number of units, a zero included.
    check(unsafe { fs::GetVolumePathNameW(path.as_ptr(), root.as_mut_ptr(), root.len() as u32) })?;
    Ok(root)
}

/// The unique name of a volume, `\\?\Volume{…}\`; network shares have none.
fn unique_name(root: &[u16]) -> Result<OsString> {
    let mut name = [0u16; 64];
    // SAFETY: the root ends with a zero; the call writes at most the given number of units.
    check(unsafe {
        fs::GetVolumeNameForVolumeMountPointW(root.as_ptr(), name.as_mut_ptr(), name.len() as u32)
    })?;
    Ok(text(&name))
}

fn cluster_of(root: &[u16]) -> Result<u64> {
    let [mut sectors, mut bytes, mut free, mut total] = [0; 4];
    // SAFETY: the root ends with a zero; the call writes the four numbers.
    check(unsafe {
        fs::GetDiskFreeSpaceW(root.as_ptr(), &raw mut sectors, &raw mut bytes, &raw mut free, &raw mut total)
    })?;
    Ok(u64::from(sectors) * u64::from(bytes))
}

/// Bytes of a cluster of the volume of a path.
pub(super) fn cluster(path: &Path) -> Result<u64> {
    cluster_of(&root_of(path)?)
}

/// The type of the file system of an open file, and its flags.
pub(super) fn file_system(file: &impl AsHandle) -> Result<(OsString, u32)> {
    let (mut name, mut flags) = ([0u16; 64], 0);
    let (start, units, none) = (name.as_mut_ptr(), name.len() as u32, std::ptr::null_mut::<u32>());
    // SAFETY: the handle is open; the call writes the flags, and at most the given number of units.
    check(unsafe {
        let file = raw(file) as _;
        fs::GetVolumeInformationByHandleW(file, none.cast(), 0, none, none, &raw mut flags, start, units)
    })?;
    Ok((text(&name), flags))
}

/// True unless the file system of an open file is one without security descriptors. For such a file the system invents one that
/// permits everything to everybody.
pub(super) fn has_descriptors(file: &impl AsHandle) -> bool {
    file_system(file).map_or(true, |(_, flags)| flags & features::FILE_PERSISTENT_ACLS != 0)
}

/// True if files on the volume of an open file can share blocks.
pub(super) fn shares_blocks(file: BorrowedHandle<'_>) -> Result<bool> {
    Ok(file_system(&file)?.1 & features::FILE_SUPPORTS_BLOCK_REFCOUNTING != 0)
}

pub(crate) fn volume(path: &Path) -> Result<Volume> {
    let root = root_of(path)?;
    let (mut kind, mut flags) = ([0u16; 64], 0);
    // SAFETY: the root ends with a zero; the call writes the flags, and at most the given number of units of the name.
    check(unsafe {
        fs::GetVolumeInformationW(
            root.as_ptr(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &raw mut flags,
            kind.as_mut_ptr(),
            kind.len() as u32,
        )
    })?;
    // SAFETY: the root ends with a zero.
    let drive = unsafe { fs::GetDriveTypeW(root.as_ptr()) };
    let shown = text(&root);
    let point = shown.to_string_lossy();
    let point = point.strip_prefix(r"\\?\UNC\").map(|rest| format!(r"\\{rest}")).unwrap_or_else(|| {
        point.strip_prefix(r"\\?\").filter(|rest| !rest.starts_with("Volume")).unwrap_or(&point).to_owned()
    });
    let source =
        unique_name(&root).map_or_else(|_| point.clone(), |name| name.to_string_lossy().into_owned());
    Ok(Volume {
        point: PathBuf::from(point),
        kind: text(&kind).to_string_lossy().into_owned(),
        source,
        read_only: flags & features::FILE_READ_ONLY_VOLUME != 0,
        features: FEATURES.into_iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| name).collect(),
        cluster: cluster_of(&root)?,
        network: match drive {
            REMOTE => Some(true),
            REMOVABLE | FIXED | CD | MEMORY => Some(false),
            _ => None,
        },
        in_memory: drive == MEMORY,
    })
}

/// Opens a device for queries, which need no right to its content.
fn open_device(name: &str) -> Result<Handle> {
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let share = fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE;
    let (security, template) = (std::ptr::null(), std::ptr::null_mut());
    // SAFETY: the name ends with a zero and lives through the call, whose handle nobody else has.
    unsafe { owned(fs::CreateFileW(name.as_ptr(), 0, share, security, fs::OPEN_EXISTING, 0, template)) }
}

fn open_volume(root: &[u16]) -> Result<Handle> {
    let shown = text(root);
    let drive = match shown.to_string_lossy().trim_start_matches(r"\\?\").as_bytes() {
        [letter, b':', b'\\'] => Some(format!(r"\\.\{}:", char::from(*letter))),
        _ => None,
    };
    let by_letter = || open_device(&drive.ok_or(Code::UNSUPPORTED)?);
    match unique_name(root) {
        // With the backslash, the name is that of the root directory.
        Ok(name) => open_device(name.to_string_lossy().trim_end_matches('\\')).or_else(|_| by_letter()),
        Err(_) => by_letter(),
    }
}

/// Bytes of a sector of the volume of a path.
pub(super) fn sector_of_volume(path: &Path) -> Option<u32> {
    sector(&open_volume(&root_of(path).ok()?).ok()?)
}

pub(crate) const REPORTS_DISKS: bool = true;

pub(crate) fn disks(path: &Path) -> Result<Vec<Disk>> {
    let volume = match is_device_name(path.as_os_str()) {
        true => open_device(&path.to_string_lossy())?,
        false => open_volume(&root_of(path)?)?,
    };
    let number = answer(&volume, io::IOCTL_STORAGE_GET_DEVICE_NUMBER, &(), 12)
        .and_then(|(bytes, _)| disk_number(&bytes).ok_or(Code::INVALID));
    let extents = answer(&volume, VOLUME_DISK_EXTENTS, &(), 8 + 24 * 64);
    let found = match (extents.map(|(bytes, _)| disk_extents(&bytes)), number) {
        (Ok(extents), number) if !extents.is_empty() => {
            let partition = number.ok().and_then(|(_, partition)| partition);
            extents.into_iter().map(|(disk, extent)| (disk, partition, Some(extent))).collect()
        }
        (_, number) => {
            let (disk, partition) = number?;
            vec![(disk, partition, None)]
        }
    };
    Ok(found
        .into_iter()
        .map(|(number, partition, extent)| {
            // A volume passes the queries to its disk.
            let opened = open_device(&format!(r"\\.\PhysicalDrive{number}"));
            let device = opened.as_ref().unwrap_or(&volume);
            Disk { number, partition, extent, ..facts_of_disk(device, opened.is_ok()) }
        })
        .collect())
}

fn length_at(bytes: &[u8], at: usize) -> Option<u64> {
    u64::try_from(i64_at(bytes, at)?).ok()
}

fn flag_at(bytes: &[u8], at: usize) -> Option<bool> {
    bytes.get(at).map(|&byte| byte != 0)
}

/// The text at a place that a structure names; 0 names none.
fn text_at(bytes: &[u8], place: Option<u32>) -> Option<String> {
    let place = place.filter(|&place| place != 0 && place != u32::MAX)? as usize;
    let text = bytes.get(place..)?.split(|&byte| byte == 0).next()?;
    let text = String::from_utf8_lossy(text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// `STORAGE_DEVICE_NUMBER`: the disk, and the partition if the volume is in one.
fn disk_number(bytes: &[u8]) -> Option<(u32, Option<u32>)> {
    let (disk, partition) = (u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    Some((disk, Some(partition).filter(|&partition| partition != 0 && partition != u32::MAX)))
}

/// `VOLUME_DISK_EXTENTS`: disks, with start and length of the volume there in bytes.
fn disk_extents(bytes: &[u8]) -> Vec<(u32, (u64, u64))> {
    let count = u32_at(bytes, 0).unwrap_or(0) as usize;
    let extent = |index: usize| {
        let at = 8 + 24 * index;
        Some((u32_at(bytes, at)?, (length_at(bytes, at + 8)?, length_at(bytes, at + 16)?)))
    };
    (0..count).map_while(extent).collect()
}

fn bus(number: i32) -> Option<&'static str> {
    Some(match number {
        fs::BusTypeScsi => "scsi",
        fs::BusTypeAtapi => "atapi",
        fs::BusTypeAta => "ata",
        fs::BusType1394 => "firewire",
        fs::BusTypeSsa => "ssa",
        fs::BusTypeFibre => "fibre channel",
        fs::BusTypeUsb => "usb",
        fs::BusTypeRAID => "raid",
        fs::BusTypeiScsi => "iscsi",
        fs::BusTypeSas => "sas",
        fs::BusTypeSata => "sata",
        fs::BusTypeSd => "sd",
        fs::BusTypeMmc => "mmc",
        fs::BusTypeVirtual => "virtual",
        fs::BusTypeFileBackedVirtual => "virtual (a file)",
        fs::BusTypeSpaces => "storage spaces",
        fs::BusTypeNvme => "nvme",
        fs::BusTypeSCM => "persistent memory",
        fs::BusTypeUfs => "ufs",
        _ => return None,
    })
}

/// `STORAGE_DEVICE_DESCRIPTOR`: model, serial number and bus.
fn descriptor(bytes: &[u8]) -> (Option<String>, Option<String>, Option<&'static str>) {
    let text = |at| text_at(bytes, u32_at(bytes, at));
    let words: Vec<String> = [text(12), text(16)].into_iter().flatten().collect();
    let model = (!words.is_empty()).then(|| words.join(" "));
    (model, text(24), u32_at(bytes, 28).and_then(|number| bus(number as i32)))
}

/// `STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR`: logical and physical sector in bytes.
fn sectors(bytes: &[u8]) -> Option<(u64, u64)> {
    let (logical, physical) = (u32_at(bytes, 16)?, u32_at(bytes, 20)?);
    (logical > 0 && physical > 0).then_some((logical.into(), physical.into()))
}

/// `STORAGE_WRITE_CACHE_PROPERTY`: the cache is on, and writes can be forced past it.
fn write_cache(bytes: &[u8]) -> (Option<bool>, Option<bool>) {
    // Of both: 1 is no, 2 is yes, anything else is unknown.
    let known = |at| match u32_at(bytes, at) {
        Some(1) => Some(false),
        Some(2) => Some(true),
        _ => None,
    };
    (known(12), known(20))
}

/// The answer to the query of a property. Its header has the number of valid bytes, of which the disk may fill fewer.
fn property(device: &impl AsHandle, property: i32) -> Option<Vec<u8>> {
    let (bytes, _) = answer(device, io::IOCTL_STORAGE_QUERY_PROPERTY, &[property as u64, 0], 1024).ok()?;
    (bytes.len() >= 8).then_some(bytes)
}

/// The facts of a disk. `whole`: the device is the disk, not a volume on it.
fn facts_of_disk(device: &impl AsHandle, whole: bool) -> Disk {
    let (model, serial, bus) =
        property(device, io::StorageDeviceProperty).map_or((None, None, None), |bytes| descriptor(&bytes));
    let (cache, through) = property(device, io::StorageDeviceWriteCacheProperty)
        .map_or((None, None), |bytes| write_cache(&bytes));
    let flag = |number| property(device, number).and_then(|bytes| flag_at(&bytes, 8));
    // `DISK_GEOMETRY_EX`, with the size after the geometry.
    let geometry = answer(device, io::IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, &(), 256);
    let writable = control(device, io::IOCTL_DISK_IS_WRITABLE, &());
    Disk {
        model,
        serial,
        bus,
        size: geometry.ok().filter(|_| whole).and_then(|(bytes, _)| length_at(&bytes, 24)),
        read_only: match writable {
            Ok(()) => Some(false),
            Err(Code::READ_ONLY) => Some(true),
            Err(_) => None,
        },
        seek_penalty: flag(io::StorageDeviceSeekPenaltyProperty),
        trim: flag(io::StorageDeviceTrimProperty),
        sectors: property(device, io::StorageAccessAlignmentProperty).and_then(|bytes| sectors(&bytes)),
        write_cache: cache,
        write_through: through,
        max_request: property(device, io::StorageAdapterProperty)
            .and_then(|bytes| u32_at(&bytes, 8))
            .filter(|&most| most > 0 && most < u32::MAX)
            .map(u64::from),
        ..Disk::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_device_number_has_a_disk_and_perhaps_a_partition() {
        assert_eq!(disk_number(&words(&[7, 3, 2])), Some((3, Some(2))));
        assert_eq!(disk_number(&words(&[7, 0, u32::MAX])), Some((0, None)));
        assert_eq!(disk_number(&words(&[7, 0, 0])), Some((0, None)), "the whole disk");
        assert_eq!(disk_number(&words(&[7, 3])), None);
    }

    #[test]
    fn a_volume_may_have_parts_on_several_disks() {
        let mut bytes = words(&[2, 0, 1, 0]);
        bytes.extend([1_048_576i64, 500_000_000].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(words(&[4, 0]));
        bytes.extend([0i64, 7_000].iter().flat_map(|number| number.to_le_bytes()));
        let both = [(1, (1_048_576, 500_000_000)), (4, (0, 7_000))];
        assert_eq!(disk_extents(&bytes), both);
        assert_eq!(disk_extents(&bytes[..bytes.len() - 1]), both[..1], "cut short");
        assert_eq!(disk_extents(&[]), []);
    }

    #[test]
    fn a_descriptor_names_texts_behind_it() {
        let mut bytes = words(&[40, 100, 0, 40, 49, 0, 64, fs::BusTypeNvme as u32, 0]);
        bytes.resize(40, 0);
        bytes.extend(b"Maker   \0Quick Disk 1TB\0  S123 \0");
        assert_eq!(&bytes[49..54], b"Quick");
        bytes.resize(100, 0);
        assert_eq!(
            descriptor(&bytes),
            (Some("Maker Quick Disk 1TB".to_owned()), Some("S123".to_owned()), Some("nvme"))
        );
        let none = words(&[40, 40, 0, 0, 0, 0, u32::MAX, 0, 0, 0]);
        assert_eq!(descriptor(&none), (None, None, None));
        let outside = words(&[40, 40, 0, 4000, 0, 0, 0, fs::BusTypeSata as u32]);
        assert_eq!(descriptor(&outside), (None, None, Some("sata")));
    }

    #[test]
    fn sectors_and_caches_are_known_or_unknown() {
        assert_eq!(sectors(&words(&[28, 28, 0, 0, 512, 4096, 0])), Some((512, 4096)));
        assert_eq!(sectors(&words(&[28, 28, 0, 0, 0, 0, 0])), None);
        assert_eq!(write_cache(&words(&[28, 28, 2, 2, 2, 2, 0])), (Some(true), Some(true)));
        assert_eq!(write_cache(&words(&[28, 28, 2, 1, 2, 1, 0])), (Some(false), Some(false)));
        assert_eq!(write_cache(&words(&[28, 28, 0, 0, 0, 0])), (None, None));
        assert_eq!(flag_at(&[12, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0], 8), Some(true));
        assert_eq!(flag_at(&[12, 0, 0, 0], 8), None);
    }
}
