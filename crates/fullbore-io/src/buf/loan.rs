//! Buffers of operations in flight: a type-erased buffer in a fixed number of words, and the memory whose address is
//! passed to the system. Nothing is allocated, because the words hold the value itself.

use std::any::TypeId;
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};

use super::owned::{Buffer, Segment};
use super::pool::Direction;
use crate::sys::memory::IoVec;

/// Maximum width of a buffer in words; a [`Buf`](super::pool::Buf) has five.
const WORDS: usize = 8;

/// Maximum number of segments of one call; a longer list is transferred in several calls.
const PIECES: usize = 8;

/// A buffer whose type is known only to the code that lent it, and the progress of its transfer.
pub(crate) struct Loan {
    words: [MaybeUninit<u64>; WORDS],
    buffer_type: &'static BufferType,
    direction: Direction,
    /// The memory of the next call.
    pieces: [IoVec; PIECES],
    count: usize,
    bytes: usize,
    /// Bytes that all calls together can move.
    total: usize,
    /// Number of bytes, the first ones, that the calls so far moved. After a read they are initialised.
    moved: usize,
    /// All segments, if one call cannot take them: finding each of them again could take time in proportion to their number.
    segments: Vec<Segment>,
    /// The first segments that are moved whole, and their bytes: a search for the rest begins after them.
    passed: (usize, usize),
}

// SAFETY: the value in the words is a `Buffer`, which is `Send`, and the pieces point into what it owns.
unsafe impl Send for Loan {}

/// The functions of a buffer's type.
struct BufferType {
    id: fn() -> TypeId,
    drop: unsafe fn(*mut u64),
    select: unsafe fn(&mut Loan),
}

struct TypeOf<B>(B);

impl<B: Buffer> TypeOf<B> {
    const FUNCTIONS: &BufferType =
        &BufferType { id: TypeId::of::<B>, drop: Self::drop, select: Self::select };

    /// # Safety
    /// `place` holds a `B`, which is not used again.
    unsafe fn drop(place: *mut u64) {
        // SAFETY: guaranteed by the caller.
        unsafe { place.cast::<B>().drop_in_place() }
    }

