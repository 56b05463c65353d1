//! The I/O queue: an engine plus everything that all engines need but none should contain.
//!
//! A queue continues short transfers, repeats requests after `EINTR` and `EAGAIN`, and aligns direct I/O (reads are widened to
//! whole blocks; the unaligned edges of writes are read, modified and written). It distinguishes the end of a file from a file
//! that was truncated, and it counts requests and bytes.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use super::latencies::Latencies;
use super::method::{Engine, EngineConfig, Method};
use crate::buf::{ALIGNMENT, Buf, Completion, Direction};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "fault")]
use crate::fault::{plan::Plan, rules::MappedUnder};
use crate::file::{File, FileStamp};

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
    /// Adds the counts of another queue.
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

/// A completed read or write.
#[derive(Debug)]
pub struct Done {
    /// Caller's token of the request.
    pub token: u64,
    /// Offset of the data in the file, in bytes.
    pub offset: u64,
    /// The data. A read at the end of a file of unknown length may be shorter than requested.
    pub buf: Buf,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingRequest {
    pub(super) token: u64,
    pub(super) offset: u64,
    pub(super) len: usize,
    /// Bytes before the caller's data: read along with it, or written separately.
    pub(super) head: usize,
    /// The last ends of a direct write within its first block.
    pub(super) stall: Stall,
}

/// The place within its first block at which a direct write last ended, and how often in a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stall {
    end: usize,
    times: u8,
}

impl Stall {
    /// Records that a write ended at `end`; true if it is not to be repeated, because a limit of the file size, for example, ends it
    /// there each time.
    pub(super) fn is_final(&mut self, end: usize) -> bool {
        /// Number of times in a row that a write may end at the same place.
        const MOST: u8 = 8;
        *self = Self { end, times: if self.end == end { self.times + 1 } else { 1 } };
        self.times == MOST
    }
}

/// Start times of the requests in flight, and latencies of the completed ones.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) since: Vec<Instant>,
    pub(super) latencies: Latencies,
}

/// An engine with a layer that handles short transfers, interruptions, alignment, end of file and counting.
pub struct IoQueue {
    pub(super) engine: Box<dyn Engine>,
    pub(super) file: File,
    /// The source of copies in the kernel.
    pub(super) from: Option<File>,
    /// For direct transfers: the alignment, in bytes, and the handle for the edges.
    pub(super) direct: Option<(usize, File)>,
    /// Length of an input when it was opened, if known.
    pub(super) limit: Option<u64>,
    /// Stamp of a mapped input before its pages are read; shows later why a page is missing.
    pub(super) before: Option<FileStamp>,
    pub(super) pending: Vec<PendingRequest>,
    pub(super) vacant: Vec<usize>,
    pub(super) in_flight: usize,
    pub(super) arrived: Vec<Completion>,
    /// Completed requests, with their start times if these are taken.
    pub(super) done: VecDeque<(Done, Option<Instant>)>,
    pub(super) bounce: Option<Buf>,
    pub(super) mapped: bool,
    pub(super) transfers: bool,
    pub(super) draining: bool,
    pub(super) stats: IoStats,
    /// Start times and latencies, only if they are requested: reading the clock costs time.
    pub(super) timing: Option<Box<Timing>>,
    /// Counts the engine's mapping of a file under a plan.
    #[cfg(feature = "fault")]
    _mapped: Option<MappedUnder>,
}

/// Opens the engine. The queue consults the plans of its files; the calls of the engine itself are bound by the device alone.
fn open(method: &Method, config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    #[cfg(feature = "fault")]
    if config.file.plan().is_some() || config.from.is_some_and(|from| from.plan().is_some()) {
        let plan = config.file.plan();
        let file = config.file.under_plan(plan.and_then(Plan::device));
        let from = config.from.map(File::without_faults);
        let depth = match plan.and_then(Plan::buffers) {
            Some(most) if method.capabilities.batched => config.depth.min(most),
            _ => config.depth,
        };
        return (method.open)(&EngineConfig { file: &file, from: from.as_ref(), depth, ..*config });
    }
    (method.open)(config)
}

/// Fails, with the reason, for a longer alignment than [`ALIGNMENT`], to which buffers and the parts of a file that workers write are
/// aligned.
pub(super) fn check_alignment(alignment: usize) -> std::result::Result<(), String> {
    if alignment <= ALIGNMENT {
        return Ok(());
    }
    Err(format!("direct transfers of this file are aligned to {alignment} bytes, more than {ALIGNMENT}"))
}

