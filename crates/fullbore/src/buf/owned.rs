//! Buffers that an operation owns while it runs: any type that promises to keep its bytes where they are.

use super::Buf;

/// A run of memory that a [`Buffer`] lends to the system.
///
/// ```
/// use fullbore::buf::Buffer;
/// let mut bytes = vec![1u8, 2, 3];
/// let segment = bytes.segment(0);
/// assert_eq!((segment.start, segment.len), (bytes.as_mut_ptr(), 3));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Where it starts.
    pub start: *mut u8,
    /// How many bytes of data it holds: what a write writes.
    pub len: usize,
    /// How many bytes a read may fill.
    pub room: usize,
}

/// Memory that an asynchronous operation takes over and gives back.
///
/// A read fills it from the start and tells [`filled`](Self::filled); a write writes what it holds. A `Vec` of
/// buffers is a buffer too: its segments are read and written in one call, scattered and gathered.
///
/// ```
/// use fullbore::buf::Buffer;
/// let mut bytes = Vec::with_capacity(64);
/// bytes.push(1u8);
/// let segment = bytes.segment(0);
/// assert_eq!((segment.len, segment.room), (1, 64));
/// ```
///
/// # Safety
/// Every [`Segment`] must stay valid, at its place and nobody else's, when the value is moved and until it is
/// dropped: `room` bytes for writing, the first `len` of them initialised, `len` not above `room`. Dropping the
/// value may be the first thing that happens to it after the segments were used, on another thread.
///
/// A type wider than eight words is refused when the program is compiled.
pub unsafe trait Buffer: Send + Sized + 'static {
    /// How many segments it has.
    ///
    /// ```
    /// use fullbore::buf::Buffer;
    /// assert_eq!(vec![1u8, 2].segments(), 1);
    /// assert_eq!(vec![vec![1u8], vec![2, 3]].segments(), 2);
    /// ```
    fn segments(&self) -> usize {
        1
    }

    /// The segment number `index`, from 0.
    ///
    /// ```
    /// use fullbore::buf::Buffer;
    /// let mut both = vec![vec![1u8], vec![2, 3]];
    /// assert_eq!(both.segment(1).start, both[1].as_mut_ptr());
    /// ```
    fn segment(&mut self, index: usize) -> Segment;

    /// Learns that a read filled the first `count` bytes, counted through all segments.
    ///
    /// ```
    /// use fullbore::buf::Buffer;
    /// let mut bytes = Vec::<u8>::with_capacity(64);
    /// let segment = bytes.segment(0);
    /// // SAFETY: there is room for a byte, and it is written.
    /// unsafe {
    ///     segment.start.write(7);
    ///     bytes.filled(1);
    /// }
    /// assert_eq!(bytes, [7]);
    /// ```
    ///
    /// # Safety
    /// That many bytes are initialised, and there is room for them.
    unsafe fn filled(&mut self, count: usize);
}

// SAFETY: a vector's heap memory does not move with it; the capacity is its own.
unsafe impl Buffer for Vec<u8> {
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.as_mut_ptr(), len: self.len(), room: self.capacity() }
    }

    /// The vector is as long as what was read.
    unsafe fn filled(&mut self, count: usize) {
        // SAFETY: promised by the caller.
        unsafe { self.set_len(count) }
    }
}

// SAFETY: the memory of a box does not move with it.
unsafe impl Buffer for Box<[u8]> {
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.as_mut_ptr(), len: self.len(), room: self.len() }
    }

    /// It keeps its length: the result of the read counts.
    unsafe fn filled(&mut self, _: usize) {}
}

// SAFETY: a slot of a mapping that lives as long as the buffer, and the buffer's alone.
unsafe impl Buffer for Buf {
    /// The data as it was placed.
    fn segment(&mut self, _: usize) -> Segment {
        Segment { start: self.pointer(), len: self.len(), room: self.len() }
    }

    /// It keeps its length: the result of the read counts.
    unsafe fn filled(&mut self, _: usize) {}
}

// SAFETY: the elements' segments stay where they are when the elements move.
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

    unsafe fn filled(&mut self, count: usize) {
        let mut left = count;
        for buffer in self {
            let room: usize = (0..buffer.segments()).map(|index| buffer.segment(index).room).sum();
            let own = left.min(room);
            // SAFETY: the segments are filled in order, so these bytes of this buffer are.
            unsafe { buffer.filled(own) };
            left -= own;
        }
    }
}
