//! The treatment of the page cache by a handle's transfers: keep, drop by flag, drop behind, or bypass.

use std::io;
use std::ops::Range;

use super::inner::{CacheMode, Descriptor, Direct, DropBehind, File, Moved};
use super::types::{CachePolicy, Support};
use crate::buf::Direction;
use crate::error::Result;
use crate::lock::Mutex;
use crate::probe::LARGEST_FOLIO;
use crate::sys::memory::IoVec;
use crate::sys::{self, Advice, AsHandle, Code, FileKind, TransferFlags};

pub(crate) const EMULATED: &str = if sys::DROPS_BY_REOPENING {
    "all pages of the file are dropped when its last handle is closed, by opening it without buffering, unless other programs \
     have it open"
} else if sys::DROPS_BY_MAPPING {
    "msync with MS_INVALIDATE of a mapping after every 8 MiB read or written, which also drops pages that were cached before"
} else {
    "POSIX_FADV_DONTNEED after every 8 MiB read or written, which also drops pages that were cached before"
};

impl CacheMode {
    /// The flags of the calls; empty for a direct handle, which makes its own calls.
    #[inline]
    pub(crate) fn flags(&self) -> TransferFlags {
        match self {
            Self::Flagged => TransferFlags::DONT_CACHE,
            _ => TransferFlags::empty(),
        }
    }

    /// The flags of the calls, or the direct handle.
    #[inline]
    pub(super) fn calls(&self) -> std::result::Result<TransferFlags, &Direct> {
        match self {
            Self::Direct(direct) => Err(direct),
            _ => Ok(self.flags()),
        }
    }

    /// Counts a transfer, after which pages may be dropped.
    #[inline]
    pub(crate) fn moved(&self, direction: Direction, offset: u64, count: usize) {
        if let Self::DropBehind(drop_behind) = self {
            drop_behind.moved(direction, offset, count);
        }
    }

    /// The mode of an engine that makes the calls on `file` itself: never direct. Fails if the pages cannot be dropped.
    pub(crate) fn of_engine(file: &File, cache: CachePolicy) -> io::Result<Self> {
        match cache {
            CachePolicy::DontCache => match Self::dropping(file) {
                Ok((cache_mode, _)) => Ok(cache_mode),
                Err(_) => Err(Code::UNSUPPORTED.into()),
            },
            CachePolicy::Keep | CachePolicy::Direct => Ok(Self::Plain),
        }
    }

    /// Determines the mode of `file` for a policy by trying it, and its support; nothing is written. It may hold a further open
    /// file.
    pub(super) fn find(file: &File, cache: CachePolicy) -> (Self, Support) {
        match (cache, file.kind()) {
            (CachePolicy::Keep, _) => (Self::Plain, Support::Native),
            (CachePolicy::DontCache | CachePolicy::Direct, FileKind::Regular | FileKind::BlockDevice) => {
                let cache_mode = match cache {
                    CachePolicy::Direct => {
                        Direct::find(file).map(|direct| (Self::Direct(direct), Support::Native))
                    }
                    _ => Self::dropping(file),
                };
                cache_mode.unwrap_or_else(|reason| (Self::Plain, Support::Unsupported(reason)))
            }
            (_, kind) => (Self::Plain, Support::Unsupported(format!("a {kind} has no pages in the cache"))),
        }
    }

    fn dropping(file: &File) -> std::result::Result<(Self, Support), String> {
        if drops_by_flag(file) {
            return Ok((Self::Flagged, Support::Native));
        }
        if crate::probe::in_memory(file) {
            return Err("the file system is in memory: the pages are the only copy".to_owned());
        }
        let dropping = DropBehind::of(file)
            .ok_or("the system cannot drop the pages of this file, or the file cannot be reopened for it")?;
        Ok((Self::DropBehind(Box::new(dropping)), Support::Emulated(EMULATED.to_owned())))
    }
}

/// True if the file system supports `RWF_DONTCACHE`. Tested by a read far past any end of file, which moves no bytes.
fn drops_by_flag(file: &File) -> bool {
    // An overlay accepts the flag, but most pages written through it stay cached (seen on Linux 6.18 over XFS, where
    // the same bytes written without the overlay are dropped).
    if crate::probe::overlaid(file) {
        return false;
    }
    const NOWHERE: u64 = 1 << 62;
    let ask = |file: &File| {
        let (mut byte, flags) = ([0], TransferFlags::DONT_CACHE);
        let parts = &mut [io::IoSliceMut::new(&mut byte)];
        sys::uninterrupted(|| sys::read_vectored_flagged(file, parts, NOWHERE, flags))
    };
    match ask(file) {
        Ok(_) => true,
        // The file is open for writing only, so the read uses another handle.
        Err(Code::BAD_HANDLE) => file
            .reopen_fd(false)
            .is_ok_and(|fd| File::from_fd(fd, file.path()).is_ok_and(|readable| ask(&readable).is_ok())),
        Err(_) => false,
    }
}

