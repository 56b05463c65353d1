//! Access methods: one file each, behind one trait, named in one registry.
//!
//! An engine is one open file under one access method, used by one worker. One loop serves synchronous and
//! asynchronous engines alike, as fio's `ioengine_ops` showed: requests are queued, committed and reaped, and
//! a synchronous engine completes at queueing. Engines never retry, reorder or interpret: short transfers,
//! `EINTR` and alignment are handled once, above them, by [`IoQueue`].
//!
//! ```
//! use fullbore::engine::{CachePolicy, METHODS, probe};
//! let file = fullbore::file::File::open("Cargo.toml")?;
//! let works = |name: &str| {
//!     let method = METHODS.iter().find(|method| method.name == name).unwrap();
//!     probe(method, &file, None, false, CachePolicy::Keep).is_ok()
//! };
//! assert!(works("buffered") && works("mmap"));
//! # Ok::<(), fullbore::Error>(())
//! ```
#![forbid(unsafe_code)]

mod aio;
mod buffered;
mod copy_file_range;
mod direct;
mod dropping;
mod io_queue;
mod latencies;
mod mmap;
mod null;
mod registry;
mod splice;
mod stdio;
mod survey;
mod synchronous;
mod uncached;
mod uring;
mod vectored;

use std::io;

pub(crate) use dropping::drop_emulated;
pub use io_queue::{Done, IoQueue, IoStats};
pub use latencies::Latencies;
pub use registry::{METHODS, method};
pub(crate) use survey::probe_once;
pub use survey::{Unsupported, probe, survey};

use crate::buf::{Completion, Pool, Request};
pub use crate::file::CachePolicy;
use crate::file::File;

/// What an access method can do.
///
/// ```
/// use fullbore::engine::method;
/// let (uring, mmap) = (method("uring").unwrap().capabilities, method("mmap").unwrap().capabilities);
/// assert!(uring.depth > 1 && !uring.mapped);
/// assert!(mmap.depth == 1 && mmap.mapped);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it can read and write: take requests with buffers.
    pub transfers: bool,
    /// The most requests it keeps in flight, or takes in one call if it is [`batched`](Self::batched).
    pub depth: usize,
    /// Whether several queued requests become one system call, so that they are best queued together.
    pub batched: bool,
    /// Whether it lends the file's bytes in place ([`Engine::view`]).
    pub mapped: bool,
    /// Whether it moves bytes from file to file unseen ([`Engine::copy_in_kernel`]).
    pub copies_in_kernel: bool,
    /// Whether it may pass the page cache by: always, never, or as told.
    pub direct: Choice,
    /// Whether it drops what it brought into the page cache: always, never, or as told.
    pub drops: Choice,
}

impl Capabilities {
    /// Whether a method with these passes the page cache by when it is told `cache`.
    ///
    /// ```
    /// use fullbore::engine::{CachePolicy, method};
    /// let passes = |name, cache| method(name).unwrap().capabilities.passes_cache(cache);
    /// assert!(passes("direct", CachePolicy::Keep), "it cannot do otherwise");
    /// assert!(passes("uring", CachePolicy::Direct) && !passes("uring", CachePolicy::Keep), "as told");
    /// assert!(!passes("buffered", CachePolicy::Direct), "it never does");
    /// ```
    pub fn passes_cache(&self, cache: CachePolicy) -> bool {
        matches!((self.direct, cache), (Choice::Always, _) | (Choice::AsTold, CachePolicy::Direct))
    }
}

/// Whether an access method does a thing.
///
/// ```
/// use fullbore::engine::{Choice, method};
/// let direct = |name| method(name).unwrap().capabilities.direct;
/// assert_eq!(direct("buffered"), Choice::Never);
/// assert_eq!(direct("uring"), Choice::AsTold);
/// assert_eq!(direct("aio"), Choice::Always);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It never does.
    Never,
    /// It does if told.
    AsTold,
    /// It cannot do otherwise.
    Always,
}

