//! Page-aligned buffers, their pool, and the requests that move them.

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use super::huge_pages::HUGE_PAGE;
use crate::sys::memory;

/// Alignment in bytes of the start of every buffer and of the data in it. Direct I/O requires 512 or 4096 on every
/// known device (`STATX_DIOALIGN`).
pub const ALIGNMENT: usize = 4096;

#[derive(Debug)]
struct Region {
    base: NonNull<u8>,
    mapped: usize,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a region is only memory. The `Buf`s, which never overlap, decide which thread accesses which part.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    fn new(len: usize, huge: bool) -> io::Result<Self> {
        // Room for whole huge pages at any address that the kernel chooses.
        let mapped = if huge {
            len.checked_next_multiple_of(HUGE_PAGE)
                .and_then(|len| len.checked_add(HUGE_PAGE))
                .ok_or_else(too_much)?
        } else {
            len
        };
        let base = memory::map(mapped)?;
        let shift = if huge { base.as_ptr().align_offset(HUGE_PAGE) } else { 0 };
        // SAFETY: at most `HUGE_PAGE` bytes into a mapping that is longer than that by `len`.
        let start = unsafe { base.add(shift) };
        if huge {
            // A hint. A buffer on a huge page is one segment for the device instead of one per page. The range extends
            // to the end of the last huge page, because io_uring handles a registered buffer in huge pages only if all
            // of it is on them: with a tail of small pages each request of 1 MiB consisted of 256 segments and took
            // half as much CPU time again.
            let whole = len.next_multiple_of(HUGE_PAGE);
            // SAFETY: the range is within the mapping, which is longer by `HUGE_PAGE`, of which less was skipped for
            // alignment; the hint keeps the contents.
            unsafe { memory::prefer_huge_pages(start, whole) };
        }
        Ok(Self { base, mapped, start, len })
    }
}

fn too_much() -> io::Error {
    io::ErrorKind::OutOfMemory.into()
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this region owns the mapping, and every `Buf` into it holds an `Arc` of this region, so none is left.
        unsafe { memory::unmap(self.base, self.mapped) };
    }
}

/// A buffer: a slot of a pool's memory and the run of data in it.
///
/// A buffer is the only owner of its slot, so it can be passed to the kernel and returned.
///
/// ```
/// use fullbore_io::buf::Pool;
/// let mut pool = Pool::new(1, 4096)?;
/// let mut buffer = pool.take().expect("one of one");
/// buffer.place(0, 5);
/// buffer.data_mut().copy_from_slice(b"bytes");
/// assert_eq!(buffer.data(), b"bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Buf {
    region: Arc<Region>,
    slot: usize,
    capacity: usize,
    start: usize,
    len: usize,
}

impl Buf {
    /// Makes room for `len` bytes of a file at `offset`. The data starts at the same distance from an alignment
    /// boundary as `offset`, so the aligned middle of an unaligned run can be transferred directly.
    ///
    /// # Panics
    /// If the run does not fit because the pool was created for smaller requests.
    pub fn place(&mut self, offset: u64, len: usize) {
        let start = (offset % ALIGNMENT as u64) as usize;
        // Not `start + len`, which can wrap: the result decides which memory is accessed.
        let fits = self.capacity.checked_sub(start).is_some_and(|room| len <= room);
        assert!(fits, "{len} bytes at {start} in a buffer of {}", self.capacity);
        self.start = start;
        self.len = len;
    }

    /// Widens or narrows the data: it starts `head` bytes later (negative: earlier) and is `len` bytes long.
    ///
    /// # Panics
    /// If the new range exceeds the buffer.
    pub fn shift(&mut self, head: isize, len: usize) {
        let fits = |start: &usize| self.capacity.checked_sub(*start).is_some_and(|room| len <= room);
        let start = self.start.checked_add_signed(head).filter(fits);
        self.start = start.expect("the shifted run lies within the buffer");
        self.len = len;
    }

    /// Keeps the first `len` bytes of the data.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Returns the data.
    pub fn data(&self) -> &[u8] {
        // SAFETY: this buffer owns the slot, the kernel has mapped and zeroed it, and `start + len` is within its
        // capacity.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.len) }
    }

    /// Returns the data, mutable.
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `data`, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.len) }
    }

    /// Returns the length of the data in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if the buffer holds no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the data, constant for the life of the buffer.
    pub(crate) fn pointer(&self) -> *mut u8 {
        // SAFETY: slot and start are within the region.
        unsafe { self.region.start.as_ptr().add(self.slot + self.start) }
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        self.data()
    }
}

impl AsMut<[u8]> for Buf {
    fn as_mut(&mut self) -> &mut [u8] {
        self.data_mut()
    }
}

/// A fixed number of equal buffers.
///
/// ```
/// use fullbore_io::buf::Pool;
/// let mut pool = Pool::new(2, 1 << 20)?;
/// let (one, two) = (pool.take(), pool.take());
/// assert!(one.is_some() && two.is_some() && pool.take().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    region: Arc<Region>,
    free: Vec<Buf>,
}

