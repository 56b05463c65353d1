//! An input that is read whole, with its state at the start of the run.

use super::{Stats, stream_reader, transfer_loop};
use fullbore_io::error::{Error, Result};
use fullbore_io::file::{File, FileKind, FileStamp};

/// An input that is checked for changes after the run.
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
    pub(super) fn source(&self, patient: bool) -> transfer_loop::Source<'_> {
        match self.len {
            Some(len) => transfer_loop::Source::File { file: &self.file, len },
            None => {
                transfer_loop::Source::Stream(stream_reader::StreamReader::new(self.file.clone(), patient))
            }
        }
    }

    /// The length of a regular file; `None` for inputs whose length is not fixed.
    fn regular_len(&self) -> Option<u64> {
        self.len.filter(|_| self.file.kind() == FileKind::Regular)
    }

    /// Fails if not all of it was read.
    pub(super) fn was_whole(&self, stats: &Stats) -> Result<()> {
        match self.regular_len() {
            Some(len) if stats.bytes != len => {
                Err(Error::changed(self.file.path(), "truncated while being read"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if it changed since the start.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        if self.regular_len().is_none() {
            return Ok(());
        }
        self.file.check_unchanged(&self.before)
    }
}
