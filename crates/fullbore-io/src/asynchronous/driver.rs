//! The driver of asynchronous operations: a ring (an io_uring or a completion port) with threads, or threads only.
use std::sync::{Arc, OnceLock};

use super::dispatch::Dispatch;
use crate::error::{Error, ErrorKind, Result};
use crate::sys::shared_ring::{COMPLETION_PORT, SharedRing};

/// The mechanism that executes transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Backend {
    /// An io_uring if a test shows that the kernel permits it, a completion port on Windows; threads otherwise.
    #[default]
    Auto,
    /// An io_uring for reads, transfers of pipes and sockets, and writes of adopted descriptors that bypass the page cache;
    /// threads for the calls that io_uring would itself pass to kernel threads (buffered writes, opening, syncing, closing), and
    /// for writes under [`CachePolicy::Direct`](crate::file::CachePolicy::Direct), which may read and change parts of blocks.
    Uring,
    /// A completion port of Windows for the reads and writes of files that [`Uring`](Self::Uring) names; threads for the rest.
    Port,
    /// Threads for all operations.
    Threads,
}

/// The mechanism of this system other than threads.
const RING: Backend = if COMPLETION_PORT { Backend::Port } else { Backend::Uring };

/// The parameters of a [`Driver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverConfig {
    /// The mechanism that executes transfers.
    pub backend: Backend,
    /// Maximum number of operations in flight, 1 to 4096; further ones wait in order of arrival. Reads, writes and copies of pipes,
    /// sockets and terminals, and opening named pipes do not count, because they may wait for another process.
    pub in_flight: usize,
    /// Maximum number of threads for blocking calls, 1 to 1024; they are started on demand. If the ring cannot wait for
    /// pipes, sockets and terminals, one more thread does. Where the system cannot write without waiting (terminals, named pipes
    /// without io_uring, pipes of Windows), each write that waits has a thread of its own, beyond these.
    pub threads: usize,
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self { backend: Backend::Auto, in_flight: 256, threads: 8 }
    }
}

/// The mechanism that executes the transfers and blocking calls of asynchronous files. A clone refers to the same driver.
///
/// After the last clone, file and future of a driver are dropped, operations in flight continue and keep their memory
/// and descriptors until they complete; then the driver's threads end. Dropping never blocks.
///
/// After a `fork` the child must create a driver of its own: operations on the parent's driver fail there, and polling one that
/// the parent has started panics.
///
/// ```
/// use fullbore_io::asynchronous::{AsyncFile, Backend, Driver, DriverConfig};
/// let driver = Driver::new(DriverConfig { backend: Backend::Threads, ..DriverConfig::default() })?;
/// assert_eq!(driver.backend(), Backend::Threads);
/// # Ok::<(), fullbore_io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Driver {
    handle: Arc<Closer>,
}

/// Closes the dispatch when the last driver is dropped: the threads hold the dispatch, so its own count never reaches zero.
#[derive(Debug)]
struct Closer(Arc<Dispatch>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Operation of the errors of [`Driver::new`].
const STARTING: &str = "start the asynchronous driver";

impl Driver {
    /// Creates a driver.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for limits out of range, [`ErrorKind::Unsupported`] for [`Backend::Uring`] and [`Backend::Port`] if the
    /// system does not have or permit it.
    pub fn new(config: DriverConfig) -> Result<Self> {
        let invalid = |what: &str| Err(Error::new(ErrorKind::Invalid, STARTING, "", what).without_path());
        if !(1..=4096).contains(&config.in_flight) {
            return invalid("in_flight must be 1 to 4096");
        }
        if !(1..=1024).contains(&config.threads) {
            return invalid("threads must be 1 to 1024");
        }
        let refused = |why: String| {
            Error::new(ErrorKind::Unsupported, STARTING, "", why)
                .without_path()
                .advise("use Backend::Auto or Backend::Threads")
        };
        let ring = match config.backend {
            Backend::Threads => None,
            Backend::Auto => SharedRing::new(config.in_flight).ok(),
            named if named == RING => {
                let new = SharedRing::new(config.in_flight);
                Some(new.map_err(|error| refused(format!("no {named:?}: {error}")))?)
            }
            named => return Err(refused(format!("this system has no {named:?}"))),
        };
        let has_ring = ring.is_some();
        let dispatch = Dispatch::new(ring, config.in_flight, config.threads);
        if has_ring {
            let watched = dispatch.clone();
            std::thread::Builder::new()
                .name("fullbore-ring".into())
                .spawn(move || watched.watch())
                .map_err(|error| Error::io(STARTING, "", error).without_path())?;
        }
        Ok(Self { handle: Arc::new(Closer(dispatch)) })
    }

    /// Returns the driver shared by the whole process, created with the default [`DriverConfig`]. After the first call, a child of
    /// `fork` must not use it, since it has none of the driver's threads.
    ///
    /// # Errors
    /// As [`new`](Self::new); the next call tries again.
    pub fn shared() -> Result<Self> {
        static SHARED: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = SHARED.get() {
            return Ok(driver.clone());
        }
        let made = Self::new(DriverConfig::default())?;
        Ok(SHARED.get_or_init(|| made).clone())
    }

    /// Returns the backend in use, which is not [`Backend::Auto`].
    pub fn backend(&self) -> Backend {
        if self.handle.0.waiter().is_some() { RING } else { Backend::Threads }
    }

    /// Returns the number of operations that wait to start.
    pub fn waiting(&self) -> usize {
        self.load().0
    }

    /// Returns the number of operations in flight, including those that [`DriverConfig::in_flight`] does not count.
    pub fn in_flight(&self) -> usize {
        self.load().1
    }

    /// Returns the number of operations that wait to start and the number in flight, both at the same moment.
    #[doc(hidden)]
    pub fn load(&self) -> (usize, usize) {
        self.handle.0.open()
    }

    pub(super) fn dispatch(&self) -> &Arc<Dispatch> {
        &self.handle.0
    }
}
