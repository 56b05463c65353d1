//! Requirements of direct I/O on memory and offsets, reported by the system or determined by trial reads.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::residency::residency;
use crate::error::reason;
use crate::file::cleanup::{Temporary, nameless};
use crate::sys::{
    self, Advice, AsHandle, BorrowedHandle, Code, ExtendedStatus, FileKind, FileSystemKind, Handle, OpenFlags,
};

/// Alignments to try in bytes, smallest first.
const TRIED: [u64; 4] = [512, 1024, 2048, 4096];

const SAMPLE: usize = 64 << 10;

/// The largest unit (folio) in which the page cache holds files with 4 KiB pages, in bytes.
pub(crate) const LARGEST_FOLIO: u64 = 2 << 20;

/// Alignment requirements of direct I/O, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Alignment {
    /// Alignment of buffers in memory.
    pub memory: u64,
    /// Alignment of offsets and lengths.
    pub offset: u64,
    /// Like `offset`, for reads only, if the system allows a smaller alignment for them.
    pub read_offset: Option<u64>,
    /// True if direct writes go through the page cache anyway (btrfs with checksums). `None` if not tried.
    pub writes_cached: Option<bool>,
    pub source: AlignmentSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum AlignmentSource {
    /// Reported by `statx(2)`: `STATX_DIOALIGN`.
    Statx,
    /// The sector in the geometry that a device on Windows reports (`IOCTL_DISK_GET_DRIVE_GEOMETRY_EX`).
    Geometry,
    /// Trial reads, with the page cache observed: the smallest alignment that bypassed it.
    Tried,
    /// The file opens for direct I/O, but it has nothing to read or the page cache could not be observed: one
    /// file-system block, which is safe.
    Assumed,
}

/// Reason for the absence of direct I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum NoDirect {
    /// Direct I/O does not work on this file, for this reason.
    Refused(String),
    /// The availability could not be determined, for this reason.
    Unknown(String),
}

impl NoDirect {
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused(reason) | Self::Unknown(reason) => reason,
        }
    }
}

impl fmt::Display for NoDirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(reason) => write!(f, "no direct I/O: {reason}"),
            Self::Unknown(reason) => write!(f, "direct I/O: unknown: {reason}"),
        }
    }
}

impl std::error::Error for NoDirect {}

fn unknown(what: &str) -> impl Fn(io::Error) -> NoDirect {
    move |error| NoDirect::Unknown(format!("{what}: {}", reason(&error)))
}

/// Determines the alignment that direct I/O requires on an open file. The file itself need not be open for direct I/O.
///
/// If the file system does not report the alignment, the file is opened a second time with `O_DIRECT`, and small reads
/// are tried at its start. Before that, up to 2 MiB of its pages there are dropped from the page cache, so that a read
/// which the system silently serves through the cache is detected. Nothing is written.
///
/// # Errors
/// [`NoDirect`] if the file does not support direct I/O, or if the alignment could not be determined.
pub fn direct_alignment(file: impl AsHandle) -> Result<Alignment, NoDirect> {
    let fd = file.as_handle();
    let status = sys::extended_status(fd).map_err(unknown("cannot stat the file"))?;
    if let Some(reported) = reported(&status) {
        return reported;
    }
    refuse_other_kinds(&status)?;
    refuse_memory(sys::file_system_kind(fd).map_err(|error| unknown("statfs")(error.into()))?)?;
    let direct = reopen_direct(fd)?;
    try_reads(direct.into(), status.size)
}

/// The alignment that the system reports for an open file, without a trial; `None` if it reports none.
pub(crate) fn reported_alignment(file: impl AsHandle) -> Option<Result<Alignment, NoDirect>> {
    reported(&sys::extended_status(file.as_handle()).ok()?)
}

