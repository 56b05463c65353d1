//! Copies of ranges from file to file: the entry points and the report. `copy_methods` does the work.

use std::ops::Range;

use super::copy_methods::{Copying, clone_once, positional};
use super::inner::{CacheMode, File};
use super::types::CopyReport;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{Code, FileKind};

impl File {
    /// Makes a range of this file appear at `offset` of `target` (all in bytes) by sharing the blocks; a later write to
    /// either file separates them. Clones the whole range or returns an error.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the file system cannot share blocks, or the range does not consist of whole blocks (it
    /// may end with the source if the target ends there too); [`ErrorKind::Invalid`] if the range ends before it starts.
    pub fn clone_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<()> {
        let len = length("clone", self, &range)?;
        if len == 0 {
            return Ok(());
        }
        let refuse = |what: String| {
            Err(Error::new(ErrorKind::Unsupported, "clone to", target.path(), what)
                .at(offset)
                .advise("copy_range copies what cannot be cloned"))
        };
        match clone_once(self, range.start, len, target, offset)? {
            Ok(()) => Ok(()),
            Err(Code::UNSUPPORTED | Code::INAPPROPRIATE | Code::NOT_IMPLEMENTED) => {
                refuse("the file system cannot share blocks".to_owned())
            }
            Err(Code::CROSSES_DEVICES) => refuse("the files are on different file systems".to_owned()),
            Err(Code::INVALID) => refuse(format!(
                "the range {}..{} is not in the file, not of whole blocks, or overlaps its target",
                range.start, range.end
            )),
            Err(error) => Err(Error::io("clone to", target.path(), error.into()).at(offset)),
        }
    }

    /// Copies a range of this file to `offset` of `target` (all in bytes): by sharing blocks, in the kernel, through a
    /// pipe, or through memory. Each method continues where the previous one stopped.
    ///
    /// The copy ends where the source does, so `0..u64::MAX` copies everything; the report counts the bytes copied.
    /// Sequential files (pipes, devices) have no offsets: 0 is required there. Holes may be filled. A handle that drops
    /// cached pages or bypasses the cache does so here too.
    ///
    /// ```
    /// use fullbore_io::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("target");
    /// let source = File::open("/proc/self/status")?; // has length 0
    /// let target = File::create_new(&path)?;
    /// let report = source.copy_range(0..u64::MAX, &target, 0)?;
    /// assert!(report.bytes() > 0 && report.through_memory == report.bytes());
    /// assert!(std::fs::read_to_string(&path)?.contains("Pid:"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::SameFile`] if both ranges are in one file and overlap, [`ErrorKind::Invalid`] for an offset in a file without
    /// offsets, and the error of the system call; a part may have been copied then.
    pub fn copy_range(&self, range: Range<u64>, target: &Self, offset: u64) -> Result<CopyReport> {
        let mut left = length("copy", self, &range)?;
        for (file, at) in [(self, range.start), (target, offset)] {
            if at != 0 && !positional(file) {
                let what = format!("a {} has no offsets", file.kind());
                return Err(Error::new(ErrorKind::Invalid, "copy", file.path(), what).at(at));
            }
        }
        target.sound().map_err(|error| Error::io("copy to", target.path(), error).at(offset))?;
        let (from, to) = (self.stamp()?, target.stamp()?);
        if from.identity == to.identity && positional(self) {
            // Bytes that the copy itself appends are not part of the range.
            left = left.min(from.len.saturating_sub(range.start));
            let apart =
                range.start.saturating_add(left) <= offset || offset.saturating_add(left) <= range.start;
            if left > 0 && !apart {
                let what = format!("{left} bytes from {} to {offset} of the same file overlap", range.start);
                return Err(Error::new(ErrorKind::SameFile, "copy", self.path(), what));
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
        // A regular file of length 0 may be one of `/proc`.
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

fn length(doing: &'static str, source: &File, range: &Range<u64>) -> Result<u64> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        let what = format!("the range {}..{} ends before it starts", range.start, range.end);
        Error::new(ErrorKind::Invalid, doing, source.path(), what)
    })
}
