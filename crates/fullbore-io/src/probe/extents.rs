//! Layout of a file on its device, and the bytes that were never written.

use std::io;

use crate::sys::{self, AsHandle, BorrowedHandle, Code, OpenFlags, SeekFrom, extent};

/// A contiguous run of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FileExtent {
    /// Start in the file in bytes.
    pub offset: u64,
    /// Start on the device or in the volume in bytes. `None` if not placed yet or without a place of its own.
    pub physical: Option<u64>,
    /// Length in bytes.
    pub length: u64,
    /// Allocated but never written: reads return zeros without reaching the device.
    pub unwritten: bool,
    /// Written by the program, but not yet placed on the device (delayed allocation).
    pub delayed: bool,
    /// Stored inside the file system's metadata.
    pub inline: bool,
    /// Compressed or encrypted: the device holds other bytes, often fewer.
    pub encoded: bool,
    /// Shared with another file (reflink, snapshot).
    pub shared: bool,
}

impl FileExtent {
    fn of(raw: &extent::RawExtent) -> Self {
        let has = |flag: u32| raw.flags & flag != 0;
        Self {
            offset: raw.logical,
            physical: (!has(extent::UNKNOWN | extent::DELALLOC | extent::INLINE)).then_some(raw.physical),
            length: raw.length,
            unwritten: has(extent::UNWRITTEN),
            delayed: has(extent::DELALLOC),
            inline: has(extent::INLINE),
            encoded: has(extent::ENCODED),
            shared: has(extent::SHARED),
        }
    }

    /// True if `next` starts on the device at the end of this extent.
    fn leads_to(&self, next: &Self) -> bool {
        let (Some(start), Some(next)) = (self.physical, next.physical) else { return false };
        let end = start.saturating_add(self.length);
        // The length is that of the plain bytes: encoded ones may take less space.
        next == end || (self.encoded && (start..end).contains(&next))
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }

    fn within(&self, size: u64) -> u64 {
        self.end().min(size).saturating_sub(self.offset)
    }
}

/// The amounts of a file's bytes that were really written and that were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Provenance {
    /// Size of the file in bytes.
    pub size: u64,
    /// Allocated bytes.
    pub allocated: u64,
    pub holes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes allocated but never written. `None` if the file system does not report them.
    pub unwritten: Option<u64>,
    /// Bytes written but not yet placed on the device. `None` if the file system does not report them.
    pub delayed: Option<u64>,
    /// Bytes that the device holds compressed or encrypted. `None` if the file system does not report them.
    pub encoded: Option<u64>,
    pub source: ProvenanceSource,
}

/// Call that reported a provenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum ProvenanceSource {
    Fiemap,
    /// `lseek(2)` with `SEEK_HOLE`. Some file systems report every file as free of holes: compare `allocated`.
    SeekHole,
}

impl Provenance {
    /// Returns the reason that speeds measured on this file would be wrong, if there is one: bytes that no device ever held.
    pub fn measurement_problem(&self) -> Option<String> {
        if self.hole_bytes > 0 {
            return Some(format!("{} of {} bytes are holes", self.hole_bytes, self.size));
        }
        let some = |bytes: Option<u64>| bytes.filter(|&bytes| bytes > 0);
        if let Some(bytes) = some(self.unwritten) {
            return Some(format!("{bytes} of {} bytes are reserved but never written", self.size));
        }
        let encoded = some(self.encoded)?;
        Some(format!("{encoded} of {} bytes are compressed or encrypted on the device", self.size))
    }
}

/// Layout of a file on its device.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    pub extents: u64,
    /// Mean length of an extent in bytes. `None` for a file without extents.
    pub mean_extent: Option<u64>,
    /// Number of extents that do not start at the end of the previous one on the device.
    pub discontiguous: u64,
    /// Bytes allocated past the end of the file.
    pub beyond_end: u64,
    pub inline: u64,
    /// Extents that are compressed or encrypted.
    pub encoded: u64,
    pub shared: u64,
    /// The first extents, at most [`Layout::SHOWN`]; [`extents`] returns all.
    pub first_extents: Vec<FileExtent>,
}

