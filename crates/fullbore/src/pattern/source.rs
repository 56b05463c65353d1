//! An input that is read whole, and what it was when that began.

use super::{Outcome, front, lane};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileKind, Snapshot};

/// An input that is looked at again when it was read.
pub(super) struct Source<'a> {
    file: &'a File,
    /// In bytes; `None`: it is read from front to back.
    pub(super) len: Option<u64>,
    pub(super) before: Snapshot,
}

impl<'a> Source<'a> {
    pub(super) fn of(file: &'a File) -> Result<Self> {
        Ok(Self { file, before: file.snapshot()?, len: file.seekable_len()? })
    }

    /// Where the blocks of it come from. A `patient` reader of a pipe waits for whole requests.
    pub(super) fn feed(&self, patient: bool) -> lane::Feed<'a> {
        match self.len {
            Some(len) => lane::Feed::File { file: self.file, len },
            None => lane::Feed::Stream(front::Front::new(self.file.clone(), patient)),
        }
    }

    /// The length that a regular file had; `None` for what may have no more than one state.
    fn regular_len(&self) -> Option<u64> {
        self.len.filter(|_| self.file.kind() == FileKind::Regular)
    }

    /// Whether all of it was read.
    pub(super) fn was_whole(&self, outcome: &Outcome) -> Result<()> {
        match self.regular_len() {
            Some(len) if outcome.bytes != len => {
                Err(self.changed("read", "the file became shorter while it was read"))
            }
            _ => Ok(()),
        }
    }

    /// Whether what was read was one state of it.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        match self.regular_len() {
            Some(_) if self.file.snapshot()? != self.before => {
                Err(self.changed("trust", "the file was modified while it was read"))
            }
            _ => Ok(()),
        }
    }

    fn changed(&self, doing: &'static str, what: &str) -> Error {
        Error::new(Kind::Changed, doing, self.file.path(), what)
    }
}
