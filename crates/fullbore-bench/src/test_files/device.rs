//! A block device as the target of a run. Everything on it is lost, so it is used only after all checks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use fullbore::error::{Error, ErrorKind, Result};
use fullbore::probe;
use fullbore::sys::{self, AsHandle, FileKind, Handle, OpenFlags};

/// A device that may be overwritten, opened exclusively: no other process can mount it or open it exclusively
/// meanwhile.
#[derive(Debug)]
pub(super) struct ExclusiveDevice {
    pub(super) len: u64,
    _held: Handle,
}

/// Opens a device exclusively, if `serial` is its serial number and it has no data.
pub(super) fn take(path: &Path, serial: &str) -> Result<ExclusiveDevice> {
    let refuse = |what: String, advice: &str| {
        Error::new(ErrorKind::Invalid, "measure", path, what).advise(advice.to_owned())
    };
    let status = sys::stat(path).map_err(|error| Error::io("measure", path, error.into()))?;
    if status.kind() != FileKind::BlockDevice {
        return Err(refuse(
            "not a block device".into(),
            "name a directory with --dir to measure a file system",
        ));
    }
    if !cfg!(target_os = "linux") {
        let what = "only Linux reports what uses a device, and keeps others from mounting it";
        return Err(refuse(what.into(), "name a directory with --dir to measure a file system"));
    }
    let facts = probe::facts(path).map_err(|error| refuse(error.to_string(), "name a whole disk"))?;
    let Some(device) = facts.devices.first() else {
        return Err(refuse("the kernel does not list it".into(), "name a whole disk"));
    };
    let number = sys::split_device(status.rdev);
    let mut against = in_use(sys::SYS.as_ref(), sys::PROC.as_ref(), number);
    if device.partition.is_some() {
        against.push("it is a partition of a disk".into());
    }
    if device.read_only == Some(true) {
        against.push("it is read-only".into());
    }
    if !against.is_empty() {
        let advice = "name a whole disk that nothing uses";
        return Err(refuse(against.join("; "), advice));
    }
    // The kernel refuses exclusive access if anything is mounted, swapped to, or built on the device.
    let held = sys::open(path, OpenFlags::READ_WRITE | OpenFlags::EXCLUSIVE, 0)
        .map_err(|error| Error::io("open exclusively", path, error.into()))?;
    let len = device.size.ok_or_else(|| refuse("its size is unknown".into(), "name a whole disk"))?;
    let mark = signature(&held, len).map_err(|error| Error::io("read", path, error))?;
    if let Some(found) = mark.map(str::to_owned).or_else(|| by_blkid(path)) {
        let advice = "if the data is not needed, remove its signature with wipefs and try again";
        return Err(refuse(format!("it has data: {found}"), advice));
    }
    // A loop device is known by its backing file.
    let known = device.serial.as_deref().or(device.backing_file.as_deref());
    match known.filter(|text| !text.is_empty()) {
        None => {
            Err(refuse("it reports no serial number to identify it".into(), "measure a file system on it"))
        }
        Some(known) if known == serial => Ok(ExclusiveDevice { len, _held: held }),
        Some(_) => Err(refuse(
            format!("{serial} is not its serial number"),
            "find it with `fullbore probe` or `lsblk -o NAME,SERIAL`; all data on the named device will be lost",
        )),
    }
}