impl Pool {
    /// Creates a pool of `count` buffers, each with room for a run of `request` bytes at any offset.
    ///
    /// # Errors
    /// If the system does not provide the memory.
    pub fn new(count: usize, request: usize) -> io::Result<Self> {
        Self::allocate(count, request, false)
    }

    /// Creates a pool for direct I/O, whose memory is contiguous: it is on huge pages (of 2 MiB, on Linux) even if it is
    /// smaller. A device then gets a request as one segment. With one segment per page of 4 KiB, some devices, such as those
    /// of virtual machines, take several times as long. The memory is rounded up to whole huge pages.
    ///
    /// Requests of one page, and systems without huge pages, get the memory of [`Pool::new`].
    ///
    /// ```
    /// use fullbore_io::buf::Pool;
    /// let mut pool = Pool::contiguous(8, 64 << 10)?;
    /// assert!(pool.take().is_some() && pool.free() == 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn contiguous(count: usize, request: usize) -> io::Result<Self> {
        Self::allocate(count, request, true)
    }

    /// Creates a pool as [`contiguous`](Self::contiguous) or as [`new`](Self::new).
    #[doc(hidden)]
    pub fn allocate(count: usize, request: usize, contiguous: bool) -> io::Result<Self> {
        let count = count.max(1);
        let capacity = Self::capacity(request);
        if capacity <= request {
            return Err(too_much());
        }
        let len = capacity.checked_mul(count).ok_or_else(too_much)?;
        let region = Arc::new(Region::new(len, Self::on_huge_pages(count, request, contiguous))?);
        let free = (0..count)
            .rev()
            .map(|index| Buf { region: region.clone(), slot: index * capacity, capacity, start: 0, len: 0 })
            .collect();
        Ok(Self { region, free })
    }

    /// True if the memory of such a pool is requested on huge pages: that of a pool of at least one huge page, and that of a
    /// contiguous pool for requests larger than a page.
    #[doc(hidden)]
    pub fn on_huge_pages(count: usize, request: usize, contiguous: bool) -> bool {
        let len = Self::capacity(request).saturating_mul(count.max(1));
        len >= HUGE_PAGE || contiguous && memory::HUGE_PAGES && request > ALIGNMENT
    }

    /// Returns the memory in bytes of one buffer for requests of `request` bytes; `usize::MAX` for requests that are too large
    /// for any memory.
    pub fn capacity(request: usize) -> usize {
        // An unaligned request touches one block more than an aligned one of the same length.
        let blocks = request.checked_next_multiple_of(ALIGNMENT);
        blocks.and_then(|len| len.checked_add(ALIGNMENT)).unwrap_or(usize::MAX)
    }

    /// Takes a free buffer, if there is one.
    pub fn take(&mut self) -> Option<Buf> {
        self.free.pop()
    }

    /// Returns a buffer to the pool that it was taken from.
    ///
    /// # Panics
    /// If the buffer is of another pool.
    pub fn put(&mut self, buf: Buf) {
        assert!(Arc::ptr_eq(&buf.region, &self.region), "the buffer is of another pool");
        self.free.push(buf);
    }

    /// Lets `prepare` write to the whole memory of each free buffer.
    pub fn prepare(&mut self, mut prepare: impl FnMut(&mut [u8])) {
        for buf in &mut self.free {
            buf.start = 0;
            buf.len = buf.capacity;
            prepare(buf.data_mut());
            buf.len = 0;
        }
    }

    /// Returns the number of free buffers.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Start and length of the whole memory, for registration with the kernel.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for io_uring"))]
    pub(crate) fn memory(&self) -> (*mut u8, usize) {
        (self.region.start.as_ptr(), self.region.len)
    }
}

/// Direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
}

/// One read or write, which owns its buffer until it is complete.
///
/// ```
/// use fullbore_io::buf::{Direction, Pool, Request};
/// let mut buf = Pool::new(1, 4096)?.take().expect("one of one");
/// buf.place(0, 100);
/// let request = Request { token: 1, direction: Direction::Write, offset: 0, buf, from: 40, most: 50 };
/// assert_eq!((request.len(), request.data().len()), (50, 50));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Request {
    /// Caller's token, returned on completion.
    pub token: u64,
    /// Direction of the transfer.
    pub direction: Direction,
    /// Position in the file of the first byte to transfer.
    pub offset: u64,
    /// Buffer that holds the data.
    pub buf: Buf,
    /// First byte of the data to transfer.
    pub from: usize,
    /// Maximum number of bytes to transfer.
    pub most: usize,
}

impl Request {
    /// Returns the length of the transfer in bytes: 0 if it starts after the data.
    pub fn len(&self) -> usize {
        // The kernel receives this length, so it must not wrap.
        self.buf.len().saturating_sub(self.from).min(self.most)
    }

