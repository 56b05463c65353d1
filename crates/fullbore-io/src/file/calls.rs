//! The system calls that move a file's bytes. Each function makes one call, which may move fewer bytes than requested and
//! may be interrupted; the layers above loop. To exercise these loops, builds with debug assertions and the feature `fault` shorten
//! transfers at random, as .NET halves small writes in its debug builds. The environment variable `FULLBORE_NO_CUTS`, set to anything
//! but empty or 0, turns this off, for example for measurements, which would count the shortened calls.

use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::LazyLock;

use super::inner::File;
use super::near_copy;
use crate::buf::Direction;
use crate::sys::memory::IoVec;
use crate::sys::{self, AsHandle, TransferFlags};

/// The maximum number of buffers in one call (`IOV_MAX`, `man 2 readv`).
pub(crate) const BUFFERS: usize = 1024;

/// The maximum transfer of one call: 2 GiB less a page (`man 2 read`).
pub(crate) const LONGEST: usize = 0x7fff_f000;

impl File {
    #[inline]
    pub(crate) fn read_once(&self, offset: u64, data: &mut [u8], flags: TransferFlags) -> io::Result<usize> {
        let (len, memory) = (cut(data.len(), self.inner.unit), data.as_ptr().addr());
        let len = self.before(Direction::Read, offset, len, memory)?;
        let data = &mut data[..len];
        if self.copies_slowly(len, memory, offset) {
            return near_copy::read_shifted(self.inner.fd.as_handle(), data, offset, flags);
        }
        Ok(if flags.is_empty() {
            sys::read_at(&self.inner.fd, data, offset)?
        } else {
            sys::read_vectored_flagged(&self.inner.fd, &mut [IoSliceMut::new(data)], offset, flags)?
        })
    }

    #[inline]
    pub(crate) fn write_once(&self, offset: u64, data: &[u8], flags: TransferFlags) -> io::Result<usize> {
        self.sound()?;
        let (len, memory) = (cut(data.len(), self.inner.unit), data.as_ptr().addr());
        let data = &data[..self.before(Direction::Write, offset, len, memory)?];
        Ok(if flags.is_empty() {
            sys::write_at(&self.inner.fd, data, offset)?
        } else {
            sys::write_vectored_flagged(&self.inner.fd, &[IoSlice::new(data)], offset, flags)?
        })
    }

    /// Returns the number of bytes, up to `len`, that one call on `pieces` may request, for callers that make it themselves.
    pub(crate) fn admitted(
        &self,
        direction: Direction,
        offset: u64,
        len: usize,
        pieces: &[IoVec],
    ) -> io::Result<usize> {
        if direction == Direction::Write {
            self.sound()?;
        }
        let memory = match pieces {
            [piece] => piece.iov_base.addr(),
            some => some.iter().fold(0, |bits, piece| bits | piece.iov_base.addr() | piece.iov_len),
        };
        self.before(direction, offset, cut(len.min(LONGEST), self.inner.unit), memory)
    }

    /// One `preadv2` into the first of these buffers, at least one; the first must not be empty.
    #[inline]
    pub(crate) fn readv_once(
        &self,
        offset: u64,
        buffers: &mut [IoSliceMut<'_>],
        flags: TransferFlags,
    ) -> io::Result<usize> {
        let count = cut(buffers.len().min(self.most_buffers()), 1);
        match &mut buffers[..count] {
            // macOS refuses a longer piece.
            [one, rest @ ..] if rest.is_empty() || one.len() > LONGEST => self.read_once(offset, one, flags),
            some => {
                let parts = some.iter().map(|one| &**one);
                let (count, part) = self.before_vector(Direction::Read, offset, parts)?;
                let fd = &self.inner.fd;
                Ok(match &mut some[..count] {
                    [] => {
                        let first = IoSliceMut::new(&mut some[0][..part]);
                        sys::read_vectored_flagged(fd, &mut [first], offset, flags)?
                    }
                    whole => sys::read_vectored_flagged(fd, whole, offset, flags)?,
                })
            }
        }
    }

    /// One `pwritev2` from the first of these buffers, at least one; the first must not be empty.
    #[inline]
    pub(crate) fn writev_once(
        &self,
        offset: u64,
        buffers: &[IoSlice<'_>],
        flags: TransferFlags,
    ) -> io::Result<usize> {
        let count = cut(buffers.len().min(self.most_buffers()), 1);
        match &buffers[..count] {
            [one, rest @ ..] if rest.is_empty() || one.len() > LONGEST => self.write_once(offset, one, flags),
            some => {
                self.sound()?;
                let parts = some.iter().map(|one| &**one);
                let (count, part) = self.before_vector(Direction::Write, offset, parts)?;
                let fd = &self.inner.fd;
                Ok(match &some[..count] {
                    [] => {
                        let first = IoSlice::new(&some[0][..part]);
                        sys::write_vectored_flagged(fd, &[first], offset, flags)?
                    }
                    whole => sys::write_vectored_flagged(fd, whole, offset, flags)?,
                })
            }
        }
    }
}

/// True in the builds of these crates' own tests.
const CUTS: bool = cfg!(all(debug_assertions, feature = "fault"));

static WHOLE: LazyLock<bool> = LazyLock::new(|| in_environment("FULLBORE_NO_CUTS"));

/// True if a variable of the environment is set to anything but empty or 0.
pub(super) fn in_environment(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns `len`, or in builds with debug assertions now and then fewer bytes, a multiple of `unit` (if `len` is greater).
#[inline]
pub(crate) fn cut(len: usize, unit: usize) -> usize {
    if !CUTS || len <= unit || *WHOLE {
        return len;
    }
    thread_local!(static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) });
    let random = STATE.with(|state| {
        // xorshift64 (Marsaglia 2003): its quality does not matter here.
        let mut x = state.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        x
    });
    if random.is_multiple_of(8) {
        let units = (len - 1) / unit;
        (1 + (random >> 8) as usize % units) * unit
    } else {
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_shorter_not_empty_and_whole_units() {
        let mut shorter = 0;
        for len in 1..2000 {
            for unit in [1, 512] {
                let cut = cut(len, unit);
                assert!(
                    cut == len || (cut > 0 && cut < len && cut.is_multiple_of(unit)),
                    "{len} {unit} {cut}"
                );
                shorter += usize::from(cut < len);
            }
        }
        assert_eq!(shorter > 0, CUTS);
    }
}
