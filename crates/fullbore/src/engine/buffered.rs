//! `buffered`: `pread` and `pwrite` through the page cache.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::synchronous::{Calls, Synchronous};
use super::{Engine, Method, Opening, SYNCHRONOUS};

pub(super) static METHOD: Method = Method {
    name: "buffered",
    summary: "pread and pwrite through the page cache",
    capabilities: SYNCHRONOUS,
    open,
};

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Buffered { file: opening.file.handle()? }))
}

/// `pread` and `pwrite` on a descriptor, whatever flags it is open with.
pub(super) struct Buffered {
    pub(super) file: Arc<OwnedFd>,
}

impl Calls for Buffered {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::pread(&self.file, data, offset)?)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::pwrite(&self.file, data, offset)?)
    }
}
