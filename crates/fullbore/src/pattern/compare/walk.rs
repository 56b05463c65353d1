//! Workers that read one file, or two at once: blocks of both sides at the same offset go to a visitor.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::pattern::adaptive::{self, Engines, LeaseExtents, Leases, Terms};
use crate::pattern::holes::{Holes, StripeQueue};
use crate::pattern::progress::{Progress, Stats, Unreported};
use crate::pattern::threads::{FirstError, Started, on_threads};
use crate::strategy::{Adaptive, Model, RunStrategy, Strategy, registered};
use fullbore_io::buf::{Buf, Pool};
use fullbore_io::engine::{Done, EngineConfig, IoQueue, IoStats};
use fullbore_io::error::{Error, ErrorKind, Result};
use fullbore_io::file::File;
use fullbore_io::lock::Mutex;

/// A file and its strategy, or contenders.
#[derive(Debug, Clone, Copy)]
pub(super) struct ComparedFile<'a> {
    pub(super) file: &'a File,
    pub(super) choice: RunStrategy<'a>,
    /// Offset in the file of the first byte read.
    pub(super) base: u64,
    /// The length of the file at the start of the run; if less is read, it was truncated.
    pub(super) len: u64,
}

pub(super) trait Visit: Sync {
    /// Receives the blocks of both sides at `offset`; `right` is empty if one side is read.
    fn block(&self, offset: u64, left: &[u8], right: &[u8]) -> Result<()>;

    /// Receives a range that is a hole on both sides.
    fn hole(&self, _range: Range<u64>) {}

    /// True if bytes at `offset` can still affect the result.
    fn wanted(&self, _offset: u64) -> bool {
        true
    }

    /// Called when a worker failed, so that no other waits for it.
    fn fail(&self) {}
}

/// A read over the first `end` bytes of one file or two.
pub(super) struct Walk<'a> {
    pub(super) sides: &'a [ComparedFile<'a>],
    pub(super) end: u64,
    /// The longest request, in bytes.
    pub(super) longest: usize,
    pub(super) progress: &'a Progress,
}

impl<'a> Walk<'a> {
    /// Returns the request size of all sides, the largest of their strategies'.
    fn request(&self) -> usize {
        let request = self.sides.iter().map(|side| side.choice.first.request).max().unwrap_or(1);
        request.clamp(1, self.longest.max(1))
    }

    /// The smallest number of workers of any side, and no more than there are stripes.
    fn workers(&self, stripe: u64) -> usize {
        let workers = |side: &ComparedFile<'_>| match side.choice.first.model {
            Model::Serial => 1,
            _ => side.choice.first.workers.max(1),
        };
        let workers = self.sides.iter().map(workers).min().unwrap_or(1);
        workers.min(usize::try_from(self.end.div_ceil(stripe)).unwrap_or(usize::MAX)).max(1)
    }

    /// The leases of an adaptive run, and the number of workers. Files with holes are read by stripes.
    fn leases(&self) -> Option<(Leases<'a>, usize)> {
        let choices = || self.sides.iter().map(|side| side.choice.adaptive);
        let adaptive = choices().next().flatten()?;
        let same =
            |other: Option<Adaptive<'_>>| other.is_some_and(|other| other.contenders == adaptive.contenders);
        if !choices().all(same) || self.sides.iter().any(|side| side.file.is_sparse()) {
            return None;
        }
        let input =
            |side: &ComparedFile<'a>| adaptive::RunInput { file: side.file, base: side.base, len: side.len };
        let inputs: Vec<_> = self.sides.iter().map(input).collect();
        let terms = Terms { range: 0..self.end, unit: 1, writes: false, any_order: false, most: usize::MAX };
        Leases::of(adaptive, &inputs, &terms)
    }

    /// Opens each side under its strategy.
    fn open<'s>(&self, each: impl Iterator<Item = &'s Strategy>, request: usize) -> Result<Vec<Reader>> {
        self.sides.iter().zip(each).map(|(side, strategy)| Reader::open(side, strategy, request)).collect()
    }

    pub(super) fn run(&self, visit: &dyn Visit) -> Result<Stats> {
        let start = Instant::now();
        let request = self.request();
        let stripe = self.sides.iter().map(|side| side.choice.first.stripe).min().unwrap_or(1);
        let stripe = stripe.min(self.longest as u64 * 4).next_multiple_of(request as u64);
        let holes =
            |side: &ComparedFile<'a>| Holes::of(side.file, side.base, self.end, side.file.is_sparse());
        let holes = self.sides.iter().map(holes).collect();
        let stripes = Mutex::new(StripeQueue::new(self.end, stripe, holes));
        let failed = AtomicBool::new(false);
        let first = FirstError::default();
        let leases = self.leases();
        let lost = || {
            failed.store(true, Ordering::Relaxed);
            visit.fail();
            if let Some((leases, _)) = &leases {
                leases.stop();
            }
        };
        let one = |_: usize, started: &Started| {
            let mut worker = Worker {
                walk: self,
                stripes: &stripes,
                failed: &failed,
                visit,
                stripe: 0..0,
                blocks: 0,
                bytes: 0,
                unreported: Unreported::default(),
                io_stats: IoStats::default(),
            };
            let result = match &leases {
                None => {
                    let each = self.sides.iter().map(|side| side.choice.first);
                    let mut next = |worker: &mut Worker<'_>| worker.next(request);
                    let done = self.open(each, request).and_then(|readers| worker.run(readers, &mut next));
                    done.map(|readers| worker.close(readers))
                }
                Some((leases, _)) => {
                    leases.started(started.count());
                    worker.run_leases(leases, started)
                }
            };
            worker.unreported.flush(self.progress);
            // Others wait for bytes that will not come.
            let incomplete = result.is_err() || worker.is_stopped();
            if let Err(error) = result {
                first.put(error);
            }
            if incomplete {
                lost();
            }
            (worker.bytes, worker.io_stats)
        };
        let workers = leases.as_ref().map_or_else(|| self.workers(stripe), |(_, workers)| *workers);
        let results = on_threads(workers, &one, &lost);
        first.result()?;
        self.progress.check()?;
        let mut stats = Stats { elapsed: start.elapsed(), ..Stats::default() };
        for (bytes, io_stats) in results {
            stats.bytes += bytes;
            stats.reads.add(&io_stats);
        }
        Ok(stats)
    }
}

