//! Disks and volumes as data: `\\.\PhysicalDrive0`, `\\.\C:`. They have no file attributes, and transfer whole sectors only.

use std::ffi::OsStr;

use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl as io;

use super::handle::AsHandle;
use super::information::{answer, control, device_type, i64_at, query, u32_at};
use crate::sys::code::{Code, Result};

/// Bytes of a read that is not of whole sectors.
pub(super) const BOUNCE: usize = 1 << 20;

/// The alignment of memory, which suffices for all devices.
const PAGE: usize = 4096;

/// True for a name in the device namespace.
pub(super) fn is_device_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(br"\\.\")
}

/// True for a disk or a volume, which have no file attributes.
pub(super) fn is_device(file: &impl AsHandle) -> bool {
    query::<fs::FILE_BASIC_INFO>(file, fs::FileBasicInfo).is_err()
        && [Some(fs::FILE_DEVICE_DISK), Some(fs::FILE_DEVICE_CD_ROM)].contains(&device_type(file))
}

/// A number for a device: the disk and, for a volume in one, the partition.
pub(super) fn number(file: &impl AsHandle) -> Option<u64> {
    let (bytes, _) = answer(file, io::IOCTL_STORAGE_GET_DEVICE_NUMBER, &(), 12).ok()?;
    Some(u64::from(u32_at(&bytes, 4)?) << 32 | u64::from(u32_at(&bytes, 8)?))
}

/// The length of a device in bytes.
pub(super) fn length(file: &impl AsHandle) -> Result<u64> {
    // `GET_LENGTH_INFORMATION`.
    let (bytes, _) = answer(file, io::IOCTL_DISK_GET_LENGTH_INFO, &(), 8)?;
    i64_at(&bytes, 0).and_then(|len| u64::try_from(len).ok()).ok_or(Code::IO)
}

/// Bytes of a sector, as the driver reports the geometry.
pub(super) fn sector(file: &impl AsHandle) -> Option<u32> {
    let (bytes, _) = answer(file, io::IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, &(), 256).ok()?;
    // `DISK_GEOMETRY_EX` begins with the geometry, which ends with the sector.
    u32_at(&bytes, 20).filter(|&bytes| bytes.is_power_of_two() && bytes as usize <= PAGE)
}

/// Permits reads of a volume beyond the end of its file system.
pub(super) fn reach_end(file: &impl AsHandle) {
    // Disks have no such limit, and reject the request.
    let _ = control(file, io::FSCTL_ALLOW_EXTENDED_DASD_IO, &());
}

/// Reads at any offset, by one read of whole sectors; at most [`BOUNCE`] bytes.
pub(super) fn read_any(
    file: &impl AsHandle,
    bytes: &mut [u8],
    offset: u64,
    read: impl FnOnce(&mut [u8], u64) -> Result<usize>,
) -> Result<usize> {
    let unit = sector(file).map_or(PAGE as u64, u64::from);
    read_sectors(bytes, offset, unit, length(file)?, read)
}

fn read_sectors(
    bytes: &mut [u8],
    offset: u64,
    unit: u64,
    end: u64,
    read: impl FnOnce(&mut [u8], u64) -> Result<usize>,
) -> Result<usize> {
    let wanted = (bytes.len().min(BOUNCE) as u64).min(end.saturating_sub(offset));
    if wanted == 0 {
        return Ok(0);
    }
    let start = offset / unit * unit;
    let len = ((offset + wanted).next_multiple_of(unit) - start) as usize;
    let mut memory = vec![0; len + PAGE];
    let aligned = memory.as_ptr().align_offset(PAGE);
    let memory = &mut memory[aligned..aligned + len];
    let moved = read(memory, start)?;
    let skipped = (offset - start) as usize;
    let found = &memory[..moved.min(len)];
    let found = found.get(skipped..).unwrap_or_default();
    let count = found.len().min(wanted as usize);
    bytes[..count].copy_from_slice(&found[..count]);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_a_device_are_whole_sectors() {
        let content: Vec<u8> = (0..4 * 512u32 + 100).map(|n| (n / 7) as u8).collect();
        let end = 4 * 512;
        for (offset, len) in [(0, 512), (0, 5), (511, 2), (700, 900), (2047, 9), (2048, 9), (5000, 1), (1, 0)]
        {
            let mut bytes = vec![0; len];
            let count = read_sectors(&mut bytes, offset, 512, end, |memory, at| {
                assert!(at.is_multiple_of(512) && memory.len().is_multiple_of(512));
                assert!(memory.as_ptr().addr().is_multiple_of(PAGE) && at + memory.len() as u64 <= end);
                memory.copy_from_slice(&content[at as usize..][..memory.len()]);
                Ok(memory.len())
            });
            let expected = len.min((end.saturating_sub(offset)) as usize);
            assert_eq!(count, Ok(expected), "{offset}, {len}");
            assert!(
                bytes[..expected] == content[(offset as usize).min(2048)..][..expected],
                "{offset}, {len}"
            );
        }
    }

    #[test]
    fn a_short_read_ends_where_it_ends() {
        let mut bytes = [0; 100];
        let half = |memory: &mut [u8], _| Ok(memory.len() / 2);
        assert_eq!(read_sectors(&mut bytes, 500, 512, 4096, half), Ok(12));
        assert_eq!(read_sectors(&mut bytes, 500, 512, 4096, |_, _| Ok(0)), Ok(0));
        assert_eq!(read_sectors(&mut bytes, 500, 512, 4096, |_, _| Err(Code::IO)), Err(Code::IO));
    }

    #[test]
    fn a_file_is_no_device() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(super::super::status(&file).unwrap().kind(), crate::sys::FileKind::Regular);
        assert!(length(&file).is_err() && !is_device(&file));
        assert!(is_device_name(r"\\.\C:".as_ref()) && !is_device_name(r"\\?\C:\file".as_ref()));
    }
}
