//! Who carries operations out: a ring with threads beside it, or threads alone.
#![forbid(unsafe_code)]

use std::sync::{Arc, OnceLock};

use super::dispatch::Dispatch;
use crate::error::{Error, Kind, Result};
use crate::sys::shared_ring::SharedRing;

/// What carries transfers out.
///
/// ```
/// use fullbore::asynchronous::{Backend, Driver, Settings};
/// let settings = Settings { backend: Backend::Auto, ..Settings::default() };
/// assert_ne!(Driver::new(settings)?.backend(), Backend::Auto);
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
/// use fullbore::asynchronous::{Backend, Settings};
/// let settings = Settings { backend: Backend::Threads, ..Settings::default() };
/// assert_eq!(settings.in_flight, 256);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// What carries transfers out.
    pub backend: Backend,
    /// At most so many operations are in flight, 1 to 4096; further ones wait, first come, first served.
    pub in_flight: usize,
    /// At most so many threads for blocking calls, 1 to 1024, started when they are needed.
    pub threads: usize,
}

impl Default for Settings {
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
/// use fullbore::asynchronous::{AsyncFile, Backend, Driver, Settings};
/// let driver = Driver::new(Settings { backend: Backend::Threads, ..Settings::default() })?;
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
    /// use fullbore::asynchronous::{Driver, Settings};
    /// assert!(Driver::new(Settings { in_flight: 0, ..Settings::default() }).is_err());
    /// assert!(Driver::new(Settings { in_flight: 8, ..Settings::default() }).is_ok());
    /// ```
    ///
    /// # Errors
    /// [`Kind::Invalid`] for limits out of range, [`Kind::Unsupported`] if [`Backend::Uring`] is asked for and the
    /// kernel does not let it be used.
    pub fn new(settings: Settings) -> Result<Self> {
        let invalid = |what: &str| Err(Error::new(Kind::Invalid, "start", "asynchronous driver", what));
        if !(1..=4096).contains(&settings.in_flight) {
            return invalid("in_flight is not within 1 to 4096");
        }
        if !(1..=1024).contains(&settings.threads) {
            return invalid("threads is not within 1 to 1024");
        }
        let refused = |error: std::io::Error| {
            Error::new(Kind::Unsupported, "start", "asynchronous driver", format!("no io_uring: {error}"))
                .advise("use Backend::Auto or Backend::Threads")
        };
        let ring = match settings.backend {
            Backend::Threads => None,
            Backend::Auto => SharedRing::new(settings.in_flight).ok(),
            Backend::Uring => Some(SharedRing::new(settings.in_flight).map_err(refused)?),
        };
        let dispatch = Dispatch::new(ring, settings.in_flight, settings.threads);
        if dispatch.has_ring() {
            let watched = dispatch.clone();
            std::thread::Builder::new()
                .name("fullbore-ring".into())
                .spawn(move || watched.watch())
                .map_err(|error| Error::io("start", "asynchronous driver", error))?;
        }
        Ok(Self { handle: Arc::new(Handle(dispatch)) })
    }

    /// The driver that the whole process shares, with default [`Settings`].
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
        let made = Self::new(Settings::default())?;
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
    /// use fullbore::asynchronous::{Driver, Settings};
    /// assert_eq!(Driver::new(Settings::default())?.load(), (0, 0));
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    pub fn load(&self) -> (usize, usize) {
        self.handle.0.open()
    }

    pub(super) fn dispatch(&self) -> &Arc<Dispatch> {
        &self.handle.0
    }
}
