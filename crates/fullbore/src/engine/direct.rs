//! `direct`: `pread` and `pwrite` past the page cache (`O_DIRECT`), one request at a time.

use std::io;

use super::buffered::Buffered;
use super::synchronous::Synchronous;
use super::{Capabilities, Choice, Engine, Method, Opening, SYNCHRONOUS};

pub(super) static METHOD: Method = Method {
    name: "direct",
    summary: "pread and pwrite past the page cache (O_DIRECT)",
    capabilities: Capabilities { direct: Choice::Always, ..SYNCHRONOUS },
    open,
};

fn open(opening: &Opening<'_>) -> io::Result<Box<dyn Engine>> {
    Ok(Synchronous::boxed(Buffered { file: opening.file.direct_handle(opening.write)? }))
}
