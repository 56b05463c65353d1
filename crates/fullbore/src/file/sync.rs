//! Syncs, and what a failed one means.
//!
//! Linux reports a failed write-back once and then takes the pages for clean: a second `fsync` of the same file says
//! "done" although the bytes never reached the device (PostgreSQL's "fsyncgate" of 2018, `docs/durability.md`). So a file
//! whose sync failed is poisoned: no handle made of it writes or syncs again.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
#[cfg(feature = "fault")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::Errno;

#[cfg(feature = "fault")]
use super::cache_mode::CachePolicy;
use super::calls::BUFFERS;
use super::{Durability, File};
use crate::buf::Direction;
use crate::error::{Error, Kind, Result, message};
#[cfg(feature = "fault")]
use crate::fault::{Call, Operation, Plan};
use crate::sys::writeback;

/// What the handles made of one file share: the sync that failed, and a test's plan.
#[derive(Debug, Clone, Default)]
pub(super) struct Health {
    /// Made when a handle is derived of this one, or a sync fails: most files are opened, used and closed alone.
    state: OnceLock<Arc<SyncState>>,
    /// The faults that a test asked for.
    #[cfg(feature = "fault")]
    plan: Option<Plan>,
    /// How many bytes were read and written, under that plan, of a file that has no offsets.
    #[cfg(feature = "fault")]
    flowed: Option<Arc<[AtomicU64; 2]>>,
}

impl Health {
    /// The same, for a handle made of this one.
    pub(super) fn shared(&self) -> Self {
        self.state();
        self.clone()
    }

    fn state(&self) -> &SyncState {
        self.state.get_or_init(Arc::default)
    }

    /// What went wrong.
    fn failed(&self) -> Option<&Arc<Failure>> {
        self.state.get().and_then(|state| state.failed.get())
    }
}

#[derive(Debug, Default)]
struct SyncState {
    /// What went wrong first.
    failed: OnceLock<Arc<Failure>>,
    /// Held during a sync: the system tells one caller of a failure, and whoever syncs at the same time must not
    /// hear "done" before that caller has passed it on.
    syncing: Mutex<()>,
}

/// What a file is poisoned by.
#[derive(Debug)]
struct Failure {
    /// A sync, or a write that nobody was there to be told of.
    sync: bool,
    error: io::Error,
}

/// Why a poisoned file takes no writes.
#[derive(Debug)]
struct Poisoned(Arc<Failure>);

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = message(&self.0.error);
        if self.0.sync {
            write!(
                f,
                "an earlier sync of this file failed ({cause}), and the system may have dropped what was written before it"
            )?;
        } else {
            write!(
                f,
                "an earlier write of a stream that was dropped failed ({cause}), and what it held is lost"
            )?;
        }
        f.write_str("; write the file anew from its source")
    }
}

impl std::error::Error for Poisoned {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0.error)
    }
}

impl File {
    /// Waits until what was written is on the device, as far as `durability` says; with [`Durability::None`] there is nothing
    /// to wait for. A failure poisons the file: every later write, change of length
    /// or blocks and sync, through this handle, its clones and the handles made of it ([`reopen`](Self::reopen)), fails with the first
    /// failure's cause. Reads go on. Syncs of one file are done one after the other.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// use fullbore::file::{Durability, File};
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
    /// [`Kind::Unsupported`] for what cannot be synced (pipes, sockets): that poisons nothing. Otherwise the system's error:
    /// then nobody knows what is on the device.
    pub fn sync(&self, durability: Durability) -> Result<()> {
        match self.sync_once(durability) {
            Err(error) if unsyncable(&error) => {
                let what = format!("a {} has nothing on a device", self.kind());
                Err(Error::new(Kind::Unsupported, "sync", self.path(), what))
            }
            result => result.map_err(|error| Error::io("sync", self.path(), error)),
        }
    }

