//! One worker's way to one file: what every engine needs above it and none should contain.
//!
//! A channel completes short transfers, asks again after `EINTR`, aligns what direct I/O wants aligned
//! (reading wider than asked, bouncing the unaligned edges of writes), tells the end of a file from a file
//! that was cut short, and counts.

use std::io;
use std::time::Instant;

use rustix::io::ReadWriteFlags;

use super::{Engine, Latencies, Method, Opening};
use crate::buf::{ALIGNMENT, Buf, Completion, Direction, Pool, Request};
use crate::error::{Error, Kind, Result};
use crate::file::{File, LONGEST, cut};

/// A read or write that is whole.
///
/// ```
/// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
/// # let file = File::open("Cargo.toml")?;
/// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
/// #     pool: None, window: None, random: false };
/// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
/// channel.read(7, 1, 7, Pool::new(1, 4096)?.take().unwrap())?;
/// let done = channel.next()?.unwrap();
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

/// What a channel counted.
///
/// ```
/// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
/// # let file = File::open("Cargo.toml")?;
/// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
/// #     pool: None, window: None, random: false };
/// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
/// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
/// channel.next()?;
/// let tally = channel.tally();
/// assert_eq!((tally.requests, tally.bytes, tally.short), (1, 9, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
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

impl Tally {
    /// Adds another channel's counts.
    ///
    /// ```
    /// use fullbore::engine::Tally;
    /// let mut all = Tally { requests: 1, bytes: 4096, ..Tally::default() };
    /// all.add(&Tally { requests: 2, bytes: 8192, ..Tally::default() });
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
    /// use fullbore::engine::Tally;
    /// assert_eq!(Tally { in_flight: 20, waits: 8, ..Tally::default() }.depth(), 2.5);
    /// assert_eq!(Tally::default().depth(), 1.0, "nothing was waited for");
    /// ```
    pub fn depth(&self) -> f64 {
        if self.waits == 0 { 1.0 } else { self.in_flight as f64 / self.waits as f64 }
    }
}

/// What a request in flight was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
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
    /// By slot, as [`Asked`].
    since: Vec<Instant>,
    /// When completions were last seen.
    now: Instant,
    latencies: Latencies,
}

