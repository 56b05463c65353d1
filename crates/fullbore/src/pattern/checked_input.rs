//! An input that is read whole, and what it was when that began.

use super::{Stats, stream_reader, transfer_loop};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, FileStamp};

/// An input that is looked at again when it was read.
pub(super) struct CheckedInput<'a> {
    file: &'a File,
    /// In bytes; `None`: it is read from front to back.
    pub(super) len: Option<u64>,
    pub(super) before: FileStamp,
}

impl<'a> CheckedInput<'a> {
    pub(super) fn of(file: &'a File) -> Result<Self> {
        Ok(Self { file, before: file.stamp()?, len: file.seekable_len()? })
    }

    /// Where the blocks of it come from. A `patient` reader of a pipe waits for whole requests.
    pub(super) fn source(&self, patient: bool) -> transfer_loop::Source<'a> {
        match self.len {
            Some(len) => transfer_loop::Source::File { file: self.file, len },
            None => {
                transfer_loop::Source::Stream(stream_reader::StreamReader::new(self.file.clone(), patient))
            }
        }
    }

    /// The length that a regular file had; `None` for what may have no more than one state.
    fn regular_len(&self) -> Option<u64> {
        self.len.filter(|_| self.file.kind() == FileKind::Regular)
    }

    /// Whether all of it was read.
    pub(super) fn was_whole(&self, stats: &Stats) -> Result<()> {
        match self.regular_len() {
            Some(len) if stats.bytes != len => {
                Err(self.changed("read", "the file became shorter while it was read"))
            }
            _ => Ok(()),
        }
    }

    /// Whether what was read was one state of it.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        match self.regular_len() {
            Some(_) if self.file.stamp()? != self.before => {
                Err(self.changed("trust", "the file was modified while it was read"))
            }
            _ => Ok(()),
        }
    }

    fn changed(&self, doing: &'static str, what: &str) -> Error {
        Error::new(Kind::Changed, doing, self.file.path(), what)
    }
}
