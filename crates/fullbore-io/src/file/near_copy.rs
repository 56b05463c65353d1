//! Reads into memory whose address is up to 31 bytes above the page offset of the file's bytes.
//!
//! On some processors `rep movsb`, by which kernels copy to a program's memory, is then 3 to 8 times slower: on AMD's Zen 3 a read
//! of 1 MiB takes 390 µs and not 52. Large blocks of most allocators start 16 bytes after a page boundary, so this is the usual
//! case of a `Vec`. Such a read is made 64 bytes further, and its bytes are then moved into place.

use std::io::{self, IoSliceMut};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::sys::{self, BorrowedHandle, TransferFlags};

/// Minimum length of the reads concerned. Shorter ones gain less than the measurement takes.
pub(super) const LONG: usize = 64 << 10;

/// Maximum distance in bytes above the page offset of the source at which copies are slow, plus 1.
const NEAR: usize = 32;

/// Number of bytes by which a read is shifted.
const SHIFT: usize = 64;

/// Maximum number of bytes that are moved at once: the move then finds them in the processor's cache.
pub(super) const PIECE: usize = 1 << 20;

const PAGE: usize = 4096;

/// True if this machine reads `len` bytes at `offset` slowly into memory at the address `memory`.
#[inline]
pub(super) fn is_slow(len: usize, memory: usize, offset: u64) -> bool {
    len >= LONG && is_near(memory, offset) && is_slow_here()
}

fn is_near(memory: usize, offset: u64) -> bool {
    let distance = memory.wrapping_sub(offset as usize) % PAGE;
    0 < distance && distance < NEAR
}

/// Reads at `offset` into `data`, of at least [`LONG`] bytes, in pieces that are moved while the processor's cache has them.
#[cold]
pub(super) fn read_shifted(
    file: BorrowedHandle<'_>,
    data: &mut [u8],
    offset: u64,
    flags: TransferFlags,
) -> io::Result<usize> {
    let mut done = 0;
    for piece in data.chunks_mut(PIECE) {
        match read_piece(file, piece, offset + done as u64, flags) {
            Ok(count) => done += count,
            Err(error) if done == 0 => return Err(error.into()),
            Err(_) => break,
        }
        if !done.is_multiple_of(PIECE) {
            break;
        }
    }
    Ok(done)
}

/// Reads once [`SHIFT`] bytes further, and moves the bytes into place. Those beyond the end of `data` are read elsewhere.
fn read_piece(
    file: BorrowedHandle<'_>,
    data: &mut [u8],
    offset: u64,
    flags: TransferFlags,
) -> sys::Result<usize> {
    let (mut end, shift) = ([0; SHIFT], data.len().min(SHIFT));
    let (end, shifted) = (&mut end[..shift], &mut data[shift..]);
    let room = shifted.len();
    let mut buffers = [IoSliceMut::new(shifted), IoSliceMut::new(end)];
    let count = if flags.is_empty() {
        sys::read_vectored_at(file, &mut buffers, offset)?
    } else {
        sys::read_vectored_flagged(file, &mut buffers, offset, flags)?
    };
    let in_data = count.min(room);
    data.copy_within(shift..shift + in_data, 0);
    data[in_data..count].copy_from_slice(&end[..count - in_data]);
    Ok(count)
}

/// True if reads of a file in memory take at least twice as long near the source's page offset as 64 bytes above it. Measured once,
/// in some 0.1 ms; false where it cannot be measured.
fn is_slow_here() -> bool {
    static SLOW: OnceLock<bool> = OnceLock::new();
    *SLOW.get_or_init(|| measure().is_ok_and(|[near, far]| near > 2 * far))
}

/// The shortest of several reads at 16 and at 64 bytes above the page offset of the source.
fn measure() -> io::Result<[Duration; 2]> {
    const LEN: usize = 16 << 10;
    let file = sys::memory_file("fullbore-near-copy")?;
    let mut memory = vec![1; LEN + PAGE + SHIFT];
    sys::write_at(&file, &memory[..LEN], 0)?;
    let start = memory.as_ptr().align_offset(PAGE);
    let mut shortest = [Duration::MAX; 2];
    for _ in 0..4 {
        for (distance, shortest) in [16, SHIFT].into_iter().zip(&mut shortest) {
            let data = &mut memory[start + distance..][..LEN];
            let began = Instant::now();
            sys::read_at(&file, data, 0)?;
            *shortest = began.elapsed().min(*shortest);
        }
    }
    Ok(shortest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::sys::AsHandle;

    #[test]
    fn near_is_up_to_31_bytes_above_the_page_offset() {
        for (memory, offset, near) in [
            (0x10_0010, 0, true),
            (0x10_0000, 0, false),
            (0x10_001f, 0, true),
            (0x10_0020, 0, false),
            (0x10_0fff, 0, false),
            (0x10_0010, 0x5_0ff8, true),
            (0x10_0010, 0x5_0010, false),
            (0x10_0010, 0x5_0011, false),
        ] {
            assert_eq!(is_near(memory, offset), near, "{memory:#x} {offset:#x}");
        }
    }

    #[test]
    fn shifted_reads_return_the_bytes_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..PIECE + 2000).map(|i| (i * 7 / 3) as u8).collect();
        let path = directory.path().join("file");
        std::fs::write(&path, &content).unwrap();
        let file = File::open(&path).unwrap();
        let mut data = vec![0; PIECE + 1000];
        // All of the memory; the end of the file within the last piece, within its last bytes, between the pieces, in the first
        // piece, and before the offset.
        for left in
            [PIECE + 2000, PIECE + 1000, PIECE + 999, PIECE + 937, PIECE + 936, PIECE + 935, PIECE + 1]
                .into_iter()
                .chain([PIECE, PIECE - 1, PIECE - 63, PIECE - 64, PIECE - 65, 65, 64, 63, 1, 0])
        {
            let offset = content.len() - left;
            let count = read_shifted(file.as_handle(), &mut data, offset as u64, TransferFlags::empty());
            assert_eq!(data[..count.unwrap()], content[offset..][..left.min(data.len())], "{left}");
        }
        for short in 1..SHIFT * 2 {
            let flags = TransferFlags::empty();
            assert_eq!(read_piece(file.as_handle(), &mut data[..short], 5, flags).unwrap(), short);
            assert_eq!(data[..short], content[5..][..short]);
        }
    }

    #[test]
    fn memory_near_the_offset_is_read_as_any_other() {
        let directory = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..2 * LONG + 77).map(|i| (i * 5 / 3) as u8).collect();
        let path = directory.path().join("file");
        std::fs::write(&path, &content).unwrap();
        let file = File::open(&path).unwrap();
        let mut memory = vec![0; content.len() + PAGE + NEAR];
        let start = memory.as_ptr().align_offset(PAGE);
        for distance in 0..NEAR + 2 {
            let data = &mut memory[start + distance..][..content.len()];
            data.fill(0xee);
            file.read_exact_at(data, 0).unwrap();
            assert_eq!(data, content, "{distance}");
        }
    }
}
