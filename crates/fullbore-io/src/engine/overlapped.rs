//! `port`, `event` and `routine`: overlapped transfers of Windows, whose completions are reported by a completion port, by an
//! event for each request, or by a completion routine. `ioring`: the I/O ring of Windows 11. `scatter`:
//! `ReadFileScatter` and `WriteFileGather`, one call for queued requests that are adjacent in the file, without the page cache.

use std::io;

use super::method::{Availability, Capabilities, Engine, EngineConfig, Method};
use super::queued::{QUEUED, Queued};
use super::synchronous::{Run, Runs};
use crate::buf::{Direction, Request};
use crate::file::{CacheMode, CachePolicy, File};
use crate::sys::overlapped::Scatter;
use crate::sys::overlapped::{MOST_EVENTS, Notice, Queue};
use crate::sys::{Handle, OpenFlags, RequestQueue, TransferFlags, ioring};

pub(super) static PORT: Method = Method {
    name: "port",
    summary: "overlapped transfers with a completion port",
    capabilities: QUEUED,
    open: |config| open(config, |file| Queue::new(file, config.depth, Notice::Port)),
};

pub(super) static EVENT: Method = Method {
    name: "event",
    summary: "overlapped transfers with one event per request",
    capabilities: Capabilities { depth: MOST_EVENTS, ..QUEUED },
    open: |config| open(config, |file| Queue::new(file, config.depth, Notice::Event)),
};

pub(super) static ROUTINE: Method = Method {
    name: "routine",
    summary: "overlapped transfers with completion routines (ReadFileEx)",
    capabilities: QUEUED,
    open: |config| open(config, |file| Queue::new(file, config.depth, Notice::Routine)),
};

pub(super) static IORING: Method = Method {
    name: "ioring",
    summary: "the I/O ring of Windows 11",
    capabilities: QUEUED,
    open: |config| open(config, |file| ioring::open(file, config.depth, config.write)),
};

/// Opens the file again, with a handle whose calls do not wait, for a queue.
fn open<Q: RequestQueue + 'static>(
    config: &EngineConfig<'_>,
    queue: impl FnOnce(Handle) -> io::Result<Q>,
) -> io::Result<Box<dyn Engine>> {
    let cache_mode = CacheMode::of_engine(config.file, config.cache)?;
    let mut flags = OpenFlags::OVERLAPPED;
    flags |= if config.write { OpenFlags::READ_WRITE } else { OpenFlags::READ };
    if config.cache == CachePolicy::Direct {
        flags |= OpenFlags::DIRECT;
    }
    Ok(Queued::engine(queue(config.file.reopen_fd_with(flags)?)?, cache_mode))
}

pub(super) static SCATTER: Method = Method {
    name: "scatter",
    summary: "ReadFileScatter and WriteFileGather, up to `depth` buffers per call",
    capabilities: Capabilities {
        depth: 1024,
        batched: true,
        direct: Availability::Always,
        ..Capabilities::SYNCHRONOUS
    },
    open: open_scatter,
};

fn open_scatter(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let access = if config.write { OpenFlags::READ_WRITE } else { OpenFlags::READ };
    let pages = config.file.reopen_fd_with(access | OpenFlags::DIRECT | OpenFlags::OVERLAPPED)?;
    let calls = ScatterCalls { pages: Scatter::new(pages)?, file: config.file.direct_handle(config.write)? };
    Ok(Box::new(Runs::new(calls, config.depth)))
}

struct ScatterCalls {
    pages: Scatter,
    /// The handle for requests that are not whole pages.
    file: File,
}

impl Run for ScatterCalls {
    fn joins(&self, request: &Request) -> bool {
        self.pages.takes(request)
    }

