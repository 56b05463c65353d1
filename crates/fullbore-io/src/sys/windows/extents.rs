//! Extents of a file: its data and holes and, where the file system reports them, its positions in the volume and the end of its
//! written bytes.

use std::io;

use windows_sys::Win32::Foundation::ERROR_HANDLE_EOF;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl as control;
use windows_sys::Win32::System::Ioctl::{FILE_ALLOCATED_RANGE_BUFFER, FSCTL_QUERY_ALLOCATED_RANGES};

use super::handle::{AsHandle, BorrowedHandle};
use super::information::{answer, attribute_bits, i64_at, u32_at};
use super::path::handle_path;
use super::status::status;
use super::volume::cluster;
use crate::sys::code::{Code, Result};
use crate::sys::types::extent::{ENCODED, INLINE, LAST, RawExtent, UNKNOWN, UNWRITTEN};

const CHUNK: usize = 512;

/// The extents with their places; `None` if the file system does not report places, or the end of the written bytes.
fn placed(file: BorrowedHandle<'_>, size: u64) -> Result<Option<Vec<RawExtent>>> {
    let regions = [0, size, u64::from(control::FILE_REGION_USAGE_VALID_CACHED_DATA)];
    let Ok((regions, _)) = answer(&file, control::FSCTL_QUERY_FILE_REGIONS, &regions, 16 + 24 * CHUNK) else {
        return Ok(None);
    };
    let (Some(written), Ok(cluster)) = (written(&regions), cluster(&handle_path(&file))) else {
        return Ok(None);
    };
    const ENCODED: u32 = fs::FILE_ATTRIBUTE_COMPRESSED | fs::FILE_ATTRIBUTE_ENCRYPTED;
    let encoded = attribute_bits(&file)? & ENCODED != 0;
    let place = Placing { cluster, encoded, written };
    let mut extents = Vec::new();
    let mut from = 0;
    loop {
        let (bytes, more) =
            match answer(&file, control::FSCTL_GET_RETRIEVAL_POINTERS, &[from], 16 + 16 * CHUNK) {
                Ok(found) => found,
                Err(error) if error.number() == ERROR_HANDLE_EOF as i32 => {
                    // A file without clusters is empty, or in the file table.
                    if from == 0 && size > 0 {
                        extents.push(RawExtent::new(0, 0, size, INLINE));
                    }
                    return Ok(Some(extents));
                }
                Err(_) if from == 0 => return Ok(None),
                Err(error) => return Err(error),
            };
        let runs = runs(&bytes);
        extents.extend(runs.iter().flat_map(|run| place.extents(run)));
        match runs.last() {
            Some(last) if more && last.end > from => from = last.end,
            _ => return Ok(Some(extents)),
        }
    }
}

/// A run of clusters of a file: its start and end there, and its start in the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: u64,
    end: u64,
    /// `None` for a hole, or the clusters that compression saved.
    place: Option<u64>,
}

fn runs(bytes: &[u8]) -> Vec<Run> {
    let count = u32_at(bytes, 0).unwrap_or(0);
    let Some(mut start) = i64_at(bytes, 8).and_then(|start| u64::try_from(start).ok()) else {
        return Vec::new();
    };
    let run = |index: usize| {
        let end = u64::try_from(i64_at(bytes, 16 + 16 * index)?).ok()?;
        let place = u64::try_from(i64_at(bytes, 24 + 16 * index)?).ok();
        let run = Run { start, end, place };
        start = end;
        Some(run)
    };
    (0..count as usize).map_while(run).filter(|run| run.start < run.end).collect()
}

/// The end of the written bytes, from `FILE_REGION_OUTPUT`; `None` if it has no region.
fn written(bytes: &[u8]) -> Option<u64> {
    let count = u32_at(bytes, 8).unwrap_or(0);
    let region = |index: usize| {
        let at = 16 + 24 * index;
        let end = i64_at(bytes, at)?.checked_add(i64_at(bytes, at + 8)?)?;
        let valid = u32::from(*bytes.get(at + 16)?) & control::FILE_REGION_USAGE_VALID_CACHED_DATA != 0;
        Some(if valid { u64::try_from(end).unwrap_or(0) } else { 0 })
    };
    (0..count as usize).map_while(region).max()
}

/// The facts that turn runs of clusters into extents of bytes.
struct Placing {
    cluster: u64,
    /// The volume holds other bytes than the file: compressed or encrypted ones.
    encoded: bool,
    /// The end of the bytes that were written.
    written: u64,
}

impl Placing {
    /// The extents of a run: none for a hole, two if the written bytes end in it.
    fn extents(&self, run: &Run) -> Vec<RawExtent> {
        let bytes = |clusters: u64| clusters.saturating_mul(self.cluster);
        let (start, end) = (bytes(run.start), bytes(run.end));
        let encoded = if self.encoded { ENCODED } else { 0 };
        let Some(place) = run.place.map(bytes) else {
            let saved = self.encoded.then(|| RawExtent::new(start, 0, end - start, encoded | UNKNOWN));
            return saved.into_iter().collect();
        };
        let cut = self.written.next_multiple_of(self.cluster).clamp(start, end);
        let parts = [(start, cut, encoded), (cut, end, encoded | UNWRITTEN)];
        let extent = |(from, to, flags)| RawExtent::new(from, place + (from - start), to - from, flags);
        parts.into_iter().filter(|(from, to, _)| from < to).map(extent).collect()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[i64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn runs_of_clusters_have_places_or_are_holes() {
        // Three runs from cluster 10: placed, a hole, placed.
        let answer = bytes(&[3, 10, 14, 1000, 20, -1, 21, 5]);
        let run = |start, end, place| Run { start, end, place };
        let found = runs(&answer);
        assert_eq!(found, [run(10, 14, Some(1000)), run(14, 20, None), run(20, 21, Some(5))]);
        assert_eq!(runs(&answer[..answer.len() - 1]), found[..2], "cut short");
        assert_eq!(runs(&[]), []);
    }

    #[test]
    fn extents_are_cut_where_the_written_bytes_end() {
        let place = Placing { cluster: 4096, encoded: false, written: 5000 };
        let plain = |extent: &RawExtent| (extent.logical, extent.physical, extent.length, extent.flags);
        let extents = |place: &Placing, run| place.extents(&run).iter().map(plain).collect::<Vec<_>>();
        let run = Run { start: 0, end: 4, place: Some(100) };
        assert_eq!(extents(&place, run), [(0, 409_600, 8192, 0), (8192, 417_792, 8192, UNWRITTEN)]);
        assert_eq!(extents(&place, Run { place: None, ..run }), []);
        let all = Placing { written: 1 << 30, ..place };
        assert_eq!(extents(&all, run), [(0, 409_600, 16_384, 0)]);
        let encoded = Placing { encoded: true, ..all };
        assert_eq!(extents(&encoded, run), [(0, 409_600, 16_384, ENCODED)]);
        assert_eq!(extents(&encoded, Run { place: None, ..run }), [(0, 0, 16_384, ENCODED | UNKNOWN)]);
    }

    #[test]
    fn written_bytes_end_with_the_valid_regions() {
        // Two regions: valid up to 5000, then not.
        let answer = bytes(&[2 << 32, 2, 0, 5000, 1, 5000, 95_000, 0]);
        assert_eq!(written(&answer), Some(5000));
        assert_eq!(written(&answer[..16]), None);
    }
}
