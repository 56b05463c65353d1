//! Syncs, and the consequences of a failed one.
//!
//! Linux reports a failed writeback once and then marks the pages clean: a second `fsync` of the same file succeeds
//! although the bytes never reached the device (PostgreSQL's "fsyncgate" of 2018, `docs/durability.md`). Therefore a
//! failed sync poisons the file: no handle derived from it writes or syncs again.

use std::io;

use super::inner::{File, Loss, Poisoned};
use super::types::{Call, Durability};
use crate::error::{Error, ErrorKind, Result};
use crate::sys::{self, AsHandle, BorrowedHandle, Code, FileKind};

impl File {
    /// Waits until the written bytes are on the device, to the level `durability`; returns at once for
    /// [`Durability::None`]. A failure poisons the file: every later write, sync and change of length or blocks fails
    /// with the first failure's cause, through this handle, its clones and the handles derived from it
    /// ([`try_clone`](Self::try_clone), [`with_cache`](Self::with_cache)). Reads continue. Syncs of one file run one after the
    /// other.
    ///
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::file::{Durability, File};
    ///
    /// let file = File::create_new(directory.path().join("journal"))?;
    /// file.write_all_at(b"paid 5", 0)?;
    /// file.sync(Durability::Data)?;
    /// assert!(file.poisoned().is_none(), "it is on the device");
    /// # Ok::<(), fullbore_io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for files that cannot be synced (pipes, sockets), which poisons nothing. Otherwise the
    /// error of the system call; the content on the device is then unknown.
    pub fn sync(&self, durability: Durability) -> Result<()> {
        self.sync_by(durability, |file| sys::sync_data(file))
    }

    /// As [`sync`](Self::sync), before the file gets its name. At [`Durability::Data`] the bytes reach the device before the name
    /// does, perhaps after this call.
    pub(super) fn sync_before_name(&self, durability: Durability) -> Result<()> {
        self.sync_by(durability, |file| sys::sync_ordered(file))
    }

    fn sync_by(&self, durability: Durability, data: fn(BorrowedHandle<'_>) -> sys::Result<()>) -> Result<()> {
        match self.sync_once(durability, data) {
            Err(error) if self.unsyncable(&error) => {
                let what = format!("a {} stores nothing on a device", self.kind());
                Err(Error::new(ErrorKind::Unsupported, "sync", self.path(), what))
            }
            result => result.map_err(|error| Error::io("sync", self.path(), error)),
        }
    }

    /// [`sync`](Self::sync) with [`Durability::Data`]: the bytes and the metadata needed to read them (`fdatasync`).
    pub fn sync_data(&self) -> Result<()> {
        self.sync(Durability::Data)
    }

    /// [`sync`](Self::sync) with [`Durability::Full`]: the bytes and all attributes (`fsync`).
    pub fn sync_all(&self) -> Result<()> {
        self.sync(Durability::Full)
    }

    /// Writes back dirty pages and waits for them; errors as by [`sync`](Self::sync). The device's cache is not flushed. If no
    /// page is dirty, this takes one call.
    pub fn write_back(&self) -> Result<()> {
        self.in_turn(|| {
            self.judge(Call::WriteBack)?;
            let sync = || sys::uninterrupted(|| sys::sync_data(&self.inner.fd));
            // On an overlay the pages belong to another inode.
            if crate::probe::overlaid(self) {
                return Ok(sync()?);
            }
            // A length of 0 means to the end of the file.
            Ok(match sys::uninterrupted(|| sys::finish_writeback(self.inner.fd.as_handle(), 0..0)) {
                // A filter forbids the call.
                Err(Code::NOT_IMPLEMENTED | Code::NOT_PERMITTED) => sync(),
                written => written,
            }?)
        })
        .or_else(|error| if self.unsyncable(&error) { Ok(()) } else { Err(error) })
        .map_err(|error| Error::io("write", self.path(), error))
    }

    /// Returns the error that poisoned this file: the error of a failed sync, or of a write by a dropped stream.
    pub fn poisoned(&self) -> Option<&io::Error> {
        self.inner.health.failed().map(|failure| &failure.error)
    }

    /// Makes one call of `fsync` or of `data`.
    fn sync_once(
        &self,
        durability: Durability,
        data: fn(BorrowedHandle<'_>) -> sys::Result<()>,
    ) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        self.in_turn(|| {
            self.judge(Call::Sync(durability))?;
            // If the wait was interrupted, nothing failed.
            Ok(sys::uninterrupted(|| match durability {
                Durability::Full => sys::sync_all(&self.inner.fd),
                _ => data(self.inner.fd.as_handle()),
            })?)
        })
    }

    /// Runs a sync of any kind after those of other threads; a failure poisons the file.
    pub(super) fn in_turn(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _turn = self.inner.health.state().syncing.lock();
        self.sound()?;
        sync().map_err(|error| self.poison(error))
    }

    /// Records a failed sync, unless the error means that the file cannot be synced at all.
    pub(crate) fn poison(&self, error: io::Error) -> io::Error {
        if self.unsyncable(&error) {
            return error;
        }
        self.inner.health.state().fails(Loss::Sync, &error);
        error
    }

    /// True if the error of a sync means that the file stores nothing on a device.
    fn unsyncable(&self, error: &io::Error) -> bool {
        match Code::of(error) {
            Some(Code::INVALID | Code::UNSUPPORTED | Code::BAD_HANDLE | Code::NOT_SEEKABLE) => true,
            // A file system that became read-only after an error keeps dirty pages of regular files.
            Some(Code::READ_ONLY) => !matches!(self.kind(), FileKind::Regular | FileKind::BlockDevice),
            _ => false,
        }
    }

    /// Records a loss of bytes: a stream was dropped, and its pending bytes could not be written.
    pub(crate) fn lose(&self, error: &io::Error) {
        self.inner.health.state().fails(Loss::Stream, error);
    }

    /// Fails if a sync of this file failed or bytes of it were lost. Called before every write; costs one load.
    pub(crate) fn sound(&self) -> io::Result<()> {
        match self.inner.health.failed() {
            None => Ok(()),
            Some(failure) => Err(io::Error::other(Poisoned(failure.clone()))),
        }
    }
}
