//! The target of requests that an action issues one by one: a file under an access method, and the order of its blocks.

use super::one_way::Direction;
use fullbore::Result;
use fullbore::buf::{Buf, Pool};
use fullbore::engine::{Capabilities, EngineConfig, IoQueue};
use fullbore::error::Error;
use fullbore::file::File;
use fullbore::operation::Generate;
use fullbore::operation::generate::Stamped;
use fullbore::pattern::Order;
use fullbore::strategy::Strategy;
use fullbore::sys::{self, Advice};

/// A file and the parameters of its requests.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) file: File,
    pub(super) strategy: Strategy,
    /// Generator of the written data; `None` for reads.
    pub(super) data: Option<&'a Stamped>,
    pub(super) order: Order,
    pub(super) first: u64,
    /// Number of blocks of the request's size.
    pub(super) blocks: u64,
    /// Request size in bytes.
    pub(super) request: usize,
}

impl Target<'_> {
    fn direction(&self) -> Direction {
        if self.data.is_some() { Direction::Write } else { Direction::Read }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        self.direction().of(&self.strategy).0.capabilities
    }

    /// Opens it for one thread with `depth` requests in flight, and creates their buffers.
    pub(super) fn open(&self, depth: usize) -> Result<(IoQueue, Pool)> {
        let writes = self.data.is_some();
        let failed = |error| Error::io("use", self.file.path(), error);
        let mut pool = Pool::new(depth, self.request).map_err(failed)?;
        if let Some(data) = self.data {
            data.prime(&mut pool);
        }
        let file = self.file.reopen(writes);
        let random = self.order != Order::Sequential;
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // A hint, as a pattern passes it.
        let _ = sys::advise(&file, 0, None, advice);
        let (method, cache) = self.direction().of(&self.strategy);
        let config = EngineConfig {
            file: &file,
            from: None,
            write: writes,
            cache,
            depth,
            pool: Some(&pool),
            window: self.strategy.window,
            random,
        };
        let limit = if writes { None } else { Some(self.file.len()?) };
        Ok((IoQueue::open(method, &config, limit).map_err(failed)?, pool))
    }

    /// Submits request `number` to the I/O queue.
    pub(super) fn ask(&self, queue: &mut IoQueue, token: u64, number: u64, mut buf: Buf) -> Result<()> {
        let block = (self.first + self.order.block(number % self.blocks, self.blocks)) % self.blocks;
        let offset = block * self.request as u64;
        match self.data {
            Some(data) => {
                buf.place(offset, self.request);
                data.renew(offset, buf.data_mut());
                queue.write(token, offset, buf)
            }
            None => queue.read(token, offset, self.request, buf),
        }
    }
}
