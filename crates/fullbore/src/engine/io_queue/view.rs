//! A queue over a mapped file, whose bytes are looked at where they lie, and one that copies in the kernel between two files.

use super::IoQueue;
use super::whole::{Judged, is_retryable};
use crate::error::{Error, Kind, Result};

impl IoQueue {
    /// Lends `len` bytes at `offset` of the file in place; [`check`](Self::check) afterwards whether they were there.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("mmap").unwrap(), &config, None)?;
    /// assert_eq!(queue.view(1, 7)?, b"package");
    /// queue.check("read", 8)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file has become shorter, and the system's.
    pub fn view(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        self.reachable("read", offset, len)?;
        self.stats.bytes += len as u64;
        self.stats.requests += 1;
        let judged = Judged { file: &self.file, limit: self.limit, before: self.before };
        self.engine.view(offset, len).map_err(|error| judged.fault("read", offset, error))
    }

    /// As [`view`](Self::view), to be changed.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let config = EngineConfig { file: &file, from: None, write: true, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("mmap").unwrap(), &config, None)?;
    /// queue.view_mut(0, 5)?.make_ascii_uppercase();
    /// queue.check("write", 5)?;
    /// assert_eq!(std::fs::read(&path)?, b"BYTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`view`](Self::view).
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

    /// Whether all bytes lent so far, up to `offset`, were the file's. `doing` is what an error says could not be done:
    /// "read", "write".
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("mmap").unwrap(), &config, None)?;
    /// let ones = queue.view(0, 9)?.iter().filter(|&&byte| byte == b'a').count();
    /// queue.check("read", 9)?; // before the result is believed
    /// assert_eq!(ones, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file was cut short under a reader, [`Kind::NoSpace`] if there was no room under
    /// a writer.
    pub fn check(&self, doing: &'static str, offset: u64) -> Result<()> {
        self.engine.check().map_err(|error| self.judged().fault(doing, offset, error))
    }

    /// Moves `len` bytes at `offset`, in bytes, of the file copied from to the same place of this one, whole.
    ///
    /// ```
    /// use fullbore::engine::{CachePolicy, IoQueue, EngineConfig, method};
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let (from, to) = (File::open("Cargo.toml")?, File::create_new(directory.path().join("copy"))?);
    /// # let config = EngineConfig { file: &to, from: Some(&from), write: true, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// let mut queue = IoQueue::open(method("splice").unwrap(), &config, None)?;
    /// queue.copy_in_kernel(0, 9)?;
    /// assert_eq!(std::fs::read(directory.path().join("copy"))?, b"[package]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system's, and [`Kind::Changed`] if the source ended before.
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
                        Kind::Changed,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{CachePolicy, EngineConfig, method};
    use crate::file::File;

    /// A page was gone for a moment only: the file has its length again when it is asked why.
    #[test]
    fn a_mapped_file_that_was_cut_and_grew_again_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![b'x'; 64 << 10]).unwrap();
        let writer = std::fs::File::options().write(true).open(&path).unwrap();
        let file = File::open(&path).unwrap();
        let config = EngineConfig {
            file: &file,
            from: None,
            write: false,
            cache: CachePolicy::Keep,
            depth: 1,
            pool: None,
            window: None,
            random: false,
        };
        let mut queue = IoQueue::open(method("mmap").unwrap(), &config, Some(64 << 10)).unwrap();
        let bytes = queue.view(0, 64 << 10).unwrap();
        writer.set_len(0).unwrap();
        assert_eq!(bytes[5000], 0);
        writer.set_len(64 << 10).unwrap();
        let error = queue.check("read", 64 << 10).unwrap_err();
        assert_eq!(error.kind(), Kind::Changed, "{error}");
    }
}
