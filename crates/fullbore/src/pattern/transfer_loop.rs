//! The transfer loop: one worker's blocks from a source, through the operation, to a sink.

use super::order::{Order, OrderedWriter};
use super::progress::{Progress, Unreported};
use super::stream_reader::StreamReader;
use crate::operation::{Generate, Split, Transform};
use crate::strategy::{Completion, Strategy, parts_of_blocks, registered};
use fullbore_io::buf::{BlockMemory, Buf, Pool};
use fullbore_io::engine::{Capabilities, Done, EngineConfig, IoQueue, IoStats};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::{File, Output};

pub(super) enum Source<'a> {
    /// A file, and its length in bytes when the run began.
    File { file: &'a File, len: u64 },
    /// A pipe or device.
    Stream(Box<StreamReader>),
    /// No input: the blocks are generated.
    Generator(&'a dyn Generate),
}

pub(super) enum Sink<'a> {
    /// A file: each block is written at its offset.
    File(&'a File),
    /// A pipe or device: the blocks are written in order.
    Stream(OrderedWriter),
    /// A visitor, which does not keep the blocks. `failed` is called when a worker failed, so that no other waits for it.
    Visitor { failed: &'a (dyn Fn() + Sync) },
}

impl<'a> Sink<'a> {
    pub(super) fn to(output: &'a Output) -> Self {
        match output.seekable() {
            true => Self::File(output.file()),
            false => Self::Stream(OrderedWriter::new(output.file().clone())),
        }
    }
}

pub(super) type Visitor<'v> = dyn Fn(u64, &[u8]) -> Result<()> + 'v;

/// Requests, each an offset and a length.
type Extents<'e> = dyn Iterator<Item = (u64, usize)> + 'e;

/// The work on each block.
pub(super) struct Work<'a> {
    pub(super) operation: Option<&'a dyn Transform>,
    /// True if source and sink are the same file.
    pub(super) in_place: bool,
    pub(super) split: Split,
    /// The memory in which the operation, the generator or the visitor may receive blocks.
    pub(super) memory: BlockMemory,
}

impl Work<'_> {
    /// Returns the work of no operation: blocks may be cut anywhere.
    pub(super) const fn none(memory: BlockMemory) -> Self {
        Self { operation: None, in_place: false, split: Split::Any, memory }
    }

    fn apply(&self, offset: u64, input: &[u8], target: &mut [u8]) {
        match self.operation {
            Some(operation) => operation.apply(offset, input, target),
            None => target.copy_from_slice(input),
        }
    }

    fn apply_in_place(&self, offset: u64, data: &mut [u8]) {
        if let Some(operation) = self.operation {
            operation.apply_in_place(offset, data);
        }
    }
}

/// The cut of a file into requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The start of the run, in bytes.
    pub(super) start: u64,
    /// The length of the run in bytes.
    pub(super) len: u64,
    pub(super) request: usize,
    pub(super) order: Order,
}

impl Cut {
    pub(super) fn blocks(&self) -> u64 {
        self.len.div_ceil(self.request as u64)
    }

    /// Returns offset and length of a request.
    pub(super) fn extent(&self, index: u64) -> (u64, usize) {
        let offset = self.order.block(index, self.blocks()) * self.request as u64;
        (self.start + offset, (self.len - offset).min(self.request as u64) as usize)
    }
}

/// The bytes of a run: their origin, the work on them, their destination.
#[derive(Clone, Copy)]
pub(super) struct Transfer<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) work: &'a Work<'a>,
    pub(super) sink: &'a Sink<'a>,
    pub(super) order: Order,
    /// True if a worker handles completions in the order of its requests.
    pub(super) in_order: bool,
    pub(super) progress: &'a Progress,
}

impl<'a> Transfer<'a> {
    /// Number of bytes of which the length of every request but the last must be a multiple. Workers take turns at the requests of a
    /// stream.
    pub(super) fn unit(&self) -> usize {
        let unit = self.work.split.unit();
        match (self.source, self.sink) {
            (Source::Stream(_), Sink::File(_)) => unit.saturating_mul(parts_of_blocks(unit)),
            _ => unit,
        }
    }

