//! How one handle's transfers treat the page cache: kept, dropped by a flag, dropped from behind, or passed by.

use std::io;

use rustix::io::{Errno, ReadWriteFlags};

use super::direct::Direct;
use super::drop_behind::DropBehind;
use super::option_report::Support;
use super::{File, FileKind};
use crate::error::Result;

/// What becomes of the page cache.
///
/// ```
/// use fullbore::file::CachePolicy;
/// assert_eq!("drop".parse(), Ok(CachePolicy::DontCache));
/// assert_eq!(CachePolicy::default(), CachePolicy::Keep);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CachePolicy {
    /// Pages stay cached, as the system sees fit.
    #[default]
    Keep,
    /// Pages that this run brought in are dropped again (`RWF_DONTCACHE`, or `POSIX_FADV_DONTNEED` from behind).
    #[serde(rename = "drop")]
    DontCache,
    /// The cache is passed by (`O_DIRECT`).
    Direct,
}

/// `RWF_DONTCACHE` of `linux/fs.h`.
pub(crate) const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// What `cache=drop` means where the system does not know it.
pub(crate) const EMULATED: &str = "POSIX_FADV_DONTNEED drops what was read or written every 8 MiB, also pages \
                                   that were cached before";

/// How a handle's transfers go.
#[derive(Debug)]
pub(super) enum CacheMode {
    /// `pread` and `pwrite`.
    Plain,
    /// With `RWF_DONTCACHE`.
    Flagged,
    /// Plain, and the pages are dropped from behind.
    DropBehind(Box<DropBehind>),
    /// Past the page cache.
    Direct(Box<Direct>),
}

impl CacheMode {
    /// The mode of `file` for the policy `cache`, found out by using it, and how far the system supports it. The
    /// file is open under a mode of its own; nothing of it is changed, and nothing is written.
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
            return Err("the file system is memory: its pages are the file".to_owned());
        }
        Ok((Self::DropBehind(Box::new(DropBehind::of(file))), Support::Emulated(EMULATED.to_owned())))
    }
}

/// Whether the file's system knows `RWF_DONTCACHE`, asked by a read far past every end, which moves nothing.
pub(crate) fn drops_by_flag(file: &File) -> bool {
    // An overlay takes the flag, and most of what is written through it stays (seen on Linux 6.18 over XFS, where the same
    // bytes written past the overlay go).
    if crate::probe::overlaid(file) {
        return false;
    }
    const NOWHERE: u64 = 1 << 62;
    let ask = |file: &File| loop {
        let read = rustix::io::preadv2(file, &mut [io::IoSliceMut::new(&mut [0])], NOWHERE, DONTCACHE);
        if read != Err(Errno::INTR) {
            return read;
        }
    };
    match ask(file) {
        Ok(_) => true,
        // Open for writing only: another handle of the same file can be asked.
        Err(Errno::BADF) => file
            .reopen_fd(false)
            .is_ok_and(|fd| File::from_fd(fd, file.path()).is_ok_and(|readable| ask(&readable).is_ok())),
        Err(_) => false,
    }
}

impl File {
    /// The same open file with another cache policy for its reads and writes at offsets, and whether it is
    /// supported. A policy that is refused leaves the plain mode: through the cache.
    ///
    /// Only a direct handle passes the cache by, at any offset and length: whole blocks of aligned memory go
    /// straight to the device, the rest through buffers of this crate, and blocks that are written in part are
    /// read, changed and written back, one thread at a time. Bytes that another process writes into
    /// the same block at the same moment can be lost; neighbours in this process are safe. The part of a write
    /// that ends in the file's last block goes through the cache.
    ///
    /// ```
    /// use fullbore::file::{Support, CachePolicy, File};
    /// # let directory = tempfile::tempdir()?;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// let (direct, support) = file.with_cache(CachePolicy::Direct);
    /// if let Support::Unsupported(reason) = support {
    ///     println!("direct: refused: {reason}");
    /// }
    /// // Either way, at any offset and length.
    /// direct.write_all_at(b"bytes", 3)?;
    /// let mut read = [0; 5];
    /// direct.read_exact_at(&mut read, 3)?;
    /// assert_eq!(&read, b"bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_cache(&self, cache: CachePolicy) -> (Self, Support) {
        let (cache_mode, support) = CacheMode::find(self, cache);
        (self.under(cache_mode), support)
    }

    /// The cache policy this handle goes by, and how: a direct handle whose transfers the system refused after all
    /// says so here.
    ///
    /// ```
    /// use fullbore::file::{Support, CachePolicy, File};
    /// # let directory = tempfile::tempdir()?;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// assert_eq!(file.cache_policy(), (CachePolicy::Keep, Support::Native));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// With which flags the handle's transfers are made by those who make the system call themselves. `None`: one call
    /// is not all that is to be done.
    pub(crate) fn one_call(&self) -> Option<ReadWriteFlags> {
        match self.inner.cache_mode {
            CacheMode::Plain => Some(ReadWriteFlags::empty()),
            CacheMode::Flagged => Some(DONTCACHE),
            CacheMode::DropBehind(_) | CacheMode::Direct(_) => None,
        }
    }

    /// The direct handle to read pieces of memory with at `offset`, if that is one call: whole blocks and aligned
    /// memory.
    pub(crate) fn straight(&self, pieces: &[libc::iovec], offset: u64) -> Option<&Self> {
        match &self.inner.cache_mode {
            CacheMode::Direct(direct) => direct.straight(pieces, offset),
            _ => None,
        }
    }

    /// Reads in another mode than the plain one.
    #[cold]
    pub(super) fn read_by_mode(&self, data: &mut [u8], offset: u64) -> Result<usize> {
        match &self.inner.cache_mode {
            CacheMode::Plain => self.read_flagged(data, offset, ReadWriteFlags::empty()),
            CacheMode::Flagged => self.read_flagged(data, offset, DONTCACHE),
            CacheMode::DropBehind(drop_behind) => {
                let read = self.read_flagged(data, offset, ReadWriteFlags::empty())?;
                drop_behind.read(offset, read);
                Ok(read)
            }
            CacheMode::Direct(direct) => direct.read(self, data, offset),
        }
    }

    /// Writes in another mode than the plain one.
    #[cold]
    pub(super) fn write_by_mode(&self, data: &[u8], offset: u64) -> Result<usize> {
        match &self.inner.cache_mode {
            CacheMode::Plain => self.write_flagged(data, offset, ReadWriteFlags::empty()),
            CacheMode::Flagged => self.write_flagged(data, offset, DONTCACHE),
            CacheMode::DropBehind(drop_behind) => {
                let written = self.write_flagged(data, offset, ReadWriteFlags::empty())?;
                drop_behind.wrote(offset, written);
                Ok(written)
            }
            CacheMode::Direct(direct) => direct.write(self, data, offset),
        }
    }
}