    /// Waits until the bytes are on the device, and what is needed to find them again (`fdatasync`): [`sync`](Self::sync) with
    /// [`Durability::Data`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.write_all_at(b"bytes", 0)?;
    /// file.sync_data()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_data(&self) -> Result<()> {
        self.sync(Durability::Data)
    }

    /// Waits until the bytes and all attributes are on the device (`fsync`): [`sync`](Self::sync) with [`Durability::Full`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// file.sync_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub fn sync_all(&self) -> Result<()> {
        self.sync(Durability::Full)
    }

    /// Writes back what is dirty in the page cache and waits for it: a write that the device refused is reported as by
    /// [`sync`](Self::sync). It does not empty the device's cache, and costs one call where nothing is dirty.
    pub(crate) fn write_back(&self) -> Result<()> {
        self.in_turn(|| {
            self.before_sync(Durability::Data)?;
            // On an overlay another inode has the pages.
            if crate::probe::overlaid(self) {
                return Ok(rustix::fs::fdatasync(&self.inner.fd)?);
            }
            // A length of 0: up to the end, wherever that is.
            writeback::finish(self.inner.fd.as_fd(), 0..0)
        })
        .or_else(|error| if unsyncable(&error) { Ok(()) } else { Err(error) })
        .map_err(|error| Error::io("write", self.path(), error))
    }

    /// The error of the sync that poisoned this file, or of the write of a dropped stream, if one did.
    ///
    /// ```
    /// # fn main() -> fullbore::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// assert!(file.poisoned().is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn poisoned(&self) -> Option<&io::Error> {
        self.inner.health.failed().map(|failure| &failure.error)
    }

    /// One `fdatasync` or `fsync`.
    fn sync_once(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::None {
            return Ok(());
        }
        self.in_turn(|| {
            self.before_sync(durability)?;
            loop {
                let synced = match durability {
                    Durability::Full => rustix::fs::fsync(&self.inner.fd),
                    _ => rustix::fs::fdatasync(&self.inner.fd),
                };
                match synced {
                    // Only the waiting ended: nothing has failed yet.
                    Err(Errno::INTR) => {}
                    synced => return Ok(synced?),
                }
            }
        })
    }

    /// A sync of any sort, after those of other threads; if it fails the file is poisoned.
    pub(super) fn in_turn(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _turn = self.inner.health.state().syncing.lock().unwrap_or_else(PoisonError::into_inner);
        self.sound()?;
        sync().map_err(|error| self.poison(error))
    }

    /// Marks the file as one whose sync failed, unless the error says that it cannot be synced at all.
    pub(crate) fn poison(&self, error: io::Error) -> io::Error {
        if unsyncable(&error) {
            return error;
        }
        self.fails(true, &error);
        error
    }

    /// Marks the file as one that lost bytes: a stream was dropped, and what it had yet to write could not be written.
    pub(crate) fn lose(&self, error: &io::Error) {
        self.fails(false, error);
    }

    fn fails(&self, sync: bool, error: &io::Error) {
        let error = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        // Only the first failure tells what was lost.
        let _ = self.inner.health.state().failed.set(Arc::new(Failure { sync, error }));
    }

    /// Fails if a sync of this file failed or bytes of it were lost: asked before every write, at the cost of one load.
    pub(crate) fn sound(&self) -> io::Result<()> {
        match self.inner.health.failed() {
            None => Ok(()),
            Some(failure) => Err(io::Error::other(Poisoned(failure.clone()))),
        }
    }

    /// How many of `len` bytes a transfer may ask for: all, unless a plan says less or fails it.
    #[inline]
    pub(crate) fn before(&self, direction: Direction, offset: u64, len: usize) -> io::Result<usize> {
        #[cfg(feature = "fault")]
        if let Some(plan) = &self.inner.health.plan {
            let call = match direction {
                Direction::Read => Call::Read { offset, len },
                Direction::Write => Call::Write { offset, len },
            };
            return plan.before(&Operation { file: self, unit: self.inner.unit, call }).into_result();
        }
        let _ = (direction, offset);
        Ok(len)
    }

    /// Where the next byte stands of a file that has no offsets, to a plan: how many went before, in that direction.
    #[inline]
    pub(super) fn flowed(&self, direction: Direction) -> u64 {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            return flowed[direction as usize].load(Ordering::Relaxed);
        }
        let _ = direction;
        0
    }

    /// Counts bytes that went by.
    #[inline]
    pub(super) fn flows(&self, direction: Direction, count: usize) {
        #[cfg(feature = "fault")]
        if let Some(flowed) = &self.inner.health.flowed {
            flowed[direction as usize].fetch_add(count as u64, Ordering::Relaxed);
        }
        let _ = (direction, count);
    }

    /// How many buffers one call may take.
    #[inline]
    pub(crate) fn most_buffers(&self) -> usize {
        #[cfg(feature = "fault")]
        if let Some(most) = self.inner.health.plan.as_ref().and_then(Plan::buffers) {
            return most.clamp(1, BUFFERS);
        }
        BUFFERS
    }

    /// How many whole buffers of these lengths a transfer may take: all, unless a plan says less or fails it. If none,
    /// then how many bytes of the first.
    #[inline]
    pub(super) fn before_vector(
        &self,
        direction: Direction,
        offset: u64,
        lens: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> io::Result<(usize, usize)> {
        #[cfg(feature = "fault")]
        if self.inner.health.plan.is_some() {
            let mut left = self.before(direction, offset, lens.clone().sum())?;
            let whole = lens.take_while(|len| {
                let fits = *len <= left;
                left -= if fits { *len } else { 0 };
                fits
            });
            let whole = whole.count();
            return Ok((whole, left));
        }
        let _ = (direction, offset);
        Ok((lens.len(), 0))
    }

    /// Asked before the length is set.
    pub(crate) fn before_set_len(&self, len: u64) -> io::Result<()> {
        self.sound()?;
        #[cfg(feature = "fault")]
        self.judge(Call::SetLen { len })?;
        let _ = len;
        Ok(())
    }

    /// Asked before a file gets a name: its first, or another than it had.
    pub(super) fn before_name(&self, from: Option<&Path>, to: &Path) -> io::Result<()> {
        #[cfg(feature = "fault")]
        self.judge(match from {
            None => Call::Link { name: to },
            Some(from) => Call::Rename { from, to },
        })?;
        let _ = (from, to);
        Ok(())
    }

    /// Asked before the directory of a name is synced.
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

    /// The plan that the file carries, if it does: for whoever hands calls to the system in ways of its own, and so asks
    /// [`Plan::before`] itself.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let file = fullbore::file::File::create_new(directory.path().join("file"))?;
    /// assert!(file.plan().is_none());
    /// assert!(file.with_faults(&fullbore::fault::Plan::new(1)).reopen(true).plan().is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "fault")]
    pub fn plan(&self) -> Option<&Plan> {
        self.inner.health.plan.as_ref()
    }

    /// The same open file under another plan or none.
    #[cfg(feature = "fault")]
    pub(crate) fn under_plan(&self, plan: Option<Plan>) -> Self {
        let mut inner = self.inner.kin();
        inner.health.flowed = plan.is_some().then(Arc::default);
        inner.health.plan = plan;
        let file = Self { inner: Arc::new(inner) };
        match self.cache_policy().0 {
            CachePolicy::Keep => file,
            // The way has handles and habits of its own, which go under the plan too.
            policy => file.with_cache(policy).0,
        }
    }

    /// What the plan says to a call that moves no bytes.
    #[cfg(feature = "fault")]
    pub(super) fn judge(&self, call: Call<'_>) -> io::Result<()> {
        match &self.inner.health.plan {
            Some(plan) => plan.before(&Operation { file: self, unit: 1, call }).into_result().map(drop),
            None => Ok(()),
        }
    }
}

/// Whether an error says that the file is none that can be synced.
fn unsyncable(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::INVAL | Errno::OPNOTSUPP | Errno::ROFS | Errno::BADF)
    )
}
