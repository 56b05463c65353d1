//! Buffers that an operation owns while it runs: any type that guarantees the address of its bytes.

use super::pool::{Buf, Direction};

/// A run of memory that a [`Buffer`] lends to the system.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Address of the first byte.
    pub start: *mut u8,
    /// Bytes of data: the length of a write.
    pub len: usize,
    /// Bytes that a read may fill.
    pub room: usize,
}

impl Segment {
    /// Bytes that a transfer moves.
    pub(super) fn bytes(&self, direction: Direction) -> usize {
        if direction == Direction::Write { self.len } else { self.room }
    }
}

/// Memory that an asynchronous operation takes ownership of and returns.
///
/// A read fills it from the start and then calls [`filled`](Self::filled); a write writes its data. A `Vec` of buffers
/// is a buffer too: its segments are read and written together (scatter/gather), at most 8 segments per call. `read_at` and
/// `write_at`, which make one call, therefore end after 8 segments; `read_exact_at` and `write_all_at` continue.
///
/// ```
/// use fullbore_io::buf::Buffer;
/// let mut bytes = Vec::with_capacity(64);
/// bytes.push(1u8);
/// let segment = bytes.segment(0);
/// assert_eq!((segment.len, segment.room), (1, 64));
/// ```
///
/// # Safety
/// Every [`Segment`] must stay valid, at its address and without another user, when the value moves and until it is
/// dropped: `room` bytes for writing, the first `len` of them initialised, `len` not above `room`. The value may be
/// dropped directly after the segments were used, on another thread.
///
/// A type wider than eight words is a compile error.
pub unsafe trait Buffer: Send + Sized + 'static {
    /// Returns the number of segments.
    fn segments(&self) -> usize {
        1
    }

    /// Returns segment number `index`, from 0.
    fn segment(&mut self, index: usize) -> Segment;

    /// Passes all segments in order to `visit`. A buffer that searches for its segments overrides it to visit each of them once.
    fn each_segment(&mut self, visit: &mut dyn FnMut(Segment)) {
        (0..self.segments()).for_each(|index| visit(self.segment(index)));
    }

    /// Records that a read filled the first `count` bytes, counted across all segments.
    ///
    /// # Safety
    /// That many bytes are initialised, and the buffer has room for them.
    unsafe fn filled(&mut self, count: usize);
}

// SAFETY: a vector's heap memory does not move with it, and it owns its capacity.
unsafe impl Buffer for Vec<u8> {
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.as_mut_ptr(), len: self.len(), room: self.capacity() }
    }

    /// Sets the length of the vector to `count`.
    unsafe fn filled(&mut self, count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.set_len(count) }
    }
}

// SAFETY: the memory of a box does not move with it.
unsafe impl Buffer for Box<[u8]> {
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.as_mut_ptr(), len: self.len(), room: self.len() }
    }

    /// Keeps the length: the caller uses the count that the read returned.
    unsafe fn filled(&mut self, _: usize) {}
}

// SAFETY: a slot of a mapping that lives as long as the buffer, owned by this buffer only.
unsafe impl Buffer for Buf {
    /// Returns the data, at its address.
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.pointer(), len: self.len(), room: self.len() }
    }

    /// Keeps the length: the caller uses the count that the read returned.
    unsafe fn filled(&mut self, _: usize) {}
}

// SAFETY: the elements' segments keep their addresses when the elements move.
unsafe impl<B: Buffer> Buffer for Vec<B> {
    fn segments(&self) -> usize {
        self.iter().map(Buffer::segments).sum()
    }

    fn segment(&mut self, index: usize) -> Segment {
        let mut index = index;
        for buffer in self {
            let own = buffer.segments();
            if index < own {
                return buffer.segment(index);
            }
            index -= own;
        }
        Segment { start: std::ptr::NonNull::dangling().as_ptr(), len: 0, room: 0 }
    }

    fn each_segment(&mut self, visit: &mut dyn FnMut(Segment)) {
        self.iter_mut().for_each(|buffer| buffer.each_segment(visit));
    }

    unsafe fn filled(&mut self, count: usize) {
        let mut left = count;
        for buffer in self {
            let mut room = 0;
            buffer.each_segment(&mut |segment| room += segment.room);
            let own = left.min(room);
            // SAFETY: the segments are filled in order, so these bytes of this buffer are.
            unsafe { buffer.filled(own) };
            left -= own;
        }
    }
}