    /// Moves the bytes as they are, which may be cut anywhere and be in any memory.
    pub(super) fn untouched(
        source: &'a Source<'a>,
        sink: &'a Sink<'a>,
        order: Order,
        progress: &'a Progress,
    ) -> Self {
        let work = const { &Work::none(BlockMemory::REVIEWED) };
        Self { source, work, sink, order, in_order: false, progress }
    }
}

pub(super) struct TransferLoop<'a, 'v> {
    transfer: &'a Transfer<'a>,
    visitor: &'v Visitor<'v>,
    reader: Option<IoQueue>,
    writer: Option<IoQueue>,
    reads: Capabilities,
    depth: usize,
    write_depth: usize,
    request: usize,
    in_order: bool,
    pool: Pool,
    bytes: u64,
    unreported: Unreported,
}

impl<'a, 'v> TransferLoop<'a, 'v> {
    /// Opens the worker's own handles and buffers, for requests of `request` bytes.
    pub(super) fn open(
        transfer: &'a Transfer<'a>,
        strategy: &Strategy,
        request: usize,
        visitor: &'v Visitor<'v>,
    ) -> Result<Self> {
        let Transfer { source, sink, order, progress, .. } = *transfer;
        let mapped = strategy.read.capabilities.mapped && transfer.work.memory.may_be_mapping();
        let reads = Capabilities { mapped, ..strategy.read.capabilities };
        let writes = strategy.write.capabilities;
        let depth = strategy.depth.min(reads.depth).max(1);
        let write_depth = strategy.depth.min(writes.depth).max(1);
        let through_buffers = !(reads.mapped && matches!(source, Source::File { .. }));
        let count = match (source, sink) {
            _ if reads.copies_in_kernel => 1,
            (Source::File { .. }, Sink::File(_)) if through_buffers => depth + write_depth - 1,
            (Source::File { .. }, _) if through_buffers => depth,
            (_, Sink::File(_)) => write_depth,
            _ => 1,
        };
        let len = match source {
            Source::File { len, .. } => *len,
            Source::Stream(_) | Source::Generator(_) => u64::MAX,
        };
        let mut pool = strategy
            .pool(count, request, len)
            .map_err(|error| Error::io("allocate buffers", "", error).without_path())?;
        if let Source::Generator(generator) = source {
            generator.prime(&mut pool);
        }
        let window = strategy.window.map(|window| window.max(request));
        let queue = |file: &File, write: bool, from: Option<&File>, limit| {
            let method = if write { strategy.write } else { strategy.read };
            let depth = if write { write_depth } else { depth };
            let cache = if write { strategy.write_cache } else { strategy.read_cache };
            let (file, own) = file.for_worker(write);
            match order {
                // The hints are those of the open file.
                _ if !own => {}
                Order::Sequential if !write => file.expect_sequential(),
                Order::Random { .. } if !write => file.expect_random(),
                _ => {}
            }
            let random = order != Order::Sequential;
            let pool = registered(&pool, len);
            let config = EngineConfig { file: &file, from, write, cache, depth, pool, window, random };
            IoQueue::open(method, &config, limit).map_err(|error| {
                Error::io("use", file.path(), error)
                    .advise(format!("try another method than {}", method.name))
            })
        };
        let mut reader = None;
        let mut writer = None;
        match (source, sink) {
            (Source::File { file, .. }, Sink::File(output)) if reads.copies_in_kernel => {
                writer = Some(queue(output, true, Some(file), None)?);
            }
            _ => {
                if let Source::File { file, len } = source {
                    reader = Some(queue(file, false, None, Some(*len))?);
                }
                if let Sink::File(output) = sink {
                    writer = Some(queue(output, true, None, None)?);
                }
            }
        }
        [&mut reader, &mut writer].into_iter().flatten().for_each(|queue| progress.start_timing(queue));
        Ok(Self {
            transfer,
            visitor,
            reader,
            writer,
            reads,
            depth,
            write_depth,
            request,
            in_order: transfer.in_order
                || strategy.completion == Completion::Ordered
                || matches!(sink, Sink::Stream(_)),
            pool,
            bytes: 0,
            unreported: Unreported::default(),
        })
    }