/// What a plain synchronous method can do: the base from which others differ.
const SYNCHRONOUS: Capabilities = Capabilities {
    transfers: true,
    depth: 1,
    batched: false,
    mapped: false,
    copies_in_kernel: false,
    direct: Choice::Never,
    drops: Choice::Never,
};

/// An access method: its name, what it can do, and how to put a file under it.
///
/// ```
/// let copies_in_kernel: Vec<_> = fullbore::engine::METHODS
///     .iter()
///     .filter(|method| method.capabilities.copies_in_kernel)
///     .map(|method| method.name)
///     .collect();
/// assert!(copies_in_kernel.contains(&"splice"));
/// ```
#[derive(Debug)]
pub struct Method {
    /// The name that `--strategy method=` takes.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Puts a file under it.
    pub(crate) open: fn(&EngineConfig<'_>) -> io::Result<Box<dyn Engine>>,
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What an engine is opened with.
///
/// ```
/// use fullbore::engine::{CachePolicy, IoQueue, EngineConfig, method};
/// use fullbore::file::File;
/// let file = File::open("Cargo.toml")?;
/// let config = EngineConfig {
///     file: &file,
///     from: None,
///     write: false,
///     cache: CachePolicy::Keep,
///     depth: 1,
///     pool: None,
///     window: Some(1 << 20),
///     random: false,
/// };
/// let mut queue = IoQueue::open(method("mmap").unwrap(), &config, Some(file.len()?))?;
/// assert_eq!(queue.view(0, 9)?, b"[package]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EngineConfig<'a> {
    /// The file. An engine that needs other flags opens it again.
    pub file: &'a File,
    /// The file to copy from, for methods that move bytes from file to file.
    pub from: Option<&'a File>,
    /// Whether the file will be written; it is then open for reading too.
    pub write: bool,
    /// What becomes of the page cache.
    pub cache: CachePolicy,
    /// How many requests may be in flight, at least 1.
    pub depth: usize,
    /// The buffers that requests will use, for registering them.
    pub pool: Option<&'a Pool>,
    /// The size of the windows of a mapping, in bytes; `None`: the whole file at once.
    pub window: Option<usize>,
    /// Whether the requests will come here and there, not from front to back.
    pub random: bool,
}

/// One open file under one access method.
///
/// A method that transfers takes requests ([`queue`](Self::queue), [`commit`](Self::commit), [`reap`](Self::reap));
/// one that only [copies in the kernel](Self::copy_in_kernel) has none of its own and takes none.
///
/// ```
/// use std::io;
///
/// use fullbore::engine::Engine;
///
/// /// Lends bytes that are in memory already.
/// struct Memory(Vec<u8>);
/// impl Engine for Memory {
///     fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
///         let start = usize::try_from(offset).unwrap_or(usize::MAX);
///         self.0.get(start..start.saturating_add(len)).ok_or(io::ErrorKind::UnexpectedEof.into())
///     }
/// }
///
/// let mut memory = Memory(b"some bytes".to_vec());
/// assert_eq!(memory.view(5, 5)?, b"bytes");
/// assert!(memory.view(5, 6).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Engine {
    /// Queues a request; gives it back if no more can be taken before some are reaped.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let buf = Pool::new(1, 4096)?.take().unwrap();
    /// # let request = Request { token: 1, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
    /// struct KernelCopy; // takes no requests, as every engine that does not say otherwise
    /// impl Engine for KernelCopy {}
    /// let refused = KernelCopy.queue(request).unwrap_err();
    /// assert_eq!(refused.token, 1, "it comes back with its buffer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The request, if the queue is full.
    fn queue(&mut self, request: Request) -> std::result::Result<(), Request> {
        Err(request)
    }

