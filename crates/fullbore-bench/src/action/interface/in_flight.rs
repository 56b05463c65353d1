//! Concurrent awaited calls and the ways to wait for them; the library's own futures, awaited by a bare `block_on`.

use std::future::Future;

use fullbore::Result;
use fullbore::asynchronous::{AsyncFile, Driver};
use fullbore::buf::{Buf, Buffer, Pool};
use futures_lite::future::block_on;
use futures_util::future::join_all;
use futures_util::stream::{FuturesOrdered, FuturesUnordered, Stream, StreamExt};

use super::open::{Completion, Interface, OpenConfig, Pass, Payload, buffer, handle};

#[derive(Debug, Clone, Copy)]
pub(super) struct PassIo<'a> {
    pub(super) pass: &'a Pass,
    pub(super) bytes: &'a Payload,
    /// Length of a buffer in bytes, if a call has several.
    pub(super) each: usize,
}

impl PassIo<'_> {
    pub(super) fn prepare<M: OwnedBuffer>(&self, memory: &mut M, (offset, len): (u64, usize)) {
        memory.resize(len, self.each);
        if self.bytes.writes() {
            memory.parts(|at, data| self.bytes.make(offset + at, data));
        }
    }

    pub(super) fn complete<M: OwnedBuffer>(&self, memory: &mut M, offset: u64) {
        if !self.bytes.writes() {
            memory.parts(|at, data| self.bytes.observe(offset + at, data));
        }
    }
}

/// Memory that a call owns until it completes.
pub(super) trait OwnedBuffer {
    /// Resizes it to `len` bytes, in buffers of `each` bytes.
    fn resize(&mut self, len: usize, each: usize);

    /// Calls `part` for each buffer with its distance from the start.
    fn parts(&mut self, part: impl FnMut(u64, &mut [u8]));
}

impl OwnedBuffer for Buf {
    fn resize(&mut self, len: usize, _each: usize) {
        Self::place(self, 0, len);
    }

    fn parts(&mut self, mut part: impl FnMut(u64, &mut [u8])) {
        part(0, self.data_mut());
    }
}

/// Several buffers per call.
impl OwnedBuffer for Vec<Buf> {
    fn resize(&mut self, len: usize, each: usize) {
        for (index, buffer) in self.iter_mut().enumerate() {
            buffer.place(0, len.saturating_sub(index * each).min(each));
        }
    }

    fn parts(&mut self, mut part: impl FnMut(u64, &mut [u8])) {
        let mut at = 0;
        for buffer in self {
            part(at, buffer.data_mut());
            at += buffer.len() as u64;
        }
    }
}

/// Makes the calls of a pass, as many concurrently as there are buffers; `call` starts one.
pub(super) async fn run<M: OwnedBuffer, F: Future<Output = (Result<()>, M)>>(
    job: PassIo<'_>,
    completion: Completion,
    memory: &mut Vec<M>,
    call: impl Fn(M, u64) -> F,
) -> Result<()> {
    let start = |mut memory: M, record: (u64, usize)| {
        job.prepare(&mut memory, record);
        let call = call(memory, record.0);
        async move {
            let (done, memory) = call.await;
            (record.0, done, memory)
        }
    };
    match completion {
        Completion::Batch => in_batches(job, memory, start).await,
        Completion::Ordered => {
            keep_in_flight(job, memory, start, FuturesOrdered::new(), FuturesOrdered::push_back).await
        }
        Completion::Any => {
            keep_in_flight(job, memory, start, FuturesUnordered::new(), |flight, call| flight.push(call))
                .await
        }
        Completion::Each | Completion::Tasks | Completion::Threads => {
            let Some(mut one) = memory.pop() else { return Ok(()) };
            for record in job.pass.records() {
                let (offset, done, back) = start(one, record).await;
                done?;
                one = back;
                job.complete(&mut one, offset);
            }
            memory.push(one);
            Ok(())
        }
    }
}

/// Starts as many calls as there are buffers, then waits for all of them.
async fn in_batches<M: OwnedBuffer, F: Future<Output = (u64, Result<()>, M)>>(
    job: PassIo<'_>,
    memory: &mut Vec<M>,
    start: impl Fn(M, (u64, usize)) -> F,
) -> Result<()> {
    let mut records = job.pass.records();
    loop {
        let mut batch = Vec::with_capacity(memory.len());
        while !memory.is_empty() {
            let Some(record) = records.next() else { break };
            batch.extend(memory.pop().map(|free| start(free, record)));
        }
        if batch.is_empty() {
            return Ok(());
        }
        for (offset, done, mut back) in join_all(batch).await {
            done?;
            job.complete(&mut back, offset);
            memory.push(back);
        }
    }
}

/// Keeps as many calls in flight as there are buffers; they complete in the order of `flight`.
async fn keep_in_flight<M: OwnedBuffer, F, S>(
    job: PassIo<'_>,
    memory: &mut Vec<M>,
    start: impl Fn(M, (u64, usize)) -> F,
    mut flight: S,
    add: impl Fn(&mut S, F),
) -> Result<()>
where
    F: Future<Output = (u64, Result<()>, M)>,
    S: Stream<Item = F::Output> + Unpin,
{
    let mut records = job.pass.records();
    while !memory.is_empty() {
        let Some(record) = records.next() else { break };
        if let Some(free) = memory.pop() {
            add(&mut flight, start(free, record));
        }
    }
    while let Some((offset, done, mut back)) = flight.next().await {
        done?;
        job.complete(&mut back, offset);
        match records.next() {
            Some(record) => add(&mut flight, start(back, record)),
            None => memory.push(back),
        }
    }
    Ok(())
}

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
        block_on(run(job, config.completion, memory, call))
    }

    fn flush(&mut self) -> Result<()> {
        block_on(self.file.sync_data())
    }
}
