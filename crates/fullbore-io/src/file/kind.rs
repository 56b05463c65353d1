//! The kind of a path's target, and stamps of files.

use std::io;
use std::path::Path;

use super::dir_opener::UnchangedReader;
use super::handle::directory;
use super::inner::{Before, CacheMode, File};
use super::space::POSITION;
use super::types::FileStamp;
use crate::error::{Error, ErrorKind, Result};
use crate::probe::FileSystemId;
use crate::sys::{self, AsHandle, Code, FileKind, FileSystemKind, SeekFrom, Status};

impl File {
    /// Returns the current identity, length and modification time.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use fullbore_io::file::File;
    /// let file = File::create_new(directory.path().join("file"))?;
    /// let before = file.stamp()?;
    /// file.write_all_at(b"bytes", 0)?;
    /// assert!(file.stamp()? != before);
    /// assert_eq!(file.stamp()?.identity, before.identity);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file is a directory, or the system call fails.
    pub fn stamp(&self) -> Result<FileStamp> {
        Ok(self.inspect()?.stamp)
    }

    fn inspect(&self) -> Result<Before> {
        let stat = sys::status(&self.inner.fd)
            .map_err(|error| Error::io("inspect", &self.inner.path, error.into()))?;
        self.state(&stat)
    }

    fn state(&self, stat: &Status) -> Result<Before> {
        let len = match self.inner.kind(|| stat.kind()) {
            FileKind::Directory => return Err(directory(&self.inner.path)),
            kind if self.inner.listed && kind != FileKind::Regular => {
                let what = format!("a {kind} has replaced the regular file of that name");
                return Err(Error::new(ErrorKind::Changed, "read", self.path(), what));
            }
            FileKind::BlockDevice => {
                let own = self.with_own_position();
                let handle = own.as_ref().map_or(self.as_handle(), AsHandle::as_handle);
                // Standard input may have been read in part.
                let _alone = POSITION.lock();
                let position = sys::position(handle).unwrap_or(0);
                let len = sys::seek(handle, SeekFrom::End(0));
                let _ = sys::seek(handle, SeekFrom::Start(position));
                len.map_err(|error| Error::io("measure", &self.inner.path, error.into()))?
            }
            _ => stat.size,
        };
        Ok(Before { stamp: FileStamp { len, ..FileStamp::of(stat) }, sparse: stat.sparse })
    }

    /// Fails if a regular file no longer has the stamp `before`, taken before it was read: the bytes may mix two states.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`](crate::error::ErrorKind::Changed), and the system's.
    pub fn check_unchanged(&self, before: &FileStamp) -> Result<()> {
        match self.kind() == FileKind::Regular && self.stamp()? != *before {
            true => Err(Error::changed(self.path(), "modified while being read")),
            false => Ok(()),
        }
    }

