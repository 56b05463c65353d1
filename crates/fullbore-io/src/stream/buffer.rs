//! Bytes that a stream has read ahead and bytes that it has yet to write: plain memory, no file.

use crate::error::Result;
use crate::file::inner::{File, Unwritten};

/// Bytes of the file read ahead of their use.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    memory: Vec<u8>,
    /// Offset in the file of the first byte.
    start: u64,
}

impl Ahead {
    /// Allocated memory in bytes.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.memory.capacity()
    }

    #[inline]
    pub(super) fn from(&self, position: u64) -> &[u8] {
        let skipped = position.wrapping_sub(self.start);
        match usize::try_from(skipped) {
            Ok(skipped) if skipped < self.memory.len() => &self.memory[skipped..],
            _ => &[],
        }
    }

    /// Copies the bytes from `position` on, as many as are held and fit.
    #[inline]
    pub(super) fn take(&self, position: u64, data: &mut [u8]) -> usize {
        let held = self.from(position);
        let count = held.len().min(data.len());
        data[..count].copy_from_slice(&held[..count]);
        count
    }

    /// Replaces the bytes by those that `read` reads at `position` into memory with room for `size` bytes.
    pub(super) fn fill(
        &mut self,
        size: usize,
        position: u64,
        read: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        self.memory.clear();
        self.memory.reserve_exact(size);
        self.start = position;
        let read = read(&mut self.memory);
        if read.is_err() {
            self.memory.clear();
        }
        read
    }

    /// Discards the bytes, because the file may have changed.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.memory.clear();
    }
}

/// Bytes accepted for writing that the file does not have yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    memory: Vec<u8>,
    /// Number of these bytes that the system has written.
    taken: usize,
    /// Offset in the file of the first byte.
    start: u64,
    /// The mark of the file, while there are bytes.
    unwritten: Option<Unwritten>,
}

impl Pending {
    /// Allocated memory in bytes.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.memory.capacity()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// The bytes that the system has not written.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.taken..]
    }

    /// Returns the offset in the file of the end of the bytes, if there are any.
    pub(super) fn end(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.start + self.memory.len() as u64)
    }

    /// Adds `data` for `position` of the file, which is the end of the other bytes; all together are at most `size` bytes.
    #[inline]
    pub(super) fn push(&mut self, size: usize, file: &File, position: u64, data: &[u8]) {
        if self.memory.is_empty() {
            self.start = position;
            self.unwritten = file.mark_unwritten();
            self.memory.reserve_exact(size.saturating_sub(self.memory.capacity()));
        } else if self.taken > 0 {
            // Makes room, so that the memory never grows.
            self.memory.drain(..self.taken);
            self.start += std::mem::take(&mut self.taken) as u64;
        }
        self.put(data);
    }

    #[inline]
    fn put(&mut self, data: &[u8]) {
        // A single byte does not need a call of a function that copies many.
        match data {
            [byte] => self.memory.push(*byte),
            many => self.memory.extend_from_slice(many),
        }
    }

    /// Adds `data` if bytes are pending and the memory has room: the fast path of most small writes.
    #[inline]
    pub(super) fn add(&mut self, data: &[u8]) -> bool {
        let len = self.memory.len();
        if len == 0 || data.len() > self.memory.capacity() - len {
            return false;
        }
        self.put(data);
        true
    }

    /// Removes up to `len` of the last bytes, of those that the system has not written.
    pub(super) fn pull(&mut self, len: usize) {
        let count = len.min(self.bytes().len());
        self.memory.truncate(self.memory.len() - count);
        // If none is left, nothing is pending: not a write of no bytes.
        self.written(0);
    }

    /// The bytes to write next, and their offset.
    pub(super) fn next(&self) -> Option<(&[u8], u64)> {
        (!self.is_empty()).then(|| (self.bytes(), self.start + self.taken as u64))
    }

    pub(super) fn written(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.memory.len() {
            self.forget();
        }
    }

    /// Discards the bytes without writing them.
    pub(super) fn forget(&mut self) {
        self.memory.clear();
        self.taken = 0;
        self.unwritten = None;
    }
}
