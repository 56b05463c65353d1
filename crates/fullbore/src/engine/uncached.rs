//! `uncached`: buffered, but the pages brought in are dropped behind (`RWF_DONTCACHE`, Linux 6.14).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::ReadWriteFlags;

use super::synchronous::{Calls, Synchronous};
use super::{Capabilities, Choice, Engine, Method, Opening, SYNCHRONOUS};

pub(super) static METHOD: Method = Method {
    name: "uncached",
    summary: "pread and pwrite that leave no pages behind (RWF_DONTCACHE)",
    capabilities: Capabilities { drops: Choice::Always, ..SYNCHRONOUS },
    open,
};

/// `RWF_DONTCACHE` of `linux/fs.h`.
pub(super) const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Uncached { file: opening.file.handle()? }))
}

struct Uncached {
    file: Arc<OwnedFd>,
}

impl Calls for Uncached {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::preadv2(&self.file, &mut [io::IoSliceMut::new(data)], offset, DONTCACHE)?)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::pwritev2(&self.file, &[io::IoSlice::new(data)], offset, DONTCACHE)?)
    }
}
