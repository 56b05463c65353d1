//! Methods without requests: `mmap`, which maps the file whole or in parts that are unmapped after use; and copies from file to file
//! in the kernel, without mapping the bytes into the process.

use std::io;

use super::method::{Capabilities, Engine, EngineConfig, Method};
use super::synchronous::{Calls, Synchronous};
use crate::buf::{Completion, Direction, Request};
use crate::file::{File, FileKind};
use crate::lock::Mutex;
use crate::sys::map::Map;
use crate::sys::{self, AsHandle, Code, Handle};

pub(super) static MMAP: Method = Method {
    name: "mmap",
    summary: "the file mapped into memory, whole or in parts",
    capabilities: Capabilities { mapped: true, ..Capabilities::SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let mapping = Mapping {
        file: config.file.clone(),
        write: config.write,
        window: config.window,
        random: config.random,
        current: None,
    };
    Ok(Box::new(Mapped { copying: Synchronous::new(mapping) }))
}

struct Mapping {
    file: File,
    write: bool,
    window: Option<usize>,
    random: bool,
    current: Option<(u64, Map)>,
}

impl Mapping {
    /// The length in bytes: of an input, that at the start of the run, if it is known. A page that has vanished since is found on
    /// use.
    fn size(&self) -> io::Result<u64> {
        match self.file.known_stamp().filter(|_| !self.write) {
            Some(before) => Ok(before.len),
            None if self.file.kind() == FileKind::BlockDevice => Ok(self.file.stamp()?.len),
            None => Ok(sys::status(&self.file)?.size),
        }
    }

    /// Maps the part that contains `len` bytes at `offset`; returns it with the position of `offset` in it.
    fn window(&mut self, offset: u64, len: usize) -> io::Result<(&mut Map, usize)> {
        let end = offset + len as u64;
        let held = self
            .current
            .as_ref()
            .is_some_and(|(start, map)| *start <= offset && end <= *start + map.bytes().len() as u64);
        if !held {
            if let Some((_, passed)) = self.current.take() {
                // A fault in the old part must be reported before the part is unmapped.
                if !passed.check() {
                    return Err(missing());
                }
            }
            let page = sys::page_size() as u64;
            let size = self.size()?;
            if end > size {
                return Err(missing());
            }
            let start = match self.window {
                Some(_) => offset / page * page,
                None => 0,
            };
            let stop = match self.window {
                Some(window) => (start + window as u64).min(size).max(end),
                None => size,
            };
            let length = usize::try_from(stop - start)
                .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "larger than the address space"))?;
            let map = Map::new(crate::sys::AsHandle::as_handle(&self.file), start, length, self.write)
                .map_err(|error| {
                    // Windows maps nothing past the end of a file.
                    let is_shorter = || sys::status(&self.file).is_ok_and(|now| now.size < stop);
                    let is_input = !self.write && self.file.kind() == FileKind::Regular;
                    if is_input && is_shorter() { missing() } else { error }
                })?;
            // Only a hint: the mapping works without it.
            let _ = map.advise((offset - start) as usize, self.random);
            self.current = Some((start, map));
        }
        let (start, map) = self.current.as_mut().ok_or(io::ErrorKind::Other)?;
        let place = (offset - *start) as usize;
        Ok((map, place))
    }

    fn check(&self) -> io::Result<()> {
        match &self.current {
            Some((_, map)) if !map.check() => Err(missing()),
            _ => Ok(()),
        }
    }
}

fn missing() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "a mapped page is gone")
}

/// Requests with buffers copy from the mapped part or to it.
impl Calls for Mapping {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let size = self.size()?;
        let len = data.len().min(size.saturating_sub(offset) as usize);
        if len == 0 {
            return Ok(0);
        }
        let (map, place) = self.window(offset, len)?;
        map.copy_out(place, &mut data[..len]);
        self.check()?;
        Ok(len)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let end = offset + data.len() as u64;
        if end > self.size()? {
            // A mapping cannot grow its file. One thread at a time does, so that none shortens it again.
            static GROWING: Mutex<()> = Mutex::new(());
            let _turn = GROWING.lock();
            if end > self.size()? {
                sys::truncate(&self.file, end)?;
            }
            self.current = None;
        }
        let (map, place) = self.window(offset, data.len())?;
        map.copy_in(place, data);
        self.check()?;
        Ok(data.len())
    }
}