/// An engine with what is above every engine.
///
/// ```
/// use fullbore::buf::Pool;
/// use fullbore::engine::{Cache, Channel, Opening, method};
/// use fullbore::file::File;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("file");
/// std::fs::write(&path, "some bytes")?;
/// let file = File::open(&path)?;
/// let mut pool = Pool::new(2, 4096)?;
/// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 2,
/// #     pool: None, window: None, random: false };
/// let mut channel = Channel::open(method("buffered").unwrap(), &opening, Some(10))?;
/// channel.read(1, 0, 5, pool.take().unwrap())?;
/// channel.read(2, 5, 5, pool.take().unwrap())?;
/// let mut bytes = 0;
/// while let Some(done) = channel.next()? {
///     bytes += done.buf.len();
///     pool.put(done.buf);
/// }
/// assert_eq!(bytes, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Channel {
    engine: Box<dyn Engine>,
    file: File,
    /// For transfers that must be aligned: to what, in bytes, and the handle for their edges.
    direct: Option<(usize, File)>,
    /// The length of a file that is read, when it was opened, if that is known.
    limit: Option<u64>,
    asked: Vec<Asked>,
    vacant: Vec<usize>,
    in_flight: usize,
    arrived: Vec<Completion>,
    done: std::collections::VecDeque<Done>,
    bounce: Option<Buf>,
    mapped: bool,
    draining: bool,
    tally: Tally,
    /// Only where somebody asked: clocks are not free.
    timing: Option<Box<Timing>>,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel")
            .field("file", &self.file)
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl Channel {
    /// Puts a file under an access method. `limit` is the length of a file that is read, in bytes: less is an
    /// error of its own ([`Kind::Changed`]). Without one the first empty read is the end.
    ///
    /// ```
    /// use fullbore::engine::{Cache, Channel, Opening, method};
    /// # let file = fullbore::file::File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// assert!(Channel::open(method("buffered").unwrap(), &opening, None).is_ok());
    /// assert!(Channel::open(method("splice").unwrap(), &opening, None).is_err(), "from where?");
    /// # Ok::<(), fullbore::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the method refuses the file.
    pub fn open(method: &Method, opening: &Opening<'_>, limit: Option<u64>) -> io::Result<Self> {
        #[cfg(not(feature = "fault"))]
        let engine = (method.open)(opening)?;
        #[cfg(feature = "fault")]
        let engine = crate::fault::wrap(method, opening)?;
        let direct = if method.capabilities.passes_cache(opening.cache) {
            Some((opening.file.direct_alignment(), opening.file.direct_handle(opening.write)?))
        } else {
            None
        };
        let depth = opening.depth.max(1);
        Ok(Self {
            engine,
            file: opening.file.clone(),
            direct,
            limit,
            asked: vec![Asked::default(); depth],
            vacant: (0..depth).rev().collect(),
            in_flight: 0,
            arrived: Vec::with_capacity(depth),
            done: std::collections::VecDeque::with_capacity(depth),
            bounce: None,
            mapped: method.capabilities.mapped,
            draining: false,
            tally: Tally::default(),
            timing: None,
        })
    }

    /// Takes the time of every request from here on, from the call that asks for it to the moment its completion is seen:
    /// two looks at the clock a request. Bytes lent in place and bytes relayed are no requests and have none.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.time_requests();
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// channel.next()?;
    /// assert_eq!(channel.take_latencies().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time_requests(&mut self) {
        let now = Instant::now();
        let since = vec![now; self.asked.len()];
        self.timing = Some(Box::new(Timing { since, now, latencies: Latencies::default() }));
    }

    /// How long the requests took that are done since the last call; none if they were not
    /// [timed](Self::time_requests).
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// channel.next()?;
    /// assert_eq!(channel.take_latencies().count(), 0, "nobody asked");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_latencies(&mut self) -> Latencies {
        self.timing.as_mut().map(|timing| std::mem::take(&mut timing.latencies)).unwrap_or_default()
    }

    /// Whether it lends the file in place.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("mmap").unwrap(), &opening, None)?;
    /// assert!(channel.mapped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mapped(&self) -> bool {
        self.mapped
    }

    /// Says that no more requests will come: the depth from here on is nobody's measure.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// channel.drain();
    /// channel.next()?;
    /// assert_eq!(channel.tally().waits, 0, "this wait was not counted");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// How many requests are on their way.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert_eq!(channel.in_flight(), 1);
    /// channel.next()?;
    /// assert_eq!(channel.in_flight(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_flight(&self) -> usize {
        self.in_flight + self.done.len()
    }

    /// What was counted so far.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// assert_eq!(channel.tally(), fullbore::engine::Tally::default());
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// channel.next()?;
    /// assert_eq!(channel.tally().bytes, 9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tally(&self) -> Tally {
        self.tally
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
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// let mut pool = Pool::new(2, 4096)?;
    /// channel.read(0, 0, 9, pool.take().unwrap())?;
    /// assert_eq!(channel.next()?.unwrap().buf.data(), b"[package]");
    /// let error = channel.read(0, u64::MAX, 9, pool.take().unwrap()).unwrap_err();
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
        self.send(Direction::Read, Asked { token, offset, len, head }, offset - head as u64, buf)
    }

    /// Writes the data of `buf`, which was [placed](Buf::place) at `offset`, in bytes; `token` as for [`read`](Self::read).
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let opening = Opening { file: &file, from: None, write: true, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(2, 3);
    /// buf.data_mut().copy_from_slice(b"TES");
    /// channel.write(0, 2, buf)?;
    /// while channel.next()?.is_some() {}
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
        let mut asked = Asked { token, offset, len, head: 0 };
        if let Some((align, _)) = self.direct {
            let end = offset + len as u64;
            let (first, last) = (offset.next_multiple_of(align as u64), end / align as u64 * align as u64);
            if first > last {
                // Within one block.
                self.edge(offset, buf.data(), align)?;
                asked.head = len;
            } else {
                asked.head = (first - offset) as usize;
                let tail = (last - offset) as usize;
                if asked.head > 0 {
                    self.edge(offset, &buf.data()[..asked.head], align)?;
                }
                if tail < len {
                    self.edge(last, &buf.data()[tail..], align)?;
                }
                buf.shift(asked.head as isize, tail - asked.head);
            }
            if asked.head == len || buf.is_empty() {
                self.done.push_back(Done { token, offset, buf });
                return Ok(());
            }
        }
        let start = offset + asked.head as u64;
        self.send(Direction::Write, asked, start, buf)
    }

    /// Tells the system of what was asked for.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// channel.commit()?; // now it is on its way, whatever else is done before the next wait
    /// assert_eq!(channel.next()?.unwrap().buf.len(), 9);
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
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert!(channel.next()?.is_some());
    /// assert!(channel.next()?.is_none(), "nothing more was asked for");
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
        Ok(self.done.pop_front())
    }

    /// A transfer that is whole already, without waiting.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("buffered").unwrap(), &opening, None)?;
    /// assert!(channel.ready()?.is_none(), "nothing was asked for");
    /// channel.read(0, 0, 9, Pool::new(1, 4096)?.take().unwrap())?;
    /// assert!(channel.ready()?.is_some(), "a synchronous method completes at queueing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn ready(&mut self) -> Result<Option<Done>> {
        if self.done.is_empty() && self.in_flight > 0 {
            self.reap(0)?;
        }
        Ok(self.done.pop_front())
    }

    /// Lends `len` bytes at `offset` of the file in place; [`check`](Self::check) afterwards whether they were there.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("mmap").unwrap(), &opening, None)?;
    /// assert_eq!(channel.view(1, 7)?, b"package");
    /// channel.check("read", 8)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file has become shorter, and the system's.
    pub fn view(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        self.reachable("read", offset, len)?;
        self.tally.bytes += len as u64;
        self.tally.requests += 1;
        let (file, limit) = (&self.file, self.limit);
        self.engine.view(offset, len).map_err(|error| fault(file, limit, "read", offset, error))
    }

    /// As [`view`](Self::view), to be changed.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let opening = Opening { file: &file, from: None, write: true, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("mmap").unwrap(), &opening, None)?;
    /// channel.view_mut(0, 5)?.make_ascii_uppercase();
    /// channel.check("write", 5)?;
    /// assert_eq!(std::fs::read(&path)?, b"BYTES");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn view_mut(&mut self, offset: u64, len: usize) -> Result<&mut [u8]> {
        self.reachable("write", offset, len)?;
        self.tally.bytes += len as u64;
        self.tally.requests += 1;
        self.sound(offset)?;
        let (file, limit) = (&self.file, self.limit);
        self.engine.view_mut(offset, len).map_err(|error| fault(file, limit, "write", offset, error))
    }

    /// Whether all bytes lent so far, up to `offset`, were the file's. `doing` is what an error says could not be done:
    /// "read", "write".
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let file = File::open("Cargo.toml")?;
    /// # let opening = Opening { file: &file, from: None, write: false, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("mmap").unwrap(), &opening, None)?;
    /// let ones = channel.view(0, 9)?.iter().filter(|&&byte| byte == b'a').count();
    /// channel.check("read", 9)?; // before the result is believed
    /// assert_eq!(ones, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Kind::Changed`] if the file was cut short under a reader, [`Kind::NoSpace`] if there was no room under
    /// a writer.
    pub fn check(&self, doing: &'static str, offset: u64) -> Result<()> {
        self.engine.check().map_err(|error| fault(&self.file, self.limit, doing, offset, error))
    }

    /// Moves `len` bytes at `offset`, in bytes, of the file relayed from to the same place of this one, whole.
    ///
    /// ```
    /// use fullbore::engine::{Cache, Channel, Opening, method};
    /// use fullbore::file::File;
    /// # let directory = tempfile::tempdir()?;
    /// let (from, to) = (File::open("Cargo.toml")?, File::create_new(directory.path().join("copy"))?);
    /// # let opening = Opening { file: &to, from: Some(&from), write: true, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// let mut channel = Channel::open(method("splice").unwrap(), &opening, None)?;
    /// channel.relay(0, 9)?;
    /// assert_eq!(std::fs::read(directory.path().join("copy"))?, b"[package]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system's, and [`Kind::Changed`] if the source ended before.
    pub fn relay(&mut self, offset: u64, len: usize) -> Result<()> {
        self.reachable("copy to", offset, len)?;
        self.sound(offset)?;
        let mut moved = 0;
        while moved < len {
            let at = offset + moved as u64;
            self.tally.requests += 1;
            match self.engine.relay(at, at, len - moved) {
                Ok(0) => {
                    return Err(Error::new(
                        Kind::Changed,
                        "copy to",
                        self.file.path(),
                        "the input became shorter",
                    )
                    .at(at));
                }
                Ok(count) => {
                    moved += count;
                    self.tally.bytes += count as u64;
                }
                Err(error) if again(&error) => {}
                Err(error) => return Err(Error::io("copy to", self.file.path(), error).at(at)),
            }
        }
        Ok(())
    }

    /// Hands over to the system what the method holds back; nothing may be on its way.
    ///
    /// ```
    /// # use fullbore::{buf::Pool, engine::{Cache, Channel, Opening, method}, file::File};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("file");
    /// # std::fs::write(&path, "bytes")?;
    /// # let file = File::open_write(&path)?;
    /// # let opening = Opening { file: &file, from: None, write: true, cache: Cache::Keep, depth: 1,
    /// #     pool: None, window: None, random: false };
    /// # let mut channel = Channel::open(method("stdio").unwrap(), &opening, None)?;
    /// let mut buf = Pool::new(1, 4096)?.take().unwrap();
    /// buf.place(0, 5);
    /// buf.data_mut().copy_from_slice(b"BYTES");
    /// channel.write(0, 0, buf)?;
    /// channel.next()?;
    /// channel.flush()?; // until now the C library may hold it
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

    fn send(&mut self, direction: Direction, asked: Asked, offset: u64, buf: Buf) -> Result<()> {
        let Some(slot) = self.vacant.pop() else {
            return Err(Error::new(
                Kind::Invalid,
                "queue a request for",
                self.file.path(),
                "more than the depth at once",
            ));
        };
        self.asked[slot] = asked;
        if let Some(timing) = &mut self.timing {
            timing.since[slot] = Instant::now();
        }
        self.in_flight += 1;
        self.queue(Request { token: slot as u64, direction, offset, buf, from: 0, most: LONGEST })
    }

    /// Queues a request, making room first if there is none.
    fn queue(&mut self, mut request: Request) -> Result<()> {
        self.tally.requests += 1;
        request.most = LONGEST;
        request.most = cut(request.len(), self.direct.as_ref().map_or(1, |(align, _)| *align));
        while let Err(full) = self.engine.queue(request) {
            request = full;
            self.collect(1)?;
        }
        Ok(())
    }

    /// Waits for completions and handles all that are there.
    fn reap(&mut self, least: usize) -> Result<()> {
        if least > 0 && !self.draining {
            self.tally.waits += 1;
            self.tally.in_flight += self.in_flight as u64;
        }
        self.collect(least)?;
        if let Some(timing) = &mut self.timing {
            timing.now = Instant::now();
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let result = arrived.drain(..).try_for_each(|completion| self.settle(completion));
        arrived.append(&mut self.arrived);
        self.arrived = arrived;
        result
    }

    fn collect(&mut self, least: usize) -> Result<()> {
        self.engine
            .reap(least, &mut self.arrived)
            .map_err(|error| Error::io("wait for", self.file.path(), error))
    }

    /// Ends a request that is whole and asks again for what is left of one that is not.
    fn settle(&mut self, Completion { mut request, result }: Completion) -> Result<()> {
        let asked = self.asked[request.token as usize];
        let writes = request.direction == Direction::Write;
        let doing = if writes { "write" } else { "read" };
        let at = request.offset;
        let count = match result {
            Ok(count) => count,
            Err(error) if again(&error) => return self.queue(request),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(fault(&self.file, self.limit, doing, at, error));
            }
            Err(error) => return Err(Error::io(doing, self.file.path(), error).at(at)),
        };
        self.tally.bytes += count as u64;
        let had = request.from + count;
        // Where the data must reach for the request to be whole: its end, or the file's if that comes first.
        let start = request.offset - request.from as u64;
        let wanted = if writes {
            request.buf.len()
        } else {
            let end = asked.offset + asked.len as u64;
            (self.limit.map_or(end, |limit| end.min(limit)) - start) as usize
        };
        // Past the cache, only the end of the file stops in the middle of a block.
        let ended = !writes
            && (count == 0 || self.direct.as_ref().is_some_and(|(align, _)| !had.is_multiple_of(*align)));
        if had >= wanted || ended {
            if !writes {
                let whole = had.min(asked.head + asked.len);
                if had < wanted && self.limit.is_some() {
                    return Err(shortened(&self.file, start + had as u64));
                }
                request.buf.shift(asked.head as isize, whole.saturating_sub(asked.head));
            }
            if let Some(timing) = &mut self.timing {
                let since = timing.since[request.token as usize];
                timing.latencies.record(timing.now.saturating_duration_since(since));
            }
            self.vacant.push(request.token as usize);
            self.in_flight -= 1;
            self.done.push_back(Done { token: asked.token, offset: asked.offset, buf: request.buf });
            return Ok(());
        }
        if count == 0 {
            return Err(Error::io(doing, self.file.path(), io::ErrorKind::WriteZero.into()).at(at));
        }
        self.tally.short += 1;
        request.from = match self.direct {
            Some((align, _)) => had / align * align,
            None => had,
        };
        request.offset = start + request.from as u64;
        self.queue(request)
    }

    /// Writes a part of one block: reads the block, changes the part, writes the block. Beyond the end of the
    /// file the block is filled with zeros, and whoever ends the output sets its length.
    fn edge(&mut self, offset: u64, part: &[u8], align: usize) -> Result<()> {
        let Some((_, handle)) = &self.direct else { return Ok(()) };
        let fail = |doing, error: io::Error| Error::io(doing, self.file.path(), error).at(offset);
        let mut bounce = match self.bounce.take() {
            Some(bounce) => bounce,
            None => Pool::new(1, align.max(ALIGNMENT))
                .and_then(|mut pool| pool.take().ok_or_else(|| io::ErrorKind::OutOfMemory.into()))
                .map_err(|error| fail("buffer a write to", error))?,
        };
        let block = offset / align as u64 * align as u64;
        let place = (offset - block) as usize;
        bounce.place(0, align);
        let held = retry(|| handle.read_once(block, bounce.data_mut(), ReadWriteFlags::empty()))
            .map_err(|error| fail("read", error))?;
        bounce.data_mut()[held..].fill(0);
        bounce.data_mut()[place..place + part.len()].copy_from_slice(part);
        let mut whole = false;
        while !whole {
            let count = retry(|| handle.write_once(block, bounce.data(), ReadWriteFlags::empty()))
                .map_err(|error| fail("write", error))?;
            if count == 0 {
                return Err(fail("write", io::ErrorKind::WriteZero.into()));
            }
            // A block that was cut short is written again from its start: what was written was the same.
            whole = count == align;
        }
        self.tally.requests += 2;
        self.tally.bytes += part.len() as u64;
        self.bounce = Some(bounce);
        Ok(())
    }
}

/// Whether a call failed only because it was not the moment.
fn again(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if again(&error) => {}
            other => return other,
        }
    }
}

fn shortened(file: &File, at: u64) -> Error {
    Error::new(Kind::Changed, "read", file.path(), "the file became shorter while it was read").at(at)
}

/// What a missing page means: the file is shorter than it was, or the device gave an error or had no room.
fn fault(file: &File, limit: Option<u64>, doing: &'static str, offset: u64, error: io::Error) -> Error {
    if error.kind() != io::ErrorKind::UnexpectedEof {
        return Error::io(doing, file.path(), error).at(offset);
    }
    let now = file.snapshot().map(|snapshot| snapshot.len).unwrap_or(0);
    match limit {
        Some(limit) if now < limit => shortened(file, now),
        Some(_) => Error::io(doing, file.path(), rustix::io::Errno::IO.into()).at(offset),
        None => Error::io(doing, file.path(), rustix::io::Errno::NOSPC.into()).at(offset),
    }
}