/// Returns the uses of a device that the kernel reports, in `/sys` and `/proc` or their replacements in tests.
fn in_use(sys: &Path, proc: &Path, (major, minor): (u32, u32)) -> Vec<String> {
    let mut uses = Vec::new();
    let number = format!("{major}:{minor}");
    let context = sys.join("dev/block").join(&number);
    let entries = |at: &Path| -> Vec<PathBuf> {
        fs::read_dir(at).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut numbers = vec![number];
    let partitions: Vec<PathBuf> =
        entries(&context).into_iter().filter(|path| path.join("partition").exists()).collect();
    for partition in &partitions {
        numbers.extend(fs::read_to_string(partition.join("dev")).map(|text| text.trim().to_owned()));
    }
    if !partitions.is_empty() {
        let names: Vec<String> = partitions.iter().map(|path| name(path)).collect();
        uses.push(format!("it has partitions: {}", names.join(", ")));
    }
    let holders: Vec<String> = entries(&context.join("holders")).iter().map(|path| name(path)).collect();
    if !holders.is_empty() {
        uses.push(format!("it is part of {}", holders.join(", ")));
    }
    let mounts = fs::read_to_string(proc.join("self/mountinfo")).unwrap_or_default();
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(2);
        let (Some(device), _, Some(point)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if numbers.iter().any(|known| known == device) {
            uses.push(format!("it is mounted at {point}"));
        }
    }
    uses
}

/// Finds data on a device by `blkid(8)`, which finds more kinds, if it is there.
fn by_blkid(path: &Path) -> Option<String> {
    // The last two are not in every user's search path.
    let found = ["blkid", "/usr/sbin/blkid", "/sbin/blkid"].iter().find_map(|program| {
        Command::new(program)
            .args(["-p", "-o", "value", "-s", "TYPE", "-s", "PTTYPE"])
            .arg(path)
            .output()
            .ok()
    })?;
    let text = String::from_utf8_lossy(&found.stdout).trim().replace('\n', ", ");
    match found.status.code() {
        Some(0) => Some(text),
        // An ambivalent result: several signatures, of which it prints none.
        Some(8) => Some("signatures of several file systems".into()),
        _ => None,
    }
}

/// Finds data on a device by the signatures of partition tables, file systems, volumes and swap space.
fn signature(device: &impl AsHandle, len: u64) -> io::Result<Option<&'static str>> {
    const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
    /// (offset in bytes, signature, its meaning); an offset below 0 counts from the end.
    const MARKS: &[(i64, &[u8], &str)] = &[
        (510, b"\x55\xaa", "a partition table or a boot sector"),
        (512, b"EFI PART", "a GUID partition table"),
        (4096, b"EFI PART", "a GUID partition table"),
        (-512, b"EFI PART", "the backup of a GUID partition table"),
        (-4096, b"EFI PART", "the backup of a GUID partition table"),
        (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
        (0, b"XFSB", "an XFS file system"),
        (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
        (0x400, b"\x10\x20\xf5\xf2", "an F2FS file system"),
        (3, b"NTFS    ", "an NTFS file system"),
        (3, b"EXFAT   ", "an exFAT file system"),
        (0x8001, b"CD001", "an ISO 9660 file system"),
        (0, b"hsqs", "a SquashFS file system"),
        (0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
        (24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcachefs file system"),
        (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
        (0, b"LABELONE", "a physical volume of LVM"),
        (512, b"LABELONE", "a physical volume of LVM"),
        (1024, b"LABELONE", "a physical volume of LVM"),
        (1536, b"LABELONE", "a physical volume of LVM"),
        (4096, MD, "a member of an md array"),
        (0, MD, "a member of an md array"),
        (-1024, b"Intel Raid ISM Cfg Sig. ", "a member of an Intel array"),
        (-512, b"\xde\x11\xde\x11", "a member of a DDF array"),
        (0, b"bluestore block device", "a Ceph BlueStore"),
        (0, b"dmvdo001", "a VDO volume"),
        (516, b"!Stra0tis\x86\xff\x02^A", "a Stratis pool"),
        (3, b"-FVE-FS-", "an encrypted volume (BitLocker)"),
        (32, b"NXSB", "an APFS container"),
        (0x400, b"H+", "an HFS+ file system"),
        (0x400, b"\xe2\xe1\xf5\xe0", "an EROFS file system"),
        (0x8000, b"JFS1", "a JFS file system"),
        (0x8001, b"BEA01", "a UDF file system"),
        (0x8801, b"NSR0", "a UDF file system"),
        (0x9001, b"NSR0", "a UDF file system"),
        (0x1_0034, b"ReIsEr", "a ReiserFS file system"),
        (4086, b"SWAPSPACE2", "swap space"),
        (4086, b"SWAP-SPACE", "swap space"),
        (0x2_0000, b"\x0c\xb1\xba\x00\x00\x00\x00\x00", "a ZFS pool"),
        (0x2_0000, b"\x00\x00\x00\x00\x00\xba\xb1\x0c", "a ZFS pool"),
    ];
    // A device that cannot be read may have any.
    let has = |at: Option<u64>, mark: &[u8]| -> io::Result<bool> {
        let mut there = vec![0; mark.len()];
        let Some(at) = at.filter(|at| at + mark.len() as u64 <= len) else { return Ok(false) };
        sys::read_exact_at(device.as_handle(), &mut there, at)?;
        Ok(there == mark)
    };
    for &(offset, mark, what) in MARKS {
        let at = if offset < 0 { len.checked_add_signed(offset) } else { u64::try_from(offset).ok() };
        if has(at, mark)? {
            return Ok(Some(what));
        }
    }
    // Versions 1.0 and 0.90 are near the end.
    for at in
        [(len / 512).checked_sub(16).map(|sector| (sector & !7) * 512), (len & !0xffff).checked_sub(64 << 10)]
    {
        if has(at, MD)? {
            return Ok(Some("a member of an md array"));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_device_are_found() {
        let room = tempfile::tempdir().unwrap();
        let (sys, proc) = (room.path().join("sys"), room.path().join("proc"));
        let disk = sys.join("dev/block/8:16");
        fs::create_dir_all(disk.join("holders")).unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::create_dir_all(proc.join("self")).unwrap();
        fs::write(proc.join("self/mountinfo"), "22 1 254:0 / / rw - ext4 /dev/vda rw\n").unwrap();
        assert_eq!(in_use(&sys, &proc, (8, 16)), Vec::<String>::new());

        fs::create_dir_all(disk.join("sdb1")).unwrap();
        fs::write(disk.join("sdb1/partition"), "1\n").unwrap();
        fs::write(disk.join("sdb1/dev"), "8:17\n").unwrap();
        fs::create_dir(disk.join("holders/dm-0")).unwrap();
        let mounted = "22 1 254:0 / / rw - ext4 /dev/vda rw\n40 22 8:17 / /srv rw - ext4 /dev/sdb1 rw\n";
        fs::write(proc.join("self/mountinfo"), mounted).unwrap();
        assert_eq!(
            in_use(&sys, &proc, (8, 16)),
            ["it has partitions: sdb1", "it is part of dm-0", "it is mounted at /srv"]
        );
    }

    /// The signatures are written by the tools that define them.
    #[test]
    fn signatures_on_a_device_are_found() {
        let room = tempfile::tempdir().unwrap();
        let makers: &[(&[&str], &str)] = &[
            (&["mkfs.ext4", "-q", "-F"], "ext4"),
            (&["mkfs.xfs", "-q", "-f"], "XFS"),
            (&["mkfs.btrfs", "-q", "-f"], "btrfs"),
            (&["mkswap", "-q"], "swap"),
            (&["mkfs.vfat"], "boot sector"),
        ];
        for (index, (words, what)) in makers.iter().enumerate() {
            let path = room.path().join(index.to_string());
            let file = fs::File::create_new(&path).unwrap();
            file.set_len(512 << 20).unwrap();
            assert_eq!(signature(&fs::File::open(&path).unwrap(), 512 << 20).unwrap(), None);
            let made = std::process::Command::new(words[0]).args(&words[1..]).arg(&path).output();
            match made {
                Ok(made) if made.status.success() => {
                    let found = signature(&fs::File::open(&path).unwrap(), 512 << 20).unwrap();
                    assert!(found.is_some_and(|found| found.contains(what)), "{what}: {found:?}");
                }
                _ => println!("skipped: {} is not here", words[0]),
            }
        }
    }

    #[test]
    fn several_signatures_are_data_too() {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(4 << 20).unwrap();
        // romfs, and VxFS beside it.
        for (place, mark) in [(0, &b"-rom1fs-"[..]), (0x400, b"\xf5\xfc\x01\xa5")] {
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(mark).unwrap();
            match by_blkid(file.path()) {
                None if place == 0 => return println!("skipped: no blkid is here"),
                found => assert!(found.is_some(), "{}", mark.escape_ascii()),
            }
        }
    }

    /// The places of md's versions are those of its documentation: counted from the end, and rounded.
    #[test]
    fn members_of_arrays_and_volumes_are_found() {
        use std::io::{Seek, SeekFrom, Write};
        const LEN: u64 = (64 << 20) + 5 * 512;
        for (place, mark) in [
            ((64 << 20) - 0x1_0000, &b"\xfc\x4e\x2b\xa9"[..]),
            (((LEN / 512 - 16) & !7) * 512, b"\xfc\x4e\x2b\xa9"),
            (LEN - 1024, b"Intel Raid ISM Cfg Sig. 1.0.00"),
            (1024, b"LABELONE"),
            (0x8001, b"BEA01"),
            (32, b"NXSB"),
            (0, b"bluestore block device\n"),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.set_len(LEN).unwrap();
            file.seek(SeekFrom::Start(place)).unwrap();
            file.write_all(mark).unwrap();
            assert!(signature(&file, LEN).unwrap().is_some(), "{}", mark.escape_ascii());
        }
    }

    #[test]
    fn an_unreadable_device_is_not_taken_for_empty() {
        let room = tempfile::tempdir().unwrap();
        let writer =
            fs::File::options().write(true).create_new(true).open(room.path().join("device")).unwrap();
        writer.set_len(1 << 20).unwrap();
        assert!(signature(&writer, 1 << 20).is_err(), "open for writing only");
    }

    #[test]
    fn non_block_device_is_rejected() {
        let error = take(Path::new("/dev/null"), "x").unwrap_err().to_string();
        assert!(error.contains("not a block device"), "{error}");
    }
}
