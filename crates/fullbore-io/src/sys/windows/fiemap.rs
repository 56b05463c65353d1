//! Extents of a file: where its data is, and where holes are.

use std::io;

use windows_sys::Win32::System::Ioctl::{FILE_ALLOCATED_RANGE_BUFFER, FSCTL_QUERY_ALLOCATED_RANGES};

use super::super::extent::{LAST, RawExtent, UNKNOWN};
use super::extents::placed;
use super::information::{answer, i64_at};
use super::{AsHandle, BorrowedHandle, Code, Result, status};

/// Maximum number of ranges of one call.
const CHUNK: usize = 512;

/// Writes the ranges with data between two offsets to `ranges`, in file order. Returns their number, and true if there are more.
pub(super) fn allocated(
    file: &impl AsHandle,
    from: i64,
    to: i64,
    ranges: &mut [FILE_ALLOCATED_RANGE_BUFFER],
) -> Result<(usize, bool)> {
    let (bytes, more) =
        answer(file, FSCTL_QUERY_ALLOCATED_RANGES, &[from as u64, (to - from) as u64], size_of_val(ranges))?;
    let mut count = 0;
    for (range, bytes) in ranges.iter_mut().zip(bytes.chunks_exact(size_of::<FILE_ALLOCATED_RANGE_BUFFER>()))
    {
        let (Some(offset), Some(len)) = (i64_at(bytes, 0), i64_at(bytes, 8)) else { break };
        *range = FILE_ALLOCATED_RANGE_BUFFER { FileOffset: offset, Length: len };
        count += 1;
    }
    Ok((count, more))
}

/// Passes every extent to `take`, in file order. On a file system that does not report places, these are ranges with data.
pub(crate) fn each_extent(file: BorrowedHandle<'_>, mut take: impl FnMut(&RawExtent)) -> io::Result<()> {
    let size = status(file)?.size;
    if let Some(extents) = placed(file, size)? {
        extents.iter().for_each(take);
        return Ok(());
    }
    let len = i64::try_from(size).map_err(|_| Code::INVALID)?;
    let mut from = 0;
    loop {
        let mut ranges = [FILE_ALLOCATED_RANGE_BUFFER::default(); CHUNK];
        let (count, more) = allocated(&file, from, len, &mut ranges)?;
        for (index, range) in ranges[..count].iter().enumerate() {
            let last = if !more && index + 1 == count { LAST } else { 0 };
            take(&RawExtent::new(range.FileOffset as u64, 0, range.Length as u64, UNKNOWN | last));
        }
        match ranges[..count].last() {
            Some(last) if more => from = last.FileOffset + last.Length,
            _ => return Ok(()),
        }
    }
}