    /// Records the memory after the bytes that are moved already.
    ///
    /// # Safety
    /// The words of `loan` hold a `B`.
    unsafe fn select(loan: &mut Loan) {
        // SAFETY: guaranteed by the caller; the words are borrowed mutably with the loan.
        let buffer = unsafe { &mut *loan.words.as_mut_ptr().cast::<B>() };
        (loan.count, loan.bytes) = (0, 0);
        let mut skip = loan.moved - loan.passed.1;
        let count = if loan.segments.is_empty() { buffer.segments() } else { loan.segments.len() };
        for index in loan.passed.0..count {
            let segment = match loan.segments.get(index) {
                Some(segment) => *segment,
                None => buffer.segment(index),
            };
            let len = segment.bytes(loan.direction);
            if skip >= len {
                skip -= len;
                if loan.count == 0 {
                    loan.passed = (index + 1, loan.passed.1 + len);
                }
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
    }
}

impl Loan {
    /// Takes `buffer` for a transfer in `direction`.
    pub(crate) fn new<B: Buffer>(buffer: B, direction: Direction) -> Self {
        const {
            assert!(size_of::<B>() <= size_of::<[u64; WORDS]>(), "the buffer type is wider than eight words");
            assert!(align_of::<B>() <= align_of::<u64>(), "the buffer type is aligned to more than a word");
        }
        let empty = IoVec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut words = [MaybeUninit::uninit(); WORDS];
        // SAFETY: size and alignment were checked above, and the words hold no value yet.
        unsafe { words.as_mut_ptr().cast::<B>().write(buffer) };
        let mut loan = Self {
            words,
            buffer_type: TypeOf::<B>::FUNCTIONS,
            direction,
            pieces: [empty; PIECES],
            count: 0,
            bytes: 0,
            total: 0,
            moved: 0,
            segments: Vec::new(),
            passed: (0, 0),
        };
        // Pointers are taken after the move: from here on the value moves only as words.
        // SAFETY: the words hold a `B`, and are borrowed mutably with the loan.
        let buffer = unsafe { &mut *loan.words.as_mut_ptr().cast::<B>() };
        let many = buffer.segments() > PIECES;
        buffer.each_segment(&mut |segment| {
            loan.total += segment.bytes(direction);
            loan.segments.extend(many.then_some(segment));
        });
        loan.select_rest();
        loan
    }

    /// Selects for the next call what is not moved yet.
    pub(crate) fn select_rest(&mut self) {
        // SAFETY: the words hold the value that the functions were chosen for.
        unsafe { (self.buffer_type.select)(self) }
    }

    /// Returns the buffer. If the transfer is a read that succeeded or moved bytes, they are recorded in it.
    ///
    /// # Panics
    /// If the buffer is not a `B`.
    pub(crate) fn into_buffer<B: Buffer>(self, succeeded: bool) -> B {
        assert_eq!((self.buffer_type.id)(), TypeId::of::<B>(), "the loan is of another type");
        let mut this = ManuallyDrop::new(self);
        // The only other field that owns memory.
        drop(std::mem::take(&mut this.segments));
        // SAFETY: the words hold a `B`, which is not dropped here.
        let mut buffer = unsafe { this.words.as_ptr().cast::<B>().read() };
        if this.direction == Direction::Read && (succeeded || this.moved > 0) {
            // SAFETY: the calls initialised that many bytes from the start.
            unsafe { buffer.filled(this.moved) };
        }
        buffer
    }

    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// The memory that the next call moves.
    pub(crate) fn pieces(&self) -> &[IoVec] {
        &self.pieces[..self.count]
    }

    /// Limits the next call to the first `most` bytes and the first `pieces` pieces.
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

    /// Length of the memory of the next call in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn moved(&self) -> usize {
        self.moved
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.moved == self.total
    }

    /// Records that a call moved `count` bytes.
    ///
    /// # Safety
    /// The call moved that many bytes from the start of [`pieces`](Self::pieces): after a read they are initialised.
    pub(crate) unsafe fn advance(&mut self, count: usize) {
        self.moved += count.min(self.bytes);
        (self.count, self.bytes) = (0, 0);
    }

    /// Makes the next call by `read` or `write`, for each piece with the bytes moved before it, up to a short one. An error after
    /// moved bytes is not returned.
    pub(crate) fn move_by(
        &mut self,
        mut read: impl FnMut(&mut [u8], usize) -> io::Result<usize>,
        mut write: impl FnMut(&[u8], usize) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut done = 0;
        for piece in self.pieces() {
            let (start, len) = (piece.iov_base.cast::<u8>(), piece.iov_len);
            let moved = match self.direction {
                Direction::Read => {
                    // SAFETY: the buffer owns the memory, and the loan, which is borrowed mutably, owns the buffer. The memory
                    // may be uninitialised, so it is initialised here.
                    let data = unsafe {
                        start.write_bytes(0, len);
                        std::slice::from_raw_parts_mut(start, len)
                    };
                    read(data, done)
                }
                // SAFETY: as above; the bytes to write are initialised.
                Direction::Write => write(unsafe { std::slice::from_raw_parts(start, len) }, done),
            };
            match moved {
                Ok(moved) => {
                    done += moved.min(len);
                    if moved < len {
                        break;
                    }
                }
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        // SAFETY: that many bytes from the start are initialised.
        unsafe { self.advance(done) };
        Ok(done)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // SAFETY: the words hold the value that the functions were chosen for, and nothing uses it afterwards.
        unsafe { (self.buffer_type.drop)(self.words.as_mut_ptr().cast()) }
    }
}

impl std::fmt::Debug for Loan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loan")
            .field("direction", &self.direction)
            .field("pieces", &self.count)
            .field("bytes", &self.bytes)
            .field("moved", &self.moved)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(loan: &mut Loan, byte: u8) {
        for piece in loan.pieces() {
            // SAFETY: the loan owns the memory.
            unsafe { std::ptr::write_bytes(piece.iov_base.cast::<u8>(), byte, piece.iov_len) };
        }
        // SAFETY: all pieces are filled.
        unsafe { loan.advance(loan.bytes()) };
    }

    /// Three segments of four bytes.
    fn parts() -> Vec<Box<[u8]>> {
        (1..=3).map(|byte| Box::<[u8]>::from([byte; 4])).collect()
    }

    #[test]
    fn a_vector_comes_back_filled_after_moves() {
        let loan = Loan::new(Vec::<u8>::with_capacity(100), Direction::Read);
        let mut moved = Box::new(loan);
        fill(&mut moved, 7);
        let bytes = moved.moved();
        let back: Vec<u8> = (*moved).into_buffer(true);
        assert_eq!(back, vec![7; bytes]);
    }

    #[test]
    fn a_buffer_keeps_its_length_if_nothing_is_read() {
        for (succeeded, len) in [(false, 3), (true, 0)] {
            let loan = Loan::new(vec![1u8; 3], Direction::Read);
            assert_eq!(loan.into_buffer::<Vec<u8>>(succeeded).len(), len);
        }
    }

    #[test]
    #[should_panic(expected = "of another type")]
    fn a_loan_returns_no_other_type() {
        let loan = Loan::new(vec![1u8; 3], Direction::Read);
        let _: Box<[u8]> = loan.into_buffer(true);
    }

    #[test]
    fn the_moved_part_stays_and_segments_follow_each_other() {
        let mut loan = Loan::new(parts(), Direction::Read);
        loan.shorten(PIECES, 6);
        fill(&mut loan, 8);
        assert!(!loan.is_whole());
        loan.select_rest();
        assert_eq!((loan.pieces().len(), loan.bytes()), (2, 6));
        fill(&mut loan, 9);
        assert!(loan.is_whole());
        let back: Vec<Box<[u8]>> = loan.into_buffer(true);
        assert_eq!(back.concat(), [8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9]);
    }

    #[test]
    fn a_shortened_loan_moves_the_first_bytes() {
        for most in 0..14 {
            let mut loan = Loan::new(parts(), Direction::Read);
            loan.shorten(PIECES, most);
            assert_eq!(loan.bytes(), most.min(12));
            fill(&mut loan, 9);
            let back: Vec<Box<[u8]>> = loan.into_buffer(true);
            let filled = back.concat().iter().filter(|byte| **byte == 9).count();
            assert_eq!(filled, most.min(12));
            assert!(back.concat()[..filled].iter().all(|byte| *byte == 9));
        }
    }

    /// More bytes than a piece has, as a wrong call could return, are not recorded.
    #[test]
    fn calls_on_slices_move_piece_by_piece_up_to_a_short_one() {
        for (results, want) in [([4, 4, 4], 12), ([4, 1, 4], 5), ([9, 4, 4], 12), ([0, 4, 4], 0)] {
            let mut loan = Loan::new(parts(), Direction::Read);
            let mut calls = 0;
            let read = |data: &mut [u8], done: usize| {
                assert_eq!(done, calls * 4);
                data.fill(7);
                calls += 1;
                Ok(results[calls - 1])
            };
            assert_eq!(loan.move_by(read, |_, _| unreachable!("a read")).unwrap(), want);
            assert_eq!(loan.moved(), want);
            let back = loan.into_buffer::<Vec<Box<[u8]>>>(true).concat();
            assert_eq!(back.iter().filter(|byte| **byte == 7).count(), calls * 4);
        }
        let mut loan = Loan::new(b"bytes".to_vec(), Direction::Write);
        let mut written = Vec::new();
        let write = |data: &[u8], _: usize| {
            written.extend_from_slice(&data[..2]);
            Ok(2)
        };
        assert_eq!(loan.move_by(|_, _| unreachable!("a write"), write).unwrap(), 2);
        assert_eq!((loan.moved(), written.as_slice()), (2, b"by".as_slice()));
        loan.select_rest();
        let failed = loan.move_by(|_, _| unreachable!("a write"), |_, _| Err(io::ErrorKind::Other.into()));
        assert!(failed.is_err());
        assert_eq!((loan.moved(), loan.into_buffer::<Vec<u8>>(false)), (2, b"bytes".to_vec()));
    }

    #[test]
    fn the_segments_of_nested_buffers_are_moved_in_order() {
        let parts: Vec<Vec<Vec<u8>>> =
            (0..30u8).map(|outer| vec![vec![outer; 2]; usize::from(outer) % 4]).collect();
        let want = parts.concat().concat();
        let mut loan = Loan::new(parts, Direction::Write);
        let mut written = Vec::new();
        while !loan.is_whole() {
            loan.select_rest();
            let write = |data: &[u8], _: usize| {
                written.extend_from_slice(data);
                Ok(data.len())
            };
            loan.move_by(|_, _| unreachable!("a write"), write).unwrap();
        }
        assert!(written == want);
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
        let loan = Loan::new(Counted(vec![0; 8].into(), alive.clone()), Direction::Write);
        assert_eq!(std::sync::Arc::strong_count(&alive), 2);
        drop(loan);
        assert_eq!(std::sync::Arc::strong_count(&alive), 1);
    }
}
