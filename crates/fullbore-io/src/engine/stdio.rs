//! `stdio`: the C library's `FILE*` with its own buffer, as most programs use it.

use std::io;

use super::method::{Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::{Calls, Synchronous};
use crate::sys::stdio::Stream;

pub(super) static METHOD: Method = Method {
    name: "stdio",
    summary: "the C library's FILE* (fread, fwrite)",
    capabilities: SYNCHRONOUS,
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    // A `FILE*` owns its descriptor and its position, so it needs an open file description of its own.
    let fd = config.file.reopen_fd(config.write)?;
    Ok(Synchronous::boxed(Stream::new(fd, config.write)?))
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
