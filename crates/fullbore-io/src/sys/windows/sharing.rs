//! Blocks that files share, on ReFS.

use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::Ioctl as ioctl;

use super::files::make_sparse;
use super::handle::BorrowedHandle;
use super::information::{attribute_bits, control, set_len};
use super::path::handle_path;
use super::status::status;
use super::volume::{cluster, shares_blocks};
use crate::sys::code::{Code, Result};

/// Shares `len` bytes (0: all to the end) without a copy, on ReFS: whole clusters, of which the last may end with both files, and
/// the target must have them.
pub(crate) fn clone_range(
    source: BorrowedHandle<'_>,
    offset: u64,
    len: u64,
    file: BorrowedHandle<'_>,
    target: u64,
) -> Result<()> {
    // Asked first: the length of a mapped target could not be restored.
    if !shares_blocks(file)? {
        return Err(Code::UNSUPPORTED);
    }
    let (from, into) = (status(source)?, status(file)?);
    if from.dev != into.dev {
        return Err(Code::CROSSES_DEVICES);
    }
    let end = from.size;
    let len = match len {
        0 => end.saturating_sub(offset),
        len => len,
    };
    let (before, after) = (into.size, target.saturating_add(len));
    let whole = if offset.saturating_add(len) == end && after >= before {
        len.next_multiple_of(cluster(&handle_path(&source))?.max(1))
    } else {
        len
    };
    if attribute_bits(&source)? & fs::FILE_ATTRIBUTE_SPARSE_FILE != 0 {
        // Blocks of a sparse file are shared with another sparse one only.
        make_sparse(file)?;
    }
    if after > before {
        set_len(&file, after)?;
    }
    let number = |value: u64| i64::try_from(value).map_err(|_| Code::INVALID);
    let outcome = pieces(whole).try_for_each(|(at, len)| {
        let request = ioctl::DUPLICATE_EXTENTS_DATA {
            FileHandle: source.as_raw_handle(),
            SourceFileOffset: number(offset + at)?,
            TargetFileOffset: number(target + at)?,
            ByteCount: number(len)?,
        };
        control(&file, ioctl::FSCTL_DUPLICATE_EXTENTS_TO_FILE, &request).map_err(of_sharing)
    });
    if outcome.is_err() && after > before {
        set_len(&file, before)?;
    }
    outcome
}

/// Bytes that one call shares: below the 4 GiB that it takes, and whole clusters.
const SHARED_AT_ONCE: u64 = 1 << 30;

/// The offsets and lengths of the calls that share `len` bytes.
fn pieces(len: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(SHARED_AT_ONCE)).map(move |index| {
        let at = index * SHARED_AT_ONCE;
        (at, SHARED_AT_ONCE.min(len - at))
    })
}

/// Errors due to the files or the range are [`Code::INVALID`]: other files of the volume may share blocks.
fn of_sharing(error: Code) -> Code {
    match error.number() as u32 {
        w::ERROR_BLOCK_TOO_MANY_REFERENCES | w::ERROR_OFFSET_ALIGNMENT_VIOLATION => Code::INVALID,
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ranges_are_shared_in_pieces() {
        let end = |len| pieces(len).fold(0, |end, (at, len)| if at == end { at + len } else { u64::MAX });
        for len in [0, 4096, SHARED_AT_ONCE, SHARED_AT_ONCE + 4096, 5 << 30, (9 << 30) + 65_536] {
            assert_eq!(end(len), len);
            assert!(pieces(len).all(|(at, len)| at % SHARED_AT_ONCE == 0 && len > 0 && len < 4 << 30));
        }
        assert_eq!(pieces(5 << 30).count(), 5);
    }

    #[test]
    fn errors_of_one_file_do_not_end_the_sharing_of_others() {
        for number in [w::ERROR_BLOCK_TOO_MANY_REFERENCES, w::ERROR_INVALID_PARAMETER] {
            assert_eq!(of_sharing(Code::from_number(number as i32)), Code::INVALID);
        }
        for code in [Code::UNSUPPORTED, Code::INAPPROPRIATE, Code::NO_SPACE] {
            assert_eq!(of_sharing(code), code);
        }
    }
}
