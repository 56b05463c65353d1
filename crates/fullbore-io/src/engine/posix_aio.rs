//! `posixaio`: POSIX asynchronous I/O, which the C library (Linux) or the kernel (FreeBSD, macOS) executes by threads.

use super::dropping::Dropping;
use super::method::Method;
use super::queued::{QUEUED, Queued, file_of};
use crate::sys::posix_aio;

pub(super) static METHOD: Method = Method {
    name: "posixaio",
    summary: "POSIX asynchronous I/O (aio_read, aio_write)",
    capabilities: QUEUED,
    open: |config| {
        let queue = posix_aio::open(file_of(config)?, config.depth)?;
        Ok(Queued::engine(queue, Dropping::of(config)?))
    },
};
