//! One worker's way to one file: what every engine needs above it and none should contain.
//!
//! A queue completes short transfers, asks again after `EINTR`, aligns what direct I/O wants aligned
//! (reading wider than asked, bouncing the unaligned edges of writes), tells the end of a file from a file
//! that was cut short, and counts.

mod io_stats;
mod view;
mod whole;

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

pub use io_stats::IoStats;

use super::{Engine, EngineConfig, Latencies, Method};
use crate::buf::{Buf, Completion, Direction};
use crate::error::{Error, Kind, Result};
use crate::file::{File, FileStamp};

/// A read or write that is whole.
///
/// ```
/// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
/// # let file = File::open("Cargo.toml")?;
/// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
/// #     pool: None, window: None, random: false };
/// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
/// queue.read(7, 1, 7, Pool::new(1, 4096)?.take().unwrap())?;
/// let done = queue.next()?.unwrap();
/// assert_eq!((done.token, done.offset, done.buf.data()), (7, 1, &b"package"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Done {
    /// The name it was given.
    pub token: u64,
    /// Where its data stands in the file, in bytes.
    pub offset: u64,
    /// The data. A read at the end of a file of unknown length may be shorter than asked.
    pub buf: Buf,
}

/// What a request in flight was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct PendingRequest {
    token: u64,
    /// Where and how much the caller asked.
    offset: u64,
    len: usize,
    /// How many bytes before that are read along, or written apart.
    head: usize,
}

/// When the requests in flight were asked for, and how long those took that are done.
#[derive(Debug)]
struct Timing {
    /// By slot, as [`PendingRequest`].
    since: Vec<Instant>,
    latencies: Latencies,
}

/// An engine with what is above every engine.
///
/// ```
/// use fullbore::buf::Pool;
/// use fullbore::engine::{CachePolicy, IoQueue, EngineConfig, method};
/// use fullbore::file::File;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "some bytes")?;
/// let file = File::open(&path)?;
/// let mut pool = Pool::new(2, 4096)?;
/// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 2,
/// #     pool: None, window: None, random: false };
/// let mut queue = IoQueue::open(method("buffered").unwrap(), &config, Some(10))?;
/// queue.read(1, 0, 5, pool.take().unwrap())?;
/// queue.read(2, 5, 5, pool.take().unwrap())?;
/// let mut bytes = 0;
/// while let Some(done) = queue.next()? {
///     bytes += done.buf.len();
///     pool.put(done.buf);
/// }
/// assert_eq!(bytes, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IoQueue {
    engine: Box<dyn Engine>,
    file: File,
    /// For transfers that must be aligned: to what, in bytes, and the handle for their edges.
    direct: Option<(usize, File)>,
    /// The length of a file that is read, when it was opened, if that is known.
    limit: Option<u64>,
    /// A mapped input as it was before its pages were looked at: tells why one is gone.
    before: Option<FileStamp>,
    pending: Vec<PendingRequest>,
    vacant: Vec<usize>,
    in_flight: usize,
    arrived: Vec<Completion>,
    /// What is whole, with the moment it was asked for if that was taken.
    done: VecDeque<(Done, Option<Instant>)>,
    bounce: Option<Buf>,
    mapped: bool,
    draining: bool,
    stats: IoStats,
    /// Only where somebody asked: clocks are not free.
    timing: Option<Box<Timing>>,
}

