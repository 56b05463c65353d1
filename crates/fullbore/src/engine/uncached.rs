//! `uncached`: buffered, but the pages brought in are dropped behind (`RWF_DONTCACHE`, Linux 6.14).

use std::io;

use rustix::io::ReadWriteFlags;

use super::synchronous::{Calls, Synchronous};
use super::{Capabilities, Choice, Engine, Method, Opening, SYNCHRONOUS};
use crate::file::File;

pub(super) static METHOD: Method = Method {
    name: "uncached",
    summary: "pread and pwrite that leave no pages behind (RWF_DONTCACHE)",
    capabilities: Capabilities { drops: Choice::Always, ..SYNCHRONOUS },
    open,
};

/// `RWF_DONTCACHE` of `linux/fs.h`.
pub(super) const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Uncached { file: opening.file.clone() }))
}

struct Uncached {
    file: File,
}

impl Calls for Uncached {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        self.file.read_once(offset, data, DONTCACHE)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        self.file.write_once(offset, data, DONTCACHE)
    }
}
