//! What a stream has read ahead and what it has yet to write: plain memory, no file.

use crate::error::Result;

/// Bytes of the file that were read before they were asked for.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    memory: Vec<u8>,
    /// Where in the file they stand, in bytes.
    start: u64,
}

impl Ahead {
    /// How many bytes of memory it has.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.memory.capacity()
    }

    /// The bytes from `position` on.
    #[inline]
    pub(super) fn from(&self, position: u64) -> &[u8] {
        let skipped = position.wrapping_sub(self.start);
        match usize::try_from(skipped) {
            Ok(skipped) if skipped < self.memory.len() => &self.memory[skipped..],
            _ => &[],
        }
    }

    /// Copies the bytes from `position` on, as many as there are and fit.
    #[inline]
    pub(super) fn take(&self, position: u64, data: &mut [u8]) -> usize {
        let held = self.from(position);
        let count = held.len().min(data.len());
        data[..count].copy_from_slice(&held[..count]);
        count
    }

    /// Replaces them by what `read` reads into memory with room for `size` bytes, at `position`.
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

    /// They may not be the file's any more.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.memory.clear();
    }
}

/// Bytes that count as written and are not yet the file's.
#[derive(Debug, Default)]
pub(super) struct Pending {
    memory: Vec<u8>,
    /// How many of them the system has taken.
    taken: usize,
    /// Where in the file the first stands, in bytes.
    start: u64,
}

impl Pending {
    /// How many bytes of memory it has.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.memory.capacity()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.memory.is_empty()
    }

    /// Those that the system has not taken.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.taken..]
    }

    /// Where in the file they end, if there are any.
    pub(super) fn end(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.start + self.memory.len() as u64)
    }

    /// Adds `data`, which stands at `position`, where the others end.
    #[inline]
    pub(super) fn push(&mut self, size: usize, position: u64, data: &[u8]) {
        if self.memory.is_empty() {
            self.start = position;
            self.memory.reserve_exact(size.saturating_sub(self.memory.capacity()));
        }
        self.put(data);
    }

    #[inline]
    fn put(&mut self, data: &[u8]) {
        // One byte needs no call of a function that copies many.
        match data {
            [byte] => self.memory.push(*byte),
            many => self.memory.extend_from_slice(many),
        }
    }

    /// Adds `data` to others, if there are any and the memory has the room: the short way of most small writes.
    #[inline]
    pub(super) fn add(&mut self, data: &[u8]) -> bool {
        let len = self.memory.len();
        if len == 0 || data.len() > self.memory.capacity() - len {
            return false;
        }
        self.put(data);
        true
    }

    /// Takes back up to `len` of the last, those that the system has not taken.
    pub(super) fn pull(&mut self, len: usize) {
        let count = len.min(self.bytes().len());
        self.memory.truncate(self.memory.len() - count);
        // None may be left: then there is nothing to write, rather than no bytes.
        self.written(0);
    }

    /// What is to be written next, and where.
    pub(super) fn next(&self) -> Option<(&[u8], u64)> {
        (!self.is_empty()).then(|| (self.bytes(), self.start + self.taken as u64))
    }

    /// The system took `count` more.
    pub(super) fn written(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.memory.len() {
            self.forget();
        }
    }

    /// They will not be written.
    pub(super) fn forget(&mut self) {
        self.memory.clear();
        self.taken = 0;
    }
}