impl std::fmt::Debug for IoQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IoQueue")
            .field("file", &self.file)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl IoQueue {
    /// Puts a file under an access method. `limit` is the length of a file that is read, in bytes: less is an
    /// error of its own ([`Kind::Changed`]). Without one the first empty read is the end.
    ///
    /// ```
    /// use fullbore::engine::{CachePolicy, IoQueue, EngineConfig, method};
    /// # let file = fullbore::file::File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// assert!(IoQueue::open(method("buffered").unwrap(), &config, None).is_ok());
    /// assert!(IoQueue::open(method("splice").unwrap(), &config, None).is_err(), "from where?");
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the method refuses the file.
    pub fn open(method: &Method, config: &EngineConfig<'_>, limit: Option<u64>) -> io::Result<Self> {
        #[cfg(not(feature = "fault"))]
        let engine = (method.open)(config)?;
        #[cfg(feature = "fault")]
        let engine = crate::fault::wrap(method, config)?;
        let direct = if method.capabilities.passes_cache(config.cache) {
            Some((config.file.direct_alignment(), config.file.direct_handle(config.write)?))
        } else {
            None
        };
        let depth = config.depth.max(1);
        Ok(Self {
            engine,
            file: config.file.clone(),
            direct,
            limit,
            before: limit.filter(|_| method.capabilities.mapped).and_then(|_| config.file.stamp().ok()),
            pending: vec![PendingRequest::default(); depth],
            vacant: (0..depth).rev().collect(),
            in_flight: 0,
            arrived: Vec::with_capacity(depth),
            done: VecDeque::with_capacity(depth),
            bounce: None,
            mapped: method.capabilities.mapped,
            draining: false,
            stats: IoStats::default(),
            timing: None,
        })
    }

    /// Takes the time of every request from here on, from the call that asks for it to the moment it is handed over, which is
    /// when its user learns that it is done: two looks at the clock a request. A request that is done while the one before is
    /// still worked on has to wait for that, so the mean of the times is the depth over the rate, as Little's law has it.
    /// Bytes lent in place and bytes copied in the kernel are no requests and have none.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.time_requests();
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// queue.next()?;
    /// assert_eq!(queue.take_latencies().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_requests(&mut self) {
        let now = Instant::now();
        let since = vec![now; self.pending.len()];
        self.timing = Some(Box::new(Timing { since, latencies: Latencies::default() }));
    }

    /// How long the requests took that are done since the last call; none if they were not
    /// [timed](Self::time_requests).
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// queue.next()?;
    /// assert_eq!(queue.take_latencies().count(), 0, "nobody asked");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_latencies(&mut self) -> Latencies {
        self.timing.as_mut().map(|timing| std::mem::take(&mut timing.latencies)).unwrap_or_default()
    }

    /// Whether it lends the file in place.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("mmap").unwrap(), &config, None)?;
    /// assert!(queue.mapped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mapped(&self) -> bool {
        self.mapped
    }

    /// Says that no more requests will come: the depth from here on is nobody's measure.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// queue.drain();
    /// queue.next()?;
    /// assert_eq!(queue.stats().waits, 0, "this wait was not counted");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// How many requests are on their way.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert_eq!(queue.in_flight(), 1);
    /// queue.next()?;
    /// assert_eq!(queue.in_flight(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_flight(&self) -> usize {
        self.in_flight + self.done.len()
    }

    /// What was counted so far.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// assert_eq!(queue.stats(), fullbore::engine::IoStats::default());
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// queue.next()?;
    /// assert_eq!(queue.stats().bytes, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> IoStats {
        self.stats
    }

    /// Fails for a range where no file reaches: blocks and sums of it would not be numbers any more.
    fn reachable(&self, doing: &'static str, offset: u64, len: usize) -> Result<()> {
        // Direct transfers are widened to blocks, which are no longer than this.
        const BLOCK: u64 = 1 << 20;
        match offset.checked_add(len as u64) {
            Some(end) if end <= i64::MAX as u64 - BLOCK => Ok(()),
            _ => {
                let what = format!("no file has {len} bytes there");
                Err(Error::new(Kind::Invalid, doing, self.file.path(), what).at(offset))
            }
        }
    }

    /// Asks for `len` bytes at `offset` in `buf`; `token` is the name of what [`next`](Self::next) gives then. At most the depth opened with may be on their way.
    ///
    /// ```
    /// use fullbore::error::Kind;
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// let mut pool = Pool::new(2, 4096)?;
    /// queue.read(0, 0, 9, pool.take().unwrap())?;
    /// assert_eq!(queue.next()?.unwrap().buf.data(), b"[package]");
    /// let error = queue.read(0, u64::MAX, 9, pool.take().unwrap()).unwrap_err();
    /// assert_eq!(error.kind(), Kind::Invalid);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses the request; [`Kind::Invalid`] for a range where no file reaches, here and wherever
    /// an offset is taken.
    pub fn read(&mut self, token: u64, offset: u64, len: usize, mut buf: Buf) -> Result<()> {
        self.reachable("read", offset, len)?;
        buf.place(offset, len);
        let mut head = 0;
        if let Some((align, _)) = self.direct {
            head = (offset % align as u64) as usize;
            buf.shift(-(head as isize), (head + len).next_multiple_of(align));
        }
        self.send(Direction::Read, PendingRequest { token, offset, len, head }, offset - head as u64, buf)
    }

    /// Writes the data of `buf`, which was [placed](Buf::place) at `offset`, in bytes; `token` as for [`read`](Self::read).
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let config = EngineConfig { file: &file, from: None, write: true, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(2, 3);
    /// buf.data_mut().copy_from_slice(b"TES");
    /// queue.write(0, 2, buf)?;
    /// while queue.next()?.is_some() {}
    /// assert_eq!(std::fs::read(&path)?, b"byTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses the request.
    pub fn write(&mut self, token: u64, offset: u64, mut buf: Buf) -> Result<()> {
        let len = buf.len();
        self.reachable("write", offset, len)?;
        self.sound(offset)?;
        let mut pending = PendingRequest { token, offset, len, head: 0 };
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

    /// Tells the system of what was asked for.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// queue.commit()?; // now it is on its way, whatever else is done before the next wait
    /// assert_eq!(queue.next()?.unwrap().buf.len(), 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses.
    pub fn commit(&mut self) -> Result<()> {
        self.engine.commit().map_err(|error| Error::io("submit to", self.file.path(), error))
    }

    /// A transfer that is whole; waits for one if none is, as long as any is on its way.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert!(queue.next()?.is_some());
    /// assert!(queue.next()?.is_none(), "nothing more was asked for");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system's error of a transfer, and [`Kind::Changed`] if the file ended before its length.
    #[allow(
        clippy::should_implement_trait,
        reason = "more can be asked for after it gave none, and it fails"
    )]
    pub fn next(&mut self) -> Result<Option<Done>> {
        while self.done.is_empty() && self.in_flight > 0 {
            self.reap(1)?;
        }
        Ok(self.hand_over())
    }

    /// A transfer that is whole already, without waiting.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let config = EngineConfig { file: &file, from: None, write: false, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("buffered").unwrap(), &config, None)?;
    /// assert!(queue.ready()?.is_none(), "nothing was asked for");
    /// queue.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert!(queue.ready()?.is_some(), "a synchronous method completes at queueing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`next`](Self::next).
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

    /// Hands over to the system what the method holds back; nothing may be on its way.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{CachePolicy, IoQueue, EngineConfig, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let config = EngineConfig { file: &file, from: None, write: true, cache: CachePolicy::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut queue = IoQueue::open(method("stdio").unwrap(), &config, None)?;
    /// let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 5);
    /// buf.data_mut().copy_from_slice(b"BYTES");
    /// queue.write(0, 0, buf)?;
    /// queue.next()?;
    /// queue.flush()?; // until now the C library may hold it
    /// assert_eq!(std::fs::read(&path)?, b"BYTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn flush(&mut self) -> Result<()> {
        self.engine.flush().map_err(|error| Error::io("write", self.file.path(), error))
    }

    /// Fails if a sync of the file failed: what is written after that may be lost too, and nobody would say so.
    fn sound(&self, offset: u64) -> Result<()> {
        self.file.sound().map_err(|error| Error::io("write", self.file.path(), error).at(offset))
    }
}