    /// True if there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.buf.len() <= self.from
    }

    /// Returns the bytes to write.
    pub fn data(&self) -> &[u8] {
        &self.buf.data()[self.from.min(self.buf.len())..][..self.len()]
    }

    /// Returns the memory to read into.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let (from, len) = (self.from.min(self.buf.len()), self.len());
        &mut self.buf.data_mut()[from..][..len]
    }

    /// Address and length of the memory to transfer, for the kernel.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "for io_uring and native AIO"))]
    pub(crate) fn memory(&self) -> (*mut u8, u32) {
        // At most the data's length, so the address stays within the buffer. A length that exceeds `u32` becomes a
        // shorter transfer.
        let from = self.from.min(self.buf.len());
        (self.buf.pointer().wrapping_add(from), u32::try_from(self.len()).unwrap_or(u32::MAX))
    }
}

/// A completed request.
#[derive(Debug)]
pub struct Completion {
    /// The request, with its buffer.
    pub request: Request,
    /// Bytes moved, possibly fewer than requested, or the system's error.
    pub result: io::Result<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::{Direction, Request};

    #[test]
    fn buffers_are_aligned_and_disjoint() {
        let mut pool = Pool::new(3, 10_000).unwrap();
        let mut bufs: Vec<Buf> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(bufs.len(), 3);
        for (value, buf) in bufs.iter_mut().enumerate() {
            buf.place(0, 10_000);
            assert_eq!(buf.pointer() as usize % ALIGNMENT, 0);
            buf.data_mut().fill(value as u8);
        }
        for (value, buf) in bufs.iter().enumerate() {
            assert!(buf.data().iter().all(|&byte| byte == value as u8));
        }
    }

    #[test]
    fn contiguous_buffers_start_on_a_huge_page() {
        for (request, huge) in
            [(64 << 10, memory::HUGE_PAGES), (ALIGNMENT + 1, memory::HUGE_PAGES), (ALIGNMENT, false)]
        {
            let start = Pool::contiguous(2, request).unwrap().memory().0;
            assert!(!huge || (start as usize).is_multiple_of(HUGE_PAGE), "{request}");
        }
    }

    #[test]
    fn data_keeps_its_offset_within_a_block() {
        let mut pool = Pool::new(1, 5000).unwrap();
        let mut buf = pool.take().unwrap();
        buf.place(3 * 4096 + 4095, 5000);
        assert_eq!(buf.pointer() as usize % ALIGNMENT, 4095);
        assert_eq!(buf.len(), 5000);
        buf.truncate(7);
        assert_eq!(buf.data(), &[0; 7]);
        let bytes: &mut [u8] = buf.as_mut();
        bytes.fill(1);
        assert_eq!(AsRef::<[u8]>::as_ref(&buf), &[1; 7]);
        buf.place(100, 50);
        buf.shift(-100, 4096);
        assert_eq!((buf.len(), buf.pointer() as usize % ALIGNMENT), (4096, 0));
        assert_eq!(Pool::capacity(10_000), 16_384);
    }

    #[test]
    #[should_panic(expected = "in a buffer of")]
    fn a_run_that_does_not_fit_is_a_bug() {
        Pool::new(1, 4096).unwrap().take().unwrap().place(4095, 8192);
    }

    /// A wrapped sum would let a buffer exceed its memory.
    #[test]
    fn impossible_lengths_are_refused() {
        for (count, request) in [
            (1, usize::MAX),
            (1, usize::MAX - ALIGNMENT),
            (1, usize::MAX - 3 * ALIGNMENT),
            (usize::MAX, 1),
            (usize::MAX / (2 * ALIGNMENT) + 1, 1),
            (3, usize::MAX / 2),
        ] {
            let error = Pool::new(count, request).expect_err("more than there is");
            assert_eq!(error.kind(), io::ErrorKind::OutOfMemory, "{count} of {request}: {error}");
        }
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        let mut refused = |act: &mut dyn FnMut(&mut Buf)| {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&mut buf))).is_err());
        };
        refused(&mut |buf| buf.place(4095, usize::MAX));
        refused(&mut |buf| buf.place(u64::MAX, usize::MAX - 4094));
        refused(&mut |buf| buf.shift(1, usize::MAX));
        refused(&mut |buf| buf.shift(isize::MAX, 0));
        refused(&mut |buf| buf.shift(isize::MIN, 0));
    }

    /// The kernel receives address and length: neither may leave the data.
    #[test]
    fn a_request_never_reaches_out_of_its_buffer() {
        let mut buf = Pool::new(1, 4096).unwrap().take().unwrap();
        buf.place(0, 100);
        let start = buf.pointer();
        let mut request =
            Request { token: 0, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
        for (from, most, place, len) in [
            (0, usize::MAX, 0, 100),
            (40, 50, 40, 50),
            (100, 1, 100, 0),
            (101, usize::MAX, 100, 0),
            (usize::MAX, usize::MAX, 100, 0),
        ] {
            (request.from, request.most) = (from, most);
            assert_eq!(request.memory(), (start.wrapping_add(place), len as u32));
            assert_eq!((request.len(), request.is_empty()), (len, from >= 100));
            assert_eq!((request.data().len(), request.data_mut().len()), (len, len));
        }
    }
}
