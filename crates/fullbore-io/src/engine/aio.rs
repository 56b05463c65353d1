//! `aio`: Linux native asynchronous I/O with `O_DIRECT`. (Through the page cache it would be synchronous.)

use super::method::{Capabilities, Choice, Method};
use super::queued::{QUEUED, Queued};
use crate::sys::aio;

pub(super) static METHOD: Method = Method {
    name: "aio",
    summary: "Linux native asynchronous I/O (io_submit), direct",
    capabilities: Capabilities { direct: Choice::Always, drops: Choice::Never, ..QUEUED },
    open: |config| {
        let file = config.file.direct_handle(config.write)?;
        Ok(Queued::engine(aio::open(file, config.depth)?, None))
    },
};
