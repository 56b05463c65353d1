//! The alignment that direct I/O on a file asks for.

use std::io;

use rustix::fs::{AtFlags, StatxFlags, statx};

use super::File;
use crate::buf::{ALIGNMENT, Pool};

/// `STATX_DIOALIGN` of `linux/stat.h` (Linux 6.1).
const STATX_DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// Asks `statx`; where the file system does not say (btrfs), tries.
pub(super) fn of(file: &File) -> io::Result<usize> {
    if let Ok(stat) = statx(file, c"", AtFlags::EMPTY_PATH, STATX_DIOALIGN)
        && StatxFlags::from_bits_retain(stat.stx_mask).contains(STATX_DIOALIGN)
    {
        return match stat.stx_dio_mem_align.max(stat.stx_dio_offset_align) {
            0 => Err(io::Error::new(io::ErrorKind::Unsupported, "the file system says it has no direct I/O here")),
            align => Ok(align as usize),
        };
    }
    tried(file)
}

/// The smallest alignment at which a direct read works.
fn tried(file: &File) -> io::Result<usize> {
    let direct = file.direct_handle(false)?;
    let mut pool = Pool::new(1, 2 * ALIGNMENT)?;
    let mut buf = pool.take().ok_or(io::ErrorKind::OutOfMemory)?;
    let mut align = 512;
    loop {
        // Memory and length are aligned to `align` and to no more.
        buf.place(align as u64, align);
        match rustix::io::pread(&direct, buf.data_mut(), align as u64) {
            Ok(_) => return Ok(align),
            Err(rustix::io::Errno::INVAL) if align < ALIGNMENT => align *= 2,
            Err(error) => return Err(error.into()),
        }
    }
}
