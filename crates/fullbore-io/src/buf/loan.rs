//! Buffers of operations in flight: a buffer without its type, in a fixed number of words, and the memory whose address
//! was passed to the system. Nothing is allocated: the words hold the value itself.

use std::mem::{MaybeUninit, align_of, size_of};

use super::owned::Buffer;
use super::request::Direction;
use crate::sys::IoVec;

/// Maximum width of a buffer in words; a [`Buf`](super::Buf) has five.
const WORDS: usize = 8;

/// Maximum number of segments of one call; a longer list is transferred in several calls.
pub(crate) const PIECES: usize = 8;

/// A buffer whose type is known only to the code that lent it.
pub(crate) struct Loan {
    words: [MaybeUninit<u64>; WORDS],
    discard: unsafe fn(*mut u64),
    pieces: [IoVec; PIECES],
    count: usize,
    bytes: usize,
}

// SAFETY: the value in the words is a `Buffer`, which is `Send`, and the pieces point into what it owns.
unsafe impl Send for Loan {}

unsafe fn discard<B>(place: *mut u64) {
    // SAFETY: the words hold a `B`, and the caller does not use them again.
    unsafe { place.cast::<B>().drop_in_place() }
}

impl Loan {
    /// Takes `buffer` and records the part of it that a transfer in `direction` moves after `skip` bytes are done.
    pub(crate) fn new<B: Buffer>(buffer: B, direction: Direction, skip: usize) -> Self {
        const {
            assert!(size_of::<B>() <= size_of::<[u64; WORDS]>(), "the buffer type is wider than eight words");
            assert!(align_of::<B>() <= align_of::<u64>(), "the buffer type is aligned to more than a word");
        }
        let empty = IoVec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut loan = Self {
            words: [MaybeUninit::uninit(); WORDS],
            discard: discard::<B>,
            pieces: [empty; PIECES],
            count: 0,
            bytes: 0,
        };
        let place = loan.words.as_mut_ptr().cast::<B>();
        // SAFETY: size and alignment were checked above, and the words hold no value yet.
        unsafe { place.write(buffer) };
        // Pointers are taken after the move: from here on the value moves only as words.
        // SAFETY: the value was just written.
        let buffer = unsafe { &mut *place };
        let mut skip = skip;
        for index in 0..buffer.segments() {
            let segment = buffer.segment(index);
            let len = if direction == Direction::Write { segment.len } else { segment.room };
            if skip >= len {
                skip -= len;
                continue;
            }
            if loan.count == PIECES {
                break;
            }
            // `wrapping_add` stays within the segment: `skip` is less than its length.
            let start = segment.start.wrapping_add(skip);
            loan.pieces[loan.count] = IoVec { iov_base: start.cast(), iov_len: len - skip };
            loan.count += 1;
            loan.bytes += len - skip;
            skip = 0;
        }
        loan
    }

    /// Returns the buffer.
    ///
    /// # Safety
    /// The loan was created from a `B`.
    pub(crate) unsafe fn into<B: Buffer>(self) -> B {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: the words hold a `B`, which is not dropped here.
        unsafe { this.words.as_ptr().cast::<B>().read() }
    }

    /// The memory that the transfer moves.
    pub(crate) fn pieces(&self) -> &[IoVec] {
        &self.pieces[..self.count]
    }

    /// Limits the loan to the first `most` bytes and the first `pieces` pieces.
    pub(crate) fn shorten(&mut self, pieces: usize, most: usize) {
        let mut left = most;
        let mut count = 0;
        for piece in &mut self.pieces[..self.count.min(pieces)] {
            if left == 0 {
                break;
            }
            piece.iov_len = piece.iov_len.min(left);
            left -= piece.iov_len;
            count += 1;
        }
        (self.count, self.bytes) = (count, most - left);
    }

    /// Length of that memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: the words hold the value that `discard` was created for, and nothing uses it afterwards.
        unsafe { (self.discard)(self.words.as_mut_ptr().cast()) }
    }
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loan")
            .field("pieces", &self.count)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills the memory as the system would.
    fn fill(loan: &Loan, byte: u8) {
        for piece in loan.pieces() {
            // SAFETY: the loan owns the memory.
            unsafe { std::ptr::write_bytes(piece.iov_base.cast::<u8>(), byte, piece.iov_len) };
        }
    }

    #[test]
    fn a_vector_comes_back_filled_after_moves() {
        let loan = Loan::new(Vec::<u8>::with_capacity(100), Direction::Read, 0);
        let moved = Box::new(loan);
        fill(&moved, 7);
        let bytes = moved.bytes();
        // SAFETY: it was made from a vector, whose room was filled.
        let mut back: Vec<u8> = unsafe { (*moved).into() };
        // SAFETY: as above.
        unsafe { back.filled(bytes) };
        assert_eq!(back, vec![7; bytes]);
    }

    #[test]
    fn the_skipped_part_stays_and_segments_follow_each_other() {
        let parts: Vec<Box<[u8]>> = vec![vec![1; 4].into(), vec![2; 4].into(), vec![3; 4].into()];
        let loan = Loan::new(parts, Direction::Read, 6);
        assert_eq!((loan.pieces().len(), loan.bytes()), (2, 6));
        fill(&loan, 9);
        // SAFETY: it was made from that type.
        let back: Vec<Box<[u8]>> = unsafe { loan.into() };
        assert_eq!(back.concat(), [1, 1, 1, 1, 2, 2, 9, 9, 9, 9, 9, 9]);
    }

    #[test]
    fn a_shortened_loan_moves_the_first_bytes() {
        for most in 0..14 {
            let parts: Vec<Box<[u8]>> = vec![vec![1; 4].into(), vec![2; 4].into(), vec![3; 4].into()];
            let mut loan = Loan::new(parts, Direction::Read, 1);
            loan.shorten(PIECES, most);
            assert_eq!(loan.bytes(), most.min(11));
            fill(&loan, 9);
            // SAFETY: it was made from that type.
            let back: Vec<Box<[u8]>> = unsafe { loan.into() };
            let filled = back.concat().iter().filter(|byte| **byte == 9).count();
            assert_eq!(filled, most.min(11));
            assert!(back.concat()[1..=filled].iter().all(|byte| *byte == 9));
        }
    }

    #[test]
    fn a_dropped_loan_frees_its_buffer() {
        struct Counted(Box<[u8]>, #[allow(dead_code, reason = "counted")] std::sync::Arc<()>);
        // SAFETY: as for the box in it.
        unsafe impl Buffer for Counted {
            fn segment(&mut self, index: usize) -> crate::buf::Segment {
                self.0.segment(index)
            }
            unsafe fn filled(&mut self, _: usize) {}
        }
        let alive = std::sync::Arc::new(());
        let loan = Loan::new(Counted(vec![0; 8].into(), alive.clone()), Direction::Write, 0);
        assert_eq!(std::sync::Arc::strong_count(&alive), 2);
        drop(loan);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    }
}