/// Determines the alignment that direct I/O requires on a path. For a directory it is that of a new file: a nameless file of
/// 64 KiB is written unless the file system reports the alignment.
pub(crate) fn alignment_at(path: &Path, status: &ExtendedStatus) -> Result<Alignment, NoDirect> {
    if let Some(reported) = reported(status) {
        return reported;
    }
    let kind = FileKind::of_mode(status.mode);
    refuse_other_kinds(status).or_else(|no| if kind == FileKind::Directory { Ok(()) } else { Err(no) })?;
    refuse_memory(sys::file_system_kind_of(path).map_err(|error| unknown("statfs")(error.into()))?)?;
    if kind == FileKind::Directory {
        return in_folder(path);
    }
    let flags = OpenFlags::READ | OpenFlags::NONBLOCK | OpenFlags::NOCTTY;
    let file = sys::open(path, flags, 0)
        .map_err(|error| unknown("cannot open the file for reading")(error.into()))?;
    direct_alignment(file)
}

fn reported(status: &ExtendedStatus) -> Option<Result<Alignment, NoDirect>> {
    let reported = status.direct?;
    if reported.memory == 0 || reported.offset == 0 {
        return Some(Err(NoDirect::Refused("reported by the file system (STATX_DIOALIGN is 0)".to_owned())));
    }
    Some(Ok(Alignment {
        memory: reported.memory.into(),
        offset: reported.offset.into(),
        read_offset: reported.read_offset.map(u64::from),
        writes_cached: None,
        source: if reported.by_geometry { AlignmentSource::Geometry } else { AlignmentSource::Statx },
    }))
}

fn refuse_other_kinds(status: &ExtendedStatus) -> Result<(), NoDirect> {
    match FileKind::of_mode(status.mode) {
        FileKind::Regular => Ok(()),
        FileKind::BlockDevice => Err(NoDirect::Unknown(
            "this kernel does not report the alignment of block devices; devices are not tried".to_owned(),
        )),
        FileKind::Directory => Err(NoDirect::Refused("a directory has no bytes to read or write".to_owned())),
        _ => Err(NoDirect::Refused("neither a regular file nor a block device".to_owned())),
    }
}

/// Recent kernels allow `O_DIRECT` on files of tmpfs, but there is no device.
fn refuse_memory(kind: FileSystemKind) -> Result<(), NoDirect> {
    match kind.is_off_device() {
        true => Err(NoDirect::Refused(format!("{} is in memory: there is no device", kind.name()))),
        false => Ok(()),
    }
}

