//! `uncached`: buffered transfers that drop the pages they bring in (`RWF_DONTCACHE`, Linux 6.14, or dropping behind).

use std::io;

use super::dropping::Dropping;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::{Calls, Synchronous};
use crate::buf::Direction;
use crate::file::File;

pub(super) static METHOD: Method = Method {
    name: "uncached",
    summary: "pread and pwrite, pages dropped after use (RWF_DONTCACHE or emulated)",
    capabilities: Capabilities { drops: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let dropping = Dropping::find(config.file)?;
    Ok(Synchronous::boxed(Uncached { file: config.file.clone(), dropping }))
}

struct Uncached {
    file: File,
    dropping: Dropping,
}

impl Calls for Uncached {
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_once(offset, data, self.dropping.flags())?;
        self.dropping.moved(Direction::Read, offset, count);
        Ok(count)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<usize> {
        let count = self.file.write_once(offset, data, self.dropping.flags())?;
        self.dropping.moved(Direction::Write, offset, count);
        Ok(count)
    }
}
