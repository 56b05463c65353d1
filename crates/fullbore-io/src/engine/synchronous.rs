//! Methods that make synchronous calls: one for each request, or one (`preadv`, `pwritev`) for several adjacent requests.

use std::io;

use super::method::{Availability, Capabilities, Engine, EngineConfig, Method};
use crate::buf::{Completion, Direction, Request};
use crate::file::{BUFFERS, CacheMode, CachePolicy, File};
use crate::sys::stdio::Stream;
use crate::sys::{self, OpenFlags};

pub(super) static BUFFERED: Method = Method {
    name: "buffered",
    summary: "pread and pwrite through the page cache",
    capabilities: Capabilities::SYNCHRONOUS,
    open: |config| Ok(Synchronous::boxed(Positional::plain(config.file.clone()))),
};

pub(super) static UNCACHED: Method = Method {
    name: "uncached",
    summary: "pread and pwrite, pages dropped after use (RWF_DONTCACHE or emulated)",
    capabilities: Capabilities { drops: Availability::Always, ..Capabilities::SYNCHRONOUS },
    open: |config| {
        let cache_mode = CacheMode::of_engine(config.file, CachePolicy::DontCache)?;
        Ok(Synchronous::boxed(Positional { file: config.file.clone(), cache_mode }))
    },
};

pub(super) static DIRECT: Method = Method {
    name: "direct",
    summary: "pread and pwrite that bypass the page cache (O_DIRECT)",
    capabilities: Capabilities { direct: Availability::Always, ..Capabilities::SYNCHRONOUS },
    open: |config| Ok(Synchronous::boxed(Positional::plain(config.file.direct_handle(config.write)?))),
};

pub(super) static THROUGH: Method = Method {
    name: "through",
    summary: if sys::WRITE_THROUGH_FLUSHES_DEVICES {
        "pread and pwrite; a write returns when it is durable (O_DSYNC)"
    } else {
        "pread and pwrite; a write returns when the device has its bytes, perhaps in its cache (O_DSYNC)"
    },
    capabilities: Capabilities { direct: Availability::ByPolicy, ..Capabilities::SYNCHRONOUS },
    open: |config| {
        let mut flags = OpenFlags::DATA_SYNC;
        if config.cache == CachePolicy::Direct {
            flags |= OpenFlags::DIRECT;
        }
        Ok(Synchronous::boxed(Positional::plain(config.file.handle_with(config.write, flags)?)))
    },
};

/// Calls of the C library, through its buffer, as most programs make them.
pub(super) static STDIO: Method = Method {
    name: "stdio",
    summary: "the C library's FILE* (fread, fwrite)",
    // Of most C libraries on most file systems (`st_blksize`).
    capabilities: Capabilities { buffer: 4 << 10, ..Capabilities::SYNCHRONOUS },
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
    capabilities: Capabilities { storage: false, ..Capabilities::SYNCHRONOUS },
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
    pub(super) cache_mode: CacheMode,
}

impl Positional {
    fn plain(file: File) -> Self {
        Self { file, cache_mode: CacheMode::Plain }
    }

    /// The file with the flags that the cache policy needs.
    pub(super) fn of(config: &EngineConfig<'_>) -> io::Result<Self> {
        let file = match config.cache {
            CachePolicy::Direct => config.file.direct_handle(config.write)?,
            CachePolicy::Keep | CachePolicy::DontCache => config.file.clone(),
        };
        Ok(Self { file, cache_mode: CacheMode::of_engine(config.file, config.cache)? })
    }
}

impl Calls for Positional {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_once(offset, data, self.cache_mode.flags())?;
        self.cache_mode.moved(Direction::Read, offset, count);
        Ok(count)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        let count = self.file.write_once(offset, data, self.cache_mode.flags())?;
        self.cache_mode.moved(Direction::Write, offset, count);
        Ok(count)
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

pub(super) static VECTORED: Method = Method {
    name: "vectored",
    summary: "preadv and pwritev, up to `depth` buffers per call",
    capabilities: Capabilities {
        depth: BUFFERS,
        batched: true,
        direct: Availability::ByPolicy,
        drops: Availability::ByPolicy,
        ..Capabilities::SYNCHRONOUS
    },
    open: |config| Ok(Box::new(Runs::new(Positional::of(config)?, config.depth.min(BUFFERS)))),
};

/// The calls of a method that transfers several adjacent requests at a time.
pub(super) trait Run {
    /// True if a request can be one of several in a call.
    fn joins(&self, request: &Request) -> bool {
        let _ = request;
        true
    }

