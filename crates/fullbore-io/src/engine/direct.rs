//! `direct`: `pread` and `pwrite` that bypass the page cache (`O_DIRECT`), one request at a time.

use std::io;

use super::buffered::Buffered;
use super::synchronous::Synchronous;
use super::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};

pub(super) static METHOD: Method = Method {
    name: "direct",
    summary: "pread and pwrite that bypass the page cache (O_DIRECT)",
    capabilities: Capabilities { direct: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Buffered { file: config.file.direct_handle(config.write)? }))
}
