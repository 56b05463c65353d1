//! `scatter`: `ReadFileScatter` and `WriteFileGather` of Windows, one call for queued requests that are adjacent in the file. It
//! bypasses the page cache.

use std::io;

use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use super::vectored::{Run, Runs};
use crate::buf::{Direction, Request};
use crate::file::File;
use crate::sys::TransferFlags;
use crate::sys::scatter::Scatter;

pub(super) static METHOD: Method = Method {
    name: "scatter",
    summary: "ReadFileScatter and WriteFileGather, up to `depth` buffers per call",
    capabilities: Capabilities { depth: 1024, batched: true, direct: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let calls = ScatterCalls {
        pages: Scatter::new(config.file, config.write)?,
        file: config.file.direct_handle(config.write)?,
    };
    Ok(Box::new(Runs::new(calls, config.depth)))
}

struct ScatterCalls {
    pages: Scatter,
    /// For requests that are not whole pages.
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