impl Layout {
    /// Maximum number of extents listed in a layout.
    pub const SHOWN: usize = 64;
}

/// Sums over extents, added in file order.
#[derive(Default)]
struct LayoutCounts {
    size: u64,
    covered: u64,
    holes: u64,
    hole_bytes: u64,
    unwritten: u64,
    delayed: u64,
    bytes: u64,
    encoded_bytes: u64,
    last_placed: Option<FileExtent>,
    /// The layout without the extents themselves and their mean.
    layout: Layout,
}

impl LayoutCounts {
    fn of_size(size: u64) -> Self {
        Self { size, ..Self::default() }
    }

    fn add(&mut self, extent: &FileExtent) {
        self.gap_until(extent.offset.min(self.size));
        self.covered = self.covered.max(extent.end());
        let inside = extent.within(self.size);
        self.unwritten += if extent.unwritten { inside } else { 0 };
        self.delayed += if extent.delayed { inside } else { 0 };
        self.encoded_bytes += if extent.encoded { inside } else { 0 };
        // The rest of the file's last block is not a reservation.
        if extent.offset >= self.size {
            self.layout.beyond_end += extent.length;
        } else if extent.unwritten {
            self.layout.beyond_end += extent.length - inside;
        }
        self.layout.extents += 1;
        self.bytes = self.bytes.saturating_add(extent.length);
        self.layout.inline += u64::from(extent.inline);
        self.layout.encoded += u64::from(extent.encoded);
        self.layout.shared += u64::from(extent.shared);
        if extent.physical.is_some() {
            let apart = self.last_placed.is_some_and(|last| !last.leads_to(extent));
            self.layout.discontiguous += u64::from(apart);
            self.last_placed = Some(*extent);
        }
    }

    fn gap_until(&mut self, offset: u64) {
        if offset > self.covered {
            self.holes += 1;
            self.hole_bytes += offset - self.covered;
            self.covered = offset;
        }
    }

    fn provenance(&mut self, allocated: u64) -> Provenance {
        self.gap_until(self.size);
        Provenance {
            size: self.size,
            allocated,
            holes: self.holes,
            hole_bytes: self.hole_bytes,
            unwritten: Some(self.unwritten),
            delayed: Some(self.delayed),
            encoded: Some(self.encoded_bytes),
            source: ProvenanceSource::Fiemap,
        }
    }
}

/// Returns all extents of a file, in file order; data not yet placed is reported, not flushed. Fails with `EOPNOTSUPP` or `ENOTTY`
/// without `FIEMAP`.
pub fn extents(fd: impl AsHandle) -> io::Result<Vec<FileExtent>> {
    let mut extents = Vec::new();
    sys::each_extent(fd.as_handle(), |raw| extents.push(FileExtent::of(raw)))?;
    Ok(extents)
}

/// Counts the bytes of a file that were really written, holes, and reserved and unplaced bytes, without keeping its
/// extents.
///
/// # Errors
/// The system's; also if the file system has neither `FIEMAP` nor `SEEK_HOLE`.
pub fn provenance(fd: impl AsHandle) -> io::Result<Provenance> {
    let fd = fd.as_handle();
    let status = sys::extended_status(fd)?;
    let allocated = status.blocks.saturating_mul(512);
    let mut counts = LayoutCounts::of_size(status.size);
    match sys::each_extent(fd, |raw| counts.add(&FileExtent::of(raw))) {
        Ok(()) => Ok(counts.provenance(allocated)),
        Err(error) if lacks_fiemap(&error) => by_seeking(fd, status.size, allocated),
        Err(error) => Err(error),
    }
}

