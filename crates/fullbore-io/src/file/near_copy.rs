//! Reads into memory whose address is at the page offset of the file's bytes, or up to 31 bytes above it.
//!
//! On some processors, `rep movsb`, with which kernels copy to a program's memory, is slow at such addresses: on AMD's Zen 3 it takes
//! 3 to 8 times as long at 8 to 24 bytes (a read of 1 MiB takes 390 µs instead of 52); other processors are reported to be slow at
//! the page offset itself. Large blocks of the C library's allocator start 16 bytes after a page boundary, so this is the usual case
//! of a `Vec`. Such a read goes to memory 64 bytes further on, and its bytes are then moved into place. The experiment
//! `memory-offset` measures the effect.

use std::io::{self, IoSliceMut};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::inner::File;
use crate::sys::{self, BorrowedHandle, TransferFlags};

/// Minimum length of the reads concerned. Shorter ones gain less than the measurement takes.
pub(super) const LONG: usize = 64 << 10;

/// Distance in bytes above the page offset of the source below which copies may be slow.
const NEAR: usize = 32;

/// Number of bytes by which a read is shifted.
const SHIFT: usize = 64;

/// Maximum number of bytes that are moved at once: the move then finds them in the processor's cache.
pub(super) const PIECE: usize = 1 << 20;

const PAGE: usize = 4096;

impl File {
    /// True if this machine copies `len` bytes at `offset` slowly into memory at the address `memory`. Direct reads are not
    /// copies.
    #[inline]
    pub(super) fn copies_slowly(&self, len: usize, memory: usize, offset: u64) -> bool {
        if len < LONG || self.inner.unit > 1 {
            return false;
        }
        let distance = distance(memory, offset);
        distance < NEAR && is_slow_at(distance)
    }
}

/// Distance in bytes of the memory above the page offset of the source.
fn distance(memory: usize, offset: u64) -> usize {
    memory.wrapping_sub(offset as usize) % PAGE
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
        let len = piece.len();
        let count = match read_piece(file, piece, offset + done as u64, flags) {
            Ok(count) => count,
            Err(error) if done == 0 => return Err(error.into()),
            Err(_) => break,
        };
        done += count;
        // The next piece has another place in `data` than the bytes that follow, if the file has grown since.
        if count < len {
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
    let count = sys::read_vectored_flagged(file, &mut buffers, offset, flags)?;
    let in_data = count.min(room);
    data.copy_within(shift..shift + in_data, 0);
    data[in_data..count].copy_from_slice(&end[..count - in_data]);
    Ok(count)
}

/// True if reads of a file in memory take at least twice as long at this distance, less than [`NEAR`], as at 64 bytes. Measured once,
/// in some 0.1 ms; false on systems without files in memory, where it is not measured.
fn is_slow_at(distance: usize) -> bool {
    static SLOW: OnceLock<[bool; 2]> = OnceLock::new();
    let slow = || measure().map_or([false; 2], |[same, above, far]| [same > 2 * far, above > 2 * far]);
    sys::MEMORY_FILES && SLOW.get_or_init(slow)[usize::from(distance > 0)]
}

/// The shortest of several reads at 0, 16 and 64 bytes above the page offset of the source.
fn measure() -> io::Result<[Duration; 3]> {
    const LEN: usize = 16 << 10;
    let file = sys::memory_file("fullbore-near-copy")?;
    let mut memory = vec![1; LEN + PAGE + SHIFT];
    sys::write_at(&file, &memory[..LEN], 0)?;
    let start = memory.as_ptr().align_offset(PAGE);
    let mut shortest = [Duration::MAX; 3];
    for _ in 0..4 {
        for (distance, shortest) in [0, 16, SHIFT].into_iter().zip(&mut shortest) {
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
    use crate::sys::AsHandle;

    #[test]
    fn the_distance_is_within_a_page() {
        for (memory, offset, bytes) in [
            (0x10_0010, 0, 0x10),
            (0x10_0000, 0, 0),
            (0x10_0fff, 0, 0xfff),
            (0x10_0010, 0x5_0ff8, 0x18),
            (0x10_0010, 0x5_0010, 0),
            (0x10_0010, 0x5_0011, 0xfff),
        ] {
            assert_eq!(distance(memory, offset), bytes, "{memory:#x} {offset:#x}");
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
