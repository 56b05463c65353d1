//! Access methods: one file each, behind one trait, named in one registry.
//!
//! An engine is one open file under one access method, used by one worker. One loop serves synchronous and
//! asynchronous engines alike, as fio's `ioengine_ops` showed: requests are queued, committed and reaped, and
//! a synchronous engine completes at queueing. Engines never retry, reorder or interpret: short transfers,
//! `EINTR` and alignment are handled once, above them, by [`Channel`].
#![forbid(unsafe_code)]

mod aio;
mod buffered;
mod channel;
mod copy_file_range;
mod direct;
mod dropping;
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

pub use channel::{Channel, Done, Tally};
pub(crate) use dropping::drop_emulated;
pub use registry::{METHODS, method};
pub use survey::{Refusal, probe, survey};

use crate::buf::{Completion, Pool, Request};
pub use crate::file::Cache;
use crate::file::File;

/// What an access method can do.
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
    /// Whether it moves bytes from file to file unseen ([`Engine::relay`]).
    pub relays: bool,
    /// Whether it may pass the page cache by: always, never, or as told.
    pub direct: Choice,
    /// Whether it drops what it brought into the page cache: always, never, or as told.
    pub drops: Choice,
}

impl Capabilities {
    /// Whether a method with these passes the page cache by when it is told `cache`.
    pub fn passes_cache(&self, cache: Cache) -> bool {
        matches!((self.direct, cache), (Choice::Always, _) | (Choice::AsTold, Cache::Direct))
    }
}

/// Whether an access method does a thing.
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
    relays: false,
    direct: Choice::Never,
    drops: Choice::Never,
};

/// An access method: its name, what it can do, and how to put a file under it.
#[derive(Debug)]
pub struct Method {
    /// The name that `--strategy method=` takes.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Puts a file under it.
    pub(crate) open: fn(&Opening<'_>) -> io::Result<Box<dyn Engine>>,
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What an engine is opened with.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The file. An engine that needs other flags opens it again.
    pub file: &'a File,
    /// The file to relay from, for methods that move bytes from file to file.
    pub from: Option<&'a File>,
    /// Whether the file will be written; it is then open for reading too.
    pub write: bool,
    /// What becomes of the page cache.
    pub cache: Cache,
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
/// one that only [relays](Self::relay) has none of its own and takes none.
pub trait Engine {
    /// Queues a request; gives it back if no more can be taken before some are reaped.
    ///
    /// # Errors
    /// The request, if the queue is full.
    fn queue(&mut self, request: Request) -> std::result::Result<(), Request> {
        Err(request)
    }

    /// Tells the system of all that is queued.
    ///
    /// # Errors
    /// If the system takes none of it; errors of single requests come with their completions.
    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Commits what is queued, waits until `least` requests are complete (0: does not wait) and moves the
    /// completions that are there to the end of `done`.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        let _ = (least, done);
        Ok(())
    }

    /// Lends `len` bytes at `offset` in place. They count only if [`check`](Self::check) finds nothing.
    ///
    /// # Errors
    /// If the method does not map, or the system refuses the window.
    fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`view`](Self::view), to be changed.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    fn view_mut(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether every byte lent so far was the file's.
    ///
    /// # Errors
    /// `UnexpectedEof` if a page was missing: the file was truncated, could not be read or had no room.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Moves up to `len` bytes from `offset` of the file relayed from to `target` of this one.
    ///
    /// # Errors
    /// If the method does not relay, or the system refuses.
    fn relay(&mut self, offset: u64, target: u64, len: usize) -> io::Result<usize> {
        let _ = (offset, target, len);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Hands over to the system what the method itself holds back.
    ///
    /// # Errors
    /// If the system refuses it.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
