//! `through`: `pread` and `pwrite`; a write returns when its bytes are durable (`O_DSYNC`, `FILE_FLAG_WRITE_THROUGH`), through the
//! page cache or past it.

use std::io;

use super::buffered::Buffered;
use super::method::{Capabilities, Choice, Engine, EngineConfig, Method, SYNCHRONOUS};
use super::synchronous::Synchronous;
use crate::file::CachePolicy;
use crate::sys::OpenFlags;

pub(super) static METHOD: Method = Method {
    name: "through",
    summary: "pread and pwrite; a write returns when it is durable (O_DSYNC)",
    capabilities: Capabilities { direct: Choice::AsTold, ..SYNCHRONOUS },
    open,
};

fn open(config: &EngineConfig<'_>) -> io::Result<Box<dyn Engine>> {
    let mut flags = OpenFlags::DATA_SYNC;
    if config.cache == CachePolicy::Direct {
        flags |= OpenFlags::DIRECT;
    }
    Ok(Synchronous::boxed(Buffered { file: config.file.handle_with(config.write, flags)? }))
}