impl IoQueue {
    /// Opens a file. If an input ends before `limit`, its length in bytes, the error is [`ErrorKind::Changed`]; without a limit,
    /// the first empty read is the end.
    pub fn open(method: &Method, config: &EngineConfig<'_>, limit: Option<u64>) -> io::Result<Self> {
        let engine = open(method, config)?;
        let direct = if method.capabilities.passes_cache(config.cache) {
            let alignment = config.file.alignment_of(config.write);
            check_alignment(alignment)
                .map_err(|reason| io::Error::new(io::ErrorKind::Unsupported, reason))?;
            Some((alignment, config.file.direct_handle(config.write)?))
        } else {
            None
        };
        let depth = config.depth.max(1);
        Ok(Self {
            engine,
            file: config.file.clone(),
            from: config.from.cloned(),
            direct,
            limit,
            before: limit
                .filter(|_| method.capabilities.mapped)
                .and_then(|_| config.file.starting_stamp().ok()),
            pending: vec![PendingRequest::default(); depth],
            vacant: (0..depth).rev().collect(),
            in_flight: 0,
            arrived: Vec::with_capacity(depth),
            done: VecDeque::with_capacity(depth),
            bounce: None,
            mapped: method.capabilities.mapped,
            transfers: method.capabilities.transfers,
            draining: false,
            stats: IoStats::default(),
            timing: None,
            #[cfg(feature = "fault")]
            _mapped: config
                .file
                .plan()
                .filter(|_| method.capabilities.mapped)
                .and_then(|plan| plan.mappings().add(config.file)),
        })
    }

    /// Records the latency of every request from now on, from the call that queues it to its delivery by
    /// [`next`](Self::next) or [`ready`](Self::ready). This takes two clock readings per request. A completed
    /// request waits while the caller processes the one before it, so the mean latency is the depth over the rate
    /// (Little's law). Access in place and copies in the kernel are not requests and have no latency.
    pub fn time_requests(&mut self) {
        let now = Instant::now();
        let since = vec![now; self.pending.len()];
        self.timing = Some(Box::new(Timing { since, latencies: Latencies::default() }));
    }

    /// Returns the latencies of the requests completed since the last call; none unless they are [recorded](Self::time_requests).
    pub fn take_latencies(&mut self) -> Latencies {
        self.timing.as_mut().map(|timing| std::mem::take(&mut timing.latencies)).unwrap_or_default()
    }

    /// True if the engine gives access to the file's bytes in place.
    pub fn mapped(&self) -> bool {
        self.mapped
    }

