//! Counts of an I/O queue.

/// Counts of an I/O queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoStats {
    /// Requests passed to the system, including repeated ones and edges.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Transfers that moved fewer bytes than requested and were continued.
    pub short: u64,
    /// Sum of the requests in flight over all waits.
    pub in_flight: u64,
    /// Number of waits for a request; `in_flight / waits` is the depth reached.
    pub waits: u64,
}

impl IoStats {
    /// Adds another queue's counts.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.short += other.short;
        self.in_flight += other.in_flight;
        self.waits += other.waits;
    }

    /// Returns the depth reached: the mean number of requests in flight per wait.
    ///
    /// ```
    /// use fullbore_io::engine::IoStats;
    /// assert_eq!(IoStats { in_flight: 20, waits: 8, ..IoStats::default() }.depth(), 2.5);
    /// assert_eq!(IoStats::default().depth(), 1.0, "1 without any wait");
    /// ```
    pub fn depth(&self) -> f64 {
        if self.waits == 0 { 1.0 } else { self.in_flight as f64 / self.waits as f64 }
    }
}