    /// Returns the length of a file that can be read at any offset. `None` for inputs that are read sequentially:
    /// pipes, character devices, an adopted file that was partly read, a regular file of length 0 (it may be a file of
    /// `/proc`, whose length is unknown before its end), and a short file of `/sys`, whose reported length is only nominal.
    /// A [stamped](Self::stamped) handle has the length already.
    ///
    /// ```
    /// use fullbore_io::file::File;
    /// assert!(File::open("Cargo.toml")?.seekable_len()?.is_some());
    /// assert!(File::open("/dev/zero")?.seekable_len()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seekable_len(&self) -> Result<Option<u64>> {
        Ok(self.measure()?.1)
    }

    /// Reads a small file whole if one read and one `fstat` suffice (see [`UnchangedReader`]); returns its length.
    #[doc(hidden)]
    pub fn read_unchanged(&self, reader: &mut UnchangedReader, bytes: &mut [u8]) -> Option<usize> {
        let plain = self.inner.start.is_none() && matches!(self.inner.cache_mode, CacheMode::Plain);
        let read = |offset, bytes: &mut [u8], flags| self.read_once(offset, bytes, flags);
        plain.then(|| reader.read(&self.inner.fd, bytes, read))?
    }

    /// Returns a handle that records the file's present state. Runs over the handle (transform, fold, search, compare)
    /// compare this state with the file's state at their end.
    pub fn stamped(&self) -> Result<Self> {
        let before = self.before.map_or_else(|| self.inspect(), Ok)?;
        Ok(Self { before: Some(before), ..self.clone() })
    }

    /// As [`stamped`](Self::stamped), with a status of this file that is already known.
    #[doc(hidden)]
    pub fn stamped_as(&self, stat: &Status) -> Result<Self> {
        Ok(Self { before: Some(self.state(stat)?), ..self.clone() })
    }

    /// As [`stamped`](Self::stamped), but records the present state even if this handle is stamped: for runs
    /// that had to wait.
    #[doc(hidden)]
    pub fn stamped_again(&self) -> Result<Self> {
        Self { before: None, ..self.clone() }.stamped()
    }

    /// Returns the state at the start of the runs over this handle: the recorded state, or the present one.
    #[doc(hidden)]
    pub fn starting_stamp(&self) -> Result<FileStamp> {
        self.before.map_or_else(|| self.stamp(), |before| Ok(before.stamp))
    }

    /// Returns the state at the start, if it is known.
    #[doc(hidden)]
    pub fn known_stamp(&self) -> Option<&FileStamp> {
        self.before.as_ref().map(|before| &before.stamp)
    }

    /// Returns the file system, determined at the first call.
    #[doc(hidden)]
    pub fn file_system(&self) -> io::Result<FileSystemId> {
        if let Some(found) = self.inner.file_system.get() {
            return Ok(*found);
        }
        let found = match self.known_stamp().filter(|_| self.kind() == FileKind::Regular) {
            Some(stamp) => FileSystemId::on(stamp.identity.0, self),
            None => FileSystemId::of(self),
        }?;
        Ok(*self.inner.file_system.get_or_init(|| found))
    }

    /// True for a regular file with fewer blocks than bytes.
    pub fn is_sparse(&self) -> bool {
        let sparse = || self.before.map_or_else(|| self.inspect(), Ok).is_ok_and(|before| before.sparse);
        self.kind() == FileKind::Regular && sparse()
    }

    /// Returns the stamp and the [length](Self::seekable_len) of the file, from at most one call.
    #[doc(hidden)]
    pub fn measure(&self) -> Result<(FileStamp, Option<u64>)> {
        let Before { stamp, sparse } = self.before.map_or_else(|| self.inspect(), Ok)?;
        let len = match self.kind() {
            FileKind::Regular | FileKind::BlockDevice => {
                // A shell may have read part of its standard input before passing it on.
                let read = match self.inner.start {
                    None => 0,
                    Some(start) if sys::TRANSFERS_MOVE_POSITION => start,
                    Some(_) => {
                        let _alone = POSITION.lock();
                        sys::position(&self.inner.fd).unwrap_or(0)
                    }
                };
                let len = stamp.len;
                (len > 0 && read == 0 && !(sparse && self.len_is_made_up(len))).then_some(len)
            }
            _ => None,
        };
        Ok((stamp, len))
    }

    /// True if the length is only nominal, as for files whose content the kernel generates on read: in `/sys` a page, or more
    /// than an ordinary user may read. Such files have no blocks, so that most others need no call.
    fn len_is_made_up(&self, len: u64) -> bool {
        len <= 64 << 10
            && sys::file_system_kind(&self.inner.fd).is_ok_and(FileSystemKind::has_nominal_lengths)
    }
}

/// Returns the kind and stamp of a path, with symbolic links followed and without opening it; `None` if it does not
/// exist.
pub fn stat(path: &Path) -> Result<Option<(FileKind, FileStamp)>> {
    match sys::stat(path) {
        Ok(stat) => Ok(Some((stat.kind(), FileStamp::of(&stat)))),
        Err(Code::NOT_FOUND) => Ok(None),
        Err(error) => Err(Error::io("inspect", path, error.into())),
    }
}
