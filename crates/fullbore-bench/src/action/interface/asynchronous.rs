//! `fullbore::asynchronous`: futures on the library's own driver, awaited by a bare `block_on`.

use fullbore::Result;
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::buf::{Buf, Buffer, Pool};
use fullbore::file::Sync;
use futures_lite::future::block_on;

use super::in_flight::{self, Job, Memory};
use super::pass::Pass;
use super::{Interface, Opening, buffer, handle};

/// An asynchronous file with the memory of its calls.
struct Asynchronous<M> {
    file: AsyncFile,
    memory: Vec<M>,
    opening: Opening,
}

/// `AsyncFile` on the driver that a process shares.
pub(super) fn open(opening: &Opening, pool: &mut Pool) -> Result<Box<dyn Interface>> {
    let file = AsyncFile::new(handle(opening)?, &Driver::shared()?);
    let opening = opening.clone();
    if opening.vectors == 1 {
        let memory: Vec<Buf> = (0..opening.depth).map(|_| buffer(pool)).collect::<Result<_>>()?;
        return Ok(Box::new(Asynchronous { file, memory, opening }));
    }
    let mut several = || (0..opening.vectors).map(|_| buffer(pool)).collect::<Result<Vec<Buf>>>();
    let memory = (0..opening.depth).map(|_| several()).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(Asynchronous { file, memory, opening }))
}

impl<M: Memory + Buffer> Interface for Asynchronous<M> {
    fn pass(&mut self, pass: &Pass) -> Result<()> {
        let Self { file, memory, opening } = self;
        let writes = opening.bytes.writes();
        let call = |memory: M, offset| {
            let transfer =
                if writes { file.write_all_at(memory, offset) } else { file.read_exact_at(memory, offset) };
            async move {
                let (done, memory) = transfer.await;
                (done.map(drop), memory)
            }
        };
        let job = Job { pass, bytes: &opening.bytes, each: opening.memory().1 };
        block_on(in_flight::run(job, opening.completion, memory, call))
    }

    fn flush(&mut self) -> Result<()> {
        block_on(self.file.sync(Sync::Data))
    }
}
