//! Volumes, and the disks under them.

use std::ffi::OsString;
use std::os::windows::ffi::OsStringExt as _;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl as io;
use windows_sys::Win32::System::SystemServices as features;

use super::code::check;
use super::disk;
use super::handle::{BorrowedHandle, Handle, owned};
use super::information::answer;
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

/// The root of the volume of a path, with a backslash at its end and a zero behind.
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

/// True if files on the volume of an open file can share blocks.
pub(super) fn shares_blocks(file: BorrowedHandle<'_>) -> Result<bool> {
    let mut flags = 0;
    let none = std::ptr::null_mut();
    // SAFETY: the handle is open; the call writes the flags alone.
    check(unsafe {
        fs::GetVolumeInformationByHandleW(
            file.as_raw_handle(),
            none,
            0,
            none.cast(),
            none.cast(),
            &raw mut flags,
            none,
            0,
        )
    })?;
    Ok(flags & features::FILE_SUPPORTS_BLOCK_REFCOUNTING != 0)
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

pub(crate) fn disks(path: &Path) -> Result<Vec<Disk>> {
    let volume = open_volume(&root_of(path)?)?;
    let number = answer(&volume, io::IOCTL_STORAGE_GET_DEVICE_NUMBER, &[], 12)
        .and_then(|(bytes, _)| disk::number(&bytes).ok_or(Code::INVALID));
    let extents = answer(&volume, VOLUME_DISK_EXTENTS, &[], 8 + 24 * 64);
    let found = match (extents.map(|(bytes, _)| disk::extents(&bytes)), number) {
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
            Disk { number, partition, extent, ..disk::of(device, opened.is_ok()) }
        })
        .collect())
}