    /// Transfers a run of adjacent requests in one call; returns the bytes moved.
    fn call(&self, run: &mut [Request]) -> io::Result<usize>;
}

impl Run for Positional {
    fn call(&self, run: &mut [Request]) -> io::Result<usize> {
        let (direction, offset, flags) = (run[0].direction, run[0].offset, self.cache_mode.flags());
        let moved = match direction {
            Direction::Read => {
                let mut parts: Vec<_> =
                    run.iter_mut().map(|request| io::IoSliceMut::new(request.data_mut())).collect();
                sys::read_vectored_flagged(&self.file, &mut parts, offset, flags)?
            }
            Direction::Write => {
                let parts: Vec<_> = run.iter().map(|request| io::IoSlice::new(request.data())).collect();
                sys::write_vectored_flagged(&self.file, &parts, offset, flags)?
            }
        };
        self.cache_mode.moved(direction, offset, moved);
        Ok(moved)
    }
}

/// An engine that makes one call of the queued requests that are adjacent in the file.
pub(super) struct Runs<C> {
    calls: C,
    depth: usize,
    queued: Vec<Request>,
}

impl<C: Run> Runs<C> {
    pub(super) fn new(calls: C, depth: usize) -> Self {
        Self { calls, depth, queued: Vec::new() }
    }

    /// Returns the number of queued requests at the front that one call transfers: adjacent in the file, of one direction.
    fn run_length(&self) -> usize {
        let follows = |pair: &[Request]| {
            pair[0].offset + pair[0].len() as u64 == pair[1].offset
                && pair[0].direction == pair[1].direction
                && pair.iter().all(|request| self.calls.joins(request))
        };
        1 + self.queued.windows(2).take_while(|pair| follows(pair)).count()
    }
}

impl<C: Run> Engine for Runs<C> {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        if self.queued.len() == self.depth {
            return Err(request);
        }
        self.queued.push(request);
        Ok(())
    }

    fn commit(&mut self) -> io::Result<()> {
        // The calls are made by `reap`, so that adjacent requests can still join.
        Ok(())
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        if least == 0 && self.queued.len() < self.depth {
            return Ok(());
        }
        while !self.queued.is_empty() {
            let length = self.run_length();
            let mut run: Vec<Request> = self.queued.drain(..length).collect();
            match self.calls.call(&mut run) {
                Ok(total) => share(run, total, done),
                Err(error) => {
                    // One error for all: each request gets a copy and is handled separately.
                    let code = error.raw_os_error();
                    done.extend(run.into_iter().map(|request| Completion {
                        request,
                        result: Err(code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)),
                    }));
                }
            }
        }
        Ok(())
    }
}

/// Divides the bytes moved among the requests. One that a non-empty transfer did not reach is to be repeated (`Interrupted`): the
/// file need not have ended there.
fn share(run: Vec<Request>, total: usize, done: &mut Vec<Completion>) {
    let mut left = total;
    for (index, request) in run.into_iter().enumerate() {
        let part = left.min(request.len());
        left -= part;
        let result = if part == 0 && index > 0 && !request.is_empty() {
            Err(io::ErrorKind::Interrupted.into())
        } else {
            Ok(part)
        };
        done.push(Completion { request, result });
    }
}

/// Describes the emulation of `cache=drop` on `file`; `None` if the kernel drops the pages or dropping is unsupported.
pub fn drop_emulated(file: &File) -> Option<&'static str> {
    let cache_mode = CacheMode::of_engine(file, CachePolicy::DontCache).ok()?;
    matches!(cache_mode, CacheMode::DropBehind(_)).then_some(crate::file::EMULATED)
}