impl File {
    /// Returns a handle on the same open file with another cache policy for transfers at offsets, and the
    /// support of the policy. If it is unsupported, the handle uses the plain mode, through the cache.
    ///
    /// Only a direct handle bypasses the cache, at any offset and length: whole blocks of aligned memory are
    /// transferred directly, the rest goes through buffers of this crate. Blocks that are written in part are read,
    /// modified and written back, one thread at a time. Writes through other direct handles of this process are safe; bytes
    /// that a handle with another policy, or another process, writes into the same block at the same time can be lost. The
    /// part of a write that ends in the file's last block goes through the cache.
    ///
    /// ```
    /// use fullbore_io::file::{Support, CachePolicy, File};
    /// # let directory = tempfile::tempdir()?;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// let (direct, support) = file.with_cache(CachePolicy::Direct);
    /// if let Support::Unsupported(reason) = support {
    ///     println!("direct: unsupported: {reason}");
    /// }
    /// // Either way, at any offset and length.
    /// direct.write_all_at(b"bytes", 3)?;
    /// let mut read = [0; 5];
    /// direct.read_exact_at(&mut read, 3)?;
    /// assert_eq!(&read, b"bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use = "the policy applies to the returned handle only"]
    pub fn with_cache(&self, cache: CachePolicy) -> (Self, Support) {
        let (cache_mode, support) = CacheMode::find(self, cache);
        (self.under(cache_mode), support)
    }

    /// Returns the cache policy of this handle and its support. If the system has rejected direct transfers since
    /// the opening, the support states this.
    pub fn cache_policy(&self) -> (CachePolicy, Support) {
        match &self.inner.cache_mode {
            CacheMode::Plain => (CachePolicy::Keep, Support::Native),
            CacheMode::Flagged => (CachePolicy::DontCache, Support::Native),
            CacheMode::DropBehind(_) => (CachePolicy::DontCache, Support::Emulated(EMULATED.to_owned())),
            CacheMode::Direct(direct) => {
                (CachePolicy::Direct, direct.why_not().map_or(Support::Native, Support::Unsupported))
            }
        }
    }

    /// The flags for callers that make the transfer call themselves; `None` if one call does not suffice.
    pub(crate) fn one_call(&self) -> Option<TransferFlags> {
        match self.inner.cache_mode {
            CacheMode::Plain => Some(TransferFlags::empty()),
            CacheMode::Flagged => Some(TransferFlags::DONT_CACHE),
            CacheMode::DropBehind(_) | CacheMode::Direct(_) => None,
        }
    }

    /// The direct handle for reading `pieces` at `offset`, if one call suffices: whole blocks and aligned memory.
    pub(crate) fn straight(&self, pieces: &[IoVec], offset: u64) -> Option<&Self> {
        match &self.inner.cache_mode {
            CacheMode::Direct(direct) => direct.straight(pieces, offset),
            _ => None,
        }
    }

    #[cold]
    pub(super) fn read_by_mode(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        let cache_mode = &self.inner.cache_mode;
        let flags = match cache_mode.calls() {
            Ok(flags) => flags,
            Err(direct) => return direct.read(self, data, offset),
        };
        let read = self.read_flagged(data, offset, flags)?;
        cache_mode.moved(Direction::Read, offset, read);
        Ok(read)
    }

    #[cold]
    pub(super) fn write_by_mode(&self, data: &[u8], offset: u64) -> Result<usize> {
        let cache_mode = &self.inner.cache_mode;
        let flags = match cache_mode.calls() {
            Ok(flags) => flags,
            Err(direct) => return direct.write(self, data, offset),
        };
        let written = self.write_flagged(data, offset, flags)?;
        cache_mode.moved(Direction::Write, offset, written);
        Ok(written)
    }
}

const INTERVAL: u64 = 8 << 20;