    /// Processes requests, each an offset and a length. May be called again, unless it failed or was stopped.
    pub(super) fn run(&mut self, extents: &mut Extents<'_>, go_on: &dyn Fn() -> bool) -> Result<()> {
        match self.transfer.source {
            Source::Stream(stream) => self.pass_on(stream, go_on)?,
            Source::File { .. } if self.reads.copies_in_kernel => self.copy_in_kernel(extents, go_on)?,
            Source::File { .. } if !self.reads.mapped => self.pump(extents, go_on)?,
            _ => self.produce(extents, go_on)?,
        }
        self.finish()
    }

    /// Processes blocks that are available without waiting: mapped or generated.
    fn produce(&mut self, extents: &mut Extents<'_>, go_on: &dyn Fn() -> bool) -> Result<()> {
        for (offset, len) in extents {
            if !go_on() {
                return Ok(());
            }
            if self.writer_is_mapped() {
                self.make_in_view(offset, len)?;
            } else if matches!(self.transfer.sink, Sink::Visitor { .. }) && self.reader.is_some() {
                if let Some(reader) = &mut self.reader {
                    (self.visitor)(offset, reader.view(offset, len)?)?;
                    reader.check("read", offset)?;
                }
            } else {
                let mut buf = self.buffer()?;
                buf.place(offset, len);
                match (self.transfer.source, &mut self.reader) {
                    (Source::Generator(generator), _) => generator.renew(offset, buf.data_mut()),
                    (_, Some(reader)) => {
                        self.transfer.work.apply(offset, reader.view(offset, len)?, buf.data_mut());
                        reader.check("read", offset)?;
                    }
                    _ => {}
                }
                self.emit(offset, buf)?;
            }
            self.report(len);
        }
        Ok(())
    }

