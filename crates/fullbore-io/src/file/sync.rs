//! Syncs, and the consequences of a failed one.
//!
//! Linux reports a failed write-back once and then marks the pages clean: a second `fsync` of the same file succeeds
//! although the bytes never reached the device (PostgreSQL's "fsyncgate" of 2018, `docs/durability.md`). Therefore a
//! failed sync poisons the file: no handle derived from it writes or syncs again.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[cfg(feature = "fault")]
use super::cache_mode::CachePolicy;
use super::calls::BUFFERS;
use super::{Durability, File};
use crate::buf::Direction;
use crate::error::{Error, ErrorKind, Result, message};
#[cfg(feature = "fault")]
use crate::fault::{Call, Operation, Plan};
use crate::sys::{self, AsHandle, BorrowedHandle, Code};

/// The state that all handles derived from one file share: the failed sync, the reserved range, and a test's fault plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// Created when a handle is derived, a sync fails or a range is reserved; most files need none.
    state: OnceLock<Arc<SyncState>>,
    /// The fault plan of a test.
    #[cfg(feature = "fault")]
    plan: Option<Plan>,
    /// The bytes read and written under that plan, for a file without offsets.
    #[cfg(feature = "fault")]
    flowed: Option<Arc<[AtomicU64; 2]>>,
}

impl Health {
    /// The state for a derived handle.
    pub(super) fn shared(&self) -> Self {
        self.state();
        self.clone()
    }

    fn state(&self) -> &SyncState {
        self.state.get_or_init(Arc::default)
    }

    /// Records that blocks are reserved up to `end`.
    pub(super) fn set_reserved(&self, end: u64) {
        self.state().reserved.fetch_max(end, Ordering::Relaxed);
    }

    /// The end of the ranges reserved through these handles, in bytes.
    pub(super) fn reserved(&self) -> u64 {
        self.state.get().map_or(0, |state| state.reserved.load(Ordering::Relaxed))
    }

    /// The failure that poisoned the file.
    fn failed(&self) -> Option<&Arc<Failure>> {
        self.state.get().and_then(|state| state.failed.get())
    }
}

#[derive(Debug, Default)]
struct SyncState {
    /// The first failure.
    failed: OnceLock<Arc<Failure>>,
    /// Held during a sync: the system reports a failure to one caller only, and a concurrent sync must not succeed
    /// before that caller has recorded it.
    syncing: Mutex<()>,
    /// The end of the ranges that were reserved, in bytes.
    reserved: AtomicU64,
}

/// The cause of a poisoned file.
#[derive(Debug)]
struct Failure {
    /// True for a failed sync, false for a failed write of a dropped stream.
    sync: bool,
    error: io::Error,
}

/// The error of writes to a poisoned file.
#[derive(Debug)]
struct Poisoned(Arc<Failure>);

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = message(&self.0.error);
        if self.0.sync {
            write!(
                f,
                "an earlier sync of this file failed ({cause}), and data written before it may be lost"
            )?;
        } else {
            write!(
                f,
                "an earlier write of a stream that was dropped failed ({cause}), and its pending data is lost"
            )?;
        }
        f.write_str("; write the file again from its source")
    }
}

impl std::error::Error for Poisoned {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.error)
    }
}

impl File {
    /// Waits until the written bytes are on the device, to the level `durability`; returns at once for
    /// [`Durability::None`]. A failure poisons the file: every later write, sync and change of length or blocks fails
    /// with the first failure's cause, through this handle, its clones and the handles derived from it
    /// ([`reopen`](Self::reopen)). Reads continue. Syncs of one file run one after the other.
    ///
    /// ```
    /// # fn main() -> fullbore_io::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore_io::file::{Durability, File};
    ///
    /// let file = File::create_new(directory.path().join("journal"))?;
    /// file.write_all_at(b"paid 5", 0)?;
    /// file.sync(Durability::Data)?;
    /// assert!(file.poisoned().is_none(), "it is on the device");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for files that cannot be synced (pipes, sockets), which poisons nothing. Otherwise the
    /// error of the system call; the content on the device is then unknown.
    pub fn sync(&self, durability: Durability) -> Result<()> {
        self.sync_by(durability, |file| sys::sync_data(file))
    }

    /// As [`sync`](Self::sync), before the file gets its name. At level [`Durability::Data`] the bytes reach the device before the
    /// name does, and perhaps after this call.
    pub(super) fn sync_before_name(&self, durability: Durability) -> Result<()> {
        self.sync_by(durability, |file| sys::sync_ordered(file))
    }