/// Returns the layout of a file and, from the same call, its provenance; fails as [`extents`].
pub fn layout(fd: impl AsHandle) -> io::Result<(Provenance, Layout)> {
    let fd = fd.as_handle();
    let status = sys::extended_status(fd)?;
    let mut counts = LayoutCounts::of_size(status.size);
    let mut first_extents = Vec::new();
    sys::each_extent(fd, |raw| {
        let extent = FileExtent::of(raw);
        counts.add(&extent);
        if first_extents.len() < Layout::SHOWN {
            first_extents.push(extent);
        }
    })?;
    let provenance = counts.provenance(status.blocks.saturating_mul(512));
    let mean_extent = counts.bytes.checked_div(counts.layout.extents);
    Ok((provenance, Layout { mean_extent, first_extents, ..counts.layout }))
}

fn lacks_fiemap(error: &io::Error) -> bool {
    let lacking = [Code::UNSUPPORTED, Code::INAPPROPRIATE, Code::NOT_IMPLEMENTED, Code::INVALID];
    let forbidden = [Code::NOT_PERMITTED, Code::ACCESS_DENIED];
    Code::of(error).is_some_and(|code| lacking.contains(&code) || forbidden.contains(&code))
}

/// Counts holes by seeking from one to the next, on a separate descriptor: the caller's position stays unchanged.
fn by_seeking(fd: BorrowedHandle<'_>, size: u64, allocated: u64) -> io::Result<Provenance> {
    let own = sys::reopen(&fd, OpenFlags::READ | OpenFlags::NONBLOCK)?;
    let mut holes = 0;
    let mut hole_bytes = 0;
    let mut at = 0;
    while at < size {
        let hole = match sys::seek(&own, SeekFrom::Hole(at)) {
            Ok(hole) if hole < size => hole,
            // Past the end: the file was truncated meanwhile.
            Ok(_) | Err(Code::NO_SUCH_ADDRESS) => break,
            Err(error) => return Err(error.into()),
        };
        let data = match sys::seek(&own, SeekFrom::Data(hole)) {
            Ok(data) => data.min(size),
            Err(Code::NO_SUCH_ADDRESS) => size,
            Err(error) => return Err(error.into()),
        };
        if data > hole {
            holes += 1;
            hole_bytes += data - hole;
        }
        // Guarantees progress if the file changes meanwhile.
        at = data.max(hole + 1);
    }
    Ok(Provenance {
        size,
        allocated,
        holes,
        hole_bytes,
        unwritten: None,
        delayed: None,
        encoded: None,
        source: ProvenanceSource::SeekHole,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;
    use std::io::{Seek, SeekFrom as Position, Write};
    use std::os::unix::fs::FileExt;

    fn extent(offset: u64, physical: u64, length: u64) -> FileExtent {
        FileExtent { offset, physical: Some(physical), length, ..FileExtent::default() }
    }

    #[test]
    fn holes_gaps_and_bytes_past_the_end_are_counted() {
        let mut counts = LayoutCounts::of_size(100_000);
        counts.add(&extent(0, 4096, 8192));
        counts.add(&extent(8192, 12288, 4096));
        counts.add(&FileExtent { unwritten: true, ..extent(20480, 65536, 4096) });
        counts.add(&FileExtent { delayed: true, physical: None, ..extent(24576, 0, 4096) });
        counts.add(&FileExtent { unwritten: true, ..extent(98304, 4096, 8192) });
        counts.add(&FileExtent { unwritten: true, ..extent(106_496, 12288, 4096) });
        let provenance = counts.provenance(0);
        assert_eq!(provenance.holes, 2);
        assert_eq!(provenance.hole_bytes, (20480 - 12288) + (98304 - 28672));
        assert_eq!(provenance.unwritten, Some(4096 + 1696));
        assert_eq!(provenance.delayed, Some(4096));
        assert_eq!(counts.layout.beyond_end, 8192 - 1696 + 4096);
        assert_eq!(counts.layout.discontiguous, 2);
        assert!(provenance.measurement_problem().unwrap().contains("holes"));
    }

    #[test]
    fn a_file_that_ends_inside_its_last_block_has_no_hole() {
        let mut counts = LayoutCounts::of_size(5000);
        counts.add(&extent(0, 0, 8192));
        let provenance = counts.provenance(8192);
        assert_eq!((provenance.holes, provenance.unwritten), (0, Some(0)));
        assert_eq!(provenance.measurement_problem(), None);
        assert_eq!(counts.layout.beyond_end, 0);
    }

    #[test]
    fn compressed_extents_may_be_shorter_on_the_device() {
        let compressed = |offset, physical| FileExtent { encoded: true, ..extent(offset, physical, 131_072) };
        let mut counts = LayoutCounts::of_size(4 * 131_072);
        counts.add(&compressed(0, 1 << 20));
        counts.add(&compressed(131_072, (1 << 20) + 4096));
        assert_eq!(counts.layout.discontiguous, 0);
        counts.add(&compressed(262_144, 1 << 30));
        counts.add(&compressed(393_216, 4096));
        assert_eq!(counts.layout.discontiguous, 2);
        let objection = counts.provenance(4 * 4096).measurement_problem().unwrap();
        assert!(
            objection.contains("524288 of 524288 bytes") && objection.contains("compressed"),
            "{objection}"
        );
    }

    #[test]
    fn a_file_of_one_hole() {
        let provenance = LayoutCounts::of_size(5000).provenance(0);
        assert_eq!((provenance.holes, provenance.hole_bytes), (1, 5000));
        assert_eq!(LayoutCounts::of_size(0).provenance(0).holes, 0);
    }

    /// Four runs of data with three holes between, more than one page each.
    fn sparse() -> std::fs::File {
        let file = tempfile::tempfile_in(build_directory()).unwrap();
        for run in 0..4u64 {
            file.write_all_at(&[9; 65536], run * 262_144).unwrap();
        }
        file.sync_all().unwrap();
        file
    }

    #[test]
    fn holes_are_found_by_map_and_by_seeking_and_the_position_stays() {
        let mut file = sparse();
        file.seek(Position::Start(17)).unwrap();
        let found = provenance(&file).unwrap();
        assert_eq!((found.holes, found.hole_bytes), (3, 3 * (262_144 - 65536)));
        let sought = by_seeking(file.as_handle(), found.size, found.allocated).unwrap();
        assert_eq!((sought.holes, sought.hole_bytes), (found.holes, found.hole_bytes));
        assert_eq!(file.stream_position().unwrap(), 17);
    }

    #[test]
    fn more_extents_than_one_call_returns() {
        let file = tempfile::tempfile_in(build_directory()).unwrap();
        for run in 0..1500u64 {
            file.write_all_at(&[1; 4096], run * 8192).unwrap();
        }
        file.sync_all().unwrap();
        match extents(&file) {
            Ok(extents) => {
                // XFS preallocates the gaps, which appear as unwritten extents.
                assert_eq!(extents.iter().filter(|extent| !extent.unwritten).count(), 1500);
                assert!(extents.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
                let (_, layout) = layout(&file).unwrap();
                assert_eq!(layout.extents, extents.len() as u64);
                assert_eq!(layout.first_extents, extents[..Layout::SHOWN]);
                let bytes: u64 = extents.iter().map(|extent| extent.length).sum();
                assert_eq!(layout.mean_extent, Some(bytes / layout.extents));
            }
            Err(error) => println!("skipped: no FIEMAP here: {error}"),
        }
    }

    #[test]
    fn reserved_bytes_are_not_written_bytes() {
        let mut file = tempfile::tempfile_in(build_directory()).unwrap();
        if let Err(error) = sys::allocate(&file, sys::Allocate::Extend, 0, 1 << 20) {
            println!("skipped: no fallocate here: {error}");
            return;
        }
        file.write_all(&[5; 4096]).unwrap();
        file.sync_all().unwrap();
        let found = provenance(&file).unwrap();
        match found.source {
            ProvenanceSource::Fiemap => {
                assert_eq!(found.unwritten, Some((1 << 20) - 4096));
                assert!(found.measurement_problem().unwrap().contains("never written"));
            }
            ProvenanceSource::SeekHole => println!("skipped: no FIEMAP here"),
        }
    }
}
