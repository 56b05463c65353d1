//! Methods for mapped files, whose bytes are lent in place, and for copies inside the kernel.

use super::completion::{Judged, is_retryable};
use super::io_queue::IoQueue;
use crate::error::{Error, ErrorKind, Result};

impl IoQueue {
    /// Lends `len` bytes at `offset` in place; a result computed from them is valid only after [`check`](Self::check). Fails with
    /// [`ErrorKind::Changed`] if the file became shorter.
    pub fn view(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        self.reachable("read", offset, len)?;
        self.stats.bytes += len as u64;
        self.stats.requests += 1;
        let judged = Judged { file: &self.file, limit: self.limit, before: self.before };
        self.engine.view(offset, len).map_err(|error| judged.fault("read", offset, error))
    }

    /// Lends `len` bytes at `offset` for writing, as [`view`](Self::view).
    pub fn view_mut(&mut self, offset: u64, len: usize) -> Result<&mut [u8]> {
        self.reachable("write", offset, len)?;
        self.stats.bytes += len as u64;
        self.stats.requests += 1;
        self.sound(offset)?;
        let judged = Judged { file: &self.file, limit: self.limit, before: self.before };
        self.engine.view_mut(offset, len).map_err(|error| judged.fault("write", offset, error))
    }

    pub(super) fn judged(&self) -> Judged<'_> {
        Judged { file: &self.file, limit: self.limit, before: self.before }
    }

    /// Checks that all bytes lent so far, up to `offset`, were bytes of the file; `doing` is the verb of the message. Fails with
    /// [`ErrorKind::Changed`] for a truncated file, [`ErrorKind::NoSpace`] for a write without space.
    pub fn check(&self, doing: &'static str, offset: u64) -> Result<()> {
        self.engine.check().map_err(|error| self.judged().fault(doing, offset, error))
    }

    /// Copies exactly `len` bytes at `offset`, in bytes, from the source to the same offset. Fails with [`ErrorKind::Changed`] if
    /// the source ends sooner.
    pub fn copy_in_kernel(&mut self, offset: u64, len: usize) -> Result<()> {
        self.reachable("copy to", offset, len)?;
        self.sound(offset)?;
        let mut moved = 0;
        while moved < len {
            let at = offset + moved as u64;
            self.stats.requests += 1;
            match self.engine.copy_in_kernel(at, at, len - moved) {
                Ok(0) => {
                    return Err(Error::new(
                        ErrorKind::Changed,
                        "copy to",
                        self.file.path(),
                        "the input became shorter",
                    )
                    .at(at));
                }
                Ok(count) => {
                    moved += count;
                    self.stats.bytes += count as u64;
                }
                Err(error) if is_retryable(&error) => {}
                Err(error) => return Err(Error::io("copy to", self.file.path(), error).at(at)),
            }
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::engine::{EngineConfig, method};
    use crate::file::File;

    /// The file has its old length again when the queue determines the cause of the missing page.
    #[test]
    fn a_mapped_file_truncated_and_extended_again_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![b'x'; 64 << 10]).unwrap();
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        let file = File::open(&path).unwrap();
        let config = EngineConfig::reading(&file);
        let mut queue = IoQueue::open(method("mmap").unwrap(), &config, Some(64 << 10)).unwrap();
        let bytes = queue.view(0, 64 << 10).unwrap();
        writer.set_len(0).unwrap();
        assert_eq!(bytes[5000], 0);
        writer.set_len(64 << 10).unwrap();
        let error = queue.check("read", 64 << 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}