    fn sync_by(&self, durability: Durability, data: fn(BorrowedHandle<'_>) -> sys::Result<()>) -> Result<()> {
        match self.sync_once(durability, data) {
            Err(error) if unsyncable(&error) => {
                let what = format!("a {} stores nothing on a device", self.kind());
                Err(Error::new(ErrorKind::Unsupported, "sync", self.path(), what))
            }
            result => result.map_err(|error| Error::io("sync", self.path(), error)),
        }
    }

    /// Waits until the bytes and the metadata needed to read them are on the device (`fdatasync`): [`sync`](Self::sync)
    /// with [`Durability::Data`].
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_data(&self) -> Result<()> {
        self.sync(Durability::Data)
    }

    /// Waits until the bytes and all attributes are on the device (`fsync`): [`sync`](Self::sync) with
    /// [`Durability::Full`].
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_all(&self) -> Result<()> {
        self.sync(Durability::Full)
    }

    /// Writes back dirty pages and waits for them; a write that the device rejected is reported as by
    /// [`sync`](Self::sync). Does not flush the device's cache, and costs one call if no page is dirty.
    pub fn write_back(&self) -> Result<()> {
        self.in_turn(|| {
            self.before_sync(Durability::Data)?;
            // On an overlay the pages belong to another inode.
            if crate::probe::overlaid(self) {
                return Ok(sys::sync_data(&self.inner.fd)?);
            }
            // A length of 0 means to the end of the file.
            sys::finish_writeback(self.inner.fd.as_handle(), 0..0)
        })
        .or_else(|error| if unsyncable(&error) { Ok(()) } else { Err(error) })
        .map_err(|error| Error::io("write", self.path(), error))
    }

    /// The error that poisoned this file: of a sync, or of a write of a dropped stream.
    pub fn poisoned(&self) -> Option<&io::Error> {
        self.inner.health.failed().map(|failure| &failure.error)
    }

    /// One `fsync`, or one call of `data`.
    fn sync_once(
        &self,
        durability: Durability,
        data: fn(BorrowedHandle<'_>) -> sys::Result<()>,
    ) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        self.in_turn(|| {
            self.before_sync(durability)?;
            loop {
                let synced = match durability {
                    Durability::Full => sys::sync_all(&self.inner.fd),
                    _ => data(self.inner.fd.as_handle()),
                };
                match synced {
                    // Only the wait was interrupted; nothing failed.
                    Err(Code::INTERRUPTED) => {}
                    synced => return Ok(synced?),
                }
            }
        })
    }

    /// Runs a sync of any kind after those of other threads; a failure poisons the file.
    pub(super) fn in_turn(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _turn = self.inner.health.state().syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.sound()?;
        sync().map_err(|error| self.poison(error))
    }

    /// Records a failed sync, unless the error means that the file cannot be synced at all.
    pub(crate) fn poison(&self, error: io::Error) -> io::Error {
        if unsyncable(&error) {
            return error;
        }
        self.fails(true, &error);
        error
    }

    /// Records a loss of bytes: a stream was dropped, and its pending bytes could not be written.
    pub(crate) fn lose(&self, error: &io::Error) {
        self.fails(false, error);
    }

    fn fails(&self, sync: bool, error: &io::Error) {
        let error = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        // Only the first failure says what was lost.
        let _ = self.inner.health.state().failed.set(Arc::new(Failure { sync, error }));
    }

    /// Fails if a sync of this file failed or bytes of it were lost. Called before every write; costs one load.
    pub(crate) fn sound(&self) -> io::Result<()> {
        match self.inner.health.failed() {
            None => Ok(()),
            Some(failure) => Err(io::Error::other(Poisoned(failure.clone()))),
        }
    }

    /// Returns the number of bytes, up to `len`, that a transfer may request: all, unless a fault plan limits or fails
    /// it. `memory` has the addresses of the buffers, and of several their lengths, combined by bitwise or.
    #[inline]
    pub(crate) fn before(
        &self,
        direction: Direction,
        offset: u64,
        len: usize,
        memory: usize,
    ) -> io::Result<usize> {
        #[cfg(feature = "fault")]
        if let Some(plan) = &self.inner.health.plan {
            let call = match direction {
                Direction::Read => Call::Read { offset, len },
                Direction::Write => Call::Write { offset, len },
            };
            return plan.before(&Operation { file: self, unit: self.inner.unit, memory, call }).into_result();
        }
        let _ = (direction, offset, memory);
        Ok(len)
    }

    /// The offset of the next byte for a fault plan, in a file without offsets: the bytes transferred so far in that
    /// direction.
    #[inline]
    pub(super) fn flowed(&self, direction: Direction) -> u64 {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            return flowed[direction as usize].load(Ordering::Relaxed);
        }
        let _ = direction;
        0
    }