    /// Tells the system of all that is queued.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// struct Batch(Vec<u64>);
    /// impl Engine for Batch {
    ///     fn commit(&mut self) -> std::io::Result<()> {
    ///         self.0.clear(); // all of it is the system's now
    ///         Ok(())
    ///     }
    /// }
    /// let mut batch = Batch(vec![1, 2, 3]);
    /// batch.commit()?;
    /// assert!(batch.0.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system takes none of it; errors of single requests come with their completions.
    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Commits what is queued, waits until `least` requests are complete (0: does not wait) and moves the
    /// completions that are there to the end of `done`.
    ///
    /// ```
    /// use fullbore::buf::Completion;
    /// use fullbore::engine::Engine;
    /// struct Finished(Vec<Completion>);
    /// impl Engine for Finished {
    ///     fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> std::io::Result<()> {
    ///         done.append(&mut self.0);
    ///         Ok(())
    ///     }
    /// }
    /// # use fullbore::buf::{Direction, Pool, Request};
    /// # let buf = Pool::new(1, 4096)?.take().unwrap();
    /// # let request = Request { token: 1, direction: Direction::Read, offset: 0, buf, from: 0, most: usize::MAX };
    /// let (mut engine, mut done) = (Finished(vec![Completion { request, result: Ok(0) }]), Vec::new());
    /// engine.reap(1, &mut done)?;
    /// assert_eq!((engine.0.len(), done.len()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let _ = (least, done);
        Ok(())
    }

    /// Lends `len` bytes at `offset` in place. They count only if [`check`](Self::check) finds nothing.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// struct KernelCopy; // lends nothing, as every engine that does not say otherwise
    /// impl Engine for KernelCopy {}
    /// assert_eq!(KernelCopy.view(0, 1).unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    /// ```
    ///
    /// # Errors
    /// If the method does not map, or the system refuses the window.
    fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`view`](Self::view), to be changed.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// struct Memory([u8; 5]);
    /// impl Engine for Memory {
    ///     fn view_mut(&mut self, offset: u64, len: usize) -> std::io::Result<&mut [u8]> {
    ///         Ok(&mut self.0[offset as usize..][..len])
    ///     }
    /// }
    /// let mut memory = Memory(*b"bytes");
    /// memory.view_mut(0, 1)?.make_ascii_uppercase();
    /// assert_eq!(&memory.0, b"Bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`view`](Self::view).
    fn view_mut(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether every byte lent so far was the file's.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// struct Mapped { missing: bool }
    /// impl Engine for Mapped {
    ///     fn check(&self) -> std::io::Result<()> {
    ///         if self.missing { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    ///     }
    /// }
    /// assert!(Mapped { missing: false }.check().is_ok());
    /// assert!(Mapped { missing: true }.check().is_err());
    /// ```
    ///
    /// # Errors
    /// `UnexpectedEof` if a page was missing: the file was truncated, could not be read or had no room.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Moves up to `len` bytes from `offset` of the file copied from to `target` of this one, both in bytes; how many
    /// bytes it moved.
    ///
    /// ```
    /// use fullbore::engine::Engine;
    /// struct Pipe; // moves what one page holds at a time: whoever calls goes on from there
    /// impl Engine for Pipe {
    ///     fn copy_in_kernel(&mut self, _offset: u64, _target: u64, len: usize) -> std::io::Result<usize> {
    ///         Ok(len.min(4096))
    ///     }
    /// }
    /// assert_eq!(Pipe.copy_in_kernel(0, 0, 10_000)?, 4096);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the method does not copy in the kernel, or the system refuses.
    fn copy_in_kernel(&mut self, offset: u64, target: u64, len: usize) -> io::Result<usize> {
        let _ = (offset, target, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands over to the system what the method itself holds back.
    ///
    /// ```
    /// use std::io::{self, BufWriter, Write};
    ///
    /// use fullbore::engine::Engine;
    /// struct Buffered(BufWriter<Vec<u8>>);
    /// impl Engine for Buffered {
    ///     fn flush(&mut self) -> io::Result<()> {
    ///         self.0.flush()
    ///     }
    /// }
    /// let mut buffered = Buffered(BufWriter::new(Vec::new()));
    /// buffered.0.write_all(b"bytes")?;
    /// buffered.flush()?;
    /// assert_eq!(buffered.0.get_ref(), b"bytes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the system refuses it.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