impl Moved {
    /// Counts a transfer; returns the range to drop at the end of an interval.
    fn add(&mut self, offset: u64, len: usize) -> Option<Range<u64>> {
        let end = offset + len as u64;
        self.range = Some(match self.range.take() {
            Some(range) => range.start.min(offset)..range.end.max(end),
            None => offset..end,
        });
        self.bytes += len as u64;
        if self.bytes < INTERVAL {
            return None;
        }
        self.bytes = 0;
        self.range.take()
    }
}

impl DropBehind {
    /// Creates the mode; `None` if the system cannot drop the pages of an open file, or the file cannot be opened for it.
    fn of(file: &File) -> Option<Self> {
        let own = match sys::DROPS_BY_REOPENING {
            // The file's handles drop the pages.
            true => {
                file.inner.health.state().drop_pages_at_close(file)?;
                None
            }
            false => {
                // An empty range would not reach the system; a part of a page is not dropped.
                sys::advise(&file.inner.fd, 0, Some(1), Advice::DontNeed).ok()?;
                file.reopen_fd(false).ok()
            }
        };
        let shared = own.is_none();
        let fd = own.map_or_else(|| Descriptor::Of(file.inner.clone()), |fd| file.further(fd));
        let (overlaid, appends) = (crate::probe::overlaid(file), file.appends());
        Some(Self { fd, shared, overlaid, appends, state: Mutex::default() })
    }

    #[cold]
    fn moved(&self, direction: Direction, offset: u64, len: usize) {
        match direction {
            _ if sys::DROPS_BY_REOPENING => {}
            Direction::Read => self.read(offset, len),
            Direction::Write => self.wrote(offset, len),
        }
    }

    fn read(&self, offset: u64, len: usize) {
        let over = self.state.lock().read.add(offset, len);
        if let Some(range) = over {
            self.drop_pages(range);
        }
    }

    fn wrote(&self, offset: u64, len: usize) {
        let (over, settled) = {
            let mut state = self.state.lock();
            let offset = if self.appends { state.written.bytes } else { offset };
            let Some(range) = state.written.add(offset, len) else { return };
            let range = self.placed(range);
            (range.clone(), state.in_writeback.replace(range))
        };
        // Only a hint: the system writes the rest back later. `sync` reports errors.
        match self.overlaid {
            // Starts the writeback of pages that it cannot drop yet.
            true => self.drop_pages(over),
            false => drop(sys::start_writeback(self.fd.as_handle(), over)),
        }
        if let Some(range) = settled {
            self.finish_writeback(range);
        }
    }

    /// Returns the place of a written range in the file. That of appended bytes, counted from 0, is before the end.
    fn placed(&self, range: Range<u64>) -> Range<u64> {
        if !self.appends {
            return range;
        }
        let end = sys::status(&self.fd).map_or(range.end, |stat| stat.size);
        end.saturating_sub(range.end)..end
    }

    /// Waits for the writeback of a range and drops its pages.
    fn finish_writeback(&self, range: Range<u64>) {
        if !self.shared {
            let _ = match self.overlaid {
                true => sys::sync_data(&self.fd),
                false => sys::finish_writeback(self.fd.as_handle(), range.clone()),
            };
        }
        self.drop_pages(range);
    }

    fn drop_pages(&self, range: Range<u64>) {
        // A folio is dropped whole or not at all: the one into which the start falls was not dropped with the interval before.
        let start = range.start / LARGEST_FOLIO * LARGEST_FOLIO;
        // Pages that remain cost memory, not correctness.
        let _ = sys::advise(&self.fd, start, Some(range.end - start), Advice::DontNeed);
    }
}

impl Drop for DropBehind {
    fn drop(&mut self) {
        let state = std::mem::take(self.state.get_mut());
        let written = state.written.range.map(|range| self.placed(range));
        for range in [state.in_writeback, written].into_iter().flatten() {
            self.finish_writeback(range);
        }
        if let Some(range) = state.read.range {
            // Also drops the read-ahead of the last request.
            self.drop_pages(range.start..range.end.next_multiple_of(LARGEST_FOLIO));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_by_bytes_moved_and_covers_their_range() {
        let mut moved = Moved::default();
        assert_eq!(moved.add(100, 1 << 20), None);
        assert_eq!(moved.add(0, 10), None);
        assert_eq!(moved.add(50 << 20, INTERVAL as usize), Some(0..(50 << 20) + INTERVAL));
        assert_eq!(moved.add(7, 1), None);
        assert_eq!(moved.range, Some(7..8));
    }
}
