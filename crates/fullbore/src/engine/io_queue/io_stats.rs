//! What a queue counts.

/// What a queue counted.
///
/// ```
/// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
/// # let file = File::open("Cargo.toml")?;
/// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
/// #     pool: None, window: None, random: false };
/// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
/// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
/// queue.next()?;
/// let stats = queue.stats();
/// assert_eq!((stats.requests, stats.bytes, stats.short), (1, 9, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoStats {
    /// Requests handed to the system, repeated ones and edges included.
    pub requests: u64,
    /// Bytes the system moved.
    pub bytes: u64,
    /// Transfers that moved fewer bytes than asked and were continued.
    pub short: u64,
    /// Sum, over all times requests were waited for, of the requests in flight then.
    pub in_flight: u64,
    /// How often requests were waited for: `in_flight / waits` is the depth really reached.
    pub waits: u64,
}

impl IoStats {
    /// Adds another queue's counts.
    ///
    /// ```
    /// use fullbore::engine::IoStats;
    /// let mut all = IoStats { requests: 1, bytes: 4096, ..IoStats::default() };
    /// all.add(&IoStats { requests: 2, bytes: 8192, ..IoStats::default() });
    /// assert_eq!((all.requests, all.bytes), (3, 12_288));
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.short += other.short;
        self.in_flight += other.in_flight;
        self.waits += other.waits;
    }

    /// The mean number of requests in flight when one was waited for.
    ///
    /// ```
    /// use fullbore::engine::IoStats;
    /// assert_eq!(IoStats { in_flight: 20, waits: 8, ..IoStats::default() }.depth(), 2.5);
    /// assert_eq!(IoStats::default().depth(), 1.0, "nothing was waited for");
    /// ```
    pub fn depth(&self) -> f64 {
        if self.waits == 0 { 1.0 } else { self.in_flight as f64 / self.waits as f64 }
    }
}
