//! Timings of the requests of simulated disks: of a disk of 1997, and of one with a credit.
//!
//! The head of the disk of 1997 passes a fixed number of bytes per second. It reads ahead, so that a sequential read finds
//! its data in the buffer. A write waits for its place under the head, unless the disk reports it as written once it is in
//! the buffer (write cache enabled); writes that arrive in time are all written as their places pass, so writes that wait
//! together lose one rotation together.

use std::time::{Duration, Instant};

/// Timings of disks of 1997, with and without write caching.
pub(crate) const CACHE: &str = "cache";
pub(crate) const NO_CACHE: &str = "no cache";

/// Bytes per second under the head: so few that the path to the disk hardly matters.
pub(crate) const RATE: f64 = 2_048_000.0;
/// Seconds that a write waits for its place: in the paper's proportion to a transfer.
pub(crate) const TURN: f64 = 0.022;
/// Longest time of a request on the path to the disk and back, in seconds: through a loop device and a process of the
/// test, on processors that others use too.
pub(crate) const WAY: f64 = 0.001;
/// Size of the read-ahead and write-behind buffer in bytes.
const BUFFER: f64 = 64.0 * 1024.0;

pub(crate) trait Timing: Send {
    /// Returns the completion time of a request that arrives at `now`.
    fn answers(&mut self, now: Instant, writes: bool, len: usize) -> Instant;
}

pub(crate) fn timing(text: &str) -> Box<dyn Timing> {
    match Bucket::parse(text) {
        Some(bucket) => Box::new(BucketTiming::new(bucket)),
        None => Box::new(Head { free: Instant::now(), write_cache: text == CACHE }),
    }
}

#[derive(Debug)]
struct Head {
    /// Time at which all requests are complete; with read-ahead, possibly in the future or long ago.
    free: Instant,
    write_cache: bool,
}

impl Timing for Head {
    fn answers(&mut self, now: Instant, writes: bool, len: usize) -> Instant {
        let transfer = Duration::from_secs_f64(len as f64 / RATE);
        if writes && !self.write_cache {
            self.free = self.free.max(now + Duration::from_secs_f64(TURN)) + transfer;
            return self.free;
        }
        let ahead = Duration::from_secs_f64(BUFFER / RATE);
        let start = now.checked_sub(ahead).map_or(self.free, |earliest| self.free.max(earliest));
        self.free = start + transfer;
        self.free.max(now)
    }
}

/// A disk with a credit, in bytes or in requests. The rates are so low that a busy machine hardly delays the path to the
/// disk beyond the requests in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    /// True if requests are limited, not bytes.
    pub(crate) requests: bool,
    /// Units per second while there is credit.
    pub(crate) burst: f64,
    /// Units per second after.
    pub(crate) sustained: f64,
    /// Units beyond the sustained rate.
    pub(crate) credit: f64,
    /// Credit regained per idle second.
    pub(crate) refill: f64,
}

impl Bucket {
    pub(crate) fn text(self) -> String {
        let Self { requests, burst, sustained, credit, refill } = self;
        format!("bucket {requests} {burst} {sustained} {credit} {refill}")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.strip_prefix("bucket ")?.split(' ').collect();
        let number = |index: usize| words[index].parse().unwrap();
        let requests = words[0] == "true";
        Some(Self { requests, burst: number(1), sustained: number(2), credit: number(3), refill: number(4) })
    }
}

/// The credit of reads or that of writes.
#[derive(Debug, Clone, Copy)]
struct Account {
    level: f64,
    /// Time at which all requests are complete.
    free: Option<Instant>,
}

/// The timing of such a disk's requests; reads and writes have a credit each.
#[derive(Debug)]
pub(crate) struct BucketTiming {
    bucket: Bucket,
    accounts: [Account; 2],
}

impl BucketTiming {
    pub(crate) fn new(bucket: Bucket) -> Self {
        Self { bucket, accounts: [Account { level: bucket.credit, free: None }; 2] }
    }
}

impl Timing for BucketTiming {
    fn answers(&mut self, now: Instant, writes: bool, len: usize) -> Instant {
        let Bucket { requests, burst, sustained, credit, refill } = self.bucket;
        let account = &mut self.accounts[usize::from(writes)];
        let amount = if requests { 1.0 } else { len as f64 };
        let idle = account.free.map_or(Duration::ZERO, |free| now.saturating_duration_since(free));
        account.level = (account.level + refill * idle.as_secs_f64()).min(credit);
        // Each unit at the burst rate spends the part that the sustained rate does not cover.
        let price = 1.0 - sustained / burst;
        let fast = if price > 0.0 { amount.min(account.level / price) } else { amount };
        account.level -= fast * price;
        let seconds = fast / burst + (amount - fast) / sustained;
        let start = account.free.map_or(now, |free| free.max(now));
        let end = start + Duration::from_secs_f64(seconds);
        account.free = Some(end);
        end
    }
}

#[test]
fn writes_that_wait_together_lose_one_rotation() {
    let start = Instant::now() + Duration::from_secs(1);
    let millis = |instant: Instant| (instant - start).as_secs_f64() * 1e3;
    let mut head = Head { free: start, write_cache: false };
    // A rotation of 22 ms, then 8 ms per write of 16 KiB.
    let one = head.answers(start, true, 16 << 10);
    let two = head.answers(start, true, 16 << 10);
    assert!((millis(one) - 30.0).abs() < 0.01 && (millis(two) - 38.0).abs() < 0.01);
    // In time for the place after the second, and too late.
    let three = head.answers(start + Duration::from_millis(16), true, 16 << 10);
    let four = head.answers(start + Duration::from_millis(200), true, 16 << 10);
    assert!((millis(three) - 46.0).abs() < 0.01 && (millis(four) - 230.0).abs() < 0.01);
    // Data read ahead is available; other data takes as long as the head needs.
    let mut head = Head { free: start, write_cache: false };
    let late = start + Duration::from_millis(32);
    assert_eq!(head.answers(late, false, 64 << 10), late);
    assert!((millis(head.answers(late, false, 16 << 10)) - 40.0).abs() < 0.01);
}
