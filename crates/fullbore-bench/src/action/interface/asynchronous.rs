//! `fullbore::asynchronous`: futures on the library's own driver, awaited by a bare `block_on`.

use fullbore::Result;
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::buf::{Buf, Buffer, Pool};
use futures_lite::future::block_on;

use super::entry::Interface;
use super::in_flight::{self, OwnedBuffer, PassIo};
use super::open::{OpenConfig, buffer, handle};
use super::pass::Pass;

struct AsyncFileIo<M> {
    file: AsyncFile,
    memory: Vec<M>,
    config: OpenConfig,
}

/// Opens an `AsyncFile` on the driver that the process shares.
pub(super) fn open(config: &OpenConfig, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let file = AsyncFile::new(handle(config)?, &Driver::shared()?);
    let config = config.clone();
    if config.vectors == 1 {
        let memory: Vec<Buf> = (0..config.depth).map(|_| buffer(pool)).collect::<Result<_>>()?;
        return Ok(Box::new(AsyncFileIo { file, memory, config }));
    }
    let mut several = || (0..config.vectors).map(|_| buffer(pool)).collect::<Result<Vec<Buf>>>();
    let memory = (0..config.depth).map(|_| several()).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(AsyncFileIo { file, memory, config }))
}

impl<M: OwnedBuffer + Buffer> Interface for AsyncFileIo<M> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Self { file, memory, config } = self;
        let writes = config.bytes.writes();
        let call = |memory: M, offset| {
            let transfer =
                if writes { file.write_all_at(memory, offset) } else { file.read_exact_at(memory, offset) };
            async move {
                let (done, memory) = transfer.await;
                (done.map(drop), memory)
            }
        };
        let job = PassIo { pass, bytes: &config.bytes, each: config.memory().1 };
        block_on(in_flight::run(job, config.completion, memory, call))
    }

    fn flush(&mut self) -> Result<()> {
        block_on(self.file.sync_data())
    }
}
