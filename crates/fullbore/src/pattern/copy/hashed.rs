//! Copying with a hash of each stripe: what verifying and resuming stand on.
//!
//! A worker copies a stripe and hashes it on the way. To verify, it then reads the stripe back past the page cache: that
//! makes the system write it to the device first, and what comes is what the device has. While one worker waits for the
//! device the others copy, so all of it is one pass. Where a file cannot be read past the cache, everything is synced and
//! dropped from it in the end, and read back then.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::journal::{Hash, Journal};
use super::segments::Segments;
use crate::buf::{Buf, Pool};
use crate::error::{Error, Kind, Result};
use crate::file::{Answer, Cache, File, Sync};
use crate::pattern::Monitor;

/// What is hashed and noted as one, in bytes.
pub(super) const STRIPE: u64 = 4 << 20;

/// The request size in bytes.
const REQUEST: usize = 1 << 20;

/// A copy with hashes.
pub(super) struct Hashed<'a> {
    pub(super) input: &'a File,
    pub(super) output: &'a File,
    pub(super) len: u64,
    pub(super) sparse: bool,
    pub(super) verify: bool,
    pub(super) journal: Option<&'a Journal>,
    pub(super) workers: usize,
    pub(super) monitor: &'a Monitor,
}

/// What was done, in bytes.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) copied: AtomicU64,
    pub(super) resumed: AtomicU64,
    pub(super) verified: AtomicU64,
}

impl Hashed<'_> {
    /// Copies all data to an output that has its length already.
    pub(super) fn run(&self) -> Result<Done> {
        let done = Done::default();
        let segments = Mutex::new(Segments::new(self.input, self.len, self.sparse));
        let (failed, first) = (AtomicBool::new(false), Mutex::new(None));
        // What is to be read back in the end.
        let later: Mutex<Vec<(Range<u64>, Hash)>> = Mutex::default();
        let past_cache = match self.verify.then(|| self.output.with_cache(Cache::Direct)) {
            Some((file, Answer::Honoured)) => Some(file),
            _ => None,
        };
        let work = || -> Result<()> {
            let name = |error| Error::io("copy", self.input.path(), error);
            let mut pool = Pool::new(1, REQUEST).map_err(name)?;
            let Some(mut buf) = pool.take() else { return Ok(()) };
            while !failed.load(Ordering::Relaxed) && !self.monitor.stopped() {
                let next = segments.lock().unwrap_or_else(PoisonError::into_inner).next(STRIPE)?;
                let Some(range) = next else { break };
                let hash = self.stripe(&range, &mut buf, &done)?;
                match (&past_cache, self.verify) {
                    (_, false) => {}
                    (Some(past_cache), true) => self.compare(past_cache, &range, &hash, &mut buf, &done)?,
                    (None, true) => {
                        later.lock().unwrap_or_else(PoisonError::into_inner).push((range, hash));
                    }
                }
            }
            Ok(())
        };
        let one = || {
            if let Err(error) = work() {
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                failed.store(true, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.workers.min(self.len.div_ceil(STRIPE) as usize) {
                // Where no thread is to be had the others do its share.
                if std::thread::Builder::new().spawn_scoped(scope, one).is_err() {
                    break;
                }
            }
            one();
        });
        if let Some(error) = first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        if self.monitor.stopped() {
            return Err(Error::new(Kind::Interrupted, "finish", self.output.path(), "it was told to stop"));
        }
        let later = later.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !later.is_empty() {
            self.output.sync(Sync::Data)?;
            self.output.drop_cache()?;
            let name = |error| Error::io("verify", self.output.path(), error);
            let mut pool = Pool::new(1, REQUEST).map_err(name)?;
            if let Some(mut buf) = pool.take() {
                for (range, hash) in later {
                    self.compare(self.output, &range, &hash, &mut buf, &done)?;
                }
            }
        }
        Ok(done)
    }

    /// Copies a stripe, unless the output has it already, and returns its hash.
    fn stripe(&self, range: &Range<u64>, buf: &mut Buf, done: &Done) -> Result<Hash> {
        let len = range.end - range.start;
        if let Some(known) = self.journal.and_then(|journal| journal.known(range.start, len))
            && hash(self.output, range, buf)?.as_ref() == Some(known)
        {
            done.resumed.fetch_add(len, Ordering::Relaxed);
            self.monitor.add(len);
            return Ok(*known);
        }
        let mut hasher = blake3::Hasher::new();
        let mut at = range.start;
        while at < range.end {
            buf.place(at, (range.end - at).min(REQUEST as u64) as usize);
            let read = self.input.read_at(buf.data_mut(), at)?;
            if read == 0 {
                let what = "the file became shorter while it was read";
                return Err(Error::new(Kind::Changed, "read", self.input.path(), what).at(at));
            }
            buf.truncate(read);
            hasher.update(buf.data());
            self.output.write_all_at(buf.data(), at)?;
            at += read as u64;
            self.monitor.add(read as u64);
        }
        let hash = *hasher.finalize().as_bytes();
        if let Some(journal) = self.journal {
            journal.note(range.start, len, &hash)?;
        }
        done.copied.fetch_add(len, Ordering::Relaxed);
        Ok(hash)
    }

    /// Reads a stripe back and compares.
    fn compare(
        &self,
        file: &File,
        range: &Range<u64>,
        wanted: &Hash,
        buf: &mut Buf,
        done: &Done,
    ) -> Result<()> {
        if hash(file, range, buf)?.as_ref() != Some(wanted) {
            let what = "what reads back from the device is not what was written";
            return Err(Error::new(Kind::Io, "verify", self.output.path(), what)
                .at(range.start)
                .advise("the copy was thrown away; check the device"));
        }
        done.verified.fetch_add(range.end - range.start, Ordering::Relaxed);
        Ok(())
    }
}

/// The hash of what stands in a range; nothing if the file ends before.
fn hash(file: &File, range: &Range<u64>, buf: &mut Buf) -> Result<Option<Hash>> {
    let mut hasher = blake3::Hasher::new();
    let mut at = range.start;
    while at < range.end {
        buf.place(at, (range.end - at).min(REQUEST as u64) as usize);
        let read = file.read_at(buf.data_mut(), at)?;
        if read == 0 {
            return Ok(None);
        }
        buf.truncate(read);
        hasher.update(buf.data());
        at += read as u64;
    }
    Ok(Some(*hasher.finalize().as_bytes()))
}