    /// Generates or transforms a block directly in the mapped output.
    fn make_in_view(&mut self, offset: u64, len: usize) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let target = writer.view_mut(offset, len)?;
        match (self.transfer.source, &mut self.reader) {
            (Source::Generator(generator), _) => generator.fill(offset, target),
            // Two mappings of one file would alias.
            _ if self.transfer.work.in_place => self.transfer.work.apply_in_place(offset, target),
            (_, Some(reader)) => {
                self.transfer.work.apply(offset, reader.view(offset, len)?, target);
                reader.check("read", offset)?;
            }
            _ => {}
        }
        writer.check("write", offset)
    }

    /// Reads blocks through an engine, as many at a time as the depth allows.
    fn pump(&mut self, extents: &mut Extents<'_>, go_on: &dyn Fn() -> bool) -> Result<()> {
        let mut submitted = 0;
        let mut due = 0;
        let mut early: Vec<Done> = Vec::new();
        let mut more = true;
        loop {
            if !go_on() {
                return Ok(());
            }
            self.reclaim()?;
            let Some(reader) = &mut self.reader else { return Ok(()) };
            // A batched method gets new requests when all of its last batch are done.
            while more
                && reader.in_flight() + early.len() < self.depth
                && (!self.reads.batched || reader.in_flight() == 0 || submitted % self.depth as u64 != 0)
            {
                let Some(buf) = self.pool.take() else { break };
                let Some((offset, len)) = extents.next() else {
                    self.pool.put(buf);
                    more = false;
                    reader.drain();
                    break;
                };
                reader.read(submitted, offset, len, buf)?;
                submitted += 1;
            }
            // Small requests are submitted together with the wait; large ones would be delayed by that.
            if self.request >= PROMPT {
                reader.commit()?;
            }
            let done = if self.in_order && early.iter().any(|done| done.token == due) {
                take(&mut early, due)
            } else {
                reader.next()?
            };
            let Some(done) = done else {
                if more {
                    // Every buffer is being written.
                    self.wait_for_writes()?;
                    continue;
                }
                return Ok(());
            };
            if self.in_order && done.token != due {
                early.push(done);
                continue;
            }
            due += 1;
            let (offset, len) = (done.offset, done.buf.len());
            self.pass(offset, done.buf)?;
            self.report(len);
        }
    }

    fn pass_on(&mut self, stream: &StreamReader, go_on: &dyn Fn() -> bool) -> Result<()> {
        let (unit, reader) = (self.transfer.unit(), stream.join());
        while go_on() {
            let mut buf = self.buffer()?;
            let Some(offset) = stream.next(reader, &mut buf, self.request, unit, go_on)? else { break };
            let len = buf.len();
            self.pass(offset, buf)?;
            self.report(len);
        }
        Ok(())
    }

    fn copy_in_kernel(&mut self, extents: &mut Extents<'_>, go_on: &dyn Fn() -> bool) -> Result<()> {
        for (offset, len) in extents {
            if !go_on() {
                break;
            }
            if let Some(writer) = &mut self.writer {
                writer.copy_in_kernel(offset, len)?;
            }
            self.report(len);
        }
        Ok(())
    }

    fn pass(&mut self, offset: u64, mut buf: Buf) -> Result<()> {
        if self.writer_is_mapped() {
            if let Some(writer) = &mut self.writer {
                self.transfer.work.apply(offset, buf.data(), writer.view_mut(offset, buf.len())?);
                writer.check("write", offset)?;
            }
            self.pool.put(buf);
            return Ok(());
        }
        self.transfer.work.apply_in_place(offset, buf.data_mut());
        self.emit(offset, buf)
    }

    fn emit(&mut self, offset: u64, buf: Buf) -> Result<()> {
        match (self.transfer.sink, &mut self.writer) {
            (Sink::File(_), Some(writer)) => {
                while writer.in_flight() >= self.write_depth {
                    if let Some(done) = writer.next()? {
                        self.pool.put(done.buf);
                    }
                }
                writer.write(0, offset, buf)?;
                if self.request >= PROMPT {
                    writer.commit()?;
                }
            }
            (Sink::Stream(output), _) => {
                output.write(offset, buf.data())?;
                self.pool.put(buf);
            }
            _ => {
                (self.visitor)(offset, buf.data())?;
                self.pool.put(buf);
            }
        }
        Ok(())
    }

    fn writer_is_mapped(&self) -> bool {
        self.transfer.work.memory.may_be_mapping() && self.writer.as_ref().is_some_and(IoQueue::mapped)
    }

    /// Returns a free buffer; waits for a write if there is none.
    fn buffer(&mut self) -> Result<Buf> {
        self.reclaim()?;
        loop {
            if let Some(buf) = self.pool.take() {
                return Ok(buf);
            }
            self.wait_for_writes()?;
        }
    }

    /// Returns the buffers of completed writes to the pool.
    fn reclaim(&mut self) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            while let Some(done) = writer.ready()? {
                self.pool.put(done.buf);
            }
        }
        Ok(())
    }

    fn wait_for_writes(&mut self) -> Result<()> {
        match self.writer.as_mut().map(IoQueue::next).transpose()?.flatten() {
            Some(done) => {
                self.pool.put(done.buf);
                Ok(())
            }
            None => {
                Err(Error::new(ErrorKind::Invalid, "continue", "", "buffer pool exhausted").without_path())
            }
        }
    }

    fn report(&mut self, len: usize) {
        self.bytes += len as u64;
        self.unreported.add(len as u64, self.transfer.progress);
    }

    fn finish(&mut self) -> Result<()> {
        self.unreported.flush(self.transfer.progress);
        if let Some(writer) = &mut self.writer {
            writer.drain();
            while let Some(done) = writer.next()? {
                self.pool.put(done.buf);
            }
            writer.flush()?;
        }
        let queues = [&mut self.reader, &mut self.writer];
        queues.into_iter().flatten().for_each(|queue| self.transfer.progress.collect_latencies(queue));
        Ok(())
    }

    /// Returns the bytes moved so far, and the counts of reads and writes.
    pub(super) fn moved(&self) -> (u64, IoStats, IoStats) {
        let stats = |queue: &Option<IoQueue>| queue.as_ref().map(IoQueue::stats).unwrap_or_default();
        (self.bytes, stats(&self.reader), stats(&self.writer))
    }
}

/// Requests of at least this length, in bytes, are submitted when queued: one moves while another is processed.
const PROMPT: usize = 64 * 1024;

fn take(early: &mut Vec<Done>, token: u64) -> Option<Done> {
    let place = early.iter().position(|done| done.token == token)?;
    Some(early.swap_remove(place))
}
