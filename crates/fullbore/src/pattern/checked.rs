//! The two ends of a run: an input that is checked for changes, and an output whose length and blocks are set in advance.

use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{File, FileKind, FileStamp, Output};

use super::progress::Stats;
use super::stream_reader::StreamReader;
use super::transfer_loop::Source;
use crate::strategy::{Allocation, Strategy};

pub(super) struct CheckedInput {
    file: File,
    /// Length in bytes; `None`: it is read sequentially.
    pub(super) len: Option<u64>,
    pub(super) before: FileStamp,
}

impl CheckedInput {
    pub(super) fn of(file: &File) -> Result<Self> {
        let file = file.stamped()?;
        let (before, len) = file.measure()?;
        Ok(Self { file, before, len })
    }

    /// The source of its blocks. A `patient` reader of a pipe waits for whole requests.
    pub(super) fn source(&self, patient: bool) -> Source<'_> {
        match self.len {
            Some(len) => Source::File { file: &self.file, len },
            None => Source::Stream(Box::new(StreamReader::new(self.file.clone(), patient))),
        }
    }

    /// The length of a regular file; `None` for inputs whose length is not fixed.
    fn regular_len(&self) -> Option<u64> {
        self.len.filter(|_| self.file.kind() == FileKind::Regular)
    }

    /// Fails if not all of the file was read.
    pub(super) fn was_whole(&self, stats: &Stats) -> Result<()> {
        match self.regular_len() {
            Some(len) if stats.bytes != len => {
                Err(Error::changed(self.file.path(), "truncated while being read"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the file changed since the start.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        // The length of a file that was partly read before is not fixed, but its content is.
        let partly_read = self.file.start() > 0 && self.before.len > 0;
        if self.regular_len().is_none() && !partly_read {
            return Ok(());
        }
        self.file.check_unchanged(&self.before)
    }
}

/// Gives a new output the length `len`, in bytes, and its blocks as the strategy specifies. An existing file that is extended has
/// its old length again if the run fails.
///
/// # Errors
/// [`ErrorKind::NoSpace`] if there is no room for the blocks.
pub(super) fn extend<'a>(output: &'a Output, len: u64, strategy: &Strategy) -> Result<Extension<'a>> {
    let none = Extension { before: None };
    if !output.seekable() || output.file().kind() != FileKind::Regular || len == 0 {
        return Ok(none);
    }
    let file = output.file();
    if output.overwrites() {
        let before = file.stamp()?.len;
        // Writes that bypass the page cache end with a whole block.
        let block = if strategy.writes_past_cache() { file.direct_alignment() as u64 } else { 1 };
        let longest = before.max(len).checked_next_multiple_of(block).unwrap_or(u64::MAX);
        // A mapping cannot extend its file.
        if before < len && strategy.write.capabilities.mapped {
            file.set_len(len)?;
        }
        return Ok(Extension { before: Some((file, before, longest)) });
    }
    match strategy.allocation {
        Allocation::Fallocate => match file.allocate_and_extend(len) {
            Err(error) if error.kind() == ErrorKind::Unsupported => file.set_len(len)?,
            allocated => allocated?,
        },
        Allocation::Size => file.set_len(len)?,
        Allocation::Extend if strategy.write.capabilities.mapped => file.set_len(len)?,
        Allocation::Extend => {}
    }
    Ok(none)
}

/// An existing file that the run may extend. Unless the extension is kept, the file gets its old length back.
pub(super) struct Extension<'a> {
    /// The file, its old length, and the longest that the run gives it, both in bytes.
    before: Option<(&'a File, u64, u64)>,
}

impl Extension<'_> {
    pub(super) fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Extension<'_> {
    fn drop(&mut self) {
        if let Some((file, len, longest)) = self.before {
            // The caller reports the error that ended the run. Bytes beyond are those of another process.
            if file.stamp().is_ok_and(|stamp| stamp.len > len && stamp.len <= longest) {
                let _ = file.set_len(len);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last block of a direct write is padded; more was appended by another process.
    #[test]
    fn a_failed_run_removes_its_own_bytes_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let spec: crate::strategy::StrategySpec = "method=direct".parse().unwrap();
        let strategy = spec.apply(Strategy::plain());
        std::fs::write(&path, "").unwrap();
        let block = Output::overwrite(&path).unwrap().file().direct_alignment() as u64;
        let padded = 5000u64.next_multiple_of(block);
        for (written, left) in [(padded, 5000), (padded + 1, padded + 1), (5000, 5000)] {
            std::fs::write(&path, vec![1; 5000]).unwrap();
            let output = Output::overwrite(&path).unwrap();
            for len in [5000, 4000] {
                let extension = extend(&output, len, &strategy).unwrap();
                output.file().set_len(written).unwrap();
                drop(extension);
                assert_eq!(output.file().len().unwrap(), left, "{written} {len}");
            }
        }
        std::fs::write(&path, vec![1; 5000]).unwrap();
        let output = Output::overwrite(&path).unwrap();
        let extension = extend(&output, 9000, &strategy).unwrap();
        output.file().set_len(9000).unwrap();
        drop(extension);
        assert_eq!(output.file().len().unwrap(), 5000);
    }
}
