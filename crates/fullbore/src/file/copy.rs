//! Copying ranges from file to file: what is asked, and what is told of it. `copy_methods` does it.

use std::ops::Range;

use rustix::io::Errno;

use super::cache_mode::CacheMode;
use super::copy_methods::{Copying, clone_once, positional};
use super::{File, FileKind};
use crate::error::{Error, Kind, Result};

/// How the bytes of a copy went, in bytes.
///
/// ```
/// let report = fullbore::file::CopyReport { cloned: 4096, through_memory: 10, ..Default::default() };
/// assert_eq!(report.bytes(), 4106);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Blocks that both files have now (`FICLONERANGE`): nothing was moved.
    pub cloned: u64,
    /// Left to the file system (`copy_file_range`), which may have shared blocks too.
    pub in_kernel: u64,
    /// Moved through a pipe in the kernel (`splice`).
    pub spliced: u64,
    /// Read and written.
    pub through_memory: u64,
}

impl CopyReport {
    /// All bytes copied.
    ///
    /// ```
    /// assert_eq!(fullbore::file::CopyReport::default().bytes(), 0);
    /// ```
    pub fn bytes(&self) -> u64 {
        self.cloned + self.in_kernel + self.spliced + self.through_memory
    }
}

impl File {
    /// Makes `target` have the bytes of a range of this file at `offset`, all numbers in bytes, by sharing the
    /// blocks: later writes to either part them again. All of the range or an error.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let source = File::create_new(directory.path().join("source"))?;
    /// let target = File::create_new(directory.path().join("target"))?;
    /// source.write_all_at(&[7; 8192], 0)?;
    /// match source.clone_range(0..8192, &target, 0) {
    ///     Ok(()) => assert_eq!(target.stamp()?.len, 8192),
    ///     Err(error) => assert_eq!(error.kind(), Kind::Unsupported), // ext4, tmpfs
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Unsupported`] if the file systems cannot, or the range is not one of whole blocks (it may end with
    /// the source, if the target ends there too); [`Kind::Invalid`] if the range ends before it starts.
    pub fn clone_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<()> {
        let len = length("clone", self, &range)?;
        if len == 0 {
            return Ok(());
        }
        let refuse = |what: String| {
            Err(Error::new(Kind::Unsupported, "clone to", target.path(), what)
                .at(offset)
                .advise("copy_range copies what cannot be cloned"))
        };
        match clone_once(self, range.start, len, target, offset)? {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) => {
                refuse("the file system shares no blocks".to_owned())
            }
            Err(Errno::XDEV) => refuse("the files are on two file systems".to_owned()),
            Err(Errno::INVAL) => refuse(format!(
                "the range {}..{} does not exist, is not of whole blocks, or overlaps its target",
                range.start, range.end
            )),
            Err(error) => Err(Error::io("clone to", target.path(), error.into()).at(offset)),
        }
    }

    /// Copies a range of this file to `offset` of `target`, all numbers in bytes: by sharing blocks, in the kernel,
    /// through a pipe, or through memory, whatever works, each going on where the last one stopped.
    ///
    /// The copy ends where the source does: what was copied is in the report, and `0..u64::MAX` is all there is. What is
    /// read or written from front to back (pipes, devices) has no offsets: they are 0 there. Holes may be filled.
    /// A handle that drops or passes by the cache keeps doing so.
    ///
    /// ```
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("target");
    /// let source = File::open("/proc/self/status")?; // says that it is empty
    /// let target = File::create_new(&path)?;
    /// let report = source.copy_range(0..u64::MAX, &target, 0)?;
    /// assert!(report.bytes() > 0 && report.through_memory == report.bytes());
    /// assert!(std::fs::read_to_string(&path)?.contains("Pid:"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::SameFile`] if both ranges lie in one file and overlap, [`Kind::Invalid`] for offsets where there are
    /// none, and the system's errors; then a part may be copied.
    pub fn copy_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<CopyReport> {
        let mut left = length("copy", self, &range)?;
        for (file, at) in [(self, range.start), (target, offset)] {
            if at != 0 && !positional(file) {
                let what = format!("a {} has no offsets", file.kind());
                return Err(Error::new(Kind::Invalid, "copy", file.path(), what).at(at));
            }
        }
        target.sound().map_err(|error| Error::io("copy to", target.path(), error).at(offset))?;
        let (from, to) = (self.stamp()?, target.stamp()?);
        if from.identity == to.identity && positional(self) {
            // What the copy itself adds is no part of it.
            left = left.min(from.len.saturating_sub(range.start));
            let apart =
                range.start.saturating_add(left) <= offset || offset.saturating_add(left) <= range.start;
            if left > 0 && !apart {
                let what = format!("{left} bytes from {} to {offset} of the same file overlap", range.start);
                return Err(Error::new(Kind::SameFile, "copy", self.path(), what));
            }
        }
        let mut copying = Copying {
            source: self,
            target,
            from: range.start,
            to: offset,
            left,
            devices: (from.identity.0, to.identity.0),
            plain: matches!(
                (&self.inner.cache_mode, &target.inner.cache_mode),
                (CacheMode::Plain, CacheMode::Plain)
            ),
            report: CopyReport::default(),
        };
        // A regular file that says it is empty may be one of /proc.
        if self.kind() == FileKind::Regular && from.len > 0 {
            copying.by_clone(from.len, to.len)?;
            copying.by_kernel()?;
        }
        if self.kind() != FileKind::Regular || from.len > 0 {
            copying.by_pipe()?;
        }
        copying.by_memory()?;
        Ok(copying.report)
    }
}

/// The length of a range.
fn length(doing: &'static str, source: &File, range: &Range<u64>) -> Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        let what = format!("the range {}..{} ends before it starts", range.start, range.end);
        Error::new(Kind::Invalid, doing, source.path(), what)
    })
}