    /// Counts transferred bytes.
    #[inline]
    pub(super) fn flows(&self, direction: Direction, count: usize) {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            flowed[direction as usize].fetch_add(count as u64, Ordering::Relaxed);
        }
        let _ = (direction, count);
    }

    /// The maximum number of buffers in one call.
    #[inline]
    pub(crate) fn most_buffers(&self) -> usize {
        #[cfg(feature = "fault")]
        if let Some(most) = self.inner.health.plan.as_ref().and_then(Plan::buffers) {
            return most.clamp(1, BUFFERS);
        }
        BUFFERS
    }

    /// Returns the number of whole buffers that a transfer may take: all, unless a fault plan limits
    /// or fails it. If it is 0, the second value is the number of bytes of the first buffer.
    #[inline]
    pub(super) fn before_vector<'a>(
        &self,
        direction: Direction,
        offset: u64,
        buffers: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    ) -> io::Result<(usize, usize)> {
        #[cfg(feature = "fault")]
        if self.inner.health.plan.is_some() {
            let memory = buffers.clone().fold(0, |bits, part| bits | part.as_ptr().addr() | part.len());
            let total = buffers.clone().map(<[u8]>::len).sum();
            let mut left = self.before(direction, offset, total, memory)?;
            let whole = buffers.take_while(|part| {
                let fits = part.len() <= left;
                left -= if fits { part.len() } else { 0 };
                fits
            });
            let whole = whole.count();
            return Ok((whole, left));
        }
        let _ = (direction, offset);
        Ok((buffers.len(), 0))
    }

    /// Called before the length is set.
    pub(crate) fn before_set_len(&self, len: u64) -> io::Result<()> {
        self.sound()?;
        #[cfg(feature = "fault")]
        self.judge(Call::SetLen { len })?;
        let _ = len;
        Ok(())
    }

    /// Called before a file gets its first name (`from` is `None`) or another one.
    pub(super) fn before_name(&self, from: Option<&Path>, to: &Path) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(match from {
            None => Call::Link { name: to },
            Some(from) => Call::Rename { from, to },
        })?;
        let _ = (from, to);
        Ok(())
    }

    /// Called before the directory of a name is synced.
    pub(super) fn before_sync_directory(&self, directory: &Path) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(Call::SyncDirectory(directory))?;
        let _ = directory;
        Ok(())
    }

    fn before_sync(&self, durability: Durability) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(Call::Sync(durability))?;
        let _ = durability;
        Ok(())
    }

    /// The fault plan of the file, for callers that make system calls themselves and so must consult [`Plan::before`].
    #[cfg(feature = "fault")]
    pub fn plan(&self) -> Option<&Plan> {
        self.inner.health.plan.as_ref()
    }

    /// A handle on the same open file under another plan, or none.
    #[cfg(feature = "fault")]
    pub(crate) fn under_plan(&self, plan: Option<Plan>) -> Self {
        let mut inner = self.inner.kin();
        inner.health.flowed = plan.is_some().then(Arc::default);
        inner.health.plan = plan;
        let file = Self { inner: Arc::new(inner), ..self.clone() };
        match self.cache_policy().0 {
            CachePolicy::Keep => file,
            // The cache mode has handles and state of its own, which must be under the plan too.
            policy => file.with_cache(policy).0,
        }
    }

    /// Consults the plan about a call that moves no bytes.
    #[cfg(feature = "fault")]
    pub(super) fn judge(&self, call: Call<'_>) -> io::Result<()> {
        match &self.inner.health.plan {
            Some(plan) => {
                plan.before(&Operation { file: self, unit: 1, memory: 0, call }).into_result().map(drop)
            }
            None => Ok(()),
        }
    }
}

/// True if the error means that the file cannot be synced at all.
fn unsyncable(error: &io::Error) -> bool {
    matches!(Code::of(error), Some(Code::INVALID | Code::UNSUPPORTED | Code::READ_ONLY | Code::BAD_HANDLE))
}
