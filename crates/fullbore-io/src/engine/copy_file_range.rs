//! `copy_file_range`: copies from file to file in the kernel, by shared blocks or on the server where the file system can.

use std::io;

use super::method::{Capabilities, Engine, EngineConfig, Method, SYNCHRONOUS};
use crate::file::File;
use crate::sys;

pub(super) static METHOD: Method = Method {
    name: "copy_file_range",
    summary: "file to file in the kernel, by shared blocks where the file system can",
    capabilities: Capabilities { transfers: false, copies_in_kernel: true, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let from = config.from.ok_or(io::ErrorKind::Unsupported)?.clone();
    Ok(Box::new(CopyFileRange { from, to: config.file.clone() }))
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
