//! Who carries operations out: a ring with threads beside it, or threads alone.
#![forbid(unsafe_code)]

use std::sync::{Arc, OnceLock};

use super::dispatch::Dispatch;
use crate::error::{Error, Kind, Result};
use crate::sys::shared_ring::SharedRing;

/// What carries transfers out.
///
/// ```
/// use fullbore::asynchronous::{Backend, Driver, DriverConfig};
/// let config = DriverConfig { backend: Backend::Auto, ..DriverConfig::default() };
/// assert_ne!(Driver::new(config)?.backend(), Backend::Auto);
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// An io_uring where the kernel lets one be used, found out by using it; threads otherwise.
    #[default]
    Auto,
    /// An io_uring for reads and for direct writes, threads for what it would hand to threads of its own: buffered
    /// writes, opening, syncing, closing.
    Uring,
    /// Threads for everything.
    Threads,
}

/// How a [`Driver`] is made.
///
/// ```
/// use fullbore::asynchronous::{Backend, DriverConfig};
/// let config = DriverConfig { backend: Backend::Threads, ..DriverConfig::default() };
/// assert_eq!(config.in_flight, 256);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverConfig {
    /// What carries transfers out.
    pub backend: Backend,
    /// At most so many operations are in flight, 1 to 4096; further ones wait, first come, first served.
    pub in_flight: usize,
    /// At most so many threads for blocking calls, 1 to 1024, started when they are needed.
    pub threads: usize,
}

impl Default for DriverConfig {
    fn default() -> Self {
        Self { backend: Backend::Auto, in_flight: 256, threads: 8 }
    }
}

/// Carries asynchronous operations out. A clone is the same driver.
///
/// When the last clone, file and future of it is gone, what is in flight goes on alone, keeps its memory and its
/// descriptors until it is over, and ends the driver's threads. Dropping never waits.
///
/// After a `fork` the child must make a driver of its own: operations on the parent's fail there.
///
/// ```
/// use fullbore::asynchronous::{AsyncFile, Backend, Driver, DriverConfig};
/// let driver = Driver::new(DriverConfig { backend: Backend::Threads, ..DriverConfig::default() })?;
/// assert_eq!(driver.backend(), Backend::Threads);
/// # Ok::<(), fullbore::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Driver {
    handle: Arc<Handle>,
}

/// Tells the threads when the last driver is gone: they hold the dispatch themselves.
#[derive(Debug)]
struct Handle(Arc<Dispatch>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Driver {
    /// Makes a driver.
    ///
    /// ```
    /// use fullbore::asynchronous::{Driver, DriverConfig};
    /// assert!(Driver::new(DriverConfig { in_flight: 0, ..DriverConfig::default() }).is_err());
    /// assert!(Driver::new(DriverConfig { in_flight: 8, ..DriverConfig::default() }).is_ok());
    /// ```
    ///
    /// # Errors
    /// [`Kind::Invalid`] for limits out of range, [`Kind::Unsupported`] if [`Backend::Uring`] is asked for and the
    /// kernel does not let it be used.
    pub fn new(config: DriverConfig) -> Result<Self> {
        let invalid = |what: &str| Err(Error::new(Kind::Invalid, "start", "asynchronous driver", what));
        if !(1..=4096).contains(&config.in_flight) {
            return invalid("in_flight is not within 1 to 4096");
        }
        if !(1..=1024).contains(&config.threads) {
            return invalid("threads is not within 1 to 1024");
        }
        let refused = |error: std::io::Error| {
            Error::new(Kind::Unsupported, "start", "asynchronous driver", format!("no io_uring: {error}"))
                .advise("use Backend::Auto or Backend::Threads")
        };
        let ring = match config.backend {
            Backend::Threads => None,
            Backend::Auto => SharedRing::new(config.in_flight).ok(),
            Backend::Uring => Some(SharedRing::new(config.in_flight).map_err(refused)?),
        };
        let dispatch = Dispatch::new(ring, config.in_flight, config.threads);
        if dispatch.has_ring() {
            let watched = dispatch.clone();
            std::thread::Builder::new()
                .name("fullbore-ring".into())
                .spawn(move || watched.watch())
                .map_err(|error| Error::io("start", "asynchronous driver", error))?;
        }
        Ok(Self { handle: Arc::new(Handle(dispatch)) })
    }

    /// The driver that the whole process shares, with default [`DriverConfig`].
    ///
    /// # Errors
    /// As [`new`](Self::new); the next call tries again.
    ///
    /// ```
    /// let driver = fullbore::asynchronous::Driver::shared()?;
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn shared() -> Result<Self> {
        static SHARED: OnceLock<Driver> = OnceLock::new();
        if let Some(driver) = SHARED.get() {
            return Ok(driver.clone());
        }
        let made = Self::new(DriverConfig::default())?;
        Ok(SHARED.get_or_init(|| made).clone())
    }

    /// What it found to carry transfers out with: [`Backend::Uring`] or [`Backend::Threads`].
    ///
    /// ```
    /// use fullbore::asynchronous::{Backend, Driver};
    /// assert!([Backend::Uring, Backend::Threads].contains(&Driver::shared()?.backend()));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn backend(&self) -> Backend {
        if self.handle.0.has_ring() { Backend::Uring } else { Backend::Threads }
    }

    /// How many operations wait for their turn, and how many are in flight.
    ///
    /// ```
    /// use fullbore::asynchronous::{Driver, DriverConfig};
    /// assert_eq!(Driver::new(DriverConfig::default())?.load(), (0, 0));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn load(&self) -> (usize, usize) {
        self.handle.0.open()
    }

    pub(super) fn dispatch(&self) -> &Arc<Dispatch> {
        &self.handle.0
    }
}
