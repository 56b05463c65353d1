//! Synchronous methods: a request is complete when it is queued.

use std::io;

use super::dropping::Dropping;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::buf::{Completion, Direction, Request};
use crate::file::{CachePolicy, File};
use crate::sys::stdio::Stream;
use crate::sys::{OpenFlags, TransferFlags};

pub(super) static BUFFERED: Method = Method {
    name: "buffered",
    summary: "pread and pwrite through the page cache",
    capabilities: SYNCHRONOUS,
    open: |config| Ok(Synchronous::boxed(Positional::new(config.file.clone(), None))),
};

pub(super) static UNCACHED: Method = Method {
    name: "uncached",
    summary: "pread and pwrite, pages dropped after use (RWF_DONTCACHE or emulated)",
    capabilities: Capabilities { drops: Choice::Always, ..SYNCHRONOUS },
    open: |config| {
        let dropping = Dropping::find(config.file)?;
        Ok(Synchronous::boxed(Positional::new(config.file.clone(), Some(dropping))))
    },
};

pub(super) static DIRECT: Method = Method {
    name: "direct",
    summary: "pread and pwrite that bypass the page cache (O_DIRECT)",
    capabilities: Capabilities { direct: Choice::Always, ..SYNCHRONOUS },
    open: |config| Ok(Synchronous::boxed(Positional::new(config.file.direct_handle(config.write)?, None))),
};

pub(super) static THROUGH: Method = Method {
    name: "through",
    summary: "pread and pwrite; a write returns when it is durable (O_DSYNC)",
    capabilities: Capabilities { direct: Choice::AsTold, ..SYNCHRONOUS },
    open: |config| {
        let mut flags = OpenFlags::DATA_SYNC;
        if config.cache == CachePolicy::Direct {
            flags |= OpenFlags::DIRECT;
        }
        Ok(Synchronous::boxed(Positional::new(config.file.handle_with(config.write, flags)?, None)))
    },
};

/// As most programs use files: with a buffer of the library's own.
pub(super) static STDIO: Method = Method {
    name: "stdio",
    summary: "the C library's FILE* (fread, fwrite)",
    capabilities: SYNCHRONOUS,
    open: |config| {
        // A `FILE*` owns its descriptor and its position, so it needs an open file description of its own.
        let fd = config.file.reopen_fd(config.write)?;
        Ok(Synchronous::boxed(Stream::new(fd, config.write)?))
    },
};

/// Every request succeeds at once and moves nothing, which leaves the meter's own cost.
pub(super) static NULL: Method = Method {
    name: "null",
    summary: "no storage: the cost of the loop itself",
    capabilities: SYNCHRONOUS,
    open: |_| Ok(Synchronous::boxed(Null)),
};

/// The calls of a method that return when the bytes are moved.
pub(super) trait Calls {
    /// Reads at `offset`, in bytes; returns 0 at the end of the file.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize>;

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize>;

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) struct Synchronous<C> {
    pub(super) calls: C,
    done: Vec<Completion>,
}

impl<C: Calls + 'static> Synchronous<C> {
    pub(super) fn new(calls: C) -> Self {
        Self { calls, done: Vec::with_capacity(1) }
    }

    pub(super) fn boxed(calls: C) -> Box<dyn Engine> {
        Box::new(Self::new(calls))
    }
}

impl<C: Calls> Engine for Synchronous<C> {
    fn queue(&mut self, mut request: Request) -> Result<(), Request> {
        if !self.done.is_empty() {
            return Err(request);
        }
        let result = match request.direction {
            Direction::Read => self.calls.read(request.offset, request.data_mut()),
            Direction::Write => self.calls.write(request.offset, request.data()),
        };
        self.done.push(Completion { request, result });
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        done.append(&mut self.done);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.calls.flush()
    }
}

/// `pread` and `pwrite` on a descriptor with any flags.
pub(super) struct Positional {
    pub(super) file: File,
    pub(super) flags: TransferFlags,
    pub(super) dropping: Option<Dropping>,
}

impl Positional {
    fn new(file: File, dropping: Option<Dropping>) -> Self {
        let flags = dropping.as_ref().map_or(TransferFlags::empty(), Dropping::flags);
        Self { file, flags, dropping }
    }

    /// The file with the flags that the cache policy needs.
    pub(super) fn of(config: &EngineConfig<'_>) -> io::Result<Self> {
        let file = match config.cache {
            CachePolicy::Direct => config.file.direct_handle(config.write)?,
            CachePolicy::Keep | CachePolicy::DontCache => config.file.clone(),
        };
        Ok(Self::new(file, Dropping::of(config)?))
    }

    pub(super) fn moved(&self, direction: Direction, offset: u64, count: usize) -> usize {
        if let Some(dropping) = &self.dropping {
            dropping.moved(direction, offset, count);
        }
        count
    }
}

impl Calls for Positional {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_once(offset, data, self.flags)?;
        Ok(self.moved(Direction::Read, offset, count))
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        let count = self.file.write_once(offset, data, self.flags)?;
        Ok(self.moved(Direction::Write, offset, count))
    }
}

impl Calls for Stream {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        Stream::read(self, offset, data)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        Stream::write(self, offset, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Stream::flush(self)
    }
}

struct Null;

impl Calls for Null {
    fn read(&mut self, _: u64, data: &mut [u8]) -> io::Result<usize> {
        Ok(data.len())
    }

    fn write(&mut self, _: u64, data: &[u8]) -> io::Result<usize> {
        Ok(data.len())
    }
}