struct Worker<'a> {
    walk: &'a Walk<'a>,
    stripes: &'a Mutex<StripeQueue<'a>>,
    failed: &'a AtomicBool,
    visit: &'a dyn Visit,
    stripe: Range<u64>,
    /// Blocks compared so far.
    blocks: u32,
    bytes: u64,
    unreported: Unreported,
    io_stats: IoStats,
}

impl Worker<'_> {
    fn is_stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.walk.progress.is_cancelled()
    }

    fn run_leases(&mut self, leases: &Leases<'_>, started: &Started) -> Result<()> {
        let (walk, mut engines) = (self.walk, Engines::new(started));
        while !self.is_stopped()
            && let Some(mut lease) = leases.next()
        {
            loop {
                let strategy = lease.strategy.clone();
                let request = strategy.request.clamp(1, walk.longest.max(1));
                let mut extents = LeaseExtents::new(leases, lease, request);
                let open = || walk.open(walk.sides.iter().map(|_| &strategy), request);
                let opened = engines.take(&strategy, open, |readers| self.close(readers));
                match opened.and_then(|readers| self.run(readers, &mut |_| extents.next())) {
                    Ok(readers) => {
                        if !readers.is_empty() {
                            engines.put(strategy, readers);
                        }
                        if !self.is_stopped() {
                            extents.discard();
                        }
                        extents.end();
                        break;
                    }
                    Err(error) => lease = extents.replace().ok_or(error)?,
                }
            }
        }
        engines.close(|readers| self.close(readers));
        Ok(())
    }

    /// Counts the transfers of readers that are no longer used.
    fn close(&mut self, readers: Vec<Reader>) {
        readers.iter().for_each(|reader| self.io_stats.add(&reader.queue.stats()));
    }

    /// Reads the extents from `next`. Returns the readers, for more extents; none if blocks remain that the visitor did not need.
    fn run(
        &mut self,
        mut readers: Vec<Reader>,
        next: &mut dyn FnMut(&mut Self) -> Option<(u64, usize)>,
    ) -> Result<Vec<Reader>> {
        let deepest = readers.iter().map(|reader| reader.depth).max().unwrap_or(1);
        let before = readers.iter().map(|reader| reader.submitted).max().unwrap_or(0);
        let mut pending: VecDeque<(u64, usize)> = VecDeque::with_capacity(deepest);
        for due in before.. {
            if self.is_stopped() {
                break;
            }
            // Files that differ often differ early: the depth grows while no difference is found.
            let depth = deepest.min(1 << self.blocks.min(20));
            while pending.len() < depth
                && let Some(extent) = next(self)
            {
                pending.push_back(extent);
            }
            let Some(&(offset, len)) = pending.front() else { break };
            if !self.visit.wanted(offset) {
                break;
            }
            let submitted = readers.iter_mut().try_for_each(|reader| reader.submit(due, &pending));
            let compared = submitted.and_then(|()| self.compare(&mut readers, due, offset, len));
            // A difference before these bytes was found: they are not needed.
            let is_needed = offset == 0 || self.visit.wanted(offset - 1);
            match compared {
                Err(error) if !is_needed && error.kind() != ErrorKind::Changed => break,
                compared => compared?,
            }
            pending.pop_front();
            self.blocks = self.blocks.saturating_add(1);
            self.bytes += len as u64;
            self.report(len as u64);
        }
        if !pending.is_empty() {
            self.close(std::mem::take(&mut readers));
        }
        Ok(readers)
    }

    /// The next request: of the worker's stripe, or of the next one.
    fn next(&mut self, request: usize) -> Option<(u64, usize)> {
        if self.stripe.is_empty() {
            let mut passed = 0;
            let dealt = self.stripes.lock().next_stripe(|hole| {
                passed += hole.end - hole.start;
                self.visit.hole(hole);
            });
            self.bytes += passed;
            self.report(passed);
            self.stripe = dealt?;
        }
        let offset = self.stripe.start;
        let len = (self.stripe.end - offset).min(request as u64);
        self.stripe.start += len;
        Some((offset, len as usize))
    }

    fn compare(&self, readers: &mut [Reader], due: u64, offset: u64, len: usize) -> Result<()> {
        match readers {
            [one] => {
                let block = one.take(due, offset, len)?;
                self.visit.block(offset, one.data(&block, offset, len)?, &[])?;
                one.put(block, offset)
            }
            [left, right] => {
                let (mine, other) = (left.take(due, offset, len)?, right.take(due, offset, len)?);
                self.visit.block(offset, left.data(&mine, offset, len)?, right.data(&other, offset, len)?)?;
                left.put(mine, offset)?;
                right.put(other, offset)
            }
            _ => Ok(()),
        }
    }

    fn report(&mut self, bytes: u64) {
        self.unreported.add(bytes, self.walk.progress);
    }
}