    /// Excludes the waits for the requests in flight from the statistics, until more requests are queued.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Returns the number of requests in flight, including completed ones that are not delivered yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight + self.done.len()
    }

    pub fn stats(&self) -> IoStats {
        self.stats
    }

    /// Fails for a range that no file can contain, so that sums and block offsets below cannot overflow.
    pub(super) fn reachable(&self, doing: &'static str, offset: u64, len: usize) -> Result<()> {
        // Direct transfers are widened to blocks.
        let block = self.direct.as_ref().map_or(0, |(align, _)| *align as u64);
        match offset.checked_add(len as u64) {
            Some(end) if end <= i64::MAX as u64 - block => Ok(()),
            _ => {
                let what = format!("the range of {len} bytes exceeds the largest file size");
                Err(Error::new(ErrorKind::Invalid, doing, self.file.path(), what).at(offset))
            }
        }
    }

    /// Queues a read of `len` bytes at `offset` into `buf`; [`next`](Self::next) returns it with `token`. At most as many requests
    /// are in flight as the queue is deep. Every method that takes an offset fails with [`ErrorKind::Invalid`] for a range that no
    /// file can contain.
    pub fn read(&mut self, token: u64, offset: u64, len: usize, mut buf: Buf) -> Result<()> {
        self.reachable("read", offset, len)?;
        buf.place(offset, len);
        let mut head = 0;
        if let Some((align, _)) = self.direct {
            head = (offset % align as u64) as usize;
            buf.shift(-(head as isize), (head + len).next_multiple_of(align));
        }
        let pending = PendingRequest { token, offset, len, head, ..PendingRequest::default() };
        self.send(Direction::Read, pending, offset - head as u64, buf)
    }

    /// Queues a write of the data of `buf`, [placed](Buf::place) at `offset`, in bytes; `token` as for [`read`](Self::read).
    pub fn write(&mut self, token: u64, offset: u64, mut buf: Buf) -> Result<()> {
        let len = buf.len();
        self.reachable("write", offset, len)?;
        self.sound(offset)?;
        let mut pending = PendingRequest { token, offset, len, ..PendingRequest::default() };
        if let Some((align, _)) = self.direct {
            let end = offset + len as u64;
            let (first, last) = (offset.next_multiple_of(align as u64), end / align as u64 * align as u64);
            if first > last {
                // Within one block.
                self.edge(offset, buf.data(), align)?;
                pending.head = len;
            } else {
                pending.head = (first - offset) as usize;
                let tail = (last - offset) as usize;
                if pending.head > 0 {
                    self.edge(offset, &buf.data()[..pending.head], align)?;
                }
                if tail < len {
                    self.edge(last, &buf.data()[tail..], align)?;
                }
                buf.shift(pending.head as isize, tail - pending.head);
            }
            if pending.head == len || buf.is_empty() {
                self.done.push_back((Done { token, offset, buf }, None));
                return Ok(());
            }
        }
        let start = offset + pending.head as u64;
        self.send(Direction::Write, pending, start, buf)
    }

    /// Submits the queued requests, so that they are in flight while the caller does other work.
    pub fn commit(&mut self) -> Result<()> {
        self.engine.commit().map_err(|error| Error::io("submit requests", self.file.path(), error))
    }

    /// Returns a completed transfer, waiting for one if necessary; `None` if no request is in flight.
    ///
    /// # Errors
    /// The system's error of a transfer, and [`ErrorKind::Changed`] if the file ended before its length.
    #[allow(
        clippy::should_implement_trait,
        reason = "more requests can follow after `None`, and it can fail"
    )]
    pub fn next(&mut self) -> Result<Option<Done>> {
        while self.done.is_empty() && self.in_flight > 0 {
            self.reap(1)?;
        }
        Ok(self.hand_over())
    }

    /// Returns a completed transfer without waiting, as [`next`](Self::next).
    pub fn ready(&mut self) -> Result<Option<Done>> {
        if self.done.is_empty() && self.in_flight > 0 {
            self.reap(0)?;
        }
        Ok(self.hand_over())
    }

    fn hand_over(&mut self) -> Option<Done> {
        let (done, since) = self.done.pop_front()?;
        if let (Some(since), Some(timing)) = (since, &mut self.timing) {
            timing.latencies.record(since.elapsed());
        }
        Some(done)
    }

    /// Writes out the bytes that the method buffers itself (`stdio`). No request may be in flight.
    pub fn flush(&mut self) -> Result<()> {
        self.engine.flush().map_err(|error| Error::io("write", self.file.path(), error))
    }

    pub(super) fn sound(&self, offset: u64) -> Result<()> {
        self.file.sound().map_err(|error| Error::io("write", self.file.path(), error).at(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::Pool;
    use crate::engine::method;

    /// A queue continues after an error: the requests of the others complete, and none is awaited for ever.
    #[test]
    fn failed_requests_leave_the_queue() {
        let file = File::open("Cargo.toml").unwrap();
        let config = EngineConfig { depth: 3, ..EngineConfig::reading(&file) };
        for name in ["buffered", crate::engine::deep_method().name] {
            let Ok(mut queue) = IoQueue::open(method(name).unwrap(), &config, Some(1 << 30)) else {
                continue;
            };
            let mut pool = Pool::new(3, 4096).unwrap();
            for (token, offset) in [(0, 1 << 20), (1, 0), (2, 2 << 20)] {
                queue.read(token, offset, 9, pool.take().unwrap()).unwrap();
            }
            let (mut done, mut failed) = (0, 0);
            while queue.in_flight() > 0 || done == 0 {
                match queue.next() {
                    Ok(Some(read)) => done += u32::from(read.token == 1),
                    Ok(None) => break,
                    Err(error) => failed += u32::from(error.kind() == ErrorKind::Changed),
                }
            }
            assert!(done == 1 && (1..=2).contains(&failed), "{name}: {done} {failed}");
            assert!(queue.read(3, 0, 9, Pool::new(1, 4096).unwrap().take().unwrap()).is_ok());
            assert!(queue.next().unwrap().is_some());
        }
    }

    #[test]
    fn waits_after_drain_are_not_counted() {
        let file = File::open("Cargo.toml").unwrap();
        let config = EngineConfig::reading(&file);
        let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None).unwrap();
        queue.read(0, 0, 9, Pool::new(1, 4096).unwrap().take().unwrap()).unwrap();
        assert_eq!(queue.in_flight(), 1);
        queue.drain();
        queue.next().unwrap();
        assert_eq!((queue.in_flight(), queue.stats().waits), (0, 0));
    }
}