struct Mapped {
    copying: Synchronous<Mapping>,
}

impl Engine for Mapped {
    fn queue(&mut self, request: Request) -> Result<(), Request> {
        self.copying.queue(request)
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> io::Result<()> {
        self.copying.reap(least, done)
    }

    fn view(&mut self, offset: u64, len: usize) -> io::Result<&[u8]> {
        if len == 0 {
            return Ok(&[]);
        }
        let (map, place) = self.copying.calls.window(offset, len)?;
        Ok(&map.bytes()[place..place + len])
    }

    fn view_mut(&mut self, offset: u64, len: usize) -> io::Result<&mut [u8]> {
        if len == 0 {
            return Ok(&mut []);
        }
        let (map, place) = self.copying.calls.window(offset, len)?;
        Ok(&mut map.bytes_mut()[place..place + len])
    }

    fn check(&self) -> io::Result<()> {
        self.copying.calls.check()
    }
}

const COPYING: Capabilities =
    Capabilities { transfers: false, copies_in_kernel: true, ..Capabilities::SYNCHRONOUS };

pub(super) static SPLICE: Method = Method {
    name: "splice",
    summary: "file to file through a pipe in the kernel",
    capabilities: COPYING,
    open: open_splice,
};

pub(super) static COPY_FILE_RANGE: Method = Method {
    name: "copy_file_range",
    summary: "file to file in the kernel, by shared blocks where the file system can",
    capabilities: COPYING,
    open: |config| {
        let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
        Ok(Box::new(CopyFileRange { from, to: config.file.clone() }))
    },
};

#[cfg(windows)]
pub(super) static COPY_FILE: Method = Method {
    name: "copyfile",
    summary: "whole file to a new one by CopyFile2; on a network share by its server",
    capabilities: Capabilities { copies_whole: true, ..COPYING },
    open: |_| Err(io::Error::new(io::ErrorKind::Unsupported, "it copies whole files only")),
};

/// The largest capacity of a pipe that needs no privilege (`/proc/sys/fs/pipe-max-size`), in bytes.
pub const PIPE_CAPACITY: usize = 1 << 20;

fn open_splice(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
    let (exit, entry) = pipe()?;
    Ok(Box::new(Splice { from, to: config.file.clone(), entry, exit, stale: false }))
}

fn pipe() -> io::Result<(Handle, Handle)> {
    let (exit, entry) = sys::pipe()?;
    // A smaller pipe only moves less per call.
    let _ = sys::set_pipe_capacity(&entry, PIPE_CAPACITY);
    Ok((exit, entry))
}

struct Splice {
    from: File,
    to: File,
    entry: Handle,
    exit: Handle,
    /// True if the pipe may hold bytes of a failed copy.
    stale: bool,
}

impl Engine for Splice {
    fn copy_in_kernel(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        if self.stale {
            (self.exit, self.entry) = pipe()?;
        }
        let moved = sys::splice(&self.from, Some(&mut offset), &self.entry, None, len, sys::Splice::Move)?;
        self.stale = true;
        self.empty(moved, &mut target)?;
        self.stale = false;
        Ok(moved)
    }
}

impl Splice {
    /// Writes the `left` bytes of the pipe to `target`.
    fn empty(&self, mut left: usize, target: &mut u64) -> io::Result<()> {
        while left > 0 {
            match sys::splice(&self.exit, None, &self.to, Some(&mut *target), left, sys::Splice::Move) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left -= count,
                Err(Code::INTERRUPTED) => {}
                // The caller would repeat the whole transfer, after the bytes in the pipe.
                Err(Code::WOULD_BLOCK) => {
                    sys::uninterrupted(|| sys::wait_any(&[(self.to.as_handle(), Direction::Write)], None))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

struct CopyFileRange {
    from: File,
    to: File,
}

impl Engine for CopyFileRange {
    fn copy_in_kernel(&mut self, mut offset: u64, mut target: u64, len: usize) -> io::Result<usize> {
        Ok(sys::copy_range(&self.from, &mut offset, &self.to, &mut target, len)?)
    }
}
