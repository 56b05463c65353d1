//! Status of a path or an open file from one call: `statx(2)`, or `stat(2)` if that is blocked.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;

use super::super::{DirectAlignment, ExtendedStatus};

/// `STATX_DIO_READ_ALIGN`, Linux 6.14.
const DIO_READ_ALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2_0000);

/// Returns the status of a path; follows symbolic links.
pub(crate) fn of_path(path: &Path) -> io::Result<ExtendedStatus> {
    ask(CWD, path, AtFlags::empty())
}

/// Returns the status of an open file.
pub(crate) fn of_file(fd: BorrowedFd<'_>) -> io::Result<ExtendedStatus> {
    ask(fd, Path::new(""), AtFlags::EMPTY_PATH)
}

fn ask(at: BorrowedFd<'_>, path: &Path, flags: AtFlags) -> io::Result<ExtendedStatus> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::DIOALIGN | DIO_READ_ALIGN;
    match rustix::fs::statx(at.as_fd(), path, flags, wanted) {
        Ok(found) => {
            let has = |flag: StatxFlags| found.stx_mask & flag.bits() != 0;
            Ok(ExtendedStatus {
                mode: u32::from(found.stx_mode),
                device: (found.stx_dev_major, found.stx_dev_minor),
                special: (found.stx_rdev_major, found.stx_rdev_minor),
                size: found.stx_size,
                blocks: found.stx_blocks,
                mount: has(StatxFlags::MNT_ID).then_some(found.stx_mnt_id),
                direct: has(StatxFlags::DIOALIGN).then(|| DirectAlignment {
                    memory: found.stx_dio_mem_align,
                    offset: found.stx_dio_offset_align,
                    read_offset: (has(DIO_READ_ALIGN) && found.stx_dio_read_offset_align != 0)
                        .then_some(found.stx_dio_read_offset_align),
                }),
            })
        }
        // Seccomp filters older than the call return these errors.
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = if flags.contains(AtFlags::EMPTY_PATH) {
                rustix::fs::fstat(at)
            } else {
                rustix::fs::stat(path)
            }?;
            let split = |number| (rustix::fs::major(number), rustix::fs::minor(number));
            Ok(ExtendedStatus {
                mode: found.st_mode,
                device: split(found.st_dev),
                special: split(found.st_rdev),
                size: u64::try_from(found.st_size).unwrap_or(0),
                blocks: u64::try_from(found.st_blocks).unwrap_or(0),
                mount: None,
                direct: None,
            })
        }
        Err(error) => Err(error.into()),
    }
}
