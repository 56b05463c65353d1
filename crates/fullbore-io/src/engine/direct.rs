//! `direct`: `pread` and `pwrite` that bypass the page cache (`O_DIRECT`), one request at a time.

use std::io;

use super::buffered::Buffered;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::Synchronous;

pub(super) static METHOD: Method = Method {
    name: "direct",
    summary: "pread and pwrite that bypass the page cache (O_DIRECT)",
    capabilities: Capabilities { direct: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Buffered { file: config.file.direct_handle(config.write)? }))
}
