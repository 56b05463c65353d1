//! `mmap`: the file mapped into memory, whole or in parts that are unmapped once passed.

use std::io;

use super::method::{Capabilities, Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::{Calls, Synchronous};
use crate::buf::{Completion, Request};
use crate::file::File;
use crate::sys;
use crate::sys::map::Map;

pub(super) static METHOD: Method = Method {
    name: "mmap",
    summary: "the file mapped into memory, whole or in parts",
    capabilities: Capabilities { mapped: true, ..SYNCHRONOUS },
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
            let map = Map::new(crate::sys::AsHandle::as_handle(&self.file), start, length, self.write)?;
            // Only a hint: the mapping works without it.
            let _ = map.advise(self.random);
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

/// Requests with buffers copy from and to the mapped part.
impl Calls for Mapping {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let size = self.size()?;
        let len = data.len().min(size.saturating_sub(offset) as usize);
        if len == 0 {
            return Ok(0);
        }
        let (map, place) = self.window(offset, len)?;
        data[..len].copy_from_slice(&map.bytes()[place..place + len]);
        self.check()?;
        Ok(len)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let end = offset + data.len() as u64;
        if end > sys::status(&self.file)?.size {
            // A mapping cannot grow its file.
            sys::truncate(&self.file, end)?;
            self.current = None;
        }
        let (map, place) = self.window(offset, data.len())?;
        map.bytes_mut()[place..place + data.len()].copy_from_slice(data);
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