struct Reader {
    queue: IoQueue,
    file: File,
    pool: Pool,
    base: u64,
    depth: usize,
    batched: bool,
    submitted: u64,
    early: Vec<Done>,
}

impl Reader {
    fn open(side: &ComparedFile<'_>, strategy: &Strategy, request: usize) -> Result<Self> {
        let method = strategy.read;
        let depth = strategy.depth.min(method.capabilities.depth).max(1);
        let count = if method.capabilities.mapped { 1 } else { depth };
        let failed = |error| Error::io("allocate buffers for", side.file.path(), error);
        let pool = strategy.pool(count, request, side.len).map_err(failed)?;
        let (file, own) = side.file.for_worker(false);
        if own {
            file.expect_sequential();
        }
        let config = EngineConfig {
            cache: strategy.read_cache,
            depth,
            pool: registered(&pool, side.len),
            window: strategy.window.map(|window| window.max(request)),
            ..EngineConfig::reading(&file)
        };
        let queue = IoQueue::open(method, &config, Some(side.len)).map_err(|error| {
            Error::io("use", file.path(), error).advise(format!("try another method than {}", method.name))
        })?;
        let batched = method.capabilities.batched;
        Ok(Self { queue, file, pool, base: side.base, depth, batched, submitted: 0, early: Vec::new() })
    }

    /// Submits as many of the requests from number `due` on as the depth allows.
    fn submit(&mut self, due: u64, pending: &VecDeque<(u64, usize)>) -> Result<()> {
        if self.queue.mapped() {
            return Ok(());
        }
        while let Some(&(offset, len)) = pending.get((self.submitted - due) as usize)
            && (!self.batched
                || self.queue.in_flight() == 0
                || !self.submitted.is_multiple_of(self.depth as u64))
            && let Some(buf) = self.pool.take()
        {
            self.queue.read(self.submitted, self.base + offset, len, buf)?;
            self.submitted += 1;
        }
        self.queue.commit()
    }

    /// Waits for request `due`. A mapped file needs no buffer: `None`.
    fn take(&mut self, due: u64, offset: u64, len: usize) -> Result<Option<Buf>> {
        if self.queue.mapped() {
            return Ok(None);
        }
        loop {
            if let Some(place) = self.early.iter().position(|done| done.token == due) {
                let buf = self.early.swap_remove(place).buf;
                if buf.len() == len {
                    return Ok(Some(buf));
                }
                let at = self.base + offset;
                return Err(Error::changed(self.file.path(), "truncated while being read").at(at));
            }
            match self.queue.next()? {
                Some(done) => self.early.push(done),
                None => {
                    let (what, at) = ("internal error: a request was lost", self.base + offset);
                    return Err(Error::new(ErrorKind::Invalid, "read", self.file.path(), what).at(at));
                }
            }
        }
    }

    fn data<'b>(&'b mut self, block: &'b Option<Buf>, offset: u64, len: usize) -> Result<&'b [u8]> {
        match block {
            Some(buf) => Ok(buf.data()),
            None => self.queue.view(self.base + offset, len),
        }
    }

    /// Returns a block to the pool, or checks the mapping.
    fn put(&mut self, block: Option<Buf>, offset: u64) -> Result<()> {
        match block {
            Some(buf) => {
                self.pool.put(buf);
                Ok(())
            }
            None => self.queue.check("read", self.base + offset),
        }
    }
}