    fn call(&self, run: &mut [Request]) -> io::Result<usize> {
        match run {
            [one] if !self.pages.takes(one) => match one.direction {
                Direction::Read => self.file.read_once(one.offset, one.data_mut(), TransferFlags::empty()),
                Direction::Write => self.file.write_once(one.offset, one.data(), TransferFlags::empty()),
            },
            run => self.pages.transfer(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::{ALIGNMENT, Pool};
    use crate::engine::{IoQueue, probe};
    use crate::file::{Access, Durability, Hint, Mode, OpenOptions};
    use crate::sys;

    /// Rings on systems without them, by functions that follow Windows' documentation.
    static FAKE_RING: Method = Method {
        name: "ioring with other functions",
        open: |config| open(config, |file| ioring::fake::open(file, config.depth, config.write)),
        ..IORING
    };

    #[test]
    fn handles_of_queues_keep_the_options_of_the_file() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("old ");
        let mut options = OpenOptions::new();
        let file = options.mode(Mode::Append).write_through(Durability::Full).hint(Hint::Sequential);
        let file = file.access(Access::ReadWrite).open(&path).unwrap();
        let kept = OpenFlags::APPEND | OpenFlags::SYNC | OpenFlags::SEQUENTIAL;
        let config = EngineConfig { write: true, ..EngineConfig::reading(&file) };
        let mut engine = open(&config, |handle| {
            assert!(sys::status_flags(&handle).unwrap().contains(kept));
            Queue::new(handle, 1, Notice::Port)
        })
        .unwrap();
        let worker = file.for_worker(true).0;
        assert!(sys::status_flags(&worker).unwrap().contains(kept));
        let mut buf = Pool::new(1, ALIGNMENT).unwrap().take().unwrap();
        buf.place(0, 3);
        buf.data_mut().copy_from_slice(b"new");
        let request = Request { token: 0, direction: Direction::Write, offset: 0, buf, from: 0, most: 3 };
        engine.queue(request).unwrap();
        engine.reap(1, &mut Vec::new()).unwrap();
        drop(engine);
        assert_eq!(std::fs::read(&path).unwrap(), b"old new");
    }

    #[test]
    fn a_ring_moves_any_part_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let content: Vec<u8> = (0..40 * ALIGNMENT + 77).map(|index| (index * 31 % 251) as u8).collect();
        for cache in [CachePolicy::Keep, CachePolicy::Direct] {
            std::fs::write(&path, []).unwrap();
            let file = File::open_write(&path).unwrap();
            probe(&FAKE_RING, &file, None, true, cache).unwrap();
            let mut pool = Pool::new(8, ALIGNMENT).unwrap();
            let config = EngineConfig { write: true, cache, depth: 8, ..EngineConfig::reading(&file) };
            // Writes, last block first, with eight in flight.
            let mut queue = IoQueue::open(&FAKE_RING, &config, None).unwrap();
            for at in (0..content.len()).step_by(ALIGNMENT).rev() {
                let mut buf = match pool.take() {
                    Some(buf) => buf,
                    None => queue.next().unwrap().unwrap().buf,
                };
                let part = &content[at..(at + ALIGNMENT).min(content.len())];
                buf.place(at as u64, part.len());
                buf.data_mut().copy_from_slice(part);
                queue.write(0, at as u64, buf).unwrap();
            }
            while let Some(done) = queue.next().unwrap() {
                pool.put(done.buf);
            }
            drop(queue);
            // Direct writes are whole blocks.
            file.set_len(content.len() as u64).unwrap();
            assert!(std::fs::read(&path).unwrap() == content, "cache={cache}");
            // Reads, the last of which is shorter than its buffer.
            let mut queue = IoQueue::open(&FAKE_RING, &config, Some(content.len() as u64)).unwrap();
            for (at, len) in [(0, 1), (1, 511), (4095, 2), (8192, 4096), (content.len() - 70, 70)] {
                queue.read(9, at as u64, len, pool.take().unwrap()).unwrap();
                let done = queue.next().unwrap().unwrap();
                assert!(done.buf.data() == &content[at..at + len], "cache={cache}: {len} bytes at {at}");
                pool.put(done.buf);
            }
        }
    }

    #[test]
    fn the_end_of_the_file_is_no_error_of_a_ring() {
        let (_directory, path) = fullbore_testkit::ground::temporary_file("some bytes");
        let file = File::open(&path).unwrap();
        let mut pool = Pool::new(1, ALIGNMENT).unwrap();
        let mut queue = IoQueue::open(&FAKE_RING, &EngineConfig::reading(&file), None).unwrap();
        queue.read(0, 5, ALIGNMENT, pool.take().unwrap()).unwrap();
        let done = queue.next().unwrap().unwrap();
        assert_eq!(done.buf.data(), b"bytes");
        queue.read(0, 1 << 20, ALIGNMENT, done.buf).unwrap();
        assert!(queue.next().unwrap().unwrap().buf.is_empty());
    }
}
