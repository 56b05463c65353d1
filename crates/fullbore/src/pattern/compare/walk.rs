//! The workers that go over one file or two at once: stripes from the dealer, requests as deep as each side's strategy says,
//! blocks of both sides at the same place to a visitor.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::holes::{Dealer, Holes};
use crate::buf::{Buf, Pool};
use crate::engine::{Channel, Done, Opening, Tally};
use crate::error::{Error, Kind, Result};
use crate::file::File;
use crate::pattern::threads::{FirstError, Started, on_threads};
use crate::pattern::{Monitor, Outcome};
use crate::strategy::{Model, Strategy};

/// A file, and how it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a File,
    pub(super) strategy: &'a Strategy,
    /// Where it begins, in bytes of the file.
    pub(super) base: u64,
    /// The length of the file when all began: if it has less, it became shorter.
    pub(super) len: u64,
}

/// Who looks at the blocks.
pub(super) trait Visit: Sync {
    /// Looks at what stands at `offset` on both sides; `right` is empty where one side alone is read.
    fn block(&self, offset: u64, left: &[u8], right: &[u8]) -> Result<()>;

    /// Hears of a range that holds nothing but zeros on both sides.
    fn hole(&self, range: Range<u64>);

    /// Whether what stands at `offset` can still say anything.
    fn wanted(&self, offset: u64) -> bool;

    /// Hears that a worker failed: nobody may wait for it.
    fn fail(&self) {}
}

/// A way over the first `end` bytes of one place or two.
pub(super) struct Walk<'a> {
    pub(super) sides: &'a [Place<'a>],
    pub(super) end: u64,
    /// Requests are no longer than this, in bytes.
    pub(super) longest: usize,
    pub(super) monitor: &'a Monitor,
}

/// How many bytes pass between two reports to the monitor, so that it costs nothing.
const REPORT: u64 = 1 << 20;

impl Walk<'_> {
    /// Every side is read in the same requests: the longest that any of them asks for.
    fn request(&self) -> usize {
        let asked = self.sides.iter().map(|side| side.strategy.request).max().unwrap_or(1);
        asked.clamp(1, self.longest.max(1))
    }

    /// As many as the most careful side has, and no more than there are stripes.
    fn workers(&self, stripe: u64) -> usize {
        let asked = |side: &Place<'_>| match side.strategy.model {
            Model::Serial => 1,
            _ => side.strategy.workers.max(1),
        };
        let asked = self.sides.iter().map(asked).min().unwrap_or(1);
        asked.min(usize::try_from(self.end.div_ceil(stripe)).unwrap_or(usize::MAX)).max(1)
    }

    /// Goes over it with all workers.
    pub(super) fn run(&self, visit: &dyn Visit) -> Result<Outcome> {
        let start = Instant::now();
        let request = self.request();
        let stripe = self.sides.iter().map(|side| side.strategy.stripe).min().unwrap_or(1);
        let stripe = stripe.min(self.longest as u64 * 4).next_multiple_of(request as u64);
        let holes = self.sides.iter().map(|side| Holes::of(side.file, side.base, self.end)).collect();
        let dealer = Mutex::new(Dealer::new(self.end, stripe, holes));
        let failed = AtomicBool::new(false);
        let first = FirstError::default();
        let lost = || {
            failed.store(true, Ordering::Relaxed);
            visit.fail();
        };
        let fail = |error: Error| {
            first.put(error);
            lost();
        };
        let one = |_: usize, _: &Started| {
            let mut worker = Worker {
                walk: self,
                dealer: &dealer,
                failed: &failed,
                visit,
                stripe: 0..0,
                bytes: 0,
                unreported: 0,
            };
            let result = worker.run(request);
            self.monitor.add(worker.unreported);
            let tally = result.unwrap_or_else(|error| {
                fail(error);
                Tally::default()
            });
            (worker.bytes, tally)
        };
        let results = on_threads(self.workers(stripe), &one, &lost);
        first.result()?;
        if self.monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", "the run", "it was told to stop"));
        }
        let mut outcome = Outcome { seconds: start.elapsed().as_secs_f64(), ..Outcome::default() };
        for (bytes, tally) in results {
            outcome.bytes += bytes;
            outcome.reads.add(&tally);
        }
        Ok(outcome)
    }
}

/// One worker.
struct Worker<'a> {
    walk: &'a Walk<'a>,
    dealer: &'a Mutex<Dealer<'a>>,
    failed: &'a AtomicBool,
    visit: &'a dyn Visit,
    /// What is left of the stripe it has.
    stripe: Range<u64>,
    bytes: u64,
    unreported: u64,
}

