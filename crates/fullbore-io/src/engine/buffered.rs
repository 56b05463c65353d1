//! `buffered`: `pread` and `pwrite` through the page cache.

use std::io;

use super::method::{Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::{Calls, Synchronous};
use crate::file::File;
use crate::sys::TransferFlags;

pub(super) static METHOD: Method = Method {
    name: "buffered",
    summary: "pread and pwrite through the page cache",
    capabilities: SYNCHRONOUS,
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Buffered { file: config.file.clone() }))
}

/// `pread` and `pwrite` on a descriptor with any flags.
pub(super) struct Buffered {
    pub(super) file: File,
}

impl Calls for Buffered {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        self.file.read_once(offset, data, TransferFlags::empty())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        self.file.write_once(offset, data, TransferFlags::empty())
    }
}