fn reopen_direct(fd: BorrowedHandle<'_>) -> Result<Handle, NoDirect> {
    let flags = OpenFlags::READ | OpenFlags::DIRECT | OpenFlags::NONBLOCK;
    sys::reopen(&fd, flags).map_err(|error| match error {
        Code::INVALID | Code::UNSUPPORTED => {
            NoDirect::Refused(format!("the file system refuses O_DIRECT: {}", io::Error::from(error)))
        }
        other => unknown("cannot open the file again for direct reading")(other.into()),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadOutcome {
    /// Succeeded and left nothing in the page cache.
    Direct,
    /// Served through the page cache.
    Cached,
    /// Refused as misaligned.
    Misaligned,
    /// Succeeded; the page cache could not be observed.
    Unseen,
}

fn try_reads(file: File, size: u64) -> Result<Alignment, NoDirect> {
    if size == 0 {
        return Ok(assumed(&file));
    }
    // The first of the smaller offsets tried is not a multiple of the larger ones, which distinguishes them.
    let mut buffer = vec![0u8; 4 * 4096];
    let outcome = |offset: u64, memory: u64, buffer: &mut [u8]| {
        let at = if offset * 2 <= size { offset } else { 0 };
        read_at(&file, at, offset, memory, buffer)
    };
    let (mut cached, mut unseen, mut found) = (false, false, None);
    for offset in TRIED {
        match outcome(offset, 4096, &mut buffer)? {
            ReadOutcome::Direct => {
                found = Some(offset);
                break;
            }
            ReadOutcome::Cached => cached = true,
            ReadOutcome::Unseen => unseen = true,
            ReadOutcome::Misaligned => {}
        }
    }
    let Some(offset) = found else {
        return match (unseen, cached) {
            (true, _) => Ok(assumed(&file)),
            (false, true) => Err(NoDirect::Refused(
                "the file opens with O_DIRECT, but its reads go through the page cache \
                 (compressed, inline or checksummed data)"
                    .to_owned(),
            )),
            (false, false) => Err(NoDirect::Refused(format!(
                "direct reads fail at every alignment up to {} bytes",
                TRIED[TRIED.len() - 1]
            ))),
        };
    };
    let mut memory = 4096;
    for smaller in TRIED {
        if outcome(offset, smaller, &mut buffer)? == ReadOutcome::Direct {
            memory = smaller;
            break;
        }
    }
    Ok(Alignment { memory, offset, read_offset: None, writes_cached: None, source: AlignmentSource::Tried })
}

/// Reads `length` bytes directly at `offset` into memory aligned to `memory` bytes and to no more.
fn read_at(
    file: &File,
    offset: u64,
    length: u64,
    memory: u64,
    buffer: &mut [u8],
) -> Result<ReadOutcome, NoDirect> {
    let pages = offset..offset + length;
    // The cache can be observed only where it is empty.
    let watched = emptied(file, pages.clone());
    let start = odd_multiple(buffer.as_ptr().addr(), memory as usize);
    let Some(target) = buffer.get_mut(start..start + length as usize) else {
        return Err(NoDirect::Unknown("the trial buffer is too small".to_owned()));
    };
    match sys::read_at(file, target, offset).map_err(io::Error::from) {
        Ok(_) if !watched => Ok(ReadOutcome::Unseen),
        Ok(_) => match residency(file, pages) {
            Ok(after) if after.cached == 0 => Ok(ReadOutcome::Direct),
            Ok(_) => Ok(ReadOutcome::Cached),
            Err(_) => Ok(ReadOutcome::Unseen),
        },
        Err(error) if Code::of(&error) == Some(Code::INVALID) => Ok(ReadOutcome::Misaligned),
        Err(error) => Err(unknown("a direct read failed")(error)),
    }
}

/// Drops the pages of a range from the cache, as whole folios: the range is enlarged until none is left. True if none is.
fn emptied(file: &File, range: Range<u64>) -> bool {
    let gone = || residency(file, range.clone()).is_ok_and(|found| found.cached == 0);
    gone()
        || [64 << 10, LARGEST_FOLIO].into_iter().any(|unit| {
            let start = range.start / unit * unit;
            let length = range.end.div_ceil(unit) * unit - start;
            sys::advise(file, start, Some(length), Advice::DontNeed).is_ok() && gone()
        })
}

/// Returns the distance from an address to the next multiple of `align`, a power of two, that is not one of twice `align`.
fn odd_multiple(address: usize, align: usize) -> usize {
    let next = address.next_multiple_of(align);
    let odd = if next.is_multiple_of(2 * align) { next + align } else { next };
    odd - address
}

/// One block of the file system.
fn assumed(file: &File) -> Alignment {
    let block = sys::space(file).map_or(4096, |room| room.block);
    let block = if block.is_power_of_two() { block.clamp(4096, 65536) } else { 4096 };
    Alignment {
        memory: block,
        offset: block,
        read_offset: None,
        writes_cached: None,
        source: AlignmentSource::Assumed,
    }
}

/// A file for trials, and its name, if it has one: Windows does not open a file again that lost its name.
fn trial_file(folder: &Path) -> io::Result<(File, Option<Temporary>)> {
    let (file, name) = nameless(folder, OpenFlags::READ_WRITE, 0o600)?;
    Ok((file.into(), name))
}

/// Determines the alignment of new files in a directory, by a file that is removed before the function returns.
fn in_folder(folder: &Path) -> Result<Alignment, NoDirect> {
    let (mut file, _name) =
        trial_file(folder).map_err(unknown("cannot create a trial file in the directory"))?;
    let status = sys::extended_status(file.as_handle()).map_err(unknown("cannot stat the trial file"))?;
    if let Some(reported) = reported(&status) {
        return reported;
    }
    write_sample(&mut file).map_err(unknown("cannot write the trial file"))?;
    let mut alignment = direct_alignment(&file)?;
    if alignment.source == AlignmentSource::Tried {
        alignment.writes_cached = writes_cached(&file, alignment);
    }
    Ok(alignment)
}

fn write_sample(file: &mut File) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let sample: Vec<u8> = (0..SAMPLE / 8)
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect();
    sys::write_all_at(&*file, &sample, 0)?;
    file.sync_data()
}

/// True if a direct write to a trial file goes through the page cache; `None` if unknown.
///
/// btrfs drops the pages of such a write afterwards. But a page held by a pipe cannot be dropped, while a write that bypasses the
/// cache must remove the old page, held or not.
fn writes_cached(file: &File, alignment: Alignment) -> Option<bool> {
    let direct = sys::reopen(&file, OpenFlags::READ_WRITE | OpenFlags::DIRECT).ok()?;
    let direct = File::from(direct);
    let length = alignment.offset.max(4096);
    let buffer = vec![0x5au8; 2 * 4096 + length as usize];
    let start = odd_multiple(buffer.as_ptr().addr(), 4096);
    let (_reader, writer) = sys::pipe().ok()?;
    let held = sys::splice(file, Some(&mut 0), &writer, None, length as usize, sys::Splice::NoWait);
    if held.ok()? == 0 || residency(file, 0..length).ok()?.cached == 0 {
        return None;
    }
    sys::write_all_at(&direct, buffer.get(start..start + length as usize)?, 0).ok()?;
    residency(&direct, 0..length).ok().map(|after| after.cached > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fullbore_testkit::ground::build_directory;

    #[test]
    fn memory_has_exactly_the_requested_alignment() {
        for address in [1usize, 512, 4096, 8192, 12_345] {
            for align in [512usize, 1024, 4096] {
                let found = address + odd_multiple(address, align);
                assert!(found >= address && found.is_multiple_of(align) && !found.is_multiple_of(2 * align));
            }
        }
    }

    #[test]
    fn trial_reads_agree_with_the_system() {
        let (mut file, _name) = trial_file(&build_directory()).unwrap();
        write_sample(&mut file).unwrap();
        let Some(Ok(reported)) = reported(&sys::extended_status(file.as_handle()).unwrap()) else {
            println!("skipped: the file system does not report the alignment");
            return;
        };
        let direct = reopen_direct(file.as_handle()).unwrap();
        let tried = try_reads(direct.into(), SAMPLE as u64).unwrap();
        if cfg!(windows) {
            assert_eq!(tried.source, AlignmentSource::Assumed, "the page cache cannot be observed");
            return;
        }
        assert_eq!(tried.source, AlignmentSource::Tried);
        // 512 is the smallest alignment tried; the system may allow less.
        assert_eq!(tried.offset, reported.read_offset.unwrap_or(reported.offset).max(512));
        assert_eq!(tried.memory, reported.memory.max(512));
    }

    #[test]
    fn writes_of_journaled_blocks_and_logs_go_to_the_device() {
        let (mut file, _name) = trial_file(&build_directory()).unwrap();
        let kind = sys::file_system_kind(&file).unwrap();
        if !["ext4", "xfs"].contains(&kind.name()) {
            println!("skipped: neither ext4 nor XFS");
            return;
        }
        write_sample(&mut file).unwrap();
        let alignment = direct_alignment(&file).unwrap();
        assert_eq!(writes_cached(&file, alignment), Some(false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_refused_with_its_name() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
            println!("skipped: no /dev/shm");
            return;
        };
        let Err(NoDirect::Refused(reason)) = direct_alignment(&file) else { panic!("tmpfs is in memory") };
        assert!(reason.contains("tmpfs"), "{reason}");
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_and_a_directory_are_refused() {
        let (reader, _writer) = sys::pipe().unwrap();
        assert!(matches!(direct_alignment(reader), Err(NoDirect::Refused(_))));
        let folder = File::open("/").unwrap();
        assert!(matches!(direct_alignment(folder), Err(NoDirect::Refused(_))));
    }

    #[test]
    fn the_directory_is_left_unchanged() {
        let folder = tempfile::tempdir_in(build_directory()).unwrap();
        let _ = in_folder(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