impl Worker<'_> {
    fn run(&mut self, request: usize) -> Result<Tally> {
        let mut readers = Vec::with_capacity(self.walk.sides.len());
        for side in self.walk.sides {
            readers.push(Reader::open(side, request)?);
        }
        let deepest = readers.iter().map(|reader| reader.depth).max().unwrap_or(1);
        let mut pending: VecDeque<(u64, usize)> = VecDeque::with_capacity(deepest);
        for due in 0u64.. {
            if self.failed.load(Ordering::Relaxed) || self.walk.monitor.stopped() {
                break;
            }
            // What differs often differs early: it goes deeper as long as nothing is found.
            let depth = deepest.min(1 << due.min(20));
            while pending.len() < depth
                && let Some(extent) = self.next(request)
            {
                pending.push_back(extent);
            }
            let Some(&(offset, len)) = pending.front() else { break };
            if !self.visit.wanted(offset) {
                break;
            }
            for reader in &mut readers {
                reader.ask(due, &pending)?;
            }
            self.compare(&mut readers, due, offset, len)?;
            pending.pop_front();
            self.bytes += len as u64;
            self.report(len as u64);
        }
        let mut tally = Tally::default();
        for reader in &readers {
            tally.add(&reader.channel.tally());
        }
        Ok(tally)
    }

    /// The next request: of the stripe it has, or of the next one.
    fn next(&mut self, request: usize) -> Option<(u64, usize)> {
        if self.stripe.is_empty() {
            let mut passed = 0;
            let dealt = self.dealer.lock().unwrap_or_else(PoisonError::into_inner).deal(|hole| {
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
        self.unreported += bytes;
        if self.unreported >= REPORT {
            self.walk.monitor.add(std::mem::take(&mut self.unreported));
        }
    }
}

/// One worker's way to one side.
struct Reader {
    channel: Channel,
    file: File,
    pool: Pool,
    base: u64,
    depth: usize,
    batched: bool,
    /// How many requests it has asked for.
    asked: u64,
    early: Vec<Done>,
}

impl Reader {
    fn open(side: &Place<'_>, request: usize) -> Result<Self> {
        let method = side.strategy.read;
        let depth = side.strategy.depth.min(method.capabilities.depth).max(1);
        let count = if method.capabilities.mapped { 1 } else { depth };
        let pool =
            Pool::new(count, request).map_err(|error| Error::io("take buffers from", "memory", error))?;
        let file = side.file.again(false);
        file.expect_sequential();
        let opening = Opening {
            file: &file,
            from: None,
            write: false,
            cache: side.strategy.read_cache,
            depth,
            pool: Some(&pool),
            window: side.strategy.window.map(|window| window.max(request)),
            random: false,
        };
        let channel = Channel::open(method, &opening, Some(side.len)).map_err(|error| {
            Error::io("use", file.path(), error).advise(format!("try another method than {}", method.name))
        })?;
        let batched = method.capabilities.batched;
        Ok(Self {
            channel,
            file,
            pool,
            base: side.base,
            depth,
            batched,
            asked: 0,
            early: Vec::with_capacity(depth),
        })
    }

    /// Asks for as many of the requests from number `due` on as its depth allows.
    fn ask(&mut self, due: u64, pending: &VecDeque<(u64, usize)>) -> Result<()> {
        if self.channel.mapped() {
            return Ok(());
        }
        while let Some(&(offset, len)) = pending.get((self.asked - due) as usize)
            && (!self.batched
                || self.channel.in_flight() == 0
                || !self.asked.is_multiple_of(self.depth as u64))
            && let Some(buf) = self.pool.take()
        {
            self.channel.read(self.asked, self.base + offset, len, buf)?;
            self.asked += 1;
        }
        self.channel.commit()
    }

    /// Waits for request `due`. What is mapped needs no waiting, and gives none.
    fn take(&mut self, due: u64, offset: u64, len: usize) -> Result<Option<Buf>> {
        if self.channel.mapped() {
            return Ok(None);
        }
        loop {
            if let Some(place) = self.early.iter().position(|done| done.token == due) {
                let buf = self.early.swap_remove(place).buf;
                if buf.len() == len {
                    return Ok(Some(buf));
                }
                let what = "the file became shorter while it was read";
                return Err(Error::new(Kind::Changed, "read", self.file.path(), what).at(self.base + offset));
            }
            match self.channel.next()? {
                Some(done) => self.early.push(done),
                None => {
                    return Err(
                        Error::new(Kind::Invalid, "read", self.file.path(), "a request was lost").at(offset)
                    );
                }
            }
        }
    }

    /// The bytes of a block that was taken.
    fn data<'b>(&'b mut self, block: &'b Option<Buf>, offset: u64, len: usize) -> Result<&'b [u8]> {
        match block {
            Some(buf) => Ok(buf.data()),
            None => self.channel.view(self.base + offset, len),
        }
    }

    /// Gives a block back that was looked at.
    fn put(&mut self, block: Option<Buf>, offset: u64) -> Result<()> {
        match block {
            Some(buf) => {
                self.pool.put(buf);
                Ok(())
            }
            None => self.channel.check("read", self.base + offset),
        }
    }
}
